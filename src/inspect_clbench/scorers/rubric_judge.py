"""The strict all-or-nothing judge as a scorer."""

from collections.abc import Sequence
from typing import Any, Literal

from inspect_ai.scorer import (
    CORRECT,
    INCORRECT,
    NOANSWER,
    Reference,
    Score,
    Scorer,
    Target,
    scorer,
)
from inspect_ai.solver import TaskState
from inspect_ai.util import collect, sample_limits

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.grading import Judgement, judge_answer
from inspect_clbench.judge.prompt import JudgePrompt, load_judge_prompt, numbered_rubrics
from inspect_clbench.metrics import clbench_metrics
from inspect_clbench.scorers.graders import JudgeWatch, current_watch, graders
from inspect_clbench.viewer import explain

JudgeFailure = Literal["zero", "unscored"]


@scorer(metrics=clbench_metrics())
def rubric_judge(
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
    attempts: int = 3,
) -> Scorer:
    """Judge an answer against its task's rubrics: solved if every one is met.

    The judge is the model role `grader`, by default `openai/gpt-5.1` at low
    reasoning effort.

    Args:
        judge_prompt: `builtin`, `upstream`, or the path of a template.
        judge_failure: What a row without a verdict counts as: `zero` (not solved) or
            `unscored` (kept in the log, left out of the rates).
        attempts: How often the judge is asked for a usable verdict, in all.
    """
    if judge_failure not in ("zero", "unscored"):
        raise ClbenchError(f"judge_failure={judge_failure}: use zero or unscored.")
    if attempts < 1:
        raise ClbenchError(f"attempts={attempts}: the judge must be asked at least once.")
    prompt = load_judge_prompt(judge_prompt)
    own_watch = JudgeWatch()

    async def score(state: TaskState, target: Target) -> Score | None:
        if not state.output.choices and not _in_running_sample():
            return None  # a sample that errored in its run has nothing to judge
        rubrics = numbered_rubrics(state.metadata["rubrics"])
        answer = state.output.completion
        if not answer.strip():
            return _empty_answer_score(state, rubrics, prompt)
        text = prompt.render(state.metadata["rubrics"], answer)
        judgements = await collect(
            *(judge_answer(g, text, answer=answer, attempts=attempts) for g in graders())
        )
        (current_watch() or own_watch).report(judgements)
        return _judged_score(state, rubrics, prompt, judgements, judge_failure)

    return score


def _in_running_sample() -> bool:
    try:
        sample_limits()
    except RuntimeError:
        return False
    return True


def _empty_answer_score(
    state: TaskState, rubrics: Sequence[tuple[int, str]], prompt: JudgePrompt
) -> Score:
    total = len(rubrics)
    return Score(
        value=INCORRECT,
        answer="no answer",
        explanation=(
            f"**0/{total} rubrics met, not solved**\n\nThe model gave no answer "
            f"(stop reason: {state.output.stop_reason if state.output.choices else 'none'})."
            " The judge was not asked."
        ),
        reason="no_response",
        metadata=_metadata(
            state, prompt, judge="", judge_attempts=0, rubrics_met=0, rubrics_total=total,
            status="n" * total, verdict_source="", judge_error="",
        ),
    )  # fmt: skip


def _judged_score(
    state: TaskState,
    rubrics: Sequence[tuple[int, str]],
    prompt: JudgePrompt,
    judgements: Sequence[Judgement],
    judge_failure: JudgeFailure,
) -> Score:
    total = len(rubrics)
    verdicts = [j.verdict for j in judgements if j.verdict is not None]
    errors = [str(j.failure) for j in judgements if j.failure is not None]
    # A failed judge has no vote but stays in the number to be outvoted.
    solved = 2 * sum(v.solved for v in verdicts) > len(judgements)
    undecided = not verdicts
    status = _common_status([v.status for v in verdicts], total)
    met = status.count("y") if status else (total if solved else None)
    value = CORRECT if solved else INCORRECT
    if undecided and judge_failure == "unscored":
        value = NOANSWER
    first = verdicts[0] if verdicts else None
    metadata = _metadata(
        state,
        prompt,
        judge=", ".join(j.judge for j in judgements),
        judge_attempts=max(j.attempts for j in judgements),
        rubrics_met=met,
        rubrics_total=total,
        status=status,
        verdict_source=first.source if first else "",
        judge_error="; ".join(errors),
        inconsistent=any(v.inconsistent for v in verdicts),
        grading_rationale=first.rationale if first else "",
        requirement_status=list(first.requirement_status) if first else [],
    )
    if len(judgements) > 1:
        metadata["votes"] = [_vote(j) for j in judgements]
        metadata["vote_rationales"] = [
            j.verdict.rationale if j.verdict else "" for j in judgements
        ]
    return Score(
        value=value,
        answer=_short_answer(met, total, undecided),
        explanation=explain(rubrics, status, judgements, solved),
        reason="grader_failed" if undecided else None,
        metadata=metadata,
    )


def _short_answer(met: int | None, total: int, undecided: bool) -> str:
    if undecided:
        return "no verdict"
    return f"{'?' if met is None else met}/{total} rubrics"


def _common_status(statuses: Sequence[str], total: int) -> str:
    """One letter per rubric, the majority's where there are several judges.

    A status list whose length is not that of the rubrics cannot be laid beside
    them and is left out.
    """
    fitting = [s for s in statuses if len(s) == total]
    if not fitting:
        return ""
    return "".join(_majority_letter(letters) for letters in zip(*fitting, strict=True))


def _majority_letter(letters: Sequence[str]) -> str:
    if len(letters) == 1:
        return letters[0]
    return "y" if 2 * letters.count("y") > len(letters) else "n"


def _vote(judgement: Judgement) -> dict[str, Any]:
    """A judge's vote, small enough for a log's sample summaries."""
    verdict = judgement.verdict
    return {
        "judge": judgement.judge,
        "solved": verdict.solved if verdict else None,
        "status": verdict.status if verdict else "",
        "attempts": judgement.attempts,
        "verdict_source": verdict.source if verdict else "",
        "judge_error": judgement.failure.kind if judgement.failure else "",
    }


def _metadata(state: TaskState, prompt: JudgePrompt, **fields: Any) -> dict[str, Any]:
    references = []
    if state.output.choices and state.output.message.id:
        reference = Reference(type="message", cite="[answer]", id=state.output.message.id)
        references.append(reference.model_dump())
    return {
        "epoch": state.epoch,
        "judge_prompt": prompt.name,
        "judge_prompt_sha256": prompt.sha256,
        **fields,
        "scanner_references": references,
    }
