"""Intervals from drawing contexts anew."""

import math
import random
import time

import numpy as np
import pytest

from inspect_clbench.analysis.agreement import level_of
from inspect_clbench.analysis.statistics import kappa_figure, rate_of, share_figure
from inspect_clbench.metrics.agreement import Array, Words, kappa
from inspect_clbench.metrics.solving import Trial

WORDS: list[Words] = [(True, True), (True, False), (False, True), (False, False)]


def share(counts: Array) -> Array:
    return np.asarray(counts[..., 0] / counts[..., 1])


def test_the_interval_of_a_share_is_that_of_the_clustered_error() -> None:
    chance = random.Random(1)
    contexts = [
        [chance.random() < p for _ in range(5)] for p in (0.2, 0.5, 0.9) for _ in range(50)
    ]
    figure = share_figure(share, np.array([[sum(c), len(c)] for c in contexts], float))
    trials = [Trial(1, str(i), float(w)) for i, c in enumerate(contexts) for w in c]
    expected = rate_of(trials, ci=True)
    assert expected.interval is not None
    assert figure == pytest.approx((expected.mean, *expected.interval), abs=0.004)


def test_the_interval_of_kappa_is_that_of_its_large_sample_error() -> None:
    # Answers of contexts of their own, so that statsmodels' formula holds.
    rater = pytest.importorskip("statsmodels.stats.inter_rater")
    table = [60, 10, 15, 215]
    counts = np.repeat(np.eye(4), table, axis=0)
    value, low, high = kappa_figure(lambda c: kappa(WORDS, c), counts)
    expected = rater.cohens_kappa(np.array(table).reshape(2, 2))
    assert value == pytest.approx(expected.kappa)
    middle = math.atanh(expected.kappa)
    reach = 1.968 * expected.std_kappa / (1 - expected.kappa**2)
    assert (low, high) == pytest.approx(
        (math.tanh(middle - reach), math.tanh(middle + reach)), abs=0.01
    )


def test_where_there_is_nothing_to_draw() -> None:
    assert share_figure(share, np.array([[1, 3]], float))[1:] == (None, None)
    assert share_figure(share, np.array([[4, 4]] * 10, float)) == pytest.approx(
        (1.0, 0.025**0.1, 1.0)
    )
    alike = np.array([[3, 0, 0, 2]] * 10, float)
    assert kappa_figure(lambda c: kappa(WORDS, c), alike) == (1.0, None, None)
    same = np.array([[3, 0, 0, 0]] * 10, float)
    assert kappa_figure(lambda c: kappa(WORDS, c), same) == (None, None, None)


def test_a_full_run_takes_a_moment_and_gives_the_same_again() -> None:
    draw = np.random.default_rng(0)
    ratings = {
        f"c{i}": dict(
            zip(WORDS, map(int, draw.multinomial(190, [0.5, 0.1, 0.1, 0.3])), strict=True)
        )
        for i in range(500)
    }
    start = time.process_time()
    first = level_of("rubrics", ["a", "b"], ratings)
    assert time.process_time() - start < 2
    assert first == level_of("rubrics", ["a", "b"], ratings)
