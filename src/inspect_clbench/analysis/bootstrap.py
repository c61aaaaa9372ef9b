"""Intervals of shares, kappa and alpha from drawing whole contexts anew.

The answers of one context are not independent, so contexts are what is drawn, as many as there
are. Their figures give the standard error, and the interval is that of every rate
(`statistics.interval_of`): Student's t on the scale of log odds, or Clopper and Pearson's where
nothing spreads. For kappa and alpha, which lie between -1 and 1, the log odds are those of
(1 + figure) / 2, and there is no interval where nothing spreads.
`python -m benchmarks.agreement` measures how often such intervals hold the truth.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from inspect_clbench.analysis.statistics import interval_of
from inspect_clbench.metrics.agreement import Array

SEED = 2602
RESAMPLES = 1_000


class Figure(NamedTuple):
    """A figure with its 95 % interval; None for what the data cannot tell."""

    value: float | None
    low: float | None = None
    high: float | None = None


def share_figure(share: Callable[[Array], Array], counts: Array) -> Figure:
    """A share and its interval.

    Args:
        share: The share as a function of counts along the last axis.
        counts: A row for each context that the share rests on.
    """
    return _figure(share, counts, _share_interval)


def kappa_figure(kappa: Callable[[Array], Array], counts: Array) -> Figure:
    """Kappa or alpha and its interval, as `share_figure` has it for a share."""
    return _figure(kappa, counts, _kappa_interval)


def _figure(
    figure: Callable[[Array], Array],
    counts: Array,
    interval: Callable[[float, float, int], tuple[float, float]],
) -> Figure:
    value = float(figure(counts.sum(0)))
    if math.isnan(value):
        return Figure(None)
    found = figure(_drawn_anew(counts))
    defined = found[~np.isnan(found)]
    if 2 * len(defined) < RESAMPLES:
        return Figure(value)
    low, high = interval(value, float(defined.std()), len(counts))
    return Figure(value) if math.isnan(low) else Figure(value, low, high)


def _drawn_anew(counts: Array) -> Array:
    """The sums of counts over contexts drawn with replacement, a row per draw."""
    size = len(counts)
    drawn = np.random.default_rng(SEED).integers(size, size=(RESAMPLES, size))
    places = drawn + size * np.arange(RESAMPLES)[:, None]
    times = np.bincount(places.ravel(), minlength=RESAMPLES * size).reshape(RESAMPLES, size)
    return np.asarray(times @ counts, dtype=float)


def _share_interval(share: float, stderr: float, contexts: int) -> tuple[float, float]:
    return interval_of(share, stderr, [(stderr**2, contexts - 1)], contexts)


def _kappa_interval(kappa: float, stderr: float, contexts: int) -> tuple[float, float]:
    if abs(kappa) == 1 or not stderr:
        return math.nan, math.nan
    low, high = _share_interval((1 + kappa) / 2, stderr / 2, contexts)
    return 2 * low - 1, 2 * high - 1
