"""Figures about all answers of a run, from a second verdict on some of them.

The first verdict is the judge's. The second is a person's, or a judge's that was asked in
another way, on answers drawn at random within two strata: those that the first verdict calls
solved and those that it does not. With A_h for the share of stratum h in the rate and m_h for
the mean of the second verdict in it,

    rate = A_yes * m_yes + A_no * m_no

which is what prediction-powered inference comes to here: the mean of the first verdict plus the
weighted mean of the differences. As the first verdict is constant within a stratum, the
factor that PPI++ would tune cancels out, and the package `ppi-python`, which knows neither strata
nor clusters, would add nothing.

Contexts are left to chance, and so is which answers were drawn. Three parts add up to the
interval: what contexts move the shares A_h (with what they move the m_h at the same time), and
the interval of each m_h, which is that of every rate (`statistics.interval_of`: clustered on
contexts, and Clopper and Pearson's where all second verdicts are alike, which is usual here:
a standard error would be 0). They are combined as in MOVER (Zou and Donner 2008): the squares of the
distances to either side are added, so that an interval that is long to one side stays so.

`python -m benchmarks.correction` measures how often the intervals hold the truth.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from inspect_clbench.analysis.statistics import Figure, interval_of, student_t
from inspect_clbench.data.selection import draw_evenly, seeded_rank
from inspect_clbench.logs.answers import Answer
from inspect_clbench.metrics.solving import Trial, mean_rate, residuals, run_rates

K = TypeVar("K")

_STEP = 1e-6


class Item(NamedTuple):
    """An answer with its first verdict, and the second where there is one."""

    trial: Trial
    """Solved or not by the first verdict."""

    can_change: bool = True
    """False for an empty answer, and where the judge failed: no verdict to be looked at."""

    second: bool | None = None


@dataclass(frozen=True)
class Quantity:
    """Something estimated: its value, and what each context moves it."""

    value: float
    moved: Mapping[str, float]
    low: float = math.nan
    high: float = math.nan


@dataclass(frozen=True)
class Parts:
    """An estimate, and where its uncertainty comes from."""

    figure: Figure
    contexts: float
    """The square of what the contexts add to half of the interval's width."""

    drawn: tuple[float, ...]
    """The same of what was drawn, for each mean of second verdicts."""


@dataclass(frozen=True)
class Sampled:
    """The answers of a run, or of a group of tasks: shares of the strata, second verdicts."""

    contexts: int
    answers: Mapping[bool, int]
    """How many there are, by the first verdict."""

    drawn: Mapping[bool, int]
    """How many of them have a second verdict."""

    yes: Quantity
    """The share of the answers that the first verdict calls solved, in the rate."""

    no: Quantity
    means: tuple[Quantity, Quantity]
    """The mean of the second verdict where the first is yes, and where it is no."""

    def has(self, least: int) -> bool:
        """Whether each stratum has so many second verdicts, or all that there can be."""
        return all(self.drawn[h] >= min(least, n) for h, n in self.answers.items())

    def estimate(
        self, figure: Callable[[float, float, float, float], float], least: float = 0.0
    ) -> Parts:
        """A figure, as a function of both shares and both means, that lies above `least`."""

        def of(values: Sequence[float]) -> float:
            return figure(*values)

        return estimate(of, (self.yes, self.no), self.means, self.contexts, least)


def draw_answers(
    strata: Mapping[K, Iterable[Answer]], count: int, seed: int = 0
) -> list[tuple[K, Answer]]:
    """Draw answers, from each stratum in turn; the same ones for the same seed."""

    def rank(answer: Answer) -> str:
        name = answer.uuid or (answer.log.model, answer.task_id, answer.run)
        return seeded_rank(seed, str(name), answer.scorer)

    return draw_evenly(strata, count, rank)


def sampled(items: Sequence[Item]) -> Sampled:
    """Put together what is known of some answers."""
    weights: defaultdict[int, float] = defaultdict(float)
    for item in items:
        weights[item.trial.run] += item.trial.weight
    open_items = [item for item in items if item.can_change]
    by_first = {
        first: [item for item in open_items if bool(item.trial.solved) is first]
        for first in (True, False)
    }
    seconds = {h: [i for i in by_first[h] if i.second is not None] for h in by_first}
    return Sampled(
        contexts=len({item.trial.cluster for item in items}),
        answers={first: len(some) for first, some in by_first.items()},
        drawn={first: len(some) for first, some in seconds.items()},
        yes=_share(items, True),
        no=_share(items, False),
        means=(
            _mean(seconds[True], len(by_first[True]), weights),
            _mean(seconds[False], len(by_first[False]), weights),
        ),
    )


def _share(items: Sequence[Item], first: bool) -> Quantity:
    trials = [
        item.trial._replace(solved=float(item.can_change and bool(item.trial.solved) is first))
        for item in items
    ]
    return Quantity(mean_rate(run_rates(trials)), residuals(trials) if trials else {})


def _mean(seen: Sequence[Item], answers: int, weights: Mapping[int, float]) -> Quantity:
    """The mean of second verdicts, with its interval."""
    if not seen:
        # In an empty stratum it does not matter; else there is nothing to go by.
        return Quantity(math.nan if answers else 0.0, {}, 0.0, 0.0)
    shares = [(item, item.trial.weight / weights[item.trial.run]) for item in seen]
    total = math.fsum(share for _, share in shares)
    mean = math.fsum(share for item, share in shares if item.second) / total
    moved: defaultdict[str, float] = defaultdict(float)
    for item, share in shares:
        moved[item.trial.cluster] += share * (bool(item.second) - mean) / total
    count = len(moved)
    variance = _sum_of_squares(moved) * count / (count - 1) if count > 1 else math.nan
    low, high = interval_of(mean, math.sqrt(variance), [(variance, count - 1)], count)
    return Quantity(mean, moved, low, high)


def estimate(
    figure: Callable[[Sequence[float]], float],
    shares: Sequence[Quantity],
    means: Sequence[Quantity],
    contexts: int,
    least: float = 0.0,
) -> Parts:
    """A figure and its interval; nothing where the data cannot tell.

    Args:
        figure: It, as a function of the shares and then the means.
        shares: What the contexts alone move.
        means: Those of second verdicts.
        contexts: How many contexts there are.
        least: The least value that the figure can have; the most is 1.
    """
    values = [one.value for one in (*shares, *means)]
    value = figure(values)
    if math.isnan(value):
        return Parts(Figure(None), math.nan, ())
    value = min(max(value, least), 1.0)
    if contexts < 2:
        return Parts(Figure(value), math.nan, ())
    by_contexts: defaultdict[str, float] = defaultdict(float)
    by_draw: defaultdict[str, float] = defaultdict(float)
    for place, one in enumerate((*shares, *means)):
        below, above = (
            _with(figure, values, place, one.value + step) for step in (-_STEP, _STEP)
        )
        slope = (above - below) / (2 * _STEP)
        for context, moved in one.moved.items():
            (by_contexts if place < len(shares) else by_draw)[context] += slope * moved
    spread = _sum_of_squares(by_contexts) + 2 * math.fsum(
        moved * by_draw[context] for context, moved in by_contexts.items()
    )
    reach = student_t(contexts - 1) ** 2 * max(spread, 0.0) * contexts / (contexts - 1)
    below, above, drawn = reach, reach, []
    for place, mean in enumerate(means, start=len(shares)):
        ends = [_with(figure, values, place, end) for end in (mean.low, mean.high)]
        if math.isnan(sum(ends)):  # it could be anything
            ends = [least, 1.0]
        low, high = min(*ends, value), max(*ends, value)
        below += (value - low) ** 2
        above += (high - value) ** 2
        drawn.append(((high - low) / 2) ** 2)
    low, high = max(value - math.sqrt(below), least), min(value + math.sqrt(above), 1.0)
    return Parts(Figure(value, low, high), reach, tuple(drawn))


def _with(
    figure: Callable[[Sequence[float]], float], values: Sequence[float], place: int, new: float
) -> float:
    return figure([*values[:place], new, *values[place + 1 :]])


def _sum_of_squares(moved: Mapping[str, float]) -> float:
    return math.fsum(value * value for value in moved.values())
