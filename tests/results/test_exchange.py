"""The original scripts' files: what goes in comes out as it was, and what is missing is said."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.exchange import export_files, import_files
from tests.support.builders import Row, answered, graded, read_lines, row, spread_rows, write_rows
from tests.support.logs import MISSING, make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, answer_text, tasks

INFERENCE = ["idx", "messages", "model_output", "rubrics", "metadata"]
GRADED = [*INFERENCE, "grading_rationale", "requirement_status", "score"]
# Of a dataset whose size nobody knows: a run is complete when it has every task of the others.
DATASET = "org/name@v1"


def exported(
    folder: Path, rows: Sequence[Row], plan: Mapping[str, Sequence[str]], **options: Any
) -> list[Path]:
    log = make_log(folder / "logs", rows, plan, **{"dataset": DATASET, "model": "lab/m", **options})
    return export_files(answers_df(log), folder / "out")


def graded_rows(folder: Path, run: int = 1) -> dict[str, Row]:
    return {record["idx"]: record for record in read_lines(folder / "out" / f"lab-m_run{run}_graded.jsonl")}


def test_each_run_has_two_files_as_the_scripts_write_them(tmp_path: Path) -> None:
    rows = spread_rows(3)
    rows[0]["messages"][1]["content"] += " “Umlaut” ä\u2028\u0085"
    plan = {"t1": ["yyy", "yny"], "t2": ["yyy", "yyy"], "t3": ["nn?", "yyy!"]}
    paths = exported(tmp_path, rows, plan)
    assert [path.name for path in paths] == [
        "lab-m_run1.jsonl", "lab-m_run1_graded.jsonl", "lab-m_run2.jsonl", "lab-m_run2_graded.jsonl",
        "lab-m_leaderboard.json",
    ]  # fmt: skip
    for run in (1, 2):
        inference = (tmp_path / "out" / f"lab-m_run{run}.jsonl").read_text("utf-8")
        expected = [answered(record, answer_text(record["metadata"]["task_id"], plan[record["metadata"]["task_id"]][run - 1])) for record in rows]  # fmt: skip
        # As text: keys in this order at every level, and nothing escaped.
        assert inference == "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in expected)
        for record, whole in zip(expected, graded_rows(tmp_path, run).values(), strict=True):
            assert list(whole) == GRADED
            assert {key: whole[key] for key in INFERENCE} == record
    grades = [tuple(record[key] for key in GRADED[5:]) for record in graded_rows(tmp_path).values()]
    assert grades == [
        ("Checked line by line.", ["yes", "yes", "yes"], 1),
        ("Checked line by line.", ["yes", "yes", "yes"], 1),
        ("Checked line by line.", ["no", "no", "?"], 0),
    ]
    assert graded_rows(tmp_path, 2)["t3"]["score"] == 0


def test_the_leaderboards_object(tmp_path: Path) -> None:
    rows = [row(f"d{n}") for n in range(3)] + [row(f"r{n}", sub_category="Game Mechanics") for n in range(3)]
    plan = {"d0": ["yyy", "yyy"], "d1": ["yyy", "nnn"], "d2": ["nnn", "nnn"],
            "r0": ["yyy", "yyy"], "r1": ["nnn", "nnn"], "r2": ["nnn", "nnn"]}  # fmt: skip
    log = make_log(tmp_path, rows, plan, dataset=DATASET, model="lab/m")
    path = export_files(answers_df(log), tmp_path / "out", org="Our Lab")[-1]
    # Overall 3/6 and 2/6, domain 2/3 and 1/3; the std with n - 1.
    assert json.loads(path.read_text()) == {
        "model": "lab/m", "org": "Our Lab", "overall": 0.417, "overall_std": 0.118,
        "domain": 0.5, "domain_std": 0.236, "rule": 0.333, "rule_std": 0.0,
        "procedural": None, "procedural_std": None, "pattern": None, "pattern_std": None,
    }  # fmt: skip
    single = json.loads(
        exported(tmp_path / "single", spread_rows(2), {"t1": ["yyy"], "t2": ["nnn"]})[-1].read_text()
    )
    assert (single["overall"], single["overall_std"]) == (0.5, 0)


def test_silence_and_failed_judges_say_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    exported(tmp_path, tasks("t1", "t2", "t3"), {"t1": [EMPTY], "t2": [GARBLED], "t3": ["yyy!"]})
    rows = graded_rows(tmp_path)
    assert [rows["t1"][key] for key in ("model_output", "requirement_status", "score")] == ["", ["no"] * 3, 0]
    assert rows["t1"]["grading_rationale"] == "The model gave no answer; the judge was not asked."
    assert [rows["t2"][key] for key in ("requirement_status", "score")] == [[], 0]
    assert rows["t2"]["grading_rationale"].startswith("No verdict, the judge failed: no_verdict")
    assert "Rows with score 0 because the judge failed: 1. Ask again: clbench regrade" in caplog.text
    assert "Scores that contradict their status lists: 1. The score counts." in caplog.text


@pytest.mark.parametrize(("third", "score"), [("yyy", 1), ("nnn", 0)])
def test_a_panels_row_holds_the_majority(third: str, score: int, tmp_path: Path) -> None:
    says = {"mockllm/b": {"t1": ["yyy"]}, "mockllm/c": {"t1": [third]}}
    exported(tmp_path, tasks("t1"), {"t1": ["nnn"]}, judge=["mockllm/a", "mockllm/b", "mockllm/c"], says=says)
    record = graded_rows(tmp_path)["t1"]
    assert (record["score"], record["requirement_status"]) == (score, ["yes" if score else "no"] * 3)
    assert record["grading_rationale"] == "Checked line by line."


def test_what_is_missing_is_an_error_and_the_rest_is_written(tmp_path: Path) -> None:
    ids = [f"t{n}" for n in range(1, 8)]
    plan = {task: ["yyy", "yyy"] for task in ids} | {"t1": ["nnn", ERROR], "t2": ["yyy", MISSING]}
    with pytest.raises(ClbenchError) as caught:
        exported(tmp_path, spread_rows(7), plan)
    assert str(caught.value) == (
        f"{tmp_path / 'out'}: written, but not complete enough to be handed in. lab/m, run 2: 5 graded rows of "
        "7 tasks (without t1, t2). If answers failed: inspect eval-retry LOG"
    )
    assert (list(graded_rows(tmp_path)), list(graded_rows(tmp_path, 2))) == (ids, ids[2:])


def test_a_run_of_a_part_of_the_benchmark_is_not_complete(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"lab/m, run 1: 3 graded rows of 1,899 tasks. If answers failed"):
        exported(tmp_path, spread_rows(3), {}, dataset=CLBENCH.title)
    assert len(graded_rows(tmp_path)) == 3


def test_scores_of_a_share_are_not_handed_in(tmp_path: Path) -> None:
    again = [("mockllm/second", {"t1": ["nnn"]})]
    paths = exported(tmp_path, tasks("t1", "t2"), {}, again=again)
    assert len(paths) == 3
    assert [record["score"] for record in read_lines(paths[1])] == [1, 1]


def test_no_key_of_a_judges_error_is_handed_in(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("t1"), {"t1": [GARBLED]}, dataset=DATASET, model="lab/m")
    made = read_eval_log(log)
    score = ((made.samples or [])[0].scores or {})["rubric_judge"]
    score.metadata = {**(score.metadata or {}), "judge_error": "401: api_key=sk-proj-abcdefgh12345678"}
    write_eval_log(made, log)
    export_files(answers_df(log), tmp_path / "out")
    rationale = graded_rows(tmp_path)["t1"]["grading_rationale"]
    assert rationale == "No verdict, the judge failed: 401: api_key=sk-[hidden]"


def test_each_series_has_files_of_its_own(tmp_path: Path) -> None:
    rows = spread_rows(2)
    for number, model in enumerate(("lab/m", "lab-m", "lab/m", "../über/" + "x" * 300)):
        answers = {f"t{n}": [f"{model} {number}"] for n in (1, 2)}
        make_log(tmp_path / "logs", rows, model=model, answers=answers, dataset=DATASET)
    make_log(tmp_path / "logs", rows, model="lab/n", again=[("mockllm/second", {"t1": ["nnn"], "t2": ["nnn"]})], dataset=DATASET)  # fmt: skip
    paths = export_files(answers_df(tmp_path / "logs"), tmp_path / "out")
    assert {path.parent for path in paths} == {tmp_path / "out"}
    texts = {path.name: read_lines(path)[0]["model_output"] for path in paths if path.name.endswith(".jsonl")}
    assert texts["lab-m_run1.jsonl"] == "lab/m 0"
    assert texts["lab-m_run2.jsonl"] == "lab/m 2"
    assert "lab-m 1" in texts.values()
    assert any(text.endswith("x 3") for text in texts.values())
    second = [path for path in paths if "lab-n" in path.name and "graded" in path.name]
    assert sorted(read_lines(path)[0]["score"] for path in second) == [0, 1]
    assert all("judge" in path.name for path in second)


def roundtrip(folder: Path, *runs: Sequence[Row], **options: Any) -> list[bytes]:
    """The graded files of runs after they were imported and exported again."""
    files = [write_rows(folder / f"run{n}.jsonl", rows) for n, rows in enumerate(runs, start=1)]
    log = import_files(files, "lab/m", str(folder / "logs"), dataset=DATASET, **options)
    export_files(answers_df(log), folder / "out")
    return [(folder / "out" / f"lab-m_run{n}_graded.jsonl").read_bytes() for n in range(1, len(runs) + 1)]


def test_imported_rows_come_out_byte_for_byte(tmp_path: Path) -> None:
    odd: list[tuple[Any, Any, Any]] = [
        (1, ["yes"] * 3, "Fine."), (0, [], ""), (1.0, ["Yes.", "partially", 1, None], "Two\nlines | é\u2028"),
        (True, None, None), ("1", [["yes"]], {"a": 1}), (None, "all", 5), (0, ["no"] * 9, "No verdict, the judge failed: x"),
    ]  # fmt: skip
    rows = [
        graded(record, score, status, rationale, answer="" if n == 6 else f"Answer {n}\u0085\r\n<think>")
        for n, (record, (score, status, rationale)) in enumerate(zip(spread_rows(7), odd, strict=True))
    ]
    second = [graded(record, 1) for record in spread_rows(7)]
    files = roundtrip(tmp_path, rows, second, judge="gpt-5.1")
    assert files == [(tmp_path / f"run{n}.jsonl").read_bytes() for n in (1, 2)]


def test_life_keeps_its_own_names(tmp_path: Path) -> None:
    category, sub_category = "Behavioral Records & Activity Trails", "Game Logs"
    metadata = {"task_id": "t1", "context_category": category, "context_subcategory": sub_category}
    record = {"messages": [{"role": "user", "content": "Who?"}], "rubrics": ["Otto."], "metadata": metadata}
    (content,) = roundtrip(tmp_path, [graded(record, 1, ["yes"])])
    assert content == (tmp_path / "run1.jsonl").read_bytes()
    board = json.loads((tmp_path / "out" / "lab-m_leaderboard.json").read_text())
    assert list(board)[4::2] == [category.leaderboard_key for category in CLBENCH_LIFE.categories.values()]
    assert (board["overall"], board["behavior"], board["thought"]) == (1.0, 1.0, None)


def test_a_place_that_cannot_be_written(tmp_path: Path) -> None:
    file = write_rows(tmp_path / "a.jsonl", [graded(row("t1"), 1)])
    with pytest.raises(ClbenchError, match=r"cannot be written .* Name another folder"):
        import_files([file], "m", str(tmp_path / "a.jsonl" / "logs"))
    with pytest.raises(ClbenchError, match=r"a\.jsonl: cannot be made \(File exists\)\. Name another folder"):
        export_files(answers_df(make_log(tmp_path, tasks("t1"))), tmp_path / "a.jsonl")


def test_an_interrupted_import_ends_as_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("inspect_clbench.results.exchange.eval", lambda *arguments, **options: [])
    with pytest.raises(KeyboardInterrupt):
        import_files(["run1.jsonl"], "m", str(tmp_path))
