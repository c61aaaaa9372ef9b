"""Small rows, files of rows, verdicts and scores to build tests from."""

import gzip
import io
import json
import lzma
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.scorer import SampleScore, Score

from inspect_clbench.benchmarks import CLBENCH

SUB_TO_CATEGORY = {sub: name for name, c in CLBENCH.categories.items() for sub in c.sub_categories}
SUB_CATEGORIES = list(SUB_TO_CATEGORY)

Row = dict[str, Any]


def row(
    task_id: str,
    /,
    *,
    context: str = "",
    sub_category: str = "Finance",
    rubrics: Sequence[Any] = ("Says one.", "Says two.", "Says three."),
    question: str = "",
    **changes: Any,
) -> Row:
    """A row in the dataset's format; the question names the task.

    Further keywords replace keys of the row, or of its metadata.
    """
    metadata = {
        "task_id": task_id,
        "context_id": context or f"context-{task_id}",
        "context_category": SUB_TO_CATEGORY.get(sub_category),
        "sub_category": sub_category,
    }
    record: Row = {
        "messages": [
            {"role": "system", "content": "Learn from the context."},
            {"role": "user", "content": question or f"Context of {context}.\nTASK={task_id}"},
        ],
        "rubrics": list(rubrics),
        "metadata": metadata,
    }
    for key, value in changes.items():
        (metadata if key in metadata else record)[key] = value
    return record


def spread_rows(count: int) -> list[Row]:
    """Rows `t1`, `t2`, ... of all sub-categories, two to a context."""
    return [
        row(f"t{n}", context=f"context-{(n + 1) // 2}", sub_category=SUB_CATEGORIES[(n - 1) // 2 % 18])
        for n in range(1, count + 1)
    ]


def answered(record: Row, answer: str | None) -> Row:
    """A row as the original script writes it beside a model's answer."""
    return {
        "idx": record["metadata"]["task_id"],
        "messages": record["messages"],
        "model_output": answer,
        "rubrics": record["rubrics"],
        "metadata": record["metadata"],
    }


def graded(record: Row, score: Any, status: Any = (), rationale: Any = "", answer: str = "An answer.") -> Row:
    """A row as the original script writes it after grading."""
    grades = {"grading_rationale": rationale, "requirement_status": status, "score": score}
    return answered(record, answer) | grades


def packed(records: Sequence[Any], ending: str) -> bytes:
    """The content of a file with such an ending (`.jsonl`, `.json.xz`, ...)."""
    kind, _, compression = ending.removeprefix(".").partition(".")
    match kind:
        case "jsonl":
            content = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records).encode()
        case "json":
            content = json.dumps(list(records), ensure_ascii=False, indent=1).encode()
        case _:
            table = io.BytesIO()
            pyarrow.parquet.write_table(pa.Table.from_pylist(list(records)), table)
            content = table.getvalue()
    match compression:
        case "gz":
            return gzip.compress(content)
        case "xz":
            return lzma.compress(content)
        case "zst":
            return bytes(pa.compress(content, "zstd", asbytes=True))
    return content


def write_rows(path: Path, rows: Sequence[Any]) -> str:
    """Write rows to a file whose ending says in which form, and return the path."""
    path.write_bytes(packed(rows, path.name[path.name.index(".") :]))
    return str(path)


def read_lines(path: Path | str) -> list[Row]:
    """The rows of a file of JSON lines."""
    return [json.loads(line) for line in Path(path).read_bytes().split(b"\n") if line]


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


def run_eval(dataset: str, log_dir: Path | str, *, task: str = "clbench", **kwargs: Any) -> EvalLog:
    """Run a benchmark and return its log; on loopback models unless others are given."""
    task_args = {"dataset": dataset, **(kwargs.pop("task_args", None) or {})}
    options: dict[str, Any] = {
        "model": "openai-api/loop/student",
        "model_roles": {"grader": "openai-api/loop/judge"},
        "display": "none",
        "max_retries": 1,  # a mistake in a script must not be retried for ever
        **kwargs,
    }
    (log,) = eval(f"inspect_clbench/{task}", task_args=task_args, log_dir=str(log_dir), **options)
    return log


def metrics_of(log: EvalLog) -> dict[str, float]:
    """The metrics of a log that has exactly one score."""
    assert log.results is not None, log.error
    (score,) = log.results.scores
    return {name: metric.value for name, metric in score.metrics.items()}
