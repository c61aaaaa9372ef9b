"""How long export takes, and how much memory, beside Inspect's own reading of the same log.

    python -m benchmarks.analysis_speed [LOG]

Without a log, one of three runs over all tasks is made first (some minutes). Each step
is a process of its own, imports included. The reader is a plain loop over
`read_eval_log_samples`, which does nothing with what it reads.
"""

import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks.full_log import REAL_DATA, build_log

MOST_RATIO = 2.0
MOST_MEGABYTES = 400

_LOOP = """
from inspect_ai.log import read_eval_log_samples
print(sum(1 for _ in read_eval_log_samples({log!r})))
"""


@dataclass(frozen=True)
class Step:
    name: str
    seconds: float
    cpu_seconds: float
    megabytes: float
    """The most memory that the process held at a time."""


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = sys.argv[1] if len(sys.argv) > 1 else build_log(Path(folder) / "logs")
        measure(log, Path(folder))


def measure(log: str, folder: Path) -> None:
    clbench = str(Path(sys.executable).parent / "clbench")
    out = folder / "out"
    reader = run("read_eval_log_samples", [sys.executable, "-c", _LOOP.format(log=log)])
    export = run("clbench export", [clbench, "export", log, "--to", str(out)])
    graded = [str(path) for path in sorted(out.glob("*_graded.jsonl"))]
    steps = [
        reader,
        export,
        # The scripted judge miscounts a few rubrics, which verify finds: exit code 1.
        run(
            "clbench verify",
            [clbench, "verify", str(out), "--dataset", str(REAL_DATA)],
            allowed=(0, 1),
        ),
        run("clbench import", [clbench, "import", *graded, "--log-dir", str(folder / "i")]),
    ]
    table = Table(title=f"{Path(log).stat().st_size / 1e6:.0f} MB log, {len(graded)} runs")
    for column in ("", "seconds", "CPU seconds", "of the reader", "peak MB"):
        table.add_column(column, justify="left" if not column else "right")
    for step in steps:
        ratio = step.seconds / reader.seconds
        table.add_row(
            step.name,
            f"{step.seconds:.1f}",
            f"{step.cpu_seconds:.1f}",
            f"{ratio:.2f}",
            f"{step.megabytes:.0f}",
        )
    Console().print(table)
    if export.seconds > MOST_RATIO * reader.seconds:
        sys.exit(f"Export takes more than {MOST_RATIO} times as long as reading the samples.")
    if export.megabytes > MOST_MEGABYTES:
        sys.exit(f"Export takes more than {MOST_MEGABYTES} MB of memory.")


def run(name: str, command: list[str], allowed: tuple[int, ...] = (0,)) -> Step:
    start = time.perf_counter()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - start
        if process.returncode not in allowed:
            said.seek(0)
            sys.exit(f"{name} failed: {said.read().decode()}")
    cpu = usage.ru_utime + usage.ru_stime
    return Step(name, seconds, cpu, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
