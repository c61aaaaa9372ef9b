"""The arithmetic, against values worked out by hand."""

import math
import random
import time
from typing import Any

import pytest
from inspect_ai.scorer import CORRECT as C
from inspect_ai.scorer import INCORRECT as I
from inspect_ai.scorer import NOANSWER as N
from inspect_ai.scorer import Metric, SampleScore, Score, stderr
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.metrics.solving import clbench_metrics, judging, solving, solving_by
from tests.support.builders import SUB_CATEGORIES, sample_score

nan = pytest.approx(math.nan, nan_ok=True)


def call(metric: Metric, scores: list[SampleScore]) -> dict[str, float]:
    value = metric(scores)  # type: ignore[arg-type]  # the protocol's deprecated half takes list[Score]
    assert isinstance(value, dict)
    return {str(key): float(figure) for key, figure in value.items() if figure is not None}


def table(*runs: str) -> list[SampleScore]:
    """A score per letter; column = task, row = run; tasks 0 and 1 share a context."""
    return [
        sample_score(f"t{i}", letter, epoch=run, context=f"c{max(i, 1)}")
        for run, letters in enumerate(runs, start=1)
        for i, letter in enumerate(letters)
    ]


@pytest.mark.parametrize(
    ("scores", "expected"),
    [
        # rate 1/2; contexts {t0, t1}, {t2}, {t3}; residuals 1/2 + 1/2, -1/2, -1/2
        # sum of squares 1 + 1/4 + 1/4 = 3/2; x 3/2; root 1.5; / 4 rows = 0.375
        (table("CCII"), {"solving_rate": 0.5, "stderr": 0.375}),
        # The same answers thrice carry no more information than once.
        (table("CCII", "CCII", "CCII"), {"solving_rate": 0.5, "std": 0, "stderr": 0.375}),
        # rates 3/4, 2/4, 1/4: sample std 1/4 (the population's would be 0.204); residuals of the
        # contexts -1/2 + 0 - 1/2, 1/4 + 1/2 - 1/4, 1/4 - 1/2 + 3/4; sqrt(3/2 x 3/2) over 3 runs of 4
        (table("CICC", "CICI", "IIIC"), {"solving_rate": 0.5, "std": 0.25, "stderr": 0.125}),
        # The mean is of runs, not of rows: run 1 has 1 of 1, run 2 none of 3. Context c1 (t0, t1): 0 - 0.
        ([*table("C"), *[sample_score(f"t{i}", I, epoch=2) for i in range(3)]],
         {"solving_rate": 0.5, "std": math.sqrt(0.5), "stderr": 0}),
        # Where nobody or everybody solved there is nothing to tell how sure that is.
        (table("CCCC"), {"solving_rate": 1, "stderr": nan}),
        (table("IIII", "IIII"), {"solving_rate": 0, "std": 0, "stderr": nan}),
        (table("CI"), {"solving_rate": 0.5, "stderr": nan}),  # of one context
        # Runs are known from the order when epochs are not.
        ([sample_score("a", C, epoch=None), sample_score("a", I, epoch=None)],
         {"solving_rate": 0.5, "std": math.sqrt(0.5), "stderr": nan}),
        # What a person left unscored is left out.
        ([*table("CCII"), sample_score("u", N, reason="grader_failed")], {"solving_rate": 0.5, "stderr": 0.375}),
        ([], {"solving_rate": nan, "stderr": nan}),
    ],
)  # fmt: skip
def test_rate_std_and_stderr(scores: list[SampleScore], expected: dict[str, Any]) -> None:
    assert call(solving(), scores) == pytest.approx(expected, nan_ok=True)


def test_stderr_of_one_run_equals_inspects_own() -> None:
    rng = random.Random(7)
    scores = [sample_score(f"t{i}", rng.choice((C, I)), context=f"c{rng.randrange(30)}") for i in range(120)]
    theirs = stderr(cluster="context_id")(scores)  # type: ignore[arg-type]  # see call()
    assert call(solving(), scores)["stderr"] == pytest.approx(theirs)


def test_a_task_without_a_context_is_one_of_its_own() -> None:
    scores = [sample_score(f"t{i}", letter) for i, letter in enumerate("CCII")]
    for score in scores:
        score.sample_metadata = None
    assert call(solving(), scores)["stderr"] == pytest.approx(math.sqrt(1 * 4 / 3) / 4)


def test_groups_have_a_rate_and_a_std_each() -> None:
    letters = [("a", "Finance", C, C), ("b", "Science", I, C), ("g", "Game Mechanics", C, C)]
    scores = [
        sample_score(task, (first, second)[epoch - 1], epoch=epoch, sub_category=sub_category)
        for epoch in (1, 2)
        for task, sub_category, first, second in letters
    ]
    assert call(solving_by("context_category"), scores) == {
        "Domain Knowledge Reasoning": 0.75,
        "Domain Knowledge Reasoning (std)": pytest.approx(math.sqrt(0.125)),
        "Rule System Application": 1.0,
        "Rule System Application (std)": 0.0,
    }
    assert call(solving_by("sub_category"), scores[:3]) == {"Finance": 1, "Science": 0, "Game Mechanics": 1}


def test_judging() -> None:
    scores = [
        sample_score("a", C, rubrics_met=4, rubrics_total=4, stop_reason="stop"),
        sample_score("b", I, rubrics_met=1, rubrics_total=4, inconsistent=True, stop_reason="max_tokens"),
        sample_score("c", I, reason="grader_failed", rubrics_met=None, rubrics_total=4),
        sample_score(
            "d", I, reason="no_response", rubrics_met=0, rubrics_total=4, stop_reason="model_length"
        ),
        sample_score("e", C, rubrics_met=None, rubrics_total=4),  # solved: all of them
        sample_score("a", I, epoch=2, rubrics_met=3, rubrics_total=4, stop_reason="content_filter"),
        sample_score("b", N, epoch=2, rubrics_met=1, rubrics_total=4),
    ]
    assert call(judging(), scores) == {
        "rubric_rate": pytest.approx(((1 + 1 / 4 + 0 + 1) / 4 + 3 / 4) / 2),
        "judge_coverage": pytest.approx(6 / 7),
        "judge_failures": 1,
        "no_response": 1,
        "inconsistent_verdicts": 1,
        "cut_off_answers": 2,
    }


def test_a_run_has_about_seventeen_figures() -> None:
    scores = [
        sample_score(f"t{i}", (C, I)[(i + epoch) % 2], epoch=epoch, sub_category=sub_category)
        for epoch in (1, 2, 3)
        for i, sub_category in enumerate(SUB_CATEGORIES)
    ]
    figures = [
        name for metric in clbench_metrics() if not isinstance(metric, dict) for name in call(metric, scores)
    ]
    assert figures[:9] == [
        "solving_rate", "std", "stderr", "rubric_rate", "judge_coverage", "judge_failures", "no_response",
        "inconsistent_verdicts", "cut_off_answers",
    ]  # fmt: skip
    assert len(figures) == 9 + 2 * 4


@pytest.mark.parametrize("metric", [solving(), judging(), solving_by("context_category")])
def test_metrics_are_total(metric: Metric) -> None:
    foreign = SampleScore(score=Score(value=0.5))
    for scores in ([], [foreign], [foreign, foreign], table("C"), [sample_score("n", N)]):
        assert all(isinstance(figure, float) for figure in call(metric, scores).values())


def test_metrics_keep_nothing_between_calls() -> None:
    """Inspect edits a score in place and computes the metrics again in the same process."""
    metric = solving()
    scores = table("IIII")
    assert call(metric, scores)["solving_rate"] == 0
    scores[2].score.value = C
    assert call(metric, scores)["solving_rate"] == 0.25


def test_cost_grows_with_the_number_of_scores() -> None:
    def seconds(count: int) -> float:
        scores = [
            sample_score(f"t{i // 3}", C if i % 5 else I, epoch=i % 3 + 1, context=f"c{i // 12}")
            for i in range(count)
        ]
        start = time.process_time()
        for metric in (solving(), judging(), solving_by("context_category")):
            call(metric, scores)
        return time.process_time() - start

    # Linear: ten times the scores, about ten times the time; a square would be a hundred.
    assert min(seconds(5_000) for _ in range(3)) < 40 * min(seconds(500) for _ in range(3))


@pytest.mark.usefixtures("without_tokenizer")
@pytest.mark.parametrize("reducer", ["mean", None])
def test_the_reducer_of_an_eval_changes_nothing(reducer: str | None) -> None:
    # run 1: 2 of 3, run 2: 1 of 3, run 3: 0 of 3
    epochs = [
        [Score(value=letter, metadata={"epoch": epoch}) for epoch, letter in enumerate(letters, start=1)]
        for letters in ("CCI", "CII", "III")
    ]
    categories = ["Rule System Application", "Rule System Application", "Procedural Task Execution"]
    metadata = [{"context_id": str(i), "context_category": name} for i, name in enumerate(categories)]
    metrics = [solving(), judging(), solving_by("context_category")]
    values = run_metrics(metrics, epochs, reducer=reducer, metadata=metadata)
    assert values["solving_rate"] == pytest.approx(1 / 3)
    assert values["std"] == pytest.approx(1 / 3)
    assert values["Rule System Application"] == pytest.approx(0.5)
    assert values["Rule System Application (std)"] == pytest.approx(0.5)
    assert values["Procedural Task Execution"] == 0
    # residuals: 1/9 + 2/9 + 0, 1/9 - 1/9 + 0, -2/9 - 1/9 + 0, over three runs
    assert values["stderr"] == pytest.approx(math.sqrt(2 * (1 / 3) ** 2 * 3 / 2) / 3)
