"""Graded files become a log like that of a run."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_ai import score
from inspect_ai.event import InfoEvent
from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from inspect_clbench import ClbenchError, rubric_judge
from inspect_clbench.analysis import load_series, report, show_task
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.imports import Imported, import_graded
from inspect_clbench.logs.files import find_logs
from inspect_clbench.regrade import regrade
from tests.support.answers import (
    graded,
    inference_rows,
    read_lines,
    samples_by_key,
    write_lines,
)
from tests.support.builders import metrics_of
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.programs import inspect
from tests.support.scripted import GARBLED, tasks


@pytest.fixture(scope="module")
def exported(demo_log: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    (one,) = export([demo_log], tmp_path_factory.mktemp("exported"))
    return [str(path) for path in one.graded]


@pytest.fixture(scope="module")
def imported(exported: list[str], tmp_path_factory: pytest.TempPathFactory) -> Imported:
    folder = tmp_path_factory.mktemp("imported")
    return import_graded(exported, judge="gpt-5.1", log_dir=str(folder))


def _texts(sample: EvalSample) -> list[tuple[str, str]]:
    assert isinstance(sample.input, list)
    return [(message.role, message.text) for message in sample.input]


def test_what_was_exported_comes_back_with_the_same_scores(
    demo_run: EvalLog, imported: Imported
) -> None:
    assert (imported.runs, imported.rows, imported.notes) == (3, 72, ())
    log = read_eval_log(imported.log)
    assert metrics_of(log) == metrics_of(demo_run)
    theirs, ours = samples_by_key(demo_run), samples_by_key(log)
    assert ours.keys() == theirs.keys()
    for key, sample in theirs.items():
        first = (sample.scores or {})["rubric_judge"]
        second = (ours[key].scores or {})["graded_file"]
        for field in ("value", "answer", "reason"):
            assert getattr(second, field) == getattr(first, field), key
        if first.reason is None:
            assert second.explanation == first.explanation
        assert first.metadata is not None
        assert second.metadata is not None
        assert second.metadata.keys() == first.metadata.keys()
        for name in ("epoch", "status", "rubrics_met", "rubrics_total", "inconsistent"):
            assert second.metadata.get(name) == first.metadata.get(name), key
        assert _texts(ours[key]) == _texts(sample)
        # What a cache could hold depends on the order in which a run sends its prompts.
        assert ours[key].metadata | {"shared_chars": 0} == sample.metadata | {"shared_chars": 0}
        # The viewer finds messages in calls of models only: here an event shows the answer.
        (reference,) = second.metadata["scanner_references"]
        (event,) = [e for e in ours[key].events if e.uuid == reference["id"]]
        assert reference["type"] == "event"
        assert isinstance(event, InfoEvent)
        data = str(event.data)  # long ones are attachments, as the messages are
        text = ours[key].attachments.get(data.removeprefix("attachment://"), data)
        assert text == sample.output.completion


def test_the_log_is_like_that_of_a_run(
    demo_run: EvalLog, exported: list[str], imported: Imported
) -> None:
    log = read_eval_log(imported.log)
    assert log.status == "success"
    assert log.eval.task_registry_name == "inspect_clbench/clbench_graded"
    assert log.eval.task_args["files"] == exported
    assert log.eval.task_args["judge"] == "gpt-5.1"
    for name in ("task_version", "viewer"):
        assert getattr(log.eval, name) == getattr(demo_run.eval, name), name
    assert log.eval.headline_metric is not None
    assert demo_run.eval.headline_metric is not None
    assert log.eval.headline_metric.scorer == "graded_file"
    assert log.eval.headline_metric.metric == demo_run.eval.headline_metric.metric
    assert log.eval.scorers is not None
    assert demo_run.eval.scorers is not None
    assert log.eval.scorers[0].metrics == demo_run.eval.scorers[0].metrics
    assert log.results is not None
    assert demo_run.results is not None
    assert log.results.headline is not None
    assert demo_run.results.headline is not None
    headlines = (log.results.headline, demo_run.results.headline)
    ours, theirs = (one.model_dump(exclude={"scorer", "score"}) for one in headlines)
    assert ours == theirs
    assert log.results.completed_samples == demo_run.results.completed_samples
    assert log.eval.dataset.sample_ids == demo_run.eval.dataset.sample_ids
    (series,) = load_series([imported.log])
    assert (series.model, series.judge) == ("clbench_demo-student", "gpt-5.1")
    assert series.dataset_name == "CL-bench demo"
    assert series.gaps == ()


@pytest.mark.long
def test_inspect_runs_the_task_too(tmp_path: Path) -> None:
    rows = inference_rows()[:2]
    files = [
        write_lines(tmp_path / "m_run1_graded.jsonl", [graded(row, 1) for row in rows]),
        write_lines(tmp_path / "m_run2_graded.jsonl", [graded(rows[0], 0)]),
    ]
    done = inspect(
        "eval", "inspect_clbench/clbench_graded", "-T", f"files={','.join(files)}",
        "-T", "judge=gpt-5.1", "--model", "none", "--epochs", "2",
        "--log-dir", str(tmp_path / "logs"), "--display", "none", "--no-fail-on-error",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    (series,) = load_series(tmp_path / "logs")
    assert (series.model, series.judge, series.runs) == ("m", "gpt-5.1", 2)
    outcomes = {(a.task_id, a.run): a.outcome for a in series.answers}
    first, second = (row["idx"] for row in rows)
    assert outcomes == {
        (first, 1): "solved",
        (second, 1): "solved",
        (first, 2): "failed",
        (second, 2): "errored",  # the file has no such row
    }


@pytest.mark.parametrize(
    ("failure", "outcome", "rate"), [("zero", "failed", 1 / 3), ("unscored", "unscored", 0.5)]
)
def test_failures_of_the_judge_come_back(
    failure: str, outcome: str, rate: float, tmp_path: Path
) -> None:
    plan = {"a": ["yyy"], "b": [GARBLED], "c": ["nnn"]}
    log = make_log(tmp_path, tasks(*plan), plan, task_args={"judge_failure": failure})
    (one,) = export([log.location], tmp_path / "out")
    told: dict[str, Any] = {
        row["idx"]: row.get("judge_failure") for row in read_lines(one.graded[0])
    }
    assert told["b"]["unscored"] is (failure == "unscored")
    assert told["b"]["error"].startswith("no_verdict: ")
    assert told["a"] is told["c"] is None

    imported = import_graded([str(one.graded[0])], log_dir=str(tmp_path / "logs"))
    (theirs,), (ours,) = load_series([log.location]), load_series([imported.log])
    for series in (theirs, ours):
        failed = {a.task_id: (a.outcome, a.reason) for a in series.answers}["b"]
        assert failed == (outcome, "grader_failed")
        assert series.judge_coverage == pytest.approx(2 / 3)
    rates = [
        report(path).tables[0].rows[0].solving_rate for path in (log.location, imported.log)
    ]
    assert rates == pytest.approx([rate, rate])
    (verdict,) = show_task(imported.log, "b").verdicts
    assert verdict.error == told["b"]["error"]


def test_an_imported_log_can_be_judged_anew(exported: list[str], tmp_path: Path) -> None:
    imported = import_graded(exported[:1], log_dir=str(tmp_path))
    again = score(
        read_eval_log(imported.log),
        rubric_judge(),
        model_roles={"grader": "clbench_demo/judge"},
        action="append",
        display="none",
    )
    assert again.samples
    for sample in again.samples:
        old, new = (sample.scores or {}).values()
        # The demo's judge has a verdict on every row when it is asked again.
        assert new.value == old.value or old.reason == "grader_failed"


def test_a_score_counts_as_in_the_original_script(tmp_path: Path) -> None:
    values: list[Any] = [1, 1.0, True, 0, 0.0, False, "1", None, 2, 0.5, [1]]
    rows = inference_rows()[: len(values)]
    path = write_lines(tmp_path / "a.jsonl", list(map(graded, rows, values)))
    imported = import_graded([path], log_dir=str(tmp_path))
    (series,) = load_series([imported.log])
    solved = {answer.task_id for answer in series.answers if answer.solved}
    assert solved == {row["idx"] for row in rows[:3]}
    assert metrics_of(read_eval_log(imported.log))["solving_rate"] == 3 / 11
    (note,) = imported.notes
    assert note.startswith("a score other than 0 and 1 counts as not solved: 5 rows (")
    for row, value in list(zip(rows, values, strict=True))[6:9]:
        assert f"{row['idx']} in run 1: {value!r}" in note


def test_rows_that_differ_between_files_are_named(tmp_path: Path) -> None:
    rows = [graded(row, 1) for row in inference_rows()]
    changed = {**rows[4], "rubrics": ["Something else."]}
    files = [
        write_lines(tmp_path / "m_run1.jsonl", rows[:10]),
        write_lines(tmp_path / "m_run2.jsonl", [*rows[2:4], changed, *rows[5:11]]),
    ]
    imported = import_graded(files, log_dir=str(tmp_path))
    ids = [row["idx"] for row in rows]
    assert imported.notes == (
        f"{files[0]}: without 1 task that other files have ({ids[10]}).",
        f"{files[1]}: without 2 tasks that other files have ({ids[0]}, {ids[1]}).",
        "messages, rubrics or metadata differ from those of the same task in an earlier "
        f"file, which is taken: 1 row ({ids[4]}).",
    )
    (series,) = load_series([imported.log])
    scored = [[a.task_id for a in series.scored if a.run == run] for run in (1, 2)]
    assert [len(answers) for answers in scored] == [10, 9]
    assert series.gaps


def test_the_same_files_twice_are_one_run(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "m.jsonl", [graded(row, 1) for row in inference_rows()[:3]])
    for _ in range(2):
        import_graded([path], model="m", log_dir=str(tmp_path / "logs"))
    (series,) = load_series([str(tmp_path / "logs")])
    assert series.runs == 1
    (row,) = report(tmp_path / "logs").tables[0].rows
    assert (row.counts["runs"], row.counts["total"]) == (1, 3)


def test_a_file_imported_alone_and_with_others_counts_once(tmp_path: Path) -> None:
    rows = inference_rows()[:3]
    first = write_lines(tmp_path / "one.jsonl", [graded(row, 1) for row in rows])
    second = write_lines(tmp_path / "two.jsonl", [graded(row, 0) for row in rows])
    shuffled = write_lines(tmp_path / "copy.jsonl", [graded(row, 1) for row in rows[::-1]])
    import_graded([first, second], model="m", log_dir=str(tmp_path / "logs"))
    alone = import_graded([shuffled], model="m", log_dir=str(tmp_path / "logs"))
    (series,) = load_series([str(tmp_path / "logs")])
    assert series.runs == 2
    ((log, reason),) = series.passed_over
    assert str(log) == alone.log
    assert reason.startswith("its answers are counted already, from ")
    with pytest.raises(ClbenchError, match=r"copy.jsonl: the same answers and scores as in"):
        import_graded([first, shuffled], model="m", log_dir=str(tmp_path / "more"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda rows: [inference_rows()[0]], "row 1: not graded, the row has no score"),
        (
            lambda rows: [rows[0], rows[0]],
            "row 2, task {id}: the task id already stands in row 1",
        ),
        (lambda rows: [rows[0] | {"rubrics": []}], "row 1, task {id}: rubrics"),
        (lambda rows: [rows[0] | {"model_output": 3}], "row 1, task {id}: model_output"),
        (lambda rows: [], "no rows"),
    ],
)
def test_files_that_are_not_graded_files_are_refused(
    change: Any, message: str, tmp_path: Path
) -> None:
    rows = [graded(row, 1) for row in inference_rows()]
    path = write_lines(tmp_path / "a.jsonl", change(rows))
    with pytest.raises(ClbenchError) as caught:
        import_graded([path], log_dir=str(tmp_path))
    assert path in str(caught.value)
    assert message.format(id=rows[0]["idx"]) in str(caught.value)
    assert not list(tmp_path.glob("*.eval"))


def _nested(depth: int) -> Any:
    return [_nested(depth - 1)] if depth else "yes"


def test_statuses_may_be_nested_but_not_for_ever(tmp_path: Path) -> None:
    row = graded(inference_rows()[0], 1)
    paths = [
        write_lines(
            tmp_path / f"m{depth}.jsonl", [row | {"requirement_status": [_nested(depth)]}]
        )
        for depth in (150, 300, 900)
    ]
    imported = import_graded(paths[:1], log_dir=str(tmp_path / "logs"))
    (one,) = export([imported.log], tmp_path / "out")
    assert read_lines(one.graded[0])[0]["requirement_status"] == [_nested(150)]
    for path in paths[1:]:
        code, out, err = clbench("import", path, "--log-dir", str(tmp_path / "logs"))
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert f"{path}, row 1: not valid JSON (recursion limit exceeded" in err


_TEXT = st.text(min_size=1, max_size=40).filter(str.strip)
_WORDS = st.sampled_from(["yes", "no", "Yes.", "partially", ""])


@st.composite
def _graded_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for row in draw(st.lists(st.sampled_from(inference_rows()), min_size=4, max_size=12, unique_by=lambda r: str(r["idx"]))):  # fmt: skip
        status = draw(st.lists(_WORDS, max_size=len(row["rubrics"]) + 1))
        answered = row | {"model_output": draw(_TEXT)}
        rows.append(graded(answered, draw(st.sampled_from([0, 1])), status, draw(_TEXT)))
    return rows


@pytest.mark.long
@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_graded_rows())
def test_any_graded_rows_survive_the_way_in_and_out(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "m.jsonl", rows)
    (one,) = export([import_graded([path], log_dir=str(tmp_path)).log], tmp_path / "out")
    assert read_lines(one.graded[0]) == rows


def test_the_command_says_where_the_log_is(exported: list[str], tmp_path: Path) -> None:
    done = clbench("import", exported[0], "--model", "M 1", "--log-dir", str(tmp_path))
    assert done.exit_code == 0
    (log,) = find_logs([done.stdout.strip()])
    assert log.model == "M 1"


def test_imported_rows_without_a_verdict_can_be_judged_again(tmp_path: Path) -> None:
    rows = [graded(row, 1) for row in inference_rows()]
    for row in rows[:2]:
        row |= graded(row, 0, []) | {"judge_failure": {"error": "cut_off: x"}}
    files = [write_lines(tmp_path / "m_graded.jsonl", rows)]
    log = import_graded(files, log_dir=str(tmp_path / "logs")).log
    done = regrade(log, judge="clbench_demo/judge")
    assert done.asked == 2
    samples = samples_by_key(log)
    scores = [samples[row["idx"], 1].scores or {} for row in rows]
    assert all(list(found) == ["graded_file"] for found in scores)
    judges = [(found["graded_file"].metadata or {})["judge"] for found in scores]
    assert judges == ["clbench_demo/judge"] * 2 + ["not recorded"] * (len(rows) - 2)
