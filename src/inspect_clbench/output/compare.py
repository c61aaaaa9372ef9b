"""Comparisons of models as sentences and as tables."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from typing import Any

from inspect_clbench.analysis.compare import (
    AgainstPublished,
    Comparison,
    Paired,
    RankedGroup,
    Ranking,
)
from inspect_clbench.analysis.paired import RESAMPLES, Difference
from inspect_clbench.benchmarks import EXAM, OVERALL
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.series import Series
from inspect_clbench.output.notes import few_contexts_notes, judge_failure, source_notes
from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, table
from inspect_clbench.text import counted, some

_NAMED = 5
_IN_PERCENT = (
    "Rates in percent, differences in percentage points, taken before rounding (27.1 and 25.1 may "
    "differ by 2.1); JSON and CSV have them as fractions."
)


def sentence(comparison: Comparison | Ranking | AgainstPublished) -> str:
    """Whether the data can tell the models apart, and what two could have shown."""
    if isinstance(comparison, AgainstPublished):
        return _against_sentence(comparison)
    if isinstance(comparison, Ranking):
        return _ranking_sentence(comparison)
    a, b = comparison.names
    can = "can" if comparison.overall.told_apart else "cannot"
    grounds = _grounds(comparison.overall, a, b, _is_exam(comparison))
    return f"These data {can} tell {a} and {b} apart: {grounds}."


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


def _is_exam(paired: Paired) -> bool:
    return _dataset(paired) == EXAM.title


def _grounds(overall: Difference, a: str, b: str, is_exam: bool) -> str:
    noun = "case" if is_exam else "task"
    where = f"over {counted(overall.tasks, noun)} in {counted(overall.contexts, 'context')}"
    found = _found(overall, a, b, is_exam)
    unknown = "what difference could have been shown cannot be told"
    if overall.stderr is None:
        return f"{found} {where}; one context gives no measure of error, and {unknown}"
    if overall.won == overall.lost == 0:
        return f"they did the same on every {noun}, {where}; {unknown}"
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


def _found(overall: Difference, a: str, b: str, is_exam: bool) -> str:
    size = points(abs(overall.difference))
    if size == "0.0":
        same = "give the same share of right verdicts"
        return f"both {same if is_exam else 'solve the same share of the tasks'}"
    better, other = (a, b) if overall.difference > 0 else (b, a)
    if is_exam:
        return f"{better} gives {size} points more right verdicts than {other}"
    return f"{better} solves {size} points more than {other}"


def ranking_tables(ranking: Ranking, list_tasks: bool = False) -> list[Table]:
    """The ranks of three models or more, the difference of each pair, and ranks by category.

    Args:
        ranking: What `compare` returned.
        list_tasks: Refused: tasks are won and lost between two models.
    """
    if list_tasks:
        raise ClbenchError(
            f"The tasks won and lost are those of two models, and here are "
            f"{len(ranking.series)}. Choose two with --model: {'; '.join(ranking.names)}."
        )
    overall, *categories = ranking.groups
    labelled = list(zip(ranking.sides, ranking.names, strict=True))
    models = (
        {"": side, "Model": name, "Solved": _points(rate), "Ranks": _ranks(ranks)}
        for (side, name), rate, ranks in zip(
            labelled, overall.rates, overall.ranks, strict=True
        )
    )
    pairs = (
        {
            "Pair": Cell(f"{a} − {b}", {"a": name_a, "b": name_b}),
            "Difference": _points(one.difference),
            **_interval(one.low, one.high),
            "p": _p(one.p),
            "Won": one.won,
            "Lost": one.lost,
        }
        for ((a, name_a), (b, name_b)), one in zip(
            combinations(labelled, 2), overall.pairs, strict=True
        )
    )
    tables = [
        table(f"{_dataset(ranking)}. {sentence(ranking)}", models, left=2, name="models"),
        table("The difference of each pair", pairs, counts=2, name="pairs"),
    ]
    if categories:
        rows = (_category_row(ranking, group) for group in categories)
        firsts = [group.pairs[0] for group in categories]
        details = tuple({"tasks": one.tasks, "contexts": one.contexts} for one in firsts)
        title = "Solved, and in brackets the ranks, by category"
        tables.append(table(title, rows, details=details, name="categories"))
    notes = table("", (), _ranking_notes(ranking)).notes
    tables[-1] = replace(tables[-1], notes=notes)
    return tables


def _ranking_sentence(ranking: Ranking) -> str:
    overall = ranking.groups[0]
    apart = sum(one.told_apart for one in overall.pairs)
    of = f"{apart} of {counted(len(overall.pairs), 'pair')}"
    ranks = list(zip(ranking.names, overall.ranks, strict=True))
    first = [name for name, (best, _) in ranks if best == 1]
    leads = (
        f"{first[0]} ranks first"
        if len(first) == 1
        else f"{len(first)} models may rank first ({', '.join(first)})"
    )
    one = overall.pairs[0]
    where = f"over {counted(one.tasks, 'task')} in {counted(one.contexts, 'context')}"
    return f"These data tell {of} of {len(ranks)} models apart, {where}; {leads}."


def _category_row(ranking: Ranking, group: RankedGroup) -> dict[str, Any]:
    figures = {
        side: Cell(
            f"{points(rate)} ({_ranks(ranks).text})",
            {"rate": rate, "ranks": ranks},
            narrow=f"{points(rate)}\n({_ranks(ranks).text})",
        )
        for side, rate, ranks in zip(ranking.sides, group.rates, group.ranks, strict=True)
    }
    return {"Tasks of": group.name, **figures}


def _ranking_notes(ranking: Ranking) -> Iterator[Note | str]:
    pairs = len(ranking.groups[0].pairs)
    yield from _about_sides(ranking)
    yield from few_contexts_notes(
        {group.name: group.pairs[0].contexts for group in ranking.groups}
    )
    yield (
        f"Intervals and p values hold together for all {pairs} pairs, with 95 % confidence "
        f"(largest t of all pairs in a cluster bootstrap, {RESAMPLES:,} draws, seed "
        f"{ranking.seed}), and so do the ranks: a model ranks behind those that are told to be "
        "better and ahead of those that are told to be worse. Each category is taken by itself."
    )
    yield f"Won and lost count tasks that one model solved more often. {_IN_PERCENT}"


def against_tables(against: AgainstPublished, list_tasks: bool = False) -> list[Table]:
    """One's own rates beside published ones.

    Args:
        against: What `compare` returned.
        list_tasks: Refused: no rates of single tasks are published.
    """
    if list_tasks:
        raise ClbenchError("No rates of single tasks are published: leave --tasks out.")
    rows = (
        {
            "Tasks of": one.group,
            "Own": _points(one.rate),
            "SE": _points(one.stderr),
            "Published †": _points(one.published_rate),
            "SE †": _points(one.published_stderr),
            "Difference": _points(one.difference),
            **_interval(one.low, one.high),
            "p": _p(one.p),
            "Tasks": one.tasks,
            "Contexts": one.contexts,
        }
        for one in against.groups
    )
    title = f"{against.series.dataset_name}. {sentence(against)}"
    return [table(title, rows, _against_notes(against), counts=2)]


def _against_sentence(against: AgainstPublished) -> str:
    own, name, overall = against.series.model, against.model, against.groups[0]
    if against.series.is_demo:
        return f"{own} did the demo's tasks: they say nothing beside the published {name}."
    can = "can" if overall.told_apart else "cannot"
    more = "more" if overall.difference >= 0 else "less"
    size = points(abs(overall.difference))
    grounds = f"it solves {size} points {more}"
    if overall.low is not None and overall.high is not None and overall.p is not None:
        interval = f"95 % interval {points(overall.low)} to {points(overall.high)}"
        grounds += f" ({interval}, p {_p_text(overall.p, '= ')}, unpaired)"
    return f"These data {can} tell {own} from the published {name}: {grounds}."


def _against_notes(against: AgainstPublished) -> Iterator[Note | str]:
    series = against.series
    yield f"Own: {describe(series)}."
    yield from source_notes([series], [against.source])
    yield from _shortcomings("Own", series)
    yield from few_contexts_notes({one.group: one.contexts for one in against.groups})
    yield (
        "SE: standard error for tasks like these, own ones clustered on contexts. That of a "
        "published rate is estimated: the error of so many independent tasks times the design "
        "effect of the own runs, no less than the published std over runs / √runs. Unpaired, "
        "because single tasks are not published; as both are of nearly the same tasks, the "
        f"intervals are rather too wide. Not corrected for the number of rows. {_IN_PERCENT}"
    )


def _rates_table(comparison: Comparison) -> Table:
    rows = [_difference_row(OVERALL, comparison.overall, None)]
    rows += [_difference_row(c.category, c.difference, c.p_holm) for c in comparison.categories]
    title = f"{_dataset(comparison)}. {sentence(comparison)}"
    return table(title, rows, _notes(comparison), counts=5, name="difference")


def _difference_row(name: str, one: Difference, p_holm: float | None) -> dict[str, Any]:
    return {
        "Tasks of": name,
        "A": _points(one.rate_a),
        "B": _points(one.rate_b),
        "A − B": _points(one.difference),
        **_interval(one.low, one.high),
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
        {"Method": name, **_interval(low, high), "p": _p(p)} for name, (low, high), p in methods
    )
    return table("The overall difference by method", rows, notes, name="methods")


def _outcomes_table(comparison: Comparison) -> Table:
    rows = []
    is_exam = _is_exam(comparison)
    yes, no = ("is right", "is wrong") if is_exam else ("solved it", "did not")
    for name, outcome in ((f"A {yes}", 1), (f"A {no}", 0)):
        b = [task.b for task in comparison.tasks if task.a == outcome]
        rows.append({"Outcome": name, f"B {yes}": b.count(1), f"B {no}": b.count(0)})
    return table(f"{'Cases' if is_exam else 'Tasks'} by outcome", rows, name="outcomes")


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
    title = "Tasks won and lost"
    if _is_exam(comparison):
        title = "Cases with another verdict: won where A is right, lost where B is"
    return table(title, rows, columns=columns, left=3, name="tasks")


def _notes(comparison: Comparison) -> Iterator[Note | str]:
    yield from _about_sides(comparison)
    groups = {OVERALL: comparison.overall}
    groups |= {one.category: one.difference for one in comparison.categories}
    yield from few_contexts_notes({name: one.contexts for name, one in groups.items()})
    yield (
        "Intervals are not corrected for the number of categories; p (Holm) is. Won and lost "
        f"count tasks that one side solved more often than the other. {_IN_PERCENT}"
    )


def _about_sides(paired: Paired) -> Iterator[Note | str]:
    sides = list(zip(paired.sides, paired.series, strict=True))
    yield from (f"{side}: {describe(series)}." for side, series in sides)
    yield _pairing_note(paired)
    left_out = [
        (f"{side} has no score for", ids)
        for side, ids in zip(paired.sides, paired.missing, strict=True)
    ]
    for reason, ids in (*left_out, ("No run is scored on all sides for", paired.no_common_run)):
        if ids:
            names = some(ids, _NAMED)
            yield f"{reason} {counted(len(ids), 'task')}, left out: {names}."
    series = paired.series
    told: dict[str, set[Any]] = {
        "judges": {(one.judge, one.again) for one in series},
        "judge prompts": {(one.judge_prompt, one.judge_prompt_sha256) for one in series},
        "versions of the task": {one.version for one in series},
    }
    if _is_exam(paired):  # judges in the exam are compared with their prompts
        del told["judge prompts"]
    differing = [what for what, values in told.items() if len(values) > 1]
    if differing:
        what = " and the ".join(differing)
        text = f"The {what} differ: the difference may be theirs and not the models'."
        yield Note("warning", text)
    if any(one.draw for one in series):
        text = "Contexts were drawn: rates and differences weigh each task by its category, as "
        yield Note("estimate", text + "in the report; the intervals are for tasks like these.")
    if len({(one.draw.seed, *one.draw.drawn.values()) for one in series if one.draw}) > 1:
        yield Note("warning", "The draws differ: only the tasks that are in all are compared.")
    for side, one in sides:
        yield from _shortcomings(side, one)


def _shortcomings(side: str, series: Series) -> Iterator[Note]:
    if series.judge_failures:
        failed = counted(series.judge_failures, "row")
        text = f"{side}: {failed} without a verdict because the judge failed."
        yield judge_failure(text, series)
    for gap in series.gaps:
        yield Note("incomplete", f"{side}: incomplete, {gap}.")


def _pairing_note(paired: Paired) -> str:
    runs = [one.runs for one in paired.series]
    if paired.by_run and runs[0] == 1:
        how = "its one run"
    elif paired.by_run:
        how = f"run n of one side with run n of the other, {runs[0]} runs"
    else:
        each = zip(paired.sides, runs, strict=True)
        how = f"its mean over the runs ({', '.join(f'{side}: {n}' for side, n in each)})"
    return f"Paired: each task by {how}; the unit of error is the context."


def describe(series: Series) -> str:
    """A series in words: model, effort, judge, prompt and runs."""
    effort = f", effort {series.effort}" if series.effort else ""
    if series.benchmark is EXAM:
        asked = f"{series.model}{effort}; judge prompt: {series.judge_prompt}"
        return f"{asked}; {counted(series.runs, 'run')}, {series.days}"
    again = f" (again {series.again})" if series.again else ""
    prompt = f" (prompt: {series.judge_prompt})" if series.judge_prompt else ""
    judge = f"{series.judge or 'none'}{again}{prompt}"
    return f"{series.model}{effort}; judge: {judge}; {counted(series.runs, 'run')}"


def _dataset(paired: Paired) -> str:
    return paired.series[0].dataset_name


def points(share: float) -> str:
    """A rate or a difference of rates in percentage points."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def _points(share: float | None) -> Cell:
    return NOTHING if share is None else Cell(points(share), share)


def _interval(low: float | None, high: float | None) -> dict[str, Cell]:
    return {"95 % from": _points(low), "to": _points(high)}


def _ranks(ranks: tuple[int, int]) -> Cell:
    best, worst = ranks
    return Cell(str(best) if best == worst else f"{best}–{worst}", ranks)


def _p_text(p: float, equals: str = "") -> str:
    return "< 0.001" if p < 0.001 else f"{equals}{p:.3f}"


def _p(p: float | None) -> Cell:
    return NOTHING if p is None else Cell(_p_text(p), p)
