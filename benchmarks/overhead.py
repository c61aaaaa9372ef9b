"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics. Answers have 4,000 characters; verdicts have a status for each rubric,
of which the last is not met, and a rationale of 500 characters.

- CPU per sample: both sides run the whole file at the same moment, each in a process of
  its own, so that a slow minute of the machine slows both. The figure is the mean of all
  such pairs, with its standard error. Our task has Python look for garbage less
  often; the next line shows what is left where the bare one does so too, which is our
  own work and what Inspect does with our scores.
- What happens once (loading, start, memory): a process of its own for each side and round.
  The lowest of the rounds counts, because noise only ever adds.
- Ours alone: what Inspect's live log costs (`--no-log-realtime` turns it off, as for all
  other figures), a full run at 8 s latency against the ideal, and all metrics at the
  scores of three runs, when some came in since the last call and when all are new.
"""

import argparse
import json
import lzma
import math
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.server import Call, LoopbackServer, Reply

from benchmarks.sides import CONNECTIONS, LATENCY, script

ROUNDS = 3
PAIRS, SPARED_PAIRS, LIVE_PAIRS = 8, 3, 2


def _started(dataset: str, server: LoopbackServer, *part: str) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-m", "benchmarks.sides", dataset, *part],
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
            processes = {side: _started(dataset, server, side, "whole") for side in order}
            for side, process in processes.items():
                found[side].append(_found(process)["cpu"])
        order.reverse()
    return list(found.values())


def measured(part: str, dataset: str) -> dict[str, Any]:
    """What a process of its own found, and when its requests reached the server."""

    def slow(call: Call) -> Reply:
        return Reply(script(call).text, delay=LATENCY if call.model == "student" else 0.0)

    with LoopbackServer(slow if part == "wall" else script) as server:
        figures = _found(_started(dataset, server, part))
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
    dataset = _unpacked(parser.parse_args().dataset)
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
