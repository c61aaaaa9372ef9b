"""The hand checks' first half: what judges said, drawn at random into a sheet for a person."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.checking.sheets import CONFIRM, YOURS, drawn, write_sheet
from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.error_records import LabelRecord, labels_of, load_labelled
from inspect_clbench.analysis.reading.located import LocatedRecord, read_located
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.records import SCORER
from inspect_clbench.analysis.reading.series import load_series
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.error_types import ERROR_TYPES, before_answer, conversation_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.scores import rationale_of

SOLVED = "solved"
STATUS = "status"
WRONG_RUBRICS = "wrong rubrics"

_WHERE = ("model", "task", "run", "sub-category", "judge")
_TEXTS = ("rationale", "answer", "conversation", "log")
ERROR_COLUMNS = (
    *_WHERE,
    CONFIRM,
    *(name for key in ERROR_TYPES for name in (key, key + YOURS)),
    "reasons",
    "missed rubrics",
    *_TEXTS,
)
VERDICT_COLUMNS = (
    *_WHERE, CONFIRM, SOLVED, SOLVED + YOURS, WRONG_RUBRICS, STATUS, "rubrics", *_TEXTS,
)  # fmt: skip

_YES_NO = {True: "yes", False: "no"}

R = TypeVar("R", bound=LocatedRecord)


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
    records = [
        (one.model, record)
        for one in load_labelled(paths).series
        for record in labels_of(one)
        if record.label.state == "labelled"
    ]
    return _write(path, ERROR_COLUMNS, records, count, seed, _error_cells)


def verdict_sheet(paths: Paths, count: int, path: str, *, seed: int = 0) -> Sheet:
    """Draw verdicts of the rubric judge for a person to confirm or change.

    Args:
        paths: Log files, folders or URLs.
        count: How many to draw, from all logs together.
        path: The CSV file to write; it must not exist.
        seed: Another seed makes another draw.
    """
    records = [
        (one.model, record)
        for one in load_series(paths, read_located)
        for record in one.scored
        # An empty answer and a failed judge have no verdict that could be checked.
        if isinstance(record, LocatedRecord) and not record.reason
    ]
    return _write(path, VERDICT_COLUMNS, records, count, seed, _verdict_cells)


def _write(
    path: str,
    columns: Sequence[str],
    records: Sequence[tuple[str, R]],
    count: int,
    seed: int,
    cells: Callable[[R, EvalSample], dict[str, str]],
) -> Sheet:
    if count < 1:
        raise ClbenchError(f"--sheet {count}: draw at least one row.")
    if not records:
        raise ClbenchError("There is nothing to draw from: the logs have no such judgement.")
    named = [
        (f"{r.uuid or (model, r.task_id, r.run)}\n{r.scorer}", (model, r))
        for model, r in records
    ]
    chosen = drawn(named, count, seed)

    def rows() -> Iterator[dict[str, str]]:
        with progress("Reading samples", len(chosen)) as advance:
            for model, record in chosen:
                sample = record.sample()
                yield {**_common_cells(model, record, sample), **cells(record, sample)}
                advance(record.task_id)

    write_sheet(path, columns, rows())
    return Sheet(path, len(chosen), len(records))


def _common_cells(model: str, record: LocatedRecord, sample: EvalSample) -> dict[str, str]:
    own = sample.output.message.id if sample.output.choices else None
    return {
        "model": model,
        "task": record.task_id,
        "run": str(record.epoch),
        "sub-category": record.sub_category,
        "judge": record.judge,
        "answer": sample.output.completion,
        "conversation": conversation_text(before_answer(sample.messages, own)),
        "log": str(record.log),
    }


def _error_cells(record: LabelRecord, sample: EvalSample) -> dict[str, str]:
    verdict = _metadata(sample, SCORER)
    labels = _metadata(sample, record.scorer).get("labels", {})
    reasons = [
        f"{title}{_numbers(labels[key].get('rubrics', []))}: {labels[key].get('reason', '')}"
        for key, title in ERROR_TYPES.items()
        if key in labels
    ]
    missed = set(_metadata(sample, record.scorer).get("rubrics_missed", []))
    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
    return {
        **{key: _YES_NO[key in record.label.types] for key in ERROR_TYPES},
        "reasons": "\n".join(reasons),
        "missed rubrics": "\n".join(
            f"{number}. {text}" for number, text in rubrics if number in missed or not missed
        ),
        "rationale": rationale_of(verdict),
    }


def _verdict_cells(record: LocatedRecord, sample: EvalSample) -> dict[str, str]:
    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
    known = len(record.status) == len(rubrics)
    letters = record.status if known else "?" * len(rubrics)
    numbered = list(zip(rubrics, letters, strict=True))
    words = {"y": "met", "n": "NOT MET"}
    metadata = _metadata(sample, record.scorer)
    texts = metadata.get("rationales")
    return {
        SOLVED: _YES_NO[record.solved],
        STATUS: " ".join(f"{number}{letter}" for (number, _), letter in numbered),
        "rubrics": "\n".join(
            f"{number}. [{words.get(letter, '?')}] {text}"
            for (number, text), letter in numbered
        ),
        "rationale": "\n\n".join(map(str, texts)) if isinstance(texts, list) else "",
    }


def _numbers(rubrics: Sequence[int]) -> str:
    if not rubrics:
        return ""
    return f" (rubric{'s' if len(rubrics) > 1 else ''} {', '.join(map(str, rubrics))})"


def _metadata(sample: EvalSample, scorer: str) -> dict[str, Any]:
    score = (sample.scores or {}).get(scorer)
    return (score.metadata if score else None) or {}
