"""What a run will use, cost and show: figures worked out by hand."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.plan import CLBENCH_ROWS, cheapest_design, plan, planned_difference
from tests.support.builders import row, write_rows
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import tasks

MODEL, JUDGE = "openai/some-model", "anthropic/some-judge"
PRICE = "{input: 2, output: 10, input_cache_write: 2, input_cache_read: 0.5}"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Four tasks of two contexts, 4,000 characters each, with rubrics of 400."""
    records = [row(f"t{n}", context=f"c{n // 2}", rubrics=["r" * 100] * 4) for n in range(4)]
    for n, record in enumerate(records):
        record["messages"] = [{"role": "user", "content": f"{n}" + "x" * 3_999}]
    return write_rows(tmp_path / "rows.jsonl", records)


@pytest.fixture
def prices(tmp_path: Path) -> Path:
    path = tmp_path / "prices.yaml"
    path.write_text(f"{MODEL}: {PRICE}\n{JUDGE}: {PRICE}\n", encoding="utf-8")
    return path


def by_role(*arguments: Any, **options: Any) -> pd.DataFrame:
    return plan(*arguments, **options).frame.set_index("role")


def ranges(row: pd.Series, quantity: str) -> list[float]:
    return [row[f"{quantity} {figure}"] for figure in ("low", "mid", "high")]


def test_tokens_and_money_by_hand(rows: str, prices: Path) -> None:
    uses = by_role(MODEL, JUDGE, dataset=rows, epochs=2, prices=prices)
    answering, judging = uses.loc["answering"], uses.loc["judging"]
    assert (answering["model"], answering["requests"]) == (MODEL, 8)
    assert ranges(answering, "input") == [8 * 1_000] * 3
    # Answers of 700, 1,500 and 4,000 tokens after none, 4,000 and 15,000 of reasoning.
    assert ranges(answering, "output") == [8 * 700, 8 * 5_500, 8 * 19_000]
    # The judge reads 2,000 characters of its own, the rubrics and the answer, not the reasoning.
    assert ranges(judging, "input") == [8 * (600 + n) for n in (700, 1_500, 4_000)]
    assert ranges(judging, "output") == [8 * n for n in (600, 1_500, 4_000)]
    # Half of the tasks have a sibling before them, with which they share 79 % in the first of two runs.
    cached = 1 - (1 - 0.79 / 2) / 2
    least = 8_000 * ((1 - cached) * 2 + cached * 0.5) + 5_600 * 10
    assert ranges(answering, "usd") == pytest.approx([least / 1e6, 0.456, 1.536])
    assert ranges(judging, "usd") == pytest.approx([0.0688, 0.1536, 0.3936])
    assert ranges(uses.loc["together"], "usd") == pytest.approx([least / 1e6 + 0.0688, 0.6096, 1.9296])


def test_a_first_plan_needs_neither_network_nor_file() -> None:
    table = plan("openai/gpt-5.1", "a/x,b/y", contexts=8, epochs=1)
    # Eight of 500 contexts with 1,899 tasks, and each judge of a panel.
    assert table.frame["model"].to_list() == ["openai/gpt-5.1", "a/x", "b/y"]
    assert table.frame["requests"].to_list() == [30, 30, 30]
    assert table.title == "CL-bench: plan of about 30 tasks (contexts 8, epochs 1), tokens in millions"
    assert ranges(table.frame.iloc[0], "input") == pytest.approx([30 * 42_493 / 4] * 3)
    assert "No price is known for openai/gpt-5.1, a/x, b/y. " in table.notes[-1]
    with pytest.raises(ClbenchError, match="--contexts 501: CL-bench has 500"):
        plan(MODEL, contexts=501)
    assert plan(MODEL, dataset=CLBENCH.hub_id).frame.equals(plan(MODEL).frame)


def test_what_is_known_of_the_benchmark_is_what_its_file_holds(real_data: str) -> None:
    pd.testing.assert_frame_equal(plan(MODEL).frame, plan(MODEL, dataset=real_data).frame, rtol=1e-3)


def test_rows_without_contexts_are_contexts_of_their_own(tmp_path: Path) -> None:
    category = "Behavioral Records & Activity Trails"
    records = [row(f"t{n}", context_category=category, sub_category="Game Logs") for n in range(3)]
    for record in records:
        del record["metadata"]["context_id"]
    table = plan(MODEL, dataset=write_rows(tmp_path / "life.jsonl", records), epochs=1)
    assert table.title == "CL-bench Life: plan of 3 tasks (contexts 3, epochs 1), tokens in millions"
    assert table.frame["cached_at_most"].iloc[0] == 0


def test_the_difference_that_can_be_shown() -> None:
    # 100 contexts of four tasks at a rate of one half, where the variance of an answer is 0.25: of contexts
    # 0.3 x 0.25 / 100, of tasks 0.15 x 0.25 / 400, of two runs 2 x 0.55 x 0.25 / 800, in all 0.0011875. With
    # 99 degrees of freedom t is 1.9842 + 0.8453 = 2.8295, its square 8.006. The better model varies less, by
    # d^2 / 800: d^2 (1 + 8.006 / 800) = 8.006 x 0.0011875.
    expected = math.sqrt(8.006 * 0.0011875 / (1 + 8.006 / 800))
    assert planned_difference([4] * 100, 100, 2, 0.5) == pytest.approx(expected, rel=1e-3)
    assert planned_difference([4] * 400, 100, 2, 0.5) == pytest.approx(expected, rel=1e-3)
    # As many tasks in unequal contexts tell less.
    assert planned_difference([1] * 50 + [7] * 50, 100, 2, 0.5) > expected


def test_a_better_model_varies_more_below_a_rate_of_one_half() -> None:
    # 100 tasks in contexts of their own, once, at 10 %: d^2 = 7.955 x (0.09 x (0.3 + 0.15 + 1.1) + d (0.8 - d))
    # / 100 with t = 2.8295 for 99 degrees of freedom.
    difference = planned_difference([1] * 100, 100, 1, 0.1)
    variance = (0.09 * 1.55 + difference * (0.8 - difference)) / 100
    assert difference**2 == pytest.approx(8.006 * variance, rel=2e-3)


def test_too_few_contexts_show_nothing() -> None:
    assert math.isnan(planned_difference([4], 1, 3))
    assert math.isnan(planned_difference([1, 1], 2, 1))
    assert plan(MODEL, contexts=1).notes[0] == "Too few contexts to tell two models apart."


@pytest.mark.parametrize("difference", [0.04, 0.06, 0.15])
def test_the_cheapest_design_has_the_fewest_answers(difference: float) -> None:
    sizes = CLBENCH_ROWS.sizes
    design = cheapest_design(sizes, difference)
    assert design is not None
    assert planned_difference(sizes, *design) <= difference
    answers = [
        contexts * epochs
        for contexts, epochs in product(range(25, 501, 25), range(1, 6))
        if planned_difference(sizes, contexts, epochs) <= difference
    ]
    assert design[0] * design[1] <= min(answers)
    table = plan(MODEL, detect=100 * difference)
    assert f"points: --contexts {design[0]} --epochs {design[1]}." in table.notes[0]
    assert (*table.frame[["detect_contexts", "detect_epochs"]].iloc[0],) == design
    assert "No design of up to 5 epochs shows 0.5 points." in plan(MODEL, detect=0.5).notes[0]


def test_a_pilot_tells_what_answers_and_verdicts_take(tmp_path: Path, rows: str) -> None:
    ids = [f"t{n}" for n in range(8)]
    # A verdict that is asked for three times takes three times as much.
    outcomes = {"t0": ["nyy"], "t1": [""], "t2": ["error"]}
    pilot = answers_df(make_log(tmp_path / "logs", tasks(*ids), outcomes))
    table = plan(MODEL, JUDGE, dataset=rows, epochs=1, pilot=pilot)
    uses = table.frame.set_index("role")
    # Each answer has 20 tokens, five of them reasoning, and each verdict 10.
    assert ranges(uses.loc["answering"], "output") == [4 * 20] * 3
    assert ranges(uses.loc["judging"], "output") == [4 * 10] * 3
    assert "Tokens of the pilot: answer 15 (15–15), reasoning 5 (5–5), verdict 10 (10–10)" in table.notes[1]
    # Five of the seven that have a score are solved.
    assert "solving rate 71.4 %" in table.notes[0] or "Too few contexts" in table.notes[0]
    # Where answers are unlike, there is a range.
    pilot = answers_df(make_log(tmp_path / "unlike", tasks("t0", "t1", "t2", "t3")))
    pilot["output_tokens"] = [15.0, 25, 35, 45]
    # Means 20 and 40 of the two contexts: 30, and a standard error of 10.
    uses = by_role(MODEL, JUDGE, dataset=rows, epochs=1, pilot=pilot)
    assert ranges(uses.loc["answering"], "output") == [4 * 10, 4 * 30, 4 * 50]
    with pytest.raises(ClbenchError, match="--pilot: no answer in it says how many tokens"):
        plan(MODEL, pilot=pilot.assign(output_tokens=math.nan))


def test_the_table_and_its_figures(prices: Path) -> None:
    table = plan(MODEL, JUDGE, contexts=100, epochs=2, prices=prices, detect=5)
    answering = json.loads(table.to_json())[0]
    assert (answering["contexts"], answering["epochs"], answering["tasks"]) == (100, 2, 380)
    expected = planned_difference(CLBENCH_ROWS.sizes, 100, 2)
    assert answering["smallest_difference"] == pytest.approx(expected)
    check_golden(Path(__file__).parent / "golden" / "plan.txt", table.to_text(80))
