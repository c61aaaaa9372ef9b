"""What a process of `benchmarks.overhead` runs and measures: our task, or a bare one.

    python -m benchmarks.sides DATASET PART

A part is a side (`ours`, `bare`, `wall`) for what happens once in a run; a side with `whole`
behind it (`ours`, `bare`, `spared`, `live`) for the CPU of a run of the whole file; or `metrics`.
"""

import gc
import json
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import (
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
    get_model,
)
from inspect_ai.scorer import CORRECT, SampleScore, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState, generate
from tests.support.builders import SUB_CATEGORIES, sample_score, verdict
from tests.support.server import Call, Reply

from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.metrics import clbench_metrics
from inspect_clbench.panel_metrics import judge_agreement
from inspect_clbench.tasks import clbench

BLOCK = 500
LATENCY, CONNECTIONS = 8.0, 100

_MESSAGE: dict[str, Any] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


_ANSWER = "An answer of some length, with words of many kinds in it. " * 70
_RATIONALE = "Requirement 1 is met: the answer says so in so many words. " * 8
_RUBRIC = re.compile(r"^\d+\. ", re.MULTILINE)


def script(call: Call) -> Reply:
    if call.model == "student":
        return Reply(_ANSWER)
    rubrics = len(_RUBRIC.findall(call.prompt))
    return Reply(verdict(0, ["yes"] * (rubrics - 1) + ["no"], _RATIONALE))


def task_of(side: str, dataset: str) -> Task:
    """Our task, or the bare one."""
    if side in ("ours", "live", "wall"):
        return clbench(dataset=dataset)

    @scorer(metrics=[])
    def trivial() -> Scorer:
        template = load_judge_prompt("builtin")

        async def score(state: TaskState, target: Target) -> Score:
            prompt = template.render(state.metadata["rubrics"], state.output.completion)
            await get_model(role="grader", required=True).generate(prompt)
            return Score(value=CORRECT)

        return score

    def sample(record: dict[str, Any]) -> Sample:
        return Sample(
            id=record["metadata"]["task_id"],
            input=[_MESSAGE[m["role"]](content=m["content"]) for m in record["messages"]],
            metadata={**record["metadata"], "rubrics": record["rubrics"]},
        )

    return Task(dataset=json_dataset(dataset, sample), solver=generate(), scorer=trivial())


def run_once(side: str, dataset: str) -> dict[str, Any]:
    """What happens once in a run, measured in this process."""
    started, cpu = time.monotonic(), time.process_time()
    task = task_of(side, dataset)
    figures = {
        "started": started,
        "loading": time.process_time() - cpu,
        "held": _peak_memory(),
    }
    if side == "wall":
        run_eval(task, connections=CONNECTIONS)
        return {**figures, "ended": time.monotonic()}
    return {**figures, "log": run_eval(task, BLOCK) / BLOCK, "memory": _peak_memory()}


def run_whole(side: str, dataset: str) -> dict[str, Any]:
    """CPU milliseconds per sample of a run of the whole file, measured in this process."""
    task = task_of(side, dataset)
    run_eval(task, limit=20)  # what Python and Inspect do the first time does not count
    if side == "spared":
        gc.freeze()
        gc.set_threshold(10_000, *gc.get_threshold()[1:])
    cpu = time.process_time()
    run_eval(task, live=side == "live")
    return {"cpu": 1000 * (time.process_time() - cpu) / len(task.dataset)}


def run_eval(
    task: Task,
    limit: int | None = None,
    connections: int = 50,
    live: bool = False,
) -> int:
    """One eval against the loopback server; the size of its log in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            task,
            model="openai-api/loop/student",
            model_roles={"grader": "openai-api/loop/judge"},
            limit=limit,
            max_connections=connections,
            max_samples=2 * connections,  # while one is judged the next is answered
            log_realtime=live,
            log_dir=folder,
            display="none",
        )
        assert log.status == "success", log.error
        return sum(path.stat().st_size for path in Path(folder).iterdir())


def _peak_memory() -> float:
    # Not from getrusage, which for a new process starts with its parent's peak.
    status = Path("/proc/self/status").read_text("utf-8")
    return int(status.split("VmHWM:")[1].split()[0]) / 1024


def live_metrics() -> dict[str, float]:
    """Milliseconds for all metrics at the scores of a full run of three epochs."""

    def score_of(i: int) -> SampleScore:
        return sample_score(
            f"t{i % 1899}",
            "C" if i % 5 else "I",
            epoch=i // 1899 + 1,
            context=f"c{i % 500}",
            sub_category=SUB_CATEGORIES[i % 18],
            rubrics_met=3,
            rubrics_total=5,
        )

    metrics = [*clbench_metrics(), judge_agreement()]

    def took(scores: list[SampleScore]) -> float:
        start = time.perf_counter()
        for metric in metrics:
            metric(scores)  # type: ignore[operator,arg-type]  # none of these is a group of metrics, and Metric still allows list[Score]
        return 1000 * (time.perf_counter() - start)

    new, more = [], []
    for _ in range(9):
        scores = [score_of(i) for i in range(3 * 1899)]
        earlier = len(scores) - CONNECTIONS // int(LATENCY)  # about a second before
        new.append(took(scores[:earlier]))
        more.append(took(scores))
    return {"new": statistics.median(new), "more": statistics.median(more)}


def main() -> None:
    dataset, part, *whole = sys.argv[1:]
    if part == "metrics":
        found: dict[str, Any] = live_metrics()
    else:
        found = run_whole(part, dataset) if whole else run_once(part, dataset)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
