"""How long reading a log takes, beside Inspect's own readers on the same log.

    python -m benchmarks.reading [LOG]

Without a log, one of three runs over all tasks is made first (some minutes). The summaries
are read in one process, in turns; the best of the rounds counts, since everything else that
a machine does only makes it slower. The commands are processes of their own, imports
included. Ratios are of CPU seconds: a busy machine stretches the others at random.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from inspect_ai.log import read_eval_log_sample_summaries

from benchmarks.full_log import REAL_DATA, build_log
from inspect_clbench.logs.answers import read_answers
from inspect_clbench.logs.files import find_logs

MOST = 0.3
"""What reading the answers of a log may take of Inspect's reading of its summaries."""

_ROUNDS = 3
_SUMMARIES = """
from inspect_ai.log import read_eval_log_sample_summaries
read_eval_log_sample_summaries({log!r})
"""


@dataclass(frozen=True)
class Step:
    name: str
    cpu: float
    seconds: float
    megabytes: float


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = sys.argv[1] if len(sys.argv) > 1 else build_log(Path(folder) / "logs")
        # The commands first: what a process has used of memory, those that it starts inherit.
        compare_commands(log, Path(folder))
        ratio = read_in_turns(log)
    if ratio > MOST:
        sys.exit(f"Reading takes more than {MOST} of Inspect's reader.")


def read_in_turns(log: str) -> float:
    (found,) = find_logs(log)
    sides: dict[str, Callable[[], list[object]]] = {
        "read_eval_log_sample_summaries": lambda: [*read_eval_log_sample_summaries(log)],
        "read_answers": lambda: [*read_answers(found)],
    }
    best: dict[str, float] = {}
    for _ in range(_ROUNDS):
        for name, read in sides.items():
            start = time.process_time()
            samples = len(read())
            took = time.process_time() - start
            best[name] = min(best.get(name, took), took)
    theirs, ours = best.values()
    size = Path(log).stat().st_size / 1e6
    print(f"{samples:,} samples, {size:.0f} MB, CPU seconds, best of {_ROUNDS}")
    for name, took in best.items():
        print(f"{name:32} {took:7.2f}")
    print(f"{'ratio':32} {ours / theirs:7.2f}  at most {MOST}")
    return ours / theirs


def compare_commands(log: str, folder: Path) -> None:
    clbench = str(Path(sys.executable).parent / "clbench")
    out = folder / "out"
    page = str(folder / "page.html")
    verify = ["verify", str(out), "--dataset", str(REAL_DATA)]
    steps = [
        run(
            "read_eval_log_sample_summaries", [sys.executable, "-c", _SUMMARIES.format(log=log)]
        ),
        run("clbench report", [clbench, "report", log]),
        run("clbench report -o page.html", [clbench, "report", log, "-o", page]),
        run("clbench export", [clbench, "export", log, "--to", str(out)]),
        # The scripted judge miscounts a few rubrics, which verify finds: exit code 1.
        run("clbench verify", [clbench, *verify], allowed=(0, 1)),
    ]
    graded = [str(path) for path in sorted(out.glob("*_graded.jsonl"))]
    command = [clbench, "import", *graded, "--log-dir", str(folder / "imported")]
    steps.append(run("clbench import", command))
    print(f"{'as commands':32} {'CPU s':>7} {'s':>7} {'peak MB':>8}")
    for step in steps:
        print(f"{step.name:32} {step.cpu:7.1f} {step.seconds:7.1f} {step.megabytes:8.0f}")
    print()


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
    return Step(name, cpu, seconds, usage.ru_maxrss / 1024)


if __name__ == "__main__":
    main()
