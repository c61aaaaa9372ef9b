"""Asking again for the rows without a verdict, and for no others."""

import errno
import shutil
import signal
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelConfig

from inspect_clbench.errors import ClbenchError
from inspect_clbench.regrade import regrade
from inspect_clbench.results import agreement, answers_df, report
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.s3 import s3_client
from tests.support.server import Call, LoopbackServer, Reply, Serve

Change = Callable[[EvalLog], None]

NAMES = ["good1", "bad1", "good2", "bad2"]
SOLVED = verdict(1, ["yes"] * 3)


def broken(call: Call) -> Reply:
    """A student, and a judge that has no verdict for the answers to bad ones."""
    if call.model == "student":
        return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
    return Reply("Hm." if "to bad" in call.prompt else SOLVED)


def mended(call: Call) -> Reply:
    """A judge that passes everything, and others that fail everything."""
    return Reply(SOLVED if call.model == "judge" else verdict(0, ["no"] * 3))


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The log of a run with two rows without a verdict; servers of a process share its address."""
    folder = tmp_path_factory.mktemp("run")
    with pytest.MonkeyPatch.context() as patch, LoopbackServer(broken) as server:
        patch.setenv("LOOP_BASE_URL", server.url)
        patch.setenv("LOOP_API_KEY", "loop-key")
        dataset = write_rows(folder / "rows.jsonl", [row(name) for name in NAMES])
        log = run_eval(dataset, folder)
    assert metrics_of(log)["judge_failures"] == 2
    return Path(log.location)


@pytest.fixture
def failed(run: Path, tmp_path: Path) -> str:
    """A copy of that log."""
    return str(shutil.copy(run, tmp_path))


def change(path: str, apply: Change) -> None:
    log = read_eval_log(path)
    apply(log)
    write_eval_log(log, path)


def name_metric(log: EvalLog) -> None:
    """Have a log say that its scorer has a metric that nobody knows, and no other."""
    scorer = (log.eval.scorers or [])[0]
    log.eval.scorers = [type(scorer).model_validate({"name": scorer.name, "metrics": [{"name": "theirs"}]})]


def metadata_of(path: str, name: str = "rubric_judge") -> dict[str, dict[str, Any]]:
    """The metadata of a score, by task."""
    samples = read_eval_log(path).samples or []
    return {str(sample.id): (sample.scores or {})[name].metadata or {} for sample in samples}


def tokens(path: str) -> int:
    """What the judge of a row has read."""
    return int(metadata_of(path)["bad1"]["judge_usage"]["openai-api/loop/judge"]["input_tokens"])


def test_only_rows_without_a_verdict_are_asked_again(serve: Serve, failed: str) -> None:
    def entries() -> dict[str, bytes]:
        with zipfile.ZipFile(failed) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    before, used = entries(), tokens(failed)
    server = serve(broken)
    assert regrade([failed]) == [f"{failed}: 2 rows had no verdict, 0 of them have one now.\nno_verdict: Hm."]
    assert tokens(failed) == 2 * used
    server.script = mended
    server.calls.clear()
    (result,) = regrade([failed])
    assert result == f"{failed}: 2 rows had no verdict, 2 of them have one now."
    assert [call.model for call in server.calls] == ["judge", "judge"]
    assert tokens(failed) == used * 7 / 3, "one ask after the six that failed"
    after = entries()
    unchanged = [name for name in before if name.startswith("samples/good")]
    assert len(unchanged) == 2
    assert all(after[name] == before[name] for name in unchanged), "byte for byte"
    log = read_eval_log(failed)
    metrics = metrics_of(log)
    assert (metrics["judge_failures"], metrics["judge_coverage"], metrics["solving_rate"]) == (0, 1, 1)
    assert read_eval_log(failed, header_only=True).results == log.results
    state = Path(failed).stat()
    assert regrade([failed]) == [f"{failed}: no row is without a verdict."]
    assert Path(failed).stat() == state, "a log without such rows stays as it is"
    assert len(server.calls) == 2


def test_another_judge_gives_verdicts_in_its_own_name(serve: Serve, failed: str) -> None:
    path = str(Path(failed).with_name("mine.json"))  # which stays JSON, and whose name is not Inspect's
    write_eval_log(read_eval_log(failed), path)
    serve(mended)
    assert "2 of them have one now" in regrade([path], judge="openai-api/loop/harsh")[0]
    judges = {name: score["judge"].rsplit("/", 1)[-1] for name, score in metadata_of(path).items()}
    assert judges == {"good1": "judge", "bad1": "harsh", "good2": "judge", "bad2": "harsh"}
    assert Path(path).read_text("utf-8").startswith("{")
    # In tables they belong to the run of the judge who gave none.
    answers = answers_df(path)
    assert answers["judge"].nunique() == answers["run"].nunique() == 1
    assert answers["solved"].sum() == 2
    table = report(answers)
    assert "openai-api/loop/judge, effort default" in table.methods
    assert "; where it gave no verdict, 2 by openai-api/loop/harsh; " in table.methods
    with pytest.raises(ClbenchError, match="Judged by openai-api/loop/judge only"):
        agreement(answers)


def test_a_second_judges_rows_are_asked_of_that_judge(serve: Serve, failed: str) -> None:
    server = serve(broken)
    roles: Any = {"grader": "openai-api/loop/second"}
    twice = score(read_eval_log(failed), rubric_judge(), model_roles=roles, action="append", display="none")
    write_eval_log(twice, failed)
    server.script = mended
    server.calls.clear()
    assert regrade([failed])[0] == f"{failed}: 4 rows had no verdict, 4 of them have one now."
    assert sorted(call.model for call in server.calls) == ["judge", "judge", "second", "second"]
    judges = {score["judge"] for score in metadata_of(failed, "rubric_judge1").values()}
    assert judges == {"openai-api/loop/second"}
    first, second = (read_eval_log(failed).results or twice.results).scores  # type: ignore[union-attr]
    assert (first.metrics["solving_rate"].value, second.metrics["solving_rate"].value) == (1, 0.5)


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupt_keeps_its_verdicts(
    stop: signal.Signals, serve: Serve, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(part: EvalLog, *arguments: Any, **options: Any) -> None:
        score(part.model_copy(update={"samples": (part.samples or [])[:1]}), *arguments, **options)
        signal.raise_signal(stop)

    serve(mended)
    monkeypatch.setattr("inspect_clbench.regrade.score", interrupted)
    assert clbench("regrade", failed).exit_code == 130
    assert metrics_of(read_eval_log(failed))["judge_failures"] == 1


def test_a_log_that_somebody_else_writes_to_is_left_alone(serve: Serve, failed: str) -> None:
    def meanwhile(call: Call) -> Reply:
        if "to bad1" in call.prompt:
            change(failed, lambda log: setattr(log.eval, "tags", ["theirs"]))
        return mended(call)

    serve(meanwhile)
    with pytest.raises(ClbenchError, match=r"somebody else wrote to it meanwhile.* The log with") as caught:
        regrade([failed])
    assert read_eval_log(failed).eval.tags == ["theirs"]
    assert metrics_of(read_eval_log(failed))["judge_failures"] == 2
    kept = Path(str(caught.value).rsplit("new verdicts: ", 1)[1])
    assert metrics_of(read_eval_log(str(kept)))["judge_failures"] == 0
    kept.unlink()


def test_a_full_disk_is_one_line(serve: Serve, failed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fill(*arguments: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    before = Path(failed).read_bytes()
    serve(mended)
    monkeypatch.setattr("inspect_clbench.regrade.write_eval_log", fill)
    with pytest.raises(ClbenchError, match=r"cannot be written \(No space left on device\)"):
        regrade([failed])
    assert Path(failed).read_bytes() == before


def test_a_log_on_s3_is_written_where_it_is(serve: Serve, failed: str, bucket: str) -> None:
    s3_client().upload_file(failed, bucket, "logs/failed.eval")
    path = f"s3://{bucket}/logs/failed.eval"
    serve(mended)
    assert regrade([f"s3://{bucket}/logs"]) == [f"{path}: 2 rows had no verdict, 2 of them have one now."]
    for place in (path, f"s3://{bucket}/logs"):  # as reports read it
        answers = answers_df(place)
        assert (answers["solved"].sum(), set(answers["log"])) == (4, {path})


# What only a log says is neither asked nor opened nor run.


def says(key: str, value: Any) -> Change:
    """A log whose scores say something else."""

    def apply(log: EvalLog) -> None:
        for sample in log.samples or []:
            for rubric_score in (sample.scores or {}).values():
                rubric_score.metadata = {**(rubric_score.metadata or {}), key: value}
        # Refused before metrics are looked for that this release may no longer have.
        name_metric(log)

    return apply


def has_judge(**settings: Any) -> Change:
    """A log whose judge has settings that the user's environment does not have."""
    config = ModelConfig(model="openai-api/loop/judge", **settings)
    return lambda log: setattr(log.eval, "model_roles", {"grader": config})


def names_task_file(log: EvalLog) -> None:
    log.eval.task_file = str(Path("task.py").absolute())
    name_metric(log)


@pytest.mark.parametrize(
    ("apply", "message"),
    [
        (says("judge_prompt", "template.txt"), "a prompt that is none of this package's (template.txt)"),
        (says("judge_prompt_sha256", "0" * 64), "a prompt that is none of this package's (builtin)"),
        (says("task_version", 1), "judged with version 1 of the task"),
        (has_judge(base_url="http://127.0.0.1:9/v1"), "an address or arguments of openai-api/loop/judge"),
        (has_judge(args={"organization": "theirs"}), "organization"),
        (names_task_file, "its metrics cannot be computed here"),
    ],
)
def test_what_only_a_log_says_is_refused_before_anybody_is_asked(
    apply: Change, message: str, serve: Serve, failed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("task.py").write_text("open('ran', 'w')", "utf-8")
    change(failed, apply)
    server = serve(mended)
    with pytest.raises(ClbenchError) as caught:
        regrade([failed])
    assert message in str(caught.value)
    assert not server.calls
    assert not Path("ran").exists()


def test_no_other_model_of_a_log_is_built(serve: Serve, failed: str) -> None:
    def name_others(log: EvalLog) -> None:
        log.eval.model, log.eval.model_args = "hf/some/weights", {"model_path": "/nowhere"}
        helper = ModelConfig(model="vllm/some/weights")
        log.eval.model_roles = {**(log.eval.model_roles or {}), "helper": helper}

    change(failed, name_others)
    serve(mended)
    assert "2 of them have one now" in regrade([failed])[0]


def test_a_judge_that_cannot_be_built_is_one_line(failed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = Path(failed).read_bytes()
    with pytest.raises(ClbenchError, match="OPENAI_API_KEY") as caught:
        regrade([failed], judge="openai/gpt-5.1")
    assert str(caught.value).startswith(f"{failed}: the judge cannot be asked: ")
    assert "\n" not in str(caught.value)
    with pytest.raises(ClbenchError, match=r"asked: .*\[/red\]"):  # brackets that are no markup
        regrade([failed], judge="[/red]/x")
    assert Path(failed).read_bytes() == before
