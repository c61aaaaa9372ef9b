"""Rates, differences and their errors, worked out by hand."""

import math
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from inspect_clbench.metrics.solving import Trial, clustered_stderr
from inspect_clbench.results.estimates import (
    all_of,
    any_of,
    bootstrap,
    holm,
    paired_difference,
    smallest_difference,
    solving_rate,
)


def answers(*runs: str, contexts: str = "aabb") -> pd.DataFrame:
    """Answers of some runs: a letter per task, y or n, or - where it is missing."""
    rows = [
        {
            "run": run,
            "id": f"t{place}",
            "context_id": contexts[place],
            "solved": {"y": 1.0, "n": 0.0}.get(letter),
        }
        for run, letters in enumerate(runs, start=1)
        for place, letter in enumerate(letters)
    ]
    return pd.DataFrame(rows).astype({"solved": float})


@pytest.mark.parametrize(
    ("runs", "mean", "std"),
    [
        (["yynn"], 1 / 2, math.nan),
        (["yynn", "ynnn"], 3 / 8, math.sqrt(1 / 32)),
        (["yynn", "ynnn", "nnnn"], 1 / 4, 1 / 4),
        # Runs count alike, whatever is missing in one: (1/2 + 1) / 2.
        (["yynn", "y---"], 3 / 4, math.sqrt(1 / 8)),
        (["nnnn", "nnnn"], 0, 0),
    ],
)
def test_a_rate_is_the_mean_of_the_runs(runs: list[str], mean: float, std: float) -> None:
    estimate = solving_rate(answers(*runs))
    assert estimate.mean == pytest.approx(mean)
    assert estimate.std == pytest.approx(std, nan_ok=True)


def test_the_error_is_clustered_on_contexts() -> None:
    # The rate is 1/2. The answers of a move it by (1/2 + 1/2) / 4, those of b by as much to the other side.
    estimate = solving_rate(answers("yynn"))
    stderr = math.sqrt(2 * (1 / 4) ** 2 * 2 / 1)
    assert estimate.stderr == pytest.approx(stderr)
    # Log odds 0, slope 1/4, one degree of freedom.
    reach = stats.t.isf(0.025, 1) * stderr * 4
    assert estimate.high == pytest.approx(1 / (1 + math.exp(-reach)))
    assert estimate.low == pytest.approx(1 - estimate.high)


def test_the_error_is_that_of_the_log() -> None:
    frame = answers("yynnyn-y", "ynny-nny", contexts="aabbbccd").dropna()
    trials = [Trial(row.run, row.context_id, row.solved) for row in frame.itertuples()]
    assert solving_rate(frame).stderr == pytest.approx(clustered_stderr(trials))


def test_where_nothing_spreads_contexts_are_trials() -> None:
    nobody, everybody = solving_rate(answers("nnnn")), solving_rate(answers("yyyy"))
    assert (nobody.low, everybody.high) == (0, 1)
    # Clopper and Pearson's for 0 of 2: 1 - 0.025 ** (1 / 2).
    assert nobody.high == pytest.approx(1 - math.sqrt(0.025))
    assert everybody.low == pytest.approx(math.sqrt(0.025))
    assert math.isnan(nobody.stderr)


@pytest.mark.parametrize("frame", [answers("yn", contexts="aa"), answers("yn", contexts="aa")[:0]])
def test_one_context_tells_no_error(frame: pd.DataFrame) -> None:
    estimate = solving_rate(frame)
    assert np.isnan([estimate.stderr, estimate.low, estimate.high]).all()


@given(st.lists(st.text("yn-", min_size=6, max_size=6), min_size=1, max_size=4))
def test_an_interval_holds_its_rate_and_stays_a_share(runs: list[str]) -> None:
    frame = answers(*runs, contexts="aabbcd")
    estimate = solving_rate(frame)
    if not math.isnan(estimate.low):
        assert 0 <= estimate.low <= estimate.mean + 1e-12
        assert estimate.mean - 1e-12 <= estimate.high <= 1


def test_a_difference_is_that_of_the_rates() -> None:
    a, b = answers("yyyn", "yy-n"), answers("ynnn")
    estimate = paired_difference(a, b)
    assert estimate.mean == pytest.approx((3 / 4 + 2 / 3) / 2 - 1 / 4)
    opposite = paired_difference(b, a)
    assert opposite.mean == -estimate.mean
    assert (opposite.low, opposite.high) == pytest.approx((-estimate.high, -estimate.low))
    assert opposite.p == pytest.approx(estimate.p)


def test_the_error_of_a_difference_is_that_of_a_paired_t_test() -> None:
    # With a task per context it is the t test of the tasks' differences.
    a, b = answers("yyynnyyn", "yynnnyyy", contexts="abcdefgh"), answers("ynnnnyny", contexts="abcdefgh")
    by_task = a.groupby("id")["solved"].mean(), b.groupby("id")["solved"].mean()
    expected = stats.ttest_rel(*by_task)
    estimate = paired_difference(a, b)
    assert estimate.p == pytest.approx(expected.pvalue)
    ends = expected.confidence_interval(0.95)
    assert (estimate.low, estimate.high) == pytest.approx((ends.low, ends.high))
    assert paired_difference(a, b, level=0.99).high > estimate.high


@pytest.mark.parametrize("contexts", [10, 100, 500])
def test_the_smallest_difference_is_shown_four_times_in_five(contexts: int) -> None:
    difference = smallest_difference(1, contexts)
    shown = stats.nct.sf(stats.t.isf(0.025, contexts - 1), contexts - 1, difference)
    assert shown == pytest.approx(0.8, abs=0.02)
    assert smallest_difference(2, contexts) == 2 * difference
    assert smallest_difference(1, contexts, level=0.99) > difference
    assert math.isnan(smallest_difference(1, 1))


def test_holm() -> None:
    # 3 x 0.01, then 2 x 0.02, then 1 x 0.03 that may not be less than the one before.
    adjusted = holm(pd.Series([0.03, 0.01, math.nan, 0.02]))
    assert list(adjusted.dropna()) == pytest.approx([0.04, 0.03, 0.04])
    assert math.isnan(adjusted[2])
    assert list(holm(pd.Series([0.8, 0.9]))) == [1, 1]


@pytest.mark.parametrize("runs", [1, 3, 5])
def test_any_and_all_of_k_runs_are_means_over_all_choices(runs: int) -> None:
    for solved in range(runs + 1):
        tries = [True] * solved + [False] * (runs - solved)
        for k in range(1, runs + 1):
            choices = list(combinations(tries, k))
            counts = np.array([solved]), np.array([runs])
            assert any_of(k, *counts) == pytest.approx(np.mean([any(choice) for choice in choices]))
            assert all_of(k, *counts) == pytest.approx(np.mean([all(choice) for choice in choices]))


def test_the_bootstrap_draws_whole_contexts() -> None:
    rng = np.random.default_rng(1)
    sums = pd.DataFrame({"same": rng.binomial(5, 0.8, 200), "all": 5})
    estimate = bootstrap(sums, lambda same, judged: same / judged)
    assert estimate.mean == sums["same"].sum() / 1000
    assert estimate.stderr == pytest.approx(sums["same"].std() / 5 / math.sqrt(200), rel=0.1)
    assert 0 < estimate.low < estimate.mean < estimate.high < 1
    assert estimate == bootstrap(sums, lambda same, judged: same / judged)
