"""The scorer `error_types`: a judge sorts failed answers into the paper's error types."""

from dataclasses import asdict

from inspect_ai.log import transcript
from inspect_ai.scorer import CORRECT, INCORRECT, Reference, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from inspect_clbench.benchmarks import ERROR_TYPES, VERDICT_SCORERS, benchmark_of
from inspect_clbench.error_types.metrics import error_type_rates
from inspect_clbench.error_types.prompt import (
    FailedAnswer,
    Labels,
    load_label_prompt,
    parse_labels,
    value_of,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Reply, ask, bound_judges
from inspect_clbench.judge.prompt import graded_text, numbered_rubrics
from inspect_clbench.judge.verdict import Failure
from inspect_clbench.scoring.explanation import citation, escape_markdown
from inspect_clbench.scoring.scores import (
    answer_reference,
    answer_usage,
    check_share,
    dumped_usage,
    is_in_share,
    sample_cost,
)

_NOTHING_TO_LABEL = {
    "solved": "Solved: there is no failure to explain.",
    "not_run": "The sample ended in an error: there is no answer.",
    "no_verdict": "The rubric judge gave no verdict: nobody knows whether the answer failed.",
    "empty_answer": "The model gave no answer. The judge was not asked.",
}


@scorer(metrics=[error_type_rates()])
def error_types(share: float = 1.0) -> Scorer:
    """Label each failed answer: context ignored, context misused, format error, refusal.

    The judge is the model role `grader`, of several models the first. It sees the whole
    conversation, the answer, the missed rubrics and the rubric judge's rationale. Use it on a
    finished log, with `inspect score LOG --scorer inspect_clbench/error_types --action append`, or
    after `rubric_judge()` in the list of a task's scorers.

    Args:
        share: Label only this share of the answers, chosen by a hash of id and epoch: the judge
            reads the whole context again, which costs as much as an answer.
    """
    check_share(share)
    prompt = load_label_prompt()

    async def score(state: TaskState, target: Target) -> Score | None:
        if not is_in_share(share, state.sample_id, state.epoch):
            return None
        # What needs no labels has a score too: Inspect names an appended score by the sample that is
        # done first, and must find the name taken there if it is taken anywhere.
        if not state.output.choices:
            return _left_out("not_run", state)
        verdict = _verdict_score(state)
        answer = graded_text(state.output)
        if verdict.value == CORRECT:
            return _left_out("solved", state)
        if not answer:
            return _left_out("empty_answer", state)
        if verdict.reason == "grader_failed" or verdict.value != INCORRECT:
            return _left_out("no_verdict", state)
        judge = bound_judges(benchmark_of(str(state.metadata.get("context_category"))).judge_effort)[0]
        failed = _failed_answer(state, verdict, answer)
        reply = await ask(judge, prompt.render(failed), parse_labels)
        labels = {} if isinstance(reply.result, Failure) else reply.result
        reference = answer_reference(state.messages, state.output)
        judge_usage = [(reply.judge, reply.usage)]
        metadata = {
            "epoch": state.epoch,
            "rubric_judge": (verdict.metadata or {}).get("judge", ""),
            "judge": reply.judge,
            "judge_effort": judge.config.reasoning_effort or "",
            "judge_prompt": prompt.name,
            "judge_prompt_sha256": prompt.sha256,
            "judge_attempts": reply.attempts,
            "judge_error": str(reply.failure or ""),
            "judge_usage": dumped_usage(judge_usage),
            "cost": sample_cost(state, [*answer_usage(transcript().events), *judge_usage]),
            "rubrics_missed": [number for number, _ in failed.missed],
            "labels": {key: asdict(label) for key, label in labels.items()},
            "scanner_references": [reference.model_dump()] if reference else [],
        }
        return Score(
            value=value_of(labels) if labels else "unlabelled",
            explanation=_explain(reply, reference),
            reason=None if labels else "grader_failed",
            metadata=metadata | ({"share": share} if share < 1 else {}),
        )

    return score


def _left_out(state_of_answer: str, state: TaskState) -> Score:
    return Score(
        value=state_of_answer,
        explanation=_NOTHING_TO_LABEL[state_of_answer],
        metadata={"epoch": state.epoch},
    )


def _verdict_score(state: TaskState) -> Score:
    scores = state.scores or {}
    for name in VERDICT_SCORERS:
        if name in scores:
            return scores[name]
    raise ClbenchError(
        f"error_types: sample {state.sample_id} has no score of rubric_judge, which says whether it failed and "
        "which rubrics it missed. Score a log with --action append, so that its scores are kept; in a task, list "
        "rubric_judge() before error_types()."
    )


def _failed_answer(state: TaskState, verdict: Score, answer: str) -> FailedAnswer:
    metadata = verdict.metadata or {}
    before = [message for message in state.messages if message.id != state.output.message.id]
    return FailedAnswer(
        conversation=[(message.role, message.text) for message in before],
        rubrics=numbered_rubrics(state.metadata["rubrics"]),
        status=metadata.get("status", ""),
        rationale="\n\n".join(metadata.get("rationales", [])),
        answer=answer,
    )


def _explain(reply: Reply[Labels], answer: Reference | None) -> str:
    """The types as Markdown, those that apply first."""
    labels = reply.result
    if isinstance(labels, Failure):
        return (
            f"**Not labelled**{citation(answer)}\n\nThe judge gave no labels: {escape_markdown(str(labels))}"
        )
    lines: dict[bool, list[str]] = {True: [], False: []}
    for key, label in labels.items():
        numbers = f" (rubrics {', '.join(map(str, label.rubrics))})" if label.rubrics else ""
        lines[label.present].append(f"- **{ERROR_TYPES[key]}**{numbers}: {escape_markdown(label.reason)}")
    titles = ", ".join(ERROR_TYPES[key] for key, label in labels.items() if label.present)
    parts = [f"**{titles or 'None of the error types'}**{citation(answer)}", "\n".join(lines[True])]
    if lines[False]:
        parts.append("**Not found**\n\n" + "\n".join(lines[False]))
    return "\n\n".join(part for part in parts if part)
