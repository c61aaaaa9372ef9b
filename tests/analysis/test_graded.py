"""Graded files become a log like that of a run."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from inspect_ai import score
from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from inspect_clbench import ClbenchError, rubric_judge
from inspect_clbench.analysis.originals.export import export
from inspect_clbench.analysis.originals.graded import import_graded
from inspect_clbench.analysis.reading.records import find_logs
from inspect_clbench.analysis.reading.series import load_series
from inspect_clbench.cli import main
from tests.support.answers import (
    graded,
    inference_rows,
    read_lines,
    samples_by_key,
    write_lines,
)
from tests.support.builders import metrics_of


@pytest.fixture(scope="module")
def exported(demo_log: str, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    (one,) = export([demo_log], tmp_path_factory.mktemp("exported"))
    return [str(path) for path in one.graded]


def _texts(sample: EvalSample) -> list[tuple[str, str]]:
    assert isinstance(sample.input, list)
    return [(message.role, message.text) for message in sample.input]


def test_what_was_exported_comes_back_with_the_same_scores(
    demo_run: EvalLog, exported: list[str], tmp_path: Path
) -> None:
    imported = import_graded(exported, log_dir=str(tmp_path))

    assert (imported.runs, imported.rows, imported.notes) == (3, 72, ())
    log = read_eval_log(imported.log)
    assert metrics_of(log) == metrics_of(demo_run)
    theirs, ours = samples_by_key(demo_run), samples_by_key(log)
    assert ours.keys() == theirs.keys()
    for key, sample in theirs.items():
        first, second = ((s.scores or {})["rubric_judge"] for s in (sample, ours[key]))
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
        assert ours[key].metadata == sample.metadata
        (reference,) = second.metadata["scanner_references"]
        assert reference["id"] == ours[key].messages[-1].id


def test_the_log_is_like_that_of_a_run(
    demo_run: EvalLog, exported: list[str], tmp_path: Path
) -> None:
    imported = import_graded(exported, judge="gpt-5.1", log_dir=str(tmp_path))
    log = read_eval_log(imported.log)
    assert log.status == "success"
    for name in ("task", "task_version", "headline_metric", "viewer", "task_registry_name"):
        assert getattr(log.eval, name) == getattr(demo_run.eval, name), name
    assert log.eval.scorers is not None
    assert demo_run.eval.scorers is not None
    assert log.eval.scorers[0].metrics == demo_run.eval.scorers[0].metrics
    assert log.results is not None
    assert demo_run.results is not None
    assert log.results.headline == demo_run.results.headline
    assert log.results.completed_samples == demo_run.results.completed_samples
    assert log.eval.dataset.sample_ids == demo_run.eval.dataset.sample_ids
    (series,) = load_series([str(tmp_path)])
    assert (series.model, series.judge) == ("clbench_demo-student", "gpt-5.1")
    assert series.benchmark == "CL-bench demo"
    assert series.gaps == ()


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
        assert old.value == new.value


@pytest.mark.parametrize("value", [1, 1.0, True, 0, 0.0, False, "1", None, 2, 0.5, [1]])
def test_a_score_counts_as_in_the_original_script(value: Any, tmp_path: Path) -> None:
    rows = inference_rows()
    files = [write_lines(tmp_path / "a.jsonl", [graded(rows[0], value), graded(rows[1], 0)])]
    imported = import_graded(files, log_dir=str(tmp_path))
    metrics = metrics_of(read_eval_log(imported.log))
    assert metrics["solving_rate"] == (0.5 if value == 1 else 0)
    odd = value not in (0, 1)
    assert len(imported.notes) == int(odd)
    assert not odd or f"{rows[0]['idx']} in run 1: {value!r}" in imported.notes[0]


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
        f"file: 1 row ({ids[4]}).",
    )
    (series,) = load_series([imported.log])
    assert [len([r for r in series.records if r.run == run]) for run in (1, 2)] == [10, 9]
    assert series.gaps


def test_the_same_files_twice_are_one_run(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "m.jsonl", [graded(row, 1) for row in inference_rows()])
    for _ in range(2):
        import_graded([path], model="m", log_dir=str(tmp_path / "logs"))
    (series,) = load_series([str(tmp_path / "logs")])
    assert series.runs == 1


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


_TEXT = st.text(min_size=1, max_size=40).filter(str.strip)
_WORDS = st.sampled_from(["yes", "no", "Yes.", "partially", ""])


@st.composite
def _graded_rows(draw: st.DrawFn) -> list[dict[str, Any]]:
    rows = []
    for row in draw(st.lists(st.sampled_from(inference_rows()), min_size=1, max_size=3, unique_by=lambda r: str(r["idx"]))):  # fmt: skip
        status = draw(st.lists(_WORDS, max_size=len(row["rubrics"]) + 1))
        answered = row | {"model_output": draw(_TEXT)}
        rows.append(graded(answered, draw(st.sampled_from([0, 1])), status, draw(_TEXT)))
    return rows


@pytest.mark.long
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(_graded_rows())
def test_any_graded_rows_survive_the_way_in_and_out(
    tmp_path: Path, rows: list[dict[str, Any]]
) -> None:
    path = write_lines(tmp_path / "m.jsonl", rows)
    (one,) = export([import_graded([path], log_dir=str(tmp_path)).log], tmp_path / "out")
    assert read_lines(one.graded[0]) == rows


def test_the_command_says_where_the_log_is(
    exported: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    argv = ["clbench", "import", *exported, "--model", "M 1", "--log-dir", str(tmp_path)]
    monkeypatch.setattr("sys.argv", argv)
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    (log,) = find_logs([capsys.readouterr().out.strip()])
    assert log.model == "M 1"
