"""The rows of the original scripts' files, written from samples and read back as scores."""

import json
import re
from collections.abc import Sequence
from typing import Any, get_args

from inspect_ai.log import EvalSample
from inspect_ai.scorer import CORRECT, NOANSWER, Score

from inspect_clbench.judge.grading import Judgement
from inspect_clbench.judge.replies import Failure, FailureKind
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.row_files import DEMO, file_records, read_records
from inspect_clbench.rows import Row
from inspect_clbench.scores import Case, empty_answer_score, judged_score
from inspect_clbench.taxonomy import CLBENCH, Benchmark, benchmark_of

INFERENCE_KEYS = ("idx", "messages", "model_output", "rubrics", "metadata")
GRADING_KEYS = ("grading_rationale", "requirement_status", "score")

# How an exported row says that its zero is the judge's. Found again when the row is
# imported, so that the zero does not become the model's.
NO_VERDICT = "No verdict, the judge failed: "
LEFT_UNSCORED = "No verdict, and not counted in the log, the judge failed: "
_NO_ANSWER = "The model gave no answer; the judge was not asked."

# In a Python string a surrogate always stands alone.
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class GradedRow(Row):
    """A row of a graded file: a task, an answer, and what its judge made of it."""

    model_output: str | None
    grading_rationale: Any = None
    requirement_status: Any = None
    score: Any

    @property
    def solved(self) -> bool:
        """As the original script counts: 1, 1.0 and true are solved, all else is not."""
        return bool(self.score == 1)


def inference_row(sample: EvalSample, benchmark: Benchmark) -> dict[str, Any]:
    """The row that the original inference script writes for an answer."""
    told = sample.metadata
    messages = sample.input if isinstance(sample.input, list) else []
    return {
        "idx": str(sample.id),
        "messages": [{"role": m.role, "content": m.text} for m in messages],
        "model_output": sample.output.completion,
        "rubrics": told.get("rubrics"),
        "metadata": metadata_of(
            benchmark,
            str(sample.id),
            told.get("context_id"),
            told.get("context_category"),
            told.get("sub_category"),
        ),
    }


def metadata_of(
    benchmark: Benchmark, task_id: str, context_id: Any, category: Any, sub_category: Any
) -> dict[str, Any]:
    """A row's metadata under the names and in the order of the benchmark's dataset."""
    if benchmark.has_contexts:
        return {
            "task_id": task_id,
            "context_id": context_id,
            "context_category": category,
            "sub_category": sub_category,
        }
    # CL-bench Life names no contexts and has its own name for sub-categories.
    return {
        "task_id": task_id,
        "context_category": category,
        "context_subcategory": sub_category,
    }


def grading(score: Score) -> dict[str, Any]:
    """What the original judging script adds to the row."""
    told = score.metadata or {}
    solved = score.value == CORRECT
    if score.reason == "no_response":
        rationale, status = _NO_ANSWER, ["no"] * int(told.get("rubrics_total", 0))
    elif score.reason == "grader_failed":
        lead = LEFT_UNSCORED if score.value == NOANSWER else NO_VERDICT
        rationale, status = lead + str(told.get("judge_error", "")), []
    elif votes := told.get("votes"):
        rationale = _rationale_of_majority(votes, told.get("rationales", []), solved)
        status = ["yes" if letter == "y" else "no" for letter in told.get("status", "")]
    else:
        rationale = "".join(told.get("rationales", []))
        status = told.get("requirement_status", [])
    return {"grading_rationale": rationale, "requirement_status": status, "score": int(solved)}


def _rationale_of_majority(votes: list[Any], rationales: list[str], solved: bool) -> str:
    agreeing = (r for v, r in zip(votes, rationales, strict=False) if v["solved"] is solved)
    return next(agreeing, rationales[0] if rationales else "")


def score_of(row: GradedRow, case: Case, judge: str) -> Score:
    """The score that a graded row holds, in the shape of a score of ours."""
    if not (row.model_output or "").strip() and not row.solved:
        return empty_answer_score(case)
    text = row.grading_rationale
    rationale = text if isinstance(text, str) else "" if text is None else json.dumps(text)
    for lead in (NO_VERDICT, LEFT_UNSCORED):
        if rationale.startswith(lead) and not row.requirement_status and not row.solved:
            failed = Judgement(judge, _failure(rationale.removeprefix(lead)), attempts=1)
            return judged_score(case, [failed], "zero" if lead == NO_VERDICT else "unscored")
    status = row.requirement_status
    verdict = Verdict(
        solved=row.solved,
        rationale=rationale,
        requirement_status=tuple(status) if isinstance(status, list) else (),
        source="strict",
    )
    return judged_score(case, [Judgement(judge, verdict, attempts=1)])


def _failure(text: str) -> Failure:
    kind, _, detail = text.partition(": ")
    for known in get_args(FailureKind):
        if kind == known:
            return Failure(known, detail)
    return Failure("no_verdict", text)


def file_benchmark(path: str) -> tuple[Benchmark, bool]:
    """The benchmark that a file's first row belongs to, and whether it is of the demo."""
    _, record = next(iter(file_records(path)), (0, None))
    metadata = record.get("metadata") if isinstance(record, dict) else None
    told = metadata if isinstance(metadata, dict) else {}
    # Where nothing fits, reading the rows will tell what is wrong.
    benchmark = benchmark_of(str(told.get("context_category"))) or CLBENCH
    demo = (row["metadata"]["task_id"] for _, row in read_records(DEMO, benchmark))
    return benchmark, told.get("task_id") in demo


def json_line(row: dict[str, Any]) -> bytes:
    """A row as a line of a file: text as it is, half characters as JSON escapes."""
    line = json.dumps(row, ensure_ascii=False) + "\n"
    try:
        return line.encode()
    except UnicodeEncodeError:
        return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", line).encode()


def some(things: Sequence[str], shown: int = 3) -> str:
    """The first of many things, for a sentence."""
    more = f" and {len(things) - shown:,} more" if len(things) > shown else ""
    return ", ".join(things[:shown]) + more
