"""Asking again for the rows without a verdict, and for no others."""

import threading
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.model import ModelConfig
from inspect_ai.scorer import includes

from inspect_clbench.errors import ClbenchError
from inspect_clbench.regrade import regrade
from inspect_clbench.scoring.error_types import error_types
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import GARBLED
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


NAMES = ["good1", "bad1", "good2", "bad2"]


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", [row(name) for name in NAMES])


def failed_log(folder: Path, address: str, names: Sequence[str] = NAMES) -> str:
    """The log of a run whose judge at this address had no verdict for the bad ones."""
    plan = {name: [GARBLED if name.startswith("bad") else "yyy"] for name in names}
    rows = [row(name) for name in names]
    log = make_log(folder, rows, plan, provider="openai-api/loop").location
    change_header(log, grader=ModelConfig(model="openai-api/loop/judge", base_url=address))
    return log


def change_header(path: str, **roles: Any) -> None:
    log = read_eval_log(path)
    scorers = log.eval.scorers or []
    if "options" in roles:
        scorers[0].options = roles.pop("options")
    log.eval.model_roles = roles or log.eval.model_roles
    write_eval_log(log, path)


@pytest.fixture
def failed(serve: Serve, tmp_path: Path) -> tuple[LoopbackServer, str]:
    """The server of a judge that is mended, and the log of two rows without a verdict."""
    judge = Judge()
    judge.mended = True
    server = serve(judge)
    return server, failed_log(tmp_path / "logs", server.url)


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
    named = f"Judge, from the log: openai-api/loop/judge (base_url={server.url}"
    assert done.stderr.startswith(named)
    assert f"Wrote {log.location}\n" in done.stderr
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
    failed: tuple[LoopbackServer, str], tmp_path: Path, name: str
) -> None:
    _, log = failed
    output = tmp_path / name
    done = regrade(log, judge="openai-api/loop/harsh", output=str(output))
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
    assert metrics_of(read_eval_log(log))["judge_failures"] == 2, "the log is kept"


def test_a_log_without_failures_stays_as_it_is(serve: Serve, tmp_path: Path) -> None:
    server = serve(Judge())
    log = failed_log(tmp_path, server.url, ["good1", "good2"])
    before = Path(log).read_bytes()
    assert regrade(log).asked == 0
    assert Path(log).read_bytes() == before
    assert server.calls == []


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


def test_error_types_from_before_are_pointed_out(failed: tuple[LoopbackServer, str]) -> None:
    _, log = failed
    write_eval_log(score(read_eval_log(log), error_types(), action="append"))
    code, _, errors = clbench("regrade", log)
    assert code == 0
    assert "error types are from before: 2 rows count there as without a verdict" in errors


def test_a_log_that_changes_while_its_judge_is_asked_is_left_alone(
    serve: Serve, tmp_path: Path
) -> None:
    judge = Judge()
    judge.mended = True
    path = ""

    def write_theirs() -> None:
        log = read_eval_log(path)
        log.eval.tags = ["theirs"]
        write_eval_log(log, path)

    def meanwhile(call: Call) -> Reply:
        if "to bad1" in call.prompt:
            other = threading.Thread(target=write_theirs)  # not in the server's event loop
            other.start()
            other.join(20)
        return judge(call)

    path = failed_log(tmp_path / "logs", serve(meanwhile).url)
    code, out, err = clbench("regrade", path)
    assert (code, out) == (2, "")
    assert f"{path}: was written by somebody else meanwhile, and is left as it is." in err
    kept = err.strip().rsplit("The result: ", 1)[1]
    assert metrics_of(read_eval_log(kept))["judge_failures"] == 0
    assert read_eval_log(path).eval.tags == ["theirs"]
    assert metrics_of(read_eval_log(path))["judge_failures"] == 2


@pytest.mark.parametrize("output", ["{log}", "{folder}", "{folder}/typo/x.eval"])
def test_a_target_that_cannot_be_written_is_refused_before_the_judge_is_asked(
    failed: tuple[LoopbackServer, str], output: str
) -> None:
    server, log = failed
    place = output.format(log=log, folder=Path(log).parent)
    code, out, err = clbench("regrade", log, "--output", place)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert server.calls == []


def test_verdicts_that_were_given_before_the_judge_was_gone_are_kept(
    serve: Serve, tmp_path: Path
) -> None:
    def judge(call: Call) -> Reply:
        return Reply(GOOD) if "to bad0" in call.prompt else Reply(status=401, delay=0.5)

    names = [f"bad{number}" for number in range(8)]
    log = failed_log(tmp_path, serve(judge).url, names)
    code, out, err = clbench("regrade", log)
    assert (code, out) == (2, "")
    assert "The judge cannot work: role grader, model openai-api/loop/judge" in err
    assert "of 8 rows." in err
    again = read_eval_log(log)
    assert metrics_of(again)["judge_failures"] == 7
    assert metrics_of(again)["solving_rate"] == pytest.approx(1 / 8)


def test_an_address_that_only_the_log_names_is_not_asked(
    failed: tuple[LoopbackServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, log = failed
    theirs = server.url
    monkeypatch.setenv("LOOP_BASE_URL", "http://127.0.0.1:9/v1")
    code, out, err = clbench("regrade", log)
    assert (code, out) == (2, "")
    assert f"base_url={theirs}" in err
    assert "your environment says http://127.0.0.1:9/v1" in err
    assert "--judge provider/model, or say --yes" in err
    assert server.calls == []
    assert clbench("regrade", log, "--yes").exit_code == 0
    assert len(server.calls) == 2


def test_model_arguments_out_of_a_log_need_a_yes(
    failed: tuple[LoopbackServer, str],
) -> None:
    server, log = failed
    name = "openai-api/loop/judge"
    change_header(log, grader=ModelConfig(model=name, args={"responses_api": False}))
    code, _, err = clbench("regrade", log)
    assert (code, server.calls) == (2, [])
    assert "the log names openai-api/loop/judge (responses_api=False)" in err
    # A judge of the user's own takes nothing from the log.
    assert clbench("regrade", log, "--judge", name).exit_code == 0


def test_no_other_model_of_a_log_is_built(failed: tuple[LoopbackServer, str]) -> None:
    _, log = failed
    change = read_eval_log(log)
    change.eval.model = "hf/some/weights"
    change.eval.model_args = {"model_path": "/nowhere"}
    roles = dict(change.eval.model_roles or {})
    change.eval.model_roles = {**roles, "helper": ModelConfig(model="vllm/some/weights")}
    write_eval_log(change, log)
    assert regrade(log).still_failed == 0


@pytest.mark.parametrize("prompt", ["{folder}/template.txt", "~/secret", 3])
def test_a_template_out_of_a_log_is_not_opened(
    failed: tuple[LoopbackServer, str], prompt: Any, tmp_path: Path
) -> None:
    server, log = failed
    (tmp_path / "template.txt").write_text("{rubrics_text} {model_output}")
    named = prompt.format(folder=tmp_path) if isinstance(prompt, str) else prompt
    change_header(log, options={"judge_prompt": named})
    code, _, err = clbench("regrade", log)
    assert (code, server.calls) == (2, [])
    assert "a path out of a log is not opened" in err


@pytest.mark.parametrize(
    "options", [{"attempts": 0}, {"attempts": "x"}, {"nonsense": 1}, {"judge_failure": "x"}]
)
def test_options_that_are_wrong_are_one_line(
    failed: tuple[LoopbackServer, str], options: dict[str, Any]
) -> None:
    server, log = failed
    change_header(log, options=options)
    code, out, err = clbench("regrade", log)
    assert (code, out, server.calls) == (2, "", [])
    assert err.splitlines()[-1].startswith("clbench: ")


@pytest.mark.parametrize(
    ("judge", "message"),
    [
        ("nobody/knows", "nobody"),
        ("openai/gpt-5.1", "OPENAI_API_KEY"),
        ("no-slash", "no-slash"),
    ],
)
def test_a_judge_that_cannot_be_built_is_one_line(
    judge: str,
    message: str,
    failed: tuple[LoopbackServer, str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    _, log = failed
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    before = Path(log).read_bytes()
    code, out, err = clbench("regrade", log, "--judge", judge)
    assert (code, out) == (2, "")
    last = err.splitlines()[-1]
    assert last.startswith(f"clbench: {log}: the judge cannot be asked (")
    assert message in last
    assert Path(log).read_bytes() == before


def test_a_folder_is_refused(tmp_path: Path) -> None:
    code, _, err = clbench("regrade", str(tmp_path))
    assert code == 2
    assert err == f"clbench: {tmp_path}: a folder. Name one log file in it.\n"


def test_verdicts_that_were_given_before_an_interrupt_are_kept(
    failed: tuple[LoopbackServer, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, log = failed

    def interrupted(part: EvalLog, *arguments: Any, **options: Any) -> None:
        first = part.model_copy(update={"samples": (part.samples or [])[:1]})
        score(first, *arguments, **options)
        raise KeyboardInterrupt

    monkeypatch.setattr("inspect_clbench.regrade.score", interrupted)
    with pytest.raises(KeyboardInterrupt):
        regrade(log)
    assert metrics_of(read_eval_log(log))["judge_failures"] == 1


def test_a_password_in_an_address_is_not_printed(
    failed: tuple[LoopbackServer, str],
) -> None:
    _, log = failed
    address = "https://me:hunter2@example.org/v1?key=hunter3"
    change_header(log, grader=ModelConfig(model="openai-api/loop/judge", base_url=address))
    code, out, err = clbench("regrade", log)
    assert code == 2
    assert "example.org" in err
    assert "hunter" not in out + err
