"""Checks of the files for the leaderboard before they are handed in."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.rows import Row, validated_rows
from inspect_clbench.data.sources import (
    DEMO,
    file_stem,
    model_name_of,
    read_file_rows,
    read_rows,
    unique_keys,
)
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
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.metrics.solving import Trial
from inspect_clbench.progress import progress
from inspect_clbench.text import counted, some

_CANNOT_TELL = (
    "What no check of files can tell: whether a run was left out, and whether the judge was "
    "asked."
)
# So many equal answers, and two files are the same run: answers are long texts.
_SAME_RUN = 0.5


@dataclass(frozen=True)
class Verified(Result):
    """What was checked, and what is off."""

    problems: tuple[str, ...]
    files: tuple[str, ...]
    rows: int
    against: tuple[str, ...]
    """The datasets that the rows were held against."""

    def records(self) -> list[dict[str, Any]]:
        return [{"problem": problem} for problem in self.problems]

    @property
    def summary(self) -> str:
        """The result in one line."""
        found = f"NOT OK, {counted(len(self.problems), 'problem')}" if self.problems else "OK"
        checked = f"{counted(len(self.files), 'file')}, {counted(self.rows, 'row')}"
        return f"{found}: {checked} against {', '.join(self.against)}. {_CANNOT_TELL}"


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
    rows: int = 0
    seen: dict[str, bytes] = field(default_factory=dict)
    """Task id to the fingerprint of its answer; none if it is empty."""

    solved: dict[str, bool] = field(default_factory=dict)
    wrong: defaultdict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """What is wrong, and the tasks where it is."""


def verify(
    paths: Sequence[str | Path], dataset: str | None = None, *, otherwise: str | None = None
) -> Verified:
    """Check sets of files as far as files can be checked.

    Each task once in every file; messages, rubrics and metadata as in the dataset; the
    keys of the original scripts in their order; a yes or no per rubric that fits a score of
    0 or 1; no score for an empty answer; an inference file of the same answers for every
    graded one; no run twice; the model and the rates of the leaderboard's object.

    Args:
        paths: Folders as `export` writes them, or files.
        dataset: The dataset to hold the rows against: the hub's id, a path or URL, or
            `demo`. The one that the first row belongs to when not given, as it is pinned.
        otherwise: The dataset to use where the pinned one cannot be had.
    """
    problems: list[str] = []
    checked: list[_CheckedFile] = []
    against: dict[str, None] = {}
    for files, board in _sets(paths):
        benchmark, is_demo = file_benchmark(files[0])
        source = dataset or (DEMO if is_demo else benchmark.hub_id)
        tasks, name = _expected_rows(source, benchmark, None if dataset else otherwise)
        against[name] = None
        with progress("Checking rows", len(tasks) * len(files)) as advance:
            found = [_check_file(path, tasks, advance) for path in files]
        problems += _set_problems(found, board, tasks, benchmark)
        checked += found
    rows = sum(file.rows for file in checked)
    return Verified(tuple(problems), tuple(f.path for f in checked), rows, tuple(against))


def _sets(paths: Sequence[str | Path]) -> Iterator[tuple[list[str], Path | None]]:
    """The files that belong together, and the leaderboard's object beside them."""
    for path in paths:
        if "://" not in str(path) and not Path(path).exists():
            raise ClbenchError(f"{path}: no such file or folder.")
    named = [str(path) for path in paths if not Path(path).is_dir()]
    if named:
        yield named, None
    for folder in (Path(path) for path in paths if Path(path).is_dir()):
        # What is hidden is what a killed process left of a file that it had not finished.
        places = (folder, *(path for path in _visible(folder) if path.is_dir()))
        files = {p: [str(f) for f in _visible(p) if ".jsonl" in f.suffixes] for p in places}
        if not any(files.values()):
            raise ClbenchError(f"{folder}: no .jsonl file there. Write a set: clbench export")
        yield from ((found, place / LEADERBOARD) for place, found in files.items() if found)


def _visible(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if not path.name.startswith("."))


def _set_problems(
    files: Sequence[_CheckedFile],
    board: Path | None,
    tasks: Mapping[str, _Expected],
    benchmark: Benchmark,
) -> Iterator[str]:
    for file in files:
        yield from _told(file, tasks)
    graded = [file for file in files if file.solved]
    plain = {file_stem(file.path): file for file in files if not file.solved}
    for file in graded:
        stem = file_stem(file.path)
        partner = plain.get(stem.removesuffix(GRADED)) if stem.endswith(GRADED) else None
        if partner is not None:
            ids = [id for id, answer in file.seen.items() if partner.seen.get(id) != answer]
            if ids:
                yield f"{file.path}: not the answers of {partner.path}: {_rows(ids)}"
        elif board is not None:
            name = f"{stem.removesuffix(GRADED)}.jsonl"
            yield f"{file.path}: no inference file {name} beside it"
    if board is not None:
        stems = {file_stem(file.path) for file in graded}
        for stem in (stem for stem in plain if stem + GRADED not in stems):
            yield f"{plain[stem].path}: no graded file {stem}{GRADED}.jsonl beside it"
        yield from _wrong_board(board, graded or files, tasks, benchmark)
    for first, second in combinations(graded or files, 2):
        answers = {id: found for id, found in first.seen.items() if found}
        same = sum(second.seen.get(id) == found for id, found in answers.items())
        if same > _SAME_RUN * len(answers):
            number = f"{same:,} of {counted(len(answers), 'answer')}"
            yield f"{second.path}: the same run as {first.path}, {number} are equal"
    if not graded:
        yield f"{Path(files[0].path).parent}: no graded file there."


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


def _wrong_board(
    path: Path,
    files: Sequence[_CheckedFile],
    tasks: Mapping[str, _Expected],
    benchmark: Benchmark,
) -> Iterator[str]:
    try:
        board = json.loads(path.read_text("utf-8"), object_pairs_hook=unique_keys)
    except FileNotFoundError:
        yield f"{path}: not there"
        return
    except (OSError, ValueError, RecursionError) as ex:
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
            given = "no such rate" if value is None else value
            yield f"{path}: {key} is {board[key]}, but the graded files give {given}"
    model, name = board["model"], model_name_of([file.path for file in files])
    if not isinstance(model, str) or not _letters(model):
        yield f"{path}: the model has no name"
    # Names of files hold a provider, an effort or a judge beside the model, or not.
    elif not any(_letters(part) in _letters(name) for part in (model, model.split("/")[-1])):
        yield f"{path}: of the model {model}, but the files are named {name}"


def _letters(name: str) -> str:
    return "".join(filter(str.isalnum, name.casefold()))


def _expected_rows(
    source: str, benchmark: Benchmark, otherwise: str | None
) -> tuple[dict[str, _Expected], str]:
    """The rows as they must be, and the name of the dataset that they are from."""
    pinned = f"{source} (revision {benchmark.revision[:12]})"
    try:
        return _read_expected(source, benchmark), (
            pinned if source == benchmark.hub_id else source
        )
    except ClbenchError:
        if otherwise in (None, source):
            raise
    assert otherwise is not None
    name = f"{otherwise}, the log's own: {pinned} cannot be had"
    return _read_expected(otherwise, benchmark), name


def _read_expected(source: str, benchmark: Benchmark) -> dict[str, _Expected]:
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
        for number, record in read_file_rows(path, unique=True):
            advance(1)
            found.rows += 1
            metadata = record.get("metadata") if isinstance(record, dict) else None
            task_id = metadata.get("task_id") if isinstance(metadata, dict) else None
            if not isinstance(task_id, str):
                found.wrong["no metadata.task_id"].append(f"row {number}")
                continue
            if task_id in found.seen:
                found.wrong["the task stands there more than once"].append(task_id)
            for what in _row_problems(record, task_id, tasks.get(task_id)):
                found.wrong[what].append(task_id)
            answer = record.get("model_output")
            found.seen.setdefault(task_id, b"" if _is_empty(answer) else _fingerprint(answer))
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
    elif record["score"] == 1 and _is_empty(record.get("model_output")):
        yield "score 1 for an empty answer"
    status = record.get("requirement_status")
    if JUDGE_FAILURE in record:
        yield "no verdict, the judge failed (clbench regrade asks again)"
        if record["score"] == 1:
            yield "score 1 without a verdict"
    elif not isinstance(status, list) or len(status) != expected.rubrics:
        yield "requirement_status has not one entry per rubric"
    else:
        verdict = Verdict(record["score"] == 1, "", tuple(status), "strict")
        if "?" in verdict.status:
            yield "requirement_status holds something else than yes and no"
        if verdict.inconsistent:
            yield f"score {record['score']}, but requirement_status says otherwise"


def _is_empty(answer: Any) -> bool:
    return answer is None or (isinstance(answer, str) and not answer.strip())
