"""Sheets for a person: drawn, safe to open, filled in, reported on."""

import csv
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench import ClbenchError, error_types
from inspect_clbench.analysis.agreement import Agreement, Filled, Pair
from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.exchange.checks import (
    checked_errors,
    checked_verdicts,
    error_sheet,
    verdict_sheet,
)
from inspect_clbench.exchange.imports import import_graded
from inspect_clbench.output import tables_of
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


def pair(report: Agreement, level: str) -> Pair:
    (found,) = report[level].pairs
    return found


def agreed(report: Agreement, level: str) -> tuple[int, int]:
    found = pair(report, level)
    return round((found.agreement.value or 0) * found.compared), found.compared


def notes(report: Agreement) -> str:
    return "\n".join(str(note) for table in tables_of(report) for note in table.notes)


def write_rows(path: Path, rows: Sequence[Mapping[str, str]]) -> str:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, dict.fromkeys(key for row in rows for key in row))
        writer.writeheader()
        writer.writerows(rows)
    return str(path)


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


def test_blanks_of_a_checked_row_agree_with_the_judge(tmp_path: Path) -> None:
    """60 rows: 30 confirmed; in 10 each, one word beside one of three types and nothing else."""
    types = list(ERROR_TYPES)
    rows = []
    for number in range(60):
        row = {"task": f"t{number}", "run": "1", "judge": "j", "confirm": ""}
        row |= {key: "yes" if key == types[number % 4] else "no" for key in types}
        row |= {f"{key} yours": "" for key in types}
        if number < 30:
            row["confirm"] = "yes"
        else:
            wrong = types[(number - 30) // 10]
            row[f"{wrong} yours"] = "no" if row[wrong] == "yes" else "yes"
        rows.append(row)
    report = checked_errors(write_rows(tmp_path / "s.csv", rows))
    assert agreed(report, "all types") == (30, 60)
    for title in list(ERROR_TYPES.values())[:3]:
        assert agreed(report, title) == (50, 60)
    assert agreed(report, "Refusal") == (60, 60)
    assert "60 of 60 rows checked" in notes(report)
    # 15 of 60 say refusal, both alike; 1 is the largest kappa and has no interval
    assert pair(report, "Refusal").kappa == (1.0, None, None)
    # of 60 contexts: share 5/6, stderr sqrt(5/36/60) = 0.0481, Student's 2.001 for 59
    # degrees: log odds 1.609 -/+ 2.001 · 0.0481 / (5/36), shares 0.714 and 0.909
    agreement = pair(report, "Context Ignored").agreement
    assert agreement == pytest.approx((5 / 6, 0.714, 0.909), abs=0.005)


def test_two_wrong_rubrics_of_eighty(tmp_path: Path) -> None:
    """20 rows of 4 rubrics: 18 confirmed, two with one wrong rubric each and nothing else."""
    rows = [
        {
            "task": f"t{number}", "run": "1", "judge": "j", "solved": "no", "solved yours": "",
            "confirm": "yes" if number > 1 else "", "status": "1y 2n 3y 5n",
            "wrong rubrics": "5" if number < 2 else "",
        }
        for number in range(20)
    ]  # fmt: skip
    report = checked_verdicts(write_rows(tmp_path / "v.csv", rows))
    assert agreed(report, "rubrics") == (78, 80)
    assert agreed(report, "verdicts") == (20, 20)
    # judge 40 yes, person 42: agreement 0.975, by chance (40·42 + 40·38) / 6400 = 0.5
    assert pair(report, "rubrics").kappa.value == pytest.approx(0.95)
    assert pair(report, "verdicts").kappa.value is None, "one word throughout"
    # 20 of 20 contexts agree: Clopper and Pearson's lower end is 0.025^(1/20)
    assert pair(report, "verdicts").agreement == pytest.approx((1.0, 0.025 ** (1 / 20), 1.0))


def test_agreement_per_type(log: str, tmp_path: Path) -> None:
    error_sheet(log, 2, str(tmp_path / "s.csv"))
    entries = {
        "t1": {"confirm": "yes", "context_ignored yours": "No", "refusal yours": "yes"},
        "t2": {"context_ignored yours": "y"},
    }
    for delimiter in (",", ";", "\t"):
        report = checked_errors(fill(tmp_path / "s.csv", entries, delimiter))
        ignored = pair(report, "Context Ignored")
        assert (ignored.first, ignored.second) == ("mockllm/labeller", "person")
        assert (ignored.both, ignored.only_first) == (1, 1)
        assert agreed(report, "Refusal") == (1, 2)
        assert agreed(report, "Context Misused") == (2, 2)
        assert agreed(report, "all types") == (1, 2)
        assert "2 of 2 rows checked" in notes(report)
        frame = report.to_pandas()
        assert frame["level"].tolist() == [*ERROR_TYPES.values(), "all types"]
        assert frame["agreement"].tolist() == [0.5, 1.0, 1.0, 0.5, 0.5]


def test_agreement_on_verdicts_and_single_rubrics(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 3, str(tmp_path / "v.csv"))
    entries = {
        "t1": {"wrong rubrics": "3"},
        "t2": {"solved yours": "yes", "wrong rubrics": "none"},
        "t3": {"confirm": "TRUE"},
    }
    report = checked_verdicts(fill(tmp_path / "v.csv", entries), "Jane")
    assert report.names == ("mockllm/judge", "Jane")
    verdicts = pair(report, "verdicts")
    # judge: no, no, yes; person: no, yes, yes. Agreement 2/3, by chance 4/9.
    assert (verdicts.both, verdicts.only_second, verdicts.neither) == (1, 1, 1)
    assert verdicts.agreement.value == pytest.approx(2 / 3)
    assert verdicts.kappa.value == pytest.approx(0.4)
    assert agreed(report, "rubrics") == (2 + 3 + 3 - 1, 8)
    assert report.filled == Filled(rows=3, checked=3, contrary=1)
    assert "In 1 row the person's verdict does not follow from the rubrics" in notes(report)


def test_rows_without_a_mark_are_not_checked(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 3, str(tmp_path / "v.csv"))
    report = checked_verdicts(fill(tmp_path / "v.csv", {"t3": {"confirm": "yes"}}))
    assert agreed(report, "verdicts") == (1, 1)
    assert pair(report, "verdicts").agreement == (1.0, None, None), "one context tells nothing"
    assert "1 of 3 rows checked" in notes(report)
    assert "With 1 context the intervals are rough" in notes(report)


def test_two_judges_of_one_answer_get_one_verdict_of_a_person(tmp_path: Path) -> None:
    def sheet(*words: str) -> str:
        rows = [
            {"task": t, "run": "1", "judge": j, "confirm": "", "solved": s, "solved yours": w}
            for (t, j, s), w in zip(
                [("a", "x", "yes"), ("a", "y", "no"), ("b", "x", "no")], words, strict=True
            )
        ]
        return write_rows(tmp_path / "v.csv", rows)

    report = checked_verdicts(sheet("yes", "yes", "no"))
    assert report.names == ("x", "y", "person")
    assert [found.compared for found in report["verdicts"].pairs] == [1, 2, 1]
    with pytest.raises(ClbenchError, match=r"row 3: another row is of the same answer"):
        checked_verdicts(sheet("yes", "no", "no"))


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
        "task;confirm;solved\r\ncaf\xe9;yes;no\r\n".encode("cp1252")
    )
    report = checked_verdicts(str(tmp_path / "excel.csv"))
    assert agreed(report, "verdicts") == (1, 1)


def test_cells_that_a_terminal_would_obey_are_shown_as_text(tmp_path: Path) -> None:
    row = {
        "task": "\x1b[2Jt",
        "run": "1",
        "judge": "\x1b]0;j",
        "confirm": "yes",
        "solved": "no",
    }
    path = write_rows(tmp_path / "v.csv", [row])
    done = clbench("check-judge", "--checked", path)
    assert (done.exit_code, "\x1b" in done.stdout) == (0, False)
    for column, word in (("run", "\x1b[1m"), ("status", "=1\x1b"), ("confirm", "\x1b[0m")):
        done = clbench(
            "check-judge", "--checked", write_rows(tmp_path / "v.csv", [row | {column: word}])
        )
        assert (done.exit_code, "\x1b" in done.stderr) == (2, False)
        assert "v.csv, row 2: `" in done.stderr
        assert f"under `{column}`" in done.stderr


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
