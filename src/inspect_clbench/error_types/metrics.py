"""The metrics of error types: which ones failed answers show, and how many answers were labelled.

They are shares of labelled answers, over samples and runs; together they may exceed 1.
"""

import statistics

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from inspect_clbench.benchmarks import ERROR_TYPES, error_types_of


@metric(scores="unreduced")
def error_type_rates() -> Metric:
    """The share of labelled answers that shows each type, and what became of the failed answers."""

    def compute(scores: list[SampleScore]) -> Value:
        values = [score.score.value for score in scores]
        labels = [types for value in values if (types := error_types_of(value)) is not None]
        rates = {
            key: statistics.fmean(key in types for types in labels) if labels else float("nan")
            for key in ERROR_TYPES
        }
        counts = {state: values.count(state) for state in ("unlabelled", "empty_answer", "no_verdict")}
        return {**rates, "labelled": len(labels), **counts}

    return compute
