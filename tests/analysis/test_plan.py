"""What a run will use, cost and show: figures worked out by hand."""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.model import ModelCost

from inspect_clbench.analysis import plan
from inspect_clbench.analysis.plan import cached_share
from inspect_clbench.analysis.power import Spread, detectable
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import render
from tests.support.builders import row, write_rows
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import tasks

PRICE = ModelCost(input=2, output=10, input_cache_write=2, input_cache_read=0.5)
MODEL, JUDGE = "openai/some-model", "anthropic/some-judge"


@pytest.fixture
def rows(tmp_path: Path) -> str:
    """Four tasks of two contexts, 400 characters each."""
    found = [row(f"t{i}", context=f"c{i // 2}") for i in range(4)]
    for i, one in enumerate(found):
        one["messages"] = [{"role": "user", "content": f"{i}" + "x" * 399}]
    return write_rows(tmp_path / "rows.jsonl", found)


def test_tokens_and_money_by_hand(rows: str) -> None:
    found = plan(
        MODEL, judge=JUDGE, dataset=rows, epochs=2, prices={MODEL: PRICE, JUDGE: PRICE},
        answer_tokens=600, reasoning_tokens=400, judge_tokens=500,
    )  # fmt: skip
    model, judge = found.roles
    assert (model.requests, model.input_tokens) == (8, 8 * 100)
    assert model.output_tokens.mid == 8_000
    # 800 tokens at 2 and 8,000 at 10 USD per million; too short a prompt for any cache.
    assert model.usd is not None
    assert model.usd.low == model.usd.mid == model.usd.high == pytest.approx(0.0816)
    assert judge.output_tokens.mid == 4_000
    assert found.usd is not None
    assert judge.usd is not None
    assert found.usd.mid == pytest.approx(0.0816 + judge.usd.mid)
    # The judge reads each answer beside its prompt and rubrics, and no reasoning.
    bare = plan(MODEL, judge=JUDGE, dataset=rows, epochs=2, answer_tokens=0).roles[1]
    assert judge.input_tokens == bare.input_tokens + 8 * 600
    # Eight samples of 2 x 40 s, 20 at a time.
    assert found.hours == pytest.approx(8 * 80 / 20 / 3600)


def test_a_batch_costs_half(rows: str) -> None:
    prices = {MODEL: PRICE, JUDGE: PRICE}
    usual = plan(MODEL, judge=JUDGE, dataset=rows, prices=prices).usd
    batch = plan(MODEL, judge=JUDGE, dataset=rows, prices=prices, batch=True).usd
    assert usual is not None
    assert batch is not None
    assert batch.mid == pytest.approx(usual.mid / 2)


def test_without_a_price_there_are_only_tokens(rows: str) -> None:
    found = plan(MODEL, judge=JUDGE, dataset=rows, prices={MODEL: PRICE})
    assert found.usd is None
    assert found.unpriced == (JUDGE,)
    assert all(design.usd is None for design in found.designs)
    done = clbench("plan", "--model", MODEL, "--judge", JUDGE, "--dataset", rows)
    assert done.exit_code == 0, done.stderr
    assert f"No price is known for {MODEL}, {JUDGE}." in " ".join(done.stdout.split())


def test_what_a_cache_holds() -> None:
    long, short = [("p", 2_000.0), ("pa", 3_000.0)], [("p", 2_000.0), ("pb", 2_500.0)]
    # The second starts when the first has ended, the third too late, the fourth too soon.
    starts = [0.0, 40.0, 40 + 40 + 301.0, 40 + 40 + 302.0]
    assert cached_share([long, short, long, short], starts, 40) == pytest.approx(2_000 / 11_000)
    # A prompt of fewer than 1,024 tokens is never cached.
    assert cached_share([[("p", 1_000.0)]] * 2, [0, 50], 40) == 0


def test_what_a_cache_could_hold_at_most(tmp_path: Path) -> None:
    found = [row(f"t{i}", context="c") for i in range(2)]
    for i, one in enumerate(found):
        contents = ("s" * 8_000, f"{i}" * 2_000)
        for message, content in zip(one["messages"], contents, strict=True):
            message["content"] = content
    used = plan(MODEL, dataset=write_rows(tmp_path / "rows.jsonl", found), epochs=2).roles[0]
    # Of four prompts of 2,500 tokens, the second finds 2,000 and the last two find all.
    assert used.cached_at_most == pytest.approx((2_000 + 2 * 2_500) / 10_000)


def test_tokens_are_counted_by_a_real_tokenizer_where_there_is_one(
    rows: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tiktoken = pytest.importorskip("tiktoken")
    ranks = {bytes([n]): n for n in range(256)}  # a token per byte
    encoding = tiktoken.Encoding(
        "bytes", pat_str=r".|\n", mergeable_ranks=ranks, special_tokens={}
    )

    def known(name: str) -> Any:
        if name == "some-model":
            return encoding
        raise KeyError(name)

    monkeypatch.setattr(tiktoken, "encoding_for_model", known)
    found = plan(MODEL, judge=JUDGE, dataset=rows, epochs=1)
    assert found.tokenizer == "bytes and characters / 4"
    assert found.roles[0].input_tokens == 4 * 400


def test_the_difference_that_can_be_shown() -> None:
    spread = Spread(context=0.05, task=0.03, run=0.08, rate=0.5, shared=0.5)
    # 100 contexts of four tasks: 0.05 / 100 + 0.03 / 400 + 2 x 0.08 / (400 x 2) = 0.000775,
    # and t with 99 degrees of freedom is 1.9842 + 0.8453 = 2.8295. At a rate of one half the
    # better model varies less, by d^2 / 800: d^2 (1 + 8.006 / 800) = 8.006 x 0.000775.
    assert detectable([4] * 100, spread, epochs=2) == pytest.approx(0.07838, abs=1e-5)
    assert detectable([4] * 400, spread, epochs=2, contexts=100) == pytest.approx(
        0.07838, abs=1e-5
    )
    # Unequal contexts tell less: 16 and 100 tasks in two halves, not 116 in equal ones.
    assert detectable([1] * 50 + [7] * 50, spread, 2) > detectable([4] * 100, spread, 2)


def test_a_better_model_varies_more_below_a_rate_of_one_half() -> None:
    spread = Spread(context=0, task=0, run=0.09, rate=0.1)
    # 100 tasks once: d^2 = 8.006 (2 x 0.09 + d (0.8 - d)) / 100, so d = 0.1489, and not
    # 2.8295 x sqrt(0.0018) = 0.1200.
    found = detectable([1] * 100, spread, epochs=1)
    assert found == pytest.approx(0.1489, abs=1e-4)
    assert found**2 == pytest.approx(8.006 * (0.18 + found * (0.8 - found)) / 100, rel=1e-3)


def test_the_cheapest_design(rows: str) -> None:
    found = plan(MODEL, dataset="demo", detect=0.4)
    assert found.cheapest is not None
    assert found.cheapest.detectable <= 0.4
    fewer = [d for d in found.designs if d.detectable <= 0.4]
    assert all(
        d.tasks * d.epochs >= found.cheapest.tasks * found.cheapest.epochs for d in fewer
    )
    assert plan(MODEL, dataset="demo", detect=0.001).cheapest is None


def test_a_pilot_tells_the_lengths(tmp_path: Path) -> None:
    ids = [f"t{i}" for i in range(8)]
    log = make_log(tmp_path / "logs", tasks(*ids), {ids[0]: ["yyn"], ids[1]: ["nnn"]})
    found = plan(MODEL, dataset=log.eval.task_args["dataset"], pilot=log.location)
    # Each answer has 20 tokens, five of them reasoning, each verdict 10; six are solved.
    lengths = found.lengths
    assert (lengths.answer.mid, lengths.reasoning.mid, lengths.verdict.mid) == (15, 5, 10)
    assert lengths.answer.low == lengths.answer.high == 15
    assert found.rate == pytest.approx(6 / 8)


def test_a_pilot_of_enough_contexts_tells_the_variances(tmp_path: Path) -> None:
    ids = [f"t{i}" for i in range(80)]
    # Forty contexts of two tasks in two runs: contexts are all alike, tasks of a context
    # differ, runs never do.
    verdicts = {id: ["yyy" if n % 2 else "nnn"] * 2 for n, id in enumerate(ids)}
    log = make_log(tmp_path / "logs", tasks(*ids), verdicts)
    found = plan(MODEL, dataset=log.eval.task_args["dataset"], pilot=log.location)
    assert found.spread.from_pilot
    # Mean square between tasks 2 x 0.5 = 1 over two runs.
    assert (found.spread.context, found.spread.run) == (0, 0)
    assert found.spread.task == pytest.approx(0.5)
    assert found.rate == 0.5


def test_a_pilot_in_which_all_is_solved_leaves_the_assumed_variances(tmp_path: Path) -> None:
    log = make_log(tmp_path / "logs", "demo", epochs=2)
    found = plan(MODEL, dataset="demo", pilot=log.location)
    assert not found.spread.from_pilot
    assert "variances assumed" in " ".join(render(found, "markdown").split())


def test_a_pilot_is_of_one_dataset(tmp_path: Path, demo_log: str) -> None:
    log = make_log(tmp_path / "logs", tasks("a", "b"), {"a": ["yyn"]})
    with pytest.raises(ClbenchError, match=r"--pilot: logs of several datasets \(CL-bench, CL"):
        plan(MODEL, dataset="demo", pilot=[log.location, demo_log])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"epochs": 0}, "epochs=0: give a number above 0"),
        ({"latency": 0}, "latency=0: give a number above 0"),
        ({"rate": 20}, "rate=20: give a share between 0 and 1, .*clbench: --rate 20, in %"),
        (
            {"detect": 3},
            "detect=3: give a difference between 0 and 1, .*clbench: --detect 5, in",
        ),
        ({"detect": 0}, "detect=0: give a difference between 0 and 1"),
        ({"answer_tokens": -1}, "-1 tokens"),
        ({"reasoning_tokens": -1}, "-1 tokens"),
        ({"contexts": 1}, "contexts=1"),
    ],
)
def test_what_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ClbenchError, match=message):
        plan(MODEL, dataset="demo", **options)


def test_from_the_command_line(rows: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    line = "{input: 2, output: 10, input_cache_write: 2, input_cache_read: 0.5}"
    prices.write_text(f"{MODEL}: {line}\n{JUDGE}: {line}\n")
    done = clbench(
        "plan", "--model", MODEL, "--judge", JUDGE, "--dataset", rows, "--epochs", "2",
        "--model-cost-config", str(prices), "--answer-tokens", "1000", "--reasoning-tokens", "0", "--judge-tokens", "500",
        "--detect", "90", "--format", "json",
    )  # fmt: skip
    assert done.exit_code == 0, done.stderr
    used, shown = json.loads(done.stdout)
    assert used["rows"][0]["USD"]["mid"] == pytest.approx(0.0816)
    assert [row["Contexts"] for row in shown["rows"]] == [2]


def test_a_file_tells_whose_rows_it_holds() -> None:
    life = files("inspect_clbench.demo") / "life_rows.jsonl"
    assert plan(MODEL, dataset=str(life)).dataset == "CL-bench Life"


def test_a_batch_has_no_hours_of_its_own(rows: str) -> None:
    text = render(plan(MODEL, dataset=rows, batch=True), "markdown")
    assert "within a day" in text
    assert "bottleneck" not in text


def test_a_frame_has_roles_and_designs() -> None:
    frame = plan(MODEL, dataset="demo").to_pandas()
    assert set(frame["part"]) == {"role", "design"}
    assert frame["output_tokens_mid"].notna().sum() == 2


def test_the_money_of_a_design_does_not_depend_on_the_part_that_is_planned() -> None:
    prices = {MODEL: PRICE, JUDGE: PRICE}
    whole = plan(MODEL, judge=JUDGE, dataset="demo", prices=prices)
    part = plan(MODEL, judge=JUDGE, dataset="demo", prices=prices, contexts=4)
    assert part.tasks < whole.tasks
    assert part.designs == whole.designs


def test_the_judge_reads_short_and_long_answers(rows: str) -> None:
    prices = {MODEL: PRICE, JUDGE: PRICE}
    spread = plan(MODEL, judge=JUDGE, dataset=rows, prices=prices, epochs=1, judge_tokens=0)
    exact = plan(
        MODEL, judge=JUDGE, dataset=rows, prices=prices, epochs=1, judge_tokens=0,
        answer_tokens=1_500,
    )  # fmt: skip
    ranged, fixed = spread.roles[1].usd, exact.roles[1].usd
    assert ranged is not None
    assert fixed is not None
    assert ranged.low < ranged.mid == fixed.low == fixed.high < ranged.high
