"""Published figures: that they are those of the source, and are marked as such."""

import pytest

from inspect_clbench.analysis import report
from inspect_clbench.analysis.published import published_table
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.output import render, tables_of


def test_main_rows_are_the_papers() -> None:
    table = published_table("CL-bench", "main")
    assert table is not None
    assert "Table 2" in table.source
    assert len(table.rows) == 10
    first = table.rows[0]
    assert first.model == "GPT 5.1 (High)"
    assert first.rates["Overall"] == Rate(0.237, 0.005)
    assert set(first.rates) == {"Overall", *CLBENCH.categories}


def test_every_block_names_its_source_and_known_columns() -> None:
    sub_category = published_table("CL-bench", "sub_category")
    length = published_table("CL-bench", "length")
    leaderboard = published_table("CL-bench", "leaderboard")
    assert sub_category is not None
    assert length is not None
    assert leaderboard is not None
    assert {tuple(row.rates) for row in sub_category.rows} == {CLBENCH.sub_categories}
    assert {tuple(row.rates) for row in length.rows} == {
        ("0-4K", "4-8K", "8-16K", "16-32K", "32K+")
    }
    assert leaderboard.rows[0].rates["Overall"].mean == 0.279
    assert all(block.source for block in (sub_category, length, leaderboard))


def test_the_sibling_has_thresholds() -> None:
    curve = published_table("CL-bench Life", "thresholds")
    assert curve is not None
    assert list(curve.rows[0].rates)[::4] == ["60 %", "80 %", "100 %"]
    assert published_table("CL-bench", "thresholds") is None


@pytest.mark.parametrize(
    ("by", "row"),
    [
        ((), "| GPT 5.1 (High) † | 23.7 ± 0.5 | 25.3 ± 1.3 |"),
        ("length", "| GPT 5.1 (reasoning) † | – | 29.9 | 23.9 | 19.9 | 13.8 | 16.1 |"),
        ("sub_category", "| GPT 5.1 (High) † | 25.2 | 21.7 | 23.7 |"),
    ],
)
def test_published_rows_are_marked(demo_log: str, by: str, row: str) -> None:
    tables = tables_of(report(demo_log, by=by, published=True))
    text = render(tables, "markdown")
    assert row in text
    assert "- † Published, not run here: arXiv:2602.03587v1" in text
    assert "! The demo's tasks are not the benchmark's" in text
    kinds = [detail["published"] for detail in tables[0].details]
    assert kinds.count(False) == 1
    assert kinds.count(True) == len(kinds) - 1


def test_both_sources_have_marks_of_their_own(demo_log: str) -> None:
    text = render(report(demo_log, published=True, leaderboard=True), "markdown")
    assert "| GPT 5.1 (High) † |" in text
    assert "| GPT 5.1 (High) ‡ |" in text
    assert "- Polyphony: agent system, not a model." in text


def test_no_published_row_unless_asked_for(demo_log: str) -> None:
    assert "†" not in render(report(demo_log), "markdown")
