"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics. Answers have 4,000 characters; verdicts have a status for each rubric,
of which the last is not met, and a rationale of 500 characters.

- CPU per sample: both sides run the whole file at the same moment, each in a process of
  its own, so that a slow minute of the machine slows both. The figure is the mean of all
  such pairs, with its standard error. Our task spares the garbage collector what is
  loaded before the first sample; the next line shows what is left where the bare one
  does so too, which is our own work and what Inspect does with our scores.
- What happens once (loading, start, memory): a process of its own for each side and round.
  The lowest of the rounds counts, because noise only ever adds.
- Ours alone: what Inspect's live log costs (`--no-log-realtime` turns it off, as for all
  other figures), a full run at 8 s latency against the ideal, and all metrics at the
  scores of three runs, when some came in since the last call and when all are new.
"""

import argparse
import gc
import json
import lzma
import math
import os
import re
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
PAIRS, SPARED_PAIRS, LIVE_PAIRS = 10, 5, 3
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
        gc.collect()
        gc.freeze()
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


def _started(part: str, dataset: str, server: LoopbackServer) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.overhead", dataset, "--part", part],
        env=os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"},
        stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def _found(process: "subprocess.Popen[str]") -> dict[str, Any]:
    printed, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"benchmarks.overhead: a part of it failed ({process.returncode}).")
    figures: dict[str, Any] = json.loads(printed.strip().splitlines()[-1])
    return figures


def measured_pairs(one: str, other: str, dataset: str, pairs: int) -> list[list[float]]:
    """CPU per sample of two sides that run at the same moment, so many times."""
    found: dict[str, list[float]] = {one: [], other: []}
    order = [one, other]
    for _ in range(pairs):
        with LoopbackServer(script) as server:
            processes = {side: _started(f"{side} whole", dataset, server) for side in order}
            for side, process in processes.items():
                found[side].append(_found(process)["cpu"])
        order.reverse()
    return list(found.values())


def measured(part: str, dataset: str) -> dict[str, Any]:
    """What a process of its own found, and when its requests reached the server."""

    def slow(call: Call) -> Reply:
        return Reply(script(call).text, delay=LATENCY if call.model == "student" else 0.0)

    with LoopbackServer(slow if part == "wall" else script) as server:
        figures = _found(_started(part, dataset, server))
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
            run_whole(part.removesuffix(" whole"), arguments.dataset)
            if part.endswith(" whole")
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

    def line_of_pairs(what: str, one: str, other: str, pairs: int, bound: str = "") -> None:
        left, right = measured_pairs(one, other, dataset, pairs)
        ratios = [a / b for a, b in zip(left, right, strict=True)]
        error = statistics.stdev(ratios) / math.sqrt(pairs)
        means = statistics.fmean(left), statistics.fmean(right)
        line(f"{what}, ± {error:.3f}", *means, bound, statistics.fmean(ratios))

    line_of_pairs("CPU ms per sample", "ours", "bare", PAIRS, "1.05")
    line_of_pairs("  both spared", "ours", "spared", SPARED_PAIRS)
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
    line_of_pairs("CPU ms live log / without", "live", "ours", LIVE_PAIRS)
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
