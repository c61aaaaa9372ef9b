"""Who judges: the default judge, another one, several."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.event import ModelEvent
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import GenerateConfig, get_model

from inspect_clbench.errors import ClbenchError
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
GOOD, BAD = (
    verdict(1, ["yes"] * 3, "All met."),
    verdict(0, ["yes", "no", "yes"], "Two is missing."),
)


@pytest.fixture
def openai_on_loopback(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> Serve:
    def start(script: Script) -> LoopbackServer:
        server = serve(script)
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        monkeypatch.setenv("OPENAI_API_KEY", "loop-key")
        return server

    return start


def test_the_default_judge_is_gpt_5_1_at_low_effort(
    openai_on_loopback: Serve, tmp_path: Path
) -> None:
    server = openai_on_loopback(
        lambda call: (
            Reply("Answer.") if call.model == "student" else Reply(f"```json\n{GOOD}```")
        )
    )
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a")])
    log = run_eval(dataset, tmp_path, model_roles={})
    assert metrics_of(log)["solving_rate"] == 1.0
    judged = server.calls_of("gpt-5.1")[-1]
    assert judged.path.endswith("/responses")
    assert judged.body["reasoning"]["effort"] == "low"
    assert "max_output_tokens" not in judged.body
    assert "temperature" not in judged.body
    assert [m["role"] for m in judged.messages] == ["user"], "one user message"
    assert (log.stats.role_usage or {})["grader"].output_tokens > 0


def test_the_model_under_test_never_judges_by_accident(
    openai_on_loopback: Serve, tmp_path: Path
) -> None:
    server = openai_on_loopback(lambda call: Reply(GOOD))
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a")])
    run_eval(dataset, tmp_path, model_roles={})
    assert len(server.calls_of("student")) == 1


@pytest.mark.parametrize("fault", ["refusal", "length", "content_filter"])
def test_faults_of_the_responses_api(
    openai_on_loopback: Serve, tmp_path: Path, fault: str
) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply("Answer.")
        if call.attempt > 1:
            return Reply(GOOD)
        if fault == "refusal":
            return Reply(refusal="No.")
        return Reply(GOOD[:40], finish_reason=fault)

    openai_on_loopback(script)
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a")])
    log = run_eval(dataset, tmp_path, model_roles={})
    score = ((log.samples or [])[0].scores or {})["rubric_judge"]
    assert (score.value, (score.metadata or {})["judge_attempts"]) == ("C", 2)


PANEL = {  # what three judges say of four answers, and what is decided
    "all": (GOOD, GOOD, GOOD, "C", None),
    "majority": (GOOD, BAD, GOOD, "C", None),
    "minority": (BAD, GOOD, BAD, "I", None),
    "one-fails": (GOOD, "Hm.", GOOD, "C", None),
    "fail-tips-it": (GOOD, "Hm.", BAD, "I", "grader_failed"),
    "fail-without-effect": (BAD, "Hm.", BAD, "I", None),
}


def panel_script(call: Call) -> Reply:
    name = call.prompt.rsplit("TASK=", 1)[-1].split()[0]
    if call.model == "student":
        return Reply(f"Answer. TASK={name} end")
    if "TASK=" not in call.prompt:
        return Reply("ready")
    return Reply(PANEL[name][int(call.model.removeprefix("judge")) - 1])


@pytest.mark.long
def test_a_panel_decides_by_strict_majority_and_keeps_every_vote(
    serve: Serve, tmp_path: Path
) -> None:
    serve(panel_script)
    dataset = write_rows(tmp_path / "rows.jsonl", [row(name) for name in PANEL])
    done = inspect(
        "eval", "inspect_clbench/clbench",
        "-T", f"dataset={dataset}", "--model", "openai-api/loop/student", "--model-role",
        "grader=openai-api/loop/judge1,openai-api/loop/judge2,openai-api/loop/judge3",
        "--log-dir", str(tmp_path / "logs"), "--display", "none",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (path,) = (tmp_path / "logs").glob("*.eval")
    log = read_eval_log(str(path))
    scores = {str(s.id): (s.scores or {})["rubric_judge"] for s in log.samples or []}
    for name, (*_, value, reason) in PANEL.items():
        assert (scores[name].value, scores[name].reason) == (value, reason), name
    minority = scores["minority"]
    votes = (minority.metadata or {})["votes"]
    assert [(v["judge"], v["solved"], v["status"]) for v in votes] == [
        ("openai-api/loop/judge1", False, "yny"),
        ("openai-api/loop/judge2", True, "yyy"),
        ("openai-api/loop/judge3", False, "yny"),
    ]
    assert (minority.metadata or {})["rationales"] == [
        "Two is missing.", "All met.", "Two is missing.",
    ]  # fmt: skip
    for words in ("judge1", "judge2", "judge3", "All met", "Two is missing"):
        assert words in (minority.explanation or "")
    assert metrics_of(log)["judge_failures"] == 1


def test_a_tie_counts_against_the_answer(serve: Serve, tmp_path: Path) -> None:
    serve(panel_script)
    dataset = write_rows(tmp_path / "rows.jsonl", [row("majority")])
    roles = {"grader": ["openai-api/loop/judge1", "openai-api/loop/judge2"]}
    log = run_eval(dataset, tmp_path, model_roles=roles)
    assert ((log.samples or [])[0].scores or {})["rubric_judge"].value == "I"
    assert metrics_of(log)["judge_failures"] == 0


@pytest.mark.parametrize(
    ("wishes", "message"),
    [
        ({"judge_failure": "skip"}, "judge_failure=skip: use zero or unscored"),
        ({"attempts": 0}, "attempts=0: the judge must be asked at least once"),
    ],
)
def test_wishes_that_make_no_sense(wishes: dict[str, Any], message: str) -> None:
    with pytest.raises(ClbenchError, match=message):
        rubric_judge(**wishes)


def limits_of(log: EvalLog, model: str) -> list[tuple[int | None, int | None, int | None]]:
    """The limits of the last call of each sample to a model: retries, attempt, time."""
    calls = [
        [e.config for e in s.events if isinstance(e, ModelEvent) and e.model.endswith(model)]
        for s in log.samples or []
    ]
    return [(c[-1].max_retries, c[-1].attempt_timeout, c[-1].timeout) for c in calls]


@pytest.mark.parametrize(
    ("given", "role", "expected"),
    [
        ({"max_retries": None}, {}, (0, 600, 600)),
        # the very values that the task sets for the model under test are wishes too
        ({"max_retries": 9, "attempt_timeout": 3600}, {}, (9, 3600, 3600)),
        ({"max_retries": 9, "timeout": 70}, {}, (9, 600, 70)),
        ({"max_retries": 9, "attempt_timeout": 50}, {"attempt_timeout": 40}, (9, 40, 40)),
    ],
)
def test_the_judge_has_the_users_limits_first(
    serve: Serve,
    tmp_path: Path,
    given: dict[str, Any],
    role: dict[str, Any],
    expected: tuple[int, int, int],
) -> None:
    serve(lambda call: Reply(GOOD if call.model == "judge" else "Answer."))
    judge = get_model(
        "openai-api/loop/judge", config=GenerateConfig(**role), memoize=False
    )  # fmt: skip
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a")])
    log = run_eval(dataset, tmp_path, model_roles={"grader": judge}, **given)
    assert limits_of(log, "judge") == [expected]
    # A log is scored with the limits of the role alone.
    again = score(
        log, rubric_judge(), model_roles={"grader": judge}, action="append", display="none"
    )  # fmt: skip
    seconds = role.get("attempt_timeout", 600)
    assert limits_of(again, "judge") == [(0, seconds, seconds)]
