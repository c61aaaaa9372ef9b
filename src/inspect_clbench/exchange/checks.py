"""Sheets to check a judge by hand, and reports on sheets that were filled in."""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.errors import load_labelled
from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.statistics import wilson
from inspect_clbench.benchmarks import ERROR_TYPES, VERDICT_SCORERS
from inspect_clbench.data.selection import seeded_rank
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.sheets import (
    CONFIRM,
    YOURS,
    Opinion,
    SheetRow,
    check_new,
    read_sheet,
    write_sheet,
)
from inspect_clbench.judge.error_types import before_answer, conversation_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.logs.answers import Answer
from inspect_clbench.logs.files import Paths
from inspect_clbench.logs.samples import read_sample
from inspect_clbench.logs.series import load_series
from inspect_clbench.metrics.agreement import kappa
from inspect_clbench.output.tables import Table, number, table
from inspect_clbench.progress import progress
from inspect_clbench.scoring.scores import rationale_of
from inspect_clbench.text import counted

_SOLVED = "solved"
_STATUS = "status"
_WRONG_RUBRICS = "wrong rubrics"
_WHERE = ("model", "task", "run", "sub-category", "judge")
_TEXTS = ("rationale", "answer", "conversation", "log")
_TYPES = (name for key in ERROR_TYPES for name in (key, key + YOURS))
_ERROR_COLUMNS = (*_WHERE, CONFIRM, *_TYPES, "reasons", "missed rubrics", *_TEXTS)
_VERDICT_COLUMNS = (
    *_WHERE, CONFIRM, _SOLVED, _SOLVED + YOURS, _WRONG_RUBRICS, _STATUS, "rubrics", *_TEXTS,
)  # fmt: skip
_YES_NO = {True: "yes", False: "no"}
_LETTER = re.compile(r"(\d+)([yn])")  # as the sheet writes a status: 1y 2n 3?


@dataclass(frozen=True)
class Sheet:
    """A sheet that was written."""

    path: str
    rows: int
    of: int
    """How many there were to draw from."""


@dataclass(frozen=True)
class CheckLine:
    """How often a person agrees with the judge on one kind of thing."""

    what: str
    checked: int
    agreed: int
    judge_yes: int | None = None
    person_yes: int | None = None
    kappa: float | None = None


@dataclass(frozen=True)
class CheckReport(Result):
    """What a sheet that came back says about the judge."""

    path: str
    rows: int
    done: int
    judges: tuple[str, ...]
    lines: tuple[CheckLine, ...]
    of_error_types: bool = False
    rows_with_rubrics: int = 0
    """Rows that say which single rubrics are wrong."""

    kappa: float | None = None
    """Of the verdicts."""

    def records(self) -> list[dict[str, Any]]:
        return [asdict(line) for line in self.lines]


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
    return _write(path, _ERROR_COLUMNS, labelled, count, seed, _error_cells)


def verdict_sheet(paths: Paths, count: int, path: str, *, seed: int = 0) -> Sheet:
    """Draw verdicts of the rubric judge for a person to confirm or change.

    Args:
        paths: Log files, folders or URLs.
        count: How many to draw, from all logs together.
        path: The CSV file to write; it must not exist.
        seed: Another seed makes another draw.
    """
    _check_sheet(path, count)
    # An empty answer and a failed judge have no verdict that could be checked.
    judged = [a for one in load_series(paths) for a in one.scored if not a.reason]
    return _write(path, _VERDICT_COLUMNS, judged, count, seed, _verdict_cells)


def checked_errors(path: str) -> CheckReport:
    """How far a person agrees with the judge about each error type.

    Args:
        path: A sheet of `error_sheet`, filled in.
    """
    rows = read_sheet(path, list(ERROR_TYPES))
    lines = []
    for key, title in ERROR_TYPES.items():
        opinions = [row.opinions[key] for row in rows if key in row.opinions]
        said_yes = (sum(one.judge for one in opinions), sum(one.person for one in opinions))
        agreed = _agreed(opinions)
        lines.append(CheckLine(title, len(opinions), agreed, *said_yes, _kappa(opinions)))
    whole = [row.opinions.values() for row in rows if len(row.opinions) == len(ERROR_TYPES)]
    right = sum(_agreed(opinions) == len(opinions) for opinions in whole)
    lines.append(CheckLine("All four", len(whole), right))
    return _report(path, rows, lines, of_error_types=True)


def checked_verdicts(path: str) -> CheckReport:
    """How often the rubric judge's verdicts are right, as a person sees it.

    Args:
        path: A sheet of `verdict_sheet`, filled in.
    """
    rows = read_sheet(path, [_SOLVED])
    verdicts = [row.opinions[_SOLVED] for row in rows if _SOLVED in row.opinions]
    parts = {
        "All verdicts": verdicts,
        "Judge says solved": [one for one in verdicts if one.judge],
        "Judge says not solved": [one for one in verdicts if not one.judge],
    }
    looked_into = [opinions for row in rows if (opinions := _rubrics(row, path))]
    if looked_into:
        parts["Single rubrics"] = [one for opinions in looked_into for one in opinions]
    lines = [CheckLine(what, len(some), _agreed(some)) for what, some in parts.items()]
    fields = {"rows_with_rubrics": len(looked_into), "kappa": _kappa(verdicts)}
    return _report(path, rows, lines, **fields)


def check_tables(report: CheckReport) -> list[Table]:
    """The report on a sheet as a table."""
    notes = [f"{report.path}: {report.done:,} of {counted(report.rows, 'row')} checked."]
    if report.judges:
        notes.append(f"Judge: {', '.join(report.judges)}.")
    if report.of_error_types:
        title = "Error types: agreement of a person with the judge"
        columns = ("Error type", "Checked", "Agreed", "Agreement in %")
    else:
        title = "Rubric judge: accuracy of its verdicts, as a person sees it"
        columns = ("Verdicts", "Checked", "Right", "Accuracy in %")
        notes.append(f"Cohen's kappa of the verdicts: {number(report.kappa, 2).text}.")
        if report.rows_with_rubrics:
            looked = counted(report.rows_with_rubrics, "row")
            notes.append(f"Single rubrics: of the {looked} that say which are wrong.")
    notes.append("In brackets: 95 % interval after Wilson, as if the rows were independent.")
    rows = []
    for line in report.lines:
        rate = wilson(line.agreed, line.checked)
        row = dict(zip(columns, (line.what, line.checked, line.agreed, rate), strict=True))
        if report.of_error_types:
            row["Judge says yes"] = line.judge_yes
            row["Person says yes"] = line.person_yes
            row["Cohen's kappa"] = number(line.kappa, 2)
        rows.append(row)
    return [table(title, rows, notes)]


def _report(
    path: str, rows: Sequence[SheetRow], lines: Sequence[CheckLine], **fields: Any
) -> CheckReport:
    done = sum(bool(row.opinions) for row in rows)
    judges = sorted({judge for row in rows if (judge := row.cells.get("judge"))})
    return CheckReport(path, len(rows), done, tuple(judges), tuple(lines), **fields)


def _agreed(opinions: Iterable[Opinion]) -> int:
    return sum(one.judge == one.person for one in opinions)


def _kappa(opinions: Sequence[Opinion]) -> float | None:
    if not opinions:
        return None
    found = kappa(Counter((one.judge, one.person) for one in opinions))
    return None if math.isnan(found) else found


def _rubrics(row: SheetRow, path: str) -> list[Opinion]:
    """The judge's and the person's word on each rubric of a row that was looked into."""
    wrong = row.cells.get(_WRONG_RUBRICS, "").strip()
    if not wrong:
        return []
    where = f"{path}, row {row.number}"
    if not re.fullmatch(r"none|\d+([\s,;]+\d+)*", wrong, re.IGNORECASE):
        raise ClbenchError(
            f"{where}: `{wrong}` under `{_WRONG_RUBRICS}`. Write the numbers of the rubrics on "
            "which the judge is wrong, such as 2, 5; or none."
        )
    numbers = {int(number) for number in re.findall(r"\d+", wrong)}
    said = {int(n): letter == "y" for n, letter in _LETTER.findall(row.cells.get(_STATUS, ""))}
    if unknown := sorted(numbers - said.keys()):
        raise ClbenchError(
            f"{where}: `{wrong}` under `{_WRONG_RUBRICS}`, but the judge said neither yes nor no "
            f"to rubric {unknown[0]}."
        )
    return [Opinion(yes, yes != (number in numbers)) for number, yes in said.items()]


def _check_sheet(path: str, count: int) -> None:
    if count < 1:
        raise ClbenchError(f"--sheet {count}: draw at least one row.")
    check_new(path)


def _write(
    path: str,
    columns: Sequence[str],
    answers: Sequence[Answer],
    count: int,
    seed: int,
    cells: Callable[[Answer, EvalSample], dict[str, str]],
) -> Sheet:
    if not answers:
        raise ClbenchError("There is nothing to draw from: the logs have no such judgement.")

    def rank(answer: Answer) -> str:
        name = answer.uuid or (answer.log.model, answer.task_id, answer.run)
        return seeded_rank(seed, str(name), answer.scorer)

    chosen = sorted(answers, key=rank)[:count]

    def rows() -> Iterator[dict[str, str]]:
        with progress("Reading samples", len(chosen)) as advance:
            for answer in chosen:
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
                    **cells(answer, sample),
                }
                advance(1)

    write_sheet(path, columns, rows())
    return Sheet(path, len(chosen), len(answers))


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
        _SOLVED: _YES_NO[answer.solved],
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
