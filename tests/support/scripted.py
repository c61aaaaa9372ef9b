"""Logs whose outcomes are laid down beforehand: real evals of scripted models."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, ModelUsage, get_model

from tests.support.builders import row, verdict, write_rows

EMPTY, GARBLED, ERROR = "", "garbled", "error"

# What each call uses, in tokens, for sums that can be done by hand.
STUDENT_USAGE = ModelUsage(
    input_tokens=100,
    input_tokens_cache_read=40,
    output_tokens=20,
    reasoning_tokens=5,
    total_tokens=160,
)
JUDGE_USAGE = ModelUsage(input_tokens=50, output_tokens=10, total_tokens=60)

Plan = Mapping[str, Sequence[str]]
"""Task to its outcome in each run: a letter per rubric (y, n, ?), `EMPTY` for no answer,
`GARBLED` for a judge without a verdict, `ERROR` for a model that fails. An exclamation
mark after the letters turns the overall score round, against the list."""


def tasks(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    """Rows of three rubrics, two tasks to a context."""
    return [
        row(id, context=f"context-{number // 2}", **fields) for number, id in enumerate(ids)
    ]


def scripted_eval(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    plan: Plan,
    *,
    model: str = "student",
    judge: str | Sequence[str] = "judge",
    task_args: Mapping[str, Any] | None = None,
    **options: Any,
) -> EvalLog:
    """Run the benchmark on these rows, as many times as the plan has runs."""
    folder.mkdir(parents=True, exist_ok=True)
    # The file name is part of the log, so parts of a run may have different ones.
    dataset = write_rows(folder / f"rows-{len(list(folder.iterdir()))}.jsonl", rows)
    judges = [judge] if isinstance(judge, str) else judge
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": dataset, **(task_args or {})},
        model=get_model(f"mockllm/{model}", custom_outputs=_student(plan), memoize=False),
        model_roles={"grader": [scripted_judge(name) for name in judges]},
        epochs=max(len(runs) for runs in plan.values()),
        log_dir=str(folder),
        max_samples=1,  # so that the n-th call for a task is the n-th run
        display="none",
        **options,
    )
    return log


def scripted_judge(name: str = "judge", turn: bool = False) -> Any:
    """A judge that reads its verdict off the answer; or the contrary of it."""
    return get_model(f"mockllm/{name}", custom_outputs=_judge(turn), memoize=False)


def _student(plan: Plan) -> Callable[..., ModelOutput]:
    asked: Counter[str] = Counter()

    def answer(input: Sequence[Any], *_: Any) -> ModelOutput:
        found = re.search(r"TASK=(\S+)", input[-1].text)
        assert found, input[-1].text
        task = found[1]
        outcome = plan[task][asked[task]]
        asked[task] += 1
        if outcome == ERROR:
            raise RuntimeError("scripted failure")
        text = f"Answer to {task}.\nSTATUS={outcome}" if outcome else ""
        return _output("student", text, STUDENT_USAGE)

    return answer


def _judge(turn: bool) -> Callable[..., ModelOutput]:
    def judge(input: Sequence[Any], *_: Any) -> ModelOutput:
        found = re.search(r"STATUS=(\S+)", input[-1].text)
        assert found, input[-1].text
        if found[1] == GARBLED:
            return _output("judge", "I would rather not say.", JUDGE_USAGE)
        letters = found[1].rstrip("!")
        if turn:
            letters = letters.translate(str.maketrans("yn", "ny"))
        solved = set(letters) == {"y"}
        score = int(solved != found[1].endswith("!"))
        words = {"y": "yes", "n": "no", "?": "perhaps"}
        status = [words[letter] for letter in letters] if letters != "-" else []
        return _output("judge", verdict(score, status, "Checked line by line."), JUDGE_USAGE)

    return judge


def _output(model: str, text: str, usage: ModelUsage) -> ModelOutput:
    output = ModelOutput.from_content(f"mockllm/{model}", text)
    output.usage = usage
    return output
