"""Tokens and money by model and role, against sums made by hand."""

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.costs import costs, dollars_per_run, read_prices
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import tasks

STUDENT, JUDGE = "mockllm/student", "mockllm/judge"
# Two tasks in two runs: two of four answers are solved, each judged once.
PLAN = {"a": ["yyy", "yyy"], "b": ["nnn", "yyn"]}
PRICES = {
    STUDENT: {"input": 2, "output": 10, "input_cache_write": 2, "input_cache_read": 0.5},
    JUDGE: {"input": 1, "output": 4, "input_cache_write": 0, "input_cache_read": 0},
}
# A student's answer takes 100 tokens of input, 40 from the cache and 20 of output, a verdict 50 and 10.
ANSWER = (100 * 2 + 40 * 0.5 + 20 * 10) / 1e6
VERDICT = (50 * 1 + 10 * 4) / 1e6


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return answers_df(make_log(tmp_path_factory.mktemp("logs"), tasks("a", "b"), PLAN))


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("prices") / "prices.json"
    path.write_text(json.dumps(PRICES), encoding="utf-8")
    return path


def records(answers: pd.DataFrame, *columns: str, **options: Any) -> list[list[Any]]:
    frame = costs(answers, **options).frame[list(columns)]
    return [[None if pd.isna(value) else value for value in row] for row in frame.itertuples(index=False)]


def test_tokens_by_model_and_role(answers: pd.DataFrame) -> None:
    columns = ["role", "model", "input_tokens", "input_tokens_cache_read", "output_tokens",
               "reasoning_tokens"]  # fmt: skip
    assert records(answers, *columns) == [
        ["answering", STUDENT, 400, 160, 80, 20],
        ["judging", JUDGE, 200, None, 40, None],
    ]
    # Of written ones there are none: no column.
    heads = [column.head for column in costs(answers).columns]
    assert heads == ["Run of", "Role", "Model", "Input", "Read from cache", "Output", "Of it reasoning"]


@pytest.mark.parametrize("judges", [["mockllm/x", "mockllm/y"], [STUDENT]])
def test_each_judge_has_a_row_also_the_model_itself(judges: list[str], tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a", "b"), PLAN, judge=judges)
    assert records(answers_df(log), "role", "model", "input_tokens") == [
        ["answering", STUDENT, 400],
        *(["judging", judge, 200] for judge in judges),
    ]


def test_money_of_all_runs_of_a_run_and_of_a_solved_task(answers: pd.DataFrame, prices: Path) -> None:
    rows = records(answers, "role", "usd", "usd_per_run", "usd_per_solved", prices=prices)
    for (role, *money), usd in zip(rows, [4 * ANSWER, 4 * VERDICT, 4 * (ANSWER + VERDICT)], strict=True):
        assert money == pytest.approx([usd, usd / 2, usd / 2]), role
    assert [role for role, *_ in rows] == ["answering", "judging", "together"]
    check_golden(Path(__file__).parent / "golden" / "costs.txt", costs(answers, prices).to_text(80))
    assert dollars_per_run(answers, prices) == pytest.approx({STUDENT: 2 * (ANSWER + VERDICT)})


def test_without_prices_the_table_says_what_to_add(answers: pd.DataFrame, tmp_path: Path) -> None:
    table = costs(answers)
    assert table.title == "CL-bench: tokens of answers and verdicts"
    (note,) = table.notes
    assert note.startswith(f"No price is known for {STUDENT}, {JUDGE}. Give US dollars per million tokens")
    assert "--model-cost-config FILE" in note
    assert dollars_per_run(answers) == {}
    path = tmp_path / "line.yaml"
    path.write_text(note.partition("a line such as ")[2], encoding="utf-8")
    assert [*read_prices(path)] == [STUDENT]
    # It is for one of them: the others are named, and nothing is added up.
    table = costs(answers, path)
    assert table.frame["usd"].notna().to_list() == [True, False]
    assert table.notes[0].startswith(f"No price is known for {JUDGE}. ")
    assert dollars_per_run(answers, path) == {}


def test_money_that_inspect_wrote_into_the_log(answers: pd.DataFrame, prices: Path) -> None:
    def priced(usage: dict[str, Any], usd: float) -> dict[str, Any]:
        return {model: {**tokens, "total_cost": usd} for model, tokens in usage.items()}

    known = answers.assign(
        answer_usage=[priced(usage, 0.5) for usage in answers["answer_usage"]],
        judge_usage=[priced(usage, 0.25) for usage in answers["judge_usage"]],
    )
    assert records(known, "role", "usd") == [["answering", 2.0], ["judging", 1.0], ["together", 3.0]]
    assert dollars_per_run(known) == {STUDENT: 1.5}
    # Prices that somebody gives come first.
    assert records(known, "usd", prices=prices)[0] == pytest.approx([4 * ANSWER])
    # Where one of the answers has none, the sum is not known.
    known.at[known.index[0], "answer_usage"] = answers["answer_usage"].iloc[0]
    assert records(known, "usd") == [[None], [1.0]]


def test_error_types_and_an_appended_judge_cost_what_they_used(tmp_path: Path, prices: Path) -> None:
    again = [("mockllm/second", {"b": ["yyy", "nnn"]})]
    log = make_log(tmp_path, tasks("a", "b"), PLAN, again=again, error_types={"b": ["refusal", "none"]})
    answers = answers_df(log)
    first, second = answers["name"].unique()
    assert records(answers, "name", "role", "model", "input_tokens") == [
        [first, "answering", STUDENT, 400],
        [first, "judging", JUDGE, 200],
        [first, "error types", JUDGE, 100],
        [second, "judging", "mockllm/second", 100],
    ]
    assert list(dollars_per_run(answers, prices)) == [first]


def test_answers_without_tokens_are_named(tmp_path: Path, prices: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), PLAN, model="mockllm/replayed")
    make_log(tmp_path, tasks("a", "b"), PLAN)
    answers = answers_df(str(tmp_path))
    is_replayed = answers["name"] == "mockllm/replayed"
    answers["answer_usage"] = [
        usage if not out else {} for usage, out in zip(answers["answer_usage"], is_replayed, strict=True)
    ]
    table = costs(answers, prices)
    assert table.frame.query("name == 'mockllm/replayed'")["role"].to_list() == ["judging"]
    assert table.notes == [
        "No tokens of the model itself: mockllm/replayed. Imported and replayed answers have none, nor have "
        "scores of version 0.2.0."
    ]
    assert list(dollars_per_run(answers, prices)) == [STUDENT]
    imported = costs(answers[is_replayed].assign(judge_usage=None))
    assert imported.frame.empty
    assert imported.notes == table.notes


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("openai/x: {input: 1}", r"openai/x\.output: Field required"),
        ("a: [", "expected"),
        ("2026-99-99: 1", "month must be"),
        ("[" * 9999, "recursion"),
    ],
)
def test_prices_that_will_not_do(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "prices.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ClbenchError, match=message) as error:
        read_prices(path)
    assert str(error.value).startswith(f"{path}: not prices as inspect eval --model-cost-config takes them")
    assert "openai/gpt-5.1: {input: 1.25," in str(error.value)
    with pytest.raises(ClbenchError, match=r"none\.yaml: cannot be read \(No such file"):
        read_prices(tmp_path / "none.yaml")
