"""Every table on terminals of 60 to 140 columns: nothing is broken, nothing is lost."""

import re

import pytest
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench import error_types
from inspect_clbench.analysis import agreement, compare, costs, errors, near_misses, report
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.output import Cell, Note, Table, render, tables_of
from inspect_clbench.output.tables import initials, percent
from tests.support.error_types import Labeller, labels_reply
from tests.support.logs import make_log
from tests.test_golden_numbers import ROWS, plan

WIDTHS = (60, 80, 100, 140)
LONG = "openai-api/deepseek/deepseek-v3.2-thinking"
CATEGORIES = (
    "Domain Knowledge Reasoning",
    "Rule System Application",
    "Procedural Task Execution",
    "Empirical Discovery & Simulation",
)


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> list[Table]:
    """The tables of every command, with names as long as real ones."""
    folder = tmp_path_factory.mktemp("terminal")
    a = make_log(
        folder / "a", ROWS, plan(1), provider="openai-api", model=LONG.split("/", 1)[1]
    ).location
    b = make_log(
        folder / "b", ROWS, plan(2), provider="anthropic", model="claude-opus-4-5"
    ).location
    judges = ["gpt-5.1", "claude-opus-4-5", "deepseek-v3.2-thinking"]
    panel = make_log(folder / "p", ROWS, plan(3), judge=judges).location
    mock = make_log(folder / "m", ROWS, plan(1), model=LONG.split("/", 1)[1]).location
    labelled = score(
        read_eval_log(mock),
        error_types(),
        model_roles={"grader": Labeller(lambda prompt: labels_reply(refusal=[1])).model()},
        action="append",
        display="none",
    )
    write_eval_log(labelled, mock)
    results = (
        report([a, b], ci=True, published=True, leaderboard=True),
        report([a, b], by=["sub_category", "length"], thresholds=True, ci=True),
        compare(a, b),
        compare(a, b, mock),
        compare(a, "published:GPT 5.1 (High)"),
        agreement(panel),
        costs([a, panel]),
        near_misses(a, 0),
        errors(mock, published=True),
        errors(mock, by=["category", "sub_category"]),
    )
    return [table for result in results for table in tables_of(result)]


def words(text: str) -> list[str]:
    """What must not be broken: names, ids and figures with digits in them."""
    return re.findall(r"\S*\d\S*", text)


@pytest.mark.parametrize("width", WIDTHS)
def test_no_line_is_too_long_and_nothing_is_lost(tables: list[Table], width: int) -> None:
    for table in tables:
        text = render([table], width=width)
        assert max(map(len, text.split("\n"))) <= width, table.title
        for row in table.rows:
            for cell in row:
                for word in words(cell.text):
                    assert word in text, (table.title, word)


@pytest.mark.parametrize("width", WIDTHS)
def test_rates_stay_whole(tables: list[Table], width: int) -> None:
    text = render(tables[:1], width=width)
    assert LONG in text
    assert "23.7 ± 0.5" in text  # of the published rows
    assert re.search(r"\[\d+\.\d, \d+\.\d\]", text)


def one_model(name: str) -> Table:
    rate = percent(Rate(0.2374, 0.0049))
    counts = (Cell("3", 3), Cell("5,697"), Cell("100.0 %"))
    return Table(
        "T",
        ("Model", "Overall", *CATEGORIES, "Runs", "Rows", "Judge coverage"),
        ((Cell(name), rate, rate, rate, rate, rate, *counts),),
        (Note("info", "A note."),),
        short=initials(CATEGORIES),
        counts=3,
    )


def lines(name: str, width: int | None) -> list[str]:
    return [
        " ".join(line.split()) for line in render([one_model(name)], width=width).split("\n")
    ]


RATES = " ".join(["23.7 ± 0.5"] * 5)
LEGEND = (
    "Columns: DKR Domain Knowledge Reasoning; RSA Rule System Application; PTE Procedural "
    "Task Execution; EDS Empirical Discovery & Simulation."
)


def test_a_table_keeps_its_form_where_there_is_room() -> None:
    found = lines(LONG, 140)
    assert f"{LONG} {RATES} 3 5,697 100.0 %" in found
    assert not any("DKR" in line for line in found)


def test_first_heads_get_short() -> None:
    found = lines(LONG, 125)
    assert "Model Overall DKR RSA PTE EDS Runs Rows coverage" in found
    assert f"{LONG} {RATES} 3 5,697 100.0 %" in found
    assert LEGEND in " ".join(found)


def test_then_counts_become_a_note() -> None:
    found = lines("openai/gpt-5.1", 80)
    assert "Model Overall DKR RSA PTE EDS" in found
    assert f"openai/gpt-5.1 {RATES}" in found
    assert "Runs 3, Rows 5,697, Judge coverage 100.0 %." in found


def test_then_cells_are_stacked() -> None:
    found = lines("openai/gpt-5.1", 60)
    assert "openai/gpt-5.1 23.7 23.7 23.7 23.7 23.7" in found
    assert "± 0.5 ± 0.5 ± 0.5 ± 0.5 ± 0.5" in found


def test_at_last_rows_become_columns() -> None:
    found = lines(LONG, 60)
    assert f"Model {LONG}" in found
    assert "Rule System 23.7 ± 0.5" in found
    assert "Judge coverage 100.0 %" in found
    assert not any("DKR" in line for line in found)


def test_a_pipe_gets_the_usual_form_however_wide() -> None:
    assert f"{LONG} {RATES} 3 5,697 100.0 %" in lines(LONG, None)


def test_counts_that_differ_are_told_by_row() -> None:
    rows = tuple(
        (Cell(name), Cell("x" * 30), Cell(count)) for name, count in ("a1", "b1", "c2")
    )
    text = render([Table("T", ("Model", "Much", "Runs"), rows, counts=1)], width=38)
    assert "a, b: Runs 1.\nc: Runs 2.\n" in text


def test_names_of_one_form_are_not_shortened_to_the_same() -> None:
    assert initials(["Legal Advisory", "Late Answers", "Science", "Rubrics met", "A & B"]) == {
        "A & B": "AB"
    }


def test_cells_align_at_the_top() -> None:
    table = Table("T", ("Name", "Rate"), ((Cell("a"), Cell("1\n2")),))
    assert "a        1\n         2" in render([table], width=60)


def test_paths_in_notes_are_not_broken() -> None:
    path = "logs/" + "x" * 80 + ".eval"
    table = Table("T", ("A",), ((Cell("a"),),), (Note("warning", f"Ask again: {path}"),))
    assert path in render([table], width=60)


def test_styles_are_for_terminals_that_want_them() -> None:
    row = (Cell("m", tone="published"), percent(Rate(0.5), "headline"))
    table = Table("T", ("Model", "Rate"), (row,), (Note("warning", "Look."),))
    assert "\x1b" not in render([table], width=60)
    text = render([table], width=60, styled=True)
    assert "\x1b[2mm" in text
    assert "\x1b[1m50.0" in text
    assert "\x1b[33m! Look." in text
