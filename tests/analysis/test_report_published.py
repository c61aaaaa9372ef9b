"""Published figures: that they are those of the source, and are marked as such."""

import json
from pathlib import Path

import pytest

from inspect_clbench.analysis import load_series, report
from inspect_clbench.analysis.published import Block, published_table
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.output import render, tables_of
from inspect_clbench.output.plots import plotted_table, rates_picture
from tests.support.builders import row
from tests.support.logs import make_log

ROWS = [row(f"t{number}", context=f"c{number // 2}") for number in range(8)]


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
        ("length", "| GPT 5.1 (High) † | – | 29.9 | 23.9 | 19.9 | 13.8 | 16.1 |"),
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


@pytest.mark.parametrize("by", [(), "length", "sub_category"])
def test_one_selection_of_models_in_every_table(demo_log: str, by: str) -> None:
    (table,) = report(demo_log, by=by, published=True).tables
    main = published_table("CL-bench", "main")
    assert main is not None
    names = [row.model for row in main.rows]
    found = [row.model for row in table.rows if row.published]
    # Figure 7 has no o3.
    assert found == [name for name in names if by != "length" or name != "o3 (High)"]
    # All are ranked by the rate of the main table, whatever the columns are.
    rates = [row.solving_rate for row in table.rows if row.published]
    assert rates == sorted(rates, reverse=True)


def test_models_of_the_sibling_have_one_name_too() -> None:
    blocks: tuple[Block, ...] = ("main", "leaderboard", "thresholds")
    tables = [published_table("CL-bench Life", block) for block in blocks]
    main, leaderboard, curve = ({row.model for row in table.rows} for table in tables if table)
    assert main <= leaderboard == curve


def note_on(log: str) -> str:
    text = render(report(log, published=True), "json")
    (note,) = (n for n in json.loads(text)[0]["notes"] if "Not like the published rows" in n)
    return str(note)


def test_what_makes_a_run_unlike_the_published_ones(tmp_path: Path) -> None:
    one = make_log(tmp_path / "one", ROWS, judge="gpt-5", task_args={"contexts": 4}).location
    assert note_on(one) == (
        "! Not like the published rows: mockllm/student: another judge (mockllm/gpt-5, not "
        "gpt-5.1), another judge prompt (builtin, not the original one), a draw of 4 contexts, "
        "fewer runs (1)."
    )
    three = make_log(tmp_path / "three", ROWS, judge="gpt-5.1-2025-11-13", epochs=3).location
    assert note_on(three).endswith(
        "mockllm/student: another judge prompt (builtin, not the original one)."
    )
    text = render(report(three, published=True), "json")
    made = (
        "judge gpt-5.1 with the original prompt; 1,903 tasks, of which 1,899 are public; 3 runs"
    )
    assert made in text
    lengths = render(report(three, published=True, by="length"), "json")
    assert "The bins of published rows hold other tasks than ours" in lengths


def test_a_picture_warns_of_it_too(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, judge="gpt-5").location
    table = plotted_table(load_series(log), "rates", published=True)
    picture = rates_picture(table, "rates")
    assert "! Not like the published rows" in picture.caption
    assert "Not like" not in picture.reading
