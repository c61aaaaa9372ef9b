"""The slim reader of sample summaries says what Inspect's own reader says."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, read_eval_log_sample_summaries, write_eval_log

from inspect_clbench.analysis import load_series
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs import summaries
from inspect_clbench.logs.summaries import read_log_summaries
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, tasks

PLAN = {"a": ["yyn", EMPTY], "b": [GARBLED, "yyy"], "c": ["nnn", ERROR]}

Facts = dict[tuple[str, int], Any]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    again = [("second", {"a": ["yyy"] * 2, "b": ["nnn"] * 2, "c": ["nny"] * 2})]
    return make_log(
        tmp_path_factory.mktemp("log"), tasks("a", "b", "c"), PLAN, judge=["one", "two"],
        again=again, task_args={"judge_failure": "unscored"},
    ).location  # fmt: skip


def facts(found: Any) -> Facts:
    """All that tables look at, by sample and epoch."""
    return {
        (summary.id, summary.epoch): (
            summary.uuid,
            summary.error,
            summary.completed,
            summary.metadata,
            {
                name: (score.value, score.reason, score.metadata)
                for name, score in (summary.scores or {}).items()
            },
        )
        for summary in found
    }


def with_summaries(log: str, path: Path, content: bytes | None) -> str:
    """A copy of a log with another list of summaries, or without one."""
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(path, "w") as copy:
        for name in whole.namelist():
            if name != "summaries.json":
                copy.writestr(name, whole.read(name))
            elif content is not None:
                copy.writestr(name, content)
    return str(path)


def no_fallback(_: str) -> list[Any]:
    raise AssertionError("Inspect's reader was asked")


def test_the_same_as_inspects(log: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = facts(read_eval_log_sample_summaries(log))
    monkeypatch.setattr(summaries, "read_eval_log_sample_summaries", no_fallback)
    found = facts(read_log_summaries(log))
    assert found == expected
    assert set(found) == {(task, epoch) for task in PLAN for epoch in (1, 2)}
    _, error, _, _, scores = found["c", 2]
    assert (error, scores) == ("RuntimeError('scripted failure')", {})
    *_, scores = found["b", 1]
    assert {name: score[:2] for name, score in scores.items()} == {
        "rubric_judge": ("N", "grader_failed"),
        "rubric_judge1": ("I", None),
    }
    assert [vote["judge"] for vote in scores["rubric_judge"][2]["votes"]] == [
        "mockllm/one", "mockllm/two",
    ]  # fmt: skip


def test_a_json_log_is_left_to_inspect(log: str, tmp_path: Path) -> None:
    path = str(tmp_path / "log.json")
    write_eval_log(read_eval_log(log), path)
    assert facts(read_log_summaries(path)) == facts(read_log_summaries(log))


@pytest.mark.parametrize("twice", [False, True], ids=["missing", "a sample twice"])
def test_what_inspect_can_repair(log: str, tmp_path: Path, twice: bool) -> None:
    with zipfile.ZipFile(log) as whole:
        known = json.loads(whole.read("summaries.json"))
    content = json.dumps([*known, known[0]]).encode() if twice else None
    path = with_summaries(log, tmp_path / "clbench.eval", content)
    found = read_log_summaries(path)
    assert len(found) == 6
    assert facts(found) == facts(read_log_summaries(log))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"[{", "its samples cannot be read (JSONDecodeError"),
        (b'{"a": 1}', "its samples cannot be read (ValueError"),
        (b'[{"epoch": 1}]', "its samples cannot be read (ValidationError"),
        (b"[]", "no sample in it"),
    ],
)
def test_what_nobody_can_read_names_the_log(
    log: str, tmp_path: Path, content: bytes, message: str
) -> None:
    path = with_summaries(log, tmp_path / "clbench.eval", content)
    with pytest.raises(ClbenchError) as caught:
        load_series(path)
    assert str(caught.value).startswith(f"{path}: {message}")
