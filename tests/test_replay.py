"""Answers that exist are graded without a model."""

import json
import logging
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval_retry
from inspect_ai.scorer import INCORRECT
from inspect_ai.util import registry_create, registry_info

from inspect_clbench import ClbenchError, replay
from inspect_clbench.logs.files import find_logs
from tests.support.answers import (
    inference_rows,
    replayed,
    samples_by_key,
    write_lines,
)
from tests.support.builders import metrics_of
from tests.support.programs import inspect
from tests.support.rows import packed
from tests.support.server import LoopbackServer, Reply, Script


def test_replayed_answers_get_the_scores_of_the_run_they_come_from(
    demo_log: str, tmp_path: Path
) -> None:
    run = samples_by_key(demo_log)
    rows = inference_rows()
    paths = []
    for epoch in (1, 2, 3):
        answers = {id: s.output.completion for (id, e), s in run.items() if e == epoch}
        told = [row | {"model_output": answers[row["idx"]]} for row in rows]
        paths.append(write_lines(tmp_path / f"student_run{epoch}.jsonl", told))

    log = replayed(paths, tmp_path / "logs")

    assert log.status == "success", log.error
    assert set(log.stats.model_usage) == {"clbench_demo/judge"}
    again = samples_by_key(log)
    assert again.keys() == run.keys()
    for key, sample in run.items():
        assert again[key].output.completion == sample.output.completion
        assert again[key].messages[-1].text == sample.output.completion
        theirs, ours = sample.scores["rubric_judge"], again[key].scores["rubric_judge"]  # type: ignore[index]  # every sample here has scores and metadata
        assert (ours.value, ours.reason) == (theirs.value, theirs.reason)
        assert ours.metadata["status"] == theirs.metadata["status"]  # type: ignore[index]  # every sample here has scores and metadata
    assert find_logs([str(tmp_path / "logs")])[0].model == "student"


@pytest.mark.parametrize("epochs", [1, 3])
def test_files_that_do_not_fit_the_epochs_stop_the_run_before_anything_is_judged(
    epochs: int, tmp_path: Path, serve: Callable[[Script], LoopbackServer]
) -> None:
    server = serve(lambda call: Reply("ready"))
    paths = [write_lines(tmp_path / f"run{n}.jsonl", inference_rows(n)) for n in (1, 2)]

    log = replayed(
        paths, tmp_path, epochs=epochs, model_roles={"grader": "openai-api/loop/judge"}
    )

    assert log.status == "error"
    assert log.error is not None
    assert f"2 file(s) for {epochs} epoch(s)" in log.error.message
    assert not log.samples
    assert server.calls == []


def test_a_missing_row_is_an_error_and_a_null_answer_a_zero(tmp_path: Path) -> None:
    rows = inference_rows()
    missing, null = rows[0]["idx"], rows[1]["idx"]
    rows[1]["model_output"] = None
    path = write_lines(tmp_path / "a.jsonl", rows[1:])

    log = replayed([path], tmp_path)

    samples = samples_by_key(log)
    error = samples[missing, 1].error
    assert error is not None
    assert f"no row for task {missing}" in error.message
    assert not samples[missing, 1].scores
    score = samples[null, 1].scores["rubric_judge"]  # type: ignore[index]  # every sample here has scores and metadata
    assert (score.value, score.reason) == (INCORRECT, "no_response")
    assert samples[null, 1].output.choices
    assert metrics_of(log)["no_response"] >= 1
    assert sum(bool(sample.scores) for sample in samples.values()) == len(rows) - 1


def test_a_completed_file_completes_the_run(tmp_path: Path) -> None:
    rows = inference_rows()
    path = write_lines(tmp_path / "a.jsonl", rows[3:])
    log = replayed([path], tmp_path)
    write_lines(tmp_path / "a.jsonl", rows)

    (retried,) = eval_retry(log.location, log_dir=str(tmp_path), display="none")

    assert retried.status == "success"
    assert all(sample.scores for sample in samples_by_key(retried).values())


def test_rows_of_no_task_are_named_and_left_out(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    rows = inference_rows()
    strangers = [rows[0] | {"idx": f"x-{n}", "metadata": {}} for n in range(5)]
    path = write_lines(tmp_path / "a.jsonl", [*rows, *strangers])

    with caplog.at_level(logging.WARNING, "inspect_clbench.solvers"):
        log = replayed([path], tmp_path)

    assert log.status == "success"
    (warning,) = [r.message for r in caplog.records if r.name == "inspect_clbench.solvers"]
    assert warning.startswith(f"{path}: 5 of {len(rows) + 5} rows fit no task of this run")
    assert "x-0, x-1, x-2 and 2 more" in warning


def test_a_file_of_another_dataset_stops_the_run(tmp_path: Path) -> None:
    rows = [row | {"idx": f"x-{n}", "metadata": {}} for n, row in enumerate(inference_rows())]
    log = replayed([write_lines(tmp_path / "a.jsonl", rows)], tmp_path)
    assert log.status == "error"
    assert log.error is not None
    assert "none of its 24 rows fits a task" in log.error.message


@pytest.mark.parametrize("ending", [".jsonl.xz", ".json"])
def test_compressed_files_are_read(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"a{ending}"
    path.write_bytes(packed(inference_rows(), ending))
    log = replayed([str(path)], tmp_path, limit=2)
    assert log.status == "success"
    assert find_logs([log.location])[0].model == "a"


def test_rows_are_matched_by_task_id_or_idx(tmp_path: Path) -> None:
    first, second, third, fourth, *_ = inference_rows()
    rows = [
        {**first, "metadata": {}},
        {key: second[key] for key in ("idx", "model_output")},
        {**third, "idx": 2},  # it counts rows
        {key: fourth[key] for key in ("metadata", "model_output")},
    ]
    log = replayed([write_lines(tmp_path / "a.jsonl", rows)], tmp_path, limit=4)
    assert log.status == "success"
    samples = samples_by_key(log)
    for row in (first, second, third, fourth):
        assert samples[row["idx"], 1].output.completion == row["model_output"]


def _with(**changed: Any) -> str:
    return json.dumps({**inference_rows()[0], **changed})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (_with(), "row 2: task {id} already stands in row 1"),
        ('{"idx": "cut o', "row 2: not valid JSON"),
        ("[1]", "row 2: neither metadata.task_id nor idx names a task"),
        (_with(idx=7, metadata=None), "row 2: neither metadata.task_id nor idx"),
        (
            _with(idx="b", metadata={}, model_output=5),
            "row 2, task b: model_output must be text",
        ),
        ('{"idx": "b"}', "row 2, task b: the row has no model_output"),
    ],
)
def test_unusable_lines_are_errors_before_the_run(
    line: str, message: str, tmp_path: Path
) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{_with()}\n{line}\n")
    with pytest.raises(ClbenchError) as caught:
        replay(files=str(path))
    assert f"{path}, " + message.format(id=inference_rows()[0]["idx"]) in str(caught.value)


@pytest.mark.parametrize("files", ["", [], ["a.jsonl", ""], "no-such-file.jsonl", "a.txt"])
def test_files_must_be_named_and_there(files: str | list[str]) -> None:
    with pytest.raises(ClbenchError):
        replay(files=files)


def test_a_file_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = Path(write_lines(tmp_path / "a.jsonl", inference_rows()))
    replay(files=str(path))
    stat = path.stat()
    path.write_bytes(b"x" * stat.st_size)  # nothing but its content has changed
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    with pytest.raises(ClbenchError, match="row 1: not valid JSON"):
        replay(files=str(path))


def test_the_solver_is_registered_and_the_given_name_wins(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "gpt_run1.jsonl", inference_rows())
    solver = registry_create("solver", "inspect_clbench/replay", files=path)
    assert registry_info(solver).name == "inspect_clbench/replay"
    log = replayed([path], tmp_path, model_name="GPT (low)", limit=1)
    assert find_logs([log.location])[0].model == "GPT (low)"
    assert samples_by_key(log).popitem()[1].output.model == "GPT (low)"


@pytest.mark.long
def test_the_model_of_the_command_line_names_who_answered(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "run1.jsonl", inference_rows())
    log = replayed([path], tmp_path, model="none/acme/large", limit=1)
    assert log.eval.model == "none/acme/large"  # which Inspect's viewer shows
    assert log.samples
    assert log.samples[0].output.model == "acme/large"
    assert find_logs([log.location])[0].model == "acme/large"


def test_the_command_line_of_the_readme(tmp_path: Path) -> None:
    for run in (1, 2):
        write_lines(tmp_path / f"m_run{run}.jsonl", inference_rows(run))
    command = (
        "eval inspect_clbench/clbench -T dataset=demo --solver inspect_clbench/replay "
        "-S files=m_run1.jsonl,m_run2.jsonl --epochs 2 --model none --limit 2 "
        "--model-role grader=clbench_demo/judge --log-dir logs --display none"
    )
    done = inspect(*command.split(), cwd=tmp_path)
    assert done.exit_code == 0, done.stderr
    (log,) = find_logs([str(tmp_path / "logs")])
    assert (log.header.status, log.model, log.epochs) == ("success", "m", 2)
