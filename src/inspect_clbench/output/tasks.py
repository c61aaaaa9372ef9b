"""Single tasks for a person to read: a task's verdicts as text, lists as tables."""

from collections.abc import Iterator
from typing import Any

from inspect_clbench.analysis.tasks import Count, TaskList, TaskLists, TaskVerdict, TaskView
from inspect_clbench.benchmarks import EXAM
from inspect_clbench.logs.answers import Answer
from inspect_clbench.output.notes import series_notes
from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, table
from inspect_clbench.text import counted, one_line, shortened, visible

_RATIONALE_CHARS = 400
_ANSWER_LINES = 6
_LINE_CHARS = 200
_RUBRIC_CHARS = 100


def list_tables(found: TaskLists) -> list[Table]:
    return [_list_table(one) for one in found.lists]


def _list_table(found: TaskList) -> Table:
    of_rubrics = found.kind != "tasks"
    many = len(found.names) > 1
    rows = []
    for item in found.items:
        row: dict[str, Any] = {"Task": item.task_id}
        if found.kind == "near_misses":
            row["Sub-category"] = item.sub_category
        else:
            row["Category"] = item.category
        if of_rubrics:
            text = f"{item.number}. {shortened(item.text, _RUBRIC_CHARS)}"
            row["Rubric"] = Cell(text, {"number": item.number, "text": item.text})
        if found.kind == "near_misses":
            row |= {"Only miss": item.only_miss, "Missed": item.missed}
            row["Runs"] = item.known[0].runs
        else:
            counts = zip(found.names, item.counts, strict=True)
            row |= {name: _count(count, of_rubrics) for name, count in counts}
        if of_rubrics and many:
            row["Apart"] = Cell(f"{100 * item.spread:.0f}", item.spread)
        rows.append(row)
    left = 3 if of_rubrics else 2
    models = () if found.kind == "near_misses" else found.names
    columns = tuple(rows[0]) if rows else (*_COLUMNS[found.kind], *models)
    source = found.names[0] if found.kind == "near_misses" else found.series[0].dataset_name
    title = f"{source}: {_TITLES[found.kind]}"
    return table(title, rows, _list_notes(found), columns=columns, left=left)


_COLUMNS = {
    "tasks": ("Task", "Category"),
    "rubrics": ("Task", "Category", "Rubric"),
    "apart": ("Task", "Category", "Rubric"),
    "near_misses": ("Task", "Sub-category", "Rubric", "Only miss", "Missed", "Runs"),
}
_TITLES = {
    "tasks": "tasks, hardest first",
    "rubrics": "rubrics, hardest first",
    "apart": "rubrics that tell models apart",
    "near_misses": "tasks that failed by one rubric",
}


def _count(count: Count | None, of_rubrics: bool) -> Cell:
    if count is None:
        return NOTHING
    text = f"{count.met} of {count.runs}"
    if of_rubrics:
        return Cell(text, {"met": count.met, "runs": count.runs, "share": count.share})
    share = "" if count.rubrics is None else f", {100 * count.rubrics:.0f} %"
    value = {"solved": count.met, "runs": count.runs, "rubrics_met": count.rubrics}
    return Cell(text + share, value)


def _list_notes(found: TaskList) -> Iterator[Note | str]:
    if found.kind == "near_misses":
        failed = sum(answer.outcome == "failed" for answer in found.series[0].scored)
        yield f"Of {counted(failed, 'failed answer')}, {found.near:,} failed by one rubric."
    elif found.kind == "tasks" and found.series[0].benchmark is EXAM:
        yield "Right verdicts in so many runs, and the share of rubrics that the judge found met."
    elif found.kind == "tasks":
        yield "Solved in so many runs, and the share of the task's rubrics that was met in them."
    else:
        yield "Met in so many of the runs with a usable list of statuses."
        if len(found.names) > 1:
            yield "Apart: the highest share of a row minus its lowest, in points."
    listed = len(found.items)
    if listed < found.found:
        yield f"The first {listed} of {found.found:,} are listed; --limit 0 lists all."
    yield from series_notes(found.series)


def task_text(view: TaskView, full: bool = False) -> str:
    """A task's verdicts for a person to read.

    Args:
        view: What `show_task` returned.
        full: Whether to print rationales and answers to their end.
    """
    first = view.verdicts[0]
    task = first.answer
    lines = [
        f"Task {one_line(task.task_id)}",
        f"{task.category} · {task.sub_category}; context {one_line(task.context_id)}; "
        f"{counted(len(first.rubrics), 'rubric')}; {counted(task.turns, 'turn')}",
    ]
    location = ""
    for verdict in view.verdicts:
        log = verdict.answer.log
        if log.location != location:
            lines += ["", one_line(f"{log.model} in {log}")]
            location = log.location
        lines += ["", *_verdict_lines(verdict, full)]
    return "\n".join(lines) + "\n"


def _verdict_lines(verdict: TaskVerdict, full: bool) -> Iterator[str]:
    answer = verdict.answer
    judge = f", judged by {answer.judge} ({answer.judge_prompt})" if answer.judge else ""
    yield one_line(f"Run {answer.epoch}{judge}: {_outcome(answer)}")
    if verdict.error:
        yield f"  Error: {shortened(verdict.error, _RATIONALE_CHARS)}"
    if verdict.missed:
        yield "  Not met, as the judge says:" if answer.log.benchmark is EXAM else "  Not met:"
        yield from (f"  {number:>4}. {one_line(text)}" for number, text in verdict.missed)
    for name, solved, text in verdict.rationales:
        of = ""
        if len(verdict.rationales) > 1:
            word = "no verdict" if solved is None else "solved" if solved else "not solved"
            of = f" of {one_line(name)}: {word}"
        if full:
            yield f"  Rationale{of}:"
            yield from _indented(text)
        else:
            yield f"  Rationale{of}: {shortened(text, _RATIONALE_CHARS)}"
    if verdict.text.strip():
        yield "  Answer:"
        yield from _indented(verdict.text if full else _first_lines(verdict.text))


def _outcome(answer: Answer) -> str:
    if answer.log.benchmark is EXAM and answer.scored:
        return _exam_outcome(answer)
    word = {
        "solved": "solved",
        "failed": "not solved",
        "unscored": "no verdict, left out of the rates",
        "errored": "no answer, the sample ended in an error",
    }[answer.outcome]
    if answer.reason == "grader_failed":
        return f"{word} (the judge gave no verdict)"
    if answer.reason == "no_response":
        return f"{word} (the model gave no answer)"
    if answer.outcome == "errored":
        return word
    met = "an unknown number" if answer.rubrics_met is None else str(answer.rubrics_met)
    contrary = "; the status list disagrees" if answer.inconsistent else ""
    return f"{word}, {met} of {answer.rubrics_total} rubrics met{contrary}"


def _exam_outcome(answer: Answer) -> str:
    numbers = ", ".join(map(str, answer.missed))
    lead = f"{'right' if answer.solved else 'wrong'} verdict"
    if answer.reason:
        lead = "no usable verdict"
    elif answer.rubrics_met is not None:
        lead += f", {answer.rubrics_met} of {answer.rubrics_total} rubrics said to be met"
    truth = f"truly missed: {numbers}" if numbers else "truly all met"
    return f"{lead}; {truth}"


def _first_lines(text: str) -> str:
    lines = [line for line in visible(text).split("\n") if line.strip()]
    shown = [shortened(line, _LINE_CHARS) for line in lines[:_ANSWER_LINES]]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… ({counted(left, 'more line')})"] if left else [])])


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in visible(text).strip().split("\n"))
