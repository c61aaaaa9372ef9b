"""The statistics of paired tasks, against values worked out by hand."""

import math
import sys
import warnings
from collections.abc import Sequence

import pytest

from inspect_clbench.analysis.paired import (
    PairedTask,
    bootstrap_interval,
    difference_of,
    holm,
    mcnemar_p,
)
from inspect_clbench.errors import ClbenchError


def tasks(*contexts: Sequence[float]) -> list[PairedTask]:
    """Tasks by context, given as the difference of A and B."""
    return [
        PairedTask(f"t{i}.{j}", f"c{i}", "x", (max(d, 0.0), max(-d, 0.0)))
        for i, differences in enumerate(contexts)
        for j, d in enumerate(differences)
    ]


# Five contexts of two tasks: sums 1, 0, 1, -1, 0 around 2 · 0.1.
FIVE = tasks([1, 0], [0, 0], [1, 0], [-1, 0], [0, 0])


def test_the_clustered_interval_and_test_by_hand() -> None:
    found = difference_of(FIVE)
    assert (found.tasks, found.contexts) == (10, 5)
    assert (found.won, found.lost, found.tied) == (2, 1, 7)
    assert (found.rate_a, found.rate_b) == pytest.approx((0.2, 0.1))
    # (0.64 + 0.04 + 0.64 + 1.44 + 0.04) · 5/4 = 3.5
    assert found.stderr == pytest.approx(math.sqrt(3.5) / 10)
    # Student's t with 4 degrees of freedom: 2.776445 at 97.5 %
    assert found.low == pytest.approx(0.1 - 2.776445 * 0.1870829, abs=1e-6)
    assert found.high == pytest.approx(0.1 + 2.776445 * 0.1870829, abs=1e-6)
    # t² = 2/7; F(t) = 1/2 + 3/8 · √(4/15) · (1 - 4/180)
    below = 0.5 + 0.375 * math.sqrt(4 / 15) * (1 - 4 / 180)
    assert found.p == pytest.approx(2 * (1 - below))
    assert not found.told_apart


def test_contexts_of_unequal_size_weigh_by_their_tasks() -> None:
    # mean 1/4; sums less their share: 2 - 3/4, 0 - 2/4, -1 - 1/4, 1 - 2/4
    found = difference_of(tasks([1, 1, 0], [0, 0], [-1], [1, 0]))
    squares = 1.25**2 + 0.5**2 + 1.25**2 + 0.5**2
    assert found.difference == pytest.approx(0.25)
    assert found.stderr == pytest.approx(math.sqrt(squares * 4 / 3) / 8)


def test_what_could_be_shown_has_a_power_of_80_percent() -> None:
    stats = pytest.importorskip("scipy.stats")
    found = difference_of(FIVE)
    assert found.detectable is not None
    assert found.stderr is not None
    shift, critical = found.detectable / found.stderr, stats.t.ppf(0.975, 4)
    power = stats.nct.sf(critical, 4, shift) + stats.nct.cdf(-critical, 4, shift)
    assert power == pytest.approx(0.8, abs=1e-5)  # as near as older scipys come


def test_a_difference_is_told_apart() -> None:
    found = difference_of(tasks(*([1, 0, 1] for _ in range(20)), *([0, 0] for _ in range(5))))
    assert found.told_apart
    assert found.low is not None
    assert found.low > 0


def test_the_interval_stays_within_what_is_possible() -> None:
    found = difference_of(tasks([1], [0]))
    assert (found.low, found.high) == (-1, 1)
    assert found.detectable is None  # not even a difference of 100 points


@pytest.mark.parametrize(
    ("paired", "stderr", "p"),
    [
        (tasks([1]), None, None),  # one task
        (tasks([1, 0, -1]), None, None),  # one context
        (tasks([0, 0], [0]), 0.0, 1.0),  # the same on every task
        (tasks([1], [1], [1]), 0.0, 0.25),  # alike in every context: 2 · (1/2)³
        (tasks([1, -1], [-1, 1]), 0.0, 1.0),  # contexts that cancel out
        (tasks([1 / 3] * 3, [1 / 3]), 0.0, 0.5),  # alike but for rounding
    ],
)
def test_where_no_error_can_be_estimated(
    paired: list[PairedTask], stderr: float | None, p: float | None
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)  # numpy on empty input
        found = difference_of(paired)
        assert bootstrap_interval(paired, 1) is None
    assert found.stderr == stderr
    assert found.p == (p if p is None else pytest.approx(p))
    assert (found.low, found.high, found.detectable) == (None, None, None)


def test_the_bootstrap_draws_contexts() -> None:
    # Ten contexts, half of them +1: the mean of a draw is Bin(10, 1/2) / 10, whose
    # quantiles at 2.5 % and 97.5 % are 0.2 and 0.8.
    halves = tasks(*([1.0] for _ in range(5)), *([0.0] for _ in range(5)))
    assert bootstrap_interval(halves, seed=1) == pytest.approx((0.2, 0.8))
    # Two contexts of ten tasks each: means 0, 1/2 and 1, a quarter, a half and a quarter.
    # Drawing tasks instead would end near 0.3 and 0.7.
    assert bootstrap_interval(tasks([1] * 10, [0] * 10), seed=1) == (0.0, 1.0)


def test_the_bootstrap_follows_its_seed() -> None:
    mixed = tasks(*([(i * 7 % 3 - 1) / 3, (i * 5 % 4 - 1) / 3] for i in range(40)))
    assert bootstrap_interval(mixed, seed=1) == bootstrap_interval(mixed, seed=1)
    assert bootstrap_interval(mixed, seed=1) != bootstrap_interval(mixed, seed=2)


def test_mcnemar_is_the_exact_one() -> None:
    # won 6, lost 1: 2 · (1 + 7) / 2⁷
    assert mcnemar_p(tasks([1] * 6, [-1], [0, 0])) == pytest.approx(0.125)


def test_holm_by_hand_and_without_tests_that_could_not_be_made() -> None:
    # 0.01 · 3, 0.03 · 2, and 0.04 no less than the one before
    assert holm([0.01, 0.04, None, 0.03]) == pytest.approx([0.03, 0.06, None, 0.06])
    assert holm([None, None]) == [None, None]


def test_without_the_libraries_the_message_is_the_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    libraries = {"scipy", "statsmodels"}
    for name in [name for name in sys.modules if name.split(".")[0] in libraries]:
        monkeypatch.setitem(sys.modules, name, None)
    for name in libraries:
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(ClbenchError, match=r"pip install '\.\[report\]'"):
        difference_of(FIVE)
