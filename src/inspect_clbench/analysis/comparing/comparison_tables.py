"""A comparison as tables, with notes on what was paired and what to beware of."""

from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.comparing.comparison import Comparison, points
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.statistics.paired import DRAWS, Difference
from inspect_clbench.analysis.tables import Cell, Table
from inspect_clbench.analysis.text import counted

# With fewer contexts the intervals miss the truth more often than one time in twenty.
_FEW_CONTEXTS = 30
_NAMED = 5


def comparison_tables(comparison: Comparison, list_tasks: bool = False) -> list[Table]:
    """The comparison as tables: overall and per category, by method, by outcome.

    Args:
        comparison: What `compare` returned.
        list_tasks: Whether to list the tasks won and lost.
    """
    tables = [_rates_table(comparison), _methods_table(comparison)]
    if comparison.mcnemar is not None:
        tables.append(_outcomes_table(comparison))
    if list_tasks:
        tables.append(_tasks_table(comparison))
    return tables


def describe(series: Series) -> str:
    """A series in words: model, effort, judge, prompt and runs."""
    effort = f", effort {series.effort}" if series.effort else ""
    again = f" (again {series.again})" if series.again else ""
    prompt = f" ({series.judge_prompt} prompt)" if series.judge_prompt else ""
    judge = f"{series.judge or 'none'}{again}{prompt}"
    return f"{series.model}{effort}; judge: {judge}; {counted(series.runs, 'run')}"


def _rates_table(comparison: Comparison) -> Table:
    columns = (
        "Tasks of", "A", "B", "A − B", "95 % from", "to", "p", "p (Holm)",
        "Won", "Lost", "Tied", "Tasks", "Contexts",
    )  # fmt: skip
    rows = [_difference_row("Overall", comparison.overall, None)]
    rows += [_difference_row(c.category, c.difference, c.p_holm) for c in comparison.categories]
    a, b = comparison.labels
    title = f"{comparison.a.benchmark}: solving rates in %, A = {a}, B = {b}"
    return Table(title, columns, tuple(rows), tuple(_notes(comparison)))


def _difference_row(name: str, one: Difference, p_holm: float | None) -> tuple[Cell, ...]:
    counts = (one.won, one.lost, one.tied, one.tasks, one.contexts)
    return (
        Cell.of(name),
        *(_share(s) for s in (one.rate_a, one.rate_b, one.difference, one.low, one.high)),
        _p(one.p),
        _p(p_holm),
        *(Cell(f"{count:,}", count) for count in counts),
    )


def _methods_table(comparison: Comparison) -> Table:
    overall = comparison.overall
    low, high = comparison.bootstrap or (None, None)
    method = "t test, errors clustered on contexts"
    if overall.stderr == 0:
        method = "Sign test over contexts"
    draws = f"Cluster bootstrap, {DRAWS:,} draws, seed {comparison.seed}"
    rows = [
        (Cell.of(method), _share(overall.low), _share(overall.high), _p(overall.p)),
        (Cell.of(draws), _share(low), _share(high), _p(None)),
    ]
    notes: list[str] = []
    if comparison.mcnemar is not None:
        test = Cell.of("Exact McNemar test")
        rows.append((test, _share(None), _share(None), _p(comparison.mcnemar)))
        notes.append(
            "McNemar's test takes tasks for independent, which tasks of one context are not: "
            "the first line decides."
        )
    notes.append(_detectable_note(overall))
    columns = ("Method", "95 % from", "to", "p")
    return Table("The overall difference by method", columns, tuple(rows), tuple(notes))


def _detectable_note(overall: Difference) -> str:
    if overall.detectable is None:
        return "Smallest difference shown with a power of 80 %: none, or not to be told."
    smallest = points(overall.detectable)
    return f"Smallest difference shown with a power of 80 %: {smallest} points."


def _outcomes_table(comparison: Comparison) -> Table:
    rows = []
    for name, outcome in (("A solved it", 1), ("A did not", 0)):
        b_outcomes = [task.b for task in comparison.tasks if task.a == outcome]
        counts = (b_outcomes.count(1), b_outcomes.count(0))
        rows.append((Cell.of(name), *(Cell(f"{count:,}", count) for count in counts)))
    return Table("Tasks by outcome", ("Outcome", "B solved it", "B did not"), tuple(rows))


def _tasks_table(comparison: Comparison) -> Table:
    rows = [
        (
            Cell.of(task.task_id),
            Cell.of(task.category),
            Cell.of("won" if task.a > task.b else "lost"),
            _share(task.a),
            _share(task.b),
        )
        for task in [*comparison.won, *comparison.lost]
    ]
    columns = ("Task", "Category", "For A", "A", "B")
    return Table("Tasks won and lost", columns, tuple(rows), left=3)


def _notes(comparison: Comparison) -> Iterator[str]:
    a, b, overall = comparison.a, comparison.b, comparison.overall
    yield comparison.sentence
    yield f"A: {describe(a)}."
    yield f"B: {describe(b)}."
    yield _pairing_note(comparison)
    left_out = (
        ("Only A has a score for", comparison.only_a),
        ("Only B has a score for", comparison.only_b),
        ("No run is scored on both sides for", comparison.no_common_run),
    )
    for reason, ids in left_out:
        if ids:
            yield f"{reason} {counted(len(ids), 'task')}, left out: {_first(ids)}."
    differing = [
        what
        for what, ours, theirs in (
            ("judges", (a.judge, a.again), (b.judge, b.again)),
            (
                "judge prompts",
                (a.judge_prompt, a.judge_prompt_sha256),
                (b.judge_prompt, b.judge_prompt_sha256),
            ),
            ("versions of the task", _versions(a), _versions(b)),
        )
        if ours != theirs
    ]
    if differing:
        what = " and the ".join(differing)
        yield f"! The {what} differ: the difference may be theirs and not the models'."
    for side, series in (("A", a), ("B", b)):
        if series.judge_failures:
            failed = counted(series.judge_failures, "row")
            yield (
                f"! {side}: {failed} without a verdict because the judge failed. Ask again "
                "for them: clbench regrade LOG"
            )
        yield from (f"* {side}: incomplete, {gap}." for gap in series.gaps)
    if 1 < overall.contexts < _FEW_CONTEXTS:
        yield "Few contexts: take the intervals, the bootstrap's above all, for rough."
    yield (
        "Intervals are not corrected for the number of categories; p (Holm) is. "
        "Won and lost count tasks that one side solved more often than the other."
    )


def _versions(series: Series) -> set[str]:
    return {str(log.header.eval.task_version) for log in series.logs}


def _pairing_note(comparison: Comparison) -> str:
    if comparison.by_run:
        runs = comparison.a.runs
        how = "its one run" if runs == 1 else f"run n of A with run n of B, {runs} runs"
        return f"Paired: each task by {how}; the unit of error is the context."
    return (
        f"Paired: each task's mean over the runs of A ({comparison.a.runs}) with its mean over "
        f"the runs of B ({comparison.b.runs}); the unit of error is the context."
    )


def _first(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - _NAMED:,} more" if len(ids) > _NAMED else ""
    return ", ".join(ids[:_NAMED]) + more


def _share(share: float | None) -> Cell:
    return Cell("–", None) if share is None else Cell(points(share), share)


def _p(p: float | None) -> Cell:
    if p is None:
        return Cell("–", None)
    return Cell("< 0.001" if p < 0.001 else f"{p:.3f}", p)
