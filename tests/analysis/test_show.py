"""One task's verdicts, and the tasks that failed by one rubric."""

from pathlib import Path

import pytest

from inspect_clbench.analysis import near_misses, show_task
from inspect_clbench.analysis.reporting.show import task_text
from inspect_clbench.errors import ClbenchError
from tests.support.builders import row
from tests.support.scripted import EMPTY, ERROR, GARBLED, scripted_eval

RUBRICS = ["Says one.", "  ", "Says\r\ntwo \x1b[31m|.", "Says three."]
PLAN = {
    "alpha-1": ["yyn", "yyn", "yyn"],
    "alpha-2": ["nyy", "yyy", "ynn"],
    "beta-1": [EMPTY, GARBLED, ERROR],
    "beta-2": ["yny", "yyn", "yyy!"],
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    rows = [row(id, context="c", rubrics=RUBRICS) for id in PLAN]
    return scripted_eval(tmp_path_factory.mktemp("show"), rows, PLAN).location


def test_verdicts_over_the_runs(log: str) -> None:
    verdicts = show_task(log, "alpha-2")
    assert [(v.record.run, v.record.outcome, v.record.rubrics_met) for v in verdicts] == [
        (1, "failed", 2),
        (2, "solved", 3),
        (3, "failed", 1),
    ]
    # The blank rubric has no number of its own, but leaves a gap.
    assert [number for number, _ in verdicts[2].missed] == [3, 4]
    assert verdicts[0].missed == [(1, "Says one.")]
    assert verdicts[0].rationales == (("mockllm/judge", "Checked line by line."),)


def test_text_for_people(log: str) -> None:
    text = task_text(show_task(log, "alpha-2"))
    assert text.startswith(
        "Task alpha-2\nDomain Knowledge Reasoning · Finance; context c; 3 rubrics; 1 turn\n"
    )
    assert f"mockllm/student in {log}\n" in text
    assert "Run 2, judged by mockllm/judge (builtin): solved, 3 of 3 rubrics met\n" in text
    assert "  Not met:\n     3. Says two �[31m|.\n     4. Says three.\n" in text
    assert "\x1b" not in text


def test_runs_without_an_answer_or_a_verdict(log: str) -> None:
    text = task_text(show_task(log, "beta-1"))
    assert "Run 1: not solved (the model gave no answer)\n" in text
    assert "(builtin): not solved (the judge gave no verdict)\n  Error: no_verdict" in text
    assert "Run 3: no answer, the sample ended in an error\n  Error: " in text
    assert "scripted failure" in text


def test_a_verdict_against_its_own_list(log: str) -> None:
    assert "3 of 3 rubrics met; the status list disagrees" in task_text(
        show_task(log, "beta-2")
    )


def test_the_beginning_of_an_id_is_enough_if_no_other_begins_so(
    tmp_path: Path, log: str
) -> None:
    with pytest.raises(
        ClbenchError, match=r"beta: 2 tasks begin so; for instance: beta-1, beta-2\."
    ):
        show_task(log, "beta")
    other = scripted_eval(tmp_path, [row("gamma-1")], {"gamma-1": ["yyy"]})
    assert show_task(other.location, "gam")[0].record.task_id == "gamma-1"


def test_an_unknown_id_names_close_ones(log: str) -> None:
    with pytest.raises(ClbenchError, match=r"alpah-2: no such task; close to it are: alpha-2"):
        show_task(log, "alpah-2")
    with pytest.raises(ClbenchError, match="zzzz: no such task among the 4 of the log"):
        show_task(log, "zzzz")


def test_long_texts_are_shortened_unless_asked_for(tmp_path: Path) -> None:
    answer = "\n".join(f"line {number}" for number in range(20))
    log = scripted_eval(tmp_path, [row("a")], {"a": [f"yyy\n{answer}"]}).location
    short, full = (task_text(show_task(log, "a"), full) for full in (False, True))
    assert "line 3" in short
    assert "line 4" not in short
    assert "… (16 more lines)" in short
    assert "    line 19\n" in full


def test_a_panel_shows_each_judge(tmp_path: Path) -> None:
    log = scripted_eval(tmp_path, [row("a")], {"a": ["yyn"]}, judge=["one", "two"]).location
    text = task_text(show_task(log, "a"))
    assert "judged by mockllm/one, mockllm/two (builtin)" in text
    assert "  Rationale of mockllm/two: not solved: Checked line by line." in text


def test_near_misses_most_often_missed_first(log: str) -> None:
    (table,) = near_misses(log)
    assert table.columns == ("Task", "Sub-category", "Rubric", "Only miss", "Missed", "Runs")
    found = [
        (row[0].text, row[2].value["number"], *(c.value for c in row[3:])) for row in table.rows
    ]
    assert found == [
        ("alpha-1", 4, 3, 3, 3),
        ("alpha-2", 1, 1, 1, 3),
        ("beta-2", 3, 1, 1, 3),
        ("beta-2", 4, 1, 1, 3),
    ]
    assert table.rows[0][2].text == "4. Says three."
    assert "Of 10 failed answers, 6 failed by one rubric." in table.notes


def test_near_misses_up_to_a_limit(log: str) -> None:
    (table,) = near_misses(log, limit=1)
    assert [row[0].text for row in table.rows] == ["alpha-1"]
    assert "The first 1 of 4 are listed; --limit 0 lists all." in table.notes
    assert len(near_misses(log, limit=0)[0].rows) == 4
