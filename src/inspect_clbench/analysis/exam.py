"""The judge exam: how far a judge can be trusted, from logs of `judge_exam`.

Its series are read like all others: the model is the judge, a case is solved if the verdict is
right, the category is the family of a case and the sub-category its kind.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from inspect_ai.model import ModelUsage

from inspect_clbench.analysis.statistics import Rate, rate_of
from inspect_clbench.benchmarks import EXAM
from inspect_clbench.metrics.exam import FIGURES, STEADINESS, Sat, figure_trials, sat

if TYPE_CHECKING:
    from inspect_clbench.logs.answers import Answer
    from inspect_clbench.logs.series import Series


@dataclass(frozen=True)
class ExamResult:
    """How one judge with one prompt did."""

    series: "Series"
    rates: dict[str, Rate]
    """By the names of the metrics."""


def exam_result(series: "Series", ci: bool = False) -> ExamResult:
    """The figures of the exam; steadiness only of several epochs."""
    sats = [_sat(answer) for answer in series.scored]
    names = [*FIGURES, *([STEADINESS] if series.runs > 1 else [])]
    return ExamResult(series, {name: rate_of(figure_trials(name, sats), ci) for name in names})


def _sat(answer: "Answer") -> Sat:
    return sat(
        run=answer.run,
        case=answer.task_id,
        context=answer.context_id,
        family=answer.category,
        missed=answer.missed,
        right=answer.solved,
        reason=answer.reason,
        status=answer.status,
        inconsistent=answer.inconsistent,
    )


def tokens_per_verdict(series: "Series") -> tuple[int, int] | None:
    """Input and output tokens of all requests, by the number of verdicts; none if unknown."""
    whole = ModelUsage()
    for log in series.logs:
        for usage in log.header.stats.model_usage.values():
            whole += usage
    verdicts = len(series.scored)
    if not whole.total_tokens or not verdicts:
        return None
    read = whole.total_tokens - whole.output_tokens  # with what a cache held
    return round(read / verdicts), round(whole.output_tokens / verdicts)


def exams_of(judged: "Sequence[Series]", among: "Sequence[Series]") -> Iterator[ExamResult]:
    """The exams, among some series, of the judges and prompts of others."""
    asked = {
        (judge, one.judge_prompt_sha256) for one in judged for judge in one.judge.split(", ")
    }
    for one in among:
        names = {log.model_name for log in one.logs}  # a label may stand in one.model
        if one.benchmark is EXAM and any((n, one.judge_prompt_sha256) in asked for n in names):
            yield exam_result(one)
