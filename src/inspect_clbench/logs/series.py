"""All runs of one model under one judge, put together from one log or several."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from operator import attrgetter
from os import PathLike
from typing import cast

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.selection import ContextDraw
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer, Reader, read_answers, read_many
from inspect_clbench.logs.files import Log, Paths, check_one_dataset, find_logs
from inspect_clbench.logs.gaps import gaps
from inspect_clbench.metrics.solving import Trial


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

    @property
    def benchmark(self) -> Benchmark:
        return self.logs[0].benchmark

    @property
    def is_demo(self) -> bool:
        return self.logs[0].is_demo

    @property
    def dataset_name(self) -> str:
        return self.logs[0].dataset_name

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
    def judge_failures(self) -> int:
        return sum(answer.reason == "grader_failed" for answer in self.answers)

    @property
    def judge_coverage(self) -> float:
        judged = [answer for answer in self.answers if answer.outcome != "errored"]
        return 1 - self.judge_failures / len(judged) if judged else float("nan")

    @cached_property
    def draw(self) -> ContextDraw | None:
        """The draw of contexts that the runs are of; none if all tasks were meant."""
        draws = [log.draw for log in self.logs]
        for log, draw in zip(self.logs, draws, strict=True):
            if draw != draws[0]:
                raise ClbenchError(
                    f"{self.logs[0]} and {log}: made with different draws of contexts "
                    "(-T contexts, seed, category). Name the logs of one draw."
                )
        return draws[0]

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
    """Series as they are; of paths, those that are read from them."""
    several = [] if isinstance(paths, str | PathLike | Log) else paths
    series = [one for one in several if isinstance(one, Series)]
    return series or load_series(cast(Paths, paths))


def load_series(paths: Paths, read: Reader = read_answers) -> list[Series]:
    """Read logs and sort them into series, in the order of their first log.

    Parts of a run with disjoint tasks are put together; logs of the same tasks are
    further runs; anything between is an error. Of several copies of a log that the
    same judge scored, the one written last counts.

    Args:
        paths: Log files, folders or URLs.
        read: How the answers of a log are read.
    """
    logs = find_logs(paths)
    check_one_dataset(logs)
    grouped: defaultdict[tuple[str | int, ...], dict[str, list[Answer]]] = defaultdict(dict)
    for log, answers in zip(logs, read_many(logs, read), strict=True):
        for key, some in _by_judge(log, answers):
            # A later copy of the same eval takes the place of an earlier one.
            grouped[key][log.eval_id] = some
    if not grouped:
        names = ", ".join(str(log) for log in logs)
        raise ClbenchError(f"{names}: no sample in it. Complete it with: inspect eval-retry")
    return [_series(key, list(parts.values())) for key, parts in grouped.items()]


def _by_judge(
    log: Log, answers: Iterable[Answer]
) -> Iterator[tuple[tuple[str | int, ...], list[Answer]]]:
    """The answers of each score of a log, and what logs of one series have in common."""
    by_scorer: defaultdict[str, list[Answer]] = defaultdict(list)
    for answer in answers:
        by_scorer[answer.scorer].append(answer)
    seen: Counter[tuple[str, ...]] = Counter()
    for some in by_scorer.values():
        judge = _judge_of(log, some)
        version = str(log.header.eval.task_version)
        yield (log.model, log.effort, *judge, version, seen[judge]), some
        seen[judge] += 1


def _judge_of(log: Log, answers: Sequence[Answer]) -> tuple[str, str, str]:
    """The judge's name, and the name and hash of its prompt, as most answers have them."""
    judges = Counter(a.judge for a in answers if a.judge)
    prompts = Counter(
        (a.judge_prompt, a.judge_prompt_sha256) for a in answers if a.judge_prompt
    )
    bound = ", ".join(model.model for model in log.graders)  # who was to judge
    judge = judges.most_common(1)[0][0] if judges else bound
    return (judge, *(prompts.most_common(1)[0][0] if prompts else ("", "")))


def _series(key: tuple[str | int, ...], parts: Sequence[Sequence[Answer]]) -> Series:
    model, effort, judge, prompt, sha256, version, again = key
    return Series(
        str(model), str(effort), str(judge), str(prompt), str(sha256), str(version), int(again),
        logs=tuple(answers[0].log for answers in parts),
        answers=tuple(_numbered_runs(parts)),
    )  # fmt: skip


@dataclass
class _Block:
    """Logs that hold disjoint parts of the same runs."""

    first_run: int
    epochs: int
    owners: dict[str, Log]
    """Which log holds which task."""


def _numbered_runs(parts: Sequence[Sequence[Answer]]) -> list[Answer]:
    """The answers of several logs, their runs counted on from log to log.

    Logs with disjoint tasks and as many epochs are parts of the same runs; a log of
    tasks that are there already holds further runs. In the end all runs must be of
    the same tasks.
    """
    blocks: list[_Block] = []
    numbered: list[Answer] = []
    for answers in parts:
        log = answers[0].log
        ids = log.task_ids or {answer.task_id for answer in answers}
        block = _block_for(log, ids, blocks)
        block.owners.update(dict.fromkeys(ids, log))
        if block.first_run:
            answers = [replace(a, run=block.first_run + a.epoch) for a in answers]
        numbered += answers
    for block in blocks[1:]:
        if block.owners.keys() != blocks[0].owners.keys():
            raise _do_not_fit(blocks[0], block)
    return numbered


def _block_for(log: Log, ids: Collection[str], blocks: list[_Block]) -> _Block:
    for block in blocks:
        if log.epochs == block.epochs and block.owners.keys().isdisjoint(ids):
            return block
    blocks.append(_Block(sum(block.epochs for block in blocks), log.epochs, {}))
    return blocks[-1]


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
