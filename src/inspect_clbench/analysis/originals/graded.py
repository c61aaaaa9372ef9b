"""Graded files of the original scripts become a log, as they are."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSample
from inspect_ai.model import ChatMessage, ModelOutput

from inspect_clbench.analysis.originals.graded_log import write_graded_log
from inspect_clbench.analysis.originals.original_rows import (
    GradedRow,
    file_benchmark,
    score_of,
    some,
)
from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.records import SCORER
from inspect_clbench.analysis.text import counted
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.row_files import file_records, model_name_of
from inspect_clbench.rows import Row, validated
from inspect_clbench.scores import Case

NOT_RECORDED = "not recorded"


@dataclass(frozen=True)
class Imported:
    """The log that graded files became."""

    log: str
    model: str
    runs: int
    rows: int
    notes: tuple[str, ...]
    """Where the files differ from each other and from what a graded file should be."""


def import_graded(
    files: Sequence[str],
    *,
    model: str | None = None,
    judge: str | None = None,
    log_dir: str = "logs",
) -> Imported:
    """Turn graded files into one log, a run per file; nothing is graded anew.

    Args:
        files: Graded files of the original scripts or of `export`, one per run. Paths
            or URLs, also compressed (.gz, .xz, .zst).
        model: The model's name; taken from the files' names when not given.
        judge: The judge's name, which graded files do not hold.
        log_dir: Folder or URL where the log is written.
    """
    if not files:
        raise ClbenchError("No file was given. Name the graded files, one per run.")
    name = model or model_name_of(files)
    benchmark, is_demo = file_benchmark(files[0])
    found = _Found(name, judge or NOT_RECORDED)
    with progress("Reading graded rows") as advance:
        for run, path in enumerate(files, start=1):
            found.runs.append([])
            for row in validated(_graded(path), path, benchmark, GradedRow):
                found.add(row, run)
                advance(path)
    location = write_graded_log(
        found.samples,
        list(found.tasks),
        runs=len(files),
        model=name,
        benchmark=benchmark,
        is_demo=is_demo,
        files=files,
        task_id=found.digest.hexdigest()[:22],
        log_dir=log_dir,
    )
    return Imported(location, name, len(files), len(found.samples), tuple(found.notes(files)))


@dataclass
class _Found:
    """What the files hold, collected row by row."""

    model: str
    judge: str
    tasks: dict[str, tuple[Row, Sample]] = field(default_factory=dict)
    """Each task as the first file that has it shows it."""

    runs: list[list[EvalSample]] = field(default_factory=list)
    differing: list[str] = field(default_factory=list)
    odd_scores: list[str] = field(default_factory=list)
    digest: Any = field(default_factory=hashlib.sha256)

    @property
    def samples(self) -> list[EvalSample]:
        return [sample for run in self.runs for sample in run]

    def add(self, row: GradedRow, run: int) -> None:
        task_id = row.metadata.task_id
        if task_id not in self.tasks:
            self.tasks[task_id] = (row, row.as_sample())
        first, sample = self.tasks[task_id]
        same = (row.messages, row.rubrics, row.metadata) == (
            first.messages, first.rubrics, first.metadata
        )  # fmt: skip
        if not same:
            self.differing.append(task_id)
            sample = row.as_sample()
        if row.score not in (0, 1):
            self.odd_scores.append(f"{task_id} in run {run}: {row.score!r}")
        self.runs[-1].append(_eval_sample(row, sample, run, self.model, self.judge))
        told = (self.model, self.judge, run, task_id, row.model_output, row.score)
        self.digest.update(repr(told).encode(errors="surrogatepass"))

    def notes(self, files: Sequence[str]) -> Iterator[str]:
        for path, samples in zip(files, self.runs, strict=True):
            there = {sample.id for sample in samples}
            missing = [task_id for task_id in self.tasks if task_id not in there]
            if missing:
                number = counted(len(missing), "task")
                yield f"{path}: without {number} that other files have ({some(missing)})."
        if self.differing:
            yield (
                "messages, rubrics or metadata differ from those of the same task in an "
                f"earlier file: {counted(len(self.differing), 'row')} ({some(self.differing)})."
            )
        if self.odd_scores:
            yield (
                "a score other than 0 and 1 counts as not solved: "
                f"{counted(len(self.odd_scores), 'row')} ({some(self.odd_scores)})."
            )


def _graded(path: str) -> Iterator[tuple[int, Any]]:
    for number, record in file_records(path):
        if isinstance(record, dict) and "score" not in record:
            raise ClbenchError(
                f"{path}, row {number}: not graded, the row has no score. Have the answers "
                "judged: inspect eval inspect_clbench/clbench --solver inspect_clbench/replay "
                f"-S files={path} --model none"
            )
        yield number, record


def _eval_sample(row: GradedRow, task: Sample, run: int, model: str, judge: str) -> EvalSample:
    assert isinstance(task.input, list)  # rows hold lists of messages
    output = ModelOutput.from_content(model, row.model_output or "")
    case = Case(
        epoch=run,
        rubrics=numbered_rubrics(row.rubrics),
        judge_prompt=NOT_RECORDED,
        judge_prompt_sha256="",
        message_id=output.message.id,
        stop_reason=NOT_RECORDED,
    )
    prompt: list[ChatMessage] = [m.model_copy(update={"source": "input"}) for m in task.input]
    return EvalSample(
        id=row.metadata.task_id,
        epoch=run,
        input=task.input,
        target="",
        messages=[*prompt, output.message],
        output=output,
        scores={SCORER: score_of(row, case, judge)},
        metadata=task.metadata or {},
        uuid=uuid4().hex,
    )
