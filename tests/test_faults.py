"""Whole evals against a faulty judge and a faulty model: every row ends where it should."""

import time
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.scorer import Score

from inspect_clbench.regrade import regrade
from inspect_clbench.scoring.error_types import error_types
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]

GOOD = verdict(1, ["yes", "yes", "yes"])
BAD = verdict(0, ["yes", "no", "yes"])
TOOL_CALLS = [
    {"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
]


@dataclass(frozen=True)
class Fault:
    """A fault, and what must become of a row that always meets it."""

    reply: Reply
    requests: int
    error: str
    """How `judge_error` starts."""


TRANSPORT = {
    "500": Fault(Reply(status=500), 9, "call_failed"),
    "503": Fault(Reply(status=503), 9, "call_failed"),
    "429": Fault(Reply(status=429, headers={"Retry-After-Ms": "20"}), 9, "call_failed"),
    "400": Fault(Reply(status=400), 3, "call_failed"),
    "reset": Fault(Reply(reset=True), 9, "call_failed"),
}
REPLIES = {
    "empty": Fault(Reply(""), 3, "empty_reply"),
    "null": Fault(Reply(None), 3, "empty_reply"),
    "blank": Fault(Reply(" \n\t"), 3, "empty_reply"),
    "prose": Fault(Reply("A fine answer."), 3, "no_verdict"),
    "refusal": Fault(Reply(None, refusal="I cannot judge this."), 3, "refused"),
    "filter": Fault(Reply("", finish_reason="content_filter"), 3, "refused"),
    "cut": Fault(Reply(GOOD[:60], finish_reason="length"), 3, "cut_off"),
    "cut-prose": Fault(Reply("So: " + GOOD + " and", finish_reason="length"), 3, "cut_off"),
    "two": Fault(Reply(f"{GOOD}\n{BAD}"), 3, "several_verdicts"),
    "words-after": Fault(Reply(f"My verdict:\n{GOOD}\nThat is all."), 3, "unclear_reply"),
    "words-before": Fault(Reply(f"I give zero points.\n{GOOD}"), 3, "unclear_reply"),
    "score-2": Fault(Reply(verdict(2)), 3, "bad_score"),
    "score-half": Fault(Reply(verdict(0.5)), 3, "bad_score"),
    "score-null": Fault(Reply(verdict(None)), 3, "bad_score"),
    "score-words": Fault(Reply(verdict("1 points")), 3, "bad_score"),
    "no-choices": Fault(Reply(changes={"choices": []}), 3, "empty_reply"),
    "null-choices": Fault(Reply(changes={"choices": None}), 3, "call_failed"),
    "odd-choices": Fault(Reply(changes={"choices": [7]}), 3, "call_failed"),
    "null-message": Fault(Reply(changes={"choices": [{"message": None}]}), 3, "call_failed"),
    "tool-call": Fault(Reply(None, "tool_calls", message={"tool_calls": TOOL_CALLS}), 3, "empty_reply"),
    "odd-tool-call": Fault(Reply(None, message={"tool_calls": [{"type": 1}]}), 3, "empty_reply"),
    "odd-content": Fault(Reply(message={"content": [{"type": "image"}]}), 3, "call_failed"),
    "half-character": Fault(Reply("So \ud83d"), 3, "no_verdict"),
    "control": Fault(Reply("\x00\x1b[31m\u202e\u2028"), 3, "no_verdict"),
}  # fmt: skip
# Replies that are verdicts, and what they say.
SHAPES = {
    "plain": (GOOD, "C", "strict"),
    "fenced": (f"```json\n{GOOD}\n```", "C", "strict"),
    "bare-fence": (f"```\n{BAD}\n```", "I", "strict"),
    "true": (verdict(True), "C", "strict"),
    "one-point-zero": (verdict(1.0), "C", "strict"),
    "text-one": (verdict("1"), "C", "strict"),
    "text-zero": (verdict("0"), "I", "strict"),
    "in-prose": (f"My verdict:\n{GOOD}\n", "C", "recovered"),
    "raw-newline": (GOOD.replace("Checked.", "Line one.\nLine two."), "C", "recovered"),
}


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspect_clbench.judge.asking.PAUSES", (0.1, 0.1))


def fault_of(call: Call) -> str:
    """The id of the task that a request is about."""
    return call.prompt.rsplit("TASK=", 1)[-1].split()[0]


def scripted(task: str, number: int, faults: dict[str, Fault]) -> Reply:
    """The judge's reply to the n-th request about a task named `<fault>-always|first`."""
    name, _, when = task.rpartition("-")
    if name in faults and (when == "always" or number == 1):
        return faults[name].reply
    if task in SHAPES:
        return Reply(SHAPES[task][0])
    return Reply(GOOD)


class Bench:
    """Runs a set of tasks against a scripted judge and notes what each row cost."""

    def __init__(self, serve: Serve, tmp_path: Path, faults: dict[str, Fault]) -> None:
        self.requests: defaultdict[str, int] = defaultdict(int)
        self.seconds: dict[str, float] = {}
        self._first: dict[str, float] = {}
        self._faults = faults
        self._path = tmp_path
        serve(self._script)

    def _script(self, call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"An answer. TASK={fault_of(call)}")
        if "TASK=" not in call.prompt:
            return Reply("ready")
        task = fault_of(call)
        self.requests[task] += 1
        self._first.setdefault(task, time.monotonic())
        self.seconds[task] = time.monotonic() - self._first[task]
        return scripted(task, self.requests[task], self._faults)

    def run(self, tasks: list[str], attempt_timeout: int | None = None) -> dict[str, Score]:
        dataset = write_rows(self._path / "rows.jsonl", [row(task) for task in tasks])
        config = GenerateConfig(attempt_timeout=attempt_timeout)
        judge = get_model("openai-api/loop/judge", config=config)
        log = run_eval(
            dataset, self._path, model_roles={"grader": judge}, max_retries=None
        )  # fmt: skip
        assert log.status == "success", log.error
        assert log.results is not None
        assert log.results.completed_samples == len(tasks)
        scores = {str(s.id): (s.scores or {})["rubric_judge"] for s in log.samples or []}
        self._print(scores)
        failures = sum(one.reason == "grader_failed" for one in scores.values())
        assert metrics_of(log)["judge_failures"] == failures
        assert metrics_of(log)["solving_rate"] == pytest.approx(
            sum(one.value == "C" for one in scores.values()) / len(tasks)
        )
        return scores

    def _print(self, scores: dict[str, Score]) -> None:
        print(f"\n{'fault':24}{'requests':>9}{'seconds':>9}  score  reason")
        for task, one in scores.items():
            print(
                f"{task:24}{self.requests[task]:9}{self.seconds[task]:9.1f}  {one.value:5}  "
                f"{one.reason or ''} {(one.metadata or {})['judge_error'][:60]}"
            )


@pytest.mark.long
def test_judge_faults_matrix(serve: Serve, tmp_path: Path) -> None:
    faults = TRANSPORT | REPLIES
    bench = Bench(serve, tmp_path, faults)
    tasks = [f"{name}-{when}" for name in faults for when in ("always", "first")]
    scores = bench.run([*tasks, *SHAPES])
    for name, fault in faults.items():
        dead, revived = scores[f"{name}-always"], scores[f"{name}-first"]
        assert (dead.value, dead.reason) == ("I", "grader_failed"), name
        assert (dead.metadata or {})["judge_error"].startswith(fault.error), name
        assert bench.requests[f"{name}-always"] == fault.requests <= 9, name
        assert (revived.value, revived.reason) == ("C", None), name
        assert bench.requests[f"{name}-first"] == 2, name
    for name, (_, value, source) in SHAPES.items():
        assert scores[name].value == value, name
        assert (scores[name].metadata or {})["verdict_source"] == source, name


@pytest.mark.parametrize("name", ["no-choices", "odd-choices", "tool-call", "half-character"])
def test_a_faulty_judge_ends_no_scoring_of_a_log(
    serve: Serve, tmp_path: Path, name: str
) -> None:
    serve(lambda call: Reply("Answer.") if call.model == "student" else REPLIES[name].reply)
    judged = run_eval(write_rows(tmp_path / "rows.jsonl", [row("x")]), tmp_path)
    again = regrade(judged.location, judge="openai-api/loop/judge")
    assert (again.asked, again.still_failed) == (1, 1)
    (sample,) = judged.samples or []
    sample.scores = {"rubric_judge": Score(value="I", metadata={"status": "nnn"})}
    roles: dict[str, str | Model] = {"grader": "openai-api/loop/judge"}
    for scorer in (rubric_judge(), error_types()):
        log = score(judged, scorer, model_roles=roles, action="append", display="none")
        last = list(((log.samples or [])[0].scores or {}).values())[-1]
        assert last.reason == "grader_failed"
        assert (last.metadata or {})["judge_attempts"] == 3


def test_a_hanging_judge_ends_within_attempts_times_the_bound(
    serve: Serve, tmp_path: Path
) -> None:
    faults = {"hang": Fault(Reply(GOOD, delay=60), 3, "timeout")}
    bench = Bench(serve, tmp_path, faults)
    start = time.monotonic()
    scores = bench.run(["hang-always", "hang-first"], attempt_timeout=1)
    assert time.monotonic() - start < 30  # not the minute that the server waits
    assert (scores["hang-always"].metadata or {})["judge_error"].startswith("timeout")
    assert bench.requests["hang-always"] == 3
    assert bench.seconds["hang-always"] < 3 * 1 + 3
    assert scores["hang-first"].value == "C"


@pytest.mark.long
@pytest.mark.parametrize("where", ["command line", "role"])
def test_the_users_limits_win_over_ours(serve: Serve, tmp_path: Path, where: str) -> None:
    bench = Bench(serve, tmp_path, {"500": TRANSPORT["500"]})
    dataset = write_rows(tmp_path / "rows.jsonl", [row("500-always")])
    config = GenerateConfig(max_retries=1) if where == "role" else GenerateConfig()
    judge = get_model("openai-api/loop/judge", config=config)
    retries = 1 if where == "command line" else None
    run_eval(dataset, tmp_path, max_retries=retries, model_roles={"grader": judge})
    assert bench.requests["500-always"] == 18


MODEL_FAULTS = {
    "empty": (Reply(""), "I", "no_response"),
    "null": (Reply(None), "I", "no_response"),
    "blank": (Reply("\n "), "I", "no_response"),
    "think-only": (Reply("<think>All I do is think.</think>"), "I", "no_response"),
    "reasoning-only": (Reply("", reasoning="All I do is think."), "I", "no_response"),
    "filter": (Reply("", finish_reason="content_filter"), "I", "no_response"),
    "cut": (Reply("Half an ans", finish_reason="length"), "C", None),
    "fine": (Reply("An answer."), "C", None),
    "call": (Reply(None, "tool_calls", message={"tool_calls": TOOL_CALLS}), "I", "no_response"),
    "call-text": (Reply("An answer.", message={"tool_calls": TOOL_CALLS}), "C", None),
    "think-cut": (Reply("<think>Let me see", "length"), "I", "no_response"),
    "think-tag": (Reply("<think> is a tag that opens a thought."), "C", None),
}
MODEL_TRANSPORT = {name: fault.reply for name, fault in TRANSPORT.items()}


def _model_side(call: Call) -> Reply:
    if call.model == "judge":
        return Reply(GOOD)
    task = fault_of(call)
    name, _, when = task.rpartition("-")
    if when in ("always", "first") and (when == "always" or call.attempt == 1):
        return MODEL_TRANSPORT[name]
    return MODEL_FAULTS[task][0] if task in MODEL_FAULTS else Reply("An answer.")


@pytest.mark.long
def test_model_faults(serve: Serve, tmp_path: Path) -> None:
    server = serve(_model_side)
    dead = [f"{name}-always" for name in MODEL_TRANSPORT]
    revived = [f"{name}-first" for name in MODEL_TRANSPORT if name != "400"]
    tasks = [*MODEL_FAULTS, *dead, *revived]
    dataset = write_rows(tmp_path / "rows.jsonl", [row(task) for task in tasks])
    log: EvalLog = run_eval(dataset, tmp_path, max_retries=1)
    samples = {str(s.id): s for s in log.samples or []}
    assert len(samples) == len(tasks)
    for name, (_, value, reason) in MODEL_FAULTS.items():
        found = (samples[name].scores or {})["rubric_judge"]
        assert (found.value, found.reason) == (value, reason), name
        asked = [call for call in server.calls_of("student") if fault_of(call) == name]
        assert len(asked) == 1, name
    for name in dead:
        assert samples[name].error is not None, name
        assert not samples[name].scores, name
    for name in revived:
        assert (samples[name].scores or {})["rubric_judge"].value == "C", name
    assert metrics_of(log)["no_response"] == 8


def test_a_run_without_flags_ends_although_the_model_never_answers() -> None:
    from inspect_clbench import clbench

    config = clbench(dataset="demo").config
    assert config.max_retries is not None
    assert config.attempt_timeout is not None
