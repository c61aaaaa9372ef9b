"""Whether one model beats another: two series, paired over the same tasks and runs."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from inspect_clbench.analysis.comparing.comparison import CategoryDifference, Comparison
from inspect_clbench.analysis.comparing.comparison_tables import describe
from inspect_clbench.analysis.reading.records import Record
from inspect_clbench.analysis.reading.series import Series, check_one_benchmark, load_series
from inspect_clbench.analysis.statistics.paired import (
    PairedTask,
    bootstrap_interval,
    difference_of,
    holm,
    mcnemar_p,
)
from inspect_clbench.errors import ClbenchError

SEED = 20260203


def compare(a: str, b: str, *, seed: int = SEED, judge: str | None = None) -> Comparison:
    """Compare two models over the tasks, and where they can be paired the runs, of both.

    Args:
        a: A log, a folder of logs or a URL that holds the runs of one model.
        b: The same for the other model.
        seed: Seed of the bootstrap.
        judge: Whose scores to take where logs were scored by several judges.

    Returns:
        The differences and their `sentence`; `comparison_tables` makes tables of them.
    """
    series_a, series_b = _only_series(a, judge), _only_series(b, judge)
    check_one_benchmark([*series_a.logs, *series_b.logs])
    scored_a, scored_b = _by_task(series_a), _by_task(series_b)
    by_run = _runs(series_a) == _runs(series_b)
    shared = [task_id for task_id in scored_a if task_id in scored_b]
    tasks: list[PairedTask] = []
    no_common_run: list[str] = []
    for task_id in shared:
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
        categories=tuple(_by_category(tasks, series_a.taxonomy.categories)),
        bootstrap=bootstrap_interval(tasks, seed),
        mcnemar=mcnemar_p(tasks) if series_a.runs == series_b.runs == 1 else None,
        seed=seed,
    )


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
    return {record.run for record in series.records}


def _by_task(series: Series) -> dict[str, list[Record]]:
    tasks: defaultdict[str, list[Record]] = defaultdict(list)
    for record in series.scored:
        tasks[record.task_id].append(record)
    return dict(tasks)


def _pair(a: Sequence[Record], b: Sequence[Record], by_run: bool) -> PairedTask | None:
    """One task's rates on both sides; none if no run of it is scored on both."""
    if by_run:
        common = {record.run for record in a} & {record.run for record in b}
        a = [record for record in a if record.run in common]
        b = [record for record in b if record.run in common]
        if not common:
            return None
    return PairedTask(
        task_id=a[0].task_id,
        context_id=a[0].context_id,
        category=a[0].category,
        a=statistics.fmean(record.solved for record in a),
        b=statistics.fmean(record.solved for record in b),
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
