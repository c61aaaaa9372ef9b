"""Tokens and money, added up by hand."""

import json
from pathlib import Path

import pytest

from inspect_clbench.analysis import costs
from inspect_clbench.analysis.reporting.prices import Price
from inspect_clbench.analysis.tables import Table
from inspect_clbench.errors import ClbenchError
from tests.support.scripted import EMPTY, scripted_eval, tasks

PLAN = {"a": ["yyy", "yyy"], "b": ["yyn", EMPTY]}
PRICES = {
    "mockllm/student": Price(input=2, cached_input=0.5, output=10),
    "mockllm/judge": Price(input=1, output=4),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("costs")
    scripted_eval(path, tasks("a", "b"), PLAN)
    return path


def values(table: Table, start: int) -> list[list[object]]:
    return [[cell.value for cell in row[start:]] for row in table.rows]


def roles(table: Table) -> list[tuple[str, str]]:
    return [(row[1].text, row[2].text) for row in table.rows]


def test_tokens_by_role(folder: Path) -> None:
    (table,) = costs(str(folder))
    assert table.columns[3:] == ("Input", "Cached input", "Output", "Reasoning")
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/judge")]
    # Four answers of 100 + 40 cached and 20 (5 of them reasoning); the empty one is not judged.
    assert values(table, 3) == [[400, 160, 80, 20], [150, None, 30, None]]


def test_money_per_run_and_per_solved_task(folder: Path) -> None:
    _, money = costs(str(folder), PRICES)
    student = (400 * 2 + 160 * 0.5 + 80 * 10) / 1e6
    judge = (150 * 1 + 30 * 4) / 1e6
    (row,) = values(money, 1)
    total = student + judge
    assert row == pytest.approx([total, judge, 2, total / 2, 2, total / 2])


def test_a_model_that_judges_itself(tmp_path: Path) -> None:
    scripted_eval(tmp_path, tasks("a", "b"), PLAN, judge="student")
    (table,) = costs(str(tmp_path))
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/student")]
    assert values(table, 3) == [[400, 160, 80, 20], [150, None, 30, None]]


def test_a_panel_with_the_model_itself_in_it(tmp_path: Path) -> None:
    scripted_eval(tmp_path, tasks("a"), {"a": ["yyy"]}, judge=["student", "other"])
    (table,) = costs(str(tmp_path))
    assert dict(zip(roles(table), values(table, 3), strict=True)) == {
        ("model", "mockllm/student"): [100, 40, 20, 5],
        ("grader", "mockllm/student"): [50, None, 10, None],
        ("grader", "mockllm/other"): [50, None, 10, None],
    }


def test_further_runs_are_added_and_copies_are_not(tmp_path: Path) -> None:
    one = scripted_eval(tmp_path, tasks("a"), {"a": ["yyy"]})
    scripted_eval(tmp_path, tasks("a"), {"a": ["nnn"]})
    (tmp_path / "copy.eval").write_bytes(Path(one.location).read_bytes())
    tokens, money = costs(str(tmp_path), PRICES)
    assert values(tokens, 3) == [[200, 80, 40, 10], [100, None, 20, None]]
    assert [row[3].value for row in money.rows] == [2]


def test_nothing_solved_has_no_price(tmp_path: Path) -> None:
    scripted_eval(tmp_path, tasks("a"), {"a": ["nnn"]})
    _, money = costs(str(tmp_path), PRICES)
    assert money.rows[0][-1].text == "–"


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_prices_from_a_file(folder: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"prices.{ending}"
    if ending == "json":
        path.write_text(json.dumps({name: p.model_dump() for name, p in PRICES.items()}))
    else:
        path.write_text(
            "mockllm/student: {input: 2, cached_input: 0.5, output: 10}\n"
            "mockllm/judge:\n  input: 1\n  output: 4\n"
        )
    assert costs(str(folder), str(path)) == costs(str(folder), PRICES)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("mockllm/student: {input: 2, output: 10}", "no price for mockllm/judge. Add USD per"),
        ("mockllm/student: {input: -2, output: 10}", "mockllm/student.input: Input should be"),
        ("mockllm/student: {input: 2, out: 1}", "mockllm/student.output: Field required"),
        ("- a\n- b", "the file: Input should be a valid dictionary"),
        ("a: [", "not YAML or JSON"),
    ],
)
def test_prices_that_will_not_do(folder: Path, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text)
    with pytest.raises(ClbenchError) as caught:
        costs(str(folder), str(path))
    assert str(caught.value).startswith(f"{path}: {message}")


def test_prices_that_are_not_there(folder: Path) -> None:
    with pytest.raises(ClbenchError, match=r"none\.yaml: cannot be read \(No such file"):
        costs(str(folder), "none.yaml")
