"""Single tasks for a person to read: a task's verdicts as text, near misses as tables."""

from collections.abc import Iterator

from inspect_clbench.analysis.tasks import NearMisses, SeriesNearMisses, TaskVerdict, TaskView
from inspect_clbench.logs.answers import Answer
from inspect_clbench.output.notes import series_notes
from inspect_clbench.output.tables import Cell, Table, table
from inspect_clbench.text import counted, one_line, shortened, visible

_RATIONALE_CHARS = 400
_ANSWER_LINES = 6
_LINE_CHARS = 200


def near_miss_tables(found: NearMisses) -> list[Table]:
    return [_near_miss_table(one) for one in found.series]


def _near_miss_table(found: SeriesNearMisses) -> Table:
    failed, listed = counted(found.failed, "failed answer"), len(found.listed)
    notes = [f"Of {failed}, {found.near:,} failed by one rubric."]
    if listed < found.found:
        notes.append(f"The first {listed} of {found.found:,} are listed; --limit 0 lists all.")
    rows = (
        {
            "Task": miss.task_id,
            "Sub-category": miss.sub_category,
            "Rubric": Cell(
                f"{miss.number}. {miss.text}", {"number": miss.number, "text": miss.text}
            ),
            "Only miss": miss.only_miss,
            "Missed": miss.missed,
            "Runs": miss.runs,
        }
        for miss in found.listed
    )
    columns = ("Task", "Sub-category", "Rubric", "Only miss", "Missed", "Runs")
    title = f"{found.name}: tasks that failed by one rubric"
    notes_of_series = series_notes([found.series])
    return table(title, rows, [*notes, *notes_of_series], columns=columns, left=3)


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
        yield "  Not met:"
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


def _first_lines(text: str) -> str:
    lines = [line for line in visible(text).split("\n") if line.strip()]
    shown = [shortened(line, _LINE_CHARS) for line in lines[:_ANSWER_LINES]]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… ({counted(left, 'more line')})"] if left else [])])


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in visible(text).strip().split("\n"))
