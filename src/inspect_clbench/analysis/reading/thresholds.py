"""What the rate would be if part of the rubrics were enough."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from inspect_clbench.analysis.reading.records import Record
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.text import counted
from inspect_clbench.metrics import Row

THRESHOLDS = tuple(range(60, 101, 5))
"""Percent of a task's rubrics; at 100 the pass rate is the solving rate."""


def usable(series: Series) -> list[Record]:
    """The scored records of which it is known how many rubrics were met.

    A solved one counts as meeting all. One that failed without a usable status list
    may have met any number but all, and is left out.
    """
    return [r for r in series.scored if r.solved or _share(r) is not None]


def left_out(series: Series) -> int:
    """How many scored records have no known number of rubrics met."""
    return len(series.scored) - len(usable(series))


def passed(record: Record, threshold: int) -> bool:
    """Whether an answer would do if so many percent of the rubrics were enough.

    The judge's overall score decides where it contradicts the judge's own list: what
    is solved passes everywhere, and only what is solved passes at 100.
    """
    if record.solved or threshold >= 100:
        return record.solved
    met = record.rubrics_met or 0
    return 100 * met >= threshold * record.rubrics_total


def pass_rows(series: Series, threshold: int) -> list[Row]:
    """What the arithmetic of rates takes, with passing in the place of solving."""
    return [Row(r.run, r.context_id, passed(r, threshold)) for r in usable(series)]


def rubric_shares(series: Series) -> list[float]:
    """The mean share of rubrics met, of each run."""
    by_run: defaultdict[int, list[float]] = defaultdict(list)
    for record in usable(series):
        share = _share(record)
        by_run[record.run].append(1.0 if share is None else share)
    return [statistics.fmean(by_run[run]) for run in sorted(by_run)]


def threshold_notes(series: Sequence[Series]) -> list[str]:
    """What the numbers under thresholds leave out or take for granted."""
    lines = []
    unknown = sum(left_out(one) for one in series)
    if unknown:
        lines.append(
            f"Left out here: {counted(unknown, 'failed row')} without a usable status list, so "
            "that the rate at 100 % can be above the solving rate."
        )
    assumed = sum(r.solved and r.rubrics_met is None for one in series for r in one.scored)
    if assumed:
        lines.append(
            "Taken to meet all rubrics: "
            f"{counted(assumed, 'solved row')} without a usable status list."
        )
    contrary = sum(r.inconsistent for one in series for r in one.scored)
    if contrary:
        lines.append(
            f"In {counted(contrary, 'verdict')} the status list contradicts the overall score, "
            "which decides."
        )
    return lines


def _share(record: Record) -> float | None:
    if record.rubrics_met is None or not record.rubrics_total:
        return None
    return record.rubrics_met / record.rubrics_total
