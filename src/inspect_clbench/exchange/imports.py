"""Import of graded files of the original scripts: nothing in them is graded anew.

The log is that of a real eval, which calls no model: the answers are replayed and the
scorer takes the grades out of the files.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai import Task, eval, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import HeadlineMetric
from inspect_ai.scorer import Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.rows import answered_task, validated_rows
from inspect_clbench.data.sources import model_name_of, read_file_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.rows import Grade, GradedRow, file_benchmark, score_of
from inspect_clbench.files import make_folder
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.logs.files import readable
from inspect_clbench.metrics.agreement import judge_agreement
from inspect_clbench.metrics.solving import clbench_metrics
from inspect_clbench.progress import inspect_display, progress
from inspect_clbench.scoring.explanation import viewer_config
from inspect_clbench.scoring.scores import Case, answer_reference
from inspect_clbench.solvers import replay
from inspect_clbench.tasks import VERSION
from inspect_clbench.text import counted, public_url, shortened, some

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
    graded = clbench_graded(list(files), name, judge)
    if "://" not in log_dir:
        make_folder(log_dir)
    try:
        (log,) = eval(
            graded,
            model=f"none/{name}",
            epochs=len(files),
            log_dir=log_dir,
            log_header_only=True,
            log_realtime=False,
            fail_on_error=False,
            display=inspect_display(),
        )
    except OSError as ex:
        raise ClbenchError(f"{log_dir}: cannot be written ({ex}).") from None
    if log.status != "success":
        raise ClbenchError(f"{log.location}: {log.error.message if log.error else log.status}")
    rows = log.results.completed_samples if log.results else 0
    notes = (log.eval.metadata or {})["import_notes"]
    return Imported(readable(log.location), name, len(files), rows, tuple(notes))


@task
def clbench_graded(
    files: str | list[str], model_name: str | None = None, judge: str | None = None
) -> Task:
    """Graded files of the original scripts as a log; nothing is graded anew.

    Use it with `--model none` and as many epochs as there are files.

    Args:
        files: Graded files, one per run: the n-th file is epoch n.
        model_name: The model's name; taken from the files' names when not given.
        judge: The judge's name, which graded files do not hold.
    """
    paths = [files] if isinstance(files, str) else list(files)
    name = model_name or model_name_of(paths)
    benchmark, is_demo = file_benchmark(paths[0])
    samples, notes, sha256 = _read(paths, benchmark)
    return Task(
        dataset=MemoryDataset(samples, name=benchmark.title),
        solver=replay(files=paths, model_name=name),
        scorer=graded_file(files=paths, judge=judge),
        headline_metric=HeadlineMetric(scorer="graded_file", metric="solving_rate"),
        viewer=viewer_config(),
        version=VERSION,
        metadata={
            "benchmark": benchmark.title,
            "demo": is_demo,
            "model_name": name,
            "imported_from": [public_url(path) for path in paths],
            # The same files make the same runs, however often they are imported.
            "imported_sha256": sha256,
            "import_notes": notes,
        },
    )


@scorer(metrics=[*clbench_metrics(), judge_agreement()])
def graded_file(files: list[str], judge: str | None = None) -> Scorer:
    """The grades that stand in graded files: the n-th file is epoch n.

    Args:
        files: Graded files of the original scripts.
        judge: The judge's name, if it is known.
    """
    runs = [_grades(path) for path in files]

    async def score(state: TaskState, target: Target) -> Score | None:
        grade = runs[state.epoch - 1].get(str(state.sample_id))
        if grade is None or not state.output.choices:
            return None
        case = Case(
            epoch=state.epoch,
            rubrics=numbered_rubrics(state.metadata["rubrics"]),
            judge_prompt=NOT_RECORDED,
            judge_prompt_sha256="",
            answer=answer_reference(state.messages, state.output),
            stop_reason=NOT_RECORDED,
        )
        return score_of(grade, state.output.completion, case, judge or NOT_RECORDED)

    return score


def _read(
    paths: Sequence[str], benchmark: Benchmark
) -> tuple[list[Sample], list[str], list[str]]:
    """Each task as the first file shows it that has it, what is odd, and a hash of each run."""
    samples: dict[str, Sample] = {}
    runs: dict[str, set[str]] = {}
    differing, odd_scores = [], []
    digests: dict[str, str] = {}  # and the files that have them
    with progress("Reading graded rows") as advance:
        for run, path in enumerate(paths, start=1):
            if path in runs:
                raise ClbenchError(f"{path}: named twice. Name each run's file once.")
            runs[path] = set()
            graded: list[bytes] = []
            for row in validated_rows(_with_scores(path), path, benchmark, GradedRow):
                task_id = row.metadata.task_id
                runs[path].add(task_id)
                sample = row.as_sample()
                if samples.setdefault(task_id, sample).metadata != sample.metadata:
                    differing.append(task_id)
                if row.score not in (0, 1):
                    odd_scores.append(
                        f"{task_id} in run {run}: {shortened(repr(row.score), 60)}"
                    )
                told = (task_id, row.model_output, row.score)
                graded.append(
                    hashlib.sha256(repr(told).encode(errors="surrogatepass")).digest()
                )
                advance(1)
            sha256 = hashlib.sha256(b"".join(sorted(graded))).hexdigest()
            if (same := digests.setdefault(sha256, path)) != path:
                raise ClbenchError(
                    f"{path}: the same answers and scores as in {same}. Name each run once."
                )
    notes = []
    for path, ids in runs.items():
        if missing := [task_id for task_id in samples if task_id not in ids]:
            number = counted(len(missing), "task")
            notes.append(f"{path}: without {number} that other files have ({some(missing)}).")
    odd = {
        "messages, rubrics or metadata differ from those of the same task in an earlier file, "
        "which is taken": differing,
        "a score other than 0 and 1 counts as not solved": odd_scores,
    }
    for what, where in odd.items():
        if where:
            notes.append(f"{what}: {counted(len(where), 'row')} ({some(where)}).")
    return list(samples.values()), notes, list(digests)


def _with_scores(path: str) -> Iterator[tuple[int, Any]]:
    for number, record in read_file_rows(path):
        if isinstance(record, dict) and "score" not in record:
            raise ClbenchError(
                f"{path}, row {number}: not graded, the row has no score. Have the answers "
                "judged: inspect eval inspect_clbench/clbench --solver inspect_clbench/replay "
                f"-S files={path} --model none"
            )
        yield number, record


def _grades(path: str) -> dict[str, Grade]:
    return {
        answered_task(record, f"{path}, row {number}"): Grade.model_validate(record)
        for number, record in _with_scores(path)
    }
