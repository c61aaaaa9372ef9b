"""Whether one model beats another: series, paired over the same tasks and runs.

Beside a published row nothing can be paired, because what a task's published rate was is not
known. Nor is the published rate's standard error for tasks like these: the printed std says how far runs over
the same tasks differ. It is estimated as

    stderr = sqrt(rate * (1 - rate) / tasks * design effect)

with the design effect of one's own runs (their clustered variance over that of as many
independent tasks, because tasks of a context are alike for every model), and is no less than
std / sqrt(runs). The interval takes the two rates for independent. They are of nearly the same
tasks, hard for all models or easy for all, so that it is rather too wide than too narrow.
"""

import math
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

import numpy as np

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.groups import divide
from inspect_clbench.analysis.paired import (
    Difference,
    PairedTask,
    all_pairs,
    bootstrap_interval,
    difference_of,
    holm,
    mcnemar_p,
    rank_sets,
)
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
from inspect_clbench.logs.answers import Answer, check_same_rows
from inspect_clbench.logs.files import Labels, Place, check_one_dataset, find_logs, labelled
from inspect_clbench.logs.series import Series, load_series, series_names, trials_of
from inspect_clbench.text import some

SEED = 20260203
PREFIX = "published:"
_BLOCKS: tuple[Block, ...] = ("main", "leaderboard")


@dataclass(frozen=True)
class CategoryDifference:
    """The difference within one category."""

    category: str
    difference: Difference
    p_holm: float | None
    """Corrected for the number of categories."""


@dataclass(frozen=True)
class Paired(Result):
    """Models and the tasks that all of them have a score for."""

    series: tuple[Series, ...]
    tasks: tuple[PairedTask, ...]
    by_run: bool
    """Whether run n was paired with run n; otherwise each task's mean over its runs."""

    missing: tuple[tuple[str, ...], ...]
    """For each model the tasks that it has no score for and another model has."""

    no_common_run: tuple[str, ...]
    """Tasks that all have scores for, but never of the same run."""

    @property
    def names(self) -> tuple[str, ...]:
        """What to call the models: their names, or what else tells them apart."""
        names = series_names(self.series)
        if len(set(names)) < len(names):
            names = [f"{name} ({side})" for name, side in zip(names, self.sides, strict=True)]
        return tuple(names)

    @property
    def sides(self) -> tuple[str, ...]:
        """A letter for each model, and for a twenty-seventh one its number."""
        return tuple(chr(65 + i) if i < 26 else str(i + 1) for i in range(len(self.series)))


@dataclass(frozen=True)
class Comparison(Paired):
    """All that the pairing of two series says. Differences are A minus B."""

    overall: Difference
    categories: tuple[CategoryDifference, ...]
    bootstrap: tuple[float, float] | None
    mcnemar: float | None
    """P value, where each side has one run."""

    seed: int

    @property
    def a(self) -> Series:
        return self.series[0]

    @property
    def b(self) -> Series:
        return self.series[1]

    def tasks_by_outcome(self, won: bool) -> list[PairedTask]:
        """The tasks that A won or lost, the clearest first."""
        chosen = [t for t in self.tasks if (t.a > t.b if won else t.a < t.b)]
        return sorted(chosen, key=lambda task: (-abs(task.a - task.b), task.task_id))

    def records(self) -> Iterator[dict[str, Any]]:
        a, b = self.names
        yield {"group": OVERALL, "a": a, "b": b, **_figures(self.overall), "p_holm": None}
        for one in self.categories:
            figures = _figures(one.difference)
            yield {"group": one.category, "a": a, "b": b, **figures, "p_holm": one.p_holm}


@dataclass(frozen=True)
class RankedGroup:
    """How models rank on some tasks."""

    name: str
    rates: tuple[float, ...]
    ranks: tuple[tuple[int, int], ...]
    """The best and the worst rank of each model that the data allow."""

    pairs: tuple[Difference, ...]
    """Of the first model and the second, the first and the third, and so on, with
    intervals and p values that hold together for all pairs of the group."""


@dataclass(frozen=True)
class Ranking(Paired):
    """Three models or more, the best first, over the same tasks."""

    groups: tuple[RankedGroup, ...]
    """All tasks, then each category."""

    seed: int

    def records(self) -> Iterator[dict[str, Any]]:
        for group in self.groups:
            named = list(zip(self.names, group.ranks, strict=True))
            for ((a, ranks_a), (b, ranks_b)), one in zip(
                combinations(named, 2), group.pairs, strict=True
            ):
                yield {
                    "group": group.name,
                    "a": a,
                    "b": b,
                    **_figures(one),
                    "best_rank_a": ranks_a[0],
                    "worst_rank_a": ranks_a[1],
                    "best_rank_b": ranks_b[0],
                    "worst_rank_b": ranks_b[1],
                }


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


def compare(
    *logs: Place,
    model: str | Sequence[str] = (),
    dataset: str | None = None,
    judge: str | None = None,
    seed: int = SEED,
    labels: Labels = (),
) -> Comparison | Ranking | AgainstPublished:
    """Compare models over the tasks, and where they can be paired the runs, of all.

    Two paths that hold one model each are A and B, even if it is the same model. Otherwise
    all runs of a model, from whatever path, count together. Two models give a
    `Comparison`, more a `Ranking`, and one beside a published row an `AgainstPublished`.
    Of logs of the judge exam the models are judges, and the tasks are cases.

    Args:
        logs: Logs, folders of logs or URLs; or those of one model and a row of the
            benchmark's paper or leaderboard, as `published:GPT 5.1 (High)`.
        model: Which models in them to compare, as `find_logs` takes it; all by default.
        dataset: Which dataset's logs to take, as `find_logs` takes it.
        judge: Whose scores to take where logs were scored by several judges.
        seed: Seed of the bootstrap.
        labels: What to call the models, as `find_logs` takes it.
    """
    if seed < 0:
        raise ClbenchError(f"seed={seed}: give a number of at least 0.")
    statistics_library("statsmodels.regression.linear_model")
    rows = [log for log in logs if isinstance(log, str) and log.startswith(PREFIX)]
    places = [log for log in logs if log not in rows]
    models = [model] if isinstance(model, str) else model
    chosen = _chosen(places, models, dataset, judge, labels)
    if len(rows) + len(chosen) < 2:
        raise ClbenchError(
            f"{some([str(log) for log in logs])}: one model only ({chosen[0].model}). Add a "
            "log of another one, name two logs of this one to compare them, or add a "
            f'published row: "{PREFIX}NAME".'
        )
    if rows:
        if len(rows) + len(chosen) > 2:
            raise ClbenchError(
                "A published row is compared with one model. Choose one with --model: "
                f"{'; '.join(series_names(chosen))}."
                if len(rows) == 1
                else f"Name one published row, not {len(rows)}."
            )
        return _against_published(chosen[0], rows[0].removeprefix(PREFIX))
    check_one_dataset([log for one in chosen for log in one.logs])
    check_same_rows(answer for one in chosen for answer in one.answers)
    if len(chosen) == 2:
        return _comparison(chosen, seed)
    return _ranking(chosen, seed)


def _chosen(
    places: Sequence[Place],
    models: Sequence[str],
    dataset: str | None,
    judge: str | None,
    labels: Labels,
) -> list[Series]:
    if len(places) == 2 and not models and dataset is None:
        first, second = (find_logs(place, exams=True) for place in places)
        named = labelled([*first, *second], labels)
        halves = (named[: len(first)], named[len(first) :])
        sides = [_scores_of(judge, load_series(half)) for half in halves]
        if all(len(side) == 1 for side in sides):
            return [side[0] for side in sides]
    logs = find_logs(places, dataset=dataset, labels=labels, exams=True)
    order = [log.model for name in models for log in find_logs(logs, model=name)]
    found = _scores_of(judge, load_series([log for log in logs if log.model in order] or logs))
    if order:
        found.sort(key=lambda one: order.index(one.model))
    check_one_dataset([log for one in found for log in one.logs])
    for same in divide(found, lambda one: (one.model, one.effort)).values():
        if len(same) > 1:
            held = "; ".join(series_names(same))
            raise ClbenchError(
                f"{same[0].model}: {len(same)} series, not one ({held}). Choose between judges with "
                "--judge, or name the logs of one of them."
            )
    return found


def _scores_of(judge: str | None, found: list[Series]) -> list[Series]:
    if judge is None:
        return found
    # A judge that was asked again has several scores: its first one counts.
    chosen = [one for one in found if one.judge == judge and one.again == 0]
    if not chosen:
        judges = ", ".join(sorted({one.judge or "none" for one in found}))
        where = found[0].logs[0]
        raise ClbenchError(f"{where}: no scores of {judge}. There are scores of: {judges}.")
    return chosen


def _comparison(series: Sequence[Series], seed: int) -> Comparison:
    paired = _pair(series)
    by_category = _by_category(paired.tasks, series[0].benchmark.categories)
    differences = [difference_of(tasks) for tasks in by_category.values()]
    corrected = holm([one.p for one in differences])
    return Comparison(
        **vars(paired),
        overall=difference_of(paired.tasks),
        categories=tuple(map(CategoryDifference, by_category, differences, corrected)),
        bootstrap=bootstrap_interval(paired.tasks, seed),
        mcnemar=mcnemar_p(paired.tasks) if all(one.runs == 1 for one in series) else None,
        seed=seed,
    )


def _ranking(series: Sequence[Series], seed: int) -> Ranking:
    def rates(tasks: Sequence[PairedTask]) -> tuple[float, ...]:
        weights = [task.weight for task in tasks]
        means = np.average([task.rates for task in tasks], axis=0, weights=weights)
        return tuple(map(float, means))

    def ranked(name: str, tasks: Sequence[PairedTask]) -> RankedGroup:
        pairs = all_pairs(tasks, seed)
        ranks = rank_sets(len(series), pairs)
        return RankedGroup(name, rates(tasks), tuple(ranks), tuple(pairs))

    overall = rates(_pair(series).tasks)
    best_first = sorted(range(len(series)), key=lambda place: -overall[place])
    paired = _pair([series[place] for place in best_first])
    by_category = _by_category(paired.tasks, series[0].benchmark.categories)
    groups = {OVERALL: paired.tasks, **by_category}
    return Ranking(
        **vars(paired),
        groups=tuple(ranked(name, tasks) for name, tasks in groups.items()),
        seed=seed,
    )


def _pair(series: Sequence[Series]) -> Paired:
    """The tasks that all models have scores for."""
    scored = [divide(one.scored, lambda answer: answer.task_id) for one in series]
    by_run = len({frozenset(answer.run for answer in one.answers) for one in series}) == 1
    every = {task_id: None for tasks in scored for task_id in tasks}
    tasks: list[PairedTask] = []
    no_common_run: list[str] = []
    for task_id in scored[0]:
        if all(task_id in one for one in scored):
            task = _paired_task([one[task_id] for one in scored], by_run)
            if task is None:
                no_common_run.append(task_id)
            else:
                tasks.append(task)
    if not tasks:
        names = " and ".join(str(one.logs[0]) for one in series)
        raise ClbenchError(f"{names} have no scored task in common: nothing to compare.")
    return Paired(
        series=tuple(series),
        tasks=tuple(tasks),
        by_run=by_run,
        missing=tuple(tuple(sorted(every.keys() - one.keys())) for one in scored),
        no_common_run=tuple(no_common_run),
    )


def _paired_task(sides: Sequence[Sequence[Answer]], by_run: bool) -> PairedTask | None:
    """One task's rate for each model; none if no run of it is scored for all."""
    if by_run:
        common = set.intersection(*({answer.run for answer in side} for side in sides))
        if not common:
            return None
        sides = [[answer for answer in side if answer.run in common] for side in sides]
    first = sides[0][0]
    return PairedTask(
        task_id=first.task_id,
        context_id=first.context_id,
        category=first.category,
        rates=tuple(statistics.fmean(answer.solved for answer in side) for side in sides),
        # Of a draw and a full run, or a smaller draw of the same seed: the drawn tasks' own.
        weight=max(side[0].weight for side in sides),
    )


def _by_category(
    tasks: Sequence[PairedTask], order: Sequence[str]
) -> dict[str, list[PairedTask]]:
    """The tasks of each category that is named, in the benchmark's order."""
    groups = divide(tasks, lambda task: task.category)
    names = [name for name in order if name in groups]
    names += [name for name in groups if name and name not in order]
    return {name: groups[name] for name in names}


def _against_published(series: Series, name: str) -> AgainstPublished:
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
            groups.append(_unpaired(group, tasks, rate, published, of, source.runs))
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


def _unpaired(
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


def _figures(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "difference": one.difference, "tied": one.tied}
