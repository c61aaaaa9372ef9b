"""Statistics of paired tasks. Tasks of one context are not independent: contexts are the units."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from inspect_clbench.analysis.statistics import LEVEL, statistics_library

POWER = 0.8
RESAMPLES = 9_999

# A standard error below this is rounding: all contexts have the same difference.
_NOTHING = 1e-12


@dataclass(frozen=True)
class PairedTask:
    """One task's solving rate on both sides, over the runs that are paired."""

    task_id: str
    context_id: str
    category: str
    a: float
    b: float

    @property
    def difference(self) -> float:
        return self.a - self.b


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


def difference_of(tasks: Sequence[PairedTask]) -> Difference:
    """The mean difference over tasks, each counted once, with a context-clustered error.

    The interval is that of a regression on a constant with cluster-robust errors and
    Student's t with one degree of freedom per context but one.

    Args:
        tasks: At least one paired task.
    """
    import numpy as np

    differences = np.array([task.difference for task in tasks])
    names, codes = np.unique([task.context_id for task in tasks], return_inverse=True)
    stderr = low = high = p = detectable = None
    if len(names) > 1:
        fit = _fit(differences, codes)
        stderr = float(fit.bse[0])
        if stderr > _NOTHING:
            ends = np.clip(fit.conf_int(1 - LEVEL)[0], -1, 1)
            low, high = float(ends[0]), float(ends[1])
            p = float(fit.pvalues[0])
            detectable = _detectable(stderr, len(names))
        else:
            stderr = 0.0
            p = _sign_test(np.bincount(codes, weights=differences))
    return Difference(
        tasks=len(tasks),
        contexts=len(names),
        rate_a=float(np.mean([task.a for task in tasks])),
        rate_b=float(np.mean([task.b for task in tasks])),
        won=int((differences > _NOTHING).sum()),
        lost=int((differences < -_NOTHING).sum()),
        stderr=stderr,
        low=low,
        high=high,
        p=p,
        detectable=detectable,
    )


def bootstrap_interval(tasks: Sequence[PairedTask], seed: int) -> tuple[float, float] | None:
    """A 95 % interval from drawing whole contexts anew; None where it cannot be had.

    Args:
        tasks: The paired tasks.
        seed: The same seed gives the same interval.
    """
    import numpy as np

    differences = [task.difference for task in tasks]
    _, codes = np.unique([task.context_id for task in tasks], return_inverse=True)
    sums = np.bincount(codes, weights=differences)
    sizes = np.bincount(codes)
    means = sums / sizes
    if len(sizes) < 2 or float(np.ptp(means)) < _NOTHING:
        return None
    result = statistics_library("scipy.stats").bootstrap(
        (sums, sizes),
        lambda sums, sizes, axis: sums.sum(axis) / sizes.sum(axis),
        paired=True,
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=1_000,
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


def _fit(differences: Any, codes: Any) -> Any:
    import numpy as np

    model = statistics_library("statsmodels.regression.linear_model")
    ones = np.ones((len(differences), 1))
    return model.OLS(differences, ones).fit(
        cov_type="cluster", cov_kwds={"groups": codes}, use_t=True
    )


def _detectable(stderr: float, contexts: int) -> float | None:
    """What a t test over so many contexts with this standard error would have shown."""
    power = statistics_library("statsmodels.stats.power")
    effect = power.TTestPower().solve_power(nobs=contexts, alpha=1 - LEVEL, power=POWER)
    smallest = float(effect) * stderr * math.sqrt(contexts)
    return smallest if smallest <= 1 else None


def _sign_test(sums: Any) -> float:
    up, down = int((sums > _NOTHING).sum()), int((sums < -_NOTHING).sum())
    if up + down == 0:
        return 1.0
    return float(statistics_library("scipy.stats").binomtest(up, up + down).pvalue)
