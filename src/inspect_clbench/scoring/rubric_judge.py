"""The scorer `rubric_judge`: an answer is solved if every rubric of its task is met."""

from inspect_ai.log import transcript
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState
from inspect_ai.util import collect

from inspect_clbench.benchmarks import benchmark_of
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import ask, bound_judges, in_running_sample
from inspect_clbench.judge.prompt import graded_text, load_judge_prompt, numbered_rubrics
from inspect_clbench.judge.verdict import parse_verdict
from inspect_clbench.metrics.solving import clbench_metrics
from inspect_clbench.scoring.scores import (
    Case,
    answer_reference,
    answer_usage,
    check_share,
    empty_answer_score,
    is_in_share,
    judged_score,
    sample_cost,
)


@scorer(metrics=clbench_metrics())
def rubric_judge(judge_prompt: str = "builtin", share: float = 1.0) -> Scorer:
    """Judge an answer against its task's rubrics: solved if every one is met.

    The judge is the model role `grader`, by default `openai/gpt-5.1` at the reasoning effort
    that the benchmark's authors use: low for CL-bench, high for CL-bench Life. Of several
    models of the role the strict majority decides.

    Any task can use it whose samples have their rubrics, a list of texts, in
    `metadata["rubrics"]`. Names of a context and a category are used where there are any:
    `context_id`, `context_category`, `sub_category`.

    Args:
        judge_prompt: `builtin`, `upstream`, or the path of a template.
        share: The share of the answers that are scored, chosen by a hash of the sample's id
            and epoch; the others get no score. For a second judge or a look at drift, to be
            appended to a log's scores: overwriting would delete the others' verdicts.
    """
    prompt = load_judge_prompt(judge_prompt)
    check_share(share)

    async def score(state: TaskState, target: Target) -> Score | None:
        if not is_in_share(share, state.sample_id, state.epoch):
            return None
        if not state.output.choices and not in_running_sample():
            return None  # a log's sample that ended in an error: there is nothing to judge
        rubrics = _rubrics(state)
        judges = bound_judges(benchmark_of(str(state.metadata.get("context_category"))).judge_effort)
        efforts = [judge.config.reasoning_effort or "" for judge in judges]
        case = Case(
            epoch=state.epoch,
            rubrics=numbered_rubrics(rubrics),
            judge=", ".join(map(str, judges)),
            judge_effort=", ".join(efforts) if any(efforts) else "",
            judge_prompt=prompt,
            answer=answer_reference(state.messages, state.output),
            stop_reason=state.output.stop_reason if state.output.choices else "none",
            answer_usage=answer_usage(transcript().events),
            share=share,
        )
        answer = graded_text(state.output)
        if not answer:
            return empty_answer_score(case, sample_cost(state, case.answer_usage))
        question = prompt.render(rubrics, answer)
        requests = [ask(judge, question, parse_verdict) for judge in judges]
        # One judge needs no span of its own in the transcript.
        replies = await collect(*requests) if len(requests) > 1 else [await requests[0]]
        usages = [*case.answer_usage, *((reply.judge, reply.usage) for reply in replies)]
        return judged_score(case, replies, sample_cost(state, usages))

    return score


def _rubrics(state: TaskState) -> list[str]:
    rubrics = state.metadata.get("rubrics")
    if not isinstance(rubrics, list) or not all(isinstance(rubric, str) for rubric in rubrics):
        raise ClbenchError(f'sample {state.sample_id}: metadata["rubrics"] must be a list of texts.')
    return rubrics
