"""The arithmetic, against values worked out by hand."""

import math
import random
import time

import pytest
from inspect_ai.log import edit_score, read_eval_log
from inspect_ai.scorer import CORRECT as C
from inspect_ai.scorer import INCORRECT as I
from inspect_ai.scorer import NOANSWER as N
from inspect_ai.scorer import Metric, SampleScore, ScoreEdit, stderr

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.metrics.solving import (
    clustered_stderr,
    judging,
    solving,
    solving_by,
    trials,
)
from tests.support.builders import SUB_CATEGORIES, metrics_of, sample_score


def call(metric: Metric, scores: list[SampleScore]) -> dict[str, float]:
    value = metric(scores)  # type: ignore[arg-type]  # the protocol's deprecated half takes list[Score]
    assert isinstance(value, dict)
    return {str(key): float(inner) for key, inner in value.items() if inner is not None}


def table(*runs: str) -> list[SampleScore]:
    """A score per letter; column = task, row = run; tasks 0 and 1 share a context."""
    return [
        sample_score(f"t{i}", letter, epoch=run, context=f"c{max(i, 1)}")
        for run, letters in enumerate(runs, start=1)
        for i, letter in enumerate(letters)
    ]


def test_one_run_has_a_rate_and_no_std() -> None:
    values = call(solving(), table("CICC"))
    assert values["solving_rate"] == 0.75
    assert "std" not in values


def test_std_is_the_sample_std_of_the_runs_rates() -> None:
    # rates 3/4, 2/4, 1/4: mean 1/2, sample std 1/4 (the population's would be 0.204)
    values = call(solving(), table("CICC", "CICI", "IIIC"))
    assert values["solving_rate"] == 0.5
    assert values["std"] == pytest.approx(0.25)


def test_mean_is_of_runs_not_of_rows() -> None:
    # run 1: 1 of 1; run 2: 0 of 3
    scores = [*table("C"), *[sample_score(f"t{i}", I, epoch=2) for i in range(3)]]
    assert call(solving(), scores)["solving_rate"] == 0.5


def test_stderr_is_clustered_on_contexts() -> None:
    # rate 1/2; contexts {t0, t1}, {t2}, {t3}; residuals 1/2 + 1/2, -1/2, -1/2
    # sum of squares 1 + 1/4 + 1/4 = 3/2; x 3/2; root 1.5; / 4 rows = 0.375
    assert call(solving(), table("CCII"))["stderr"] == pytest.approx(0.375)


def test_stderr_of_one_run_equals_inspects_own() -> None:
    rng = random.Random(7)
    scores = [
        sample_score(f"t{i}", rng.choice((C, I)), context=f"c{rng.randrange(30)}")
        for i in range(120)
    ]
    theirs = stderr(cluster="context_id")(scores)  # type: ignore[arg-type]  # see call()
    assert clustered_stderr(trials(scores, "context_id")) == pytest.approx(theirs)


def test_stderr_of_several_runs_clusters_all_runs_of_a_context() -> None:
    # The same answers thrice carry no more information than once.
    once, thrice = table("CCIICI"), table("CCIICI", "CCIICI", "CCIICI")
    assert call(solving(), thrice)["stderr"] == pytest.approx(call(solving(), once)["stderr"])


def test_runs_are_known_from_the_order_when_epochs_are_not() -> None:
    scores = [sample_score("a", C, epoch=None), sample_score("a", I, epoch=None)]
    values = call(solving(), scores)
    assert values["solving_rate"] == 0.5
    assert values["std"] == pytest.approx(math.sqrt(0.5))


def test_unscored_rows_leave_the_rates_and_stay_in_the_counts() -> None:
    scores = [*table("CI"), sample_score("u", N, reason="grader_failed")]
    assert call(solving(), scores)["solving_rate"] == 0.5
    counts = call(judging(), scores)
    assert counts["judge_failures"] == 1
    assert counts["judge_coverage"] == pytest.approx(2 / 3)


def test_groups_have_a_rate_and_a_std_each() -> None:
    scores = [
        sample_score("a", C, epoch=1, sub_category="Finance"),
        sample_score("b", I, epoch=1, sub_category="Science"),
        sample_score("g", C, epoch=1, sub_category="Game Mechanics"),
        sample_score("a", C, epoch=2, sub_category="Finance"),
        sample_score("b", C, epoch=2, sub_category="Science"),
        sample_score("g", C, epoch=2, sub_category="Game Mechanics"),
    ]
    assert call(solving_by("context_category"), scores) == {
        "Domain Knowledge Reasoning": 0.75,
        "Domain Knowledge Reasoning (std)": pytest.approx(math.sqrt(0.125)),
        "Rule System Application": 1.0,
        "Rule System Application (std)": 0.0,
    }
    assert call(solving_by("sub_category", std=False), scores) == {
        "Finance": 1.0,
        "Game Mechanics": 1.0,
        "Science": 0.5,
    }


def test_answers_of_a_draw_count_with_their_weight() -> None:
    # Finance stands for 3 tasks each, Game Mechanics for 1.
    scores = [
        sample_score(f"{task}-{run}", letter, epoch=run, context=context, sub_category=sub)
        for run, letters in enumerate(("CIC", "IIC"), start=1)
        for task, letter, context, sub in zip(
            "abg", letters, "xyz", ("Finance", "Finance", "Game Mechanics"), strict=True
        )
    ]
    for one in scores:
        told = one.sample_metadata or {}
        told["weight"] = 3.0 if told["sub_category"] == "Finance" else 1
    # Run 1: (3 + 1) / 7, run 2: 1 / 7.
    values = call(solving(), scores)
    assert values["solving_rate"] == pytest.approx(2.5 / 7)
    assert values["std"] == pytest.approx(math.sqrt(2 * (1.5 / 7) ** 2))
    # x: 3 (1 - 4/7) + 3 (0 - 1/7) = 6/7; y: -12/7 - 3/7; z: 3/7 + 6/7; over 7 and 2 runs.
    squares = (6 / 7) ** 2 + (15 / 7) ** 2 + (9 / 7) ** 2
    assert values["stderr"] == pytest.approx(math.sqrt(squares * 3 / 2) / 14)
    by_category = call(solving_by("context_category"), scores)
    assert by_category["Domain Knowledge Reasoning"] == 0.25
    for bad in (0, -1, math.nan, math.inf, "3", None):
        scores[0].sample_metadata = {**(scores[0].sample_metadata or {}), "weight": bad}
        assert call(solving(), scores[:3])["solving_rate"] == pytest.approx((1 + 1) / 5)


def test_judging_counts() -> None:
    scores = [
        sample_score("a", C, rubrics_met=4, rubrics_total=4),
        sample_score("b", I, rubrics_met=1, rubrics_total=4, inconsistent=True),
        sample_score("c", I, reason="grader_failed", rubrics_met=None, rubrics_total=4),
        sample_score("d", I, reason="no_response", rubrics_met=0, rubrics_total=4),
        sample_score("e", C, rubrics_met=None, rubrics_total=4),  # solved: all of them
        sample_score("a", I, epoch=2, rubrics_met=3, rubrics_total=4),
        sample_score("b", N, epoch=2, rubrics_met=1, rubrics_total=4),
    ]
    # As the report has it: run 1 has (1 + 1/4 + 0 + 1) / 4, run 2 has 3/4.
    assert call(judging(), scores) == {
        "rubric_rate": pytest.approx((2.25 / 4 + 0.75) / 2),
        "rubric_rate_left_out": 2,
        "judge_coverage": pytest.approx(6 / 7),
        "judge_failures": 1,
        "no_response": 1,
        "inconsistent_verdicts": 1,
    }


@pytest.mark.parametrize("metric", [solving(), judging(), solving_by("sub_category")])
def test_metrics_are_total(metric: Metric) -> None:
    bare = SampleScore(score=sample_score("x", C).score.model_copy(update={"metadata": None}))
    for scores in ([], [bare], [bare, bare], table("C"), [sample_score("n", N)]):
        assert all(isinstance(value, float) for value in call(metric, scores).values())


def test_cost_grows_with_the_number_of_scores() -> None:
    def seconds(count: int) -> float:
        scores = [
            sample_score(
                f"t{i // 3}",
                C if i % 5 else I,
                epoch=i % 3 + 1,
                context=f"c{i // 12}",
                sub_category=SUB_CATEGORIES[i % 18],
            )
            for i in range(count)
        ]
        start = time.process_time()
        for metric in (solving(), judging(), solving_by("context_category")):
            call(metric, scores)
        return time.process_time() - start

    # Linear: ten times the scores, about ten times the time; a square would be a hundred.
    assert min(seconds(20_000) for _ in range(3)) < 40 * min(seconds(2_000) for _ in range(3))


def test_scores_that_changed_are_looked_at_again() -> None:
    scores = [sample_score(f"t{i}", I, context=f"c{i}") for i in range(4)]
    assert call(solving(), scores)["solving_rate"] == 0
    scores[2] = sample_score("t2", C, context="c2")
    assert call(solving(), scores)["solving_rate"] == 0.25
    assert call(solving(), scores[:3])["solving_rate"] == pytest.approx(1 / 3)
    assert call(judging(), [])["judge_failures"] == 0


def test_edited_scores_count_at_once(demo_log: str) -> None:
    """Inspect edits a score in place and computes the metrics again in the same process."""
    log = read_eval_log(demo_log)
    failed = [s for s in log.samples or [] if (s.scores or {})["rubric_judge"].value == I]
    rates = []
    for sample in failed[:4]:
        edit_score(
            log,
            sample.id,
            "rubric_judge",
            ScoreEdit(value=C),
            epoch=sample.epoch,
            recompute_metrics=True,
        )
        rates.append(metrics_of(log)["solving_rate"])
    assert rates == [pytest.approx(solved / 72) for solved in (31, 32, 33, 34)]
    by_category = [metrics_of(log)[name] for name in CLBENCH.categories]
    assert sum(by_category) > sum(
        metrics_of(read_eval_log(demo_log))[n] for n in CLBENCH.categories
    )
