"""The task `judge_exam`: does a judge find the truth about answers of which it is known?

The judge is the model under test. It is asked as in a run: the same prompt, the same bounded
attempts, the same reader of its reply.
"""

from dataclasses import asdict
from typing import Any

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.model import get_model
from inspect_ai.scorer import CORRECT, INCORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from inspect_clbench.exam.cases import ExamCase, load_cases
from inspect_clbench.exam.metrics import exam_figures
from inspect_clbench.judge.asking import ask
from inspect_clbench.judge.prompt import JudgePrompt, load_judge_prompt
from inspect_clbench.judge.verdict import Failure, Verdict, parse_verdict
from inspect_clbench.metrics.solving import solving_by
from inspect_clbench.scoring.explanation import escape_markdown


@task
def judge_exam(judge_prompt: str = "builtin") -> Task:
    """The judge exam: how far can a judge be trusted? The model under test is the judge.

    Args:
        judge_prompt: `builtin`; `upstream`, the original prompt, fetched and checked; or the path
            of a template or of a copy of the original eval.py.
    """
    prompt = load_judge_prompt(judge_prompt)
    return Task(
        dataset=MemoryDataset([_sample(case, prompt) for case in load_cases()], name="Judge exam"),
        solver=[],  # the scorer asks the judge, as in a run
        scorer=exam_verdict(),
        # A request may fail without a word on the judge. One that always fails ends the run.
        fail_on_error=0.1,
        headline_metric=HeadlineMetric(scorer="exam_verdict", metric="accuracy"),
        version=2,
        metadata={"judge_prompt": prompt.name, "judge_prompt_sha256": prompt.sha256},
    )


def _sample(case: ExamCase, prompt: JudgePrompt) -> Sample:
    return Sample(
        id=case.name,
        input=prompt.render(case.rubrics, case.answer),
        target="0" if case.missed else "1",
        metadata=asdict(case),
    )


@scorer(metrics=[exam_figures(), solving_by("family", metric={"name": "Family"})])
def exam_verdict() -> Scorer:
    """Right if the judge passes an answer that meets every rubric, and fails one that does not.

    A reply without a usable verdict is wrong in either case.
    """

    async def score(state: TaskState, target: Target) -> Score:
        reply = await ask(get_model(), state.input_text, parse_verdict)
        verdict = reply.result
        if isinstance(verdict, Failure) and verdict.reason in ("call_failed", "timeout"):
            # Nothing was said that could be right or wrong: the sample is completed by a retry.
            raise RuntimeError(f"The judge gave no reply. {verdict}")
        metadata = {"epoch": state.epoch, "judge_attempts": reply.attempts}
        if isinstance(verdict, Failure):
            return Score(
                value=INCORRECT,
                answer="no verdict",
                explanation=f"**Wrong: no verdict**\n\n{escape_markdown(str(verdict))}",
                reason="invalid_response_format",
                metadata=metadata | {"judge_error": str(verdict)},
            )
        # A list of another length than the rubrics cannot be laid beside them.
        status = verdict.status if len(verdict.status) == len(state.metadata["rubrics"]) else ""
        is_right = verdict.solved == (target.text == "1")
        return Score(
            value=CORRECT if is_right else INCORRECT,
            answer=f"verdict {int(verdict.solved)}",
            explanation=_explain(state.metadata, verdict, status, is_right),
            metadata=metadata | {"status": status, "inconsistent": verdict.is_inconsistent},
        )

    return score


def _explain(case: dict[str, Any], verdict: Verdict, status: str, is_right: bool) -> str:
    """A verdict as Markdown: the truth, the rubrics on which the judge is wrong, its rationale."""
    missed, rubrics = case["missed"], case["rubrics"]
    truth = f"the answer misses {', '.join(map(str, missed))}" if missed else "the answer meets every rubric"
    errors = [
        f"- **{number}** ({'missed' if number in missed else 'met'}) {escape_markdown(rubric)}"
        for number, (rubric, letter) in enumerate(zip(rubrics, status, strict=False), start=1)
        if letter != ("n" if number in missed else "y")
    ]
    parts = [
        f"**{'Right' if is_right else 'Wrong'}: verdict {int(verdict.solved)}; {truth}**",
        f"{case['family']}, {case['kind']}, {len(rubrics)} rubrics, status {status or 'of no use'}",
        *(["**The judge is wrong on**\n\n" + "\n".join(errors)] if errors else []),
        f"**Rationale**\n\n{escape_markdown(verdict.rationale) or '(none given)'}",
    ]
    return "\n\n".join(parts)
