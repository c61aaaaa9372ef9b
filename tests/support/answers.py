"""Inference and graded files as the original scripts write them, on the demo's rows."""

import json
from collections.abc import Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from inspect_ai.log import EvalLog, EvalSample, read_eval_log

from inspect_clbench import replay
from tests.support.builders import run_eval

Row = dict[str, Any]


def demo_rows() -> list[Row]:
    """The demo's dataset."""
    return _lines((files("inspect_clbench.demo") / "rows.jsonl").read_text("utf-8"))


def inference_rows(run: int = 0) -> list[Row]:
    """An answer of the demo's student to each task, another in each run."""
    text = (files("inspect_clbench.demo") / "answers.json").read_text("utf-8")
    scripts = json.loads(text)
    rows = []
    for row in demo_rows():
        answers = scripts[row["metadata"]["task_id"]]["answers"]
        rows.append(
            {
                "idx": row["metadata"]["task_id"],
                "messages": row["messages"],
                "model_output": answers[run % len(answers)],
                "rubrics": row["rubrics"],
                "metadata": row["metadata"],
            }
        )
    return rows


def graded(row: Row, score: Any, status: Any = None, rationale: str = "Checked.") -> Row:
    """The row with a verdict; every status follows the score unless given."""
    word = "yes" if score == 1 else "no"
    return row | {
        "grading_rationale": rationale,
        "requirement_status": [word] * len(row["rubrics"]) if status is None else status,
        "score": score,
    }


def write_lines(path: Path, rows: Sequence[Any]) -> str:
    """Write rows as JSON lines and return the path."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), "utf-8")
    return str(path)


def read_lines(path: str | Path) -> list[Row]:
    """The rows of a file."""
    return _lines(Path(path).read_text("utf-8"))


def _lines(text: str) -> list[Row]:
    return [json.loads(line) for line in text.split("\n") if line]


def replayed(
    paths: Sequence[str], log_dir: Path, *, model_name: str | None = None, **options: Any
) -> EvalLog:
    """Grade inference files of the demo with the demo's judge."""
    settings: dict[str, Any] = {
        "model": "none",
        "model_roles": {"grader": "clbench_demo/judge"},
        "epochs": len(paths),
        **options,
    }
    solver = replay(files=list(paths), model_name=model_name)
    return run_eval("demo", log_dir, solver=solver, **settings)


def samples_by_key(log: EvalLog | str) -> dict[tuple[str, int], EvalSample]:
    """The samples of a log by task and run."""
    whole = read_eval_log(log if isinstance(log, str) else log.location)
    return {(str(sample.id), sample.epoch): sample for sample in whole.samples or []}
