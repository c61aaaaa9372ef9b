"""A person's sheet as scores in a log: a person is another judge."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inspect_ai.log import EvalLog, EvalSample, ProvenanceData, edit_score
from inspect_ai.scorer import Score, ScoreEdit

from inspect_clbench.benchmarks import ERROR_TYPES, NO_TYPE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.checks import SOLVED, read_verdicts, run_of, statuses_of
from inspect_clbench.exchange.sheets import SheetRow, read_sheet
from inspect_clbench.judge.asking import Judgement
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.logs.answers import BY_HAND, ERROR_TYPES_BY, VERDICT_BY
from inspect_clbench.logs.rewriting import rewrite_log
from inspect_clbench.scoring.scores import Case, answer_reference, judged_score


@dataclass(frozen=True)
class Added:
    """A person's scores that were put into a log."""

    location: str
    added: int
    elsewhere: int
    """Checked rows that are not of this log."""


def add_verdicts(log: str, path: str, person: str) -> Added:
    """Put a person's verdicts into a log, as those of another judge.

    Args:
        log: The log file, which is replaced.
        path: A sheet of `verdict_sheet`, filled in.
        person: The person's name.
    """
    rows, _ = read_verdicts(path)
    return _add(log, rows, VERDICT_BY, person, _verdict_score)


def add_errors(log: str, path: str, person: str) -> Added:
    """Put a person's error types into a log, as those of another judge.

    Args:
        log: The log file, which is replaced.
        path: A sheet of `error_sheet`, filled in.
        person: The person's name.
    """
    rows, _ = read_sheet(path, list(ERROR_TYPES))
    return _add(log, rows, ERROR_TYPES_BY, person, _error_score)


def _add(
    log_file: str,
    rows: Sequence[SheetRow],
    prefix: str,
    person: str,
    score: Callable[[SheetRow, EvalSample, str], Score],
) -> Added:
    if not re.fullmatch(r"\w[\w .@-]{0,39}", person):
        raise ClbenchError(
            f"`{person}`: name a person with at most 40 letters, digits, spaces or . @ _ -"
        )
    by_sample = {
        row.cells.get("sample") or _place(row.cells.get("task"), run_of(row)): row
        for row in rows
    }
    added = 0

    def change(log: EvalLog) -> bool:
        nonlocal added
        changed = False
        for sample in log.samples or []:
            row = by_sample.get(sample.uuid or "") or by_sample.get(
                _place(sample.id, sample.epoch)
            )
            if row is None:
                continue
            new = score(row, sample, person)
            old = (sample.scores or {}).get(prefix + person)
            added += 1
            if old is None or (old.value, old.metadata) != (new.value, new.metadata):
                edit = ScoreEdit(
                    value=new.value,
                    answer=new.answer,
                    explanation=new.explanation,
                    metadata=new.metadata or {},
                    provenance=ProvenanceData(author=person, reason="checked by hand"),
                )
                # No metrics are made of it: a person's rate over drawn answers would look
                # like one of the model.
                edit_score(log, sample.id, prefix + person, edit, False, sample.epoch)
                changed = True
        if not added:
            raise ClbenchError(f"{log_file}: none of the sheet's answers is in this log.")
        return changed

    location = rewrite_log(log_file, change)
    return Added(location, added, len(by_sample) - added)


def _place(task: object, run: int) -> str:
    return f"{task}, run {run}"


def _verdict_score(row: SheetRow, sample: EvalSample, person: str) -> Score:
    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
    _, status = statuses_of(row)
    if len(status) != len(rubrics):
        raise ClbenchError(
            f"{row.where}: {len(status)} rubrics under `status`, but {len(rubrics)} in the log. "
            "Is the sheet of another log?"
        )
    words = tuple({"y": "yes", "n": "no"}.get(letter, "") for letter in status)
    verdict = Verdict(row.person[SOLVED], "", words if set(status) != {"?"} else (), "strict")
    case = Case(
        epoch=sample.epoch,
        rubrics=rubrics,
        judge_prompt=BY_HAND,
        judge_prompt_sha256="",
        answer=answer_reference(sample.messages, sample.output),
        stop_reason=sample.output.stop_reason,
    )
    return judged_score(case, [Judgement(person, verdict, 1)])


def _error_score(row: SheetRow, sample: EvalSample, person: str) -> Score:
    types = [key for key in ERROR_TYPES if row.person[key]]
    return Score(
        value="+".join(types) or NO_TYPE,
        explanation=", ".join(ERROR_TYPES[key] for key in types) or "No error type.",
        metadata={"epoch": sample.epoch, "judge": person, "judge_prompt": BY_HAND},
    )
