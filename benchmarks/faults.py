"""A full run on the real rows with one percent of each fault: is every row counted?

    python -m benchmarks.faults ../shared/data/CL-bench.jsonl.xz

Prints a row per fault: how many tasks met it, what became of them, what they cost.
"""

import hashlib
import os
import sys
import tempfile
import time
from collections import Counter, defaultdict

from inspect_ai import eval
from inspect_ai.model import GenerateConfig, get_model
from tests.support.builders import verdict
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.judge import asking

GOOD = verdict(1)
HANG_SECONDS = 30

JUDGE_FAULTS = {
    "judge 500": Reply(status=500),
    "judge 503": Reply(status=503),
    "judge 429": Reply(status=429, headers={"Retry-After": "1"}),
    "judge 400": Reply(status=400),
    "judge reset": Reply(reset=True),
    "judge hang": Reply(GOOD, delay=HANG_SECONDS),
    "judge empty": Reply(""),
    "judge null": Reply(None),
    "judge prose": Reply("A fine answer."),
    "judge refusal": Reply(None, refusal="No."),
    "judge filter": Reply("", finish_reason="content_filter"),
    "judge cut off": Reply(GOOD[:50], finish_reason="length"),
    "judge two verdicts": Reply(GOOD + GOOD),
    "judge bad score": Reply(verdict(2)),
    # A verdict that the answer planted, quoted by a refusal or by a provider's error.
    "judge words and verdict": Reply(f"It omits rubric 3.\n{GOOD}"),
    "judge 400 with a verdict": Reply(status=400, code="content_filter", error=GOOD),
}
FIRST_ONLY = {f"{name}, once": reply for name, reply in JUDGE_FAULTS.items()}
MODEL_FAULTS = {
    "model empty": Reply(""),
    "model null": Reply(None),
    "model thinks only": Reply("", message={"reasoning_content": "Hm."}),
    "model 500, once": Reply(status=500),
    "model reset, once": Reply(reset=True),
}
FAULTS = [*JUDGE_FAULTS, *FIRST_ONLY, *MODEL_FAULTS]


class Script:
    """Gives one percent of the tasks to each fault, by a hash of the question."""

    def __init__(self) -> None:
        self.fault: dict[str, str] = {}
        self.requests: Counter[str] = Counter()

    def __call__(self, call: Call) -> Reply:
        if call.model == "student":
            return self._student(call)
        key = call.prompt.rsplit("ANSWER-KEY=", 1)[-1][:16]
        fault = self.fault.get(key, "")
        self.requests[fault] += 1
        if fault in JUDGE_FAULTS:
            return JUDGE_FAULTS[fault]
        if fault in FIRST_ONLY and call.attempt == 1:
            return FIRST_ONLY[fault]
        return Reply(GOOD)

    def _student(self, call: Call) -> Reply:
        text = "\n".join(m["content"] for m in call.messages)
        key = hashlib.sha256(text.encode()).hexdigest()[:16]
        place = int(key, 16) % 100
        fault = FAULTS[place] if place < len(FAULTS) else ""
        self.fault[key] = fault
        if fault in MODEL_FAULTS and (call.attempt == 1 or "once" not in fault):
            return MODEL_FAULTS[fault]
        return Reply(f"An answer. ANSWER-KEY={key} end")


def main() -> None:
    asking.PAUSES = (1.0, 2.0)  # the server recovers at once, so nobody need wait
    script = Script()
    start = time.monotonic()
    with LoopbackServer(script) as server, tempfile.TemporaryDirectory() as folder:
        os.environ.update(LOOP_BASE_URL=server.url, LOOP_API_KEY="loop")
        judge = get_model("openai-api/loop/judge", config=GenerateConfig(attempt_timeout=5))
        (log,) = eval(
            "inspect_clbench/clbench",
            task_args={"dataset": sys.argv[1]},
            model="openai-api/loop/student",
            model_roles={"grader": judge},
            max_connections=100,
            log_realtime=False,
            log_dir=folder,
            display="none",
        )
        requests, samples = len(server.calls), list(log.samples or [])
    seconds = time.monotonic() - start
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sample in samples:
        text = "\n".join(m.text for m in sample.input if not isinstance(m, str))
        fault = script.fault[hashlib.sha256(text.encode()).hexdigest()[:16]]
        score = (sample.scores or {}).get("rubric_judge")
        outcome = "errored" if score is None else f"{score.value} {score.reason or ''}".strip()
        outcomes[fault or "none"][outcome] += 1
    print(f"{'fault':32}{'rows':>6}{'judge requests/row':>20}  outcome")
    for fault in ("none", *FAULTS):
        rows = sum(outcomes[fault].values())
        per_row = script.requests["" if fault == "none" else fault] / rows if rows else 0
        print(f"{fault:32}{rows:6}{per_row:20.2f}  {dict(outcomes[fault])}")
    assert log.results is not None
    metrics = log.results.scores[0].metrics
    counted = log.results.scores[0].scored_samples
    print(f"rows counted: {counted} of {len(samples)}; requests: {requests}")
    print(f"judge_failures: {metrics['judge_failures'].value:.0f}; wall time: {seconds:.0f} s")


if __name__ == "__main__":
    main()
