"""A sheet for a person, and what it says of the judge: figures worked out by hand."""

import csv
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.checked import checked, draw
from tests.support.builders import row, spread_rows
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED

# Of 100 tasks in 50 contexts the judge passes the first 20; of two it has no verdict on the answer.
ROWS = spread_rows(100)
PLAN = {f"t{n}": ["yyy" if n <= 20 else "nyn"] for n in range(1, 99)} | {"t99": [EMPTY], "t100": [GARBLED]}

Record = dict[str, str]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return answers_df(make_log(tmp_path_factory.mktemp("log"), ROWS, PLAN))


def read(path: Path) -> list[Record]:
    with path.open(encoding="utf-8-sig", newline="") as file:
        return list(csv.DictReader(file))


def write(path: Path, records: list[Record], delimiter: str = ",", encoding: str = "utf-8") -> Path:
    with path.open("w", encoding=encoding, newline="") as file:
        writer = csv.DictWriter(file, records[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(records)
    return path


def filled(folder: Path, answers: pd.DataFrame, number: int, person: Callable[[int], str]) -> list[Record]:
    """A sheet whose person says this of the n-th yes and the n-th no of the judge."""
    path = folder / "drawn.csv"
    draw(answers, number, path)
    records = read(path)
    seen = {"yes": 0, "no": 0}
    for record in records:
        record["person"] = person(seen[record["judge"]])
        seen[record["judge"]] += 1
    return records


def turned(word: str) -> str:
    return {"yes": "no", "no": "yes"}[word]


def test_a_sheet_has_what_a_person_needs_of_each_kind(answers: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    assert draw(answers, 30, path) == 30
    records = read(path)
    assert [record["judge"] for record in records].count("yes") == 15
    assert {record["person"] for record in records} == {""}
    first = records[0]
    assert (first["model"], first["run"], first["scorer"]) == ("mockllm/student", "1", "rubric_judge")
    assert first["answer"].startswith(f"Answer to {first['task']}.")
    assert first["rubrics"] == "1. Says one.\n2. Says two.\n3. Says three."
    assert first["rationale"] == "Checked line by line."
    assert first["conversation"].startswith("[system] Learn from the context.\n\n[user] Context of")


def test_a_short_kind_leaves_its_places_to_the_other(answers: pd.DataFrame, tmp_path: Path) -> None:
    assert draw(answers, 1_000, tmp_path / "all.csv") == 98, "without empty answers and failed judges"
    draw(answers, 50, tmp_path / "fifty.csv")
    assert [record["judge"] for record in read(tmp_path / "fifty.csv")].count("yes") == 20


def test_a_draw_is_the_same_for_the_same_seed(answers: pd.DataFrame, tmp_path: Path) -> None:
    def drawn(number: int, seed: int, frame: pd.DataFrame = answers) -> list[str]:
        path = tmp_path / f"{len(list(tmp_path.iterdir()))}.csv"
        draw(frame, number, path, seed)
        return [record["task"] for record in read(path)]

    first = drawn(20, 1)
    assert drawn(20, 1, answers[::-1]) == first
    assert drawn(8, 1) == first[:8]
    assert drawn(20, 2) != first


def test_a_persons_work_is_never_written_over(answers: pd.DataFrame, tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    path.write_text("my work", encoding="utf-8")
    with pytest.raises(ClbenchError, match=r"sheet\.csv: exists.* Name a new file"):
        draw(answers, 1, path)
    assert path.read_text(encoding="utf-8") == "my work"


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    texts = ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", "\n =1", 'Well,\n"=1";\x1b[2J\n']
    rows = [row(f"t{n}", rubrics=["=2+2"]) for n in range(len(texts))]
    answers = {f"t{n}": [text] for n, text in enumerate(texts)}
    draw(answers_df(make_log(tmp_path, rows, answers=answers)), 7, tmp_path / "sheet.csv")
    records = sorted(read(tmp_path / "sheet.csv"), key=lambda record: record["task"])
    shown = [*(f"'{text}" for text in texts[:-1]), texts[-1].replace("\x1b", "\ufffd")]
    assert [record["answer"] for record in records] == shown
    assert records[0]["rubrics"] == "1. =2+2", "inside a text it is no formula"


def test_the_judge_against_a_person_by_hand(answers: pd.DataFrame, tmp_path: Path) -> None:
    # The person turns one of 10 yes and two of 10 no round. The judge passes 20 of 100 answers, fails 78,
    # and 2 stay failed.
    records = filled(tmp_path, answers, 20, lambda n: "")
    wrong = {"yes": 1, "no": 2}
    for record in records:
        word = record["judge"]
        record["person"] = (turned(word) if wrong[word] > 0 else word).upper()
        wrong[word] -= 1
    figures = checked(write(tmp_path / "sheet.csv", records), answers).frame.iloc[0]
    right, missed = 0.2 * 9 / 10, 0.78 * 2 / 10
    assert figures["judge"] == pytest.approx(0.2)
    assert figures["corrected"] == pytest.approx(right + missed)
    assert figures["agreement"] == pytest.approx((right + 0.78 * 8 / 10) / 0.98)
    assert figures["sensitivity"] == pytest.approx(right / (right + missed))
    assert figures["specificity"] == pytest.approx(0.624 / (0.624 + 0.02))
    assert (figures["checked_yes"], figures["checked_no"]) == (10, 10)
    for name in ("corrected", "agreement", "sensitivity", "specificity"):
        assert 0 <= figures[f"{name}_low"] < figures[name] < figures[f"{name}_high"] <= 1


@pytest.mark.parametrize(("delimiter", "encoding"), [(",", "utf-8"), (";", "cp1252"), ("\t", "utf-8-sig")])
def test_sheets_as_spreadsheets_save_them(
    answers: pd.DataFrame, tmp_path: Path, delimiter: str, encoding: str
) -> None:
    records = filled(tmp_path, answers, 24, lambda n: ("yes", "no")[n % 2] if n < 10 else "")
    records[0]["rationale"] = 'café; voilà, "oui"'
    table = checked(write(tmp_path / "sheet.csv", records, delimiter, encoding), answers)
    assert list(table.frame[["checked_yes", "checked_no"]].iloc[0]) == [10, 10]
    assert table.title == "CL-bench: the judge checked by a person, in %"


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"person": "maybe"}, r"sheet\.csv, row 2: 'maybe' under person\. Write yes or no\."),
        ({"uuid": "another"}, r"sheet\.csv: no row .* is of these logs.* name the logs"),
        ({"person": ""}, r"sheet\.csv: no row with yes or no under person .* Fill it in"),
    ],
)
def test_faults_of_a_sheet_are_said(
    answers: pd.DataFrame, tmp_path: Path, change: Record, words: str
) -> None:
    records = [record | change for record in filled(tmp_path, answers, 2, lambda n: "yes")]
    with pytest.raises(ClbenchError, match=words):
        checked(write(tmp_path / "sheet.csv", records), answers)


def test_a_file_that_is_no_sheet(answers: pd.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"none\.csv: not a sheet that can be read .* Save it as CSV"):
        checked(tmp_path / "none.csv", answers)
    (tmp_path / "other.csv").write_text("task,judge\nt1,yes\n", encoding="utf-8")
    with pytest.raises(ClbenchError, match=r"other\.csv: no column person, scorer, uuid"):
        checked(tmp_path / "other.csv", answers)
    (tmp_path / "longer.csv").write_text("person,uuid,scorer\nyes,a,b,c\n", encoding="utf-8")
    with pytest.raises(ClbenchError, match=r"longer\.csv, row 2: 'a' under person"):
        checked(tmp_path / "longer.csv", answers)
    with pytest.raises(ClbenchError, match="No verdicts to draw from"):
        draw(answers[answers["reason"] != ""], 1, tmp_path / "sheet.csv")


def test_models_with_too_few_rows_have_no_figures(tmp_path: Path) -> None:
    paths = [make_log(tmp_path, ROWS, PLAN, model=f"lab/{name}") for name in ("alpha", "beta")]
    answers = answers_df(paths)
    records = filled(tmp_path, answers, 48, lambda n: "yes")
    beta = [record | {"person": ""} for record in records if record["model"] == "lab/beta"]
    alpha = [record for record in records if record["model"] == "lab/alpha"]
    table = checked(write(tmp_path / "sheet.csv", alpha + beta), answers)
    assert list(table.frame["name"]) == ["lab/alpha", "lab/beta"]
    assert list(table.frame["corrected"].notna()) == [True, False]
    assert list(table.frame["checked_yes"]) == [12, 0]
    assert "They take 10 checked rows of the judge's yes" in table.methods
