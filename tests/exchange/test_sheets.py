"""Cells of a sheet: safe to open in a spreadsheet, and the same when they come back."""

import csv
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_clbench.exchange.sheets import from_cell, to_cell, write_sheet

HOSTILE = '=HYPERLINK("http://x","y")'


@pytest.mark.parametrize(
    "text",
    ["=1+1", "+1-800", "+0", "-2+3", "@x", "\t=1", "\r=1", " =1", "\n@a", "＝1", HOSTILE],
)
def test_no_cell_starts_a_formula(text: str) -> None:
    assert to_cell(text).startswith("'")


@given(st.text())
def test_a_cell_can_be_turned_back(text: str) -> None:
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    assert from_cell(to_cell(text)) == plain
    assert to_cell(text).lstrip()[:1] not in ("=", "+", "@", "＝", "＋", "－", "＠")


def test_cells_survive_the_file_and_long_ones_fit_a_spreadsheet(tmp_path: Path) -> None:
    texts = ["'=x", "'quoted'", 'a,b;"c"\n\nd', HOSTILE, "é✓\u2028x", "5", "-5", "x" * 100_000]
    path = tmp_path / "cells.csv"
    write_sheet(str(path), ["text"], [{"text": text} for text in texts])
    with path.open(encoding="utf-8-sig", newline="") as file:
        back = [from_cell(line["text"]) for line in csv.DictReader(file)]
    assert back[:-1] == texts[:-1]
    assert len(back[-1]) < 32_767
    assert "70,000 characters left out" in back[-1]
