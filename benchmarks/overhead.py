"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics. Each side runs in a process of its own, in turns; the lowest of the
rounds counts, because noise only ever adds. CPU per sample is taken from a second eval
in each process, so that what happens once (imports, tables of models) is not in it; the
time to the first request is that of the first eval. The last two rows are ours alone:
a full run at 8 s latency against the ideal, and all metrics at the scores of three runs.
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

ROUNDS = 5
WARM_UP = 10
LATENCY, CONNECTIONS = 8.0, 100

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
    if side == "bare":
        task = Task(dataset=json_dataset(dataset, sample), solver=generate(), scorer=trivial())
    else:
        task = clbench(dataset=dataset)
    figures = {
        "started": started,
        "loading": time.process_time() - cpu,
        "held": _peak_memory(),
    }
    if side == "wall":
        run_eval(task, connections=CONNECTIONS)
        return {**figures, "ended": time.monotonic()}
    run_eval(task, limit=(0, WARM_UP))
    cpu = time.process_time()
    size = run_eval(task, limit=(WARM_UP, WARM_UP + limit))
    figures["cpu"] = (time.process_time() - cpu) / limit
    return {**figures, "log": size / limit, "memory": _peak_memory()}


def run_eval(
    task: Task, limit: tuple[int, int] | None = None, connections: int = 50
) -> int:  # fmt: skip
    """One eval against the loopback server; the size of its log in bytes."""
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            task,
            model="openai-api/loop/student",
            model_roles={"grader": "openai-api/loop/judge"},
            limit=limit,
            max_connections=connections,
            max_samples=2 * connections,  # while one is judged the next is answered
            log_realtime=False,
            log_dir=folder,
            display="none",
        )
        assert log.status == "success", log.error
        return sum(path.stat().st_size for path in Path(folder).iterdir())


def _peak_memory() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


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


def measured(side: str, dataset: str, limit: int) -> dict[str, float]:
    """What one process of its own found, and when its requests reached the server."""

    def slow(call: Call) -> Reply:
        return Reply(script(call).text, delay=LATENCY if call.model == "student" else 0.0)

    with LoopbackServer(slow if side == "wall" else script) as server:
        command = [sys.executable, "-m", "benchmarks.overhead", dataset, "--side", side]
        done = subprocess.run(
            [*command, "--limit", str(limit)],
            env=os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        figures: dict[str, float] = json.loads(done.stdout.strip().splitlines()[-1])
        answers = [
            moment
            for moment, call in zip(server.times, server.calls, strict=True)
            if call.model == "student"
        ]
    first = min(answers)
    figures["first request"] = first - figures["started"]
    if side == "wall":
        ideal = LATENCY * len(answers) / CONNECTIONS
        figures |= {"wall": figures["ended"] - first, "ideal": ideal}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("dataset")
    parser.add_argument("--limit", type=int, default=200, help="samples per round")
    parser.add_argument("--side", choices=["ours", "bare", "wall"], help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.side:
        print(json.dumps(run_one(arguments.side, arguments.dataset, arguments.limit)))
        return
    dataset = _unpacked(arguments.dataset)
    results: dict[str, list[dict[str, float]]] = {"ours": [], "bare": []}
    for _ in range(ROUNDS):
        for side, rounds in results.items():
            rounds.append(measured(side, dataset, arguments.limit))
    print(f"{'':36}{'ours':>10}{'bare':>10}{'ratio':>8}{'at most':>9}")
    for name, unit, scale, bound in (
        ("cpu", "CPU ms per sample", 1000, "1.05"),
        ("first request", "s to the first request", 1, "1.10"),
        ("loading", "CPU s to load the file", 1, "1.10"),
        ("held", "MB once it is loaded, peak", 1, ""),
        ("memory", "MB of the whole run, peak", 1, ""),
        ("log", "log KB per sample", 1 / 1024, ""),
    ):
        ours, bare = (min(r[name] for r in results[s]) * scale for s in ("ours", "bare"))
        print(f"{unit:36}{ours:10.2f}{bare:10.2f}{ours / bare:8.3f}{bound:>9}")
    full = measured("wall", dataset, 0)
    what = f"s of wall time, {LATENCY:.0f} s x {CONNECTIONS} conn."
    ratio = full["wall"] / full["ideal"]
    print(f"{what:36}{full['wall']:10.2f}{full['ideal']:10.2f}{ratio:8.3f}{'1.10':>9}")
    print(
        f"{'ms for all metrics, 5,697 scores':36}{live_metrics_ms():10.2f}{'':18}{'20 ms':>9}"
    )


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
