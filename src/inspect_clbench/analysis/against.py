"""One's own runs beside a published row: the difference, unpaired, with both errors.

What a task's published rate was is not known, so tasks cannot be paired. Nor is the
published rate's standard error for tasks of the kind: the printed std says how far runs over
the same tasks differ. It is estimated as

    stderr = sqrt(rate * (1 - rate) / tasks * design effect)

with the design effect of one's own runs (their clustered variance over that of as many
independent tasks, because tasks of a context are alike for every model), and is no less than
std / sqrt(runs). The interval takes the two rates for independent. They are of nearly the same
tasks, hard for all models or easy for all, so that it is rather too wide than too narrow.
"""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.published import Block, Published, published_table
from inspect_clbench.analysis.statistics import (
    LEVEL,
    Rate,
    rate_of,
    statistics_library,
    student_t,
)
from inspect_clbench.benchmarks import OVERALL
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.series import Series, trials_of

PREFIX = "published:"
_BLOCKS: tuple[Block, ...] = ("main", "leaderboard")


@dataclass(frozen=True)
class PublishedDifference:
    """One's own rate less the published one, over all tasks or those of a category."""

    group: str
    tasks: int
    contexts: int
    rate: float
    stderr: float | None
    """Clustered on contexts; None where they cannot tell."""

    published_rate: float
    published_std: float | None
    """Over the runs, as printed."""

    published_stderr: float
    """Estimated, see above."""

    low: float | None
    high: float | None
    p: float | None

    @property
    def difference(self) -> float:
        return self.rate - self.published_rate

    @property
    def told_apart(self) -> bool:
        return self.p is not None and self.p < 1 - LEVEL


@dataclass(frozen=True)
class AgainstPublished(Result):
    """One's own runs beside a published row."""

    series: Series
    source: Published
    """The published table, with the one row."""

    groups: tuple[PublishedDifference, ...]
    """All tasks, then each category that was published."""

    @property
    def model(self) -> str:
        """The published row's name."""
        return self.source.rows[0].model

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.groups:
            figures = asdict(one) | {"difference": one.difference}
            yield {"model": self.series.model, "published": self.model, **figures}


def against_published(series: Series, name: str) -> AgainstPublished:
    """Compare a series with a row of the benchmark's paper or leaderboard."""
    source = _published(series.benchmark.title, name)
    groups = []
    for group, published in source.rows[0].rates.items():
        answers = [a for a in series.scored if group in (OVERALL, a.category)]
        if answers:
            tasks = len({answer.task_id for answer in answers})
            rate = rate_of(trials_of(answers), ci=True)
            all_tasks = source.tasks or series.benchmark.tasks
            of = series.benchmark.category_tasks.get(group, all_tasks)
            groups.append(_difference(group, tasks, rate, published, of, source.runs))
    return AgainstPublished(series, source, tuple(groups))


def _published(benchmark: str, name: str) -> Published:
    tables = [table for block in _BLOCKS if (table := published_table(benchmark, block))]
    for table in tables:
        for row in table.rows:
            if row.model.casefold() == name.strip().casefold():
                return table.chosen([row.model])
    names = dict.fromkeys(row.model for table in tables for row in table.rows)
    raise ClbenchError(
        f"{PREFIX}{name}: no such row for {benchmark}. There are: {'; '.join(names)}."
    )


def _difference(
    group: str, tasks: int, own: Rate, published: Rate, of: int, runs: int | None
) -> PublishedDifference:
    known = own.stderr > 0  # neither one context nor contexts that all came out alike
    # Where they do not tell, tasks of a context count as one.
    effect = (
        own.stderr**2 * tasks / (own.mean * (1 - own.mean)) if known else tasks / own.contexts
    )
    independent = published.mean * (1 - published.mean) / of
    over_runs = 0.0 if math.isnan(published.std) else published.std / math.sqrt(runs or 1)
    stderr = max(math.sqrt(independent * effect), over_runs)
    low = high = p = None
    if known:
        t = statistics_library("scipy.stats").t(own.contexts - 1)
        both = math.hypot(own.stderr, stderr)
        difference = own.mean - published.mean
        reach = student_t(own.contexts - 1) * both
        low, high = max(-1.0, difference - reach), min(1.0, difference + reach)
        p = 2 * float(t.sf(abs(difference) / both))
    return PublishedDifference(
        group=group,
        tasks=tasks,
        contexts=own.contexts,
        rate=own.mean,
        stderr=own.stderr if known else None,
        published_rate=published.mean,
        published_std=None if math.isnan(published.std) else published.std,
        published_stderr=stderr,
        low=low,
        high=high,
        p=p,
    )
