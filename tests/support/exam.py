"""Judges that sit the exam with known errors, and the logs of it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from inspect_clbench.exam.cases import ExamCase, load_cases
from inspect_clbench.judge.prompt import load_judge_prompt
from tests.support.builders import verdict

Says = Callable[[ExamCase, int], str]
"""What a judge replies on a case when it is asked for the n-th time."""

CASES = load_cases()


def told(case: ExamCase, score: int | None = None, wrong: Sequence[int] = ()) -> str:
    """The true verdict on a case, or another score, or a list with errors in it."""
    status = [
        "yes" if (number in case.missed) == (number in wrong) else "no"
        for number in range(1, len(case.rubrics) + 1)
    ]
    return verdict(int(not case.missed) if score is None else score, status)


def case_of(prompt: str, judge_prompt: str = "builtin") -> ExamCase:
    """The case that a judge is asked about."""
    template = load_judge_prompt(judge_prompt)
    (case,) = [c for c in CASES if template.render(c.rubrics, c.answer) == prompt]
    return case


def sit_exam(
    log_dir: Path,
    says: Says,
    *,
    name: str = "judge",
    judge_prompt: str = "builtin",
    **kwargs: Any,
) -> EvalLog:
    """The log of a judge that says what it is told to."""
    template = load_judge_prompt(judge_prompt)
    cases = {template.render(case.rubrics, case.answer): case for case in CASES}
    asked: dict[str, int] = {}

    def reply(input: Sequence[Any], *_: Any) -> ModelOutput:
        case = cases[input[-1].text]
        asked[case.name] = asked.get(case.name, 0) + 1
        output = ModelOutput.from_content(f"mockllm/{name}", says(case, asked[case.name]))
        output.usage = ModelUsage(input_tokens=1000, output_tokens=50, total_tokens=1050)
        return output

    (log,) = eval(
        "inspect_clbench/judge_exam",
        model=get_model(f"mockllm/{name}", custom_outputs=reply, memoize=False),
        task_args={"judge_prompt": judge_prompt},
        log_dir=str(log_dir),
        display="none",
        **kwargs,
    )
    assert log.status == "success", log.error
    return log
