"""The tables' numbers, worked out by hand."""

import math
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench.analysis import TokenRule, report
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import Table, tables_of
from tests.support.builders import row
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, tasks

ROWS = [
    *tasks("a", "b", sub_category="Finance"),
    row(
        "c", context="rules", sub_category="Game Mechanics", question="x" * 20_000 + "\nTASK=c"
    ),
    row("d", context="rules", sub_category="Game Mechanics"),
]
# Run 1 solves a and c of four, run 2 solves a, c and d.
PLAN = {
    "a": ["yyy", "yyy"],
    "b": ["yyn", "nnn"],
    "c": ["yyy", "yyy"],
    "d": ["nnn", "yyy"],
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return make_log(tmp_path_factory.mktemp("runs"), ROWS, PLAN).location


def tables(log: str, **options: Any) -> list[Table]:
    return tables_of(report(log, **options))


def notes_of(table: Table) -> list[str]:
    return [str(note) for note in table.notes]


def cell(table: Table, column: str, row: int = 0) -> str:
    return table.rows[row][table.columns.index(column)].text


def value(table: Table, column: str) -> Any:
    return table.rows[0][table.columns.index(column)].value


def test_mean_and_std_over_runs(log: str) -> None:
    (table,) = tables(log)
    assert cell(table, "Overall") == "62.5 ± 17.7"  # 0.5 and 0.75
    assert cell(table, "Domain Knowledge Reasoning") == "50.0 ± 0.0"  # 0.5 and 0.5
    assert cell(table, "Rule System Application") == "75.0 ± 35.4"  # 0.5 and 1
    assert cell(table, "Procedural Task Execution") == "–"
    assert (cell(table, "Runs"), cell(table, "Rows")) == ("2", "8")
    assert cell(table, "Judge coverage") == "100.0 %"


def test_a_part_of_the_benchmark_is_marked(log: str) -> None:
    (table,) = tables(log)
    assert cell(table, "Model") == "mockllm/student *"
    assert "* mockllm/student: incomplete, 4 of 1,899 tasks." in notes_of(table)
    assert table.details[0]["incomplete"] == ["4 of 1,899 tasks"]


LOW = 1 / (1 + math.exp(12.7062047 / 8 / (5 / 8 * 3 / 8) - math.log(5 / 3)))


def test_interval_from_the_clustered_error(log: str) -> None:
    # Sums of residuals / 4: -1/8 in the first context, +1/8 in the second; the error is
    # sqrt(2 / 1 * (1/64 + 1/64)) / 2 runs = 1/8. Student's t with one degree of freedom is
    # 12.7062; log odds ln(5/3) ± 12.7062 / 8 / (5/8 * 3/8) are -6.2659 and 7.2876.
    (table,) = tables(log, ci=True)
    assert cell(table, "Overall") == "62.5 ± 17.7\n[0.2, 99.9]"
    assert value(table, "Overall")["low"] == pytest.approx(LOW)
    # One context alone has no error.
    assert value(table, "Rule System Application")["low"] is None
    assert any("Student's t on log odds" in note for note in notes_of(table))
    assert (
        "! Fewer than 15 contexts in Overall 2, Domain Knowledge Reasoning 1, Rule System "
        "Application 1: intervals there are wide, and single contexts decide the rates."
    ) in notes_of(table)


def test_thresholds(log: str) -> None:
    (table,) = tables(log, thresholds=True)
    # At 65 % two of three rubrics are enough, which lets b pass in run 1.
    assert cell(table, "65 %") == "75.0 ± 0.0"
    assert cell(table, "70 %") == cell(table, "100 %") == "62.5 ± 17.7"
    # (1 + 2/3 + 1 + 0) / 4 and (1 + 0 + 1 + 1) / 4
    assert value(table, "Rubrics met")["mean"] == pytest.approx((8 / 12 + 3 / 4) / 2)


def test_by_length_with_rules_of_ones_own(log: str) -> None:
    (table,) = tables(log, by="length")
    # 20,000 characters are 4.9K tokens; the other prompts are short.
    assert cell(table, "4-8K") == "100.0 ± 0.0"
    assert cell(table, "0-4K") == "50.0 ± 23.6"  # 1/3 and 2/3
    assert "Tasks: 0-4K 3, 4-8K 1, 8-16K 0, 16-32K 0, 32K+ 0." in notes_of(table)
    assert any("estimated as characters / 4;" in note for note in notes_of(table))

    rule = TokenRule("one per character", lambda answer: answer.prompt_chars)
    (table,) = tables(log, by="length", tokens=rule)
    assert cell(table, "16-32K") == "100.0 ± 0.0"
    assert any("estimated as one per character;" in note for note in notes_of(table))


def test_by_turns_and_rubric_count(log: str) -> None:
    turns, rubrics = tables(log, by=["turns", "rubric_count"])
    assert cell(turns, "1 turn") == cell(rubrics, "1-5") == "62.5 ± 17.7"
    assert cell(turns, "4+ turns") == cell(rubrics, "31+") == "–"


def test_what_cannot_be_divided_by(log: str) -> None:
    with pytest.raises(ClbenchError, match=r"by=colour: unknown\. There are: .*rubric_count"):
        report(log, by="colour")


def test_rows_without_verdict_or_answer(tmp_path: Path) -> None:
    plan = {
        "a": ["yyy", GARBLED],  # counts as not solved
        "b": ["-", "yyy"],  # no status list
        "c": [EMPTY, ERROR],
        "d": ["yyy!", "-!"],  # all met but not solved; solved without a list
    }
    log = make_log(tmp_path, tasks("a", "b", "c", "d"), plan).location
    (table,) = tables(log)
    assert cell(table, "Overall") == "45.8 ± 29.5"  # 1/4 and 2/3
    assert cell(table, "Rows") == "7 of 8"
    assert value(table, "Rows") == {"scored": 7, "total": 8}
    assert cell(table, "Judge coverage") == "85.7 %"  # of the seven with an answer
    notes = "\n".join(notes_of(table))
    assert "incomplete, 1 answer missing after errors" in notes
    assert "! mockllm/student: no verdict for 1 row (14.3 %) because the judge failed" in notes

    (table,) = tables(log, thresholds=True)
    notes = "\n".join(notes_of(table))
    # Left out: a in run 2 and b in run 1. Of the rest, run 1 has a, c, d; run 2 b and d.
    assert "Left out here: 2 failed rows" in notes
    assert "In 1 verdict the status list contradicts the overall score" in notes
    assert cell(table, "95 %") == "83.3 ± 23.6"  # 2/3 (a, d) and 1
    assert cell(table, "100 %") == "66.7 ± 47.1"  # 1/3 (a) and 1


def test_unscored_rows_leave_the_rates(tmp_path: Path) -> None:
    plan = {"a": ["yyy"], "b": [GARBLED], "c": ["nnn"]}
    log = make_log(
        tmp_path, tasks("a", "b", "c"), plan, task_args={"judge_failure": "unscored"}
    )
    (table,) = tables(log.location)
    assert cell(table, "Overall") == "50.0"
    assert cell(table, "Rows") == "2 of 3"
    assert cell(table, "Judge coverage") == "66.7 %"
    assert "! mockllm/student: left out of the rates: 1 row without a verdict." in notes_of(
        table
    )


def test_contexts_that_came_out_alike_are_no_certainty(tmp_path: Path) -> None:
    plan = {"a": ["yyy"], "b": ["nnn"], "c": ["yyy"], "d": ["nnn"]}
    log = make_log(tmp_path, tasks("a", "b", "c", "d"), plan).location
    (table,) = tables(log, ci=True)
    # One solved of two, after Clopper and Pearson: 1 - sqrt(0.975) and sqrt(0.975).
    assert cell(table, "Overall") == "50.0\n[1.3, 98.7]"


def test_a_frame_of_all_tables(log: str) -> None:
    frame = report(log, by="turns", thresholds=True, ci=True, published=True).to_pandas()
    assert set(frame["table"]) == {"turns", "thresholds"}
    assert not frame["published"].any()  # nobody published these
    numbers = frame.set_index(["table", "group"])
    overall = numbers.loc[("turns", "Overall")]
    assert overall["model"] == overall["name"] == "mockllm/student"
    assert overall["mean"] == pytest.approx(0.625)
    assert overall["std"] == pytest.approx(0.25 / 2**0.5)
    assert overall["low"] == pytest.approx(LOW)
    assert overall["incomplete"] == "4 of 1,899 tasks"
    assert math.isnan(numbers.loc[("turns", "4+ turns")]["mean"])
    assert numbers.loc[("thresholds", "65 %")]["mean"] == pytest.approx(0.75)

    frame = report(log, published=True).to_pandas()
    published = frame[frame["published"] & (frame["group"] == "Overall")]
    assert len(published) == 10
    assert published.iloc[0]["mean"] == 0.237
