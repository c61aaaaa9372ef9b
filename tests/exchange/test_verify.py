"""A set is checked as the leaderboard's maintainers would."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench import ClbenchError
from inspect_clbench.data import sources
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.imports import import_graded
from inspect_clbench.exchange.verify import verify
from tests.support.answers import demo_rows, graded, inference_rows, read_lines, write_lines
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import tasks

Rows = list[dict[str, Any]]
FIRST, SECOND = (row["metadata"]["task_id"] for row in demo_rows()[:2])


@pytest.fixture(scope="module")
def faultless(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A set of two runs."""
    place = tmp_path_factory.mktemp("faultless")
    for run in (1, 2):
        rows = [
            graded(row, int(n % 3 < run and bool(row["model_output"])))
            for n, row in enumerate(inference_rows(run))
        ]
        write_lines(place / f"m_run{run}_graded.jsonl", rows)
    files = [str(path) for path in sorted(place.glob("*.jsonl"))]
    export([import_graded(files, log_dir=str(place / "logs")).log], place / "set")
    return place / "set"


@pytest.fixture
def folder(faultless: Path, tmp_path: Path) -> Path:
    """A copy of that set, to be changed."""
    return Path(shutil.copytree(faultless, tmp_path / "set"))


def test_nothing_is_off_in_a_faultless_set(folder: Path) -> None:
    found = verify([folder])
    assert found.problems == verify([folder], "demo").problems == ()
    assert (len(found.files), found.rows, found.against) == (4, 96, ("demo",))
    assert found.summary.startswith("OK: 4 files, 96 rows against demo. What no check of files")
    assert found.to_pandas().empty
    assert verify(sorted(folder.glob("*.jsonl"))).problems == ()


def _change(key: str, value: Any) -> Callable[[Rows], Rows]:
    return lambda rows: [rows[0] | {key: value}, *rows[1:]]


def _say_of_rubrics(first: Any, others: Any) -> Callable[[Rows], Rows]:
    count = len(demo_rows()[0]["rubrics"])
    return _change("requirement_status", [first, *[others] * (count - 1)])


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
        (_say_of_rubrics(None, None), f"requirement_status holds something else than yes and no: 1 row ({FIRST})"),
        (_say_of_rubrics("partly", "yes"), f"requirement_status holds something else than yes and no: 1 row ({FIRST})"),
        (_say_of_rubrics("no", "yes"), f"score 1, but requirement_status says otherwise: 1 row ({FIRST})"),
        (_change("score", 0), f"score 0, but requirement_status says otherwise: 1 row ({FIRST})"),
        (_change("model_output", ""), f"score 1 for an empty answer: 1 row ({FIRST})"),
        (_change("model_output", " \n"), f"score 1 for an empty answer: 1 row ({FIRST})"),
        (_change("model_output", None), f"score 1 for an empty answer: 1 row ({FIRST})"),
        (_change("judge_failure", {"error": "x"}), f"score 1 without a verdict: 1 row ({FIRST})"),
        (
            lambda rows: [graded(row, 1, ["no"] * len(row["rubrics"])) for row in rows],
            "score 1, but requirement_status says otherwise: 24 rows",
        ),
    ],
)  # fmt: skip
def test_what_is_off_is_named(
    change: Callable[[Rows], Rows], problem: str, folder: Path
) -> None:
    path = folder / "m_run2_graded.jsonl"
    write_lines(path, change(read_lines(path)))
    problems = verify([folder]).problems
    assert any(found.startswith(f"{path}: {problem}") for found in problems), problems


def test_a_file_that_is_cut_off_is_named(folder: Path) -> None:
    path = folder / "m_run1.jsonl"
    path.write_bytes(path.read_bytes()[:-200])
    problems = verify([folder]).problems
    assert any("m_run1.jsonl: missing: 1 of 24 tasks" in problem for problem in problems)
    assert any("row 24: not valid JSON" in problem for problem in problems)


def test_the_leaderboard_object_must_follow_from_the_files(folder: Path) -> None:
    path = folder / "leaderboard.json"
    board = json.loads(path.read_text())
    path.write_text(json.dumps(board | {"overall": 0.99}))
    assert verify([folder]).problems == (
        f"{path}: overall is 0.99, but the graded files give {board['overall']}",
    )
    path.write_text(json.dumps({key: board[key] for key in reversed(board)}))
    assert verify([folder]).problems == (f"{path}: must hold {', '.join(board)}",)
    path.unlink()
    assert verify([folder]).problems == (f"{path}: not there",)


def test_a_rate_that_the_graded_files_do_not_give_is_said_in_words(folder: Path) -> None:
    for path in folder.glob("*.jsonl"):
        write_lines(path, _change_all(read_lines(path)))
    problems = verify([folder], "demo").problems
    assert any(problem.endswith("the graded files give no such rate") for problem in problems)
    assert not any("None" in problem for problem in problems)


def _change_all(rows: Rows) -> Rows:
    return [
        row | {"metadata": row["metadata"] | {"task_id": f"{n}"}} for n, row in enumerate(rows)
    ]


def test_a_set_without_graded_files_is_off(folder: Path) -> None:
    for path in folder.glob("*_graded.jsonl"):
        path.unlink()
    assert f"{folder}: no graded file there." in verify([folder]).problems


def test_an_empty_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"no \.jsonl file there"):
        verify([tmp_path])


def test_the_commands_end_with_0_1_or_2(folder: Path, demo_log: str, tmp_path: Path) -> None:
    assert clbench("verify", str(folder)) == (0, f"{verify([folder]).summary}\n", "")
    # The demo's judge gives no verdict on one task.
    argv = ["export", demo_log, "--to", str(tmp_path / "demo"), "--verify"]
    code, out, _ = clbench(*argv)
    assert code == 1
    assert "run1_graded.jsonl: no verdict, the judge failed" in out
    last = out.splitlines()[-1]
    assert last.startswith("NOT OK, 3 problems: 6 files, 144 rows against demo.")
    assert last.endswith("whether a run was left out, and whether the judge was asked.")
    code, _, err = clbench(*argv, "--dataset", "no-such-file.jsonl")
    assert code == 2
    assert "no-such-file.jsonl: no such file" in err
    for name in ("nothing.jsonl", "nothing"):
        told = f"clbench: {tmp_path / name}: no such file or folder.\n"
        assert clbench("verify", str(tmp_path / name)) == (2, "", told)


def test_keys_that_stand_there_twice_are_named(folder: Path) -> None:
    path = folder / "m_run1_graded.jsonl"
    lines = path.read_text().split("\n")
    lines[1] = lines[1].removesuffix("}") + ', "score": 1}'
    path.write_text("\n".join(lines))
    assert any("row 2: not valid JSON (the key `score` stands there twice)" in problem for problem in verify([folder]).problems)  # fmt: skip
    board = folder / "leaderboard.json"
    board.write_text('{"overall": 0.9, ' + board.read_text().removeprefix("{"))
    told = f"{board}: cannot be read (the key `overall` stands there twice)"
    assert told in verify([folder]).problems


def test_the_same_run_again_is_named(folder: Path) -> None:
    for kind in ("", "_graded"):
        shutil.copy(folder / f"m_run1{kind}.jsonl", folder / f"m_run3{kind}.jsonl")
    second, first = folder / "m_run3_graded.jsonl", folder / "m_run1_graded.jsonl"
    same = f"{second}: the same run as {first}, 24 of 24 answers are equal"
    assert same in verify([folder]).problems
    # Some answers changed make no other run.
    rows = read_lines(second)
    write_lines(second, [row | {"model_output": "x"} for row in rows[:5]] + rows[5:])
    assert any("19 of 24 answers are equal" in told for told in verify([folder]).problems)


def test_files_without_their_partner_are_named(folder: Path) -> None:
    (folder / "m_run1.jsonl").unlink()
    (folder / "m_run2_graded.jsonl").rename(folder / "m_run7_graded.jsonl")
    assert verify([folder]).problems == (
        f"{folder / 'm_run1_graded.jsonl'}: no inference file m_run1.jsonl beside it",
        f"{folder / 'm_run7_graded.jsonl'}: no inference file m_run7.jsonl beside it",
        f"{folder / 'm_run2.jsonl'}: no graded file m_run2_graded.jsonl beside it",
    )


@pytest.mark.parametrize(
    ("model", "problem"),
    [
        ("lab/m", None),
        ("M", None),
        ("gpt-5.1", "of the model gpt-5.1, but the files are named m"),
        ("", "the model has no name"),
        (None, "the model has no name"),
        ({}, "the model has no name"),
    ],
)
def test_another_models_name_is_named(folder: Path, model: Any, problem: str | None) -> None:
    path = folder / "leaderboard.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"model": model}))
    assert verify([folder]).problems == ((f"{path}: {problem}",) if problem else ())


def test_what_a_killed_export_leaves_is_passed_over(folder: Path) -> None:
    (folder / ".m_run1.jsonl.k3j2").write_text("{")
    (folder / ".clbench-12.tmp").write_text("{")
    (folder / ".unfinished").mkdir()
    (folder / ".unfinished" / "m_run1.jsonl").write_text("{")
    assert verify([folder]).problems == ()


def test_export_checks_against_the_pinned_dataset_where_it_can_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = make_log(tmp_path, tasks("t1", "t2"))
    argv = ["export", own.location, "--to", str(tmp_path / "out"), "--verify"]

    def no_hub(*_: object) -> str:
        raise ClbenchError("tencent/CL-bench: no connection")

    monkeypatch.setattr(sources, "_hub_file", no_hub)
    code, out, _ = clbench(*argv)
    assert code == 0
    name = own.eval.dataset.location
    told = f"OK: 2 files, 4 rows against {name}, the log's own: tencent/CL-bench (revision b28a5832a09b) cannot be had."
    assert out.splitlines()[-1].startswith(told)

    pinned = write_lines(tmp_path / "pinned.jsonl", demo_rows())
    monkeypatch.setattr(sources, "_hub_file", lambda _: pinned)
    code, out, _ = clbench(*argv)
    assert code == 1
    assert "the task is not in the dataset: 2 rows (t1, t2)" in out
    assert "rows against tencent/CL-bench (revision b28a5832a09b)." in out.splitlines()[-1]
