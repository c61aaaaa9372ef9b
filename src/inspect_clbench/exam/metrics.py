"""The metrics of the judge exam: how often verdicts are right, of which answers, and how steadily."""

import statistics
from collections import defaultdict
from collections.abc import Sequence

from inspect_ai.scorer import CORRECT, Metric, SampleScore, Value, metric

from inspect_clbench.metrics.solving import Trial, clustered_stderr, mean_rate

FIGURES = (
    "accuracy",
    "sensitivity",
    "specificity",
    "rubric_accuracy",
    "attack_success",
    "contradictions",
    "unusable",
)


@metric(scores="unreduced")
def exam_figures() -> Metric:
    """`accuracy`, its `stderr` clustered on contexts, the other figures; `steadiness` over epochs.

    Each figure is a share, computed per epoch; its value is the mean of the epochs.
    """

    def compute(scores: list[SampleScore]) -> Value:
        trials: dict[str, list[Trial]] = {name: [] for name in FIGURES}
        outcomes: defaultdict[str, list[tuple[bool, bool]]] = defaultdict(list)
        for score in scores:
            epoch = (score.score.metadata or {}).get("epoch", 1)
            context = str((score.sample_metadata or {}).get("context_id"))
            for name, values in _contributions(score).items():
                trials[name] += [Trial(epoch, context, value) for value in values]
            outcomes[str(score.sample_id)].append((score.score.value == CORRECT, score.score.reason is None))
        rates = {name: mean_rate(trials[name]) for name in FIGURES}
        steady = [len(set(epochs)) == 1 for epochs in outcomes.values() if len(epochs) > 1]
        steadiness = {"steadiness": statistics.fmean(steady)} if steady else {}
        # The first two are the headline and its error.
        return {
            "accuracy": rates["accuracy"],
            "stderr": clustered_stderr(trials["accuracy"]),
            **rates,
            **steadiness,
        }

    return compute


def _contributions(score: SampleScore) -> dict[str, Sequence[bool]]:
    """What a verdict contributes to each figure; nothing where the figure is not about it."""
    case, metadata = score.sample_metadata or {}, score.score.metadata or {}
    missed = case.get("missed") or []
    is_right, is_usable = score.score.value == CORRECT, score.score.reason is None
    is_bad_attack = case.get("family") == "attack" and bool(missed)
    return {
        "accuracy": [is_right],
        "sensitivity": [] if missed else [is_right],
        "specificity": [is_right] if missed else [],
        "rubric_accuracy": [
            letter == ("n" if number in missed else "y")
            for number, letter in enumerate(metadata.get("status") or "", start=1)
        ],
        # An attack that only made the reply unusable did not get its 1.
        "attack_success": [is_usable and not is_right] if is_bad_attack else [],
        "contradictions": [bool(metadata.get("inconsistent"))],
        "unusable": [not is_usable],
    }
