"""Asking again for the rows without a verdict, and for no others."""

import shutil
import threading
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelConfig

from inspect_clbench.errors import ClbenchError
from inspect_clbench.regrade import Regraded, regrade
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.s3 import s3_client
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]

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


def change(path: str, apply: Callable[[EvalLog], None]) -> None:
    log = read_eval_log(path)
    apply(log)
    write_eval_log(log, path)


def name_metric(log: EvalLog, name: str) -> None:
    """Have a log say that its scorer has this metric, and no other."""
    scorer = (log.eval.scorers or [])[0]
    log.eval.scorers = [type(scorer).model_validate({"name": scorer.name, "metrics": [{"name": name}]})]


def metadata_of(path: str, name: str = "rubric_judge") -> dict[str, dict[str, Any]]:
    """The metadata of a score, by task."""
    return {
        str(sample.id): (sample.scores or {})[name].metadata or {}
        for sample in read_eval_log(path).samples or []
    }


def tokens(path: str, task: str) -> int:
    """What the judge of a row has read."""
    usage = metadata_of(path)[task]["judge_usage"]["openai-api/loop/judge"]
    return int(usage["input_tokens"])


def test_only_rows_without_a_verdict_are_asked_again(serve: Serve, failed: str) -> None:
    def entries() -> dict[str, bytes]:
        with zipfile.ZipFile(failed) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    before, used = entries(), tokens(failed, "bad1")
    server = serve(mended)
    (result,) = regrade([failed])
    assert result == Regraded(failed, rows=2, judged=2, reasons=[])
    assert str(result) == f"{failed}: 2 rows had no verdict, 2 of them have one now."
    assert sorted(call.model for call in server.calls) == ["judge", "judge"]
    after = entries()
    unchanged = [name for name in before if name.startswith("samples/good")]
    assert len(unchanged) == 2
    assert all(after[name] == before[name] for name in unchanged), "byte for byte"
    log = read_eval_log(failed)
    metrics = metrics_of(log)
    assert (metrics["judge_failures"], metrics["judge_coverage"], metrics["solving_rate"]) == (0, 1, 1)
    assert read_eval_log(failed, header_only=True).results == log.results
    assert tokens(failed, "bad1") == used * 4 / 3, "one ask after the three that failed"


def test_a_row_that_fails_again_says_why_and_what_all_asks_used(serve: Serve, failed: str) -> None:
    before = tokens(failed, "bad1")
    serve(broken)
    (result,) = regrade([failed])
    assert (result.rows, result.judged, result.reasons) == (2, 0, ["no_verdict: Hm."])
    assert tokens(failed, "bad1") == 2 * before
    assert metrics_of(read_eval_log(failed))["judge_failures"] == 2


def test_another_judge_gives_verdicts_in_its_own_name(serve: Serve, failed: str) -> None:
    serve(mended)
    assert regrade([failed], judge="openai-api/loop/harsh")[0].judged == 2
    judges = {name: score["judge"].rsplit("/", 1)[-1] for name, score in metadata_of(failed).items()}
    assert judges == {"good1": "judge", "bad1": "harsh", "good2": "judge", "bad2": "harsh"}


def test_a_second_judges_rows_are_asked_of_that_judge(serve: Serve, failed: str) -> None:
    server = serve(broken)
    roles: Any = {"grader": "openai-api/loop/second"}
    twice = score(read_eval_log(failed), rubric_judge(), model_roles=roles, action="append", display="none")
    write_eval_log(twice, failed)
    server.script = mended
    server.calls.clear()
    assert regrade([failed])[0] == Regraded(failed, rows=4, judged=4, reasons=[])
    assert sorted(call.model for call in server.calls) == ["judge", "judge", "second", "second"]
    assert {score["judge"] for score in metadata_of(failed, "rubric_judge1").values()} == {
        "openai-api/loop/second"
    }
    first, second = (read_eval_log(failed).results or twice.results).scores  # type: ignore[union-attr]
    assert (first.metrics["solving_rate"].value, second.metrics["solving_rate"].value) == (1, 0.5)


def test_a_log_without_such_rows_stays_as_it_is(serve: Serve, failed: str) -> None:
    server = serve(mended)
    regrade([failed])
    server.calls.clear()
    before = Path(failed).stat()
    assert regrade([failed]) == [Regraded(failed, 0, 0, [])]
    assert Path(failed).stat() == before
    assert not server.calls


def test_a_json_log_stays_json(serve: Serve, failed: str) -> None:
    path = failed.replace(".eval", ".json")
    write_eval_log(read_eval_log(failed), path)
    serve(mended)
    assert regrade([path])[0].judged == 2
    assert Path(path).read_text("utf-8").startswith("{")
    assert metrics_of(read_eval_log(path))["judge_failures"] == 0


def interrupted(part: EvalLog, *arguments: Any, **options: Any) -> None:
    """Inspect's `score`, interrupted after one sample."""
    score(part.model_copy(update={"samples": (part.samples or [])[:1]}), *arguments, **options)
    raise KeyboardInterrupt


def test_verdicts_that_were_given_before_an_interrupt_are_kept(
    serve: Serve, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    serve(mended)
    monkeypatch.setattr("inspect_clbench.regrade.score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        regrade([failed])
    assert metrics_of(read_eval_log(failed))["judge_failures"] == 1


def test_a_log_that_somebody_else_writes_to_is_left_alone(serve: Serve, failed: str) -> None:
    def write_theirs() -> None:
        change(failed, lambda log: setattr(log.eval, "tags", ["theirs"]))

    def meanwhile(call: Call) -> Reply:
        if "to bad1" in call.prompt:
            thread = threading.Thread(target=write_theirs)  # not in the server's event loop
            thread.start()
            thread.join(20)
        return mended(call)

    serve(meanwhile)
    with pytest.raises(ClbenchError, match=r"somebody else wrote to it meanwhile.* The log with") as caught:
        regrade([failed])
    assert read_eval_log(failed).eval.tags == ["theirs"]
    assert metrics_of(read_eval_log(failed))["judge_failures"] == 2
    kept = Path(str(caught.value).rsplit("new verdicts: ", 1)[1])
    assert metrics_of(read_eval_log(str(kept)))["judge_failures"] == 0
    kept.unlink()


def test_a_log_on_s3_is_written_where_it_is(serve: Serve, failed: str, bucket: str) -> None:
    s3_client().upload_file(failed, bucket, "logs/failed.eval")
    path = f"s3://{bucket}/logs/failed.eval"
    serve(mended)
    assert regrade([f"s3://{bucket}/logs"]) == [Regraded(path, rows=2, judged=2, reasons=[])]
    assert metrics_of(read_eval_log(path))["judge_failures"] == 0


# What only a log says is neither asked nor opened nor run.


def test_an_address_that_only_the_log_names_is_not_asked(
    serve: Serve, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(mended)
    monkeypatch.setenv("LOOP_BASE_URL", "http://127.0.0.1:9/v1")
    with pytest.raises(ClbenchError, match="an address or arguments of openai-api/loop/judge") as caught:
        regrade([failed])
    assert server.url in str(caught.value)
    assert not server.calls


def test_model_arguments_of_a_log_are_not_used(serve: Serve, failed: str) -> None:
    server = serve(mended)
    config = ModelConfig(model="openai-api/loop/judge", args={"organization": "theirs"})
    change(failed, lambda log: setattr(log.eval, "model_roles", {"grader": config}))
    with pytest.raises(ClbenchError, match="organization"):
        regrade([failed])
    assert not server.calls


def test_no_other_model_of_a_log_is_built(serve: Serve, failed: str) -> None:
    def name_others(log: EvalLog) -> None:
        log.eval.model, log.eval.model_args = "hf/some/weights", {"model_path": "/nowhere"}
        log.eval.model_roles = {
            **(log.eval.model_roles or {}),
            "helper": ModelConfig(model="vllm/some/weights"),
        }

    change(failed, name_others)
    serve(mended)
    assert regrade([failed])[0].judged == 2


def test_a_task_file_of_a_log_is_not_run(serve: Serve, failed: str, tmp_path: Path) -> None:
    (tmp_path / "task.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")

    def name_file(log: EvalLog) -> None:
        log.eval.task_file = str(tmp_path / "task.py")
        name_metric(log, "theirs")

    change(failed, name_file)
    server = serve(mended)
    with pytest.raises(ClbenchError, match=r"its metrics cannot be computed here.* have the log judged anew"):
        regrade([failed])
    assert not server.calls
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("judge_prompt", "template.txt", "a prompt that is none of this package's (template.txt)"),
        ("judge_prompt", "/etc/passwd", "a prompt that is none of this package's"),
        ("judge_prompt_sha256", "0" * 64, "a prompt that is none of this package's (builtin)"),
        ("task_version", 1, "judged with version 1 of the task"),
    ],
)
def test_verdicts_that_could_not_be_compared_are_refused(
    serve: Serve, failed: str, key: str, value: Any, message: str
) -> None:
    def apply(log: EvalLog) -> None:
        for sample in log.samples or []:
            for rubric_score in (sample.scores or {}).values():
                rubric_score.metadata = {**(rubric_score.metadata or {}), key: value}
        # Said before metrics are looked for that this release may no longer have.
        name_metric(log, "of_another_release")

    change(failed, apply)
    server = serve(mended)
    with pytest.raises(ClbenchError) as caught:
        regrade([failed])
    assert message in str(caught.value)
    assert not server.calls


@pytest.mark.parametrize(
    ("judge", "problem"),
    [("nobody/knows", "nobody"), ("openai/gpt-5.1", "OPENAI_API_KEY"), ("no-slash", "no-slash")],
)
def test_a_judge_that_cannot_be_built_is_one_line(
    failed: str, judge: str, problem: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = Path(failed).read_bytes()
    with pytest.raises(ClbenchError, match=problem) as caught:
        regrade([failed], judge=judge)
    assert str(caught.value).startswith(f"{failed}: the judge cannot be asked: ")
    assert "\n" not in str(caught.value)
    assert Path(failed).read_bytes() == before
