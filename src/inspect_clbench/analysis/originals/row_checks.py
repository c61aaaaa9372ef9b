"""Holds the rows of a file against the dataset, one by one."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inspect_clbench.analysis.originals.original_rows import (
    GRADING_KEYS,
    INFERENCE_KEYS,
    LEFT_UNSCORED,
    NO_VERDICT,
    metadata_of,
)
from inspect_clbench.analysis.progress import progress
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.row_files import file_records, read_records
from inspect_clbench.rows import Row, validated
from inspect_clbench.taxonomy import Benchmark


@dataclass(frozen=True)
class Expected:
    """What a row of a task must hold, as far as it needs to be kept."""

    messages: bytes
    rubrics: bytes
    usable_rubrics: int
    metadata: dict[str, Any]


@dataclass
class Checked:
    """What was found in one file."""

    path: str
    seen: dict[str, bytes] = field(default_factory=dict)
    """Task id to the fingerprint of its answer."""

    solved: dict[str, bool] = field(default_factory=dict)
    wrong: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What is off, and the tasks where it is."""


def expected_rows(source: str, benchmark: Benchmark) -> dict[str, Expected]:
    """What the rows of each task of a dataset must hold."""
    with progress(f"Reading {source}") as advance:
        tasks = {}
        for row in validated(read_records(source, benchmark), source, benchmark, Row):
            told = row.metadata
            tasks[told.task_id] = Expected(
                _fingerprint([{"role": m.role, "content": m.content} for m in row.messages]),
                _fingerprint(row.rubrics),
                len(numbered_rubrics(row.rubrics)),
                metadata_of(
                    benchmark,
                    told.task_id,
                    told.context_id,
                    told.context_category,
                    told.sub_category,
                ),
            )
            advance(told.task_id)
    return tasks


def _fingerprint(value: Any) -> bytes:
    """A fingerprint that equal JSON values share."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def _task_id_of(record: Any) -> str | None:
    metadata = record.get("metadata") if isinstance(record, dict) else None
    task_id = metadata.get("task_id") if isinstance(metadata, dict) else None
    return task_id if isinstance(task_id, str) else None


def check_file(path: str, tasks: Mapping[str, Expected]) -> Checked:
    """Go through a file of inference or graded rows."""
    found = Checked(path)
    try:
        for number, record in file_records(path):
            _check_row(record, number, found, tasks)
    except ClbenchError as ex:
        found.wrong[f"cannot be read to its end: {ex}"] = []
    return found


def _check_row(record: Any, number: int, found: Checked, tasks: Mapping[str, Expected]) -> None:
    task_id = _task_id_of(record)
    if not isinstance(record, dict) or task_id is None:
        found.wrong["no metadata.task_id"].append(f"row {number}")
        return
    for what in _row_problems(record, task_id, found, tasks):
        found.wrong[what].append(task_id)
    found.seen.setdefault(task_id, _fingerprint(record.get("model_output")))
    if "score" in record:
        found.solved.setdefault(task_id, bool(record["score"] == 1))


def _row_problems(
    record: dict[str, Any], task_id: str, found: Checked, tasks: Mapping[str, Expected]
) -> Iterator[str]:
    if task_id in found.seen:
        yield "the task stands there more than once"
    graded = "score" in record
    keys = (*INFERENCE_KEYS, *GRADING_KEYS) if graded else INFERENCE_KEYS
    if tuple(record) != keys:
        yield f"other keys, or in another order, than {', '.join(keys)}"
    if record.get("idx") != task_id:
        yield "idx is not the task id"
    if not isinstance(record.get("model_output"), str | None):
        yield "model_output is not a text"
    task = tasks.get(task_id)
    if task is None:
        yield "the task is not in the dataset"
        return
    if _fingerprint(record.get("messages")) != task.messages:
        yield "messages differ from the dataset's"
    if _fingerprint(record.get("rubrics")) != task.rubrics:
        yield "rubrics differ from the dataset's"
    if record.get("metadata") != task.metadata:
        yield "metadata differ from the dataset's"
    if graded:
        yield from _grading_problems(record, task)


def _grading_problems(record: dict[str, Any], task: Expected) -> Iterator[str]:
    status, rationale = record.get("requirement_status"), record.get("grading_rationale")
    if record["score"] not in (0, 1):
        yield "score is neither 0 nor 1"
    if isinstance(rationale, str) and rationale.startswith((NO_VERDICT, LEFT_UNSCORED)):
        yield "no verdict, the judge failed (clbench regrade LOG asks again)"
    elif not isinstance(status, list) or len(status) != task.usable_rubrics:
        yield "requirement_status has not one entry per rubric"
