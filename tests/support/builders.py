"""Small rows, verdicts and scores to build tests from."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model
from inspect_ai.scorer import SampleScore, Score

from inspect_clbench.benchmarks import CLBENCH

SUB_TO_CATEGORY = {s: c for c, subs in CLBENCH.groups.items() for s in subs}
SUB_CATEGORIES = list(SUB_TO_CATEGORY)


def row(
    task_id: str,
    *,
    context: str = "",
    sub_category: str = "Finance",
    rubrics: Sequence[str] = ("Says one.", "Says two.", "Says three."),
    question: str = "",
) -> dict[str, Any]:
    """A row in the dataset's format; the question names the task."""
    return {
        "messages": [
            {"role": "system", "content": "Learn from the context."},
            {"role": "user", "content": question or f"Context of {context}.\nTASK={task_id}"},
        ],
        "rubrics": list(rubrics),
        "metadata": {
            "task_id": task_id,
            "context_id": context or f"context-{task_id}",
            "context_category": SUB_TO_CATEGORY[sub_category],
            "sub_category": sub_category,
        },
    }


def write_rows(path: Path, rows: Sequence[dict[str, Any]]) -> str:
    """Write rows as JSON lines and return the path."""
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")
    return str(path)


def verdict(score: Any, status: Sequence[Any] = (), rationale: str = "Checked.") -> str:
    """A judge's reply as the contract asks for it."""
    return json.dumps(
        {
            "Grading Rationale": rationale,
            "List of Requirement Satisfaction Status": list(status),
            "Overall Score": score,
        }
    )


def sample_score(
    task_id: str,
    value: str,
    *,
    epoch: int | None = 1,
    context: str | None = None,
    sub_category: str = "Finance",
    reason: str | None = None,
    **metadata: Any,
) -> SampleScore:
    """A score as the scorer makes it."""
    if epoch is not None:
        metadata["epoch"] = epoch
    return SampleScore(
        score=Score(value=value, reason=reason, metadata=metadata),
        sample_id=task_id,
        sample_metadata={
            "context_id": context or f"context-{task_id}",
            "context_category": SUB_TO_CATEGORY[sub_category],
            "sub_category": sub_category,
        },
    )


def run_eval(
    dataset: str, log_dir: Path | str, *, task: str = "clbench", **kwargs: Any
) -> EvalLog:
    """Run a benchmark and return its log; on loopback models unless others are given."""
    task_args = {"dataset": dataset, **(kwargs.pop("task_args", None) or {})}
    options: dict[str, Any] = {
        "model": "openai-api/loop/student",
        "model_roles": {"grader": "openai-api/loop/judge"},
        "display": "none",
        "max_retries": 1,  # a mistake in a script must not be retried for ever
        **kwargs,
    }
    (log,) = eval(
        f"inspect_clbench/{task}", task_args=task_args, log_dir=str(log_dir), **options
    )
    return log


def demo_eval(log_dir: Path | str, *, dataset: str = "demo", **kwargs: Any) -> EvalLog:
    """Run a benchmark with the demo's models to a good end; nobody has asked the student before."""
    models: dict[str, Any] = {
        "model": get_model("clbench_demo/student", memoize=False),
        "model_roles": {"grader": "clbench_demo/judge"},
    }
    log = run_eval(dataset, log_dir, **{**models, **kwargs})
    assert log.status == "success", log.error
    return log


def metrics_of(log: EvalLog) -> dict[str, float]:
    """The metrics of a log that has exactly one score."""
    assert log.results is not None, log.error
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}
