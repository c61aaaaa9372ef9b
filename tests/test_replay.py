"""Answers that exist are judged, or their grades taken over, without a model."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval_retry
from inspect_ai.event import InfoEvent
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.scorer import CORRECT, INCORRECT, Score
from inspect_ai.solver import SolverSpec

from inspect_clbench.errors import ClbenchError
from inspect_clbench.replay import read_answers, replay
from tests.support.builders import Row, answered, graded, metrics_of, row, run_eval, spread_rows, write_rows
from tests.support.scripted import answer_text, scripted_judge

ROWS = spread_rows(4)
TASKS = [record["metadata"]["task_id"] for record in ROWS]


def answers(letters: str = "yyy") -> list[Row]:
    """An inference row for each task."""
    return [answered(record, answer_text(task, letters)) for task, record in zip(TASKS, ROWS, strict=True)]


def replayed(folder: Path, *runs: list[Row], **options: Any) -> EvalLog:
    files = [write_rows(folder / f"run{n}.jsonl", records) for n, records in enumerate(runs)]
    settings: dict[str, Any] = {
        "solver": SolverSpec("inspect_clbench/replay", {"files": files}, {"files": files}),
        "model": "none/lab/model",
        "model_roles": {"grader": scripted_judge()},
        "epochs": len(runs),
    }
    return run_eval(write_rows(folder / "rows.jsonl", ROWS), folder, **settings | options)


def samples_of(log: EvalLog) -> dict[tuple[str, int], EvalSample]:
    return {(str(sample.id), sample.epoch): sample for sample in log.samples or []}


def score_of(sample: EvalSample) -> Score:
    (score,) = (sample.scores or {}).values()
    return score


def test_the_nth_file_is_judged_as_epoch_n(tmp_path: Path) -> None:
    log = replayed(tmp_path, answers("yyy"), answers("yny")[::-1])
    assert log.status == "success", log.error
    assert log.eval.model == "none/lab/model"
    assert list(log.stats.model_usage) == ["mockllm/judge"]
    for (task, epoch), sample in samples_of(log).items():
        letters = ("yyy", "yny")[epoch - 1]
        assert sample.output.completion == sample.messages[-1].text == answer_text(task, letters)
        assert score_of(sample).value == (CORRECT if epoch == 1 else INCORRECT)
        metadata = score_of(sample).metadata or {}
        assert (metadata["status"], metadata["stop_reason"]) == (letters, "unknown")
        # The viewer finds the answer in an event.
        (reference,) = metadata["scanner_references"]
        (event,) = [event for event in sample.events if event.uuid == reference["id"]]
        assert isinstance(event, InfoEvent)
        assert event.data == sample.output.completion


def test_a_missing_row_is_an_error_and_a_null_a_zero(tmp_path: Path) -> None:
    records = [*answers()[1:], answered(row("x"), "a")]  # the last one of no task
    records[0]["model_output"] = None
    log = replayed(tmp_path, records)
    samples = samples_of(log)
    error = samples["t1", 1].error
    assert error is not None
    assert "run0.jsonl: no row for task t1. Add it to the file" in error.message
    assert (score_of(samples["t2", 1]).value, score_of(samples["t2", 1]).reason) == (INCORRECT, "no_response")

    write_rows(tmp_path / "run0.jsonl", [answered(ROWS[0], ""), *records])
    (retried,) = eval_retry(log.location, log_dir=str(tmp_path), display="none")
    assert retried.status == "success"
    assert score_of(samples_of(retried)["t1", 1]).reason == "no_response"


def test_a_run_without_a_file_of_its_own_stops_the_eval_at_its_start(tmp_path: Path) -> None:
    log = replayed(tmp_path, answers(), epochs=2)
    assert log.status == "error"
    assert log.error is not None
    fault = "replay: each run needs a file of its own (files 1, epochs 2). Use --epochs 1"
    assert fault in log.error.message
    assert not log.samples


def test_rows_are_found_by_task_id_or_idx(tmp_path: Path) -> None:
    first, second, third, fourth = answers()
    records = [
        first | {"metadata": {}},
        {key: second[key] for key in ("idx", "model_output")},
        third | {"idx": 2},  # it counts rows
        {key: fourth[key] for key in ("metadata", "model_output")},
    ]
    path = write_rows(tmp_path / "answers.json.xz", records)
    assert read_answers(path) == {task: answer_text(task, "yyy") for task in TASKS}


LINE = json.dumps(answers()[0])


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        (LINE, "row 2: a second answer to task t1"),
        ('{"idx": "cut o', "row 2: not valid JSON"),
        ('{"idx": 7, "model_output": "a"}', "row 2: neither metadata.task_id nor idx names a task"),
        ('{"idx": "b", "model_output": 5}', "row 2, task b: model_output must be there, a text or null"),
        ('{"idx": "b"}', "row 2, task b: model_output must be there"),
    ],
)
def test_unusable_rows_and_files_are_named(line: str, fault: str, tmp_path: Path) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text(f"{LINE}\n{line}\n")
    with pytest.raises(ClbenchError) as caught:
        replay(files=str(path))
    assert str(caught.value).startswith(f"{path}, {fault}")
    for files in ("", ["a.jsonl", ""], "no-such-file.jsonl"):
        with pytest.raises(ClbenchError, match=r"name the files|no-such-file"):
            replay(files=files)


def imported(folder: Path, *runs: list[Row], **arguments: Any) -> EvalLog:
    files = [write_rows(folder / f"run{n}.jsonl", records) for n, records in enumerate(runs)]
    task_args = {"files": files, "judge": "gpt-5.1", **arguments}
    models: dict[str, Any] = {"model": "none/lab/model", "model_roles": {}}
    return run_eval("", folder, task="clbench_graded", task_args=task_args, **models)


def test_graded_rows_become_scores_like_the_scorers(tmp_path: Path) -> None:
    judged = replayed(tmp_path, answers("y?y"))
    grades = {"grading_rationale": "Checked line by line.", "requirement_status": ["yes", "perhaps", "yes"]}
    log = imported(tmp_path, [record | grades | {"score": 0} for record in answers("y?y")])
    assert log.status == "success", log.error
    assert metrics_of(log) == metrics_of(judged)
    for key, sample in samples_of(log).items():
        score, twin = score_of(sample), score_of(samples_of(judged)[key])
        assert (score.value, score.answer, score.reason) == (twin.value, twin.answer, twin.reason)
        metadata, judges = dict(score.metadata or {}), dict(twin.metadata or {})
        assert metadata.keys() == judges.keys() | {"grades"}
        alike = (
            "epoch",
            "status",
            "rubrics_met",
            "rubrics_total",
            "inconsistent",
            "rationales",
            "task_version",
        )
        assert [metadata[name] for name in alike] == [judges[name] for name in alike]
        assert (metadata["judge"], metadata["judge_prompt"]) == ("gpt-5.1", "not recorded")


def test_an_imported_log_says_what_it_is_of(tmp_path: Path) -> None:
    runs = [[graded(record, score) for record in ROWS] for score in (1, 0)]
    del runs[1][0]
    log = imported(tmp_path, *runs)
    assert (log.eval.config.epochs, log.eval.dataset.name, log.eval.task_version) == (2, "CL-bench", 2)
    assert log.eval.headline_metric is not None
    assert log.eval.headline_metric.scorer == "graded_file"
    metadata = log.eval.metadata or {}
    assert log.eval.model == "none/lab/model"
    hashes = metadata["imported_sha256"]
    assert len(set(hashes)) == 2
    # A task that a file lacks is that sample's error.
    assert log.status == "success"
    (failed,) = [sample for sample in log.samples or [] if not sample.scores]
    assert failed.error is not None
    assert "run1.jsonl: no row for task t1" in failed.error.message
    # A copy is known whatever the order of its rows.
    again = imported(tmp_path, runs[1][::-1], dataset="org/name@v1")
    assert (again.eval.metadata or {})["imported_sha256"] == hashes[1:]
    assert again.eval.dataset.name == "org/name@v1"


def test_scores_count_as_in_the_original_script(tmp_path: Path) -> None:
    values: list[Any] = [1, 1.0, True, 0, False, "1", None, 2, 0.5, [1]]
    log = imported(tmp_path, list(map(graded, spread_rows(len(values)), values)))
    scores = [score_of(samples_of(log)[f"t{n}", 1]).value for n in range(1, 11)]
    assert scores == [CORRECT] * 3 + [INCORRECT] * 7
    assert metrics_of(log)["solving_rate"] == 0.3


def test_silence_and_failed_judges_are_no_wrong_answers(tmp_path: Path) -> None:
    rationale = "No verdict, the judge failed: cut_off: {"
    rows = [graded(ROWS[0], 0, answer=" "), graded(ROWS[1], 0, [], rationale), graded(ROWS[2], 0, None, None)]
    samples = samples_of(imported(tmp_path, rows))
    scores = [score_of(samples[task, 1]) for task in TASKS[:3]]
    assert [score.reason for score in scores] == ["no_response", "grader_failed", None]
    assert (scores[1].metadata or {})["judge_error"].endswith("cut_off: {")
    assert (scores[2].metadata or {})["rationales"] == [""]


GOOD = [graded(record, 1) for record in ROWS]


@pytest.mark.parametrize(
    ("runs", "fault"),
    [
        ([answers()], "run0.jsonl, row 1, task t1: not graded, the row has no score. Have the answers judged"),
        ([[GOOD[0], GOOD[0]]], "run0.jsonl, row 2, task t1: this task id already stands in row 1"),
        ([[GOOD[0] | {"rubrics": []}]], "run0.jsonl, row 1, task t1: rubrics"),
        ([[]], "run0.jsonl: the dataset has no rows"),
        ([GOOD, GOOD[::-1]], "run1.jsonl: the same answers and scores as in "),
        ([GOOD, [GOOD[0] | {"rubrics": ["Another."]}]], "run1.jsonl, task t1: messages, rubrics or metadata differ"),
        ([], "No file was named"),
    ],
)  # fmt: skip
def test_files_that_are_no_runs_of_the_same_tasks(runs: list[list[Row]], fault: str, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError) as caught:
        imported(tmp_path, *runs)
    assert fault in str(caught.value)
    assert not list(tmp_path.glob("*.eval"))
