"""The judge sits the exam: the solver `ask_judge` asks it, the scorer `exam_verdict` compares.

Both take what a real run takes: the same prompt, the same bounded asking again, the same
parser. They are apart, unlike in a real run, where the scorer asks: here the judge is the
model under test, so that its reply is the sample's output, and a log can be scored again
without asking anybody.
"""

from functools import partial

from inspect_ai.model import get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import Generate, Solver, TaskState, solver

from inspect_clbench.judge.asking import (
    Judge,
    Judgement,
    ask,
    judge_limits,
    read_output,
)
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import Verdict, parse_verdict
from inspect_clbench.metrics.exam import UNUSABLE, exam_metrics
from inspect_clbench.scoring.explanation import explain_case
from inspect_clbench.scoring.graders import never_answered
from inspect_clbench.scoring.scores import Case, answer_reference, judged_score


@solver
def ask_judge(attempts: int = 3) -> Solver:
    """Ask the model under test for a verdict, again if its reply cannot be used.

    Args:
        attempts: How often it is asked for a usable verdict, in all.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        model = get_model()
        judge = Judge(model, judge_limits(model.config))
        asked = await ask(judge, state.input_text, _reader(state), attempts)
        if asked.output is None:
            # Nothing was said that could be right or wrong: the sample is completed by a retry.
            raise RuntimeError(f"The judge gave no reply. {asked.failure}")
        state.metadata["judge_attempts"] = asked.attempts
        state.output = asked.output
        if not state.output.empty:
            state.messages.append(state.output.message)
        return state

    return solve


@scorer(metrics=exam_metrics())
def exam_verdict() -> Scorer:
    """Right if the judge passes an answer that meets every rubric, and fails one that does not.

    A reply without a usable verdict is wrong in either case.
    """

    async def score(state: TaskState, target: Target) -> Score | None:
        if never_answered(state):
            return None
        told = state.metadata
        rubrics = numbered_rubrics(told["rubrics"])
        result = read_output(state.output, _reader(state))
        # No judge is named: it is the model under test, and the truth judges it.
        judgement = Judgement("", result, told.get("judge_attempts", 1))
        case = Case(
            epoch=state.epoch,
            rubrics=rubrics,
            judge_prompt=told["judge_prompt"],
            judge_prompt_sha256=told["judge_prompt_sha256"],
            answer=answer_reference(state.messages, state.output),
            stop_reason="",
        )
        judged = judged_score(case, [judgement])
        verdict = judgement.found
        is_right = verdict is not None and verdict.solved == (not told["missed"])
        status = (judged.metadata or {})["status"]
        return Score(
            value=CORRECT if is_right else INCORRECT,
            answer="no verdict" if verdict is None else f"verdict {int(verdict.solved)}",
            explanation=explain_case(told, rubrics, status, judgement, is_right),
            reason=UNUSABLE if verdict is None else None,
            metadata=judged.metadata,
        )

    return score


def _reader(state: TaskState) -> partial[Verdict | Failure]:
    told = state.metadata
    return partial(parse_verdict, answer=told["answer"], rubrics=told["rubrics"])
