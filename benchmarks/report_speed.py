"""How long a report takes beside Inspect's own reading of the same log's summaries.

    python -m benchmarks.report_speed [LOG]

Without a log, one of three runs over all tasks is made first (some minutes). Both are
measured in turns, in one process and as commands, imports included; the best of the
rounds counts, since everything else a machine does only makes it slower. The limit is
held against CPU seconds: a busy machine stretches the others at random.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from inspect_ai.log import read_eval_log_sample_summaries
from rich.console import Console
from rich.table import Table

from benchmarks.full_log import build_log
from inspect_clbench.analysis import report

MOST = 1.3
ROUNDS = 5


def main() -> None:
    if len(sys.argv) > 1:
        measure(sys.argv[1])
    else:
        with tempfile.TemporaryDirectory() as folder:
            measure(build_log(folder))


def measure(log: str) -> None:
    size = Path(log).stat().st_size / 1e6
    samples = len(read_eval_log_sample_summaries(log))
    ours = str(Path(sys.executable).parent / "clbench")
    reading = (
        f"from inspect_ai.log import read_eval_log_sample_summaries as read; read({log!r})"
    )
    rows = [
        compare(
            "in one process",
            lambda: read_eval_log_sample_summaries(log),
            lambda: report(log),
        ),
        compare(
            "as commands",
            lambda: subprocess.run([sys.executable, "-c", reading], check=True),
            lambda: subprocess.run([ours, "report", log], check=True, capture_output=True),
        ),
    ]
    table = Table(title=f"{samples:,} samples, {size:.0f} MB, best of {ROUNDS}")
    for column in ("", "", "summaries (s)", "report (s)", f"ratio (at most {MOST})"):
        table.add_column(column, justify="left" if not column else "right")
    slow = False
    for name, theirs, own in rows:
        for clock, before, after in zip(("wall", "CPU"), theirs, own, strict=True):
            table.add_row(name, clock, f"{before:.2f}", f"{after:.2f}", f"{after / before:.2f}")
            slow |= clock == "CPU" and after / before > MOST
    Console().print(table)
    if slow:
        sys.exit(f"The report takes more than {MOST} times as long as reading the summaries.")


Times = tuple[float, float]
"""Seconds on the wall and of the processors, each the best of its rounds."""


def compare(
    name: str, theirs: Callable[[], object], own: Callable[[], object]
) -> tuple[str, Times, Times]:
    timings: tuple[list[Times], list[Times]] = ([], [])
    for _ in range(ROUNDS):
        for function, times in zip((theirs, own), timings, strict=True):
            wall, cpu = time.perf_counter(), cpu_seconds()
            function()
            times.append((time.perf_counter() - wall, cpu_seconds() - cpu))
    best = [(min(t[0] for t in times), min(t[1] for t in times)) for times in timings]
    return name, best[0], best[1]


def cpu_seconds() -> float:
    """What this process and those it waited for have used."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


if __name__ == "__main__":
    main()
