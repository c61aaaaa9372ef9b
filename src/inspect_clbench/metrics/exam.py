"""The figures of the judge exam: how often verdicts are right, of which answers, and how steadily.

Every figure is a share, computed per epoch; the value is the mean of the epochs. Metrics see
scores and tables see answers of a log: both become `Sat`, of which all figures are made.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from inspect_ai.scorer import CORRECT, Metric, SampleScore, Value, metric

from inspect_clbench.metrics.solving import (
    Trial,
    clustered_stderr,
    mean_rate,
    run_rates,
    runs_of,
    solving_by,
)

ATTACK = "attack"
UNUSABLE = "invalid_response_format"
"""Inspect's reason of the score of an unusable reply."""


class Sat(NamedTuple):
    """One case in one epoch: what is true, and what the judge made of it."""

    run: int
    case: str
    context: str
    family: str
    good: bool  # whether the answer truly meets every rubric
    right: bool
    usable: bool
    contradicts: bool  # itself: its list says otherwise than its score
    rubrics: int  # of which it said something, which may be none
    rubrics_right: int


def sat(
    *,
    run: int,
    case: str,
    context: str,
    family: str,
    missed: Any,
    right: bool,
    reason: str | None,
    status: Any,
    inconsistent: bool,
) -> Sat:
    """What a score of the exam says, whatever is missing in it."""
    numbers = missed if isinstance(missed, list | tuple) else ()
    letters = status if isinstance(status, str) else ""
    truth = ("n" if number in numbers else "y" for number in range(1, len(letters) + 1))
    rubrics_right = sum(letter == true for letter, true in zip(letters, truth, strict=True))
    usable = reason != UNUSABLE
    return Sat(
        run, case, context, family, not numbers, right, usable, inconsistent,
        len(letters), rubrics_right,
    )  # fmt: skip


FIGURES: dict[str, Callable[[Sat], tuple[float, float] | None]] = {
    "accuracy": lambda one: (one.right, 1),
    "sensitivity": lambda one: (one.right, 1) if one.good else None,
    "specificity": lambda one: None if one.good else (one.right, 1),
    "rubric_accuracy": lambda one: (
        (one.rubrics_right / one.rubrics, one.rubrics) if one.rubrics else None
    ),
    "attack_success": lambda one: (
        (one.usable and not one.right, 1) if one.family == ATTACK and not one.good else None
    ),
    "contradictions": lambda one: (one.contradicts, 1),
    "unusable": lambda one: (not one.usable, 1),
}
"""What each figure makes of a case: its value and its weight, or nothing if it is not about it."""

STEADINESS = "steadiness"


def figure_trials(name: str, sats: Iterable[Sat]) -> list[Trial]:
    """What the arithmetic takes for a figure: the cases that it is about."""
    if name == STEADINESS:
        return _steadiness(sats)
    told = ((one, FIGURES[name](one)) for one in sats)
    return [Trial(one.run, one.context, *found) for one, found in told if found]


def _steadiness(sats: Iterable[Sat]) -> list[Trial]:
    """Of each case that was judged in several epochs, whether the verdict was always the same."""
    by_case: defaultdict[str, list[Sat]] = defaultdict(list)
    for one in sats:
        by_case[one.case].append(one)
    return [
        Trial(1, some[0].context, len({(one.right, one.usable) for one in some}) == 1)
        for some in by_case.values()
        if len(some) > 1
    ]


@metric(scores="unreduced")
def exam_figures() -> Metric:
    """`accuracy`, its clustered `stderr`, and the other figures; `steadiness` of several epochs."""

    def compute(scores: list[SampleScore]) -> Value:
        sats = _sats(scores)
        trials = {name: figure_trials(name, sats) for name in FIGURES}
        steady = figure_trials(STEADINESS, sats)
        values = {name: mean_rate(run_rates(found)) for name, found in trials.items()}
        return {
            "accuracy": values.pop("accuracy"),
            "stderr": clustered_stderr(trials["accuracy"]),
            **values,
            **({STEADINESS: mean_rate(run_rates(steady))} if steady else {}),
        }

    return compute


def _sats(scores: Sequence[SampleScore]) -> list[Sat]:
    found = []
    for run, one in runs_of(scores):
        told, metadata = one.sample_metadata or {}, one.score.metadata or {}
        found.append(
            sat(
                run=run,
                case=str(one.sample_id),
                context=str(told.get("context_id") or one.sample_id),
                family=str(told.get("family")),
                missed=told.get("missed"),
                right=one.score.value == CORRECT,
                reason=one.score.reason,
                status=metadata.get("status"),
                inconsistent=bool(metadata.get("inconsistent")),
            )
        )
    return found


def exam_metrics() -> list[Metric | dict[str, list[Metric]]]:
    """The metrics of the judge exam, headline first; the kinds have a table of their own."""
    return [
        exam_figures(),
        solving_by("kind", std=False, metric={"name": "Kind"}),
    ]
