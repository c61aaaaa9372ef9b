"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz --limit 300

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics of ours. Each side runs in a process of its own, in turns; the
lowest of the rounds counts.
"""

import argparse
import json
import lzma
import os
import resource
import statistics
import subprocess
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
from inspect_ai.scorer import CORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState, generate
from tests.support.builders import SUB_CATEGORIES, sample_score, verdict
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.metrics import clbench_metrics
from inspect_clbench.tasks import clbench

ROUNDS = 3

_MESSAGE: dict[str, Any] = {
    "system": ChatMessageSystem,
    "user": ChatMessageUser,
    "assistant": ChatMessageAssistant,
}


def script(call: Call) -> Reply:
    return (
        Reply("An answer of some length. " * 20)
        if call.model == "student"
        else Reply(verdict(1))
    )


def run_one(side: str, dataset: str, limit: int) -> dict[str, float]:
    """One eval in this process: its CPU seconds, and when its first request went out."""

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

    started, cpu = time.monotonic(), time.process_time()
    if side == "ours":
        task = clbench(dataset=dataset)
    else:
        task = Task(dataset=json_dataset(dataset, sample), solver=generate(), scorer=trivial())
    loaded = time.monotonic() - started
    loading_cpu = time.process_time() - cpu
    with tempfile.TemporaryDirectory() as folder:
        cpu = time.process_time()
        (log,) = eval(
            task,
            model="openai-api/loop/student",
            model_roles={"grader": "openai-api/loop/judge"},
            limit=limit,
            max_connections=50,
            log_realtime=False,
            log_dir=folder,
            display="none",
        )
        cpu = time.process_time() - cpu
        size = sum(path.stat().st_size for path in Path(folder).iterdir())
    assert log.status == "success", log.error
    return {
        "cpu": cpu / limit,
        "loading": loading_cpu,
        "loaded": loaded,
        "started": started,
        "log": size / limit,
        "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def wall_ratio(dataset: str, latency: float = 8.0, connections: int = 100) -> float:
    """Wall time from the first request on, against latency x samples / connections."""

    def slow(call: Call) -> Reply:
        reply = script(call)
        return Reply(reply.text, delay=latency if call.model == "student" else 0.0)

    with LoopbackServer(slow) as server, tempfile.TemporaryDirectory() as folder:
        os.environ.update(LOOP_BASE_URL=server.url, LOOP_API_KEY="loop")
        (log,) = eval(
            clbench(dataset=dataset),
            model="openai-api/loop/student",
            model_roles={"grader": "openai-api/loop/judge"},
            max_connections=connections,
            max_samples=2 * connections,  # while one is judged the next is answered
            log_realtime=False,
            log_dir=folder,
            display="none",
        )
        ended = time.monotonic()
        asked = [c.model for c in server.calls]
        first = server.times[asked.index("student")]
    assert log.status == "success", log.error
    return (ended - first) / (latency * asked.count("student") / connections)


def live_metrics_ms() -> float:
    """One call of all metrics at the scores of a full run of three epochs."""

    scores = [
        sample_score(
            f"t{i % 1899}",
            "C" if i % 5 else "I",
            epoch=i // 1899 + 1,
            context=f"c{i % 500}",
            sub_category=SUB_CATEGORIES[i % 18],
            rubrics_met=3,
            rubrics_total=5,
        )
        for i in range(3 * 1899)
    ]
    times = []
    for _ in range(9):
        start = time.perf_counter()
        for metric in clbench_metrics():
            metric(scores)  # type: ignore[operator,arg-type]  # unreduced metrics take SampleScores
        times.append(time.perf_counter() - start)
    return 1000 * statistics.median(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--limit", type=int, default=300)
    parser.add_argument("--side", choices=["ours", "bare"])
    parser.add_argument("--wall", action="store_true", help="only the full run at 8 s latency")
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(run_one(arguments.side, arguments.dataset, arguments.limit)))
        return
    dataset = _unpacked(arguments.dataset)
    if arguments.wall:
        print(f"wall time of a full run, of the ideal: {wall_ratio(dataset):.3f}")
        return
    results: dict[str, list[dict[str, float]]] = {"ours": [], "bare": []}
    for _ in range(ROUNDS):
        for side, rounds in results.items():
            with LoopbackServer(script) as server:
                environment = os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"}
                command = [sys.executable, "-m", "benchmarks.overhead", dataset, "--side", side]
                done = subprocess.run(
                    [*command, "--limit", str(arguments.limit)],
                    env=environment, capture_output=True, text=True, check=True,
                )  # fmt: skip
                result = json.loads(done.stdout.strip().splitlines()[-1])
                first = next(
                    t
                    for t, c in zip(server.times, server.calls, strict=True)
                    if c.model == "student"
                )
                result["first request"] = first - result["started"]
                rounds.append(result)
    print(f"{'':24}{'ours':>12}{'bare':>12}{'ratio':>8}")
    for name, unit, scale in (
        ("cpu", "CPU ms per sample", 1000),
        ("first request", "s to first request", 1),
        ("loading", "CPU s to load the file", 1),
        ("memory", "peak memory, MB", 1),
        ("log", "log KB per sample", 1 / 1024),
    ):
        ours, bare = (min(r[name] for r in results[s]) * scale for s in ("ours", "bare"))
        print(f"{unit:24}{ours:12.2f}{bare:12.2f}{ours / bare:8.3f}")
    print(f"live metrics at 5,697 scores: {live_metrics_ms():.1f} ms a call")


def _unpacked(dataset: str) -> str:
    """The plain file: unpacking is not what is compared."""
    if not dataset.endswith(".xz"):
        return dataset
    plain = Path(tempfile.gettempdir()) / "clbench-overhead.jsonl"
    with lzma.open(dataset) as packed:
        plain.write_bytes(packed.read())
    return str(plain)


if __name__ == "__main__":
    main()
