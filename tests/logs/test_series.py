"""How logs become series: parts of runs, further runs, retries, copies and judges."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from inspect_ai import eval_retry, score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench import rubric_judge
from inspect_clbench.analysis import Series, costs, load_series, report
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import tables_of
from tests.support.builders import run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.logs import MISSING, make_log
from tests.support.scripted import ERROR, scripted_judge, tasks
from tests.support.server import Call, LoopbackServer, Reply, Script


def outcomes(series: Series) -> dict[str, list[bool]]:
    """Task to whether it was solved, by run."""
    found: dict[str, list[bool]] = {}
    for answer in sorted(series.scored, key=lambda a: (a.task_id, a.run)):
        found.setdefault(answer.task_id, []).append(answer.solved)
    return found


def rescored(
    log: EvalLog,
    output: Path,
    action: Literal["append", "overwrite"],
    name: str,
    turn: bool = False,
) -> str:
    """A copy of a log as `inspect score` writes it."""
    new = score(
        read_eval_log(log.location),
        rubric_judge(),
        action=action,
        model_roles={"grader": scripted_judge(name, turn)},
        display="none",
    )
    write_eval_log(new, str(output))
    return str(output)


def test_parts_of_two_runs_and_a_whole_run(tmp_path: Path) -> None:
    ab, cd = tasks("a", "b"), tasks("c", "d")
    make_log(tmp_path, ab, {"a": ["yyy"], "b": ["nnn"]})
    make_log(tmp_path, cd, {"c": ["yyy"], "d": ["yyy"]})
    make_log(tmp_path, cd, {"c": ["nnn"], "d": ["nnn"]})
    make_log(tmp_path, ab, {"a": ["nnn"], "b": ["yyy"]})
    whole = {"a": ["yyy"], "b": ["yyy"], "c": ["yyy"], "d": ["nnn"]}
    make_log(tmp_path, [*ab, *cd], whole)
    (series,) = load_series([str(tmp_path)])
    assert series.runs == 3
    assert outcomes(series) == {
        "a": [True, False, True],
        "b": [False, True, True],
        "c": [True, False, True],
        "d": [True, False, False],
    }


def test_overlapping_parts_are_refused(tmp_path: Path) -> None:
    one = make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]})
    other = make_log(tmp_path, tasks("b", "c"), {"b": ["yyy"], "c": ["nnn"]})
    with pytest.raises(ClbenchError) as caught:
        load_series([str(tmp_path)])
    assert str(caught.value).startswith(f"{one.location} and {other.location} do not add up")
    assert "share 1 of 2 and 2 tasks" in str(caught.value)


def test_parts_with_different_numbers_of_runs_are_refused(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    make_log(tmp_path, tasks("b"), {"b": ["yyy", "yyy"]})
    with pytest.raises(ClbenchError, match="hold different tasks in 1 and 2 runs"):
        load_series([str(tmp_path)])


def test_models_and_efforts_are_rows_of_their_own(tmp_path: Path) -> None:
    plan = {"a": ["yyy"]}
    make_log(tmp_path, tasks("a"), plan, reasoning_effort="low")
    make_log(tmp_path, tasks("a"), plan, reasoning_effort="high")
    make_log(tmp_path, tasks("a"), plan, model="other", reasoning_effort="high")
    (table,) = tables_of(report(str(tmp_path)))
    assert table.columns[:3] == ("Model", "Effort", "Overall")
    assert [(row[0].value, row[1].text) for row in table.rows] == [
        ("mockllm/student", "low"),
        ("mockllm/student", "high"),
        ("mockllm/other", "high"),
    ]


def test_runs_with_other_settings_are_told(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, temperature=0.0)
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, temperature=1.0)
    (table,) = tables_of(report(str(tmp_path)))
    assert "! mockllm/student: its runs differ in temperature." in map(str, table.notes)


def test_appended_judges_and_copies(tmp_path: Path) -> None:
    """A copy of a log is no further run, however often its answers were judged."""
    log = make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyn"]})
    rescored(log, tmp_path / "other-judge.eval", "append", "strict", turn=True)
    rescored(log, tmp_path / "again.eval", "append", "judge")
    shutil.copy(log.location, tmp_path / "copy.eval")
    series = load_series([str(tmp_path)])
    assert [(s.judge, s.again, s.runs) for s in series] == [
        ("mockllm/judge", 0, 1),
        ("mockllm/strict", 0, 1),
        ("mockllm/judge", 1, 1),
    ]
    assert outcomes(series[0]) == {"a": [True], "b": [False]}
    assert outcomes(series[1]) == {"a": [False], "b": [False]}
    (table,) = tables_of(report(str(tmp_path)))
    assert [row[1].text for row in table.rows] == [
        "mockllm/judge", "mockllm/strict", "mockllm/judge (again 1)",
    ]  # fmt: skip


def test_of_copies_by_the_same_judge_the_later_counts(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]})
    rescored(log, tmp_path / "later.eval", "overwrite", "judge", turn=True)
    (series,) = load_series([str(tmp_path)])
    assert outcomes(series) == {"a": [False], "b": [True]}


def test_a_retry_replaces_its_log(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path
) -> None:
    broken = {"a"}

    def script(call: Call) -> Reply:
        if call.model == "judge":
            return Reply(verdict(1, ["yes"] * 3))
        if "TASK=a" in call.prompt and broken:
            return Reply(status=400)
        return Reply("An answer.")

    serve(script)
    dataset = write_rows(tmp_path / "rows.jsonl", tasks("a", "b"))
    first = run_eval(dataset, tmp_path / "logs", epochs=2)
    (series,) = load_series([first.location])
    assert "2 answers missing after errors" in series.gaps[0]
    assert series.runs == 2
    broken.clear()
    eval_retry(first, log_dir=str(tmp_path / "logs"), display="none")
    assert len(list((tmp_path / "logs").iterdir())) == 2
    (series,) = load_series([str(tmp_path / "logs")])
    assert series.gaps == ("2 of 1,899 tasks",)
    assert outcomes(series) == {"a": [True, True], "b": [True, True]}


def test_a_cancelled_run_says_what_is_missing(tmp_path: Path) -> None:
    plan = {"a": ["yyy", "yyy"], "b": ["yyy", "yyy"]}
    whole = make_log(tmp_path / "whole", tasks("a", "b"), plan)
    log = read_eval_log(whole.location)
    log.status = "cancelled"
    log.samples = [s for s in log.samples or [] if (s.id, s.epoch) == ("a", 1)]
    cut = tmp_path / "cut.eval"
    write_eval_log(log, str(cut))
    (series,) = load_series([str(cut)])
    assert series.gaps == (
        "run 1 has 1 of 2 tasks",
        "1 of 2 runs not begun",
        "2 of 1,899 tasks",
        f"cancelled: {cut}",
    )


def test_a_table_for_each_dataset(tmp_path: Path) -> None:
    """The same model on three datasets: never pooled, each with its own table."""
    make_log(tmp_path, "demo")
    make_log(tmp_path, "demo", task="clbench_life")
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    tables = tables_of(report(str(tmp_path)))
    titles = ["CL-bench", "CL-bench demo", "CL-bench Life demo"]
    assert [table.title.split(":")[0] for table in tables] == titles
    assert [len(table.rows) for table in tables] == [1, 1, 1]
    assert tables[0].rows[0][1].text == "0.0"
    used = [one.group.dataset for one in costs(str(tmp_path)).uses if one.role == "model"]
    assert used == [*titles[1:], titles[0]]
    done = clbench("plot", str(tmp_path), "-o", str(tmp_path / "x.svg"))
    assert done.exit_code == 2
    assert 'Choose one: --dataset "CL-bench"' in done.stderr


def test_a_run_within_a_larger_one_is_passed_over(tmp_path: Path) -> None:
    ids = tasks("a", "b", "c")
    small = make_log(tmp_path, ids, {"a": ["yyy", "yyy"], "b": ["yyy", "yyy"]}, limit=2)
    whole = make_log(tmp_path, ids, {"a": ["yyy"], "b": ["nnn"], "c": ["nnn"]})
    smaller = make_log(tmp_path, ids, {"a": ["yyy"]}, limit=1)
    (series,) = load_series(str(tmp_path))
    assert outcomes(series) == {"a": [True], "b": [False], "c": [False]}
    assert [str(log) for log in series.logs] == [whole.location]
    assert [str(log) for log, _ in series.passed_over] == [small.location, smaller.location]
    (table,) = tables_of(report(str(tmp_path)))
    assert (
        f"mockllm/student: passed over {small.location}: {whole.location} of the same model "
        "and settings has its 2 tasks too."
    ) in map(str, table.notes)


def test_a_large_run_that_was_stopped_at_once_hides_no_small_one(tmp_path: Path) -> None:
    ids = tasks("a", "b", "c")
    make_log(tmp_path, ids, {"a": ["yyy"], "b": ["nnn"]}, limit=2)
    stopped = {"a": ["nnn"], "b": [MISSING], "c": [MISSING]}
    cut = make_log(tmp_path, ids, stopped, status="cancelled")
    (series,) = load_series(str(tmp_path))
    assert outcomes(series) == {"a": [True], "b": [False]}
    assert [str(log) for log, _ in series.passed_over] == [cut.location]


def test_contradictions_do_not_hide_the_rest(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]}, model="bad")
    make_log(tmp_path, tasks("b", "c"), {"b": ["yyy"], "c": ["nnn"]}, model="bad")
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    done = clbench("report", str(tmp_path))
    assert done.exit_code == 0
    assert "mockllm/student" in done.stdout
    assert "mockllm/bad" not in done.stdout
    assert "do not add up: they share 1 of 2 and 2 tasks" in caplog.text


def test_draws_and_whole_runs_are_rows_of_their_own(tmp_path: Path) -> None:
    for task_args in ({"contexts": 2}, {"contexts": 2, "seed": 1}, {}):
        make_log(tmp_path, tasks("a", "b", "c", "d"), task_args=task_args)
    make_log(tmp_path, tasks("a", "b", "c", "d"), task_args={"contexts": 2, "seed": 1})
    series = load_series(str(tmp_path))
    assert [(one.draw.seed if one.draw else None, one.runs) for one in series] == [
        (0, 1), (1, 2), (None, 1),
    ]  # fmt: skip
    (table,) = tables_of(report(str(tmp_path)))
    assert table.columns[:2] == ("Model", "Tasks")
    assert [row[1].text for row in table.rows] == [
        "2 of 2 contexts, seed 0", "2 of 2 contexts, seed 1", "all",
    ]  # fmt: skip


def test_the_same_answers_under_other_ids_count_once(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["nnn"]})
    copy = read_eval_log(log.location)
    copy.eval.eval_id, copy.eval.task_id, copy.eval.run_id = "e", "t", "r"
    write_eval_log(copy, str(tmp_path / "renamed.eval"))
    (series,) = load_series(str(tmp_path))
    assert (series.runs, len(series.logs)) == (1, 1)
    ((other, reason),) = series.passed_over
    assert f"its answers are counted already, from {series.logs[0]}" == reason
    assert {str(other), str(series.logs[0])} == {
        log.location, str(tmp_path / "renamed.eval"),
    }  # fmt: skip


def test_samples_without_uuid_are_not_taken_for_the_same(tmp_path: Path) -> None:
    for number, said in enumerate(("yyy", "nnn")):
        log = read_eval_log(make_log(tmp_path / "made", tasks("a"), {"a": [said]}).location)
        for sample in log.samples or []:
            sample.uuid = None
        write_eval_log(log, str(tmp_path / "logs" / f"{number}.eval"))
    (series,) = load_series(str(tmp_path / "logs"))
    assert outcomes(series) == {"a": [True, False]}


def test_other_rows_under_the_same_ids_are_refused(tmp_path: Path) -> None:
    """Not pooled to a mean of runs, not compared, and not shown side by side."""
    first = make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyy"]})
    rows = [{**row, "rubrics": ["Another.", *row["rubrics"][1:]]} for row in tasks("a", "b")]
    other = make_log(tmp_path, rows, {"a": ["nnn"], "b": ["nnn"]})
    rival = make_log(tmp_path / "rival", rows, {"a": ["nnn"], "b": ["nnn"]}, model="rival")
    words = "with other messages or rubrics in one than in the other (for instance a)"
    for arguments in (
        ["report", str(tmp_path), "--model", "student"],
        ["compare", first.location, rival.location],
        ["agreement", first.location, other.location],
        ["show", first.location, rival.location, "--task", "a"],
    ):
        done = clbench(*arguments)
        assert (done.exit_code, done.stdout) == (2, ""), arguments
        assert words in done.stderr
        assert f"{first.location} and " in done.stderr
    (table,) = tables_of(report([first.location, rival.location]))
    assert any("other messages or rubrics" in str(note) for note in table.notes)


def test_logs_without_fingerprints_are_taken_as_they_are(tmp_path: Path) -> None:
    log = read_eval_log(make_log(tmp_path / "a", tasks("a"), {"a": ["yyy"]}).location)
    for sample in log.samples or []:
        del sample.metadata["fingerprint"]
    write_eval_log(log, str(tmp_path / "old.eval"))
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    (series,) = load_series(str(tmp_path))
    assert series.runs == 2


def test_models_on_different_tasks_are_told(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyy"]})
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, model="other")
    (table,) = tables_of(report(str(tmp_path)))
    assert any("not of the same tasks: 1 task is common" in note.text for note in table.notes)


def test_a_log_without_a_judged_row_has_its_judge_from_the_role(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": [ERROR]})
    (series,) = load_series([log.location])
    assert series.judge == "mockllm/judge"
    assert series.scored == ()
