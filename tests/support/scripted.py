"""Evals of scripted models: a plan says what each answer is and how it is judged.

`make_log` in `tests.support.logs` writes the log of the same plan without running anything.
"""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog
from inspect_ai.model import Model, ModelOutput, ModelUsage, get_model

from tests.support.builders import row, run_eval, verdict, write_rows

EMPTY, GARBLED, ERROR = "", "garbled", "error"

# What each call uses, in tokens, for sums that can be done by hand.
STUDENT_USAGE = ModelUsage(
    input_tokens=100, input_tokens_cache_read=40, output_tokens=20, reasoning_tokens=5, total_tokens=160
)
JUDGE_USAGE = ModelUsage(input_tokens=50, output_tokens=10, total_tokens=60)

Plan = Mapping[str, Sequence[str]]
"""Task to its outcome in each run: a letter per rubric (y, n, ?), `EMPTY` for no answer,
`GARBLED` for a judge without a verdict, `ERROR` for a model that fails. An exclamation
mark after the letters turns the overall score round, against the list."""

Says = Mapping[str, Plan]
"""Judge to what it says of the answers, for judges that do not go by the answers' plan."""

PROBE = "Reply with the single word: ready"
"""What a judge is asked before a run begins."""


def tasks(*ids: str, **fields: Any) -> list[dict[str, Any]]:
    """Rows of three rubrics, two tasks to a context."""
    return [row(id, context=f"context-{number // 2}", **fields) for number, id in enumerate(ids)]


def scripted_eval(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    plan: Plan,
    *,
    model: str = "student",
    judge: str | Sequence[str] = "judge",
    **options: Any,
) -> EvalLog:
    """Run the benchmark on these rows, as many times as the plan has runs."""
    asked: Counter[str] = Counter()
    judges = [judge] if isinstance(judge, str) else judge
    return run_eval(
        rows_file(folder, rows),
        folder,
        model=_model(model, _student(model, plan, asked)),
        model_roles={"grader": [scripted_judge(name) for name in judges]},
        epochs=runs_of(plan),
        max_samples=1,  # so that the n-th call for a task is the n-th run
        **options,
    )


def scripted_judge(name: str = "judge") -> Model:
    """A judge that reads its verdict off the answer."""

    def judge(input: Sequence[Any], *_: Any) -> ModelOutput:
        prompt = input[-1].text
        if prompt == PROBE:
            return scripted_output("judge", "ready", ModelUsage())
        outcome = re.search(r"Answer to \S+\.\nSTATUS=(\S+)", prompt)
        assert outcome, prompt
        return scripted_output("judge", judge_reply(outcome[1]), JUDGE_USAGE)

    return _model(name, judge)


def rows_file(folder: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Write rows to a file; logs name it, so each has a name of its own."""
    folder.mkdir(parents=True, exist_ok=True)
    return write_rows(folder / f"rows-{len(list(folder.iterdir()))}.jsonl", rows)


def runs_of(plan: Plan) -> int:
    """How many runs a plan has."""
    return max(len(runs) for runs in plan.values())


def answer_text(task: str, outcome: str) -> str:
    """The answer from which scripted judges read their verdict."""
    return f"Answer to {task}.\nSTATUS={outcome}" if outcome else ""


def judge_reply(outcome: str) -> str:
    """What a scripted judge says."""
    if outcome == GARBLED:
        return "I would rather not say."
    letters = outcome.rstrip("!")
    solved = set(letters) == {"y"}
    words = {"y": "yes", "n": "no", "?": "perhaps"}
    status = [words[letter] for letter in letters] if letters != "-" else []
    score = int(solved != outcome.endswith("!"))
    return verdict(score, status, "Checked line by line.")


def scripted_output(model: str, text: str, usage: ModelUsage) -> ModelOutput:
    """An output with its usage, without which mockllm would count tokens."""
    output = ModelOutput.from_content(f"mockllm/{model}", text)
    output.usage = usage
    return output


def _model(name: str, outputs: Callable[..., ModelOutput]) -> Model:
    return get_model(f"mockllm/{name}", custom_outputs=outputs, memoize=False)


def _student(model: str, plan: Plan, asked: Counter[str]) -> Callable[..., ModelOutput]:
    def answer(input: Sequence[Any], *_: Any) -> ModelOutput:
        found = re.search(r"TASK=(\S+)", input[-1].text)
        assert found, input[-1].text
        task = found[1]
        outcome = plan[task][asked[task]]
        asked[task] += 1
        if outcome == ERROR:
            raise RuntimeError("scripted failure")
        return scripted_output(model, answer_text(task, outcome), STUDENT_USAGE)

    return answer
