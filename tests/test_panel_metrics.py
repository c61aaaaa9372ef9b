"""Agreement within a panel as metrics of a run."""

import math
import random
import time
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from inspect_ai.scorer import SampleScore, Score, krippendorff_alpha

from inspect_clbench.metrics.agreement import (
    alpha,
    judge_agreement,
    kappa,
    mean_share,
    share_alike,
    unanimous,
)
from tests.support.builders import metrics_of, row
from tests.support.programs import python
from tests.support.scripted import scripted_eval


def panel(*votes: tuple[str, bool | None, str], rubrics: int = 2) -> SampleScore:
    """The score of one answer with votes as (judge, solved, status)."""
    listed = [{"judge": j, "solved": solved, "status": s} for j, solved, s in votes]
    metadata = {"epoch": 1, "rubrics_total": rubrics, "votes": listed}
    return SampleScore(score=Score(value="C", metadata=metadata), sample_id="t")


def figures(scores: list[SampleScore]) -> dict[str, float]:
    value = judge_agreement()(scores)  # type: ignore[arg-type]  # as in test_metrics
    assert isinstance(value, dict)
    return {str(key): float(inner) for key, inner in value.items() if inner is not None}


def duo(first: str, second: str) -> SampleScore:
    return panel(("a", "n" not in first, first), ("b", "n" not in second, second))


def test_two_judges_by_hand() -> None:
    # verdicts: both solved 2, only a 1, only b 0, neither 1: raw 3/4; chance
    # (3/4 · 2/4 + 1/4 · 2/4) = 1/2; kappa (3/4 - 1/2) / (1/2) = 1/2.
    # rubrics: yy yy, yy yy, yy yn, nn ny: 2 + 2 + 1 + 1 of 8 alike.
    scores = [duo("yy", "yy"), duo("yy", "yy"), duo("yy", "yn"), duo("nn", "ny")]
    assert figures(scores) == {
        "judge_agreement": 0.75,
        "judge_kappa": pytest.approx(0.5),
        "rubric_agreement": 0.75,
    }


def test_three_judges_by_hand() -> None:
    # yes of three: 3, 2, 0, 0. Pairs: (a,b) 4/4, (a,c) 3/4, (b,c) 3/4: mean 10/12.
    # alpha: observed 2·1/2 = 1, ratings 12, yes 5: 1 - 1 · 11 / (5 · 7) = 24/35.
    votes = [(True, True, True), (True, True, False), (False,) * 3, (False,) * 3]
    scores = [panel(*((j, v, "") for j, v in zip("abc", row, strict=True))) for row in votes]
    found = figures(scores)
    assert found["judge_agreement"] == pytest.approx(10 / 12)
    assert found["judge_alpha"] == pytest.approx(24 / 35)
    assert "judge_kappa" not in found
    assert math.isnan(found["rubric_agreement"])


def test_a_failed_judge_has_no_part_in_the_pair() -> None:
    scores = [duo("yy", "yy"), duo("nn", "nn"), panel(("a", True, "yy"), ("b", None, ""))]
    assert figures(scores)["judge_agreement"] == 1.0
    assert figures(scores)["judge_kappa"] == 1.0


def test_unclear_and_unfitting_statuses_are_not_compared() -> None:
    scores = [
        panel(("a", True, "y?"), ("b", True, "yy")),  # one rubric of two, alike
        panel(("a", True, "yyy"), ("b", True, "yy")),  # a list too long
        panel(("a", False, "ny"), ("b", True, "yy")),  # one of two alike
        panel(("a", True, "??"), ("b", True, "??")),  # nothing known
    ]
    assert figures(scores)["rubric_agreement"] == pytest.approx(2 / 3)


@pytest.mark.parametrize("votes", [None, [], "Key removed", [1, 2], [{}], [["judge"]], ["x"]])
def test_scores_without_a_panel_add_nothing(votes: Any) -> None:
    score = SampleScore(score=Score(value="C", metadata={"votes": votes}))
    assert figures([score, SampleScore(score=Score(value="I"))]) == {}
    assert figures([]) == {}


def test_odd_entries_of_votes_do_not_raise() -> None:
    odd = [
        {"judge": None, "solved": [], "status": 7},
        {"judge": 3, "solved": 1, "status": "é?"},
    ]
    metadata = {"votes": odd, "rubrics_total": "two"}
    found = figures([SampleScore(score=Score(value="C", metadata=metadata))])
    assert all(math.isnan(value) for value in found.values())


def test_kappa_and_alpha_are_not_defined_when_all_say_the_same() -> None:
    assert math.isnan(figures([duo("yy", "yy"), duo("yy", "yy")])["judge_kappa"])
    trio = panel(*((judge, True, "yy") for judge in "abc"))
    assert math.isnan(figures([trio])["judge_alpha"])


def test_a_judge_twice_on_the_panel_is_two_judges() -> None:
    scores = [panel(("a", True, "yy"), ("a", v, "yy")) for v in (True, False)]
    assert figures(scores)["judge_agreement"] == 0.5


def test_kappa_is_that_of_statsmodels() -> None:
    inter_rater = pytest.importorskip("statsmodels.stats.inter_rater")
    chance = random.Random(5)
    for _ in range(200):
        a, b, c, d = (chance.randrange(0, 40) for _ in range(4))
        words = [(True, True), (True, False), (False, True), (False, False)]
        if a + b + c + d in (a, d):
            continue
        expected = inter_rater.cohens_kappa([[a, b], [c, d]], return_results=False)
        assert kappa(words, np.array([a, b, c, d], float)) == pytest.approx(expected, abs=1e-12)


def test_alpha_is_that_of_inspect() -> None:
    chance = random.Random(6)
    for _ in range(100):
        sizes = [chance.randrange(2, 6) for _ in range(chance.randrange(2, 30))]
        units = [[chance.random() < 0.4 for _ in range(size)] for size in sizes]
        if len({word for unit in units for word in unit}) < 2:
            continue
        scores = [SampleScore(score=Score(value=unit)) for unit in units]
        expected = krippendorff_alpha()(scores)  # type: ignore[arg-type]  # the protocol has a deprecated half
        counts = Counter((*unit, *[None] * (5 - len(unit))) for unit in units)
        times = np.array(list(counts.values()), float)
        assert alpha(list(counts), times) == pytest.approx(expected, abs=1e-12)


def test_words_may_be_of_more_than_two_kinds_and_counts_of_many_rows() -> None:
    # first, second: a a, a b, b b, c c. Alike 3 of 4; by chance (2·1 + 1·2 + 1·1) / 16 = 5/16.
    words = [("a", "a"), ("a", "b"), ("b", "b"), ("c", "c"), ("c", None)]
    rows = np.array([[1, 1, 1, 1, 7], [2, 0, 0, 0, 0], [0, 0, 0, 0, 1]], float)
    shares, kappas = share_alike(words, rows), kappa(words, rows)
    assert shares[:2].tolist() == [0.75, 1.0]
    assert kappas[0] == pytest.approx((3 / 4 - 5 / 16) / (11 / 16))
    assert np.isnan([shares[2], *kappas[1:]]).all()
    # 8 ratings: a 3, b 3, c 2; expected 3·5 + 3·5 + 2·6 = 42; observed 2, of the one mixed pair
    assert alpha(words, rows)[0] == pytest.approx(1 - 2 * 7 / 42)
    assert unanimous(words, rows)[0] == 0.75
    assert mean_share([], np.array([])).size == 1


def test_a_full_run_costs_less_than_a_tick_of_the_display() -> None:
    chance = random.Random(7)
    statuses = ["".join(chance.choice("yyyn") for _ in range(17)) for _ in range(5697)]
    scores = [
        panel(*((j, "n" not in s, s) for j, s in (("a", x), ("b", y))), rubrics=17)
        for x, y in zip(statuses, statuses[1:] + statuses[:1], strict=True)
    ]
    start = time.process_time()
    figures(scores)
    assert time.process_time() - start < 0.2


@pytest.mark.long
def test_the_plugin_does_not_import_statistics_libraries() -> None:
    code = (
        "import sys, inspect_clbench._registry; "
        "sys.exit(any(m in sys.modules for m in ('scipy', 'statsmodels', 'pandas')))"
    )
    assert python(code).exit_code == 0


def test_a_real_run_with_two_judges_reports_agreement(tmp_path: Path) -> None:
    rows = [row("t1", context="c1"), row("t2", context="c1"), row("t3", context="c2")]
    strict = {"t1": ["yyy"], "t2": ["ynn"], "t3": ["nnn"]}
    mild = {"t1": ["yyy"], "t2": ["yyy"], "t3": ["nny"]}
    two = scripted_eval(
        tmp_path / "two", rows, strict, judge=["strict", "mild"], says={"mild": mild}
    )
    found = metrics_of(two)
    assert found["judge_agreement"] == pytest.approx(2 / 3)
    # both 1, only mild 1, neither 1: chance (1/3 · 2/3 + 2/3 · 1/3) = 4/9; (2/3 - 4/9) / (5/9)
    assert found["judge_kappa"] == pytest.approx(0.4)
    assert found["rubric_agreement"] == pytest.approx(6 / 9)
    alone = metrics_of(scripted_eval(tmp_path / "one", rows, strict))
    assert not {key for key in alone if "agreement" in key or "kappa" in key}
