"""Tables as people read them, and what becomes of names that are hostile to a format."""

import csv
import json
from dataclasses import replace
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from rich.cells import cell_len

from inspect_clbench.results.table import (
    Column,
    Table,
    count,
    defused,
    interval,
    mean_std,
    percent,
    points,
    short_names,
)
from tests.support.golden import check_golden

GOLDEN = Path(__file__).parent / "golden"
MODELS = [
    "openrouter/anthropic/claude-opus-4-5-20251101",
    "openai/gpt-5.1-2025-11-13-high",
    "google/gemini-3-pro-preview",
    "together/deepseek-ai/DeepSeek-V3.2-Exp-thinking",
    "openrouter/moonshotai/kimi-k2-thinking",
    "openrouter/qwen/qwen3-235b-a22b-thinking-2507",
]
GROUPS = [
    "Overall",
    "Domain Knowledge Reasoning",
    "Rule System Application",
    "Procedural Task Execution",
    "Empirical Discovery & Simulation",
]
PUBLISHED = "GPT 5.1 (High) †"
HOSTILE = "a/b_c & 5% #1 ~x $y^2 \\foo{bar} <b>[red]x[/red]|`*é中Ð€\x1b[31m\u202e\nz"


def table(models: int = 6, ci: bool = False) -> Table:
    """A main table: models with rates of 23.7, 22.7, ... and after them a published row."""
    rows = [
        {"name": name, "runs": 3, "published": name == PUBLISHED}
        | {
            f"{group} {figure}": round(0.237 - place / 100 + 0.02 * column + shift, 4)
            for column, group in enumerate(GROUPS)
            for figure, shift in {"mean": 0, "std": -0.23 + place / 100, "low": -0.015, "high": 0.016}.items()
        }
        for place, name in enumerate([*MODELS[:models], PUBLISHED])
    ]
    figures, show = (("mean", "low", "high"), interval) if ci else (("mean", "std"), mean_std)
    columns = [Column("Model", ["name"], names=short_names(MODELS))]
    columns += [Column(group, [f"{group} {figure}" for figure in figures], show) for group in GROUPS]
    return Table(
        "CL-bench: solving rate in %, mean ± std over 3 runs",
        pd.DataFrame(rows),
        columns,
        ["The judge gave no verdict on 3 of gemini-3-pro-preview: they count as not solved.", "† Published."],
        "Methods: CL-bench, 1,899 tasks in 500 contexts; runs: 3 of " + ", ".join(MODELS[:models]) + ".",
    )


@pytest.mark.parametrize(("width", "ci"), [(60, False), (120, False), (60, True)])
def test_six_models(width: int, ci: bool) -> None:
    text = table(ci=ci).to_text(width)
    assert max(map(cell_len, text.splitlines())) <= width
    check_golden(GOLDEN / f"six_models{'_ci' if ci else ''}_{width}.txt", text)


def test_published_rows_are_grey_only_where_styles_are_wanted() -> None:
    plain, styled = table().to_text(80), table().to_text(80, styled=True)
    assert "\x1b" not in plain
    (line,) = (line for line in styled.splitlines() if "GPT 5.1" in line)
    assert line.startswith("\x1b[2m")


def test_hostile_names_do_no_harm() -> None:
    frame = pd.DataFrame({"name": [HOSTILE, "=1+1", "@x", "b"], "rate": [0.1, -0.2, np.nan, 0.3]})
    hostile = Table(
        HOSTILE, frame, [Column(HOSTILE, ["name"]), Column("Rate", ["rate"], percent)], [HOSTILE], HOSTILE
    )
    for form in ("table", "markdown", "latex", "csv", "json"):
        text = hostile.to(form, width=60)
        assert not {"\x1b", "\u202e"} & {*text}
    assert hostile.to_text(200).count("[red]x[/red]") == 5  # title, head, cell, methods and note
    check_golden(GOLDEN / "hostile_markdown.txt", hostile.to_markdown())
    names = [row[0] for row in csv.reader(StringIO(hostile.to_csv()))]
    assert [name[:2] for name in names] == ["na", "a/", "'=", "'@", "b"]
    assert defused("\t＝1+1") == "'\t＝1+1"
    assert [row["rate"] for row in json.loads(hostile.to_json())] == [0.1, -0.2, None, 0.3]


def test_latex_is_a_float_that_pdflatex_can_read() -> None:
    # Checked once with pdflatex: it knows no letters beyond Latin-1 without further packages.
    frame = pd.DataFrame({"name": [HOSTILE, "[2pt]", "*"], "rate": [0.1, 0.2, 0.3]})
    text = Table(
        "50 % of a_b", frame, [Column("Model & name", ["name"]), Column("Rate", ["rate"], percent)], ["x_y"]
    ).to_latex()
    check_golden(GOLDEN / "hostile_latex.txt", text)
    heads = replace(table(2, ci=True), columns=[Column(name, ["runs"], count) for name in MODELS])
    assert all(name in heads.to_markdown() for name in MODELS)  # which are not folded
    assert r"23.7 \\ {[}22.2--25.3{]}" in table(2, ci=True).to_latex()


@pytest.mark.parametrize(
    ("names", "short"),
    [
        (["openai/gpt-5.1"], ["gpt-5.1"]),
        (["openai/a", "azure/a", "x/y/b"], ["openai/a", "azure/a", "b"]),
        (["openai/a (effort low)", "openai/a (judge x/y)"], ["a (effort low)", "a (judge x/y)"]),
        (["My model / tuned", "plain", "ends/"], ["My model / tuned", "plain", "ends/"]),
    ],
)
def test_models_are_called_by_the_last_part_of_their_names(names: list[str], short: list[str]) -> None:
    assert list(short_names(names).values()) == short


def test_figures() -> None:
    assert [points(value) for value in (0.2371, -0.012, -0.0001, 1)] == ["23.7", "−1.2", "0.0", "100.0"]
    assert [count(value) for value in (1899, np.nan)] == ["1,899", "–"]
    assert (mean_std(0.237, 0.005), mean_std(0.237, np.nan), mean_std(np.nan, np.nan)) == (
        "23.7 ± 0.5",
        "23.7",
        "–",
    )
    assert interval(0.237, 0.22, 0.26) == "23.7\n[22.0–26.0]"
    assert interval(0.01, -0.02, 0.04) == "1.0\n[−2.0, 4.0]"
