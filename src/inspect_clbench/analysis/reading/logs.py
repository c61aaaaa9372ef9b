"""Which logs are meant: files, folders and URLs become the headers of logs of ours."""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from logging import getLogger
from os import PathLike, fspath
from pathlib import Path
from urllib.parse import unquote, urlparse

from inspect_ai.log import (
    EvalLog,
    EvalLogInfo,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
)
from inspect_ai.model import GenerateConfig

from inspect_clbench.analysis.progress import progress
from inspect_clbench.errors import ClbenchError
from inspect_clbench.row_files import model_name_of

logger = getLogger(__name__)

TASKS = ("clbench", "clbench_life")
_REPLAY = "inspect_clbench/replay"


Paths = str | PathLike[str] | Sequence[str | PathLike[str]]
"""A log file, folder or URL, or several."""


def path_list(paths: Paths) -> list[str]:
    """The paths that were meant, as text."""
    several = [paths] if isinstance(paths, str | PathLike) else paths
    return [fspath(path) for path in several]


@dataclass(frozen=True)
class Log:
    """The header of a log of ours."""

    location: str
    header: EvalLog
    modified: float = 0.0
    """When the file was last written, in the units of its file system."""

    def __str__(self) -> str:
        return readable(self.location)

    @property
    def model(self) -> str:
        spec = self.header.eval
        named = (spec.metadata or {}).get("model_name")
        if spec.solver == _REPLAY:  # the model is the one whose answers were replayed
            arguments = spec.solver_args or {}
            files = arguments.get("files") or [spec.model]
            named = arguments.get("model_name") or model_name_of(
                [files] if isinstance(files, str) else [str(file) for file in files]
            )
        return str(named or spec.model)

    @property
    def config(self) -> GenerateConfig:
        """How the model under test was asked: its own settings and, above them, the run's."""
        return self.header.eval.model_generate_config.merge(self.header.plan.config)

    @property
    def effort(self) -> str:
        """The reasoning effort or budget that was asked for; empty if none was."""
        config = self.config
        if config.reasoning_effort:
            return str(config.reasoning_effort)
        return f"{config.reasoning_tokens:,} tokens" if config.reasoning_tokens else ""

    @property
    def benchmark(self) -> str:
        return str((self.header.eval.metadata or {}).get("benchmark", ""))

    @property
    def epochs(self) -> int:
        return self.header.eval.config.epochs or 1

    @property
    def task_ids(self) -> tuple[str, ...]:
        """The tasks that were chosen for the run, whether or not they were reached."""
        return tuple(str(id) for id in self.header.eval.dataset.sample_ids or [])

    @property
    def rows(self) -> int:
        """How many samples a full run of this log's selection has."""
        return len(self.task_ids)


def readable(location: str) -> str:
    """A log's location as a person would write it: a plain path where it is a file."""
    if not location.startswith("file:"):
        return location
    path = Path(unquote(urlparse(location).path))
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def find_logs(paths: Paths) -> list[Log]:
    """The logs of this benchmark among files, folders and URLs.

    A folder may hold logs of other benchmarks and logs of runs that have not ended,
    which are passed over; a file that is named must be a finished one of ours. A log
    that a later retry replaced is passed over too.
    """
    given = path_list(paths)
    if not given:
        raise ClbenchError("No log was given. Give .eval files or folders of them.")
    found: dict[str, Log] = {}
    running: dict[str, Log] = {}
    for path in given:
        infos = _listed(path)
        named = len(infos) == 1 and path.rstrip("/").endswith((".eval", ".json"))
        ours = []
        with progress("Reading headers", len(infos)) as advance:
            for info in infos:
                log = _read_header(info, must=named)
                advance(readable(info.name))
                if log is not None:
                    ours.append(log)
        if not ours:
            raise ClbenchError(
                f"{path}: no log of {' or '.join(TASKS)} among the {len(infos)} there."
            )
        for log in ours:
            (running if log.header.status == "started" else found)[log.location] = log
    _speak_of_running(running.values(), found.values())
    return _without_replaced(list(found.values()))


def _listed(path: str) -> list[EvalLogInfo]:
    try:
        infos = list_eval_logs(path, recursive=True)
    except Exception as ex:
        raise ClbenchError(f"{path}: cannot be listed ({why(ex)}).") from None
    if not infos:
        local = "://" not in path
        lead = "no such file or folder" if local and not Path(path).exists() else "no log there"
        raise ClbenchError(f"{path}: {lead}. Give a .eval file or a folder of them.")
    return infos


def _read_header(info: EvalLogInfo, *, must: bool) -> Log | None:
    where = readable(info.name)
    try:
        header = read_eval_log(info.name, header_only=True)
    except Exception as ex:
        if not must and "clbench" not in where.rsplit("/", 1)[-1]:
            logger.warning("%s: passed over, not a readable log (%s).", where, why(ex))
            return None
        raise ClbenchError(
            f"{where}: not a readable log ({why(ex)}). It may be cut off: copy it again, "
            "or if its run died: inspect log recover"
        ) from None
    if header.eval.task.rsplit("/", 1)[-1] not in TASKS:
        if must:
            raise ClbenchError(f"{where}: a log of {header.eval.task}, not of {TASKS[0]}.")
        return None
    log = Log(info.name, header, info.mtime or 0.0)
    if must and header.status == "started":
        raise _not_ended(log)
    return log


def _speak_of_running(running: Iterable[Log], found: Iterable[Log]) -> None:
    ended = {log.header.eval.task_id for log in found}
    left = [log for log in running if log.header.eval.task_id not in ended]
    if not ended and left:
        raise _not_ended(left[0])
    for log in left:
        logger.warning("%s: passed over, the run has not ended.", log)


def _not_ended(log: Log) -> ClbenchError:
    return ClbenchError(
        f"{log}: the run has not ended. Wait for it, or if it died: inspect eval-retry {log}"
    )


def _without_replaced(logs: list[Log]) -> list[Log]:
    """Leave out logs that a retry of the same run has taken over.

    A retry starts from the answers of the log before it, but one that fails at once
    may hold fewer of them: the fullest log stays, the latest of those.
    """
    by_run: dict[str, list[Log]] = {}
    for log in logs:
        by_run.setdefault(log.header.eval.task_id, []).append(log)
    keep = set()
    for attempts in by_run.values():
        if len({log.header.eval.eval_id for log in attempts}) == 1:
            best = attempts[0]
        else:
            best = max(attempts, key=lambda log: (_answers(log), log.header.eval.created))
        keep.add(best.header.eval.eval_id)
    return [log for log in logs if log.header.eval.eval_id in keep]


def _answers(log: Log) -> int:
    if log.header.status == "success" and log.header.results:
        return log.header.results.completed_samples
    return sum(summary.error is None for summary in read_summaries(log))


def read_summaries(log: Log) -> list[EvalSampleSummary]:
    """The summaries of a log's samples."""
    try:
        with _collector_off():
            return read_eval_log_sample_summaries(log.location)
    except Exception as ex:
        raise ClbenchError(
            f"{log}: its samples cannot be read ({why(ex)}). It may be cut off: copy it again, "
            "or if its run died: inspect log recover"
        ) from None


@contextmanager
def _collector_off() -> Iterator[None]:
    """Spare the garbage collector going through summaries again and again: all are in use."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def why(ex: Exception) -> str:
    """An exception in a few words, on one line."""
    text = " ".join(str(ex).split())
    return f"{type(ex).__name__}: {text[:200]}" if text else type(ex).__name__
