"""What a report of a log costs, beside Inspect's own reader of sample summaries on the same log.

    python -m benchmarks.reading [LOG]

Without a log, one of three runs over all tasks is made first (some minutes). Both sides run in one
process, in turns, imports left out; the best of the rounds counts, since everything else that a
machine does only makes it slower. Ratios are of CPU seconds: a busy machine stretches the others at
random.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from inspect_ai.log import read_eval_log_sample_summaries

from benchmarks.full_log import build_log
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.report import report

MOST = 0.4
"""What a report may take of Inspect's reading of the summaries."""

ROUNDS = 3


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        log = sys.argv[1] if len(sys.argv) > 1 else build_log(Path(folder) / "logs")
        ratio = compare(log)
    if ratio > MOST:
        sys.exit(f"A report takes more than {MOST} of Inspect's reader.")


def compare(log: str) -> float:
    """Print what both sides take, and return the ratio."""
    answers = answers_df(log)
    sides: dict[str, Callable[[], object]] = {
        "read_eval_log_sample_summaries": lambda: read_eval_log_sample_summaries(log),
        "answers_df and report": lambda: report(answers_df(log)).to_text(80),
    }
    best: dict[str, float] = {}
    for _ in range(ROUNDS):
        for name, run in sides.items():
            best[name] = min(best.get(name, float("inf")), seconds(run))
    theirs, ours = best.values()
    print(f"{len(answers):,} answers, {Path(log).stat().st_size / 1e6:.0f} MB; CPU seconds, best of {ROUNDS}")
    for name, taken in best.items():
        print(f"{name:32} {taken:7.2f}")
    print(f"{'ratio':32} {ours / theirs:7.2f}  at most {MOST}")
    return ours / theirs


def seconds(run: Callable[[], object]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


if __name__ == "__main__":
    main()
