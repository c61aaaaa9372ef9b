"""The tables of an audit: what flips, what the solving rate would be, what to read."""

from collections.abc import Iterator

from inspect_clbench.analysis.audit import Audit, Change
from inspect_clbench.analysis.statistics import FEW_CONTEXTS, Figure
from inspect_clbench.logs.answers import AUDITED
from inspect_clbench.output.tables import Cell, Note, Table, figure_share, figure_signed, table
from inspect_clbench.text import counted

_WAYS = {
    "again": "the same again",
    "order": "rubrics in another order",
    "single": "each rubric alone",
    "prompt": "the other prompt",
}


def audit_tables(audit: Audit) -> list[Table]:
    """What flips, and the solving rate; then the answers that changed most."""
    rates = [
        {
            "Asked": _asked(one),
            "Flipped": figure_share(one.flips),
            "Rubrics flipped": figure_share(one.rubric_flips),
            "Solving rate": figure_share(one.rate),
            "Difference": figure_signed(one.moved),
        }
        for one in audit.changes
    ]
    counts = [
        {
            "Asked": _asked(one),
            "Solved to not": _of(one.flipped[True], one.compared[True]),
            "Not to solved": _of(one.flipped[False], one.compared[False]),
            "Met to missed": _of(one.rubrics_flipped[True], one.rubrics[True]),
            "Missed to met": _of(one.rubrics_flipped[False], one.rubrics[False]),
            "No verdict": one.failed,
        }
        for one in audit.changes
    ]
    unsteady = [
        {
            "Task": one.answer.task_id,
            "Run": str(one.answer.epoch),
            "Verdict": "solved" if one.answer.solved else "not solved",
            "Flipped when": ", ".join(n.removeprefix(AUDITED) for n in one.flipped_in) or "–",
            "Flips": _of(len(one.flipped_in), one.asked),
            "Rubrics": one.rubrics,
        }
        for one in audit.unsteady
    ]
    lead = f"{audit.log.dataset_name}, {audit.log.model}: the judge asked again"
    columns = ("Task", "Run", "Verdict", "Flipped when", "Flips", "Rubrics")
    return [
        table(f"{lead}, in %", rates, _notes(audit), data_title=lead, name="audit"),
        table(
            "Verdicts and single rubrics that flipped, of the drawn answers",
            counts,
            _prompts(audit),
            name="flips",
        ),
        table(
            "Answers that changed most, to be read by a person",
            unsteady,
            [] if unsteady else ["No verdict and no rubric changed."],
            columns=columns,
            left=4,
            name="answers",
        ),
    ]


def _asked(change: Change) -> Cell:
    way = change.score.removeprefix(AUDITED)
    return Cell(_WAYS.get(way, change.judge), change.score)


def _of(part: int, whole: int) -> Cell:
    return Cell(f"{part:,} of {whole:,}", {"flipped": part, "of": whole})


def _notes(audit: Audit) -> Iterator[Note | str]:
    low, high = audit.rate.interval or (None, None)
    own = figure_share(Figure(audit.rate.mean, low, high)).text.replace("\n", " ")
    drawn = [max(one.compared[solved] for one in audit.changes) for solved in (True, False)]
    yield f"Judge: {audit.judge}. Solving rate by its verdicts in the log: {own}."
    yield (
        f"Drawn: {drawn[0]:,} of {counted(audit.answers[True], 'solved answer')} and "
        f"{drawn[1]:,} of {audit.answers[False]:,} not solved. All figures are weighted back to "
        "the whole log; in brackets 95 % intervals, clustered on contexts."
    )
    for one in audit.changes:
        low, high = one.moved.low, one.moved.high
        if low is not None and high is not None and (low > 0 or high < 0):
            way = "raises" if low > 0 else "lowers"
            yield Note("warning", f"{_asked(one).text}: {way} the solving rate.")
    failed = sum(one.failed for one in audit.changes)
    if failed:
        yield f"{counted(failed, 'verdict')} the judge failed to give; none counts as a flip."
    if min(drawn) < FEW_CONTEXTS:
        yield Note("warning", "With so few answers the intervals are rough.")


def _prompts(audit: Audit) -> Iterator[str]:
    for one in audit.changes:
        yield f"{one.score}: judge {one.judge}, prompt {one.judge_prompt}."
    yield "The viewer shows these scores beside the first one, with what the judge wrote."
