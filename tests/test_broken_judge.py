"""A judge that cannot work stops the run; it never turns into a page of zeros."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, eval_retry
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessage, ModelOutput, get_model

from inspect_clbench import clbench
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.logs import make_log
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
GOOD = verdict(1, ["yes"] * 3)
ROWS = [row(f"t{i:02}") for i in range(30)]


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", ROWS[:12])


@pytest.mark.parametrize(
    ("status", "words"), [(401, "invalid key"), (403, "no access"), (404, "no such model")]
)
def test_a_refused_judge_stops_the_run_before_any_answer_is_paid_for(
    serve: Serve, dataset: str, tmp_path: Path, status: int, words: str
) -> None:
    def script(call: Call) -> Reply:
        return Reply(status=status, error=words) if call.model == "judge" else Reply("Answer.")

    server = serve(script)
    log = run_eval(dataset, tmp_path)
    assert log.status == "error"
    assert not server.calls_of("student")
    assert log.error is not None
    for part in ("role grader", "openai-api/loop/judge", words, "--model-role grader="):
        assert part in log.error.message


def test_a_judge_of_any_provider_is_asked_before_the_run(dataset: str, tmp_path: Path) -> None:
    class RefusedError(Exception):
        status_code = 401

    asked = []

    def refuse(input: Sequence[ChatMessage], *_: Any) -> ModelOutput:
        asked.append(input[-1].text)
        raise RefusedError("invalid key")

    judge = get_model("mockllm/refused", custom_outputs=refuse, memoize=False)
    student = get_model("mockllm/student", custom_outputs=refuse, memoize=False)
    log = run_eval(dataset, tmp_path, model=student, model_roles={"grader": judge})
    assert log.status == "error"
    assert "role grader, model mockllm/refused" in str(log.error)
    assert len(asked) == 1


def test_a_task_runs_again_once_its_judge_is_back(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    gone = True

    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply("Answer.")
        is_judging = "single word" not in call.prompt
        return Reply(status=401) if gone and is_judging else Reply(GOOD)

    serve(script)
    task = clbench(dataset=dataset)
    for status in ("error", "success"):
        (log,) = eval(
            task,
            model="openai-api/loop/student",
            model_roles={"grader": "openai-api/loop/judge"},
            max_samples=1,
            log_dir=str(tmp_path),
            display="none",
        )
        assert log.status == status, log.error
        gone = False


@pytest.mark.long
def test_a_missing_key_stops_the_run_at_once(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    server = serve(lambda call: Reply("Answer."))
    environment = {k: v for k, v in os.environ.items() if k != "OPENAI_API_KEY"}
    done = inspect(
        "eval", "inspect_clbench/clbench",
        "-T", f"dataset={dataset}", "--model", "openai-api/loop/student",
        "--log-dir", str(tmp_path / "logs"), "--display", "plain", env=environment,
    )  # fmt: skip
    said = " ".join((done.stdout + done.stderr).split())
    assert "role grader, model openai/gpt-5.1" in said
    assert "OPENAI_API_KEY" in said
    assert not server.calls


def test_a_judge_that_dies_midway_stops_the_run_and_a_retry_goes_on(
    serve: Serve, tmp_path: Path
) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", ROWS)
    alive = True
    judged = 0

    def script(call: Call) -> Reply:
        nonlocal judged
        if call.model == "student":
            return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
        judged += 1
        return Reply(GOOD) if (alive and judged <= 11) or not alive else Reply(status=401)

    server = serve(script)
    log = run_eval(dataset, tmp_path, max_samples=2)
    assert log.status == "error"
    assert log.error is not None
    assert "role grader" in log.error.message
    kept = read_eval_log(log.location).samples or []
    scored = [s for s in kept if s.scores]
    assert sum((s.scores or {})["rubric_judge"].value == "C" for s in scored) == 10
    # those that failed before it was sure; never the whole rest
    failed = [s for s in scored if (s.scores or {})["rubric_judge"].reason == "grader_failed"]
    assert len(failed) < 5
    assert len(server.calls_of("student")) < 20

    alive = False
    (done,) = eval_retry(log, log_dir=str(tmp_path / "retry"), display="none")
    assert done.status == "success"
    assert len(done.samples or []) == 30
    assert metrics_of(done)["judge_failures"] == len(failed)


def test_one_odd_row_does_not_stop_a_run(serve: Serve, dataset: str, tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
        return Reply(status=403) if "Answer to t07" in call.prompt else Reply(GOOD)

    serve(script)
    log = run_eval(dataset, tmp_path)
    assert log.status == "success"
    assert metrics_of(log)["judge_failures"] == 1
    assert metrics_of(log)["solving_rate"] == pytest.approx(11 / 12)


@pytest.mark.long
def test_scoring_a_log_with_a_refused_judge_changes_nothing(
    serve: Serve, tmp_path: Path
) -> None:
    serve(lambda call: Reply(status=401))
    location = make_log(tmp_path, ROWS[:3], provider="openai-api/loop").location
    before = Path(location).read_bytes()
    done = inspect(
        "score", location, "--overwrite",
        "--scorer", "inspect_clbench/rubric_judge", "--action", "append",
        "--model-role", "grader=openai-api/loop/other", "--display", "plain",
    )  # fmt: skip
    assert done.exit_code != 0
    assert "openai-api/loop/other" in done.stdout + done.stderr
    assert Path(location).read_bytes() == before


def test_many_failures_are_said_loudly(
    serve: Serve, dataset: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
        return Reply("Hm.") if "Answer to t07" in call.prompt else Reply(GOOD)

    serve(script)
    run_eval(dataset, tmp_path)
    assert "JUDGE FAILURES: 1 of 12 rows (8.3 %)" in caplog.text
