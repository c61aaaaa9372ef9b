"""A set is checked as the leaderboard's maintainers would."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench import ClbenchError
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.imports import import_graded
from inspect_clbench.exchange.verify import verify
from tests.support.answers import demo_rows, graded, inference_rows, read_lines, write_lines
from tests.support.command import clbench

Rows = list[dict[str, Any]]
FIRST, SECOND = (row["metadata"]["task_id"] for row in demo_rows()[:2])


@pytest.fixture(scope="module")
def faultless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two runs."""
    place = tmp_path_factory.mktemp("faultless")
    for run in (1, 2):
        rows = [graded(row, int(n % 3 < run)) for n, row in enumerate(inference_rows(run))]
        write_lines(place / f"m_run{run}_graded.jsonl", rows)
    files = [str(path) for path in sorted(place.glob("*.jsonl"))]
    export([import_graded(files, log_dir=str(place / "logs")).log], place / "set")
    return place / "set"


@pytest.fixture
def folder(faultless: Path, tmp_path: Path) -> Path:
    """A copy of that set, to be changed."""
    return Path(shutil.copytree(faultless, tmp_path / "set"))


def test_nothing_is_off_in_a_faultless_set(folder: Path) -> None:
    assert verify([folder]) == []
    assert verify([folder], "demo") == []
    assert verify(sorted(folder.glob("*.jsonl"))) == []


def _change(key: str, value: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [rows[0] | {key: value}, *rows[1:]]


def _reorder(rows: Rows) -> Rows:
    return [dict(reversed(rows[0].items())), *rows[1:]]


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda rows: rows[2:], f"missing: 2 of 24 tasks ({FIRST}, {SECOND})"),
        (lambda rows: [*rows, rows[0]], f"the task stands there more than once: 1 row ({FIRST})"),
        (_change("messages", []), f"messages differ from the dataset's: 1 row ({FIRST})"),
        (_change("rubrics", ["x"]), f"rubrics differ from the dataset's: 1 row ({FIRST})"),
        (_change("idx", "x"), f"idx is not the task id: 1 row ({FIRST})"),
        (_change("model_output", 1), f"model_output is not a text: 1 row ({FIRST})"),
        (_change("score", 0.5), f"score is neither 0 nor 1: 1 row ({FIRST})"),
        (_change("score", "1"), f"score is neither 0 nor 1: 1 row ({FIRST})"),
        (_change("requirement_status", []), f"requirement_status has not one entry per rubric: 1 row ({FIRST})"),
        (_change("extra", 1), "other keys, or in another order, than idx, messages,"),
        (_reorder, "other keys, or in another order, than idx, messages,"),
        (
            _change("metadata", {"task_id": FIRST, "context_id": "x"}),
            f"metadata differ from the dataset's: 1 row ({FIRST})",
        ),
        (
            _change("metadata", {"task_id": "stranger"}),
            "the task is not in the dataset: 1 row (stranger)",
        ),
        (_change("metadata", None), "no metadata.task_id: 1 row (row 1)"),
        (
            lambda rows: [{k: v for k, v in rows[0].items() if k != "score"}, *rows[1:]],
            f"without a score: 1 row ({FIRST})",
        ),
        (_change("model_output", "Other."), "not the answers of "),
    ],
)  # fmt: skip
def test_what_is_off_is_named(
    change: Callable[[Rows], Rows], problem: str, folder: Path
) -> None:
    path = folder / "m_run2_graded.jsonl"
    write_lines(path, change(read_lines(path)))
    problems = verify([folder])
    assert any(found.startswith(f"{path}: {problem}") for found in problems), problems


def test_a_file_that_is_cut_off_is_named(folder: Path) -> None:
    path = folder / "m_run1.jsonl"
    path.write_bytes(path.read_bytes()[:-200])
    problems = verify([folder])
    assert any("m_run1.jsonl: missing: 1 of 24 tasks" in problem for problem in problems)
    assert any("row 24: not valid JSON" in problem for problem in problems)


def test_the_leaderboard_object_must_follow_from_the_files(folder: Path) -> None:
    path = folder / "leaderboard.json"
    board = json.loads(path.read_text())
    path.write_text(json.dumps(board | {"overall": 0.99}))
    assert verify([folder]) == [
        f"{path}: overall is 0.99, but the graded files give {board['overall']}"
    ]
    path.write_text(json.dumps({key: board[key] for key in reversed(board)}))
    assert verify([folder]) == [f"{path}: must hold {', '.join(board)}"]
    path.unlink()
    assert verify([folder]) == [f"{path}: not there"]


def test_a_set_without_graded_files_is_off(folder: Path) -> None:
    for path in folder.glob("*_graded.jsonl"):
        path.unlink()
    assert f"{folder}: no graded file there." in verify([folder])


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"no \.jsonl file there"):
        verify([tmp_path])


def test_the_commands_end_with_0_1_or_2(folder: Path, demo_log: str, tmp_path: Path) -> None:
    assert clbench("verify", str(folder)) == (0, "Nothing is off.\n", "")
    # The demo's judge gives no verdict on one task.
    argv = ["export", demo_log, "--to", str(tmp_path / "demo"), "--verify"]
    code, out, _ = clbench(*argv)
    assert code == 1
    assert "run1_graded.jsonl: no verdict, the judge failed" in out
    assert "Nothing is off" not in out
    code, _, err = clbench(*argv, "--dataset", "no-such-file.jsonl")
    assert code == 2
    assert "no-such-file.jsonl: no such file" in err
    assert clbench("verify", str(tmp_path / "nothing.jsonl")).exit_code == 2
