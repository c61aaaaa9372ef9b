"""Why answers failed: a scorer that has a judge sort failures into the paper's error types."""

from collections.abc import Mapping, Sequence
from logging import getLogger
from typing import Any

from inspect_ai.scorer import (
    CORRECT,
    NOANSWER,
    Reference,
    Score,
    Scorer,
    Target,
    scorer,
)
from inspect_ai.solver import TaskState

from inspect_clbench.error_metrics import (
    Unlabelled,
    error_type_coverage,
    error_type_rates,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.error_types import (
    Failed,
    Labels,
    before_answer,
    label_prompt,
    parse_labels,
)
from inspect_clbench.judge.grading import Asked, Judge, ask
from inspect_clbench.judge.prompt import graded_text, numbered_rubrics
from inspect_clbench.judge.replies import Failure
from inspect_clbench.scorers.failure_draw import FailureDraw
from inspect_clbench.scorers.graders import ROLE, graders
from inspect_clbench.scorers.judge_watch import JudgeWatch, current_watch
from inspect_clbench.scorers.states import answer_id, never_answered, usual_effort
from inspect_clbench.scores import rationale_of
from inspect_clbench.viewer import explain_labels

logger = getLogger(__name__)

_RUBRIC_JUDGE = "rubric_judge"

_WORDS: dict[Unlabelled, str] = {
    "solved": "Solved: there is no failure to explain.",
    "not_run": "The sample ended in an error: there is no answer.",
    "no_verdict": "The rubric judge gave no verdict: nobody knows whether the answer failed.",
    "empty_answer": "The model gave no answer. The judge was not asked.",
    "not_drawn": "Failed, but not among the failures drawn to be labelled.",
}


@scorer(metrics=[error_type_rates(), error_type_coverage()])
def error_types(
    max_failures: int | None = None, seed: int = 0, attempts: int = 3
) -> Scorer:  # fmt: skip
    """Label each failed answer: context ignored, context misused, format error, refusal.

    One judge, the model role `grader`, sees the whole conversation, the answer, the
    missed rubrics and the rubric judge's rationale. Solved answers, empty ones and
    those without a verdict are not sent. Use it on a finished log, with
    `inspect score LOG --scorer inspect_clbench/error_types --action append`, or after
    `rubric_judge()` in the list of a task's scorers.

    Args:
        max_failures: Label only so many failures of each run, drawn at random; all if
            not given.
        seed: Which failures are drawn; the same ones for the same seed.
        attempts: How often the judge is asked for usable labels, in all.
    """
    if max_failures is not None and not (
        type(max_failures) is int and max_failures >= 1  # a bool is no number
    ):
        raise ClbenchError(
            f"max_failures={max_failures}: give a whole number of at least 1, or leave the "
            "parameter out to label all failures."
        )
    if attempts < 1:
        raise ClbenchError(f"attempts={attempts}: the judge must be asked at least once.")
    draw = FailureDraw(max_failures, seed) if max_failures is not None else None
    own_watch = JudgeWatch()
    told: set[int] = set()

    async def score(state: TaskState, target: Target) -> Score:
        basics: dict[str, Any] = {"epoch": state.epoch, "max_failures": max_failures}
        if never_answered(state):
            return _without_types("not_run", basics)
        rubric_score = _rubric_score(state)
        basics["rubric_judge"] = str((rubric_score.metadata or {}).get("judge", ""))
        if left_out := _left_out(state, rubric_score):
            return _without_types(left_out, basics)
        if draw is not None:
            basics |= {"seed": seed, "draw_rank": draw.rank(state)}
            if not await draw.takes(state):
                return _without_types("not_drawn", basics)
        judges = graders(usual_effort(state))
        _tell_of_others(judges, told)
        failed = _failed(state, rubric_score)
        asked = await _label(judges[0], failed, attempts)
        (current_watch() or own_watch).report([asked])
        effort = judges[0].model.config.reasoning_effort or ""
        metadata = {**basics, "judge_effort": str(effort), "judges_bound": len(judges)}
        return _score(asked, failed, metadata, answer_id(state))

    return score


async def _label(judge: Judge, failed: Failed, attempts: int) -> Asked[Labels]:
    numbers = [number for number, _ in failed.rubrics]

    def read(reply: str, cut_off: bool) -> Labels | Failure:
        return parse_labels(reply, rubrics=numbers, cut_off=cut_off, answer=failed.answer)

    return await ask(judge, label_prompt().render(failed), read, attempts=attempts)


def _rubric_score(state: TaskState) -> Score:
    """The verdict on the answer: the rubric judge's first score, if it was asked again."""
    scores: Mapping[str, Score] = state.scores or {}
    found = scores.get(_RUBRIC_JUDGE)
    if found is None:
        raise ClbenchError(
            f"error_types: sample {state.sample_id} has no score of {_RUBRIC_JUDGE}, which "
            "says whether it failed and which rubrics it missed. Score a log with --action "
            f"append, so that its scores are kept; in a task, list {_RUBRIC_JUDGE}() before "
            "error_types()."
        )
    return found


def _left_out(state: TaskState, rubric_score: Score) -> Unlabelled | None:
    """Why there is nothing to label, if that is so."""
    if rubric_score.value == CORRECT:
        return "solved"
    if rubric_score.reason == "no_response" or not graded_text(state.output.completion):
        return "empty_answer"
    if rubric_score.reason == "grader_failed" or rubric_score.value == NOANSWER:
        return "no_verdict"
    return None


def _failed(state: TaskState, rubric_score: Score) -> Failed:
    metadata = rubric_score.metadata or {}
    return Failed(
        conversation=before_answer(state.messages, answer_id(state)),
        rubrics=numbered_rubrics(state.metadata["rubrics"]),
        status=str(metadata.get("status", "")),
        rationale=rationale_of(metadata),
        answer=graded_text(state.output.completion),
    )


def _tell_of_others(judges: Sequence[Judge], told: set[int]) -> None:
    if len(judges) > 1 and len(judges) not in told:
        told.add(len(judges))
        logger.warning(
            "error_types asks one judge: %s, the first of the %d bound to the role %s.",
            judges[0].name,
            len(judges),
            ROLE,
        )


def _without_types(value: Unlabelled, metadata: dict[str, Any]) -> Score:
    return Score(
        value=value,
        explanation=_WORDS[value],
        reason="no_response" if value == "empty_answer" else None,
        metadata=metadata,
    )


def _score(
    asked: Asked[Labels], failed: Failed, metadata: dict[str, Any], message_id: str | None
) -> Score:
    prompt = label_prompt()
    labels = asked.found
    metadata |= {
        "judge": asked.judge,
        "judge_attempts": asked.attempts,
        "judge_prompt": prompt.name,
        "judge_prompt_sha256": prompt.sha256,
        "judge_error": str(asked.failure) if asked.failure else "",
        "label_source": labels.source if labels else "",
        "rubrics_missed": [number for number, _ in failed.missed],
        "labels": {
            key: {
                "present": label.present,
                "reason": label.reason,
                "rubrics": list(label.rubrics),
            }
            for key, label in (labels.by_type if labels else {}).items()
        },
        "scanner_references": _references(message_id),
    }
    return Score(
        value=labels.value if labels else "unlabelled",
        explanation=explain_labels(asked, metadata["judges_bound"]),
        reason=None if labels else "grader_failed",
        metadata=metadata,
    )


def _references(message_id: str | None) -> list[dict[str, Any]]:
    if not message_id:
        return []
    return [Reference(type="message", cite="[answer]", id=message_id).model_dump()]
