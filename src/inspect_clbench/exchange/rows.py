"""The rows of the original scripts' files, written from samples and read back as scores."""

import json
from collections.abc import Mapping
from typing import Any

from inspect_ai.log import EvalSample
from inspect_ai.scorer import Score
from pydantic import BaseModel

from inspect_clbench.benchmarks import CLBENCH, Benchmark, benchmark_of
from inspect_clbench.data.rows import Row
from inspect_clbench.data.sources import DEMO, read_file_rows, read_rows
from inspect_clbench.judge.asking import Judgement
from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.logs.answers import outcome_of
from inspect_clbench.scoring.scores import Case, empty_answer_score, judged_score

INFERENCE_KEYS = ("idx", "messages", "model_output", "rubrics", "metadata")
GRADING_KEYS = ("grading_rationale", "requirement_status", "score")
JUDGE_FAILURE = "judge_failure"
"""A further key of graded rows whose zero is the judge's and not the model's."""


class JudgeFailureField(BaseModel):
    """Why a row has no verdict, and whether the log left it out of its rates."""

    error: str
    unscored: bool = False


class Grade(BaseModel):
    """What a graded file says of an answer."""

    grading_rationale: Any = None
    requirement_status: Any = None
    score: Any
    judge_failure: JudgeFailureField | None = None

    @property
    def solved(self) -> bool:
        """As the original script counts: 1, 1.0 and true are solved, all else is not."""
        return bool(self.score == 1)


class GradedRow(Row, Grade):
    """A row of a graded file: a task, an answer, and what its judge made of it."""

    model_output: str | None


def inference_row(sample: EvalSample, benchmark: Benchmark) -> dict[str, Any]:
    """The row that the original inference script writes for an answer."""
    told = sample.metadata
    messages = sample.input if isinstance(sample.input, list) else []
    return {
        "idx": str(sample.id),
        "messages": [{"role": m.role, "content": m.text} for m in messages],
        "model_output": sample.output.completion,
        "rubrics": told.get("rubrics"),
        "metadata": metadata_of({**told, "task_id": str(sample.id)}, benchmark),
    }


def metadata_of(told: Mapping[str, Any], benchmark: Benchmark) -> dict[str, Any]:
    """A row's metadata under the names and in the order of the benchmark's dataset."""
    if benchmark.has_contexts:
        names = ("task_id", "context_id", "context_category", "sub_category")
        return {name: told.get(name) for name in names}
    # CL-bench Life names no contexts and has its own name for sub-categories.
    return {
        "task_id": told["task_id"],
        "context_category": told.get("context_category"),
        "context_subcategory": told.get("sub_category"),
    }


def grading(score: Score, where: str = "a row") -> dict[str, Any]:
    """What the original judging script adds to the row; `where` is for the error."""
    told = score.metadata or {}
    outcome = outcome_of(score.value, where)
    solved = outcome == "solved"
    failure = {}
    if score.reason == "no_response":
        rationale = "The model gave no answer; the judge was not asked."
        status = ["no"] * int(told.get("rubrics_total", 0))
    elif score.reason == "grader_failed":
        error = str(told.get("judge_error", ""))
        rationale, status = f"No verdict, the judge failed: {error}", []
        failure = {JUDGE_FAILURE: {"error": error, "unscored": outcome == "unscored"}}
    elif votes := told.get("votes"):  # the rationale of one who voted as the majority did
        texts = told.get("rationales", [])
        agreeing = (t for v, t in zip(votes, texts, strict=False) if v["solved"] is solved)
        rationale = next(agreeing, texts[0] if texts else "")
        status = ["yes" if letter == "y" else "no" for letter in told.get("status", "")]
    else:
        rationale = "".join(told.get("rationales", []))
        status = told.get("requirement_status", [])
    return {
        "grading_rationale": rationale,
        "requirement_status": status,
        "score": int(solved),
        **failure,
    }


def score_of(grade: Grade, answer: str, case: Case, judge: str) -> Score:
    """The score that a graded row holds, in the shape of a score of ours."""
    if not answer.strip() and not grade.solved:
        return empty_answer_score(case)
    failure = grade.judge_failure
    if failure is not None and not grade.solved:
        failed = Judgement(judge, Failure("recorded", failure.error), attempts=1)
        return judged_score(case, [failed], "unscored" if failure.unscored else "zero")
    text, status = grade.grading_rationale, grade.requirement_status
    verdict = Verdict(
        solved=grade.solved,
        rationale=text if isinstance(text, str) else "" if text is None else json.dumps(text),
        requirement_status=tuple(status) if isinstance(status, list) else (),
        source="strict",
    )
    return judged_score(case, [Judgement(judge, verdict, attempts=1)])


def file_benchmark(path: str) -> tuple[Benchmark, bool]:
    """The benchmark that a file's first row belongs to, and whether it is of the demo."""
    _, record = next(iter(read_file_rows(path)), (0, None))
    metadata = record.get("metadata") if isinstance(record, dict) else None
    told = metadata if isinstance(metadata, dict) else {}
    # Where nothing fits, reading the rows will tell what is wrong.
    benchmark = benchmark_of(str(told.get("context_category"))) or CLBENCH
    demo = (row["metadata"]["task_id"] for _, row in read_rows(DEMO, benchmark))
    return benchmark, told.get("task_id") in demo


def json_line(row: dict[str, Any]) -> bytes:
    """A row as a line of a file: text as it is, half characters as JSON escapes."""
    # Python escapes what UTF-8 cannot hold just as JSON does.
    return (json.dumps(row, ensure_ascii=False) + "\n").encode(errors="backslashreplace")
