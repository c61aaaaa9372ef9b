"""Finding logs, and reading their headers, their summaries and whole samples."""

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from logging import getLogger
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import unquote
from zipfile import BadZipFile, ZipFile

import fsspec
import pandas as pd
from inspect_ai.log import EvalLog, EvalLogInfo, list_eval_logs, read_eval_log, read_eval_log_sample_summaries
from pydantic import BaseModel, TypeAdapter
from pydantic.dataclasses import dataclass
from pydantic_core import from_json
from rich.console import Console
from rich.progress import track

from inspect_clbench.benchmarks import VERDICT_SCORERS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.text import shortened

logger = getLogger(__name__)

# Of the second scorer of the same name Inspect calls the scores `rubric_judge1`.
_VERDICTS = re.compile(rf"({'|'.join(VERDICT_SCORERS)})[-_]?\d*")
JUDGE_IT = "inspect score LOG --scorer inspect_clbench/rubric_judge --action append --overwrite"
# What stands in a summary in place of metadata that are over 1 KB, and which of them tables need.
_REMOVED = "Key removed from summary (> 1k)"
_NEEDED = ("judge", "judge_error", "votes", "answer_usage", "judge_usage")
_FOREIGN = f"it has no verdicts of rubric_judge; where its samples have rubrics, have it judged: {JUDGE_IT}"

T = TypeVar("T")
R = TypeVar("R")


class ScoreSummary(BaseModel):
    """A score as a summary holds it: without values of its metadata that are over 1 KB."""

    value: Any
    reason: str | None = None
    metadata: dict[str, Any] | None = None


class Summary(BaseModel):
    """What tables need of a sample's summary; of one that was not reached only id and epoch."""

    id: int | str
    epoch: int
    uuid: str | None = None
    error: str | None = None
    metadata: dict[str, Any] = {}
    scores: dict[str, ScoreSummary] | None = None


_SUMMARIES = TypeAdapter(list[Summary])


@dataclass(frozen=True)
class SampleTexts:
    """The texts of a sample. `rationales` and `score` are of one of its scores."""

    messages: list[tuple[str, str]]  # role and text of what the model was asked
    answer: str
    stop_reason: str
    error: str
    rubrics: list[str]
    rationales: list[str]
    metadata: Mapping[str, Any]
    score: Mapping[str, Any]


def find_logs(paths: Iterable[str]) -> list[EvalLog]:
    """The headers of finished logs with verdicts among files, folders and URLs, the oldest first.

    In a folder, logs of other benchmarks are passed over, and with a warning those that cannot be
    read or whose run has not ended. A file that is named must be of use.
    """
    logs: dict[str, tuple[str, float, EvalLog]] = {}
    problems: dict[str, tuple[EvalLog | None, str]] = {}
    for path in paths:
        infos = _listed(path)
        for info, (header, problem) in zip(infos, each(_read_header, infos, "Reading headers"), strict=True):
            if not problem and header:
                logs[info.name] = header.eval.created, info.mtime or 0.0, header
            elif path.endswith((".eval", ".json")):
                raise ClbenchError(f"{path}: {problem}.")
            elif problem != _FOREIGN:
                problems[info.name] = header, problem
        if not logs.keys() & {info.name for info in infos}:
            raise ClbenchError(
                f"{path}: no finished log with verdicts of rubric_judge is there. Give .eval files or folders."
            )
    by_age = sorted(logs.items(), key=lambda log: log[1][:2])
    retried = {header.eval.task_id: created for _, (created, _, header) in by_age}
    for name, (header, problem) in problems.items():
        # Nothing is missing of a run that died where a later log went on with it.
        if header is None or header.eval.created > retried.get(header.eval.task_id, ""):
            logger.warning("%s is passed over: %s.", readable(name), problem)
    # A run on several machines writes shards; the log they are merged into holds all their samples.
    merged = {name for name, (*_, header) in logs.items() if header.status == "success"}
    return [header for name, (*_, header) in by_age if f"{name.partition('.shards/')[0]}.eval" not in merged]


def verdict_scores(names: Iterable[str]) -> list[str]:
    """Those among names of scores that are verdicts on answers, the first judge's first."""
    return sorted({name for name in names if _VERDICTS.fullmatch(name)}, key=lambda name: (len(name), name))


def readable(location: str) -> str:
    """A log's location as a person writes it: a path, relative where it is below here."""
    path = unquote(location.removeprefix("file://")) if location.startswith("file://") else location
    return path.removeprefix(f"{Path.cwd()}/")


def each(read: Callable[[T], R], items: Sequence[T], title: str) -> Iterator[R]:
    """What is read of each item, a few at a time, with a bar where it takes long."""
    # A log of three full runs takes 300 MB while it is read: not a thread for every core.
    with ThreadPoolExecutor(max_workers=4) as pool:
        yield from _watched(pool.map(read, items), title, len(items))


def _watched(items: Iterable[T], title: str, total: int) -> Iterable[T]:
    """The items, with a bar on stderr where somebody watches."""
    console = Console(stderr=True)
    return track(items, title, total, console=console, transient=True, disable=not console.is_terminal)


def read_summaries(location: str) -> list[Summary]:
    """The sample summaries of a log, and only what tables need of them.

    Inspect's reader also validates the input of each sample, which is most of a summary, and takes
    several times as long; it reads what is not a plain `.eval` file.
    """
    with named(location):
        try:
            with fsspec.open(location, "rb") as file, ZipFile(file) as members:
                summaries = _SUMMARIES.validate_json(members.read("summaries.json"))
        except (BadZipFile, KeyError):
            validated = read_eval_log_sample_summaries(location)
            summaries = _SUMMARIES.validate_python([summary.model_dump() for summary in validated])
    cut = {(str(summary.id), summary.epoch): summary for summary in summaries if _is_cut(summary)}
    for summary, sample in zip(cut.values(), whole_samples(location, cut), strict=True):
        for name, score in (summary.scores or {}).items():
            score.metadata = sample["scores"][name]["metadata"]
    return summaries


def _is_cut(summary: Summary) -> bool:
    scores = (summary.scores or {}).values()
    return any((score.metadata or {}).get(key) == _REMOVED for score in scores for key in _NEEDED)


def read_samples(answers: pd.DataFrame) -> Iterator[tuple[Hashable, SampleTexts]]:
    """The texts of answers: the index of a row of the frame and its sample's, row by row.

    Log by log, and sample by sample in the order of the frame. Samples that a run did not reach
    are left out.
    """
    for log, rows in answers[answers["reached"]].groupby("log", sort=False):
        scorers: defaultdict[tuple[str, int], list[tuple[Hashable, str]]] = defaultdict(list)
        for row in rows.itertuples():
            scorers[row.id, row.epoch].append((row.Index, row.scorer))
        samples = _watched(whole_samples(str(log), scorers), "Reading answers", len(scorers))
        for sample, scores in zip(samples, scorers.values(), strict=True):
            with named(str(log)):
                texts = [(index, _texts(sample, scorer)) for index, scorer in scores]
            yield from texts


def whole_samples(log: str, keys: Iterable[tuple[str, int]]) -> Iterator[Mapping[str, Any]]:
    """The samples of these ids and epochs as they stand in the file.

    Inspect's reader also validates every event and takes several times as long; it reads what is
    not a plain `.eval` file.
    """
    with named(log):
        try:
            with fsspec.open(log, "rb") as file, ZipFile(file) as members:
                yield from (from_json(members.read(f"samples/{id}_epoch_{epoch}.json")) for id, epoch in keys)
        except BadZipFile:
            samples = {(str(sample.id), sample.epoch): sample for sample in read_eval_log(log).samples or ()}
            yield from (samples[key].model_dump() for key in keys)


@contextmanager
def named(log: str) -> Iterator[None]:
    """Whatever goes wrong with a log's content, with the log's name."""
    try:
        yield
    except ClbenchError:
        raise
    except Exception as ex:
        raise ClbenchError(
            f"{readable(log)}: cannot be read ({shortened(repr(ex), 200)}). The log is damaged, or other software "
            "wrote it: copy it again."
        ) from ex


def _listed(path: str) -> list[EvalLogInfo]:
    try:
        infos = list_eval_logs(path)
    except Exception as ex:
        raise ClbenchError(f"{path}: cannot be listed ({ex}).") from ex
    if not infos and path.endswith(".json"):  # listed are only those with a name like Inspect's
        infos = [EvalLogInfo(name=path, type="file", size=0, mtime=None, task="", task_id="", suffix=None)]
    return infos


def _read_header(info: EvalLogInfo) -> tuple[EvalLog | None, str]:
    """A log's header, and why the log is of no use, if it is of none."""
    try:
        info.name.encode()  # a name that is not UTF-8 fits into no frame
        header = read_eval_log(info, header_only=True)
    except Exception as ex:
        return None, f"it cannot be read ({shortened(str(ex), 200)}); if its run died: inspect log recover"
    header.location = info.name
    names = [scorer.name for scorer in header.eval.scorers or ()]
    names += [score.name for score in header.results.scores] if header.results else []
    if not verdict_scores(names):
        return header, _FOREIGN
    if header.status == "started":
        return header, "its run has not ended; wait for it, or if it died: inspect eval-retry"
    return header, ""


def _texts(sample: Mapping[str, Any], scorer: str) -> SampleTexts:
    prompt, output = sample["input"], sample.get("output") or {}
    messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else prompt
    choice: dict[str, Any] = next(iter(output.get("choices") or ()), {})
    score = (sample.get("scores") or {}).get(scorer) or {}
    return SampleTexts(
        messages=[(message["role"], _text(message["content"])) for message in messages],
        answer=_text(choice["message"]["content"]) if choice else "",
        stop_reason=str(choice.get("stop_reason", "")),
        error=(sample.get("error") or {}).get("message", ""),
        rubrics=sample["metadata"].get("rubrics") or [],
        rationales=(score.get("metadata") or {}).get("rationales") or [],
        metadata=sample["metadata"],
        score=score,
    )


def _text(content: str | list[dict[str, Any]]) -> str:
    """A message's text as Inspect has it: of several parts those of text, on lines of their own."""
    parts = [{"type": "text", "text": content}] if isinstance(content, str) else content
    return "\n".join(part["text"] for part in parts if part["type"] == "text")
