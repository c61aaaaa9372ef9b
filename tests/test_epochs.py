"""The metrics of real runs: any number of epochs, any reducer, errors, re-scoring, retries."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval_retry, score
from inspect_ai.log import read_eval_log

from inspect_clbench import rubric_judge
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]

ROWS = [
    row("a", context="one", sub_category="Finance"),
    row("b", context="one", sub_category="Finance"),
    row("c", context="two", sub_category="Game Mechanics"),
    row("d", context="three", sub_category="Workflow Orchestration"),
]
# Which tasks are solved in which run: rates 3/4, 2/4, 1/4.
SOLVED = {1: "abc", 2: "ab", 3: "a"}


def task_of(call: Call) -> str:
    return call.prompt.rsplit("TASK=", 1)[-1].strip()


def student_and_judge(call: Call) -> Reply:
    """The student's n-th answer says run and task; the judge knows which are right."""
    if call.model == "student":
        return Reply(f"run {call.attempt} of {task_of(call)}")
    if "=== BEGIN ANSWER ===" not in call.prompt:
        return Reply("ready")
    answer = call.prompt.split("=== BEGIN ANSWER ===\n", 1)[1].split("\n", 1)[0]
    _, run, _, task = answer.split()
    if task in SOLVED[int(run)]:
        return Reply(verdict(1, ["yes", "yes", "yes"]))
    return Reply(verdict(0, ["yes", "no", "yes"]))


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", ROWS)


EXPECTED = {
    "solving_rate": 0.5,
    "std": 0.25,
    "rubric_rate": (6 * 1 + 6 * 2 / 3) / 12,
    "rubric_rate_left_out": 0.0,
    "judge_coverage": 1.0,
    "judge_failures": 0.0,
    "no_response": 0.0,
    "inconsistent_verdicts": 0.0,
    "Domain Knowledge Reasoning": (1 + 1 + 0.5) / 3,
    "Domain Knowledge Reasoning (std)": math.sqrt(((1 / 6) ** 2 * 2 + (1 / 3) ** 2) / 2),
    "Rule System Application": 1 / 3,
    "Rule System Application (std)": math.sqrt(1 / 3),
    "Procedural Task Execution": 0.0,
    "Procedural Task Execution (std)": 0.0,
    "Finance": (1 + 1 + 0.5) / 3,
    "Game Mechanics": 1 / 3,
    "Workflow Orchestration": 0.0,
}


@pytest.mark.parametrize(
    "options",
    [{}, {"epochs_reducer": "max"}, {"epochs_reducer": ["mean", "at_least_2"]}, {"epochs_reducer": []}],
    ids=["default", "max", "two reducers", "no reducer"],
)  # fmt: skip
def test_three_runs_whatever_the_reducer(
    serve: Serve, dataset: str, tmp_path: Path, options: dict[str, Any]
) -> None:
    from inspect_ai import Epochs

    serve(student_and_judge)
    reducer = options.get("epochs_reducer")
    epochs: Any = 3 if reducer is None else Epochs(3, reducer)
    log = run_eval(dataset, tmp_path, epochs=epochs, max_samples=1)  # runs in their order
    values = metrics_of(log)
    # residuals per context: one: (1+1-2*.75)/4 + (1+1-2*.5)/4 + (1-2*.25)/4 = .5, two: 0, three: -.375
    # two: (1-.75)/4 + (0-.5)/4 + (0-.25)/4 = -.125; sum of squares .25 + .015625 + .140625
    stderr = math.sqrt((0.5**2 + 0.125**2 + 0.375**2) * 3 / 2) / 3
    assert values == pytest.approx({**EXPECTED, "stderr": stderr})
    assert log.results is not None
    assert log.results.headline is not None
    assert log.results.headline.metric == "solving_rate"


def test_one_run(serve: Serve, dataset: str, tmp_path: Path) -> None:
    serve(student_and_judge)
    values = metrics_of(run_eval(dataset, tmp_path))
    assert values["solving_rate"] == 0.75
    assert not any("std)" in name or name == "std" for name in values)


def test_limit_is_a_prefix_in_the_files_order(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    serve(student_and_judge)
    log = run_eval(dataset, tmp_path, limit=2)
    assert log.eval.dataset.sample_ids == ["a", "b"]


def test_an_errored_answer_leaves_the_run_alive_and_is_completed_by_a_retry(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    broken = True

    def script(call: Call) -> Reply:
        if broken and call.model == "student" and task_of(call) == "c":
            return Reply(status=400, error="scripted bad request")
        return student_and_judge(call)

    server = serve(script)
    log = run_eval(dataset, tmp_path)
    assert log.status == "error"  # says that something is missing, with results all the same
    assert metrics_of(log)["solving_rate"] == pytest.approx(2 / 3)
    assert [s.id for s in log.samples or [] if s.error] == ["c"]

    rescored = score(log, rubric_judge(), action="overwrite", display="none")
    assert metrics_of(rescored)["solving_rate"] == pytest.approx(2 / 3), "no zero for the error"

    broken, asked = False, len(server.calls_of("student"))
    (retried,) = eval_retry(log, log_dir=str(tmp_path / "retried"), display="none")
    assert retried.status == "success"
    assert len(server.calls_of("student")) == asked + 1, "finished samples are kept"
    # c's answer is the student's first that arrives
    assert metrics_of(retried)["judge_coverage"] == 1.0
    assert len(retried.samples or []) == 4


def test_score_on_error_counts_what_is_missing_as_zero(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student" and task_of(call) == "a":
            return Reply(status=400)
        return student_and_judge(call)

    serve(script)
    log = run_eval(dataset, tmp_path, fail_on_error=False, score_on_error=True)
    assert metrics_of(log)["solving_rate"] == 0.5
    assert metrics_of(log)["no_response"] == 1


@pytest.mark.long
def test_inspect_score_appends_another_judge(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        return (
            Reply(verdict(0, ["no"] * 3)) if call.model == "harsh" else student_and_judge(call)
        )

    serve(script)
    log = run_eval(dataset, tmp_path, epochs=3)
    done = inspect(
        "score", log.location,
        "--scorer", "inspect_clbench/rubric_judge", "--action", "append", "--overwrite",
        "--model-role", "grader=openai-api/loop/harsh", "-S", "attempts=2", "--display", "none",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    again = read_eval_log(log.location)
    assert again.results is not None
    first, second = again.results.scores
    assert first.metrics["solving_rate"].value == 0.5
    assert second.metrics["solving_rate"].value == 0.0
    sample = (again.samples or [])[0]
    judges = {name: (s.metadata or {})["judge"] for name, s in (sample.scores or {}).items()}
    assert list(judges.values()) == ["openai-api/loop/judge", "openai-api/loop/harsh"]
