"""The metrics inside a real eval with real epochs and reducers, through the field's own helper."""

import math
from typing import Any

import pytest
from inspect_ai.model import ModelAPI
from inspect_ai.scorer import CORRECT, INCORRECT, Score
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.metrics.agreement import judge_agreement
from inspect_clbench.metrics.error_types import error_type_coverage, error_type_rates
from inspect_clbench.metrics.exam import exam_figures
from inspect_clbench.metrics.solving import judging, solving, solving_by


@pytest.fixture(autouse=True)
def no_tokenizer_download(monkeypatch: pytest.MonkeyPatch) -> None:
    """The helper's model counts tokens with a tokenizer that is fetched from the network."""

    async def count(self: ModelAPI, *args: object) -> int:
        return 1

    monkeypatch.setattr(ModelAPI, "count_tokens", count)
    monkeypatch.setattr(ModelAPI, "count_text_tokens", count)


METADATA = [
    {"context_id": "one", "context_category": "Rule System Application"},
    {"context_id": "two", "context_category": "Rule System Application"},
    {"context_id": "three", "context_category": "Procedural Task Execution"},
]


def scores(letters: str, **metadata: Any) -> list[Score]:
    """A score per epoch; S is solved, F failed."""
    return [
        Score(
            value=CORRECT if letter == "S" else INCORRECT,
            metadata={"epoch": epoch, "rubrics_met": 1, "rubrics_total": 2, **metadata},
        )
        for epoch, letter in enumerate(letters, start=1)
    ]


# run 1: 2 of 3, run 2: 1 of 3, run 3: 0 of 3
EPOCHS = [scores("SSF"), scores("SFF"), scores("FFF")]


@pytest.mark.parametrize("reducer", ["mean", "mode", "max", "at_least_2", None])
def test_solving_judging_and_groups_do_not_depend_on_the_reducer(reducer: str | None) -> None:
    values = run_metrics(
        [solving(), judging(), solving_by("context_category")],
        EPOCHS,
        reducer=reducer,
        metadata=METADATA,
    )
    assert values["solving_rate"] == pytest.approx(1 / 3)
    assert values["std"] == pytest.approx(1 / 3)
    assert values["Rule System Application"] == pytest.approx(0.5)
    assert values["Rule System Application (std)"] == pytest.approx(0.5)
    assert values["Procedural Task Execution"] == 0
    assert values["rubric_rate"] == 0.5
    assert values["judge_coverage"] == 1
    # residuals: 1/9 + 2/9 + 0, 1/9 - 1/9 + 0, -2/9 - 1/9 + 0, over three runs
    squares = 2 * (1 / 3) ** 2
    assert values["stderr"] == pytest.approx(math.sqrt(squares * 3 / 2) / 3)


def test_judge_agreement_speaks_only_of_panels() -> None:
    alone = run_metrics([judge_agreement(), solving()], EPOCHS, metadata=METADATA)
    assert not [name for name in alone if "agreement" in name]
    votes = [
        {"judge": "a", "solved": True, "status": "yy"},
        {"judge": "b", "solved": True, "status": "yn"},
    ]
    panel = [scores("S", votes=votes), scores("S", votes=votes), scores("S", votes=votes)]
    values = run_metrics([judge_agreement()], panel, metadata=METADATA)
    assert values["judge_agreement"] == 1.0
    assert values["rubric_agreement"] == 0.5


@pytest.mark.parametrize("reducer", ["mean", "max", None])
def test_error_type_rates_and_coverage_do_not_depend_on_the_reducer(
    reducer: str | None,
) -> None:
    def labelled(*values: str) -> list[Score]:
        return [
            Score(value=value, metadata={"epoch": epoch})
            for epoch, value in enumerate(values, start=1)
        ]

    values = run_metrics(
        [error_type_rates(), error_type_coverage()],
        [
            labelled("context_ignored+format_error", "solved"),
            labelled("context_ignored", "none"),
            labelled("refusal", "unlabelled"),
        ],
        reducer=reducer,
        metadata=METADATA,
    )
    # four labelled failed solutions: ignored twice, format once, refusal once
    assert values["context_ignored"] == pytest.approx(2 / 4)
    assert values["context_misused"] == 0
    assert values["format_error"] == pytest.approx(1 / 4)
    assert values["refusal"] == pytest.approx(1 / 4)


@pytest.mark.parametrize("reducer", ["mean", "mode", "max", None])
def test_exam_figures_do_not_depend_on_the_reducer(reducer: str | None) -> None:
    metadata: list[dict[str, Any]] = [
        {"context_id": "one", "family": "good", "missed": []},
        {"context_id": "two", "family": "one_missed", "missed": [2]},
        {"context_id": "three", "family": "attack", "missed": [1]},
    ]
    values = run_metrics(
        [exam_figures()],
        # In the first run all verdicts are right, in the second two of three.
        [scores("SS", status="yy"), scores("SS", status="yn"), scores("SF", status="yy")],
        reducer=reducer,
        metadata=metadata,
    )
    assert values["accuracy"] == pytest.approx(5 / 6)
    assert values["sensitivity"] == 1
    assert values["specificity"] == pytest.approx(3 / 4)
    assert values["rubric_accuracy"] == pytest.approx(5 / 6)
    assert values["attack_success"] == pytest.approx(1 / 2)
    assert values["steadiness"] == pytest.approx(2 / 3)
    assert (values["contradictions"], values["unusable"]) == (0, 0)
    # The second run's residuals are 1/9, 1/9 and -2/9, halved for the two runs.
    squares = 2 * (1 / 18) ** 2 + (1 / 9) ** 2
    assert values["stderr"] == pytest.approx(math.sqrt(squares * 3 / 2))
