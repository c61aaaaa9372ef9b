"""The scorer `error_types`: a judge sorts failed answers into the paper's error types.

With `max_failures` it labels a random draw of each run's failures, because the judge reads
the whole context again and that costs as much as an answer.
"""

from bisect import insort
from dataclasses import asdict
from functools import partial
from logging import getLogger
from typing import Any

from anyio.lowlevel import EventLoopToken, checkpoint, current_token
from inspect_ai.scorer import CORRECT, NOANSWER, Reference, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from inspect_clbench.benchmarks import GRADER, RUBRIC_JUDGE, VERDICT_SCORERS
from inspect_clbench.data.selection import seeded_rank
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Asked, ask
from inspect_clbench.judge.error_types import (
    Failed,
    Labels,
    before_answer,
    label_prompt,
    parse_labels,
)
from inspect_clbench.judge.prompt import graded_text, numbered_rubrics
from inspect_clbench.metrics.error_types import (
    Unlabelled,
    error_type_coverage,
    error_type_rates,
)
from inspect_clbench.scoring.explanation import explain_labels
from inspect_clbench.scoring.graders import (
    JudgeMonitor,
    current_monitor,
    graders,
    never_answered,
    usual_effort,
    with_usage,
)
from inspect_clbench.scoring.scores import answer_reference, rationale_of, references

logger = getLogger(__name__)


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
    # A bool is no number.
    if max_failures is not None and (type(max_failures) is not int or max_failures < 1):
        raise ClbenchError(
            f"max_failures={max_failures}: give a whole number of at least 1, or leave the "
            "parameter out to label all failures."
        )
    if attempts < 1:
        raise ClbenchError(f"attempts={attempts}: the judge must be asked at least once.")
    draw = FailureDraw(max_failures, seed) if max_failures is not None else None
    own_monitor = JudgeMonitor()
    told: set[int] = set()

    async def score(state: TaskState, target: Target) -> Score:
        metadata: dict[str, Any] = {"epoch": state.epoch, "max_failures": max_failures}
        if never_answered(state):
            return _without_types("not_run", metadata)
        rubric_score = _rubric_score(state)
        metadata["rubric_judge"] = str((rubric_score.metadata or {}).get("judge", ""))
        if left_out := _left_out(state, rubric_score):
            return _without_types(left_out, metadata)
        if draw is not None:
            metadata |= {"seed": seed, "draw_rank": draw.rank(state)}
            if not await draw.takes(state):
                return _without_types("not_drawn", metadata)
        judges = graders(usual_effort(state))
        judge = judges[0]
        if len(judges) > 1 and len(judges) not in told:
            told.add(len(judges))
            logger.warning(
                "error_types asks one judge: %s, the first of the %d bound to the role %s.",
                judge.name, len(judges), GRADER,
            )  # fmt: skip
        failed = _failed(state, rubric_score)
        read = partial(parse_labels, rubrics=dict(failed.rubrics), answer=failed.answer)
        before = state.cost_usage
        asked = await ask(judge, label_prompt().render(failed), read, attempts)
        current_monitor(own_monitor).report([asked], state.cost_usage - before)
        metadata["judge_effort"] = str(judge.model.config.reasoning_effort or "")
        metadata["judges_bound"] = len(judges)
        reference = answer_reference(state.messages, state.output)
        return with_usage(_score(asked, failed, metadata, reference), [asked])

    return score


class FailureDraw:
    """Draws N failures of each run at random, without knowing how many there are.

    A scorer sees one sample at a time. So every failure has a rank, a hash of seed, task
    and run, and the draw of a run is its N lowest ranks, in whatever order they come. A
    failure is labelled if it is among the lowest so far. Inspect's `score` starts all samples
    of a log together, so exactly N are labelled. Where samples come one after the other
    (during a run, with --stream, or after another scorer that asks a model), some are
    labelled and paid for that later ones push out: of F failures about N (1 + ln(F / N)).
    The metrics count the N lowest ranks only.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        self._loop: EventLoopToken | None = None
        self._lowest: dict[tuple[str, int], list[str]] = {}  # ranks by model and run

    def rank(self, state: TaskState) -> str:
        return seeded_rank(self._seed, state.sample_id, state.epoch)[:16]

    async def takes(self, state: TaskState) -> bool:
        """Whether a failure belongs to the draw, as far as can be known now."""
        if self._loop != (loop := current_token()):  # the scorer is used for another log
            self._loop, self._lowest = loop, {}
        lowest = self._lowest.setdefault((str(state.model), state.epoch), [])
        rank = self.rank(state)
        if rank not in lowest:
            insort(lowest, rank)
            del lowest[self._most :]
        await checkpoint()  # all samples that were started together come this far first
        return rank in lowest


def _rubric_score(state: TaskState) -> Score:
    scores = state.scores or {}
    found = next((scores[name] for name in VERDICT_SCORERS if name in scores), None)
    if found is None:
        raise ClbenchError(
            f"error_types: sample {state.sample_id} has no score of {RUBRIC_JUDGE}, which "
            "says whether it failed and which rubrics it missed. Score a log with --action "
            f"append, so that its scores are kept; in a task, list {RUBRIC_JUDGE}() before "
            "error_types()."
        )
    return found


def _left_out(state: TaskState, rubric_score: Score) -> Unlabelled | None:
    if rubric_score.value == CORRECT:
        return "solved"
    if rubric_score.reason == "no_response" or not graded_text(state.output):
        return "empty_answer"
    if rubric_score.reason == "grader_failed" or rubric_score.value == NOANSWER:
        return "no_verdict"
    return None


def _failed(state: TaskState, rubric_score: Score) -> Failed:
    metadata = rubric_score.metadata or {}
    return Failed(
        conversation=before_answer(state.messages, state.output.message.id),
        rubrics=numbered_rubrics(state.metadata["rubrics"]),
        status=str(metadata.get("status", "")),
        rationale=rationale_of(metadata),
        answer=graded_text(state.output),
    )


def _without_types(value: Unlabelled, metadata: dict[str, Any]) -> Score:
    return Score(
        value=value,
        explanation=_WORDS[value],
        reason="no_response" if value == "empty_answer" else None,
        metadata=metadata,
    )


def _score(
    asked: Asked[Labels], failed: Failed, metadata: dict[str, Any], answer: Reference | None
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
            key: {**asdict(label), "rubrics": list(label.rubrics)}
            for key, label in (labels.by_type if labels else {}).items()
        },
        "scanner_references": references(answer),
    }
    return Score(
        value=labels.value if labels else "unlabelled",
        explanation=explain_labels(asked, metadata["judges_bound"], answer),
        reason=None if labels else "grader_failed",
        metadata=metadata,
    )
