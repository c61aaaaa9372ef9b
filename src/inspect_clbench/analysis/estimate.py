"""What a run over drawn contexts says about the whole benchmark.

The draw is a stratified cluster sample: contexts are the units, categories the strata,
and every task of a drawn context is run. With M_h tasks and C_h contexts in category h,
c_h of them drawn, and y_i solved of m_i tasks in drawn context i,

    r_h  = sum y_i / sum m_i                                    the category's rate
    rate = sum_h M_h / M * r_h                                  its weight: its tasks
    v_h  = (1 - c_h / C_h) / (c_h * mean(m)^2) * sum (y_i - r_h m_i)^2 / (c_h - 1)
    stderr = sqrt(sum_h (M_h / M)^2 * v_h)

(the ratio estimator with finite population correction: Cochran, Sampling Techniques,
chapters 6 and 11). Several runs of a task count as one cluster: y_i and m_i are then sums
over the runs. What is estimated is the rate that these same runs over all tasks would
have given; that another run of the same model would differ is not part of it.

The interval is Student's t with Satterthwaite's degrees of freedom, on the scale of
log odds, so that it stays between 0 and 1. Where nothing spreads, because nothing or
everything was solved, it is Clopper and Pearson's with contexts for trials. In
simulations with sizes of contexts like the real ones, the 95 % interval held the truth in
93.9 to 95.2 % of 3,000 draws at rates of 10 to 50 % and 25 to 150 contexts, and in 96.7
to 98.2 % of 2,000 draws where hardly anything was solved or only 12 contexts were drawn.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inspect_clbench.analysis.statistics import LEVEL, Rate, statistics_library
from inspect_clbench.data.selection import ContextDraw, Stratum
from inspect_clbench.logs.answers import Answer
from inspect_clbench.metrics.solving import std_over_runs


@dataclass(frozen=True)
class Estimate:
    """A rate of the whole benchmark, or of some categories, estimated from a draw.

    `stderr`, `low` and `high` are nan where a category gave only one context of
    several, which says nothing about the spread.
    """

    rate: float
    stderr: float
    low: float
    high: float
    contexts: int
    """How many contexts the estimate rests on."""

    of_contexts: int


def estimated_rate(answers: Sequence[Answer], draw: ContextDraw) -> Rate:
    """The estimated rate of all tasks, its std over the runs, and its interval."""
    found = estimate(answers, draw)
    by_run: defaultdict[int, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_run[answer.run].append(answer)
    rates = [estimate(some, draw).rate for some in by_run.values()]
    return Rate(found.rate, std_over_runs(rates), (found.low, found.high))


def estimate(
    answers: Iterable[Answer], draw: ContextDraw, categories: Sequence[str] | None = None
) -> Estimate:
    """Estimate a solving rate from the scored answers of a draw.

    Args:
        answers: The scored answers, of one run or several.
        draw: How their contexts were drawn.
        categories: Categories to estimate the rate of; all of the draw by default.
    """
    chosen = {
        name: stratum
        for name, stratum in draw.strata.items()
        if categories is None or name in categories
    }
    clusters: dict[str, defaultdict[str, list[int]]] = {
        name: defaultdict(lambda: [0, 0]) for name in chosen
    }
    for answer in answers:
        if answer.category in chosen:
            solved_and_all = clusters[answer.category][answer.context_id]
            solved_and_all[0] += answer.solved
            solved_and_all[1] += 1
    all_tasks = sum(stratum.tasks for stratum in chosen.values())
    parts = [
        (stratum.tasks / all_tasks, *_category(list(clusters[name].values()), stratum))
        for name, stratum in chosen.items()
    ]
    rate = math.fsum(weight * rate for weight, rate, _, _ in parts) if parts else math.nan
    variances = [(weight**2 * variance, df) for weight, _, variance, df in parts]
    variance = math.fsum(v for v, _ in variances)
    used = sum(len(found) for found in clusters.values())
    low, high = _interval(rate, variance, variances, used)
    return Estimate(
        rate=rate,
        stderr=math.sqrt(variance),
        low=low,
        high=high,
        contexts=used,
        of_contexts=sum(stratum.contexts for stratum in chosen.values()),
    )


def _category(clusters: Sequence[Sequence[int]], stratum: Stratum) -> tuple[float, float, int]:
    """Rate, its variance and degrees of freedom, from solved and all of each context."""
    count = len(clusters)
    if not count:
        return math.nan, math.nan, 0
    sizes = [size for _, size in clusters]
    rate = sum(solved for solved, _ in clusters) / sum(sizes)
    if count >= stratum.contexts:
        return rate, 0.0, 0
    if count == 1:
        return rate, math.nan, 0
    squares = math.fsum((solved - rate * size) ** 2 for solved, size in clusters)
    mean_size = sum(sizes) / count
    left_out = 1 - count / stratum.contexts
    return rate, left_out * squares / (count - 1) / (count * mean_size**2), count - 1


def _interval(
    rate: float, variance: float, parts: Sequence[tuple[float, int]], contexts: int
) -> tuple[float, float]:
    if math.isnan(rate) or math.isnan(variance):
        return math.nan, math.nan
    if all(df == 0 for _, df in parts):  # every context was run: nothing is left to chance
        return rate, rate
    stats = statistics_library("scipy.stats")
    tail = (1 - LEVEL) / 2
    if variance == 0:
        solved = rate * contexts
        low = stats.beta.ppf(tail, solved, contexts - solved + 1) if solved > 0 else 0.0
        high = stats.beta.isf(tail, solved + 1, contexts - solved) if solved < contexts else 1.0
        return float(low), float(high)
    df = variance**2 / math.fsum(v**2 / df for v, df in parts if df)
    odds = math.log(rate / (1 - rate))
    reach = float(stats.t.isf(tail, df)) * math.sqrt(variance) / (rate * (1 - rate))
    return _share(odds - reach), _share(odds + reach)


def _share(odds: float) -> float:
    """The share of given log odds, without overflow."""
    return 0.5 * (1 + math.tanh(odds / 2))
