"""Which logs are meant: paths, folders and URLs become the headers of logs of this benchmark."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from logging import getLogger
from os import PathLike, fspath
from pathlib import Path
from urllib.parse import unquote, urlparse

import yaml
from inspect_ai.log import EvalLog, EvalLogInfo, list_eval_logs, read_eval_log
from inspect_ai.model import GenerateConfig, ModelConfig
from pydantic import ValidationError

from inspect_clbench.benchmarks import (
    BENCHMARKS,
    CLBENCH,
    CLBENCH_LIFE,
    Benchmark,
    bound_graders,
)
from inspect_clbench.data.selection import ContextDraw
from inspect_clbench.data.sources import DEMO, replayed_model
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.summaries import Summary, read_log_summaries
from inspect_clbench.progress import progress
from inspect_clbench.text import printable, some

logger = getLogger(__name__)

TASKS = ("clbench", "clbench_life", "clbench_graded")
EXAM_TASK = "judge_exam"
REPLAY = "inspect_clbench/replay"


@dataclass(frozen=True)
class Log:
    """The header of a log of this benchmark, and where the log is."""

    location: str
    header: EvalLog
    modified: float = 0.0
    """When the file was last written, in the units of its file system."""

    label: str = ""
    """What to call the model in tables and pictures, if not by its name."""

    def __str__(self) -> str:
        return readable(self.location)

    @property
    def eval_id(self) -> str:
        return self.header.eval.eval_id

    @property
    def model(self) -> str:
        """What the model under test is called: its label, or its name."""
        return self.label or self.model_name

    @cached_property
    def model_name(self) -> str:
        """The model under test; of replayed answers, the one that gave them."""
        spec = self.header.eval
        named = (spec.metadata or {}).get("model_name")
        if spec.solver == REPLAY:
            arguments = spec.solver_args or {}
            files = arguments.get("files") or [spec.model]
            paths = [files] if isinstance(files, str) else [str(file) for file in files]
            named = replayed_model(paths, spec.model, arguments.get("model_name"))
        return str(named or spec.model)

    @cached_property
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

    @cached_property
    def benchmark(self) -> Benchmark:
        named = BENCHMARKS.get(str((self.header.eval.metadata or {}).get("benchmark")))
        is_life = self.header.eval.task.endswith("clbench_life")
        return named or (CLBENCH_LIFE if is_life else CLBENCH)

    @property
    def is_demo(self) -> bool:
        spec = self.header.eval
        told = (spec.metadata or {}).get("demo")
        return bool(told) if told is not None else spec.dataset.location == DEMO

    @property
    def dataset_name(self) -> str:
        """What tables call the dataset."""
        return f"{self.benchmark.title} demo" if self.is_demo else self.benchmark.title

    @property
    def epochs(self) -> int:
        return self.header.eval.config.epochs or 1

    @cached_property
    def task_ids(self) -> frozenset[str]:
        """The tasks that were chosen for the run, whether or not they were reached."""
        return frozenset(str(id) for id in self.header.eval.dataset.sample_ids or [])

    @property
    def samples(self) -> int:
        """How many samples a complete run of this log has."""
        return len(self.task_ids) * self.epochs

    @cached_property
    def draw(self) -> ContextDraw | None:
        """The draw of contexts that the run is of; none if all tasks were meant."""
        found = (self.header.eval.metadata or {}).get("draw")
        try:
            return ContextDraw.model_validate(found) if found else None
        except ValidationError:
            raise ClbenchError(f"{self}: `draw` in its metadata is damaged.") from None

    @cached_property
    def weights(self) -> dict[str, float]:
        """For how many tasks each one stands that was drawn, by category; none in full runs."""
        return self.draw.weights if self.draw else {}

    @property
    def graders(self) -> list[ModelConfig]:
        """The models that were bound to the role `grader`."""
        return bound_graders(self.header.eval.model_roles)


Place = str | PathLike[str] | Log
Paths = Place | Sequence[Place]
"""A log file, folder or URL, or a log that was found already; or several."""


Labels = Mapping[str, str] | str | PathLike[str] | Sequence[str]
"""What to call models: labels by name, or `NAME=LABEL` and files of them, as `--label` takes."""


def path_list(paths: Paths) -> list[str | Log]:
    several = [paths] if isinstance(paths, str | PathLike | Log) else paths
    return [path if isinstance(path, Log) else fspath(path) for path in several]


def readable(location: str) -> str:
    """A log's location as a person would write it: a plain path where it is a file."""
    if not location.startswith("file:"):
        return location
    path = Path(unquote(urlparse(location).path))
    here = Path.cwd()
    return str(path.relative_to(here) if path.is_relative_to(here) else path)


def find_logs(
    paths: Paths,
    *,
    model: str | Sequence[str] = (),
    dataset: str | None = None,
    exams: bool = False,
    labels: Labels = (),
) -> list[Log]:
    """The logs of this benchmark among files, folders and URLs, oldest first.

    A folder may hold logs of other benchmarks and logs of runs that have not ended,
    which are passed over; a file that is named must be a finished one of ours. A log
    that a later retry replaced is passed over too. Wherever paths of logs are taken,
    the result of this function is taken too.

    Args:
        paths: Log files, folders or URLs.
        model: Only the logs of this model, or of these: the name, its part after the
            last slash, or any part that no other model in the logs has in its name.
        dataset: Only the logs of this dataset, as tables call it, or a part of the name
            that no other dataset in the logs has: `CL-bench`, `CL-bench Life demo`.
        exams: Whether logs of the judge exam are wanted too, whose samples are verdicts and
            not answers of a model.
        labels: What tables, pictures and pages call models: labels by name or by such a
            part of it, or the path of a YAML or JSON file with them.
    """
    tasks = (*TASKS, EXAM_TASK) if exams else TASKS
    given = path_list(paths)
    if not given:
        raise ClbenchError("No log was given. Give .eval files or folders of them.")
    found: dict[str, Log] = {}
    running: dict[str, Log] = {}
    for path in given:
        if isinstance(path, Log):
            found[path.location] = path
            continue
        infos = _listed(path)
        named = len(infos) == 1 and path.rstrip("/").endswith((".eval", ".json"))
        with progress("Reading headers", len(infos)) as advance:
            ours = []
            for info in infos:
                log = _read_header(info, tasks, must=named)
                advance(1)
                if log is not None:
                    ours.append(log)
        if not ours:
            raise ClbenchError(
                f"{path}: no log of {' or '.join(TASKS[:2])} among the {len(infos)} there."
            )
        for log in ours:
            (running if log.header.status == "started" else found)[log.location] = log
    _warn_of_running(running.values(), found.values())
    kept = labelled(_without_replaced(list(found.values())), labels)
    if model:
        models = [model] if isinstance(model, str) else model
        names = [log.model_name for log in kept]
        chosen = {meant(name, "model", names) for name in models}
        kept = [log for log in kept if log.model_name in chosen]
    if dataset:
        name = meant(dataset, "dataset", [log.dataset_name for log in kept])
        kept = [log for log in kept if log.dataset_name == name]
    return sorted(kept, key=lambda log: (log.header.eval.created, log.modified))


def labelled(logs: Sequence[Log], labels: Labels) -> list[Log]:
    """Logs whose models are called as the labels say.

    A name that a file has and the logs have not is passed over, since one file may serve
    several pictures; one that was given by itself is an error. It comes before a file's.
    """
    if not labels:
        return list(logs)
    names = {log.model_name for log in logs}
    shown: dict[str, str] = {}
    given: dict[str, str] = {}
    unknown = []
    for wanted, label, must in _label_pairs(labels):
        if not must and not any(wanted.casefold() in name.casefold() for name in names):
            unknown.append(wanted)
            continue
        name = meant(wanted, "label", names, "model")
        if must and given.setdefault(name, label) != label:
            raise ClbenchError(
                f"--label: {name} would be called both {given[name]} and {label}. Give it one."
            )
        shown[name] = given.get(name, label)
    if unknown:
        told = f"Labels of models that are not in the logs are passed over: {some(unknown)}."
        logger.warning("%s", printable(told))
    taken: dict[str, str] = {}
    for name in sorted(names):
        other = taken.setdefault(shown.get(name, name), name)
        if other != name:
            raise ClbenchError(
                f"--label: {other} and {name} would both be called {shown.get(name, name)}. "
                "Give each model a label of its own."
            )
    return [replace(log, label=shown.get(log.model_name, log.label)) for log in logs]


def _label_pairs(labels: Labels) -> Iterator[tuple[str, str, bool]]:
    """What was given for a name, its label, and whether there must be such a model."""
    if isinstance(labels, Mapping):
        yield from ((name, label, True) for name, label in labels.items())
        return
    for one in [labels] if isinstance(labels, str | PathLike) else labels:
        name, equals, label = fspath(one).partition("=")
        if equals and not (name.strip() and label.strip()):
            raise ClbenchError(f'--label {one}: give a model and its label, NAME="LABEL".')
        if equals:
            yield name.strip(), label.strip(), True
        else:
            yield from ((each, label, False) for each, label in _label_file(name).items())


def _label_file(path: str) -> dict[str, str]:
    try:
        found = yaml.safe_load(Path(path).read_text("utf-8"))  # JSON is YAML
    except OSError as ex:
        raise ClbenchError(
            f"--label {path}: cannot be read ({ex.strerror}). Give NAME=LABEL, or a file."
        ) from None
    except (UnicodeDecodeError, yaml.YAMLError) as ex:
        raise ClbenchError(f"{path}: not YAML or JSON ({in_short(ex)}).") from None
    if not isinstance(found, dict) or not found:
        raise ClbenchError(f"{path}: no labels. Write a line for each model: NAME: LABEL")
    for name, label in found.items():
        if not (isinstance(name, str) and isinstance(label, str) and label.strip()):
            raise ClbenchError(f'{path}: {name}: {label}: no label. Write: NAME: "LABEL"')
    return found


def meant(wanted: str, option: str, names: Iterable[str], what: str = "") -> str:
    """The one name that a user means, by the whole of it or by a part."""
    what = what or option
    known, part = sorted(set(names)), wanted.casefold()
    for fits in (
        lambda name: name == part,
        lambda name: name.rsplit("/", 1)[-1] == part,
        lambda name: part in name,
    ):
        found = [name for name in known if fits(name.casefold())]
        if len(found) == 1:
            return found[0]
        if found:
            break
    lead = f"several {what}s have that in their names" if found else f"no such {what}"
    raise ClbenchError(f"--{option} {wanted}: {lead}. There are: {', '.join(found or known)}.")


def check_one_dataset(logs: Sequence[Log]) -> None:
    """Refuse logs of several datasets, where only one can be shown."""
    names = sorted({log.dataset_name for log in logs})
    if len(names) > 1:
        examples = "; ".join(
            f"{name}: {next(log for log in logs if log.dataset_name == name)}" for name in names
        )
        raise ClbenchError(
            f"These logs belong to different datasets ({examples}), and this is of one only. "
            f'Choose one: --dataset "{names[0]}"'
        )


def _listed(path: str) -> list[EvalLogInfo]:
    try:
        infos = list_eval_logs(path, recursive=True)
    except Exception as ex:
        raise ClbenchError(f"{path}: cannot be listed ({in_short(ex)}).") from None
    if not infos:
        local = "://" not in path
        lead = "no such file or folder" if local and not Path(path).exists() else "no log there"
        raise ClbenchError(f"{path}: {lead}. Give a .eval file or a folder of them.")
    return infos


def _read_header(info: EvalLogInfo, tasks: Sequence[str], *, must: bool) -> Log | None:
    where = readable(info.name)
    try:
        header = read_eval_log(info.name, header_only=True)
    except Exception as ex:
        if not must and "clbench" not in where.rsplit("/", 1)[-1]:
            logger.warning(
                "%s", printable(f"{where}: passed over, not a readable log ({in_short(ex)}).")
            )
            return None
        raise unreadable(where, ex, "not a readable log") from None
    if header.eval.task.rsplit("/", 1)[-1] not in tasks:
        if must:
            raise ClbenchError(f"{where}: a log of {header.eval.task}, not of {TASKS[0]}.")
        return None
    log = Log(info.name, header, info.mtime or 0.0)
    if must and header.status == "started":
        raise _not_ended(log)
    return log


def _warn_of_running(running: Iterable[Log], found: Iterable[Log]) -> None:
    ended = {log.header.eval.task_id for log in found}
    left = [log for log in running if log.header.eval.task_id not in ended]
    if not ended and left:
        raise _not_ended(left[0])
    for log in left:
        logger.warning("%s", printable(f"{log}: passed over, the run has not ended."))


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
        by_run.setdefault(log.header.eval.task_id or log.location, []).append(log)
    keep = set()
    for attempts in by_run.values():
        if len({log.eval_id for log in attempts}) == 1:
            best = attempts[0]
        else:
            best = max(attempts, key=lambda log: (_completed(log), log.header.eval.created))
        keep.add(best.eval_id)
    return [log for log in logs if log.eval_id in keep]


def _completed(log: Log) -> int:
    if log.header.status == "success" and log.header.results:
        return log.header.results.completed_samples
    return sum(summary.error is None for summary in read_summaries(log))


def read_summaries(log: Log) -> list[Summary]:
    try:
        return read_log_summaries(log.location)
    except Exception as ex:
        raise unreadable(log, ex, "its samples cannot be read") from None


def unreadable(where: object, ex: Exception, what: str) -> ClbenchError:
    """The error for a log that cannot be read, and what to do about it."""
    return ClbenchError(
        f"{where}: {what} ({in_short(ex)}). It may be cut off: copy it again, "
        "or if its run died: inspect log recover"
    )


def in_short(ex: Exception) -> str:
    """An exception in a few words, on one line."""
    text = " ".join(str(ex).split())
    return f"{type(ex).__name__}: {text[:200]}" if text else type(ex).__name__
