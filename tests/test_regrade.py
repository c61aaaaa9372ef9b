"""Asking again for the rows without a verdict, and for no others."""

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.scorer import includes

from inspect_clbench.errors import ClbenchError
from inspect_clbench.regrade import regrade
from inspect_clbench.scoring.error_types import error_types
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
GOOD = verdict(1, ["yes"] * 3)


class Judge:
    """A judge that has no verdict for some tasks until it is mended."""

    mended = False

    def __call__(self, call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"Answer {call.attempt} to {call.prompt.rsplit('TASK=', 1)[-1]}")
        if "to bad" in call.prompt and not self.mended:
            return Reply("Hm.")
        return Reply(GOOD if call.model == "judge" else verdict(0, ["no"] * 3))


def entries(path: str) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    names = ["good1", "bad1", "good2", "bad2"]
    return write_rows(tmp_path / "rows.jsonl", [row(name) for name in names])


@pytest.mark.long
def test_only_failed_rows_are_asked_again(serve: Serve, dataset: str, tmp_path: Path) -> None:
    judge = Judge()
    server = serve(judge)
    log = run_eval(dataset, tmp_path, epochs=2)
    assert metrics_of(log)["judge_failures"] == 4
    assert metrics_of(log)["solving_rate"] == 0.5
    before, asked = entries(log.location), len(server.calls)

    judge.mended = True
    done = clbench("regrade", log.location)
    assert done.exit_code == 0, done.stderr
    assert "4 rows" in done.stdout
    assert len(server.calls) == asked + 4

    again = read_eval_log(log.location)
    assert metrics_of(again)["judge_failures"] == 0
    assert metrics_of(again)["solving_rate"] == 1.0
    assert metrics_of(again)["std"] == 0.0
    after = entries(log.location)
    kept = [name for name in before if name.startswith("samples/good")]
    assert len(kept) == 4
    assert all(after[name] == before[name] for name in kept), "byte for byte"
    events = (again.samples or [])[1].events
    assert sum(event.event == "score" for event in events) == 1


@pytest.mark.parametrize("name", ["other.eval", "other.json"])
def test_another_judge_may_be_asked(
    serve: Serve, dataset: str, tmp_path: Path, name: str
) -> None:
    judge = Judge()
    serve(judge)
    log = run_eval(dataset, tmp_path)
    judge.mended = True
    output = tmp_path / name
    done = regrade(log.location, judge="openai-api/loop/harsh", output=str(output))
    assert (done.asked, done.still_failed) == (2, 0)
    judges = {
        str(s.id): ((s.scores or {})["rubric_judge"].metadata or {})["judge"]
        for s in read_eval_log(str(output)).samples or []
    }
    assert judges == {
        "good1": "openai-api/loop/judge",
        "bad1": "openai-api/loop/harsh",
        "good2": "openai-api/loop/judge",
        "bad2": "openai-api/loop/harsh",
    }
    assert metrics_of(read_eval_log(log.location))["judge_failures"] == 2, "the log is kept"


def test_a_log_without_failures_stays_as_it_is(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    judge = Judge()
    judge.mended = True
    serve(judge)
    log = run_eval(dataset, tmp_path)
    before = Path(log.location).read_bytes()
    assert regrade(log.location).asked == 0
    assert Path(log.location).read_bytes() == before


def test_something_that_is_no_log(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    path.write_text("no")
    with pytest.raises(ClbenchError, match=r"x\.eval: not a readable log"):
        regrade(str(path))


def test_a_log_of_another_benchmark_is_refused(tmp_path: Path) -> None:
    task = Task(dataset=[Sample("Hello")], scorer=includes(), name="theirs")
    (log,) = eval(task, model="mockllm/model", log_dir=str(tmp_path), display="none")
    with pytest.raises(ClbenchError, match="a log of theirs, not of this benchmark"):
        regrade(log.location)


def test_a_log_on_s3_is_graded_where_it_is(serve: Serve, dataset: str, bucket: str) -> None:
    judge = Judge()
    serve(judge)
    log = run_eval(dataset, f"s3://{bucket}/logs")
    judge.mended = True
    done = regrade(log.location)
    assert (done.location, done.asked, done.still_failed) == (log.location, 2, 0)
    assert metrics_of(read_eval_log(log.location))["judge_failures"] == 0


def test_error_types_from_before_are_pointed_out(
    serve: Serve, dataset: str, tmp_path: Path
) -> None:
    judge = Judge()
    serve(judge)
    log = run_eval(dataset, tmp_path)
    write_eval_log(score(read_eval_log(log.location), error_types(), action="append"))
    judge.mended = True
    code, _, errors = clbench("regrade", log.location)
    assert code == 0
    assert "error types are from before: 2 rows count there as without a verdict" in errors
