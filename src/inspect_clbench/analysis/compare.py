"""Whether one model beats another: series, paired over the same tasks and runs."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import Any

from inspect_clbench.analysis.against import (
    PREFIX,
    AgainstPublished,
    against_published,
)
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
from inspect_clbench.analysis.statistics import statistics_library
from inspect_clbench.benchmarks import OVERALL
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer, check_same_rows
from inspect_clbench.logs.files import Labels, Place, check_one_dataset, find_logs, labelled
from inspect_clbench.logs.series import Series, load_series, series_names
from inspect_clbench.text import some

SEED = 20260203


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
        return against_published(chosen[0], rows[0].removeprefix(PREFIX))
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
        first, second = map(find_logs, places)
        named = labelled([*first, *second], labels)
        halves = (named[: len(first)], named[len(first) :])
        sides = [_scores_of(judge, load_series(half)) for half in halves]
        if all(len(side) == 1 for side in sides):
            return [side[0] for side in sides]
    logs = find_logs(places, dataset=dataset, labels=labels)
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
    import numpy as np

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


def _figures(one: Difference) -> dict[str, Any]:
    return {**asdict(one), "difference": one.difference, "tied": one.tied}
