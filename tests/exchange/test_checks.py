"""Sheets for a person: drawn, safe to open, filled in, reported on."""

import csv
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench import ClbenchError, error_types
from inspect_clbench.analysis.statistics import wilson
from inspect_clbench.exchange.checks import (
    CheckReport,
    check_tables,
    checked_errors,
    checked_verdicts,
    error_sheet,
    verdict_sheet,
)
from inspect_clbench.exchange.imports import import_graded
from tests.support.answers import graded, inference_rows, write_lines
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.error_types import Labeller, labels_reply
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED

ROWS = [
    row("t1", rubrics=["=1+1", "  ", "Says, \"three\";\nand more."], question="@SUM(A1)\nTASK=t1"),
    row("t2"),
    row("t3"),
    row("t4"),
    row("t5"),
]  # fmt: skip
PLAN = {"t1": ["ny"], "t2": ["nyy"], "t3": ["yyy"], "t4": [EMPTY], "t5": [GARBLED]}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("sheets")
    return labelled(make_log(folder, ROWS, PLAN), folder / "log.eval")


def labelled(log: EvalLog, path: Path) -> str:
    """Write the log with its error types to a file."""
    judge = Labeller(lambda _: labels_reply(context_ignored=[1])).model()
    roles = {"grader": judge}
    done = score(log, error_types(), model_roles=roles, action="append", display="none")
    write_eval_log(done, str(path))
    return str(path)


def read(path: Path, delimiter: str = ",") -> list[dict[str, str]]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file, delimiter=delimiter))


def fill(path: Path, entries: Mapping[str, Mapping[str, str]], delimiter: str = ",") -> str:
    """Write a person's entries, by task, and save the sheet as a spreadsheet would."""
    rows = read(path)
    for line in rows:
        line.update(entries.get(line["task"], {}))
    done = path.with_name(f"done-{path.name}")
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return str(done)


def line(report: CheckReport, name: str) -> dict[str, Any]:
    (table,) = check_tables(report)
    (found,) = (cells for cells in table.rows if cells[0].text == name)
    return {title: cell.plain for title, cell in zip(table.columns, found, strict=True)}


def notes(report: CheckReport) -> str:
    return "\n".join(str(note) for table in check_tables(report) for note in table.notes)


def test_labelled_failures_are_drawn_into_a_sheet(log: str, tmp_path: Path) -> None:
    sheet = error_sheet(log, 5, str(tmp_path / "s.csv"))
    assert (sheet.rows, sheet.of) == (2, 2)
    rows = {line["task"]: line for line in read(tmp_path / "s.csv")}
    first = rows["t1"]
    assert (first["model"], first["run"], first["judge"]) == (
        "mockllm/student", "1", "mockllm/labeller",
    )  # fmt: skip
    assert (first["context_ignored"], first["refusal"], first["confirm"]) == ("yes", "no", "")
    assert first["refusal yours"] == ""
    assert first["missed rubrics"] == "1. =1+1", "inside a text it is no formula"
    assert "Context Ignored (rubric 1): Why context_ignored." in first["reasons"]
    assert first["rationale"] == "Checked line by line."
    assert first["conversation"].startswith("[system]\nLearn from the context.")
    assert "TASK=t1" in first["conversation"]
    assert first["answer"].startswith("Answer to t1.")


def test_verdicts_are_drawn_into_a_sheet(log: str, tmp_path: Path) -> None:
    sheet = verdict_sheet(log, 100, str(tmp_path / "v.csv"))
    assert (sheet.rows, sheet.of) == (3, 3), "without empty answers and failed judges"
    rows = {line["task"]: line for line in read(tmp_path / "v.csv")}
    assert {task: line["solved"] for task, line in rows.items()} == {
        "t1": "no", "t2": "no", "t3": "yes",
    }  # fmt: skip
    assert rows["t1"]["status"] == "1n 3y", "a blank rubric leaves a gap in the numbers"
    assert rows["t1"]["rubrics"] == '1. [NOT MET] =1+1\n3. [met] Says, "three";\nand more.'


def test_imported_failures_can_be_labelled_and_drawn(tmp_path: Path) -> None:
    rows = [graded(one, score=0, rationale="Too short.") for one in inference_rows()]
    files = [write_lines(tmp_path / "model_graded.jsonl", rows)]
    imported = read_eval_log(import_graded(files, log_dir=str(tmp_path / "logs")).log)
    path = labelled(imported, tmp_path / "log.eval")
    assert error_sheet(path, 1, str(tmp_path / "s.csv")).of == len(rows)
    (only,) = read(tmp_path / "s.csv")
    assert (only["model"], only["context_ignored"]) == ("model", "yes")
    assert only["rationale"] == "Too short."


def test_a_draw_is_random_and_the_same_for_the_same_seed(demo_log: str, tmp_path: Path) -> None:
    def drawn(name: str, count: int, seed: int) -> list[tuple[str, str]]:
        verdict_sheet(demo_log, count, str(tmp_path / name), seed=seed)
        return [(line["task"], line["run"]) for line in read(tmp_path / name)]

    first = drawn("a.csv", 8, 1)
    assert first == drawn("b.csv", 8, 1)
    assert set(first) != set(drawn("c.csv", 8, 2))
    assert drawn("d.csv", 3, 1) == first[:3]
    assert len({run for _, run in first}) > 1


def test_a_persons_work_is_never_written_over(log: str, tmp_path: Path) -> None:
    path = tmp_path / "s.csv"
    path.write_text("my work")
    with pytest.raises(ClbenchError, match="exists already"):
        error_sheet(log, 1, str(path))
    assert path.read_text() == "my work"
    with pytest.raises(ClbenchError, match="at least one row"):
        error_sheet(log, 0, str(tmp_path / "t.csv"))


def test_agreement_per_type(log: str, tmp_path: Path) -> None:
    error_sheet(log, 2, str(tmp_path / "s.csv"))
    entries = {
        "t1": {"confirm": "yes", "context_ignored yours": "No", "refusal yours": "yes"},
        "t2": {"context_ignored yours": "y"},
    }
    for delimiter in (",", ";", "\t"):
        report = checked_errors(fill(tmp_path / "s.csv", entries, delimiter))
        ignored = line(report, "Context Ignored")
        assert (ignored["Checked"], ignored["Agreed"]) == (2, 1)
        assert (ignored["Judge says yes"], ignored["Person says yes"]) == (2, 1)
        assert ignored["Agreement in %"] == wilson(1, 2).as_row()
        refusal = line(report, "Refusal")
        assert (refusal["Checked"], refusal["Agreed"]) == (1, 0)
        assert line(report, "Context Misused")["Agreed"] == 1
        assert line(report, "All four")["Checked"] == 1
        assert line(report, "All four")["Agreed"] == 0
        assert "2 of 2 rows checked" in notes(report)


def test_accuracy_of_verdicts_and_of_single_rubrics(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 3, str(tmp_path / "v.csv"))
    entries = {
        "t1": {"confirm": "yes", "wrong rubrics": "3"},
        "t2": {"solved yours": "yes", "wrong rubrics": "none"},
        "t3": {"confirm": "TRUE"},
    }
    report = checked_verdicts(fill(tmp_path / "v.csv", entries))
    whole = line(report, "All verdicts")
    assert (whole["Checked"], whole["Right"]) == (3, 2)
    assert whole["Accuracy in %"] == wilson(2, 3).as_row()
    assert line(report, "Judge says solved")["Right"] == 1
    assert line(report, "Judge says not solved")["Checked"] == 2
    rubrics = line(report, "Single rubrics")
    assert (rubrics["Checked"], rubrics["Right"]) == (2 + 3, 1 + 3)
    # judge: no, no, yes; person: no, yes, yes. Agreement 2/3, by chance 4/9.
    assert report.kappa == pytest.approx(0.4)
    assert "Cohen's kappa of the verdicts: 0.40." in notes(report)
    assert report.to_pandas()["agreed"].tolist() == [2, 1, 1, 4]


def test_wilsons_interval_against_a_worked_example() -> None:
    # 90 of 100: (0.9 + z²/200 ± z·sqrt(0.09/100 + z²/40000)) / (1 + z²/100), z = 1.96
    found = wilson(90, 100)
    assert found.mean == 0.9
    assert found.interval == pytest.approx((0.8256, 0.9448), abs=5e-5)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"refusal yours": "maybe"}, r"row 2: `maybe` under `refusal yours`. Write yes or no"),
        ({"confirm": "no"}, r"row 2: `confirm` says no, but nothing is changed"),
        ({"confirm": "yes", "refusal": ""}, r"row 2: the judge's word under `refusal` is gone"),
    ],
)
def test_what_cannot_be_read_names_file_and_row(
    log: str, tmp_path: Path, entry: dict[str, str], words: str
) -> None:
    error_sheet(log, 1, str(tmp_path / "s.csv"))
    (only,) = read(tmp_path / "s.csv")
    path = fill(tmp_path / "s.csv", {only["task"]: entry})
    with pytest.raises(ClbenchError, match=rf"done-s\.csv, {words}"):
        checked_errors(path)


def test_files_that_are_no_sheets_of_ours(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 1, str(tmp_path / "v.csv"))
    with pytest.raises(ClbenchError, match="not a sheet of this kind"):
        checked_errors(str(tmp_path / "v.csv"))
    with pytest.raises(ClbenchError, match="nobody has filled it in"):
        checked_verdicts(str(tmp_path / "v.csv"))
    with pytest.raises(ClbenchError, match="cannot be read"):
        checked_verdicts(str(tmp_path / "none.csv"))
    (only,) = read(tmp_path / "v.csv")
    for wrong, words in (("the third", "numbers of the rubrics"), ("9", "to rubric 9")):
        path = fill(
            tmp_path / "v.csv", {only["task"]: {"confirm": "yes", "wrong rubrics": wrong}}
        )
        with pytest.raises(ClbenchError, match=words):
            checked_verdicts(path)
    (tmp_path / "excel.csv").write_bytes(
        "task;confirm;solved\ncaf\xe9;yes;no\n".encode("cp1252")
    )
    report = checked_verdicts(str(tmp_path / "excel.csv"))
    assert line(report, "All verdicts")["Right"] == 1


def test_the_commands_go_from_log_to_report(demo_log: str, tmp_path: Path) -> None:
    sheet = str(tmp_path / "verdicts.csv")
    shutil.copy(demo_log, tmp_path / "demo.eval")
    log = str(tmp_path / "demo.eval")
    code, out, err = clbench("check-judge", log, "--sheet", "10", sheet)
    assert (code, err) == (0, f"Wrote {sheet}\n")
    assert "10 of 68 drawn" in out
    assert f"clbench check-judge --checked {sheet}" in out
    rows = read(Path(sheet))
    done = fill(Path(sheet), {line["task"]: {"confirm": "yes"} for line in rows})
    code, out, _ = clbench("check-judge", "--checked", done)
    assert code == 0
    assert "100.0" in out
    code, _, err = clbench("check-judge", log)
    assert (code, "either LOG --sheet N FILE or --checked FILE" in err) == (2, True)
    code, _, err = clbench("errors", log, "--sheet", "3", str(tmp_path / "labels.csv"))
    assert (code, "no error types yet" in err) == (2, True)
    assert read_eval_log(log, header_only=True).status == "success"
