"""Graded files of the original scripts: their rows as samples, their grades as scores."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.model import ModelUsage
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from inspect_clbench.benchmarks import GRADING_KEYS, NO_VERDICT, Benchmark
from inspect_clbench.data.rows import benchmark_of_rows, read_samples, task_of
from inspect_clbench.data.sources import read_file
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import Reply
from inspect_clbench.judge.prompt import JudgePrompt, numbered_rubrics
from inspect_clbench.judge.verdict import RATIONALE, SCORE, STATUS, Failure, Verdict, parse_verdict
from inspect_clbench.metrics.solving import clbench_metrics
from inspect_clbench.scoring.scores import Case, answer_reference, empty_answer_score, judged_score


@dataclass(frozen=True)
class GradedRuns:
    """What graded files hold, apart from answers and grades."""

    benchmark: Benchmark
    samples: list[Sample]
    """Each task once."""
    sha256: list[str]
    """Of the answers and grades of each run, whatever their order."""


def read_graded(paths: Sequence[str]) -> GradedRuns:
    """Read and check graded files, one per run.

    Raises:
        ClbenchError: A row that is no graded row, or two files that do not belong together.
    """
    benchmark: Benchmark | None = None
    samples: dict[str, Sample] = {}
    runs: dict[str, str] = {}
    for path in paths:
        records = list(_graded_records(path))
        benchmark = benchmark or benchmark_of_rows(records)
        for sample in read_samples(records, path, benchmark):
            earlier = samples.setdefault(str(sample.id), sample)
            if earlier.metadata != sample.metadata:
                raise ClbenchError(
                    f"{path}, task {sample.id}: messages, rubrics or metadata differ from those in an earlier "
                    "file. Import runs of the same rows together, others by themselves."
                )
        digest = _sha256(record for _, record in records)
        if digest in runs:
            raise ClbenchError(
                f"{path}: the same answers and scores as in {runs[digest]}. Name each run once."
            )
        runs[digest] = path
    if benchmark is None:
        raise ClbenchError("No file was named. Name the graded files, one per run.")
    return GradedRuns(benchmark, list(samples.values()), list(runs))


@scorer(metrics=clbench_metrics())
def graded_file(files: list[str], judge: str) -> Scorer:
    """The grades that stand in graded files: the n-th file is epoch n.

    Args:
        files: Graded files of the original scripts.
        judge: The name of the judge.
    """
    runs = [{task_of(record): record for _, record in _graded_records(path)} for path in files]

    async def score(state: TaskState, target: Target) -> Score | None:
        record = runs[state.epoch - 1].get(str(state.sample_id))
        if record is None:
            return None
        case = Case(
            epoch=state.epoch,
            rubrics=numbered_rubrics(state.metadata["rubrics"]),
            judge=judge,
            judge_effort="",
            judge_prompt=JudgePrompt("not recorded", ""),
            answer=answer_reference(state.messages, state.output),
            stop_reason=state.output.stop_reason,
            answer_usage=[],
        )
        # As the original script counts: 1, 1.0 and true are solved, all else is not.
        solved = record["score"] == 1
        if not solved and not state.output.completion.strip():
            score = empty_answer_score(case, None)
        else:
            score = judged_score(case, [Reply(judge, _verdict(record, solved), 1, ModelUsage())], None)
        # As they stand in the file, so that an export writes them unchanged.
        grades = {key: record[key] for key in GRADING_KEYS if key in record}
        score.metadata = (score.metadata or {}) | {
            "judge_prompt_sha256": "",
            "judge_usage": {},
            "grades": grades,
        }
        return score

    return score


def _verdict(record: dict[str, Any], solved: bool) -> Verdict | Failure:
    rationale = record.get("grading_rationale")
    if not solved and str(rationale).startswith(NO_VERDICT):
        return Failure("call_failed", str(rationale).removeprefix(NO_VERDICT))
    reply = {SCORE: int(solved), STATUS: record.get("requirement_status"), RATIONALE: rationale}
    return parse_verdict(json.dumps(reply))


def _graded_records(path: str) -> Iterator[tuple[int, Any]]:
    for number, record in read_file(path):
        if isinstance(record, dict) and "score" not in record:
            raise ClbenchError(
                f"{path}, row {number}, task {task_of(record) or 'unknown'}: not graded, the row has no score. "
                "Have the answers judged: inspect eval inspect_clbench/clbench --solver "
                f"inspect_clbench/replay -S files={path} --model none/NAME"
            )
        yield number, record


def _sha256(records: Iterator[Any]) -> str:
    """A hash of answers and scores that does not depend on the order of the rows."""
    answers = [repr((task_of(record), record.get("model_output"), record["score"])) for record in records]
    return hashlib.sha256("\n".join(sorted(answers)).encode(errors="surrogatepass")).hexdigest()
