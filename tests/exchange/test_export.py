"""What export writes, row by row, and what it says of what it cannot write."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange import export as export_module
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.rows import json_line
from tests.support.answers import (
    demo_rows,
    inference_rows,
    read_lines,
    samples_by_key,
)
from tests.support.builders import metrics_of
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED

INFERENCE = ["idx", "messages", "model_output", "rubrics", "metadata"]
JUDGE_FAILURE = "judge_failure"
GRADED = [*INFERENCE, "grading_rationale", "requirement_status", "score"]


def test_rows_are_the_original_scripts_to_the_key(demo_log: str, tmp_path: Path) -> None:
    (one,) = export([demo_log], tmp_path)

    assert [path.name for path in one.files] == [
        *(f"clbench_demo-student_run{run}.jsonl" for run in (1, 2, 3)),
        *(f"clbench_demo-student_run{run}_graded.jsonl" for run in (1, 2, 3)),
        "leaderboard.json",
    ]
    samples = samples_by_key(demo_log)
    for run, (plain, graded) in enumerate(zip(one.answers, one.graded, strict=True), start=1):
        rows = read_lines(plain)
        for row, graded_row, source in zip(rows, read_lines(graded), demo_rows(), strict=True):
            assert list(row) == INFERENCE
            failed = [JUDGE_FAILURE] if graded_row["idx"] == "demo-rain-harp-1" else []
            assert list(graded_row) == [*GRADED, *failed]
            assert {key: graded_row[key] for key in INFERENCE} == row
            assert row["idx"] == source["metadata"]["task_id"]
            # As text, so that the order of inner keys counts too.
            for key in ("messages", "rubrics", "metadata"):
                assert json.dumps(row[key]) == json.dumps(source[key])
            sample = samples[row["idx"], run]
            score = (sample.scores or {})["rubric_judge"]
            assert row["model_output"] == sample.output.completion
            assert graded_row["score"] == (1 if score.value == "C" else 0)
    assert not list(tmp_path.glob(".clbench*"))


def test_lines_are_text_that_people_can_read(demo_log: str, tmp_path: Path) -> None:
    (one,) = export([demo_log], tmp_path)
    content = one.graded[0].read_text("utf-8")
    assert "“" in content
    assert "\\u" not in content
    first = read_lines(one.graded[0])[0]
    assert content.startswith(json.dumps(first, ensure_ascii=False) + "\n")


def test_zeros_of_the_judge_and_of_silence_say_so(tmp_path: Path) -> None:
    first = demo_rows()[0]["metadata"]["task_id"]
    log = make_log(tmp_path, "demo", {first: [EMPTY], "demo-rain-harp-1": [GARBLED]})
    (one,) = export([log.location], tmp_path / "out")
    by_id = {row["idx"]: row for row in read_lines(one.graded[0])}

    silent = by_id[first]
    assert (silent["model_output"], silent["score"]) == ("", 0)
    assert silent["requirement_status"] == ["no"] * len(silent["rubrics"])
    assert "no answer" in silent["grading_rationale"]

    failed = by_id["demo-rain-harp-1"]
    assert (failed["requirement_status"], failed["score"]) == ([], 0)
    prefix = "No verdict, the judge failed: "
    assert failed["grading_rationale"].startswith(f"{prefix}no_verdict: ")
    error = failed["grading_rationale"].removeprefix(prefix)
    assert failed["judge_failure"] == {"error": error, "unscored": False}
    assert "judge_failure" not in silent
    assert any("the judge failed: 1 row." in note for note in one.notes)


def test_the_leaderboard_object_holds_the_logs_rates(demo_run: EvalLog, tmp_path: Path) -> None:
    (one,) = export([demo_run.location], tmp_path, org="Our Lab")
    board = json.loads((tmp_path / "leaderboard.json").read_text())
    assert board == one.leaderboard
    assert list(board) == [
        "model", "org", "overall", "overall_std", "domain", "domain_std", "rule", "rule_std",
        "procedural", "procedural_std", "pattern", "pattern_std",
    ]  # fmt: skip
    metrics = metrics_of(demo_run)
    assert (board["model"], board["org"]) == ("clbench_demo/student", "Our Lab")
    assert board["overall"] == round(metrics["solving_rate"], 3)
    assert board["overall_std"] == round(metrics["std"], 3)
    assert board["pattern"] == round(metrics["Empirical Discovery & Simulation"], 3)
    assert board["rule_std"] == round(metrics["Rule System Application (std)"], 3)


def test_a_single_run_has_no_spread_and_a_missing_category_no_rate(tmp_path: Path) -> None:
    log = make_log(tmp_path, "demo", task_args={"category": "Rule System Application"})
    (one,) = export([log.location], tmp_path / "out")
    assert one.leaderboard["overall_std"] == one.leaderboard["rule_std"] == 0
    assert one.leaderboard["domain"] is one.leaderboard["domain_std"] is None


def test_what_errored_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    rows = demo_rows()
    ids = [row["metadata"]["task_id"] for row in rows]
    plan = {id: ["nnn", ERROR] for id in ids[:2]}
    log = make_log(tmp_path, "demo", plan, provider="lab", model="m")
    done = clbench("export", log.location, "--to", str(tmp_path / "o"))
    assert done.exit_code == 0
    assert len(read_lines(tmp_path / "o" / "lab-m_run1_graded.jsonl")) == len(rows)
    for name in ("lab-m_run2.jsonl", "lab-m_run2_graded.jsonl"):
        assert [r["idx"] for r in read_lines(tmp_path / "o" / name)] == ids[2:]
    assert f"run 2: no graded row for 2 tasks ({ids[0]}, {ids[1]})" in done.stderr
    assert f"Wrote {tmp_path / 'o' / 'lab-m_run2_graded.jsonl'}\n" in done.stderr
    rows_of_both = 2 * len(rows) - 2
    told = f"lab/m, 2 runs, {rows_of_both} rows, 5 files in {tmp_path / 'o'}\n"
    assert done.stdout == f"Not ready to hand in, see above: {told}"


def test_a_stopped_run_is_exported_as_far_as_it_came(demo_log: str, tmp_path: Path) -> None:
    log = read_eval_log(demo_log)
    log.samples = [s for n, s in enumerate(log.samples or []) if n % 3]
    log.status = "cancelled"
    write_eval_log(log, str(tmp_path / "2026-01-01T00-00-00-00-00_clbench_x.eval"))
    (one,) = export([str(tmp_path)], tmp_path / "out")
    assert sum(len(read_lines(path)) for path in one.graded) == len(log.samples)
    assert any("cancelled" in note for note in one.notes)


def test_several_series_get_a_folder_each_and_further_logs_further_runs(tmp_path: Path) -> None:
    for number, model in enumerate(("a", "a", "b")):
        answers = {row["idx"]: [row["model_output"]] for row in inference_rows(number)}
        make_log(tmp_path / "logs", "demo", provider="lab", model=model, answers=answers)
    one, other = export([str(tmp_path / "logs")], tmp_path / "out")
    assert [path.relative_to(tmp_path / "out").as_posix() for path in one.graded] == [
        "lab-a/lab-a_run1_graded.jsonl",
        "lab-a/lab-a_run2_graded.jsonl",
    ]
    assert [path.relative_to(tmp_path / "out").as_posix() for path in other.answers] == [
        "lab-b/lab-b_run1.jsonl"
    ]
    for number, written in enumerate((*one.answers, *other.answers)):
        found = [row["model_output"] for row in read_lines(written)]
        assert found == [row["model_output"] for row in inference_rows(number)]


def test_parts_of_a_run_become_one_file(tmp_path: Path) -> None:
    for category in ("Rule System Application", "Domain Knowledge Reasoning"):
        make_log(tmp_path / "logs", "demo", task_args={"category": category})
    (one,) = export([str(tmp_path / "logs")], tmp_path / "out")
    (graded,) = one.graded
    categories = [row["metadata"]["context_category"] for row in read_lines(graded)]
    assert set(categories) == {"Rule System Application", "Domain Knowledge Reasoning"}
    assert len(categories) == len({row["idx"] for row in read_lines(graded)})


def test_a_failed_export_leaves_the_good_files_alone(
    demo_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (one,) = export([demo_log], tmp_path)
    good = {path: path.read_bytes() for path in one.files}
    rows = 0

    def full_disk(row: dict[str, Any]) -> bytes:
        nonlocal rows
        rows += 1
        if rows == 50:
            raise OSError(28, "No space left on device")
        return json_line(row)

    monkeypatch.setattr(export_module, "json_line", full_disk)
    with pytest.raises(ClbenchError, match="No space left"):
        export([demo_log], tmp_path)
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == good
