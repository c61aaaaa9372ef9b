"""A comparison of two models as one sentence and as tables."""

from collections.abc import Iterator
from typing import Any

from inspect_clbench.analysis.compare import Comparison, describe
from inspect_clbench.analysis.paired import RESAMPLES, Difference
from inspect_clbench.analysis.statistics import FEW_CONTEXTS
from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, table
from inspect_clbench.text import counted, some

_NAMED = 5


def sentence(comparison: Comparison) -> str:
    """Whether the data can tell the two models apart, and what they could have shown."""
    a, b = comparison.names
    can = "can" if comparison.overall.told_apart else "cannot"
    return f"These data {can} tell {a} and {b} apart: {_grounds(comparison.overall, a, b)}."


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


def _grounds(overall: Difference, a: str, b: str) -> str:
    where = f"over {counted(overall.tasks, 'task')} in {counted(overall.contexts, 'context')}"
    found = _found(overall, a, b)
    unknown = "what difference could have been shown cannot be told"
    if overall.stderr is None:
        return f"{found} {where}; one context gives no measure of error, and {unknown}"
    if overall.won == overall.lost == 0:
        return f"they did the same on every task, {where}; {unknown}"
    p = "no p value" if overall.p is None else f"p {_p_text(overall.p, '= ')}"
    if overall.low is None or overall.high is None:
        return (
            f"{found} {where}, alike in every context (sign test over contexts, {p}); {unknown}"
        )
    interval = f"95 % interval {points(overall.low)} to {points(overall.high)}"
    shown = (
        "with so few contexts no difference at all would be shown four times out of five"
        if overall.detectable is None
        else "four times out of five, data like these would show a difference of "
        f"{points(overall.detectable)} points"
    )
    return f"{found} ({interval}, {p}) {where}; {shown}"


def _found(overall: Difference, a: str, b: str) -> str:
    size = points(abs(overall.difference))
    if size == "0.0":
        return "both solve the same share of the tasks"
    better, other = (a, b) if overall.difference > 0 else (b, a)
    return f"{better} solves {size} points more than {other}"


def _rates_table(comparison: Comparison) -> Table:
    rows = [_difference_row("Overall", comparison.overall, None)]
    rows += [_difference_row(c.category, c.difference, c.p_holm) for c in comparison.categories]
    a, b = comparison.names
    title = f"{comparison.a.dataset_name}: solving rates in %, A = {a}, B = {b}"
    return table(title, rows, _notes(comparison))


def _difference_row(name: str, one: Difference, p_holm: float | None) -> dict[str, Any]:
    return {
        "Tasks of": name,
        "A": _points(one.rate_a),
        "B": _points(one.rate_b),
        "A − B": _points(one.difference),
        "95 % from": _points(one.low),
        "to": _points(one.high),
        "p": _p(one.p),
        "p (Holm)": _p(p_holm),
        "Won": one.won,
        "Lost": one.lost,
        "Tied": one.tied,
        "Tasks": one.tasks,
        "Contexts": one.contexts,
    }


def _methods_table(comparison: Comparison) -> Table:
    overall = comparison.overall
    exact = "Sign test over contexts"
    test = exact if overall.stderr == 0 else "t test, errors clustered on contexts"
    draws = f"Cluster bootstrap, {RESAMPLES:,} draws, seed {comparison.seed}"
    methods = [
        (test, (overall.low, overall.high), overall.p),
        (draws, comparison.bootstrap or (None, None), None),
    ]
    notes = []
    if comparison.mcnemar is not None:
        methods.append(("Exact McNemar test", (None, None), comparison.mcnemar))
        notes.append(
            "McNemar's test takes tasks for independent, which tasks of one context are not: "
            "the first line decides."
        )
    smallest = "none, or not to be told"
    if overall.detectable is not None:
        smallest = f"{points(overall.detectable)} points"
    notes.append(f"Smallest difference shown with a power of 80 %: {smallest}.")
    rows = (
        {"Method": name, "95 % from": _points(low), "to": _points(high), "p": _p(p)}
        for name, (low, high), p in methods
    )
    return table("The overall difference by method", rows, notes)


def _outcomes_table(comparison: Comparison) -> Table:
    rows = []
    for name, outcome in (("A solved it", 1), ("A did not", 0)):
        b = [task.b for task in comparison.tasks if task.a == outcome]
        rows.append({"Outcome": name, "B solved it": b.count(1), "B did not": b.count(0)})
    return table("Tasks by outcome", rows)


def _tasks_table(comparison: Comparison) -> Table:
    rows = [
        {
            "Task": task.task_id,
            "Category": task.category,
            "For A": word,
            "A": _points(task.a),
            "B": _points(task.b),
        }
        for word, won in (("won", True), ("lost", False))
        for task in comparison.tasks_by_outcome(won)
    ]
    columns = ("Task", "Category", "For A", "A", "B")
    return table("Tasks won and lost", rows, columns=columns, left=3)


def _notes(comparison: Comparison) -> Iterator[Note | str]:
    a, b, overall = comparison.a, comparison.b, comparison.overall
    yield sentence(comparison)
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
            names = some(ids, _NAMED)
            yield f"{reason} {counted(len(ids), 'task')}, left out: {names}."
    differing = [
        what
        for what, told in (
            ("judges", [(one.judge, one.again) for one in (a, b)]),
            ("judge prompts", [(one.judge_prompt, one.judge_prompt_sha256) for one in (a, b)]),
            ("versions of the task", [one.version for one in (a, b)]),
        )
        if told[0] != told[1]
    ]
    if differing:
        what = " and the ".join(differing)
        text = f"The {what} differ: the difference may be theirs and not the models'."
        yield Note("warning", text)
    for side, series in (("A", a), ("B", b)):
        if series.judge_failures:
            failed = counted(series.judge_failures, "row")
            text = f"{side}: {failed} without a verdict because the judge failed. Ask again "
            yield Note("warning", text + "for them: clbench regrade LOG")
        for gap in series.gaps:
            yield Note("incomplete", f"{side}: incomplete, {gap}.")
    if 1 < overall.contexts < FEW_CONTEXTS:
        yield "Few contexts: take the intervals, the bootstrap's above all, for rough."
    yield (
        "Intervals are not corrected for the number of categories; p (Holm) is. "
        "Won and lost count tasks that one side solved more often than the other."
    )


def _pairing_note(comparison: Comparison) -> str:
    runs = comparison.a.runs
    if comparison.by_run:
        how = "its one run" if runs == 1 else f"run n of A with run n of B, {runs} runs"
        return f"Paired: each task by {how}; the unit of error is the context."
    return (
        f"Paired: each task's mean over the runs of A ({runs}) with its mean over "
        f"the runs of B ({comparison.b.runs}); the unit of error is the context."
    )


def points(share: float) -> str:
    """A rate or a difference of rates in percentage points."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def _points(share: float | None) -> Cell:
    return NOTHING if share is None else Cell(points(share), share)


def _p_text(p: float, equals: str = "") -> str:
    return "< 0.001" if p < 0.001 else f"{equals}{p:.3f}"


def _p(p: float | None) -> Cell:
    return NOTHING if p is None else Cell(_p_text(p), p)
