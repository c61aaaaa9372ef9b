"""Checks of the files for the leaderboard before they are handed in."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.rows import Row, validated_rows
from inspect_clbench.data.sources import DEMO, file_stem, read_file_rows, read_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.export import GRADED, LEADERBOARD, board_of
from inspect_clbench.exchange.rows import (
    GRADING_KEYS,
    INFERENCE_KEYS,
    JUDGE_FAILURE,
    file_benchmark,
    metadata_of,
)
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.metrics.solving import Trial
from inspect_clbench.progress import progress
from inspect_clbench.text import counted, some


@dataclass(frozen=True)
class _Expected:
    """What a row of a task must hold."""

    fingerprints: dict[str, bytes]
    """By key of the row: the rows themselves would take hundreds of megabytes."""

    rubrics: int
    category: str


@dataclass
class _CheckedFile:
    path: str
    seen: dict[str, bytes] = field(default_factory=dict)
    """Task id to the fingerprint of its answer."""

    solved: dict[str, bool] = field(default_factory=dict)
    wrong: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What is wrong, and the tasks where it is."""


def verify(paths: Sequence[str | Path], dataset: str | None = None) -> list[str]:
    """What is off in sets of files; nothing if they can be handed in.

    Each task once in every file; messages, rubrics and metadata as in the dataset; the
    keys of the original scripts in their order; a status per rubric; scores of 0 and 1;
    the same answers in the inference and the graded file of a run; the rates of the
    leaderboard's object.

    Args:
        paths: Folders as `export` writes them, or files.
        dataset: The dataset to hold the rows against: the hub's id, a path or URL, or
            `demo`. The one that the first row belongs to when not given.
    """
    problems: list[str] = []
    for files, board in _sets(paths):
        problems += _verify_set(files, board, dataset)
    return problems


def _sets(paths: Sequence[str | Path]) -> Iterator[tuple[list[str], Path | None]]:
    """The files that belong together, and the leaderboard's object beside them."""
    named = [str(path) for path in paths if not Path(path).is_dir()]
    if named:
        yield named, None
    for folder in (Path(path) for path in paths if Path(path).is_dir()):
        places = (folder, *sorted(path for path in folder.iterdir() if path.is_dir()))
        files = {
            p: [str(f) for f in sorted(p.iterdir()) if ".jsonl" in f.suffixes] for p in places
        }
        if not any(files.values()):
            raise ClbenchError(f"{folder}: no .jsonl file there. Write a set: clbench export")
        yield from ((found, place / LEADERBOARD) for place, found in files.items() if found)


def _verify_set(files: Sequence[str], board: Path | None, dataset: str | None) -> list[str]:
    benchmark, is_demo = file_benchmark(files[0])
    tasks = _expected_rows(dataset or (DEMO if is_demo else benchmark.hub_id), benchmark)
    with progress("Checking rows", len(tasks) * len(files)) as advance:
        checked = [_check_file(path, tasks, advance) for path in files]
    problems = [problem for file in checked for problem in _told(file, tasks)]
    problems += _other_answers(checked)
    if board is not None:
        problems += _wrong_board(board, checked, tasks, benchmark)
    if not any(file.solved for file in checked):
        problems.append(f"{Path(files[0]).parent}: no graded file there.")
    return problems


def _told(file: _CheckedFile, tasks: Mapping[str, _Expected]) -> Iterator[str]:
    if missing := [task_id for task_id in tasks if task_id not in file.seen]:
        number = f"{len(missing):,} of {counted(len(tasks), 'task')}"
        yield f"{file.path}: missing: {number} ({some(missing)})"
    ungraded = [task_id for task_id in file.seen if task_id not in file.solved]
    if file.solved and ungraded:
        yield f"{file.path}: without a score: {_rows(ungraded)}"
    for what, ids in file.wrong.items():
        yield f"{file.path}: {what}" + (f": {_rows(ids)}" if ids else "")


def _rows(ids: Sequence[str]) -> str:
    return f"{counted(len(ids), 'row')} ({some(ids)})"


def _other_answers(files: Sequence[_CheckedFile]) -> Iterator[str]:
    """Runs whose inference and graded file do not hold the same answers."""
    plain = {file_stem(file.path) + GRADED: file for file in files if not file.solved}
    for graded in (file for file in files if file.solved):
        if partner := plain.get(file_stem(graded.path)):
            ids = [id for id, found in graded.seen.items() if partner.seen.get(id) != found]
            if ids:
                yield f"{graded.path}: not the answers of {partner.path}: {_rows(ids)}"


def _wrong_board(
    path: Path,
    files: Sequence[_CheckedFile],
    tasks: Mapping[str, _Expected],
    benchmark: Benchmark,
) -> Iterator[str]:
    try:
        board = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        yield f"{path}: not there"
        return
    except (OSError, ValueError) as ex:
        yield f"{path}: cannot be read ({ex})"
        return
    outcomes = [
        (tasks[task_id].category, Trial(run, task_id, solved))
        for run, file in enumerate((f for f in files if f.solved), start=1)
        for task_id, solved in file.solved.items()
        if task_id in tasks
    ]
    expected = board_of(outcomes, benchmark, model="", org="")
    if not isinstance(board, dict) or tuple(board) != tuple(expected):
        yield f"{path}: must hold {', '.join(expected)}"
        return
    for key, value in expected.items():
        if key not in ("model", "org") and board[key] != value:
            yield f"{path}: {key} is {board[key]}, but the graded files give {value}"
    if not board["model"]:
        yield f"{path}: the model has no name"


def _expected_rows(source: str, benchmark: Benchmark) -> dict[str, _Expected]:
    tasks = {}
    with progress(f"Reading {source}") as advance:
        for row in validated_rows(read_rows(source, benchmark), source, benchmark, Row):
            content = {
                "messages": [{"role": m.role, "content": m.content} for m in row.messages],
                "rubrics": row.rubrics,
                "metadata": metadata_of(row.metadata.model_dump(), benchmark),
            }
            tasks[row.metadata.task_id] = _Expected(
                {key: _fingerprint(value) for key, value in content.items()},
                len(numbered_rubrics(row.rubrics)),
                row.metadata.context_category,
            )
            advance(1)
    return tasks


def _fingerprint(value: Any) -> bytes:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).digest()


def _check_file(
    path: str, tasks: Mapping[str, _Expected], advance: Callable[[int], None]
) -> _CheckedFile:
    found = _CheckedFile(path)
    try:
        for number, record in read_file_rows(path):
            advance(1)
            metadata = record.get("metadata") if isinstance(record, dict) else None
            task_id = metadata.get("task_id") if isinstance(metadata, dict) else None
            if not isinstance(task_id, str):
                found.wrong["no metadata.task_id"].append(f"row {number}")
                continue
            if task_id in found.seen:
                found.wrong["the task stands there more than once"].append(task_id)
            for what in _row_problems(record, task_id, tasks.get(task_id)):
                found.wrong[what].append(task_id)
            found.seen.setdefault(task_id, _fingerprint(record.get("model_output")))
            if "score" in record:
                found.solved.setdefault(task_id, bool(record["score"] == 1))
    except ClbenchError as ex:
        found.wrong[f"cannot be read to its end: {ex}"] = []
    return found


def _row_problems(
    record: dict[str, Any], task_id: str, expected: _Expected | None
) -> Iterator[str]:
    graded = "score" in record
    keys = (*INFERENCE_KEYS, *GRADING_KEYS) if graded else INFERENCE_KEYS
    if tuple(key for key in record if key != JUDGE_FAILURE) != keys:
        yield f"other keys, or in another order, than {', '.join(keys)}"
    if record.get("idx") != task_id:
        yield "idx is not the task id"
    if not isinstance(record.get("model_output"), str | None):
        yield "model_output is not a text"
    if expected is None:
        yield "the task is not in the dataset"
        return
    for key, fingerprint in expected.fingerprints.items():
        if _fingerprint(record.get(key)) != fingerprint:
            yield f"{key} differ from the dataset's"
    if not graded:
        return
    if record["score"] not in (0, 1):
        yield "score is neither 0 nor 1"
    status = record.get("requirement_status")
    if JUDGE_FAILURE in record:
        yield "no verdict, the judge failed (clbench regrade asks again)"
    elif not isinstance(status, list) or len(status) != expected.rubrics:
        yield "requirement_status has not one entry per rubric"
