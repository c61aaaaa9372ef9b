"""Whether one model beats another: two series, paired over the same tasks and runs."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.paired import (
    Difference,
    PairedTask,
    bootstrap_interval,
    difference_of,
    holm,
    mcnemar_p,
)
from inspect_clbench.analysis.statistics import statistics_library
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer
from inspect_clbench.logs.files import check_one_dataset
from inspect_clbench.logs.series import Series, load_series, series_names
from inspect_clbench.text import counted

SEED = 20260203


@dataclass(frozen=True)
class CategoryDifference:
    """The difference within one category."""

    category: str
    difference: Difference
    p_holm: float | None
    """Corrected for the number of categories."""


@dataclass(frozen=True)
class Comparison(Result):
    """All that the pairing of two series says. Differences are A minus B."""

    a: Series
    b: Series
    tasks: tuple[PairedTask, ...]
    by_run: bool
    """Whether run n was paired with run n; otherwise each task's mean over its runs."""

    only_a: tuple[str, ...]
    """Tasks that only A has a score for."""

    only_b: tuple[str, ...]
    no_common_run: tuple[str, ...]
    """Tasks that both have scores for, but never of the same run."""

    overall: Difference
    categories: tuple[CategoryDifference, ...]
    bootstrap: tuple[float, float] | None
    mcnemar: float | None
    """P value, where each side has one run."""

    seed: int

    @property
    def names(self) -> tuple[str, str]:
        """What to call the two: their models, or what else tells them apart."""
        a, b = series_names([self.a, self.b])
        return (a, b) if a != b else (f"{a} (A)", f"{b} (B)")

    def tasks_by_outcome(self, won: bool) -> list[PairedTask]:
        """The tasks that A won or lost, the clearest first."""
        chosen = [t for t in self.tasks if (t.a > t.b if won else t.a < t.b)]
        return sorted(chosen, key=lambda task: (-abs(task.difference), task.task_id))

    def records(self) -> Iterator[dict[str, Any]]:
        names = dict(zip("ab", self.names, strict=True))
        rows: list[tuple[str, Difference, float | None]] = [("Overall", self.overall, None)]
        rows += [(c.category, c.difference, c.p_holm) for c in self.categories]
        for group, one, p_holm in rows:
            figures = {**asdict(one), "difference": one.difference, "tied": one.tied}
            yield {"group": group, **names, **figures, "p_holm": p_holm}


def compare(a: str, b: str, *, seed: int = SEED, judge: str | None = None) -> Comparison:
    """Compare two models over the tasks, and where they can be paired the runs, of both.

    Args:
        a: A log, a folder of logs or a URL that holds the runs of one model.
        b: The same for the other model.
        seed: Seed of the bootstrap.
        judge: Whose scores to take where logs were scored by several judges.
    """
    if seed < 0:
        raise ClbenchError(f"seed={seed}: give a number of at least 0.")
    statistics_library("statsmodels.regression.linear_model")
    series_a, series_b = _only_series(a, judge), _only_series(b, judge)
    check_one_dataset([*series_a.logs, *series_b.logs])
    scored_a, scored_b = _by_task(series_a), _by_task(series_b)
    by_run = _runs(series_a) == _runs(series_b)
    tasks: list[PairedTask] = []
    no_common_run: list[str] = []
    for task_id in scored_a:
        if task_id in scored_b:
            task = _pair(scored_a[task_id], scored_b[task_id], by_run)
            if task is None:
                no_common_run.append(task_id)
            else:
                tasks.append(task)
    if not tasks:
        raise ClbenchError(
            f"{a} and {b} have no scored task in common: there is nothing to compare."
        )
    return Comparison(
        a=series_a,
        b=series_b,
        tasks=tuple(tasks),
        by_run=by_run,
        only_a=tuple(sorted(scored_a.keys() - scored_b.keys())),
        only_b=tuple(sorted(scored_b.keys() - scored_a.keys())),
        no_common_run=tuple(no_common_run),
        overall=difference_of(tasks),
        categories=tuple(_by_category(tasks, series_a.benchmark.categories)),
        bootstrap=bootstrap_interval(tasks, seed),
        mcnemar=mcnemar_p(tasks) if series_a.runs == series_b.runs == 1 else None,
        seed=seed,
    )


def describe(series: Series) -> str:
    """A series in words: model, effort, judge, prompt and runs."""
    effort = f", effort {series.effort}" if series.effort else ""
    again = f" (again {series.again})" if series.again else ""
    prompt = f" ({series.judge_prompt} prompt)" if series.judge_prompt else ""
    judge = f"{series.judge or 'none'}{again}{prompt}"
    return f"{series.model}{effort}; judge: {judge}; {counted(series.runs, 'run')}"


def _only_series(path: str, judge: str | None) -> Series:
    found = load_series([path])
    if judge is not None:
        # A judge that was asked again has several scores: its first one counts.
        chosen = [one for one in found if one.judge == judge and one.again == 0]
        if not chosen:
            judges = ", ".join(sorted({one.judge or "none" for one in found}))
            raise ClbenchError(f"{path}: no scores of {judge}. There are scores of: {judges}.")
        found = chosen
    if len(found) > 1:
        held = "; ".join(describe(one) for one in found)
        raise ClbenchError(
            f"{path}: holds {len(found)} series, not one ({held}). Name the log of one of "
            "them, or choose between judges with --judge."
        )
    return found[0]


def _runs(series: Series) -> set[int]:
    return {answer.run for answer in series.answers}


def _by_task(series: Series) -> dict[str, list[Answer]]:
    tasks: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in series.scored:
        tasks[answer.task_id].append(answer)
    return dict(tasks)


def _pair(a: Sequence[Answer], b: Sequence[Answer], by_run: bool) -> PairedTask | None:
    """One task's rates on both sides; none if no run of it is scored on both."""
    if by_run:
        common = {answer.run for answer in a} & {answer.run for answer in b}
        a = [answer for answer in a if answer.run in common]
        b = [answer for answer in b if answer.run in common]
        if not common:
            return None
    return PairedTask(
        task_id=a[0].task_id,
        context_id=a[0].context_id,
        category=a[0].category,
        a=statistics.fmean(answer.solved for answer in a),
        b=statistics.fmean(answer.solved for answer in b),
    )


def _by_category(
    tasks: Sequence[PairedTask], order: Sequence[str]
) -> list[CategoryDifference]:  # fmt: skip
    groups: defaultdict[str, list[PairedTask]] = defaultdict(list)
    for task in tasks:
        groups[task.category].append(task)
    names = [name for name in order if name in groups]
    names += [name for name in groups if name and name not in order]
    differences = [difference_of(groups[name]) for name in names]
    corrected = holm([difference.p for difference in differences])
    return [
        CategoryDifference(name, difference, p)
        for name, difference, p in zip(names, differences, corrected, strict=True)
    ]
