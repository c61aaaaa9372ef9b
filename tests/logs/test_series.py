"""How logs become series: parts of runs, further runs, retries, copies and judges."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import pytest
from inspect_ai import eval_retry, score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench import rubric_judge
from inspect_clbench.analysis import Series, load_series, report
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import tables_of
from tests.support.builders import run_eval, verdict, write_rows
from tests.support.logs import make_log
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


def test_mixed_datasets_are_refused(tmp_path: Path, demo_log: str) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    with pytest.raises(ClbenchError, match="different datasets") as caught:
        load_series([log.location, demo_log])
    assert f"CL-bench demo: {demo_log}" in str(caught.value)


def test_models_on_different_tasks_are_told(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyy"]})
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, model="other")
    (table,) = tables_of(report(str(tmp_path)))
    assert any("not of the same tasks: 1 tasks are common" in note.text for note in table.notes)


def test_a_log_without_a_judged_row_has_its_judge_from_the_role(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": [ERROR]})
    (series,) = load_series([log.location])
    assert series.judge == "mockllm/judge"
    assert series.scored == ()
