"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics.

- CPU per sample: one process that has both tasks runs five hundred samples of each in
  turns, seven times, after a first turn that does not count; who begins changes.
- What happens once (loading, start, memory): a process of its own for each side and round.
- Ours alone: what Inspect's live log costs (`--no-log-realtime` turns it off, as for all
  other figures), a full run at 8 s latency against the ideal, and all metrics at the
  scores of three runs, when some came in since the last call and when all are new.

CPU per sample is the median of the turns, its ratio the median of the ratios within a
turn, so that a slow minute of the machine slows both sides. Of the rest the lowest of the
rounds counts, because noise only ever adds.
"""

import argparse
import gc
import json
import lzma
import os
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
from inspect_ai.scorer import CORRECT, SampleScore, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState, generate
from tests.support.builders import SUB_CATEGORIES, sample_score, verdict
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.metrics import clbench_metrics
from inspect_clbench.panel_metrics import judge_agreement
from inspect_clbench.tasks import clbench

ROUNDS = 4
TURNS, BLOCK = 7, 500
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


def task_of(side: str, dataset: str) -> Task:
    """Our task, or the bare one."""
    if side != "bare":
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


def run_in_turns(dataset: str) -> dict[str, Any]:
    """CPU seconds per sample in each turn: of our task, the bare one, and ours with a live log."""
    ours = task_of("ours", dataset)
    tasks = {"ours": ours, "bare": task_of("bare", dataset), "live": ours}
    turns: dict[str, list[float]] = {side: [] for side in tasks}
    sides = list(tasks)
    for _ in range(TURNS + 1):
        sides.reverse()
        for side in sides:
            gc.collect()
            cpu = time.process_time()
            run_eval(tasks[side], BLOCK, live=side == "live")
            turns[side].append((time.process_time() - cpu) / BLOCK)
    return {side: values[1:] for side, values in turns.items()}


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


def measured(part: str, dataset: str) -> dict[str, Any]:
    """What a process of its own found, and when its requests reached the server."""

    def slow(call: Call) -> Reply:
        return Reply(script(call).text, delay=LATENCY if call.model == "student" else 0.0)

    with LoopbackServer(slow if part == "wall" else script) as server:
        done = subprocess.run(
            [sys.executable, "-m", "benchmarks.overhead", dataset, "--part", part],
            env=os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"},
            stdout=subprocess.PIPE, text=True, check=True,
        )  # fmt: skip
        figures: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        answers = [
            moment
            for moment, call in zip(server.times, server.calls, strict=True)
            if call.model == "student"
        ]
    if "started" in figures:
        figures["first request"] = min(answers) - figures["started"]
    if part == "wall":
        ideal = LATENCY * len(answers) / CONNECTIONS
        figures |= {"wall": figures["ended"] - min(answers), "ideal": ideal}
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description="What our own code costs on top of Inspect.")
    parser.add_argument("dataset")
    parser.add_argument("--part", help=argparse.SUPPRESS)  # for the processes it starts
    arguments = parser.parse_args()
    if part := arguments.part:
        found = (
            run_in_turns(arguments.dataset)
            if part == "turns"
            else live_metrics()
            if part == "metrics"
            else run_once(part, arguments.dataset)
        )
        print(json.dumps(found))
        return
    dataset = _unpacked(arguments.dataset)
    print(f"{'':36}{'ours':>10}{'bare':>10}{'ratio':>8}{'at most':>9}")

    def line(
        what: str, ours: float, other: float, bound: str = "", ratio: float | None = None
    ) -> None:
        ratio = ratio or ours / other
        print(f"{what:36}{ours:10.2f}{other:10.2f}{ratio:8.3f}{bound:>9}".rstrip(), flush=True)

    turns = measured("turns", dataset)

    def line_of_turns(what: str, ours: str, other: str, bound: str = "") -> None:
        ratios = (a / b for a, b in zip(turns[ours], turns[other], strict=True))
        mine, others = (1000 * statistics.median(turns[side]) for side in (ours, other))
        line(what, mine, others, bound, statistics.median(ratios))

    line_of_turns("CPU ms per sample", "ours", "bare", "1.05")
    once: dict[str, list[dict[str, Any]]] = {"ours": [], "bare": []}
    for _ in range(ROUNDS):
        for side, rounds in once.items():
            rounds.append(measured(side, dataset))
    for name, unit, scale, bound in (
        ("first request", "s to the first request", 1, "1.10"),
        ("loading", "CPU s to load the file", 1, "1.10"),
        ("held", "MB once it is loaded, peak", 1, ""),
        ("memory", "MB of the whole run, peak", 1, ""),
        ("log", "log KB per sample", 1 / 1024, ""),
    ):
        ours_once, bare_once = (min(r[name] for r in once[s]) for s in ("ours", "bare"))
        line(unit, ours_once * scale, bare_once * scale, bound)
    full = measured("wall", dataset)
    line(
        f"s for all rows, {LATENCY:.0f} s, {CONNECTIONS} conn. / ideal",
        full["wall"],
        full["ideal"],
        "1.10",
    )
    line_of_turns("CPU ms with live log / without", "live", "ours")
    metrics = measured("metrics", dataset)
    for what, key in (("some new", "more"), ("all new", "new")):
        name = f"ms, all metrics, 5,697 scores, {what}"
        print(f"{name:39}{metrics[key]:7.2f}{'':18}{'20 ms':>9}")


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
