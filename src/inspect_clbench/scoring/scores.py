"""What judges said of an answer becomes a Score.

Judged, replayed and imported answers all get their scores here, so that reports can treat
them alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai.model import ChatMessage, ModelOutput
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Reference, Score

from inspect_clbench.benchmarks import ANSWER_EVENT
from inspect_clbench.judge.asking import Judgement
from inspect_clbench.scoring.explanation import cited, explain

JudgeFailure = Literal["zero", "unscored"]


@dataclass(frozen=True)
class Case:
    """The answer that a score is about, and how its judge was asked."""

    epoch: int
    rubrics: Sequence[tuple[int, str]]  # with their numbers
    judge_prompt: str
    judge_prompt_sha256: str
    answer: Reference | None  # the message that holds it, for the viewer to point at
    stop_reason: str
    judge_effort: str = ""  # empty for the model's own default


def empty_answer_score(case: Case) -> Score:
    """Not solved, without asking the judge."""
    total = len(case.rubrics)
    return Score(
        value=INCORRECT,
        answer="no answer",
        explanation=(
            f"**0/{total} rubrics met, not solved**{cited(case.answer)}\n\nThe model gave no "
            f"answer (stop reason: {case.stop_reason}). The judge was not asked."
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
    """What one judge decided, or the majority of several."""
    total = len(case.rubrics)
    verdicts = [j.found for j in judgements if j.found is not None]
    failures = [str(j.failure) for j in judgements if j.failure is not None]
    # Strict majority of all judges: a tie or a failed judge counts against the answer.
    votes = sum(v.solved for v in verdicts)
    solved = 2 * votes > len(judgements)
    # Whether those that failed could have turned it: then the judges are the reason.
    undecided = not solved and 2 * (votes + len(failures)) > len(judgements)
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
        judge_error="; ".join(failures),
        inconsistent=any(v.inconsistent for v in verdicts),
        # A list, one text per judge: Inspect takes long lists out of a log's summaries
        # at once, where a long text costs it more than our own work on a sample.
        rationales=[j.found.rationale if j.found else "" for j in judgements],
        requirement_status=list(first.requirement_status) if first else [],
    )
    if len(judgements) > 1:
        metadata["votes"] = [_vote(j) for j in judgements]
    return Score(
        value=value,
        answer="no verdict" if undecided else _in_short(met, total, solved),
        explanation=explain(case.rubrics, status, judgements, solved, case.answer),
        reason="grader_failed" if undecided else None,
        metadata=metadata,
    )


def _in_short(met: int | None, total: int, solved: bool) -> str:
    """The answer's column in the sample list: sorted as text, it is sorted by the share."""
    words = "solved" if solved else "not solved"
    if met is None or not total:
        return f"?/{total} met, {words}"
    share = 100 * met // total / 100  # below 1 unless all are met
    return f"{share:.2f}, {met}/{total} met, {words}"


def rationale_of(metadata: Mapping[str, Any]) -> str:
    """Why an answer is not solved, out of a score's metadata: what those who say so wrote."""
    votes, texts = metadata.get("votes"), metadata.get("rationales")
    if not isinstance(texts, list):
        return ""
    if isinstance(votes, list) and len(votes) == len(texts):
        pairs = zip(votes, texts, strict=True)
        texts = [text for vote, text in pairs if vote.get("solved") is False]
    return "\n\n".join(map(str, texts))


def _common_status(statuses: Sequence[str], total: int) -> str:
    """One letter per rubric, the majority's where there are several judges."""
    # A list whose length is not that of the rubrics cannot be laid beside them.
    fitting = [s for s in statuses if len(s) == total]
    if len(fitting) == 1:
        return fitting[0]
    return "".join(
        "y" if 2 * letters.count("y") > len(letters) else "n"
        for letters in zip(*fitting, strict=True)
    )


def _vote(judgement: Judgement) -> dict[str, Any]:
    # Small enough for a log's sample summaries.
    verdict = judgement.found
    return {
        "judge": judgement.judge,
        "solved": verdict.solved if verdict else None,
        "status": verdict.status if verdict else "",
        "attempts": judgement.attempts,
        "verdict_source": verdict.source if verdict else "",
        "judge_error": judgement.failure.kind if judgement.failure else "",
    }


def _metadata(case: Case, **fields: Any) -> dict[str, Any]:
    return {
        "epoch": case.epoch,
        "judge_prompt": case.judge_prompt,
        "judge_prompt_sha256": case.judge_prompt_sha256,
        "judge_effort": case.judge_effort,
        **fields,
        "scanner_references": references(case.answer),
    }


def answer_reference(messages: Sequence[ChatMessage], output: ModelOutput) -> Reference | None:
    """The message that holds the answer, as the log viewer cites it: M and its number.

    The viewer looks for messages in calls of models only. Of a replayed answer it gets the
    event that shows it.
    """
    message = output.message if output.choices else None
    if message is None or message.id is None:
        return None
    place = next((n for n, m in enumerate(messages, 1) if m.id == message.id), len(messages))
    event = (message.metadata or {}).get(ANSWER_EVENT)
    return Reference(
        type="event" if event else "message", cite=f"[M{place}]", id=event or message.id
    )


def references(answer: Reference | None) -> list[dict[str, Any]]:
    """What makes the viewer open a score beside the message that it is about."""
    return [answer.model_dump()] if answer else []
