"""Tokens and money, added up by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ModelCost, ModelUsage

from inspect_clbench.analysis import costs
from inspect_clbench.analysis.costs import Costs, Spent, Use
from inspect_clbench.output import Table, tables_of
from inspect_clbench.output.costs import cost_tables
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, tasks

PLAN = {"a": ["yyy", "yyy"], "b": ["yyn", EMPTY]}
PRICES = {
    "mockllm/student": ModelCost(input=2, output=10, input_cache_write=2, input_cache_read=0.5),
    "mockllm/judge": ModelCost(input=1, output=4, input_cache_write=1, input_cache_read=1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("costs")
    make_log(path, tasks("a", "b"), PLAN)
    return path


def tables(path: Path, prices: Any = None) -> list[Table]:
    return tables_of(costs(str(path), prices))


def values(table: Table, start: int) -> list[list[object]]:
    return [[cell.value for cell in row[start:]] for row in table.rows]


def roles(table: Table) -> list[tuple[str, str]]:
    return [(row[1].text, row[2].text) for row in table.rows]


def test_tokens_by_role(folder: Path) -> None:
    (table,) = tables(folder)
    assert table.columns[3:] == ("Input", "Cached input", "Output", "Reasoning")
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/judge")]
    # Four answers of 100 + 40 cached and 20 (5 of them reasoning); the empty one is not judged.
    assert values(table, 3) == [[400, 160, 80, 20], [150, None, 30, None]]


def test_money_per_run_and_per_solved_task(folder: Path) -> None:
    _, money = tables(folder, PRICES)
    student = (400 * 2 + 160 * 0.5 + 80 * 10) / 1e6
    judge = (150 * 1 + 30 * 4) / 1e6
    (row,) = values(money, 1)
    total = student + judge
    assert row == pytest.approx([total, judge, 2, total / 2, 2, total / 2])


def test_cache_writes_without_a_price_are_noted() -> None:
    usage = ModelUsage(input_tokens=1, output_tokens=1, input_tokens_cache_write=1_200)
    uses = (Use("m", "model", "m", usage),)
    money = cost_tables(Costs(uses, (Spent("m", 1.0, 0.0, 1, 1, "j"),), {"m": 1_200}))[1]
    (warning,) = (note.text for note in money.notes if note.is_warning)
    assert warning.startswith("m: 1,200 tokens were written to the provider's cache")


def test_runs_under_two_judges_are_all_counted(tmp_path: Path) -> None:
    for judge in ("judge", "other"):
        make_log(tmp_path, tasks("a", "b"), PLAN, judge=judge)
    prices = PRICES | {"mockllm/other": PRICES["mockllm/judge"]}
    (spent,) = costs(str(tmp_path), prices).spent or ()
    assert (spent.runs, spent.solved) == (4, 4)
    assert spent.judge == "mockllm/judge, mockllm/other"


def test_a_frame_has_a_row_per_role_and_model(folder: Path) -> None:
    frame = costs(str(folder)).to_pandas()
    assert list(frame["run_of"]) == ["mockllm/student"] * 2
    assert list(frame["role"]) == ["model", "grader"]
    assert list(frame["model"]) == ["mockllm/student", "mockllm/judge"]
    counts = ["input_tokens", "input_tokens_cache_read", "output_tokens", "reasoning_tokens"]
    assert frame.loc[0, [*counts, "total_tokens"]].tolist() == [400, 160, 80, 20, 640]
    assert frame.loc[1, ["input_tokens", "output_tokens", "total_tokens"]].tolist() == [
        150, 30, 180,
    ]  # fmt: skip
    assert frame.loc[1, ["input_tokens_cache_read", "reasoning_tokens"]].isna().all()


def test_a_model_that_judges_itself(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), PLAN, judge="student")
    (table,) = tables(tmp_path)
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/student")]
    assert values(table, 3) == [[400, 160, 80, 20], [150, None, 30, None]]


def test_a_panel_with_the_model_itself_in_it(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, judge=["student", "other"])
    (table,) = tables(tmp_path)
    assert dict(zip(roles(table), values(table, 3), strict=True)) == {
        ("model", "mockllm/student"): [100, 40, 20, 5],
        ("grader", "mockllm/student"): [50, None, 10, None],
        ("grader", "mockllm/other"): [50, None, 10, None],
    }


def test_further_runs_are_added_and_copies_are_not(tmp_path: Path) -> None:
    one = make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    (tmp_path / "copy.eval").write_bytes(Path(one.location).read_bytes())
    tokens, money = tables(tmp_path, PRICES)
    assert values(tokens, 3) == [[200, 80, 40, 10], [100, None, 20, None]]
    assert [row[3].value for row in money.rows] == [2]


def test_nothing_solved_has_no_price(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    _, money = tables(tmp_path, PRICES)
    assert money.rows[0][-1].text == "–"


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_prices_from_a_file(folder: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"prices.{ending}"
    if ending == "json":
        path.write_text(json.dumps({name: p.model_dump() for name, p in PRICES.items()}))
    else:
        path.write_text(
            "mockllm/student: {input: 2, output: 10, input_cache_write: 2, "
            "input_cache_read: 0.5}\n"
            "mockllm/judge:\n  input: 1\n  output: 4\n"
            "  input_cache_write: 1\n  input_cache_read: 1\n"
        )
    assert costs(str(folder), str(path)) == costs(str(folder), PRICES)


WHOLE = "{input: 2, output: 10, input_cache_write: 2, input_cache_read: 0.5}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"mockllm/student: {WHOLE}", "no price for mockllm/judge. Add USD per"),
        (
            f"mockllm/student: {WHOLE.replace('input: 2', 'input: -2')}",
            "mockllm/student.input: -2.0 is no price. Give USD per million tokens",
        ),
        (
            f"mockllm/student: {WHOLE.replace('10', '.inf')}",
            "mockllm/student.output: inf is no price",
        ),
        (
            f"mockllm/student: {WHOLE.replace('10', 'ten')}",
            "mockllm/student.output: Input should be a valid number",
        ),
        (
            f"mockllm/student: {WHOLE.replace('output', 'out')}",
            "mockllm/student.output: Field required",
        ),
        (
            "mockllm/student: {input: 2, output: 10}",
            "mockllm/student.input_cache_write: Field required",
        ),
        ("mockllm/student: 2", "mockllm/student: Input should be a valid dictionary"),
        ("- a\n- b", "the file: Input should be a valid dictionary"),
        ("", "the file: Input should be a valid dictionary"),
        ("a: [", "not YAML or JSON"),
        (b"\xff\xfe", "not YAML or JSON"),
        (None, "cannot be read (No such file"),
    ],
)
@pytest.mark.parametrize("option", ["--model-cost-config", "--prices"])
def test_prices_that_will_not_do(
    folder: Path, tmp_path: Path, text: str | bytes | None, message: str, option: str
) -> None:
    path = tmp_path / "prices.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = clbench("costs", str(folder), option, str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"clbench: {path}: {message}")
    assert err.count("\n") == 1
