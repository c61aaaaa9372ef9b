"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer
and without metrics. Answers have 4,000 characters; verdicts have a status for each rubric,
of which the last is not met, and a rationale of 500 characters.

- Both sides run the whole file at the same moment, each in a new process, so that a slow
  minute of the machine slows both. Each figure is the mean of all such pairs, with the
  standard error of the ratio. The time to the first request begins when Inspect has been
  imported and our package has not.
- Ours alone: a full run at 8 s latency against the ideal, what Inspect's live log costs
  (`--no-log-realtime` turns it off, as for all other figures), and all metrics at the
  scores of three runs.
"""

import argparse
import json
import lzma
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.support.builders import verdict
from tests.support.server import Call, LoopbackServer, Reply

from benchmarks.sides import CONNECTIONS, LATENCY

PAIRS, LIVE_PAIRS = 6, 2

ANSWER = "An answer of some length, with words of many kinds in it. " * 70
RATIONALE = "Requirement 1 is met: the answer says so in so many words. " * 8
_RUBRIC = re.compile(r"^\d+\. ", re.MULTILINE)

Figures = dict[str, Any]


def script(call: Call) -> Reply:
    if call.model != "judge":
        return Reply(ANSWER, delay=LATENCY if call.model == "wall" else 0.0)
    rubrics = len(_RUBRIC.findall(call.prompt))
    return Reply(verdict(0, ["yes"] * (rubrics - 1) + ["no"], RATIONALE))


def measured(dataset: str, *parts: str) -> list[Figures]:
    """What processes found that ran at the same moment, and when their requests came."""
    with LoopbackServer(script) as server:
        environment = os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"}
        processes = [
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.sides", dataset, part],
                env=environment, stdout=subprocess.PIPE, text=True,
            )
            for part in parts
        ]  # fmt: skip
        try:
            found = [_found(process) for process in processes]
        finally:
            for process in processes:
                process.kill()  # the other one, where one has failed
        for part, figures in zip(parts, found, strict=True):
            calls = zip(server.times, server.calls, strict=True)
            if moments := [moment for moment, call in calls if call.model == part]:
                figures["first request"] = min(moments) - figures["started"]
                figures["wall"] = figures["ended"] - min(moments)
                figures["ideal"] = LATENCY * len(moments) / CONNECTIONS
    return found


def _found(process: "subprocess.Popen[str]") -> Figures:
    printed, _ = process.communicate()
    if process.returncode != 0:
        sys.exit(f"benchmarks.overhead: a part of it failed ({process.returncode}).")
    figures: Figures = json.loads(printed.strip().splitlines()[-1])
    return figures


def measured_pairs(dataset: str, one: str, other: str, pairs: int) -> list[list[Figures]]:
    """What two sides found that ran at the same moment, so many times."""
    found = []
    for turn in range(pairs):  # each of the two starts first as often
        order = (one, other) if turn % 2 else (other, one)
        figures = dict(zip(order, measured(dataset, *order), strict=True))
        found.append([figures[one], figures[other]])
    return found


def show(what: str, name: str, pairs: list[list[Figures]], bound: str = "") -> None:
    """The line of a figure: the means of both sides, and the mean of their ratios."""
    ratios = [one[name] / other[name] for one, other in pairs]
    error = statistics.stdev(ratios) / math.sqrt(len(ratios))
    one, other = (statistics.fmean(pair[side][name] for pair in pairs) for side in (0, 1))
    line(what, one, other, statistics.fmean(ratios), f"± {error:.3f}", bound)


def line(
    what: str, one: float, other: float, ratio: float, error: str = "", bound: str = ""
) -> None:
    text = f"{what:40}{one:8.2f}{other:8.2f}{ratio:8.3f}{error:>9}{bound:>9}"
    print(text.rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="What our own code costs on top of Inspect.")
    parser.add_argument("dataset")
    dataset = _unpacked(parser.parse_args().dataset)
    print(f"{'':40}{'ours':>8}{'bare':>8}{'ratio':>8}{'':9}{'at most':>9}")
    pairs = measured_pairs(dataset, "ours", "bare", PAIRS)
    show("CPU ms per sample", "cpu", pairs, "1.08")
    show("s to the first request", "first request", pairs, "1.10")
    show("CPU s to load the file", "loading", pairs, "1.10")
    show("MB once it is loaded, peak", "held", pairs)
    show("MB of the whole run, peak", "memory", pairs)
    show("log KB per sample", "log", pairs)
    (full,) = measured(dataset, "wall")
    what = f"s, all rows, {LATENCY:.0f} s, {CONNECTIONS} conn. / ideal"
    line(what, full["wall"], full["ideal"], full["wall"] / full["ideal"], bound="1.10")
    show(
        "CPU ms live log / without", "cpu", measured_pairs(dataset, "live", "ours", LIVE_PAIRS)
    )
    (metrics,) = measured(dataset, "metrics")
    what = "ms, all metrics, 5,697 scores"
    print(f"{what:40}{metrics['all']:8.2f}{'':25}{'200 ms':>9}", flush=True)


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
