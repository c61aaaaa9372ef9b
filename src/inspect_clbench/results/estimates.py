"""Estimates on answers that come in contexts: rates, differences, and their errors.

Tasks of one context are not independent, so every error is clustered on contexts.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import stats
from scipy.special import expit, logit

LEVEL = 0.95
POWER = 0.8
RESAMPLES = 1_000
SEED = 2602

# A standard error below this is rounding: all contexts came out alike.
NO_SPREAD = 1e-9

Array: TypeAlias = NDArray[np.float64]


class Estimate(NamedTuple):
    """A mean with its error; nan for what the answers cannot tell."""

    mean: float
    std: float = np.nan  # over runs, n - 1, as the paper prints it
    stderr: float = np.nan  # over contexts
    low: float = np.nan
    high: float = np.nan
    p: float = np.nan  # that the mean is 0

    def columns(self, name: str) -> dict[str, float]:
        """The mean and its interval, as columns of a table of several figures."""
        return {name: self.mean, f"{name}_low": self.low, f"{name}_high": self.high}


def solving_rate(answers: pd.DataFrame, value: str = "solved") -> Estimate:
    """The mean of the runs' rates, with a 95 % interval on the scale of log odds.

    Args:
        answers: With the columns run and context_id. Missing values are left out.
        value: The column whose mean it is, between 0 and 1.
    """
    answers = answers.dropna(subset=value)
    rates = answers.groupby("run")[value].mean()
    mean = rates.mean()
    stderr, contexts = _clustered(shifts(answers, value), answers["context_id"])
    interval = _interval(mean, stderr, contexts)
    return Estimate(mean, rates.std(), stderr if stderr > NO_SPREAD else np.nan, *interval)


def weights(answers: pd.DataFrame) -> pd.Series:
    """What each answer weighs in the mean of the runs' rates."""
    sizes = answers["run"].value_counts()
    return 1 / answers["run"].map(sizes) / len(sizes)


def shifts(answers: pd.DataFrame, value: str = "solved") -> pd.Series:
    """How far each answer moves the mean of the runs' rates."""
    return (answers[value] - answers.groupby("run")[value].transform("mean")) * weights(answers)


def paired_difference(a: pd.DataFrame, b: pd.DataFrame, level: float = LEVEL) -> Estimate:
    """How much more of the tasks that both have answered `a` solves than `b`.

    The mean is the difference of their solving rates over these tasks. The error is that of both
    together, so that a context that is hard for both adds nothing to it.

    Args:
        a: The answers of a model.
        b: Those of another.
        level: Of the interval.
    """
    a, b = a.dropna(subset="solved"), b.dropna(subset="solved")
    a, b = a[a["id"].isin(b["id"])], b[b["id"].isin(a["id"])]
    mean = solving_rate(a).mean - solving_rate(b).mean
    shift, context = pd.concat([shifts(a), -shifts(b)]), pd.concat([a["context_id"], b["context_id"]])
    stderr, contexts = _clustered(shift, context)
    if not stderr > NO_SPREAD:  # one context, or all of them alike: a sign test is left
        return Estimate(mean, p=0.5 ** (contexts - 1) if abs(mean) > NO_SPREAD else 1.0)
    reach = _reach(contexts, level) * stderr
    p = float(2 * stats.t.sf(abs(mean) / stderr, contexts - 1))
    return Estimate(mean, np.nan, stderr, max(mean - reach, -1), min(mean + reach, 1), p)


def smallest_difference(stderr: float, contexts: int, level: float = LEVEL) -> float:
    """The difference that a comparison with this standard error shows with 80 % power."""
    if contexts < 2:
        return np.nan
    return stderr * (_reach(contexts, level) + float(stats.t.isf(1 - POWER, contexts - 1)))


def holm(p: pd.Series) -> pd.Series:
    """The p values of several comparisons, adjusted so that all of them hold together."""
    ordered = p.dropna().sort_values()
    adjusted = (ordered * np.arange(len(ordered), 0, -1)).cummax().clip(upper=1)
    return adjusted.reindex(p.index)


def any_of(k: int, solved: Array, runs: Array) -> Array:
    """pass@k: the chance that k of a task's runs have a solved one among them; unbiased."""
    return 1 - all_of(k, runs - solved, runs)


def all_of(k: int, solved: Array, runs: Array) -> Array:
    """pass^k: the chance that k of a task's runs are all solved; unbiased."""
    steps = [np.maximum(solved - i, 0) / (runs - i) for i in range(k)]
    return np.asarray(np.prod(steps, axis=0))


def kappa(both_yes: Array, only_first: Array, only_second: Array, both_no: Array) -> Array:
    """Cohen's kappa of two judges from counts; nan where both always say the same word."""
    total = both_yes + only_first + only_second + both_no
    yes = (both_yes + only_first) * (both_yes + only_second)
    no = (both_no + only_first) * (both_no + only_second)
    with np.errstate(invalid="ignore", divide="ignore"):
        by_chance = (yes + no) / total
        return (both_yes + both_no - by_chance) / (total - by_chance)


def alpha(mixed: Array, yes: Array, no: Array) -> Array:
    """Krippendorff's alpha of any number of judges who say yes or no.

    Args:
        mixed: The sum over things judged of yes x no / (judges of it - 1).
        yes: How often yes was said of things that two judges or more judged.
        no: How often no was said of them.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return 1 - mixed * (yes + no - 1) / (yes * no)


def bootstrap(sums: pd.DataFrame, figure: Callable[..., Array], lowest: float = 0) -> Estimate:
    """A figure made of sums over contexts, its error from drawing whole contexts anew.

    Args:
        sums: A row per context, a column per argument of the figure.
        figure: The figure as a function of the columns' totals; nan where it is not defined.
        lowest: The least value it can have, 0 or -1; the most is 1.
    """
    counts = sums.to_numpy(float)
    value = float(figure(*counts.sum(axis=0)))
    drawn = np.random.default_rng(SEED).integers(len(counts), size=(RESAMPLES, len(counts)))
    times = np.stack([np.bincount(contexts, minlength=len(counts)) for contexts in drawn])
    figures = figure(*(times @ counts).T)
    defined = figures[~np.isnan(figures)]
    stderr = float(defined.std()) if 2 * len(defined) >= RESAMPLES else np.nan
    if lowest and not (abs(value) < 1 and stderr > NO_SPREAD):  # a kappa of exactly 1
        return Estimate(value)
    span = 1 - lowest  # the interval is that of a share: kappa's of (1 + kappa) / 2
    ends = _interval((value - lowest) / span, stderr / span, len(counts))
    low, high = (end * span + lowest for end in ends)
    return Estimate(value, np.nan, stderr, low, high)


def _reach(contexts: int, level: float = LEVEL) -> float:
    """How many standard errors an interval reaches to either side."""
    return float(stats.t.isf((1 - level) / 2, contexts - 1))


def _interval(mean: float, stderr: float, contexts: int) -> tuple[float, float]:
    """Student's t on the scale of log odds, which keeps a share between 0 and 1."""
    if contexts < 2 or np.isnan(mean) or np.isnan(stderr):
        return np.nan, np.nan
    if 0 < mean < 1 and stderr > NO_SPREAD:
        reach = _reach(contexts) * stderr / (mean * (1 - mean))
        return float(expit(logit(mean) - reach)), float(expit(logit(mean) + reach))
    # Nothing spreads, as where nothing was solved: Clopper and Pearson's with contexts for trials.
    solved, failed = mean * contexts, (1 - mean) * contexts
    low = stats.beta.ppf((1 - LEVEL) / 2, solved, failed + 1) if solved > 0 else 0.0
    high = stats.beta.isf((1 - LEVEL) / 2, solved + 1, failed) if failed > 0 else 1.0
    return float(low), float(high)


def _clustered(shift: pd.Series, context: pd.Series) -> tuple[float, int]:
    """Standard error of a sum of shifts that are correlated within contexts, and their number."""
    sums = shift.groupby(context.to_numpy()).sum()
    count = len(sums)
    if count < 2:
        return np.nan, count
    return float(np.sqrt((sums**2).sum() * count / (count - 1))), count
