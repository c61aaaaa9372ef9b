"""Finding and reading logs: what is taken, passed over and refused."""

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from inspect_ai.scorer import includes

from inspect_clbench.analysis import answers_df
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import read_answers
from inspect_clbench.logs.files import find_logs, readable
from inspect_clbench.logs.samples import read_sample
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, tasks


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    plan = {"a": ["yyn", EMPTY], "b": [GARBLED, "yyy"]}
    return make_log(tmp_path_factory.mktemp("log"), tasks("a", "b"), plan).location


def other_log(folder: Path) -> str:
    """A log of another benchmark."""
    output = ModelOutput.from_content("mockllm/model", "four")
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    (log,) = eval(
        Task(dataset=[Sample("2 + 2?", target="four")], scorer=includes(), name="sums"),
        model=get_model("mockllm/model", custom_outputs=[output]),
        log_dir=str(folder),
        display="none",
    )
    assert log.status == "success", log.error
    return log.location


def running_log(log: str, path: Path) -> str:
    """A log as it stands while its run goes on: without a header and without a summary."""
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(path, "w") as part:
        for name in whole.namelist():
            if name not in ("header.json", "summaries.json", "reductions.json"):
                part.writestr(name, whole.read(name))
    assert read_eval_log(str(path), header_only=True).status == "started"
    return str(path)


def test_answers_of_a_log(log: str) -> None:
    (found,) = find_logs([log])
    answers = {(a.task_id, a.epoch): a for a in read_answers(found)}
    assert len(answers) == 4
    near = answers["a", 1]
    assert (near.outcome, near.status, near.rubrics_met, near.rubrics_total) == (
        "failed", "yyn", 2, 3,
    )  # fmt: skip
    assert (near.judge, near.judge_prompt, near.context_id) == (
        "mockllm/judge", "builtin", "context-0",
    )  # fmt: skip
    assert len(near.judge_prompt_sha256) == 64
    assert (near.category, near.turns) == ("Domain Knowledge Reasoning", 1)
    assert near.prompt_chars == len("Learn from the context.Context of context-0.\nTASK=a")
    assert (answers["a", 2].reason, answers["a", 2].judge) == ("no_response", "")
    garbled = answers["b", 1]
    assert (garbled.outcome, garbled.reason, garbled.rubrics_met) == (
        "failed", "grader_failed", None,
    )  # fmt: skip
    assert answers["b", 2].solved


def test_a_frame_has_a_row_per_sample_epoch_and_judge(tmp_path: Path) -> None:
    plan = {"a": ["yyn", EMPTY], "b": [GARBLED, ERROR]}
    first = make_log(
        tmp_path, tasks("a", "b"), plan, again=[("second", {"a": ["yyy"] * 2, "b": ["yyy"] * 2})],
        task_args={"judge_failure": "unscored"}, reasoning_effort="low",
    )  # fmt: skip
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, model="other")
    frame = answers_df(tmp_path)
    assert list(frame.columns) == [
        "eval_id", "log", "model", "effort", "dataset", "id", "epoch", "uuid", "context_id",
        "category", "sub_category", "turns", "prompt_chars", "scorer", "outcome", "reason",
        "judge", "judge_prompt", "judge_prompt_sha256", "judge_effort", "rubrics_met",
        "rubrics_total", "status", "inconsistent", "weight", "solved",
    ]  # fmt: skip
    assert len(frame) == 2 * 2 * 2 + 1
    by = frame.set_index(["model", "id", "epoch", "scorer"])
    assert by.index.is_unique
    assert set(frame.loc[frame["eval_id"] == first.eval.eval_id, "model"]) == {
        "mockllm/student"
    }
    told = ["judge", "outcome", "solved", "reason", "status", "effort"]
    expected = {
        ("student", "a", 1, ""): ["mockllm/judge", "failed", False, "", "yyn", "low"],
        ("student", "a", 1, "1"): ["mockllm/second", "solved", True, "", "yyy", "low"],
        ("student", "a", 2, ""): ["", "failed", False, "no_response", "nnn", "low"],
        ("student", "b", 1, ""): [
            "mockllm/judge", "unscored", None, "grader_failed", "", "low",
        ],
        ("student", "b", 2, "1"): ["", "errored", None, "", "", "low"],
        ("other", "a", 1, ""): ["mockllm/judge", "solved", True, "", "yyy", ""],
    }  # fmt: skip
    for (model, id, epoch, number), row in expected.items():
        key = (f"mockllm/{model}", id, epoch, f"rubric_judge{number}")
        assert by.loc[key, told].tolist() == row


def test_one_sample_alone(log: str) -> None:
    *_, last = read_answers(*find_logs([log]))
    sample = read_sample(last)
    assert (sample.id, sample.epoch) == (last.task_id, last.epoch) == ("b", 2)
    assert "STATUS=yyy" in sample.output.completion
    assert sample.events == []
    with pytest.raises(ClbenchError, match="task b, epoch 3 is not in it any more"):
        read_sample(replace(last, epoch=3))


def test_logs_of_other_benchmarks_are_passed_over_in_folders(tmp_path: Path, log: str) -> None:
    other = other_log(tmp_path)
    with pytest.raises(ClbenchError, match="a log of sums, not of clbench"):
        find_logs([other])
    with pytest.raises(ClbenchError, match="no log of clbench or clbench_life among the 1"):
        find_logs([str(tmp_path)])
    (tmp_path / "ours.eval").write_bytes(Path(log).read_bytes())
    (found,) = find_logs([str(tmp_path)])
    assert found.location.endswith("ours.eval")


def test_the_same_log_named_twice_counts_once(log: str) -> None:
    assert len(find_logs([log, str(Path(log).parent), log])) == 1


def test_nothing_there(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"no-such\.eval: no such file or folder"):
        find_logs([str(tmp_path / "no-such.eval")])
    with pytest.raises(ClbenchError, match=r"no log there\. Give a \.eval file"):
        find_logs([str(tmp_path)])
    with pytest.raises(ClbenchError, match="No log was given"):
        find_logs([])


@pytest.mark.parametrize("share", [0.1, 0.5, 0.99])
def test_a_truncated_log(tmp_path: Path, log: str, share: float) -> None:
    whole = Path(log).read_bytes()
    cut = tmp_path / "cut_clbench_1.eval"
    cut.write_bytes(whole[: int(len(whole) * share)])
    for path in (cut, tmp_path):
        with pytest.raises(
            ClbenchError, match=r"cut_clbench_1.eval: not a readable log.*cut off"
        ):
            find_logs([str(path)])


def test_a_broken_log_of_others_is_passed_over_with_a_word(
    tmp_path: Path, log: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "2026-01-01T00-00-00_sums_1.eval").write_bytes(b"no zip")
    (tmp_path / "ours.eval").write_bytes(Path(log).read_bytes())
    assert len(find_logs([str(tmp_path)])) == 1
    assert "2026-01-01T00-00-00_sums_1.eval: passed over, not a readable log" in caplog.text


def test_a_running_log(tmp_path: Path, log: str, caplog: pytest.LogCaptureFixture) -> None:
    path = running_log(log, tmp_path / "running.eval")
    for given in (path, str(tmp_path)):
        with pytest.raises(
            ClbenchError, match=r"running.eval: the run has not ended.*eval-retry"
        ):
            find_logs([given])
    # Beside a finished log of another run it is passed over, but not in silence.
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    assert len(find_logs([str(tmp_path)])) == 1
    assert "running.eval: passed over, the run has not ended." in caplog.text


def test_a_log_without_scores(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, score=False)
    (found,) = find_logs([log.location])
    with pytest.raises(
        ClbenchError, match=r"no score of rubric_judge\. Have them judged: inspect"
    ):
        read_answers(found)


def test_locations_are_shown_as_people_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert readable((tmp_path / "my logs" / "a.eval").as_uri()) == str(Path("my logs/a.eval"))
    assert readable("file:///elsewhere/a%20b.eval") == "/elsewhere/a b.eval"
    assert readable("s3://bucket/a.eval") == "s3://bucket/a.eval"


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("mixed")
    for model in ("gpt-5.1", "gpt-5.1-mini", "other"):
        make_log(folder, tasks("a"), {"a": ["yyy"]}, model=model)
    make_log(folder, "demo", model="gpt-5.1")
    return folder


@pytest.mark.parametrize(
    ("model", "dataset", "found"),
    [
        ("mockllm/gpt-5.1", None, ["gpt-5.1", "gpt-5.1 demo"]),
        ("GPT-5.1", "CL-bench", ["gpt-5.1"]),
        ("mini", None, ["gpt-5.1-mini"]),
        (["mini", "other"], None, ["gpt-5.1-mini", "other"]),
        ((), "demo", ["gpt-5.1 demo"]),
        ((), "cl-bench", ["gpt-5.1", "gpt-5.1-mini", "other"]),
    ],
)
def test_filters(
    mixed: Path, model: str | list[str], dataset: str | None, found: list[str]
) -> None:
    logs = find_logs(mixed, model=model, dataset=dataset)
    names = [log.model.removeprefix("mockllm/") + " demo" * log.is_demo for log in logs]
    assert names == found
    # What was found stands for the paths, and can be chosen from again.
    assert find_logs(logs) == logs
    assert find_logs(logs[-1], model=logs[-1].model) == logs[-1:]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"model": "gpt"},
            "--model gpt: several models have that in their names. There are: "
            "mockllm/gpt-5.1, mockllm/gpt-5.1-mini.",
        ),
        (
            {"model": "claude"},
            "--model claude: no such model. There are: mockllm/gpt-5.1, "
            "mockllm/gpt-5.1-mini, mockllm/other.",
        ),
        (
            {"model": "other", "dataset": "life"},
            "--dataset life: no such dataset. There are: CL-bench.",
        ),
    ],
)
def test_filters_that_fit_nothing_or_too_much(
    mixed: Path, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(ClbenchError) as caught:
        find_logs(mixed, **options)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    "command",
    ["report", "plot -o OUT.svg", "show --task a", "show --near-misses", "costs",
     "check-judge --sheet 1 OUT.csv", "export --to OUT"],
)  # fmt: skip
def test_every_command_that_reads_logs_has_the_filters(
    mixed: Path, tmp_path: Path, command: str
) -> None:
    name, *options = command.replace("OUT", str(tmp_path / "out")).split()
    dataset = "--only-dataset" if name == "export" else "--dataset"
    done = clbench(name, str(mixed), *options, "--model", "other", dataset, "CL-bench")
    assert (done.exit_code, done.stderr.count("clbench: ")) in ((0, 0), (0, 1)), done.stderr
    done = clbench(name, str(mixed), *options, "--model", "nobody")
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith("clbench: --model nobody: no such model. There are: ")


def with_value(log: str, path: Path, value: Any) -> str:
    """A copy of a log in which the first sample's score has another value."""
    with zipfile.ZipFile(log) as whole, zipfile.ZipFile(path, "w") as copy:
        for name in whole.namelist():
            content = whole.read(name)
            if name == "summaries.json":
                known = json.loads(content)
                known[0]["scores"]["rubric_judge"]["value"] = value
                content = json.dumps(known).encode()
            copy.writestr(name, content)
    return str(path)


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        ("C", "solved"), ("CORRECT", "solved"), (1, "solved"), (True, "solved"), (1.0, "solved"),
        ("I", "failed"), ("INCORRECT", "failed"), (0, "failed"), (False, "failed"),
        ("N", "unscored"),
    ],
)  # fmt: skip
def test_values_of_other_writers_are_read(
    log: str, tmp_path: Path, value: Any, outcome: str
) -> None:
    (found,) = find_logs(with_value(log, tmp_path / "clbench.eval", value))
    assert read_answers(found)[0].outcome == outcome


@pytest.mark.parametrize("value", [0.5, 2, "1", "yes", "P", None, [1], {"a": 1}, "c"])
def test_other_values_are_never_a_zero(log: str, tmp_path: Path, value: Any) -> None:
    path = with_value(log, tmp_path / "clbench.eval", value)
    done = clbench("report", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"clbench: {path}: task a, epoch 1, rubric_judge: the score is "
    )
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("key", "value"),
    [("rubrics_total", "many"), ("rubrics_met", -1), ("rubrics_met", 10**40), ("status", ["y"]),
     ("judge", {"a": 1}), ("votes", [1]), ("inconsistent", "perhaps")],
)  # fmt: skip
def test_wrong_types_name_log_and_sample(
    log: str, tmp_path: Path, key: str, value: Any
) -> None:
    whole = read_eval_log(log)
    assert whole.samples
    scores = whole.samples[0].scores or {}
    (scores["rubric_judge"].metadata or {})[key] = value
    path = str(tmp_path / "clbench.eval")
    write_eval_log(whole, path)
    done = clbench("report", path)
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr.startswith(
        f"clbench: {path}: task a, epoch 1, rubric_judge: {key} is "
    ), done.stderr
