"""One task's verdicts, and lists of tasks and of rubrics."""

from pathlib import Path

import pytest

from inspect_clbench.analysis import list_rubrics, list_tasks, near_misses, show_task
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import tables_of, task_text
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED

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
    return make_log(tmp_path_factory.mktemp("show"), rows, PLAN).location


def test_verdicts_over_the_runs(log: str) -> None:
    verdicts = show_task(log, "alpha-2").verdicts
    assert [(v.answer.run, v.answer.outcome, v.answer.rubrics_met) for v in verdicts] == [
        (1, "failed", 2),
        (2, "solved", 3),
        (3, "failed", 1),
    ]
    # The blank rubric has no number of its own, but leaves a gap.
    assert [number for number, _ in verdicts[2].missed] == [3, 4]
    assert verdicts[0].missed == [(1, "Says one.")]
    assert verdicts[0].rationales == (("mockllm/judge", False, "Checked line by line."),)


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
    other = make_log(tmp_path, [row("gamma-1")], {"gamma-1": ["yyy"]})
    assert show_task(other.location, "gam").verdicts[0].answer.task_id == "gamma-1"


def test_an_unknown_id_names_close_ones(log: str) -> None:
    with pytest.raises(ClbenchError, match=r"alpah-2: no such task; close to it are: alpha-2"):
        show_task(log, "alpah-2")
    with pytest.raises(ClbenchError, match="zzzz: no such task among the 4 of the log"):
        show_task(log, "zzzz")


def test_long_texts_are_shortened_unless_asked_for(tmp_path: Path) -> None:
    answer = "\n".join(f"line {number}" for number in range(20))
    answers = {"a": [f"Answer to a.\nIt is:\n{answer}"]}
    log = make_log(tmp_path, [row("a")], {"a": ["yyy"]}, answers=answers).location
    short, full = (task_text(show_task(log, "a"), full) for full in (False, True))
    assert "line 3" in short
    assert "line 4" not in short
    assert "… (16 more lines)" in short
    assert "    line 19\n" in full


def test_a_panel_shows_each_judge(tmp_path: Path) -> None:
    log = make_log(tmp_path, [row("a")], {"a": ["yyn"]}, judge=["one", "two"]).location
    text = task_text(show_task(log, "a"))
    assert "judged by mockllm/one, mockllm/two (builtin)" in text
    assert "  Rationale of mockllm/two: not solved: Checked line by line." in text


def test_near_misses_most_often_missed_first(log: str) -> None:
    (table,) = tables_of(near_misses(log))
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
    assert "Of 10 failed answers, 6 failed by one rubric." in map(str, table.notes)


def test_near_misses_up_to_a_limit(log: str) -> None:
    (table,) = tables_of(near_misses(log, limit=1))
    assert [row[0].text for row in table.rows] == ["alpha-1"]
    assert "The first 1 of 4 are listed; --limit 0 lists all." in map(str, table.notes)
    assert len(near_misses(log, limit=0).lists[0].items) == 4


def test_a_frame_of_verdicts_and_one_of_near_misses(log: str) -> None:
    verdicts = show_task(log, "alpha-2").to_pandas()
    assert list(verdicts["epoch"]) == [1, 2, 3]
    assert list(verdicts["outcome"]) == ["failed", "solved", "failed"]
    assert list(verdicts["status"]) == ["nyy", "yyy", "ynn"]
    assert list(verdicts["missed"]) == [[1], [], [3, 4]]
    assert set(verdicts["judge"]) == {"mockllm/judge"}
    assert set(verdicts["rationale"]) == {"Checked line by line."}
    silent = show_task(log, "beta-1").to_pandas()
    assert list(silent["outcome"]) == ["failed", "failed", "errored"]
    assert silent["error"][0] == ""
    assert silent["error"][1].startswith("no_verdict")
    assert "scripted failure" in silent["error"][2]

    near = near_misses(log, limit=2).to_pandas()
    columns = ["name", "task_id", "number", "text", "only_miss", "missed", "runs"]
    assert near[columns].values.tolist() == [
        ["mockllm/student", "alpha-1", 4, "Says three.", 3, 3, 3],
        ["mockllm/student", "alpha-2", 1, "Says one.", 1, 1, 3],
    ]


def test_tasks_hardest_first(log: str) -> None:
    (table,) = tables_of(list_tasks(log))
    # Of beta-1 an empty answer and one without a verdict count; only the former has a list.
    assert [(r[0].text, r[2].text) for r in table.rows] == [
        ("beta-1", "0 of 2, 0 %"),
        ("alpha-1", "0 of 3, 67 %"),
        ("beta-2", "0 of 3, 78 %"),
        ("alpha-2", "1 of 3, 67 %"),
    ]
    done = clbench("show", log, "--limit", "1")
    assert "The first 1 of 4 are listed; --limit 0 lists all." in done.stdout
    frame = list_tasks(log).to_pandas()
    assert frame["met"].tolist() == [0, 0, 0, 1]
    assert frame["rubrics"].tolist() == pytest.approx([0, 6 / 9, 7 / 9, 6 / 9])


@pytest.fixture(scope="module")
def other(log: str, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Another model: solves all but alpha-1, of which it misses the last rubric once."""
    rows = [row(id, context="c", rubrics=RUBRICS) for id in PLAN]
    plan = {task: ["yyy"] for task in PLAN} | {"alpha-1": ["yyn"], "beta-1": [GARBLED]}
    return make_log(tmp_path_factory.mktemp("other"), rows, plan, model="other").location


def test_rubrics_hardest_first_and_those_that_tell_models_apart(log: str, other: str) -> None:
    hardest, apart = tables_of(list_rubrics([log, other], limit=4))
    columns = ("Task", "Category", "Rubric", "mockllm/other", "mockllm/student", "Apart")
    assert hardest.columns == columns
    # alpha-1: rubric 4 missed by both; beta-1: an empty answer of the student, nothing of the
    # other; then the one met in 2 of 3 runs by one and in 1 of 1 by the other.
    assert [(r[0].text, r[2].value["number"], r[4].text, r[3].text) for r in hardest.rows] == [
        ("alpha-1", 4, "0 of 3", "0 of 1"),
        ("beta-1", 1, "0 of 1", "–"),
        ("beta-1", 3, "0 of 1", "–"),
        ("beta-1", 4, "0 of 1", "–"),
    ]
    # Shares met: alpha-2 2/3, 2/3, 2/3 and beta-2 1, 2/3, 2/3 against 1.
    assert [(r[0].text, r[2].value["number"]) for r in apart.rows] == [
        ("alpha-2", 1), ("alpha-2", 3), ("alpha-2", 4), ("beta-2", 3),
    ]  # fmt: skip
    assert {r[5].text for r in apart.rows} == {"33"}
    assert "The first 4 of 5 are listed" in " ".join(map(str, apart.notes))
    assert len(tables_of(list_rubrics([log, other], limit=0))) == 1, "all are listed anyway"
    assert len(tables_of(list_rubrics(log))) == 1, "one model is not apart"


def test_the_text_of_a_rubric_is_short_in_tables_and_whole_in_data(tmp_path: Path) -> None:
    long = "word " * 60 + "\x1b[2J=end"
    log = make_log(tmp_path, [row("a", rubrics=[long])], {"a": ["n"]}).location
    (table,) = tables_of(list_rubrics(log))
    assert len(table.rows[0][2].text) < 120
    assert table.rows[0][2].value["text"] == long
    assert list_rubrics(log).to_pandas()["text"].tolist() == [long]
    for format in ("terminal", "csv", "json", "markdown"):
        done = clbench("show", log, "--rubrics", "--format", format)
        assert (done.exit_code, "\x1b" in done.stdout) == (0, False)


def test_rubrics_of_other_rows_are_not_put_side_by_side(log: str, tmp_path: Path) -> None:
    rows = [row(id, context="c", rubrics=["Another."]) for id in PLAN]
    strange = make_log(tmp_path, rows, {task: ["y"] for task in PLAN}, model="x").location
    with pytest.raises(ClbenchError, match="other messages or rubrics"):
        list_rubrics([log, strange])
