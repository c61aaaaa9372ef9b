"""What report, compare and show make of logs of the exam, alone and beside those of runs."""

import json
import re
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from inspect_clbench.analysis import find_logs, load_series, report
from inspect_clbench.analysis.compare import Comparison, compare
from inspect_clbench.exam.cases import ExamCase
from inspect_clbench.output.notes import judge_line
from tests.exam.test_sitting import chosen
from tests.support.command import clbench
from tests.support.exam import CASES, sit_exam, told
from tests.support.logs import make_log

KINDS = ("plain", "hedge", "orders")
IDS = chosen(*KINDS)


def gullible(case: ExamCase, asked: int) -> str:
    """Obeys orders, in every second context of a bad answer."""
    others = sorted({c.context_id for c in CASES if c.kind == "orders" and c.missed})[::2]
    return told(case, 1 if case.kind == "orders" and case.context_id in others else None)


def lenient(case: ExamCase, asked: int) -> str:
    """Takes a hedge for an answer."""
    return told(case, 1, wrong=case.missed) if case.kind == "hedge" else told(case)


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exams")
    sit_exam(folder / "judge", gullible, name="judge", sample_id=IDS)
    sit_exam(folder / "lenient", lenient, name="lenient", sample_id=IDS)
    make_log(folder / "run", "demo", model="student", judge="judge")
    return folder


def rate(logs: Path, group: str, model: str = "mockllm/judge") -> dict[str, float]:
    frame = report(logs).to_pandas()
    (row,) = frame[(frame.group == group) & (frame.model == model)].to_dict("records")
    return {name: row[name] for name in ("mean", "low", "high")}


def test_the_report_has_the_figures_of_the_log(logs: Path) -> None:
    orders = [c for c in CASES if c.kind == "orders" and c.missed]
    fooled = len({c.context_id for c in orders}) + 1
    row = rate(logs / "judge", "attack_success")
    assert row["mean"] == pytest.approx(fooled // 2 / len(orders))
    assert row["low"] < row["mean"] < row["high"]
    (header,) = find_logs(logs / "judge", exams=True)
    assert header.header.results is not None
    metrics = header.header.results.scores[0].metrics
    for name in ("accuracy", "sensitivity", "specificity", "rubric_accuracy", "attack_success"):
        assert rate(logs / "judge", name)["mean"] == pytest.approx(metrics[name].value)
    for kind in KINDS:
        assert rate(logs / "judge", kind)["mean"] == pytest.approx(metrics[kind].value)


def test_the_report_for_people(logs: Path) -> None:
    done = clbench("report", str(logs / "judge"), str(logs / "lenient"))
    assert done.exit_code == 0, done.stderr
    assert "Judge exam: figures of the judges in %" in done.stdout
    assert (
        "Judge exam: right verdicts in % by kind, mean ± std over runs · attack" in done.stdout
    )
    assert "Judge exam: right verdicts in % by number of rubrics" in done.stdout
    assert "31+" not in done.stdout
    assert f"incomplete, {len(IDS)} of {len(CASES)} tasks." in done.stdout
    assert "solving rate" not in done.stdout
    assert "Judge: none" not in done.stdout
    (table, *_) = json.loads(clbench("report", str(logs / "judge"), "--format", "json").stdout)
    (row,) = table["rows"]
    assert (row["Tokens in"], row["Tokens out"], row["Verdicts"]) == (1000, 50, len(IDS))


def test_a_mixed_folder_never_mixes_tables(logs: Path) -> None:
    frame = report(logs).to_pandas()
    assert list(dict.fromkeys(frame.dataset)) == ["CL-bench demo", "Judge exam"]
    by_table = frame.groupby(["table", "dataset"]).model.unique()
    assert by_table["main", "CL-bench demo"].tolist() == ["mockllm/student"]
    assert sorted(by_table["exam", "Judge exam"]) == ["mockllm/judge", "mockllm/lenient"]
    for command in ("show --near-misses", "show --rubrics", "costs"):
        name, *options = command.split()
        done = clbench(name, str(logs), *options)
        assert done.exit_code == 0, done.stderr
        assert "Judge exam" not in done.stdout
        assert "lenient" not in done.stdout
    alone = clbench("costs", str(logs / "judge"))
    assert (alone.exit_code, alone.stdout) == (2, "")
    assert "no log of clbench or clbench_life among the 1 there" in alone.stderr
    mixed = clbench("compare", str(logs))
    assert mixed.exit_code == 2
    assert "belong to different datasets" in mixed.stderr


def test_a_run_says_what_the_exam_says_of_its_judge(logs: Path) -> None:
    note = "In the exam mockllm/judge (prompt builtin, "
    done = clbench("report", str(logs), "--dataset", "CL-bench demo")
    assert note not in done.stdout  # chosen logs only
    done = clbench("report", str(logs))
    text = " ".join(done.stdout.split())
    assert text.count(note) == 1
    assert re.search(rf"\(prompt builtin, {len(IDS)} cases, \d{{4}}-\d\d-\d\d\) passed", text)
    attacks = 100 * rate(logs, "attack_success")["mean"]
    assert "passed 100.0 % of the good answers and failed " in text
    assert f"; {attacks:.1f} % of the attacks on a bad answer succeeded." in text
    assert "In the exam mockllm/lenient" not in text  # it judged no run here
    labelled = clbench("report", str(logs), "--label", "mockllm/judge=Our judge")
    assert "In the exam Our judge (prompt builtin, " in " ".join(labelled.stdout.split())
    page = clbench("report", str(logs), "--format", "html")
    assert page.stdout.count(note) == 1
    assert "Judge exam: right verdicts in % by kind" in page.stdout


def test_another_prompt_is_another_judge(logs: Path, tmp_path: Path) -> None:
    template = tmp_path / "short.txt"
    template.write_text("{rubrics_text}\n{model_output}", encoding="utf-8")
    sit_exam(tmp_path / "other", lenient, judge_prompt=str(template), sample_id=IDS)
    shutil.copytree(logs / "run", tmp_path / "run")
    done = clbench("report", str(tmp_path))
    assert "In the exam" not in done.stdout
    assert "Judge prompt: short.txt" in done.stdout
    # The prompts are what is compared.
    done = clbench("compare", str(logs / "judge"), str(tmp_path / "other"))
    assert done.exit_code == 0, done.stderr
    assert "The judge prompts differ" not in done.stdout
    text = " ".join(done.stdout.split())
    assert "mockllm/judge (builtin) and mockllm/judge (short.txt) apart: " in text


def test_two_judges_are_compared_case_by_case(logs: Path) -> None:
    found = compare(logs / "judge", logs / "lenient")
    assert isinstance(found, Comparison)
    assert len(found.tasks) == len(IDS)
    hedges = {case.name for case in CASES if case.kind == "hedge"}
    assert {task.task_id for task in found.tasks_by_outcome(won=True)} == hedges
    done = clbench("compare", str(logs / "judge"), str(logs / "lenient"), "--tasks")
    assert "points more right verdicts than mockllm/lenient" in " ".join(done.stdout.split())
    assert "Cases with another verdict" in done.stdout
    listed = done.stdout.split("Cases with another verdict")[1]
    lost = {task.task_id for task in found.tasks_by_outcome(won=False)}
    assert {id for id in IDS if f"{id} " in listed} == hedges | lost


def test_the_same_judge_at_two_dates(logs: Path, tmp_path: Path) -> None:
    again = shutil.copytree(logs / "judge", tmp_path / "march")
    same = clbench("compare", str(logs / "judge"), str(again))
    assert "they did the same on every case" in " ".join(same.stdout.split())
    sit_exam(tmp_path / "november", lenient, name="judge", sample_id=IDS)
    changed = compare(again, tmp_path / "november")
    assert isinstance(changed, Comparison)
    assert changed.names == ("mockllm/judge (A)", "mockllm/judge (B)")
    assert changed.overall.told_apart


def test_cases_are_shown_with_their_truth(logs: Path) -> None:
    (hedge, *_) = chosen("hedge")
    (case,) = [case for case in CASES if case.name == hedge]
    done = clbench("show", str(logs / "lenient"), "--task", hedge)
    total = len(case.rubrics)
    said = f"Run 1: wrong verdict, {total} of {total} rubrics said to be met"
    assert f"{said}; truly missed: {case.missed[0]}" in done.stdout
    assert "Overall Score" not in done.stdout  # the answer, not the verdict
    listed = clbench("show", str(logs / "lenient"), "--limit", "3")
    assert "Right verdicts in so many runs" in listed.stdout
    assert listed.stdout.count("/hedge") == 3


def test_commands_for_runs_refuse_an_exam(logs: Path, tmp_path: Path) -> None:
    (log,) = (str(path) for path in (logs / "judge").glob("*.eval"))
    for arguments in (
        ("regrade", log),
        ("export", log, "--to", str(tmp_path / "out")),
        ("plot", log, "-o", str(tmp_path / "out.svg")),
        ("explore", log, "-o", str(tmp_path / "out.html")),
        ("check-judge", log, "--sheet", "3", str(tmp_path / "out.csv")),
        ("errors", log),
    ):
        done = clbench(*arguments)
        assert done.exit_code == 2, arguments
        assert "a log of inspect_clbench/judge_exam, not of" in done.stderr
    assert not list(tmp_path.iterdir())
    done = clbench("report", log, "--thresholds")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "The judge exam has no pass rates at thresholds" in done.stderr


def test_a_report_names_the_effort_of_its_judge(logs: Path) -> None:
    (one,) = load_series(logs / "run")
    assert judge_line([one]) == "Judge: mockllm/judge; prompt: builtin."
    low = replace(one, answers=tuple(replace(a, judge_effort="low") for a in one.answers))
    assert judge_line([low]) == "Judge: mockllm/judge; prompt: builtin; reasoning effort: low."
    panel = replace(one, answers=tuple(replace(a, judge_effort=", high") for a in one.answers))
    assert panel.judge_effort == "high"
