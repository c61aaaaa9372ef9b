"""All runs of one model under one judge, put together from one log or several."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from logging import getLogger
from operator import attrgetter
from os import PathLike
from typing import NamedTuple, cast

from inspect_clbench.benchmarks import BENCHMARKS, EXAM, Benchmark
from inspect_clbench.data.selection import ContextDraw
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import (
    Answer,
    Reader,
    check_same_rows,
    read_answers,
    read_many,
)
from inspect_clbench.logs.files import Log, Paths, find_logs
from inspect_clbench.logs.gaps import gaps
from inspect_clbench.metrics.solving import Trial, mean_rate, run_rates
from inspect_clbench.text import counted

logger = getLogger(__name__)

_Part = Sequence[Answer]
"""The answers of one log that belong to a series."""


@dataclass(frozen=True)
class Series:
    """The runs that make up one row of a table."""

    model: str
    effort: str
    judge: str
    judge_prompt: str
    judge_prompt_sha256: str
    version: str
    """Of the task: scores of different versions are not comparable."""

    again: int
    """Which of several scores of the same judge in a log: 0 is the first."""

    logs: tuple[Log, ...]
    answers: tuple[Answer, ...]
    passed_over: tuple[tuple[Log, str], ...] = ()
    """Logs that would count an answer twice or are a part of another run, and why."""

    dataset_name: str = ""
    draw: ContextDraw | None = None
    """The draw of contexts that the runs are of; none if all tasks were meant."""

    @property
    def benchmark(self) -> Benchmark:
        return self.logs[0].benchmark

    @property
    def is_demo(self) -> bool:
        return self.logs[0].is_demo

    @cached_property
    def scored(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if answer.scored)

    @cached_property
    def runs(self) -> int:
        return len({answer.run for answer in self.answers})

    @cached_property
    def tasks(self) -> frozenset[str]:
        return frozenset(answer.task_id for answer in self.answers)

    @property
    def days(self) -> str:
        """The day of its first log and, if that is another, of its last one."""
        days = sorted(str(log.header.eval.created)[:10] for log in self.logs)
        return " to ".join(dict.fromkeys((days[0], days[-1])))

    @cached_property
    def judge_effort(self) -> str:
        """The reasoning effort that the judge was asked for; empty if none was."""
        told = (answer.judge_effort.strip(", ") for answer in self.answers)
        return ", ".join(dict.fromkeys(effort for effort in told if effort))

    @property
    def judge_failures(self) -> int:
        return sum(answer.reason == "grader_failed" for answer in self.answers)

    @property
    def judge_coverage(self) -> float:
        judged = [answer for answer in self.answers if answer.outcome != "errored"]
        return 1 - self.judge_failures / len(judged) if judged else float("nan")

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """What is missing for a complete set of runs, in words; nothing if complete."""
        return tuple(gaps(self.logs, self.answers, self.draw))


def trials_of(
    answers: Iterable[Answer], value: Callable[[Answer], float] = attrgetter("solved")
) -> list[Trial]:
    """What the arithmetic of the metrics takes: whether solved, or another value."""
    return [Trial(a.run, a.context_id, value(a), a.weight) for a in answers]


def as_series(paths: Paths | Sequence[Series]) -> Sequence[Series]:
    """Series as they are; of paths, those that are read from them, judge exams included."""
    several = [] if isinstance(paths, str | PathLike | Log) else paths
    series = [one for one in several if isinstance(one, Series)]
    return series or load_series(find_logs(cast(Paths, paths), exams=True))


class _Key(NamedTuple):
    """What logs of one series have in common."""

    dataset: str
    draw: str
    model: str
    effort: str
    judge: str
    judge_prompt: str
    judge_prompt_sha256: str
    version: str
    again: int


def load_series(paths: Paths, read: Reader = read_answers) -> list[Series]:
    """Read logs and sort them into series, in the order of their first log.

    Parts of a run with disjoint tasks are put together; logs of the same tasks are
    further runs. A log whose answers another one holds too, and a run that is a part of
    a larger one, are passed over. Logs that contradict each other (overlapping parts,
    other rows under the same ids) are an error if nothing else is there; else they are
    left out and a warning is logged.

    Args:
        paths: Log files, folders or URLs.
        read: How the answers of a log are read.
    """
    logs = find_logs(paths)
    grouped: defaultdict[_Key, list[_Part]] = defaultdict(list)
    for log, answers in zip(logs, read_many(logs, read), strict=True):
        for key, some in _by_judge(log, answers):
            grouped[key].append(some)
    if not grouped:
        names = ", ".join(str(log) for log in logs)
        raise ClbenchError(f"{names}: no sample in it. Complete it with: inspect eval-retry")
    series, refused = [], []
    for key, parts in grouped.items():
        try:
            series.append(_series(key, parts))
        except ClbenchError as ex:
            refused.append(ex)
    if not series:
        raise refused[0]
    for reason in refused:
        logger.warning("Left out: %s", reason)
    return series


def by_dataset(series: Sequence[Series]) -> list[list[Series]]:
    """The series that can share a table: of each benchmark, then of demos, then of exams.

    Within them the best model is first, by its first series: the one order of models in
    tables, pictures and pages.
    """
    groups: defaultdict[tuple[bool, bool, int], list[Series]] = defaultdict(list)
    for one in series:
        place = list(BENCHMARKS).index(one.benchmark.title)
        groups[one.benchmark is EXAM, one.is_demo, place].append(one)
    return [_best_first(groups[place]) for place in sorted(groups)]


def _best_first(series: Sequence[Series]) -> list[Series]:
    rates: dict[tuple[str, str], float] = {}
    for one in series:
        rates.setdefault((one.model, one.effort), mean_rate(run_rates(trials_of(one.scored))))

    def order(one: Series) -> float:
        rate = rates[one.model, one.effort]
        return 1.0 if math.isnan(rate) else -rate

    return sorted(series, key=order)


def _by_judge(log: Log, answers: Iterable[Answer]) -> Iterator[tuple[_Key, _Part]]:
    """The answers of each score of a log, and what tells which series they belong to."""
    by_scorer: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_scorer[answer.scorer].append(answer)
    draw = log.draw.model_dump_json() if log.draw else ""
    seen: Counter[tuple[str, ...]] = Counter()
    for some in by_scorer.values():
        judge = _judge_of(log, some)
        version = str(log.header.eval.task_version)
        told = (log.dataset_name, draw, log.model, log.effort)
        yield _Key(*told, *judge, version, seen[judge]), some
        seen[judge] += 1


def _judge_of(log: Log, answers: _Part) -> tuple[str, str, str]:
    """The judge's name, and the name and hash of its prompt, as most answers have them."""
    judges = Counter(a.judge for a in answers if a.judge)
    prompts = Counter(
        (a.judge_prompt, a.judge_prompt_sha256) for a in answers if a.judge_prompt
    )
    bound = ", ".join(model.model for model in log.graders)  # who was to judge
    judge = judges.most_common(1)[0][0] if judges else bound
    return (judge, *(prompts.most_common(1)[0][0] if prompts else ("", "")))


def _series(key: _Key, parts: Sequence[_Part]) -> Series:
    passed_over: list[tuple[Log, str]] = []
    parts = _without_copies(parts, passed_over)
    check_same_rows(answer for answers in parts for answer in answers)
    runs = _whole_runs(parts, passed_over)
    logs = [part[0].log for block in runs for part in block.parts]
    return Series(
        *key[2:],
        logs=tuple(logs),
        answers=tuple(_numbered(runs)),
        passed_over=tuple(passed_over),
        dataset_name=key.dataset,
        draw=logs[0].draw,
    )


def _without_copies(
    parts: Sequence[_Part], passed_over: list[tuple[Log, str]]
) -> Sequence[_Part]:
    """Of logs that hold the same answers the fullest one, the one written last of those."""
    holders: dict[str, Log] = {}
    kept = []
    for place, answers in sorted(enumerate(parts), key=lambda part: (-len(part[1]), -part[0])):
        log = answers[0].log
        same = {log.eval_id, *(id for answer in answers if (id := _identity(answer)))}
        if found := Counter(str(holders[id]) for id in same if id in holders):
            other = found.most_common(1)[0][0]
            new = same - holders.keys() - {log.eval_id}
            whose = "some of its answers" if new else "its answers"
            passed_over.append((log, f"{whose} are counted already, from {other}"))
        else:
            holders |= dict.fromkeys(same, log)
            kept.append((place, answers))
    return [answers for _, answers in sorted(kept, key=lambda part: part[0])]


def _identity(answer: Answer) -> str:
    """What only copies of an answer have in common; of an imported one, the run's hash."""
    runs = (answer.log.header.eval.metadata or {}).get("imported_sha256")
    if isinstance(runs, list) and 0 < answer.epoch <= len(runs):
        return f"{runs[answer.epoch - 1]} {answer.task_id}"
    return answer.uuid


@dataclass
class _Block:
    """Logs that hold disjoint parts of the same runs."""

    epochs: int
    parts: list[_Part] = field(default_factory=list)
    owners: dict[str, Log] = field(default_factory=dict)
    """Which log holds which task."""

    @property
    def answered(self) -> frozenset[str]:
        return frozenset(answer.task_id for answers in self.parts for answer in answers)


def _whole_runs(parts: Sequence[_Part], passed_over: list[tuple[Log, str]]) -> Sequence[_Block]:
    """The logs of each run, or of several runs that belong together.

    Logs with disjoint tasks and as many epochs are parts of the same runs; a log of
    tasks that are there already holds further runs. In the end all runs must be of
    the same tasks, or of some of them, which says nothing more.
    """
    blocks: list[_Block] = []
    for answers in parts:
        log = answers[0].log
        ids = log.task_ids or {answer.task_id for answer in answers}
        block = _block_for(log, ids, blocks)
        block.parts.append(answers)
        block.owners.update(dict.fromkeys(ids, log))
    # A large run that was stopped at once may hold less than a small one.
    largest = max(blocks, key=lambda block: (len(block.answered), len(block.owners)))
    whole = []
    for block in blocks:
        if block.owners.keys() == largest.owners.keys():
            whole.append(block)
        elif block.answered <= largest.owners.keys():
            other = largest.parts[0][0].log
            number = counted(len(block.answered), "task")
            reason = f"{other} of the same model and settings has its {number} too"
            passed_over += [(part[0].log, reason) for part in block.parts]
        else:
            raise _do_not_fit(largest, block)
    return whole


def _block_for(log: Log, ids: Collection[str], blocks: list[_Block]) -> _Block:
    for block in blocks:
        if log.epochs == block.epochs and block.owners.keys().isdisjoint(ids):
            return block
    blocks.append(_Block(log.epochs))
    return blocks[-1]


def _numbered(blocks: Sequence[_Block]) -> Iterator[Answer]:
    """The answers of all logs, their runs counted on from block to block."""
    before = 0
    for block in blocks:
        for answer in (answer for answers in block.parts for answer in answers):
            yield replace(answer, run=before + answer.epoch) if before else answer
        before += block.epochs


def _do_not_fit(one: _Block, other: _Block) -> ClbenchError:
    common = one.owners.keys() & other.owners.keys()
    if common:
        task = min(common)
        logs = f"{one.owners[task]} and {other.owners[task]}"
        found = f"share {len(common)} of {len(one.owners)} and {len(other.owners)} tasks"
    else:
        logs = f"{next(iter(one.owners.values()))} and {next(iter(other.owners.values()))}"
        found = f"hold different tasks in {one.epochs} and {other.epochs} runs"
    return ClbenchError(
        f"{logs} do not add up: they {found}. Parts of a run must not overlap and need the "
        "same number of epochs; further runs must be of the same tasks. Name the logs to be "
        "taken."
    )


def differences(series: Sequence[Series]) -> list[tuple[str, list[str]]]:
    """Titles and values of what tells series apart beside the model: only where they differ."""
    candidates = [
        ("Dataset", [s.dataset_name for s in series]),
        ("Tasks", [_drawn(s.draw) for s in series]),
        ("Judge", [s.judge + (f" (again {s.again})" if s.again else "") for s in series]),
        ("Judge prompt", _prompts(series)),
        ("Effort", [s.effort or "default" for s in series]),
        ("Task version", [s.version for s in series]),
    ]
    return [(title, values) for title, values in candidates if len(set(values)) > 1]


def series_names(series: Sequence[Series]) -> list[str]:
    """A name for each series that no other has: the model's, and what tells it apart."""
    extra = differences(series)
    shared = Counter(one.model for one in series)
    names = []
    for index, one in enumerate(series):
        words = [values[index] for _, values in extra] if shared[one.model] > 1 else []
        names.append(one.model + (f" ({', '.join(words)})" if words else ""))
    return names


def _prompts(series: Sequence[Series]) -> list[str]:
    hashes: dict[str, set[str]] = {}
    for one in series:
        hashes.setdefault(one.judge_prompt, set()).add(one.judge_prompt_sha256)
    return [
        f"{one.judge_prompt} ({one.judge_prompt_sha256[:7]})"
        if len(hashes[one.judge_prompt]) > 1
        else one.judge_prompt
        for one in series
    ]


def _drawn(draw: ContextDraw | None) -> str:
    if draw is None:
        return "all"
    return f"{draw.drawn_contexts:,} of {draw.contexts:,} contexts, seed {draw.seed}"
