"""The arithmetic, against values worked out by hand."""

import math
from typing import Any

import pytest
from inspect_ai.scorer import CORRECT as C
from inspect_ai.scorer import INCORRECT as I
from inspect_ai.scorer import NOANSWER as N
from inspect_ai.scorer import Metric, SampleScore, Score
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.metrics.solving import clbench_metrics, judging, solving, solving_by
from tests.support.builders import sample_score

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
        # A task without a context is one of its own.
        ([SampleScore(score=Score(value=letter, metadata={"epoch": 1}), sample_id=f"t{i}") for i, letter in enumerate("CCII")],
         {"solving_rate": 0.5, "stderr": math.sqrt(4 / 3) / 4}),
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


def test_judging() -> None:
    scores = [
        sample_score("a", C, rubrics_met=4, rubrics_total=4, stop_reason="stop"),
        sample_score("b", I, rubrics_met=1, rubrics_total=4, inconsistent=True, stop_reason="max_tokens"),
        sample_score("c", I, reason="grader_failed", rubrics_met=None, rubrics_total=4),
        sample_score(
            "d", I, reason="no_response", rubrics_met=0, rubrics_total=4, stop_reason="model_length"
        ),
        sample_score("e", C, rubrics_met=4, rubrics_total=4),
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


@pytest.mark.parametrize("metric", [solving(), judging(), solving_by("context_category")])
def test_metrics_are_total(metric: Metric) -> None:
    foreign = SampleScore(score=Score(value=0.5))
    for scores in ([], [foreign, foreign], table("C"), [sample_score("n", N)]):
        assert all(isinstance(figure, float) for figure in call(metric, scores).values())


@pytest.mark.usefixtures("without_tokenizer")
@pytest.mark.parametrize("reducer", ["mean", None])
def test_the_figures_of_an_eval_whatever_its_reducer(reducer: str | None) -> None:
    # run 1: 2 of 3, run 2: 1 of 3, run 3: 0 of 3
    epochs = [
        [Score(value=letter, metadata={"epoch": epoch}) for epoch, letter in enumerate(letters, start=1)]
        for letters in ("CCI", "CII", "III")
    ]
    rules, procedures = "Rule System Application", "Procedural Task Execution"
    metadata = [
        {"context_id": str(i), "context_category": name} for i, name in enumerate([rules, rules, procedures])
    ]
    metrics = [metric for metric in clbench_metrics() if not isinstance(metric, dict)]
    assert run_metrics(metrics, epochs, reducer=reducer, metadata=metadata) == pytest.approx({
        "solving_rate": 1 / 3,
        "std": 1 / 3,
        # residuals: 1/9 + 2/9 + 0, 1/9 - 1/9 + 0, -2/9 - 1/9 + 0, over three runs
        "stderr": math.sqrt(2 * (1 / 3) ** 2 * 3 / 2) / 3,
        "rubric_rate": math.nan, "judge_coverage": 1, "judge_failures": 0, "no_response": 0,
        "inconsistent_verdicts": 0, "cut_off_answers": 0,
        rules: 0.5, f"{rules} (std)": 0.5, procedures: 0, f"{procedures} (std)": 0,
    }, nan_ok=True)  # fmt: skip
