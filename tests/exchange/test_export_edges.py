"""Export at its edges: odd text, large files, old files, wrong places, real rows."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, Score

from inspect_clbench import rubric_judge
from inspect_clbench.analysis import load_series, show_task
from inspect_clbench.benchmarks import CLBENCH_LIFE
from inspect_clbench.data.sources import read_file_rows, read_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange import export as export_module
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.imports import import_graded
from inspect_clbench.exchange.rows import grading, json_line
from inspect_clbench.exchange.verify import verify
from inspect_clbench.logs.series import trials_of
from inspect_clbench.metrics.solving import run_rates
from tests.support.answers import read_lines
from tests.support.logs import make_log
from tests.support.scripted import ERROR, scripted_judge, tasks


def test_half_characters_become_escapes_and_come_back() -> None:
    text = "half \ud800, separator \u2028, whole \U0001f600, ä"
    line = json_line({"model_output": text})
    assert json.loads(line) == {"model_output": text}
    assert b"half \\ud800" in line
    assert "\u2028, whole \U0001f600, ä".encode() in line


def test_an_answer_with_a_half_character_is_exported(demo_log: str, tmp_path: Path) -> None:
    log = read_eval_log(demo_log)
    assert log.samples
    log.samples[0].output = ModelOutput.from_content("m", "half \ud800")
    location = tmp_path / "2026-01-01T00-00-00-00-00_clbench_x.json"
    write_eval_log(log, str(location))
    (one,) = export([str(location)], tmp_path / "out")
    rows = {row["idx"]: row for row in read_lines(one.answers[log.samples[0].epoch - 1])}
    assert rows[str(log.samples[0].id)]["model_output"].startswith("half ")


def test_large_files_are_pointed_out(
    demo_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(export_module, "_LARGE_BYTES", 95_000)
    (one,) = export([demo_log], tmp_path)
    (note,) = [note for note in one.notes if "100 MB" in note]
    assert "student_run1_graded.jsonl" in note
    assert "student_run1.jsonl" not in note


def test_files_of_an_earlier_export_are_pointed_out(tmp_path: Path) -> None:
    for epochs in (2, 1):
        log = make_log(tmp_path / str(epochs), "demo", epochs=epochs, provider="lab", model="m")
        (one,) = export([log.location], tmp_path / "out")
    old = "remove them: lab-m_run2.jsonl, lab-m_run2_graded.jsonl"
    assert any(old in note for note in one.notes)


def test_the_name_of_a_model_cannot_leave_the_folder(tmp_path: Path) -> None:
    log = make_log(tmp_path, "demo", provider="..", model="../etc/x y", limit=2)
    (one,) = export([log.location], tmp_path / "out")
    assert {file.parent for file in one.files} == {tmp_path / "out"}
    assert one.answers[0].name == "etc-x-y_run1.jsonl"
    assert one.leaderboard["model"] == "../../etc/x y"


@pytest.mark.parametrize("to", ["s3://bucket/x", "{file}"])
def test_places_that_are_no_folder_are_refused(to: str, demo_log: str, tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(ClbenchError):
        export([demo_log], to.format(file=file))


@pytest.mark.parametrize(
    ("value", "rationale", "score"), [(CORRECT, "b says yes", 1), (INCORRECT, "a says no", 0)]
)
def test_a_panels_row_holds_the_majority(value: str, rationale: str, score: int) -> None:
    votes: list[dict[str, Any]] = [
        {"judge": "a", "solved": False},
        {"judge": "b", "solved": True},
        {"judge": "c", "solved": score == 1},
    ]
    metadata = {
        "votes": votes,
        "rationales": ["a says no", "b says yes", "c joins them"],
        "status": "yny",
        "requirement_status": ["no"],
    }
    assert grading(Score(value=value, metadata=metadata)) == {
        "grading_rationale": rationale,
        "requirement_status": ["yes", "no", "yes"],
        "score": score,
    }


def test_life_keeps_its_own_names(tmp_path: Path) -> None:
    log = make_log(tmp_path, "demo", task="clbench_life")
    (one,) = export([log.location], tmp_path / "out")
    rows = {row["metadata"]["task_id"]: row for _, row in read_rows("demo", CLBENCH_LIFE)}
    written = read_lines(one.graded[0])
    assert [row["idx"] for row in written] == list(rows)
    for row in written:
        for key, value in rows[row["idx"]].items():
            assert json.dumps(row[key]) == json.dumps(value)
    assert {"interpersonal", "thought_std", "behavior"} <= one.leaderboard.keys()

    imported = import_graded([str(one.graded[0])], log_dir=str(tmp_path / "imported"))
    (theirs,), (ours,) = load_series([log.location]), load_series([imported.log])
    assert ours.dataset_name == theirs.dataset_name == "CL-bench Life demo"
    assert run_rates(trials_of(ours.answers)) == run_rates(trials_of(theirs.answers))
    assert verify([tmp_path / "out"]).problems == ()


@pytest.mark.long
def test_real_rows_come_out_as_they_went_in(real_data: str, tmp_path: Path) -> None:
    rows = {record["metadata"]["task_id"]: record for _, record in read_file_rows(real_data)}
    hostile = [
        task_id
        for task_id, row in rows.items()
        if any(mark in json.dumps(row) for mark in ("<think>", "\\u2028", "\\u0085"))
    ]
    assert hostile
    chosen = [*hostile[:6], *list(rows)[:2]]
    log = make_log(tmp_path, [rows[task_id] for task_id in chosen])
    (one,) = export([log.location], tmp_path / "out")
    written = read_lines(one.graded[0])
    assert {row["idx"] for row in written} == set(chosen)
    for row in written:
        for key, value in rows[row["idx"]].items():
            assert json.dumps(row[key]) == json.dumps(value)


def test_a_second_judge_is_found_where_some_samples_ended_in_errors(tmp_path: Path) -> None:
    plan = {"t1": ["yyy"], "t2": ["nnn"], "t3": [ERROR]}
    first = make_log(tmp_path, tasks(*plan), plan)
    location = first.location
    judged = score(
        read_eval_log(location),
        rubric_judge(),
        action="append",
        model_roles={"grader": scripted_judge("contrary", turn=True)},
    )
    write_eval_log(judged, location)
    assert [(v.answer.judge, v.answer.outcome) for v in show_task(location, "t2").verdicts] == [
        ("mockllm/judge", "failed"),
        ("mockllm/contrary", "solved"),
    ]
    exported = export([location], tmp_path / "out")
    scores = [[row["score"] for row in read_lines(one.graded[0])] for one in exported]
    assert scores == [[1, 0], [0, 1]]


def test_another_models_files_are_not_written_over(tmp_path: Path) -> None:
    logs = [
        make_log(tmp_path, tasks("a"), provider="lab", model=model).location
        for model in ("m.1", "m 1", "m.1")
    ]
    out = tmp_path / "out"
    export([logs[0]], out)
    export([logs[2]], out)
    before = {path: path.read_bytes() for path in out.iterdir()}
    with pytest.raises(ClbenchError, match=r"of the model lab/m\.1, not of lab/m 1"):
        export([logs[1]], out)
    assert {path: path.read_bytes() for path in out.iterdir()} == before
    (out / "leaderboard.json").write_text("[]")
    with pytest.raises(ClbenchError, match="not a leaderboard's object"):
        export([logs[0]], out)


def test_samples_without_uuid_do_not_merge_runs(tmp_path: Path) -> None:
    names = ("a", "b")
    for number in range(2):
        answers = {name: [f"{name}{number}1", f"{name}{number}2"] for name in names}
        log = make_log(tmp_path / "logs", tasks(*names), epochs=2, answers=answers)
        for sample in log.samples or []:
            sample.uuid = None
        write_eval_log(log, log.location)
    (one,) = export([str(tmp_path / "logs")], tmp_path / "out")
    found = [[row["model_output"] for row in read_lines(path)] for path in one.answers]
    assert found == [["a01", "b01"], ["a02", "b02"], ["a11", "b11"], ["a12", "b12"]]


def test_answers_are_not_for_everybody_under_a_narrow_umask(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a")).location
    before = os.umask(0o077)
    try:
        (one,) = export([log], tmp_path / "out")
    finally:
        os.umask(before)
    assert {path.stat().st_mode & 0o777 for path in one.files} == {0o600}


@pytest.mark.long
def test_a_killed_export_leaves_nothing_that_is_blamed(demo_log: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = (
        "import os, signal\n"
        "from inspect_clbench.exchange import export\n"
        "write, rows = export.json_line, []\n"
        "def killed(row):\n"
        "    rows.append(row)\n"
        "    if len(rows) == 50:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return write(row)\n"
        "export.json_line = killed\n"
        f"export.export([{demo_log!r}], {str(out)!r})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -9, done.stderr
    assert list(out.iterdir())
    (one,) = export([demo_log], out)
    assert set(verify([out]).files) == {str(path) for path in (*one.answers, *one.graded)}
