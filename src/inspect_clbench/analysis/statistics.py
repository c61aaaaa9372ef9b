"""Rates with their errors, and intervals. The level of every interval is 95 %."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from statistics import NormalDist
from typing import Any

from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics.solving import (
    Trial,
    clustered_stderr,
    mean_rate,
    run_rates,
    std_over_runs,
)

LEVEL = 0.95
QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
FEW_CONTEXTS = 30
"""With fewer contexts the intervals are too narrow."""

# A standard error below this is rounding: all contexts came out alike.
_NO_ERROR = 1e-9


@dataclass(frozen=True)
class Rate:
    """A rate as a fraction; nan where it is not known."""

    mean: float
    std: float = math.nan
    """Over the runs; nan for a single one."""

    interval: tuple[float, float] | None = None
    """None where it was not asked for, nan where the data cannot tell."""

    def as_row(self) -> dict[str, float | None]:
        """The figures by name, None for nan."""
        low, high = self.interval or (math.nan, math.nan)
        figures = {"mean": self.mean, "std": self.std, "low": low, "high": high}
        return {name: None if math.isnan(x) else x for name, x in figures.items()}


def rate_of_runs(rates: Sequence[float]) -> Rate:
    """The mean of the runs' rates, and their std."""
    return Rate(mean_rate(rates), std_over_runs(rates))


def rate_of(trials: Sequence[Trial], ci: bool = False) -> Rate:
    """The mean of the runs' solving rates, their std and, if asked for, the interval.

    The interval is that of the standard error clustered on contexts.
    """
    rate = rate_of_runs(run_rates(trials))
    if not ci:
        return rate
    margin = QUANTILE * clustered_stderr(trials)
    # One context alone has no error, and contexts that all came out alike hide theirs.
    if math.isnan(margin) or margin < _NO_ERROR:
        interval = (math.nan, math.nan)
    else:
        interval = (max(rate.mean - margin, 0.0), min(rate.mean + margin, 1.0))
    return Rate(rate.mean, rate.std, interval)


def wilson(count: int, total: int) -> Rate:
    """A share with its interval after Wilson, as if the things counted were independent."""
    if not total:
        return Rate(math.nan)
    proportion = statistics_library("statsmodels.stats.proportion")
    low, high = proportion.proportion_confint(count, total, alpha=1 - LEVEL, method="wilson")
    return Rate(count / total, interval=(float(low), float(high)))


def statistics_library(name: str) -> Any:
    """A module of scipy or statsmodels, or what to do when they are not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ClbenchError(
            f"{name.split('.')[0]} is not installed. Install it with: "
            "pip install 'inspect-clbench[report]'"
        ) from None
