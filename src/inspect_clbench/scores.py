"""What judges said of an answer becomes a Score, the same for judged runs and graded files."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Reference, Score

from inspect_clbench.judge.grading import Judgement
from inspect_clbench.viewer import explain

JudgeFailure = Literal["zero", "unscored"]


@dataclass(frozen=True)
class Case:
    """The answer that a score is about, and how its judge was asked."""

    epoch: int
    rubrics: Sequence[tuple[int, str]]
    """The task's rubrics with their numbers."""

    judge_prompt: str
    judge_prompt_sha256: str
    message_id: str | None
    """The message that holds the answer, for the viewer to point at."""

    stop_reason: str
    judge_effort: str = ""
    """The reasoning effort the judge was set to; empty for the model's own default."""


def empty_answer_score(case: Case) -> Score:
    """Not solved, without asking the judge."""
    total = len(case.rubrics)
    return Score(
        value=INCORRECT,
        answer="no answer",
        explanation=(
            f"**0/{total} rubrics met, not solved**\n\nThe model gave no answer "
            f"(stop reason: {case.stop_reason})."
            " The judge was not asked."
        ),
        reason="no_response",
        metadata=_metadata(
            case, judge="", judge_attempts=0, rubrics_met=0, rubrics_total=total,
            status="n" * total, verdict_source="", judge_error="",
        ),
    )  # fmt: skip


def judged_score(
    case: Case, judgements: Sequence[Judgement], judge_failure: JudgeFailure = "zero"
) -> Score:
    """What one judge decided, or the majority of several.

    Args:
        case: The answer.
        judgements: What each judge said.
        judge_failure: What an answer counts as on which no judge gave a verdict.
    """
    total = len(case.rubrics)
    verdicts = [j.verdict for j in judgements if j.verdict is not None]
    errors = [str(j.failure) for j in judgements if j.failure is not None]
    # Strict majority of all judges: a tie or a failed judge counts against the answer.
    votes = sum(v.solved for v in verdicts)
    solved = 2 * votes > len(judgements)
    # Whether those that failed could have turned it: then the judges are the reason.
    undecided = not solved and 2 * (votes + len(errors)) > len(judgements)
    status = _common_status([v.status for v in verdicts], total)
    met = status.count("y") if status else (total if solved else None)
    value = CORRECT if solved else INCORRECT
    if undecided and judge_failure == "unscored":
        value = NOANSWER
    first = verdicts[0] if verdicts else None
    metadata = _metadata(
        case,
        judge=", ".join(j.judge for j in judgements),
        judge_attempts=max(j.attempts for j in judgements),
        rubrics_met=met,
        rubrics_total=total,
        status=status,
        verdict_source=first.source if first else "",
        judge_error="; ".join(errors),
        inconsistent=any(v.inconsistent for v in verdicts),
        # A list, one text per judge: Inspect takes long lists out of a log's summaries
        # at once, where a long text costs it more than our own work on a sample.
        rationales=[j.verdict.rationale if j.verdict else "" for j in judgements],
        requirement_status=list(first.requirement_status) if first else [],
    )
    if len(judgements) > 1:
        metadata["votes"] = [_vote(j) for j in judgements]
    return Score(
        value=value,
        answer=_short_answer(met, total, undecided),
        explanation=explain(case.rubrics, status, judgements, solved),
        reason="grader_failed" if undecided else None,
        metadata=metadata,
    )


def rationale_of(metadata: Mapping[str, Any]) -> str:
    """Why an answer is not solved: the judge's rationale, or those of a panel's majority.

    Args:
        metadata: That of a score made here.
    """
    votes, texts = metadata.get("votes"), metadata.get("rationales")
    if not isinstance(texts, list):
        return ""
    if isinstance(votes, list) and len(votes) == len(texts):
        pairs = zip(votes, texts, strict=True)
        texts = [text for vote, text in pairs if vote.get("solved") is False]
    return "\n\n".join(map(str, texts))


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


def _metadata(case: Case, **fields: Any) -> dict[str, Any]:
    references = []
    if case.message_id:
        reference = Reference(type="message", cite="[answer]", id=case.message_id)
        references.append(reference.model_dump())
    return {
        "epoch": case.epoch,
        "judge_prompt": case.judge_prompt,
        "judge_prompt_sha256": case.judge_prompt_sha256,
        "judge_effort": case.judge_effort,
        **fields,
        "scanner_references": references,
    }
