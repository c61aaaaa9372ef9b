"""What a process of `benchmarks.overhead` runs and measures: our task, or a bare one.

    python -m benchmarks.sides DATASET PART

A part is a side, of which the whole file is run (`ours`, `bare`; `live`, ours with Inspect's
live log; `wall`, ours with many connections), or `metrics`. The package is imported where a side first needs it, because its
import is a part of what it costs.
"""

import json
import statistics
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
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

LATENCY, CONNECTIONS = 8.0, 100

_MESSAGE: dict[str, Any] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}
_PROMPT = Path(__file__).parents[1] / "src" / "inspect_clbench" / "judge" / "builtin.txt"


def import_side(side: str) -> None:
    """Import what a side's task needs beside Inspect."""
    if side == "bare":
        # Inspect imports each plugin that is installed, which a bare task does not need.
        sys.modules["inspect_clbench._registry"] = ModuleType("none")
    else:
        import_module("inspect_clbench.tasks")


def task_of(side: str, dataset: str) -> Task:
    """Our task, or the bare one."""
    if side != "bare":
        from inspect_clbench.tasks import clbench

        return clbench(dataset=dataset)

    @scorer(metrics=[])
    def trivial() -> Scorer:
        template = _PROMPT.read_text("utf-8")

        async def score(state: TaskState, target: Target) -> Score:
            rubrics = enumerate(state.metadata["rubrics"], start=1)
            lines = "\n".join(f"{number}. {rubric}" for number, rubric in rubrics)
            prompt = template.replace("{rubrics_text}", lines)
            prompt = prompt.replace("{model_output}", state.output.completion)
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


def run(side: str, dataset: str) -> dict[str, Any]:
    """A run of the whole file in this process, from the import to the end."""
    figures: dict[str, Any] = {"started": time.monotonic()}
    import_side(side)
    cpu = time.process_time()
    task = task_of(side, dataset)
    figures |= {"loading": time.process_time() - cpu, "held": _peak_memory()}
    cpu = time.process_time()
    figures["log"] = _eval(task, side) / 1024 / len(task.dataset)
    figures["cpu"] = 1000 * (time.process_time() - cpu) / len(task.dataset)
    return {**figures, "ended": time.monotonic(), "memory": _peak_memory()}


def _eval(task: Task, side: str) -> int:
    """Run a task against the loopback server; the size of its log in bytes."""
    connections = CONNECTIONS if side == "wall" else 50
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            task,
            model=f"openai-api/loop/{side}",  # the server tells by it who asks
            model_roles={"grader": "openai-api/loop/judge"},
            max_connections=connections,
            max_samples=2 * connections,  # while one is judged the next is answered
            log_realtime=side == "live",
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
    from tests.support.builders import SUB_CATEGORIES, sample_score

    from inspect_clbench.metrics.agreement import judge_agreement
    from inspect_clbench.metrics.solving import clbench_metrics

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

    scores = [score_of(i) for i in range(3 * 1899)]
    return {"all": statistics.median(took(scores) for _ in range(9))}


def main() -> None:
    dataset, part = sys.argv[1:]
    print(json.dumps(live_metrics() if part == "metrics" else run(part, dataset)))


if __name__ == "__main__":
    main()
