"""What judges said of an answer becomes a Score.

Every score says by itself what is to know of its row, because reports read nothing else.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, TypeAlias

from inspect_ai.event import Event, ModelEvent
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage
from inspect_ai.scorer import CORRECT, INCORRECT, Reference, Score
from inspect_ai.solver import TaskState

from inspect_clbench.benchmarks import ANSWER_EVENT, GRADER, TASK_VERSION
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Reply, in_running_sample
from inspect_clbench.judge.prompt import JudgePrompt
from inspect_clbench.judge.verdict import Failure, Verdict
from inspect_clbench.scoring.explanation import explain, explain_no_answer

Usages: TypeAlias = Sequence[tuple[str, ModelUsage]]
"""The tokens of calls, each with its model."""


@dataclass(frozen=True)
class Case:
    """An answer and how it is judged: what its score says, whatever comes of it."""

    epoch: int
    rubrics: Sequence[tuple[int, str]]
    judge: str
    """The name of the judge; those of a panel with commas between them."""
    judge_effort: str
    judge_prompt: JudgePrompt
    answer: Reference | None
    """The message that holds the answer, for the viewer to point at."""
    stop_reason: str
    answer_usage: Usages
    """Of the models that took part in the answer."""
    share: float = 1.0
    """Of the answers that are scored at all."""


def empty_answer_score(case: Case, cost: float | None) -> Score:
    """Not solved, without asking the judge."""
    total = len(case.rubrics)
    return Score(
        value=INCORRECT,
        answer="no answer",
        explanation=explain_no_answer(total, case.stop_reason, case.answer),
        reason="no_response",
        metadata=_metadata(case, [], rubrics_met=0, status="n" * total, cost=cost),
    )


def judged_score(case: Case, replies: Sequence[Reply[Verdict]], cost: float | None) -> Score:
    """What one judge decided, or the strict majority of a panel.

    Args:
        case: The answer and how it was judged.
        replies: Of each judge.
        cost: Of the answer and of its judging, in USD; None where a price is not known.
    """
    total = len(case.rubrics)
    verdicts = [reply.result for reply in replies if isinstance(reply.result, Verdict)]
    # A tie or a failed judge counts against the answer.
    votes = sum(verdict.solved for verdict in verdicts)
    solved = 2 * votes > len(replies)
    # Where those that failed could have turned it, the judges are the reason.
    failures = len(replies) - len(verdicts)
    undecided = not solved and 2 * (votes + failures) > len(replies)
    status = _common_status([verdict.status for verdict in verdicts], total)
    met = status.count("y") if status else total if solved else None
    metadata = _metadata(case, replies, rubrics_met=met, status=status, cost=cost)
    if len(replies) > 1:
        metadata["votes"] = list(map(_vote, replies))
    return Score(
        value=CORRECT if solved else INCORRECT,
        answer="no verdict" if undecided else _in_short(met, total, solved),
        explanation=explain(case.rubrics, status, replies, None if undecided else solved, case.answer),
        reason="grader_failed" if undecided else None,
        metadata=metadata,
    )


def answer_usage(events: Iterable[Event]) -> Usages:
    """The tokens behind an answer, also those of an agent's earlier calls.

    Args:
        events: Of the sample's transcript. Calls of judges and replies from a cache do not count.
    """
    calls = [event for event in events if isinstance(event, ModelEvent)]
    return [
        (call.model, call.output.usage)
        for call in calls
        if call.role != GRADER and call.cache != "read" and call.output.usage
    ]


def sample_cost(state: TaskState, usages: Usages) -> float | None:
    """What a sample has cost so far in USD; None where a price is not known.

    Args:
        state: The sample's state.
        usages: The tokens of the answer and of its judges.
    """
    costs = [usage.total_cost for _, usage in usages if usage.total_cost is not None or usage.total_tokens]
    if None in costs:
        return None
    # During a run Inspect counts what a sample costs, without replies from a cache. In the scoring
    # of a log its figure adds up all samples.
    return state.cost_usage if in_running_sample() else sum(filter(None, costs))


def is_in_share(share: float, sample_id: str | int, epoch: int) -> bool:
    """Whether an answer is among the share of all answers that is scored, in every run the same ones."""
    digest = sha256(f"{sample_id} {epoch}".encode()).digest()
    return int.from_bytes(digest[:8]) < share * 2**64


def check_share(share: float) -> None:
    """Refuse what is no share that a user could mean."""
    if not (isinstance(share, int | float) and 0 < share <= 1):
        raise ClbenchError(f"share={share}: give the share of the answers to score, above 0 and at most 1.")


def _metadata(case: Case, replies: Sequence[Reply[Verdict]], **fields: Any) -> dict[str, Any]:
    verdicts = [reply.result for reply in replies if isinstance(reply.result, Verdict)]
    metadata = {
        "epoch": case.epoch,
        "judge": case.judge,
        "judge_effort": case.judge_effort,
        "judge_prompt": case.judge_prompt.name,
        "judge_prompt_sha256": case.judge_prompt.sha256,
        "judge_attempts": max((reply.attempts for reply in replies), default=0),
        "judge_error": "; ".join(str(reply.failure) for reply in replies if reply.failure),
        "judge_refused": any(reply.refused for reply in replies),
        "rubrics_total": len(case.rubrics),
        "inconsistent": any(verdict.is_inconsistent for verdict in verdicts),
        "stop_reason": case.stop_reason,
        "task_version": TASK_VERSION,
        "answer_usage": dumped_usage(case.answer_usage),
        # Inspect counts these tokens in the log's statistics only if the judge is asked during a run.
        "judge_usage": dumped_usage((reply.judge, reply.usage) for reply in replies),
        **fields,
        # A list: Inspect takes long lists out of a log's summaries at once, where a long text costs
        # it more than our work on a sample.
        "rationales": ["" if isinstance(r.result, Failure) else r.result.rationale for r in replies],
        # Makes the viewer open the score beside the message that it is about.
        "scanner_references": [case.answer.model_dump()] if case.answer else [],
    }
    return metadata | ({"share": case.share} if case.share < 1 else {})


def _common_status(statuses: Sequence[str], total: int) -> str:
    """A letter per rubric, the majority's where there are several judges."""
    # A list whose length is not that of the rubrics cannot be laid beside them.
    fitting = [status for status in statuses if len(status) == total]
    if len(fitting) == 1:
        return fitting[0]
    columns = zip(*fitting, strict=True)
    return "".join("y" if 2 * letters.count("y") > len(letters) else "n" for letters in columns)


def _in_short(met: int | None, total: int, solved: bool) -> str:
    """The answer's column in the sample list: sorted as text, it is sorted by the share."""
    words = "solved" if solved else "not solved"
    if met is None or not total:
        return f"?/{total} met, {words}"
    share = 100 * met // total / 100  # below 1 unless all are met
    return f"{share:.2f}, {met}/{total} met, {words}"


def _vote(reply: Reply[Verdict]) -> dict[str, Any]:
    """What one judge of a panel said. Whose vote it is, the order says, which is that of `judge`.

    With their names the votes of five judges on 114 rubrics would not fit into a log's summaries,
    which leave out what is over 1 KB.
    """
    if isinstance(reply.result, Failure):
        return {"solved": None, "status": ""}
    return {"solved": reply.result.solved, "status": reply.result.status}


def dumped_usage(usages: Iterable[tuple[str, ModelUsage]]) -> dict[str, Any]:
    """The sum of tokens by model, as a score's metadata holds it."""
    totals: defaultdict[str, ModelUsage] = defaultdict(ModelUsage)
    for model, usage in usages:
        totals[model] += usage
    return {model: usage.model_dump(exclude_none=True) for model, usage in totals.items()}


def answer_reference(messages: Sequence[ChatMessage], output: ModelOutput) -> Reference | None:
    """The message that holds the answer, as the log viewer cites it: M and its number.

    The viewer looks for messages in calls of models only. Of a replayed answer it gets the
    event that shows it.
    """
    message = output.message if output.choices else None
    if message is None or message.id is None:
        return None
    ids = [message.id for message in messages]
    place = ids.index(message.id) + 1 if message.id in ids else len(ids)
    event = (message.metadata or {}).get(ANSWER_EVENT)
    return Reference(type="event" if event else "message", cite=f"[M{place}]", id=event or message.id)
