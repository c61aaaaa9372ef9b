"""Rates with their errors, and their intervals. The level of every interval is 95 %.

A rate is the mean of the runs' rates, each a mean weighted with the weights of a draw. One
form of interval serves all of them: Student's t on the scale of log odds, so that it stays
between 0 and 1, from the standard error clustered on contexts. Where nothing spreads, because
nothing or everything was solved, it is Clopper and Pearson's with contexts for trials.

What is left to chance differs. The contexts of a full run stand for contexts of their kind.
Those of a draw stand for the benchmark's: the draw is a stratified cluster sample with
categories for strata, of which a share f_h of the contexts was drawn. With u_i for what context
i moves the rate (`residuals`) and m_i for its answers, whether or not they belong to the group
of tasks whose rate it is,

    e_i = u_i - m_i * (sum of u in the category / sum of m in the category)
    variance = sum over categories of (1 - f_h) * c_h / (c_h - 1) * sum of e_i squared

the ratio estimator with finite population correction (Cochran, Sampling Techniques, chapters
6 and 11), its weights adjusted to the known number of tasks of each category. The degrees of
freedom are Satterthwaite's. What is estimated is the rate that these same runs over all tasks
would have given; that another run of the same model would differ is not part of it. A full
run is one stratum of which nothing was drawn: f = 0 and e_i = u_i.

Shares of verdicts on which judges agree, kappa and alpha get the same interval, their
standard error from drawing whole contexts anew. For kappa and alpha, which lie between -1 and
1, the log odds are those of (1 + figure) / 2, and there is no interval where nothing spreads.

`python -m benchmarks.coverage` and `python -m benchmarks.agreement` measure how often the
intervals hold the truth.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics.solving import (
    Trial,
    mean_rate,
    residuals,
    run_rates,
    std_over_runs,
)
from inspect_clbench.text import install_command

if TYPE_CHECKING:
    from inspect_clbench.data.selection import ContextDraw
    from inspect_clbench.logs.answers import Answer

Array = NDArray[np.float64]

LEVEL = 0.95
POWER = 0.8
_TAIL = (1 - LEVEL) / 2
FEW_CONTEXTS = 15
"""With fewer contexts an interval may hold the truth less often than it says."""

# A standard error below this is rounding: all contexts came out alike.
_NO_ERROR = 1e-9

_RESAMPLES = 1_000
_SEED = 2602


@dataclass(frozen=True)
class Rate:
    """A rate as a fraction; nan where it is not known."""

    mean: float
    std: float = math.nan
    """Over the runs; nan for a single one."""

    interval: tuple[float, float] | None = None
    """None where it was not asked for, nan where the data cannot tell."""

    stderr: float = math.nan
    """What the interval was made from; nan without one."""

    contexts: int = 0
    """On how many contexts it rests, where an interval was asked for."""

    estimate: bool = False
    """Whether the interval is about the whole benchmark of which contexts were drawn, and
    not about tasks like these."""

    def as_row(self) -> dict[str, float | None]:
        """The figures by name, None for nan."""
        low, high = self.interval or (math.nan, math.nan)
        figures = {"mean": self.mean, "std": self.std, "low": low, "high": high}
        return {name: None if math.isnan(x) else x for name, x in figures.items()}


@dataclass(frozen=True)
class Design:
    """How the contexts of some answers were drawn."""

    category: Mapping[str, str]
    """Of each context."""

    answers: Mapping[str, int]
    """Of each context, in all runs."""

    drawn: Mapping[str, float]
    """Of each category, the share of its contexts."""


def design_of(answers: Iterable["Answer"], draw: "ContextDraw | None") -> Design | None:
    """The design behind the scored answers of a series; none if all contexts were meant."""
    if draw is None:
        return None
    found = list(answers)
    return Design(
        {answer.context_id: answer.category for answer in found},
        Counter(answer.context_id for answer in found),
        {name: one.drawn_contexts / one.contexts for name, one in draw.strata.items()},
    )


def rate_of(trials: Sequence[Trial], ci: bool = False, design: Design | None = None) -> Rate:
    """The mean of the runs' rates, their std and, if asked for, the interval.

    Args:
        trials: The answers whose rate it is, all of them or those of a group of tasks.
        ci: Whether to add the interval.
        design: How their contexts were drawn, if they were.
    """
    rates = run_rates(trials)
    rate = Rate(mean_rate(rates), std_over_runs(rates))
    if not ci:
        return rate
    moved = residuals(trials)
    parts = _variances(moved, design)
    stderr = math.sqrt(math.fsum(variance for variance, _ in parts)) if parts else math.nan
    return replace(
        rate,
        interval=interval_of(rate.mean, stderr, parts, len(moved)),
        stderr=stderr,
        contexts=len(moved),
        estimate=design is not None,
    )


def _variances(moved: Mapping[str, float], design: Design | None) -> list[tuple[float, float]]:
    """The variance that each category adds, and its degrees of freedom."""
    if design is None:
        return [_variance(list(moved.values()), len(moved))]
    if set(design.category.values()) != design.drawn.keys():
        return [(math.nan, 0)]  # of some category there is no answer at all
    contexts: defaultdict[str, list[str]] = defaultdict(list)
    for context, category in design.category.items():
        contexts[category].append(context)
    parts = []
    for category, names in contexts.items():
        inside = sum(name in moved for name in names)
        if design.drawn[category] < 1 and inside:
            per_answer = math.fsum(moved.get(name, 0.0) for name in names) / sum(
                design.answers[name] for name in names
            )
            spread = [moved.get(c, 0.0) - design.answers[c] * per_answer for c in names]
            variance, freedom = _variance(spread, inside if inside > 1 else len(names))
            parts.append(
                ((1 - design.drawn[category]) * variance, min(freedom, max(inside - 1, 1)))
            )
    return parts or [(0.0, 0)]


def _variance(spread: Sequence[float], contexts: int) -> tuple[float, float]:
    if contexts < 2:
        return math.nan, 0
    squares = math.fsum(value * value for value in spread)
    return squares * contexts / (contexts - 1), contexts - 1


def interval_of(
    rate: float, stderr: float, parts: Sequence[tuple[float, float]], contexts: int
) -> tuple[float, float]:
    """The interval of a rate; nan where the data cannot tell.

    Args:
        rate: The rate.
        stderr: Its standard error.
        parts: The variances that add up to it, with their degrees of freedom.
        contexts: How many contexts it rests on.
    """
    if math.isnan(rate) or math.isnan(stderr) or contexts < 2:
        return math.nan, math.nan
    if all(freedom == 0 for _, freedom in parts):  # all was drawn: nothing is left to chance
        return rate, rate
    stats = statistics_library("scipy.stats")
    if stderr < _NO_ERROR:
        solved = rate * contexts
        low = stats.beta.ppf(_TAIL, solved, contexts - solved + 1) if solved > 0 else 0.0
        high = stats.beta.isf(_TAIL, solved + 1, contexts - solved) if rate < 1 else 1.0
        return float(low), float(high)
    freedom = stderr**4 / math.fsum(v**2 / freedom for v, freedom in parts if freedom)
    odds = math.log(rate / (1 - rate))
    reach = student_t(freedom) * stderr / (rate * (1 - rate))
    return _share(odds - reach), _share(odds + reach)


def student_t(freedom: float) -> float:
    """How many standard errors an interval reaches to either side."""
    return float(statistics_library("scipy.stats").t.isf(_TAIL, freedom))


def _share(odds: float) -> float:
    """The share of given log odds, without overflow."""
    return 0.5 * (1 + math.tanh(odds / 2))


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
    return _figure(share, counts, lowest=0)


def kappa_figure(kappa: Callable[[Array], Array], counts: Array) -> Figure:
    """Kappa or alpha and its interval, as `share_figure` has it for a share."""
    return _figure(kappa, counts, lowest=-1)


def _figure(figure: Callable[[Array], Array], counts: Array, lowest: int) -> Figure:
    value = float(figure(counts.sum(0)))
    if math.isnan(value):
        return Figure(None)
    found = figure(_sums_anew(counts))
    defined = found[~np.isnan(found)]
    span = 1 - lowest
    stderr = float(defined.std()) / span if 2 * len(defined) >= _RESAMPLES else math.nan
    if lowest and (abs(value) == 1 or not stderr):
        return Figure(value)
    contexts = len(counts)
    share = (value - lowest) / span
    low, high = interval_of(share, stderr, [(stderr**2, contexts - 1)], contexts)
    return (
        Figure(value)
        if math.isnan(low)
        else Figure(value, low * span + lowest, high * span + lowest)
    )


def _sums_anew(counts: Array) -> Array:
    """The sums of counts over contexts drawn with replacement, a row per draw."""
    size = len(counts)
    drawn = np.random.default_rng(_SEED).integers(size, size=(_RESAMPLES, size))
    places = drawn + size * np.arange(_RESAMPLES)[:, None]
    times = np.bincount(places.ravel(), minlength=_RESAMPLES * size).reshape(_RESAMPLES, size)
    return np.asarray(times @ counts, dtype=float)


def drawn_anew(contexts: int, draws: int, seed: int) -> Array:
    """How often each context is in each of so many draws with replacement."""
    if not contexts:
        return np.zeros((draws, 0))
    chances = np.full(contexts, 1 / contexts)
    return np.random.default_rng(seed).multinomial(contexts, chances, draws).astype(float)


def statistics_library(name: str) -> Any:
    """A module of scipy or statsmodels, or what to do when they are not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ClbenchError(
            f"{name.split('.')[0]} is not installed. Install it with: "
            f"{install_command('report')}"
        ) from None
