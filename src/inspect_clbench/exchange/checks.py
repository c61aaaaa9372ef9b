"""Sheets to check a judge by hand, and the agreement of people with it."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.agreement import Agreement, Filled, agreement_of
from inspect_clbench.analysis.correction import Check
from inspect_clbench.analysis.errors import load_labelled
from inspect_clbench.analysis.sampled import draw_answers
from inspect_clbench.analysis.verdicts import AnswerKey, Judged, JudgeKey, JudgeVerdicts, Vote
from inspect_clbench.benchmarks import ERROR_TYPES, VERDICT_SCORERS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.sheets import (
    CONFIRM,
    YOURS,
    SheetRow,
    check_new,
    read_sheet,
    write_sheet,
)
from inspect_clbench.judge.error_types import before_answer, conversation_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.logs.answers import BY_HAND, Answer
from inspect_clbench.logs.files import Paths
from inspect_clbench.logs.samples import read_sample
from inspect_clbench.logs.series import load_series
from inspect_clbench.progress import progress
from inspect_clbench.scoring.scores import rationale_of

K = TypeVar("K")

SOLVED = "solved"
_STATUS = "status"
_WRONG_RUBRICS = "wrong rubrics"
_WHERE = ("model", "task", "run", "sub-category", "judge")
_TEXTS = ("rationale", "answer", "conversation", "log", "sample", "context")
_SCORE, _OF, _DRAWN = "score", "answers like it", "drawn of them"
_TYPES = (name for key in ERROR_TYPES for name in (key, key + YOURS))
_ERROR_COLUMNS = (*_WHERE, CONFIRM, *_TYPES, "reasons", "missed rubrics", *_TEXTS)
_VERDICT_COLUMNS = (
    *_WHERE, CONFIRM, SOLVED, SOLVED + YOURS, _WRONG_RUBRICS, _STATUS, "rubrics", *_TEXTS,
    _SCORE, _OF, _DRAWN,
)  # fmt: skip
_YES_NO = {True: "yes", False: "no"}
_LETTER = re.compile(r"\d+[yn?]")  # as the sheet writes a status: 1y 2n 3?


@dataclass(frozen=True)
class Sheet:
    """A sheet that was written."""

    path: str
    rows: int
    of: int
    """How many there were to draw from."""


def error_sheet(paths: Paths, count: int, path: str, *, seed: int = 0) -> Sheet:
    """Draw labelled failures for a person to confirm or change.

    Args:
        paths: Log files, folders or URLs.
        count: How many to draw, from all logs together.
        path: The CSV file to write; it must not exist.
        seed: Another seed makes another draw.
    """
    _check_sheet(path, count)
    series, _ = load_labelled(paths)
    labelled = [a for one in series for a in one.answers if a.label.state == "labelled"]
    return _write(path, _ERROR_COLUMNS, {"": labelled}, count, seed, _error_cells)


def verdict_sheet(paths: Paths, count: int, path: str, *, seed: int = 0) -> Sheet:
    """Draw verdicts of the rubric judge for a person to confirm or change.

    As many are drawn from the answers that the judge calls solved as from the others, of each
    model and judge. The sheet says how many there were of each and how many were drawn.

    Args:
        paths: Log files, folders or URLs.
        count: How many to draw, from all logs together.
        path: The CSV file to write; it must not exist.
        seed: Another seed makes another draw.
    """
    _check_sheet(path, count)
    # An empty answer and a failed judge have no verdict that could be checked.
    strata = {
        (number, solved): [a for a in one.scored if not a.reason and a.solved is solved]
        for number, one in enumerate(load_series(paths))
        for solved in (True, False)
    }
    return _write(path, _VERDICT_COLUMNS, strata, count, seed, _verdict_cells)


def checked_errors(path: str, person: str = "person") -> Agreement:
    """How far a person agrees with the judge about each error type.

    Args:
        path: A sheet of `error_sheet`, filled in.
        person: What to call the person.
    """
    rows, others = read_sheet(path, list(ERROR_TYPES))
    votes = [(Vote(True, _letters(r.judge)), Vote(True, _letters(r.person))) for r in rows]
    contexts, labellers = _side_by_side(rows, votes, person)
    judged = Judged((), {}, contexts, (), labellers)
    return agreement_of(judged, path, Filled(len(rows) + len(others), len(rows)))


def checked_verdicts(path: str, person: str = "person") -> Agreement:
    """How far a person agrees with the rubric judge on verdicts and on single rubrics.

    Args:
        path: A sheet of `verdict_sheet`, filled in.
        person: What to call the person.
    """
    rows, others = read_verdicts(path)
    votes = []
    for row in rows:
        judge, own = statuses_of(row)
        votes.append((Vote(row.judge[SOLVED], judge), Vote(row.person[SOLVED], own)))
    contexts, judges = _side_by_side(rows, votes, person)
    contrary = sum(judge != own and _contradicts(own) for judge, own in votes)
    judged = Judged((), {}, contexts, judges)
    return agreement_of(judged, path, Filled(len(rows) + len(others), len(rows), contrary))


def read_checks(*paths: str) -> list[Check]:
    """The verdicts of sheets, with what a person says of them.

    Args:
        paths: Sheets of `verdict_sheet`, filled in.
    """
    found = []
    for path in paths:
        checked, others = read_verdicts(path)
        for row in checked:
            statuses_of(row)  # refuses what it cannot read
            found.append(_check(row, row.judge[SOLVED], row.person[SOLVED]))
        found += [_check(row, None, None) for row in others]
    return found


def _check(row: SheetRow, judged: bool | None, said: bool | None) -> Check:
    cells = row.cells
    uuid, of = cells.get("sample", ""), cells.get(_OF)
    if of is not None and not of.replace(",", "").isdecimal():
        raise ClbenchError(
            f"{row.where}: `{of}` under `{_OF}`. It was a number, the same in all rows of its "
            "kind; put it back."
        )
    return Check(
        where=row.where,
        key=(uuid,)
        if uuid
        else (cells.get("log", ""), cells.get("task", ""), str(run_of(row))),
        judge=cells.get("judge", ""),
        scorer=cells.get(_SCORE, ""),
        judged=judged,
        said=said,
        of=None if of is None else int(of.replace(",", "")),
    )


def read_verdicts(path: str) -> tuple[list[SheetRow], list[SheetRow]]:
    """The rows of a sheet of verdicts that a person has checked, and the others."""
    return read_sheet(path, [SOLVED], [_WRONG_RUBRICS])


def _side_by_side(
    rows: Sequence[SheetRow], votes: Sequence[tuple[Vote, Vote]], person: str
) -> tuple[dict[AnswerKey, str], tuple[JudgeVerdicts, ...]]:
    """The context of each answer, and what the judges and the person say of it."""
    contexts: dict[AnswerKey, str] = {}
    judges: defaultdict[tuple[JudgeKey, int], dict[AnswerKey, Vote]] = defaultdict(dict)
    own: dict[AnswerKey, Vote] = {}
    logs: dict[str, int] = {}
    seen: Counter[tuple[str, AnswerKey]] = Counter()
    for row, (of_judge, of_person) in zip(rows, votes, strict=True):
        log = logs.setdefault(row.cells.get("log", ""), len(logs))
        key = AnswerKey(log, row.cells.get("task") or row.where, run_of(row))
        if own.setdefault(key, of_person) != of_person:
            raise ClbenchError(
                f"{row.where}: another row is of the same answer (task {key.task_id}, run "
                f"{key.epoch}) by another judge, and what you wrote there differs. Make them alike."
            )
        contexts[key] = row.cells.get("context") or key.task_id
        judge = row.cells.get("judge") or "judge"
        judges[JudgeKey(judge, "", ""), seen[judge, key]][key] = of_judge
        seen[judge, key] += 1
    found = [JudgeVerdicts(key, again, said) for (key, again), said in judges.items()]
    return contexts, (*found, JudgeVerdicts(JudgeKey(person, BY_HAND, ""), 0, own))


def run_of(row: SheetRow) -> int:
    run = row.cells.get("run") or "1"
    if not run.isdecimal():
        raise ClbenchError(f"{row.where}: `{run}` under `run`. It was a number; put it back.")
    return int(run)


def _letters(types: Mapping[str, bool]) -> str:
    return "".join("y" if types[key] else "n" for key in ERROR_TYPES)


def statuses_of(row: SheetRow) -> tuple[str, str]:
    """A letter per rubric, as the judge has it and as the person has it."""
    listed = row.cells.get(_STATUS, "").split()
    if not all(_LETTER.fullmatch(one) for one in listed):
        raise ClbenchError(
            f"{row.where}: `{row.cells[_STATUS]}` under `{_STATUS}`. It was a list such as "
            "1y 2n; put it back."
        )
    said = {int(one[:-1]): one[-1] for one in listed}
    wrong = row.cells.get(_WRONG_RUBRICS, "").strip()
    if wrong and not re.fullmatch(r"none|\d+([\s,;]+\d+)*", wrong, re.IGNORECASE):
        raise ClbenchError(
            f"{row.where}: `{wrong}` under `{_WRONG_RUBRICS}`. Write the numbers of the rubrics "
            "on which the judge is wrong, such as 2, 5; or none."
        )
    numbers = {int(number) for number in re.findall(r"\d+", wrong)}
    if unknown := sorted(number for number in numbers if said.get(number, "?") == "?"):
        raise ClbenchError(
            f"{row.where}: `{wrong}` under `{_WRONG_RUBRICS}`, but the judge said neither yes nor "
            f"no to rubric {unknown[0]}."
        )
    changed = {"y": "n", "n": "y"}
    own = (changed[said[n]] if n in numbers else said[n] for n in said)
    return "".join(said.values()), "".join(own)


def _contradicts(vote: Vote) -> bool:
    """Whether a verdict does not follow from the rubrics, of which all must be met."""
    known = bool(vote.status) and "?" not in vote.status
    return known and vote.solved != ("n" not in vote.status)


def _check_sheet(path: str, count: int) -> None:
    if count < 1:
        raise ClbenchError(f"--sheet {count}: draw at least one row.")
    check_new(path)


def _write(
    path: str,
    columns: Sequence[str],
    strata: Mapping[K, Sequence[Answer]],
    count: int,
    seed: int,
    cells: Callable[[Answer, EvalSample], dict[str, str]],
) -> Sheet:
    available = sum(map(len, strata.values()))
    if not available:
        raise ClbenchError("There is nothing to draw from: the logs have no such judgement.")
    chosen = draw_answers(strata, count, seed)
    drawn = Counter(stratum for stratum, _ in chosen)

    def rows() -> Iterator[dict[str, str]]:
        with progress("Reading samples", len(chosen)) as advance:
            for stratum, answer in chosen:
                sample = read_sample(answer)
                own = sample.output.message.id if sample.output.choices else None
                yield {
                    "model": answer.log.model,
                    "task": answer.task_id,
                    "run": str(answer.epoch),
                    "sub-category": answer.sub_category,
                    "judge": answer.judge,
                    "answer": sample.output.completion,
                    "conversation": conversation_text(before_answer(sample.messages, own)),
                    "log": str(answer.log),
                    "sample": answer.uuid,
                    "context": answer.context_id,
                    _SCORE: answer.scorer,
                    _OF: str(len(strata[stratum])),
                    _DRAWN: str(drawn[stratum]),
                    **cells(answer, sample),
                }
                advance(1)

    write_sheet(path, columns, rows())
    return Sheet(path, len(chosen), available)


def _error_cells(answer: Answer, sample: EvalSample) -> dict[str, str]:
    metadata = _metadata(sample, answer.scorer)
    labels = metadata.get("labels", {})
    reasons = []
    for key in (key for key in ERROR_TYPES if key in labels):
        numbers = labels[key].get("rubrics", [])
        plural = "s" if len(numbers) > 1 else ""
        where = f" (rubric{plural} {', '.join(map(str, numbers))})" if numbers else ""
        reasons.append(f"{ERROR_TYPES[key]}{where}: {labels[key].get('reason', '')}")
    missed = metadata.get("rubrics_missed", [])
    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
    return {
        **{key: _YES_NO[key in answer.label.types] for key in ERROR_TYPES},
        "reasons": "\n".join(reasons),
        "missed rubrics": "\n".join(
            f"{number}. {text}" for number, text in rubrics if number in missed or not missed
        ),
        "rationale": rationale_of(
            next((m for n in VERDICT_SCORERS if (m := _metadata(sample, n))), {})
        ),
    }


def _verdict_cells(answer: Answer, sample: EvalSample) -> dict[str, str]:
    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
    known = len(answer.status) == len(rubrics)
    numbered = list(zip(rubrics, answer.status if known else "?" * len(rubrics), strict=True))
    words = {"y": "met", "n": "NOT MET"}
    texts = _metadata(sample, answer.scorer).get("rationales")
    return {
        SOLVED: _YES_NO[answer.solved],
        _STATUS: " ".join(f"{number}{letter}" for (number, _), letter in numbered),
        "rubrics": "\n".join(
            f"{number}. [{words.get(letter, '?')}] {text}"
            for (number, text), letter in numbered
        ),
        "rationale": "\n\n".join(map(str, texts)) if isinstance(texts, list) else "",
    }


def _metadata(sample: EvalSample, scorer: str) -> dict[str, Any]:
    score = (sample.scores or {}).get(scorer)
    return (score.metadata if score else None) or {}
