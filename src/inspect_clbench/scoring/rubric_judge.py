"""The scorer `rubric_judge`: an answer is solved if every rubric of its task is met."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Literal

from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from inspect_clbench.data.selection import seeded_rank
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Judge, Judgement, ask
from inspect_clbench.judge.prompt import (
    JudgePrompt,
    graded_text,
    load_judge_prompt,
    numbered_rubrics,
)
from inspect_clbench.judge.verdict import Verdict, parse_verdict
from inspect_clbench.metrics.agreement import judge_agreement
from inspect_clbench.metrics.solving import clbench_metrics
from inspect_clbench.scoring.graders import (
    JudgeMonitor,
    current_monitor,
    graders,
    never_answered,
    usual_effort,
    with_usage,
)
from inspect_clbench.scoring.scores import (
    Case,
    JudgeFailure,
    answer_reference,
    empty_answer_score,
    judged_score,
)

Asking = Literal["together", "reordered", "single"]
"""How the rubrics are put to the judge: as they are, in another order, or each alone."""


@scorer(metrics=[*clbench_metrics(), judge_agreement()])
def rubric_judge(
    judge_prompt: str = "builtin",
    judge_failure: JudgeFailure = "zero",
    attempts: int = 3,
    judge_effort: str | None = None,
    asking: Asking = "together",
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
        asking: `together` (all rubrics in one request, as the benchmark has it), `reordered`
            (in another order, always the same for a task) or `single` (a request for each
            rubric). Other ways than the benchmark's are for finding out how steady a judge is.
    """
    if asking not in _WAYS:
        raise ClbenchError(f"asking={asking}: use {', '.join(_WAYS)}.")
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
        answer = graded_text(state.output)
        if not answer:
            monitor.spend(state.cost_usage)
            return empty_answer_score(_case(state, prompt, (), asking))
        judges = graders(judge_effort or usual_effort(state))
        way = _WAYS[asking]
        asked = [way(judge, prompt, state, answer, attempts) for judge in judges]
        # One judge needs no span of its own in the transcript.
        judgements = await collect(*asked) if len(asked) > 1 else [await asked[0]]
        # What Inspect counts for the sample: its answer and all verdicts, but no cached reply.
        monitor.report(judgements, state.cost_usage)
        score = judged_score(_case(state, prompt, judges, asking), judgements, judge_failure)
        return with_usage(score, judgements)

    return score


async def _together(
    judge: Judge, prompt: JudgePrompt, state: TaskState, answer: str, attempts: int
) -> Judgement:
    rubrics = state.metadata["rubrics"]
    read = partial(parse_verdict, answer=answer, rubrics=rubrics)
    return await ask(judge, prompt.render(rubrics, answer), read, attempts)


async def _reordered(
    judge: Judge, prompt: JudgePrompt, state: TaskState, answer: str, attempts: int
) -> Judgement:
    numbered = numbered_rubrics(state.metadata["rubrics"])
    order = sorted(
        range(len(numbered)), key=lambda place: seeded_rank(0, state.sample_id, place)
    )
    rubrics = [numbered[place][1] for place in order]
    read = partial(parse_verdict, answer=answer, rubrics=rubrics)
    asked = await ask(judge, prompt.render(rubrics, answer), read, attempts)
    if (verdict := asked.found) is None:
        return asked
    status = verdict.requirement_status
    if len(status) == len(order):  # else it cannot be laid beside the rubrics anyway
        status = tuple(status[order.index(place)] for place in range(len(order)))
    told = ", ".join(str(numbered[place][0]) for place in order)
    rationale = f"(The judge saw the rubrics in the order {told}.) {verdict.rationale}"
    found = replace(verdict, requirement_status=status, rationale=rationale)
    return replace(asked, result=found)


async def _single(
    judge: Judge, prompt: JudgePrompt, state: TaskState, answer: str, attempts: int
) -> Judgement:
    """Solved if every rubric is met; without a verdict if that hangs on one that failed."""
    numbered = numbered_rubrics(state.metadata["rubrics"])
    if not numbered:
        return await _together(judge, prompt, state, answer, attempts)
    asked = await collect(
        *(
            ask(
                judge,
                prompt.render([text], answer),
                partial(parse_verdict, answer=answer, rubrics=[text]),
                attempts,
            )
            for _, text in numbered
        )
    )
    words = {True: "yes", False: "no", None: "?"}
    said = [one.found.solved if one.found else None for one in asked]
    failures = [one for one in asked if one.failure]
    whole = replace(
        asked[0],
        attempts=max(one.attempts for one in asked),
        permanent=any(one.permanent for one in asked),
        usage=sum((one.usage for one in asked), ModelUsage()),
    )
    if failures and False not in said:
        return replace(whole, result=failures[0].result)
    rationale = "\n\n".join(
        f"{number}. {one.found.rationale if one.found else 'No verdict.'}"
        for (number, _), one in zip(numbered, asked, strict=True)
    )
    status = tuple(words[one] for one in said)
    return replace(whole, result=Verdict(all(said), rationale, status, "strict"))


_WAYS = {"together": _together, "reordered": _reordered, "single": _single}


def _case(
    state: TaskState, prompt: JudgePrompt, judges: Sequence[Judge], asking: Asking
) -> Case:
    return Case(
        epoch=state.epoch,
        rubrics=numbered_rubrics(state.metadata["rubrics"]),
        # Another way of asking is another prompt: the tables keep them apart.
        judge_prompt=prompt.name if asking == "together" else f"{prompt.name}, {asking}",
        judge_prompt_sha256=prompt.sha256,
        judge_effort=", ".join(str(j.model.config.reasoning_effort or "") for j in judges),
        answer=answer_reference(state.messages, state.output),
        stop_reason=state.output.stop_reason if state.output.choices else "none",
    )
