"""Statistics of paired tasks. Tasks of one context are not independent: contexts are the units."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from inspect_clbench.analysis.statistics import (
    LEVEL,
    POWER,
    Array,
    drawn_anew,
    statistics_library,
)

RESAMPLES = 9_999
_BATCH = 1_000

# A standard error below this is rounding: all contexts have the same difference.
_NOTHING = 1e-12
# The same for one that is the root of a difference of sums.
_ROUNDING = 1e-6


@dataclass(frozen=True)
class PairedTask:
    """One task's solving rate for each model, over the runs that are paired."""

    task_id: str
    context_id: str
    category: str
    rates: tuple[float, ...]
    weight: float = 1.0
    """For how many tasks of the benchmark it stands: more than one in a draw."""

    @property
    def a(self) -> float:
        return self.rates[0]

    @property
    def b(self) -> float:
        return self.rates[1]


@dataclass(frozen=True)
class Difference:
    """A mean difference of solving rates, A minus B, and how far it can be trusted."""

    tasks: int
    contexts: int
    rate_a: float
    rate_b: float
    won: int
    """Tasks that A solved more often than B."""

    lost: int
    """Tasks that B solved more often than A."""

    stderr: float | None
    """Clustered on contexts; None with fewer than two, 0 if all of them differ alike."""

    low: float | None
    """The lower end of the 95 % interval; None where there is no error to be had."""

    high: float | None
    p: float | None
    """From the clustered t test; from a sign test of contexts that all differ alike."""

    detectable: float | None
    """The difference that such data show with a power of 80 %; None if not even 1 is."""

    @property
    def difference(self) -> float:
        return self.rate_a - self.rate_b

    @property
    def tied(self) -> int:
        return self.tasks - self.won - self.lost

    @property
    def told_apart(self) -> bool:
        return self.p is not None and self.p < 1 - LEVEL


def difference_of(tasks: Sequence[PairedTask], a: int = 0, b: int = 1) -> Difference:
    """The weighted mean difference over tasks, with a context-clustered error.

    The interval is that of a regression on a constant with cluster-robust errors and
    Student's t with one degree of freedom per context but one.

    Args:
        tasks: At least one paired task.
        a: Which of the models is A.
        b: Which of the models is B.
    """
    rates = np.array([(task.rates[a], task.rates[b]) for task in tasks], dtype=float)
    differences = rates[:, 0] - rates[:, 1]
    names, codes, weights = _contexts(tasks)
    stderr = low = high = p = detectable = None
    if len(names) > 1:
        fit = _fit(differences, codes, weights)
        stderr = float(fit.bse[0])
        if stderr > _NOTHING:
            ends = np.clip(fit.conf_int(1 - LEVEL)[0], -1, 1)
            low, high = float(ends[0]), float(ends[1])
            p = float(fit.pvalues[0])
            detectable = _detectable(stderr, len(names))
        else:
            stderr = 0.0
            p = _sign_test(np.bincount(codes, weights=differences))
    rate_a, rate_b = np.average(rates, axis=0, weights=weights)
    return Difference(
        tasks=len(tasks),
        contexts=len(names),
        rate_a=float(rate_a),
        rate_b=float(rate_b),
        won=int((differences > _NOTHING).sum()),
        lost=int((differences < -_NOTHING).sum()),
        stderr=stderr,
        low=low,
        high=high,
        p=p,
        detectable=detectable,
    )


def all_pairs(
    tasks: Sequence[PairedTask], seed: int, draws: int = RESAMPLES
) -> list[Difference]:
    """The difference of each pair of models, with intervals that hold together for all.

    Each interval is the difference ± c standard errors. c is the 95 % quantile of the
    largest |t| of all pairs when whole contexts are drawn anew (a studentised cluster
    bootstrap), and p is the share of draws whose largest |t| reaches that of the pair.
    Where all contexts differ alike, p is the sign test's times the number of pairs.

    Args:
        tasks: At least one paired task.
        seed: The same seed gives the same intervals.
        draws: How often contexts are drawn anew.
    """
    models = range(len(tasks[0].rates))
    found = [difference_of(tasks, a, b) for a, b in combinations(models, 2)]
    measured = [index for index, one in enumerate(found) if one.low is not None]
    for index, one in enumerate(found):
        if one.stderr == 0 and one.p is not None:
            found[index] = replace(one, p=min(1.0, one.p * len(found)), detectable=None)
    if not measured:
        return found
    pairs = list(combinations(models, 2))
    rates = np.array([task.rates for task in tasks], dtype=float)
    differences = [rates[:, a] - rates[:, b] for a, b in (pairs[i] for i in measured)]
    _, codes, weights = _contexts(tasks)
    largest = _largest_t(np.column_stack(differences), codes, weights, seed, draws)
    critical = largest[math.ceil(LEVEL * (draws + 1)) - 1]
    for index in measured:
        one = found[index]
        stderr = one.stderr or math.nan
        t = abs(one.difference) / stderr - _ROUNDING  # draws that tie with it reach it
        reached = draws - np.searchsorted(largest, t)
        found[index] = replace(
            one,
            low=max(-1.0, one.difference - float(critical) * stderr),
            high=min(1.0, one.difference + float(critical) * stderr),
            p=float((1 + reached) / (draws + 1)),
            detectable=None,
        )
    return found


def rank_sets(models: int, pairs: Sequence[Difference]) -> list[tuple[int, int]]:
    """The best and the worst rank of each model that the differences of all pairs allow.

    A model's rank is at best one more than the number of models that are told to be
    better, and at worst the number of those not told to be worse. If the intervals of all
    pairs hold together, then so do the ranks of all models.
    """
    better, worse = [0] * models, [0] * models
    for (a, b), one in zip(combinations(range(models), 2), pairs, strict=True):
        if one.told_apart:
            first, last = (a, b) if one.difference > 0 else (b, a)
            worse[first] += 1
            better[last] += 1
    return [(1 + better[model], models - worse[model]) for model in range(models)]


def bootstrap_interval(tasks: Sequence[PairedTask], seed: int) -> tuple[float, float] | None:
    """A 95 % interval from drawing whole contexts anew; None where it cannot be had.

    Args:
        tasks: The paired tasks.
        seed: The same seed gives the same interval.
    """
    _, codes, weights = _contexts(tasks)
    sums = np.bincount(codes, weights * [task.a - task.b for task in tasks])
    sizes = np.bincount(codes, weights)
    means = sums / sizes
    if len(sizes) < 2 or float(np.ptp(means)) < _NOTHING:
        return None
    result = statistics_library("scipy.stats").bootstrap(
        (sums, sizes),
        lambda sums, sizes, axis: sums.sum(axis) / sizes.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=_BATCH,
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    return float(result.confidence_interval.low), float(result.confidence_interval.high)


def mcnemar_p(tasks: Sequence[PairedTask]) -> float:
    """The exact McNemar test of tasks that both sides tried once."""
    table = [[0, 0], [0, 0]]
    for task in tasks:
        table[int(task.a)][int(task.b)] += 1
    tables = statistics_library("statsmodels.stats.contingency_tables")
    return float(tables.mcnemar(table, exact=True).pvalue)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """P values corrected for their number after Holm; tests that could not be made stay out."""
    made = [p for p in p_values if p is not None]
    if not made:
        return list(p_values)
    multitest = statistics_library("statsmodels.stats.multitest")
    corrected = iter(multitest.multipletests(made, method="holm")[1])
    return [None if p is None else float(next(corrected)) for p in p_values]


def _contexts(tasks: Sequence[PairedTask]) -> tuple[Any, Any, Array]:
    """The names of the contexts, and of each task the number of its own and the weight."""
    names, codes = np.unique([task.context_id for task in tasks], return_inverse=True)
    return names, codes, np.array([task.weight for task in tasks])


def _largest_t(differences: Array, codes: Any, weights: Array, seed: int, draws: int) -> Array:
    """The largest |t| of all columns in each draw of contexts, in ascending order."""
    mean = np.average(differences, axis=0, weights=weights)
    sizes = np.bincount(codes, weights)
    count = len(sizes)
    sums = np.column_stack(
        [np.bincount(codes, column) for column in ((differences - mean) * weights[:, None]).T]
    )
    whole = np.sqrt((sums**2).sum(axis=0) * count / (count - 1)) / sizes.sum()
    drawn = drawn_anew(count, draws, seed)
    total, squared = (drawn @ sizes)[:, None], (drawn @ sizes**2)[:, None]
    moved = drawn @ sums / total
    squares = drawn @ sums**2 - 2 * moved * (drawn @ (sums * sizes[:, None]))
    squares += moved**2 * squared
    stderr = np.sqrt(np.maximum(squares, 0) * count / (count - 1)) / total
    # Contexts that are all alike have no error: then that of the whole data counts.
    stderr = np.where(stderr > _ROUNDING, stderr, whole)
    return np.sort((abs(moved) / stderr).max(axis=1))


def _fit(differences: Array, codes: Any, weights: Array) -> Any:
    model = statistics_library("statsmodels.regression.linear_model")
    ones = np.ones((len(differences), 1))
    return model.WLS(differences, ones, weights).fit(
        cov_type="cluster", cov_kwds={"groups": codes}, use_t=True
    )


def _detectable(stderr: float, contexts: int) -> float | None:
    """What a t test over so many contexts with this standard error would have shown."""
    smallest = _smallest_effect(contexts) * stderr * math.sqrt(contexts)
    return smallest if smallest <= 1 else None


@cache
def _smallest_effect(contexts: int) -> float:
    power = statistics_library("statsmodels.stats.power")
    found = power.TTestPower().solve_power(nobs=contexts, alpha=1 - LEVEL, power=POWER)
    return float(found)


def _sign_test(sums: Any) -> float:
    up, down = int((sums > _NOTHING).sum()), int((sums < -_NOTHING).sum())
    if up + down == 0:
        return 1.0
    return float(statistics_library("scipy.stats").binomtest(up, up + down).pvalue)
