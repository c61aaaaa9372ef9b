"""The difference between two models that a comparison can be expected to show.

With 80 % power at the 5 % level, two-sided, that is d = (t_0.975 + t_0.8) * s with C - 1
degrees of freedom for C contexts, where

    s^2 = 2 (1 - r) (v_context / C' + v_task / T) + (2 v_run + d (1 - 2 p - d)) / (T K)

for T tasks in K epochs; C' = T^2 / sum of squared context sizes, v are the variances of one
answer between contexts, between tasks of a context and between runs of a task, and r is the
share of the first two that two models have in common. The weaker model solves a task with
chance p on average and the better one with d more, so that its answers vary more between runs
where p is below a half. `python -m benchmarks.power` checks it.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspect_clbench.analysis.noise import variance_components
from inspect_clbench.analysis.statistics import (
    FEW_CONTEXTS,
    POWER,
    statistics_library,
    student_t,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer

_MOST_EPOCHS = 5


@dataclass(frozen=True)
class Spread:
    """The variance of one answer, by where it comes from."""

    context: float
    task: float
    run: float
    rate: float
    """The solving rate at which they are so."""

    shared: float = 0.5
    """The share of the first two that two models have in common."""

    from_pilot: bool = False

    @classmethod
    def usual(cls, rate: float) -> "Spread":
        """Shares of rate (1 - rate).

        That of runs lets full runs spread as published ones do; how the rest is divided is
        an assumption.
        """
        whole = rate * (1 - rate)
        return cls(0.30 * whole, 0.15 * whole, 0.55 * whole, rate)


@dataclass(frozen=True)
class Design:
    """So many contexts and epochs: what they cost, and the difference that they can show."""

    contexts: int
    tasks: int
    epochs: int
    detectable: float
    usd: float | None


def detectable(
    sizes: Iterable[int], spread: Spread, epochs: int, contexts: int | None = None
) -> float:
    """The smallest difference between two models that a comparison can be expected to show.

    Args:
        sizes: The tasks of each context there is.
        spread: The variances of one answer.
        epochs: The runs of each model.
        contexts: How many of the contexts are drawn; all if not given.
    """
    all_sizes = list(sizes)
    drawn = contexts or len(all_sizes)
    if drawn < 2:
        return math.nan
    tasks = sum(all_sizes) * drawn / len(all_sizes)
    effective = sum(all_sizes) ** 2 / sum(n * n for n in all_sizes) * drawn / len(all_sizes)
    apart = 2 * (1 - spread.shared) * (spread.context / effective + spread.task / tasks)
    answers = tasks * epochs
    t = statistics_library("scipy.stats").t
    reach = (student_t(drawn - 1) + float(t.isf(1 - POWER, drawn - 1))) ** 2
    # The positive root of d^2 = reach * s^2, in which s^2 contains d.
    square = 1 + reach / answers
    slope = reach * (1 - 2 * spread.rate) / answers
    constant = reach * (apart + 2 * spread.run / answers)
    return (slope + math.sqrt(slope**2 + 4 * square * constant)) / (2 * square)


def spread_of(answers: Sequence[Answer], rate: float) -> Spread | None:
    """The variances of a pilot; none where it is too small, or too much alike, to tell them."""
    contexts: defaultdict[str, defaultdict[tuple[str, str], list[list[bool]]]]
    contexts = defaultdict(lambda: defaultdict(list))
    for answer in answers:
        key = (answer.log.model, answer.task_id)
        contexts[f"{answer.log.model} {answer.context_id}"][key].append([answer.solved])
    if len(contexts) < FEW_CONTEXTS:
        return None
    found = variance_components([list(tasks.values()) for tasks in contexts.values()])
    context, task, run = found["context"], found["task"], found["run"]
    if context is None or task is None or run is None or not context + task + run:
        return None
    return Spread(context, task, run, rate, from_pilot=True)


def designs(
    sizes: Sequence[int], spread: Spread, per_sample: float | None,
    contexts: Iterable[int], epochs: Sequence[int],
) -> Iterator[Design]:  # fmt: skip
    """Designs of so many contexts and epochs; a sample costs `per_sample` USD, if known."""
    for number in contexts:
        tasks = round(sum(sizes) * number / len(sizes))
        for runs in epochs:
            yield Design(
                contexts=number,
                tasks=tasks,
                epochs=runs,
                detectable=detectable(sizes, spread, runs, number),
                usd=None if per_sample is None else per_sample * tasks * runs,
            )


def cheapest(
    sizes: Sequence[int], spread: Spread, per_sample: float | None, detect: float
) -> Design | None:
    """The design with the fewest samples, and so the least money, that shows a difference."""
    if not 0 < detect < 1:
        raise ClbenchError(
            f"detect={detect}: give a difference between 0 and 1, such as 0.05 "
            "(to clbench: --detect 5, in points)."
        )
    numbers = range(4, len(sizes) + 1)
    found = [
        design
        for design in designs(sizes, spread, per_sample, numbers, range(1, _MOST_EPOCHS + 1))
        if design.detectable <= detect
    ]
    return min(found, key=lambda one: (one.tasks * one.epochs, one.contexts), default=None)
