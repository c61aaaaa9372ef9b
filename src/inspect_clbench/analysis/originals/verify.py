"""Checks a set of files before it is handed in, as the leaderboard's maintainers would."""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from inspect_clbench.analysis.originals.leaderboard import LEADERBOARD, board_of
from inspect_clbench.analysis.originals.original_rows import file_benchmark, some
from inspect_clbench.analysis.originals.row_checks import (
    Checked,
    Expected,
    check_file,
    expected_rows,
)
from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.text import counted
from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import Row
from inspect_clbench.row_files import DEMO, file_stem
from inspect_clbench.taxonomy import Benchmark

_GRADED = "_graded"


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
        found = False
        for place in (folder, *sorted(p for p in folder.iterdir() if p.is_dir())):
            files = [str(p) for p in sorted(place.iterdir()) if ".jsonl" in p.suffixes]
            if files:
                found = True
                board = place / LEADERBOARD
                yield files, board
        if not found:
            raise ClbenchError(f"{folder}: no .jsonl file there. Write a set: clbench export")


def _verify_set(files: Sequence[str], board: Path | None, dataset: str | None) -> list[str]:
    benchmark, is_demo = file_benchmark(files[0])
    tasks = expected_rows(dataset or (DEMO if is_demo else benchmark.hub_id), benchmark)
    with progress("Checking rows") as advance:
        checked = []
        for path in files:
            advance(path)
            checked.append(check_file(path, tasks))
    problems = [problem for file in checked for problem in _told(file, tasks)]
    problems += _other_answers(checked)
    if board is not None:
        problems += _wrong_board(board, checked, tasks, benchmark)
    if not any(file.solved for file in checked):
        problems.append(f"{Path(files[0]).parent}: no graded file there.")
    return problems


def _told(file: Checked, tasks: Mapping[str, Expected]) -> Iterator[str]:
    missing = [task_id for task_id in tasks if task_id not in file.seen]
    if missing:
        number = f"{len(missing):,} of {counted(len(tasks), 'task')}"
        yield f"{file.path}: missing: {number} ({some(missing)})"
    ungraded = [task_id for task_id in file.seen if task_id not in file.solved]
    if file.solved and ungraded:
        yield f"{file.path}: without a score: {counted(len(ungraded), 'row')} ({some(ungraded)})"
    for what, ids in file.wrong.items():
        where = f": {counted(len(ids), 'row')} ({some(ids)})" if ids else ""
        yield f"{file.path}: {what}{where}"


def _other_answers(files: Sequence[Checked]) -> Iterator[str]:
    """Runs whose inference and graded file do not hold the same answers."""
    plain = {file_stem(file.path): file for file in files if not file.solved}
    for graded in (file for file in files if file.solved):
        stem = file_stem(graded.path)
        partner = plain.get(stem.removesuffix(_GRADED))
        if stem.endswith(_GRADED) and partner is not None:
            ids = [
                task_id
                for task_id, answer in graded.seen.items()
                if partner.seen.get(task_id) != answer
            ]
            if ids:
                yield (
                    f"{graded.path}: not the answers of {partner.path}: "
                    f"{counted(len(ids), 'row')} ({some(ids)})"
                )


def _wrong_board(
    path: Path, files: Sequence[Checked], tasks: Mapping[str, Expected], benchmark: Benchmark
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
        (tasks[task_id].metadata["context_category"], Row(run, task_id, solved))
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
