"""Runs over a provider's batch API, for the model and for the judge."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import BatchConfig, GenerateConfig, get_model

from inspect_clbench.judge import asking
from tests.support.batches import BatchServer
from tests.support.builders import metrics_of, verdict

BATCH = BatchConfig(size=50, send_delay=0.2, tick=0.1)
SECONDS = 1.2


def _answer(model: str, prompt: str) -> str:
    return verdict(1, ["yes"]) if model == "judge" else "An answer."


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")


def _run(server: BatchServer, folder: Path, **options: Any) -> EvalLog:
    judge = get_model(
        "openai/judge",
        base_url=server.url,
        config=GenerateConfig(batch=BATCH),
        memoize=False,
        responses_api=False,
    )
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": "demo"},
        model="openai/student",
        model_base_url=server.url,
        model_args={"responses_api": False},
        model_roles={"grader": judge},
        batch=BATCH,
        limit=4,
        log_dir=str(folder),
        display="none",
        **options,
    )
    return log


@pytest.mark.parametrize("seconds", [asking.BATCH_SECONDS, 3600])
def test_answers_and_verdicts_come_in_batches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: int
) -> None:
    # A batch takes longer than the judge would otherwise have for an answer.
    monkeypatch.setattr(asking, "ATTEMPT_SECONDS", 1)
    with BatchServer(_answer, SECONDS) as server:
        log = _run(server, tmp_path, attempt_timeout=seconds)
    assert log.status == "success", log.error
    assert metrics_of(log)["solving_rate"] == 1
    assert metrics_of(log)["judge_failures"] == 0
    asked = [request["model"] for batch in server.batches for request in batch]
    assert (asked.count("student"), asked.count("judge")) == (4, 4)
    # Whether the judge works at all is not a question for tomorrow.
    assert [request["model"] for request in server.direct] == ["judge"]


def test_the_judge_of_a_batch_has_a_day_unless_the_user_says_otherwise() -> None:
    batch = GenerateConfig(batch=True)
    assert asking.judge_limits(batch).attempt_timeout == asking.BATCH_SECONDS
    assert asking.judge_limits(batch).timeout == asking.BATCH_SECONDS
    assert asking.judge_limits(GenerateConfig()).attempt_timeout == asking.ATTEMPT_SECONDS
    own = GenerateConfig(batch=True, attempt_timeout=7)
    assert asking.judge_limits(own).attempt_timeout == 7


def test_a_batch_that_would_be_paid_twice_does_not_begin(tmp_path: Path) -> None:
    with BatchServer(_answer, SECONDS) as server:
        log = _run(server, tmp_path)
    assert log.status == "error"
    assert log.error is not None
    assert "--attempt-timeout 93600" in log.error.message
    assert not server.batches
    assert not server.direct
