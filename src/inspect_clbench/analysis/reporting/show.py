"""One task's verdicts over the runs, read without the rest of the log."""

import difflib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.reading.logs import Paths, read_summaries
from inspect_clbench.analysis.reading.records import (
    SCORER,
    Log,
    Record,
    find_logs,
    names_in,
    read_record,
    read_task,
)
from inspect_clbench.analysis.text import counted, one_line, shortened, visible
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import numbered_rubrics

_CLOSE_IDS = 3
_RATIONALE_CHARS = 400
_ANSWER_LINES = 6
_LINE_CHARS = 200


@dataclass(frozen=True)
class ShownVerdict:
    """One run's answer to a task and what one judge, or panel, made of it."""

    log: Log
    record: Record
    rubrics: tuple[tuple[int, str], ...]
    """The task's rubrics with their numbers."""

    rationales: tuple[tuple[str, str], ...]
    """Judges with what they wrote; one, or the judges of a panel."""

    answer: str
    error: str
    """What kept the answer or the verdict from coming about; empty if nothing did."""

    @property
    def missed(self) -> list[tuple[int, str]]:
        """The rubrics that were not met, if the judge said which."""
        if len(self.record.status) != len(self.rubrics):
            return []
        pairs = zip(self.rubrics, self.record.status, strict=True)
        return [rubric for rubric, letter in pairs if letter != "y"]


def show_task(paths: Paths, task_id: str) -> list[ShownVerdict]:
    """A task's verdicts, by log, run and judge.

    Args:
        paths: Log files, folders or URLs.
        task_id: The task, or the beginning of its id if no other begins so.
    """
    logs = find_logs(paths)
    logs.sort(key=lambda log: (log.header.eval.created, log.modified))
    ids = {log.location: _ids(log) for log in logs}
    task = _known_id(task_id, sorted(set().union(*ids.values())))
    found = [
        verdict
        for log in logs
        if task in ids[log.location]
        for sample in read_task(log, task)
        for verdict in _verdicts(log, sample)
    ]
    if not found:
        raise ClbenchError(f"{task}: none of the logs' runs got to this task.")
    return found


def _ids(log: Log) -> set[str]:
    return set(log.task_ids) or {str(summary.id) for summary in read_summaries(log)}


def _known_id(wanted: str, known: Sequence[str]) -> str:
    if wanted in known:
        return wanted
    starting = [id for id in known if id.startswith(wanted)]
    if len(starting) == 1:
        return starting[0]
    close = starting or difflib.get_close_matches(wanted, known, n=_CLOSE_IDS, cutoff=0.4)
    if not close:
        raise ClbenchError(f"{wanted}: no such task among the {len(known):,} of the log.")
    lead = f"{len(starting)} tasks begin so" if starting else "no such task"
    hint = "for instance" if starting else "close to it are"
    raise ClbenchError(f"{wanted}: {lead}; {hint}: {', '.join(close[:_CLOSE_IDS])}.")


def _verdicts(log: Log, sample: EvalSample) -> Iterator[ShownVerdict]:
    scores = sample.scores or {}
    names = [name for name in names_in(log, [sample]) if name in scores]
    for name in names or [SCORER]:
        score = scores.get(name)
        metadata = (score.metadata if score else None) or {}
        record = read_record(sample, name, score)
        yield ShownVerdict(
            log=log,
            record=record,
            rubrics=tuple(numbered_rubrics(sample.metadata.get("rubrics", []))),
            rationales=tuple(_rationales(record, metadata)),
            answer=sample.output.completion,
            error=sample.error.message
            if sample.error
            else str(metadata.get("judge_error", "")),
        )


def _rationales(record: Record, metadata: dict[str, Any]) -> Iterator[tuple[str, str]]:
    texts, votes = metadata.get("rationales"), metadata.get("votes")
    if not isinstance(texts, list):
        return
    if isinstance(votes, list) and len(texts) == len(votes):
        for vote, text in zip(votes, texts, strict=True):
            word = {True: "solved", False: "not solved"}.get(vote.get("solved"), "no verdict")
            yield f"{vote.get('judge')}: {word}", str(text)
    elif text := "\n\n".join(map(str, texts)):
        yield record.judge, text


def task_text(verdicts: Sequence[ShownVerdict], full: bool = False) -> str:
    """A task's verdicts for a person to read.

    Args:
        verdicts: The verdicts of one task.
        full: Whether to print rationales and answers to their end.
    """
    first = verdicts[0]
    task = first.record
    lines = [
        f"Task {one_line(task.task_id)}",
        f"{task.category} · {task.sub_category}; context {one_line(task.context_id)}; "
        f"{counted(len(first.rubrics), 'rubric')}; {counted(task.turns, 'turn')}",
    ]
    log = ""
    for verdict in verdicts:
        if verdict.log.location != log:
            lines += ["", one_line(f"{verdict.log.model} in {verdict.log}")]
            log = verdict.log.location
        lines += ["", *_verdict_lines(verdict, full)]
    return "\n".join(lines) + "\n"


def _verdict_lines(verdict: ShownVerdict, full: bool) -> Iterator[str]:
    record = verdict.record
    judge = f", judged by {record.judge} ({record.judge_prompt})" if record.judge else ""
    yield one_line(f"Run {record.run}{judge}: {_outcome(record)}")
    if verdict.error:
        yield f"  Error: {shortened(verdict.error, _RATIONALE_CHARS)}"
    if verdict.missed:
        yield "  Not met:"
        yield from (f"  {number:>4}. {one_line(text)}" for number, text in verdict.missed)
    for judge, text in verdict.rationales:
        name = f" of {one_line(judge)}" if len(verdict.rationales) > 1 else ""
        if full:
            yield f"  Rationale{name}:"
            yield from _indented(text)
        else:
            yield f"  Rationale{name}: {shortened(text, _RATIONALE_CHARS)}"
    if verdict.answer.strip():
        yield "  Answer:"
        yield from _indented(verdict.answer if full else _first_lines(verdict.answer))


def _outcome(record: Record) -> str:
    word = {
        "solved": "solved",
        "failed": "not solved",
        "unscored": "no verdict, left out of the rates",
        "errored": "no answer, the sample ended in an error",
    }[record.outcome]
    if record.reason == "grader_failed":
        return f"{word} (the judge gave no verdict)"
    if record.reason == "no_response":
        return f"{word} (the model gave no answer)"
    if record.outcome == "errored":
        return word
    met = "an unknown number" if record.rubrics_met is None else str(record.rubrics_met)
    contrary = "; the status list disagrees" if record.inconsistent else ""
    return f"{word}, {met} of {record.rubrics_total} rubrics met{contrary}"


def _first_lines(answer: str) -> str:
    lines = [line for line in visible(answer).split("\n") if line.strip()]
    shown = [shortened(line, _LINE_CHARS) for line in lines[:_ANSWER_LINES]]
    left = len(lines) - len(shown)
    return "\n".join([*shown, *([f"… ({counted(left, 'more line')})"] if left else [])])


def _indented(text: str) -> Iterator[str]:
    return (f"    {line}".rstrip() for line in visible(text).strip().split("\n"))
