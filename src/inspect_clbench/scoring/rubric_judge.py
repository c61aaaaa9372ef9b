"""The scorer `rubric_judge`: an answer is solved if every rubric of its task is met."""

from collections.abc import Sequence
from functools import partial

from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Judge, ask, usd_of
from inspect_clbench.judge.prompt import (
    JudgePrompt,
    graded_text,
    load_judge_prompt,
    numbered_rubrics,
)
from inspect_clbench.judge.verdict import parse_verdict
from inspect_clbench.metrics.agreement import judge_agreement
from inspect_clbench.metrics.solving import clbench_metrics
from inspect_clbench.scoring.graders import (
    JudgeMonitor,
    current_monitor,
    graders,
    never_answered,
    usual_effort,
)
from inspect_clbench.scoring.scores import (
    Case,
    JudgeFailure,
    answer_reference,
    empty_answer_score,
    judged_score,
)


@scorer(metrics=[*clbench_metrics(), judge_agreement()])
def rubric_judge(
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
    attempts: int = 3,
    judge_effort: str | None = None,
) -> Scorer:
    """Judge an answer against its task's rubrics: solved if every one is met.

    The judge is the model role `grader`, by default `openai/gpt-5.1` at the reasoning
    effort that the benchmark's authors use: low for CL-bench, high for CL-bench Life.

    Args:
        judge_prompt: `builtin`, `upstream`, or the path of a template.
        judge_failure: What a row without a verdict counts as: `zero` (not solved) or
            `unscored` (kept in the log, left out of the rates).
        attempts: How often the judge is asked for a usable verdict, in all.
        judge_effort: Another reasoning effort for the default judge. A judge that is
            bound to the role keeps the settings it was bound with.
    """
    if judge_failure not in ("zero", "unscored"):
        raise ClbenchError(f"judge_failure={judge_failure}: use zero or unscored.")
    if attempts < 1:
        raise ClbenchError(f"attempts={attempts}: the judge must be asked at least once.")
    prompt = load_judge_prompt(judge_prompt)
    own_monitor = JudgeMonitor()

    async def score(state: TaskState, target: Target) -> Score | None:
        if never_answered(state):
            return None
        monitor = current_monitor(own_monitor)
        monitor.spend(usd_of(state.output))
        answer = graded_text(state.output)
        if not answer:
            return empty_answer_score(_case(state, prompt, ()))
        judges = graders(judge_effort or usual_effort(state))
        rubrics = state.metadata["rubrics"]
        text = prompt.render(rubrics, answer)
        read = partial(parse_verdict, answer=answer, rubrics=rubrics)
        asked = [ask(judge, text, read, attempts) for judge in judges]
        # One judge needs no span of its own in the transcript.
        judgements = await collect(*asked) if len(asked) > 1 else [await asked[0]]
        monitor.report(judgements)
        return judged_score(_case(state, prompt, judges), judgements, judge_failure)

    return score


def _case(state: TaskState, prompt: JudgePrompt, judges: Sequence[Judge]) -> Case:
    return Case(
        epoch=state.epoch,
        rubrics=numbered_rubrics(state.metadata["rubrics"]),
        judge_prompt=prompt.name,
        judge_prompt_sha256=prompt.sha256,
        judge_effort=", ".join(str(j.model.config.reasoning_effort or "") for j in judges),
        answer=answer_reference(state.messages, state.output),
        stop_reason=state.output.stop_reason if state.output.choices else "none",
    )
