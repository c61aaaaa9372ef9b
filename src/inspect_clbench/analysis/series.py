"""All runs of one model under one judge, put together from one log or several."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from inspect_clbench.analysis.records import Log, Record, find_logs, read_records
from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import Row
from inspect_clbench.taxonomy import BENCHMARKS, Benchmark


@dataclass(frozen=True)
class Series:
    """The runs that make up one row of a table."""

    model: str
    effort: str
    judge: str
    judge_prompt: str
    benchmark: str
    logs: tuple[Log, ...]
    records: tuple[Record, ...]
    """Runs are numbered through all logs of the series."""

    again: int = 0
    """Which of several scores of the same judge in a log: 0 is the first."""

    @property
    def taxonomy(self) -> Benchmark:
        return BENCHMARKS[self.benchmark.removesuffix(" demo")]

    @cached_property
    def scored(self) -> tuple[Record, ...]:
        return tuple(r for r in self.records if r.outcome in ("solved", "failed"))

    @property
    def runs(self) -> int:
        return len({record.run for record in self.records})

    @cached_property
    def tasks(self) -> frozenset[str]:
        return frozenset(record.task_id for record in self.records)

    @property
    def judge_failures(self) -> int:
        return sum(record.reason == "grader_failed" for record in self.records)

    @property
    def judge_coverage(self) -> float:
        judged = [r for r in self.records if r.outcome != "errored"]
        return 1 - self.judge_failures / len(judged) if judged else float("nan")

    def rows(self, records: Iterable[Record] | None = None) -> list[Row]:
        """What the arithmetic of the metrics takes, of all scored records or of some."""
        chosen = self.scored if records is None else records
        return [Row(r.run, r.context_id, r.solved) for r in chosen]

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """What is missing for a complete set of runs, in words; nothing if complete."""
        return tuple(_gaps(self))


def load_series(paths: Sequence[str]) -> list[Series]:
    """Read logs and sort them into series, in the order of their first log.

    Parts of a run with disjoint tasks are put together; logs of the same tasks are
    further runs; anything between is an error.
    """
    logs = sorted(find_logs(paths), key=lambda log: log.header.eval.created)
    _check_one_benchmark(logs)
    grouped: defaultdict[tuple[str, ...], list[tuple[Log, list[Record]]]] = defaultdict(list)
    for log in logs:
        by_scorer: defaultdict[str, list[Record]] = defaultdict(list)
        for record in read_records(log):
            by_scorer[record.scorer].append(record)
        seen: defaultdict[tuple[str, str], int] = defaultdict(int)
        for records in by_scorer.values():
            judge, prompt = _judge_of(records)
            again = seen[judge, prompt]
            seen[judge, prompt] += 1
            version = str(log.header.eval.task_version)
            key = (log.model, log.effort, judge, prompt, version, str(again))
            grouped[key].append((log, records))
    return [_series(key, parts) for key, parts in grouped.items()]


def _series(key: tuple[str, ...], parts: list[tuple[Log, list[Record]]]) -> Series:
    model, effort, judge, prompt, _, again = key
    return Series(
        model=model,
        effort=effort,
        judge=judge,
        judge_prompt=prompt,
        benchmark=parts[0][0].benchmark,
        logs=tuple(log for log, _ in parts),
        records=tuple(_numbered_runs(parts)),
        again=int(again),
    )


@dataclass
class _Block:
    """Logs that hold disjoint parts of the same runs."""

    first_run: int
    epochs: int
    owners: dict[str, Log]
    """Which log holds which task."""


def _numbered_runs(parts: list[tuple[Log, list[Record]]]) -> Iterable[Record]:
    """Give each part's runs their place among the runs of the series."""
    blocks: list[_Block] = []
    for log, records in parts:
        ids = {record.task_id for record in records}
        block = _block_for(log, ids, blocks)
        if block is None:
            block = _Block(sum(b.epochs for b in blocks), log.epochs, {})
            blocks.append(block)
        block.owners.update(dict.fromkeys(ids, log))
        yield from (replace(record, run=block.first_run + record.run) for record in records)


def _block_for(log: Log, ids: set[str], blocks: Sequence[_Block]) -> _Block | None:
    """The block that a log is a part of; none if it holds further runs of its own."""
    for block in blocks:
        shared = ids & block.owners.keys()
        if not shared and log.epochs == block.epochs:
            return block
        if shared and ids != block.owners.keys():
            other = block.owners[min(shared)]
            raise ClbenchError(
                f"{log.location} and {other.location} share {len(shared)} of their tasks "
                f"(for instance {min(shared)}). Parts of a run must not overlap, and "
                "further runs must hold the same tasks. Name the logs to be taken."
            )
    return None


def _judge_of(records: Sequence[Record]) -> tuple[str, str]:
    judged = next((r for r in records if r.judge), None)
    prompt = next((r.judge_prompt for r in records if r.judge_prompt), "")
    return (judged.judge if judged else "", prompt)


def _check_one_benchmark(logs: Sequence[Log]) -> None:
    names = sorted({log.benchmark for log in logs})
    if len(names) > 1:
        examples = "; ".join(
            f"{name}: {next(log.location for log in logs if log.benchmark == name)}"
            for name in names
        )
        raise ClbenchError(
            f"These logs belong to different datasets and cannot share a table ({examples}). "
            "Name the logs of one of them."
        )
    if names[0].removesuffix(" demo") not in BENCHMARKS:
        raise ClbenchError(f"{logs[0].location}: the log does not say which dataset it is of.")


def _gaps(series: Series) -> Iterable[str]:
    by_run: defaultdict[int, int] = defaultdict(int)
    errored = 0
    for record in series.records:
        by_run[record.run] += 1
        errored += record.outcome == "errored"
    if errored:
        yield f"{errored} answers missing after errors (inspect eval-retry completes them)"
    full = len(series.tasks)
    for run, count in sorted(by_run.items()):
        if count < full:
            yield f"run {run} has {count} of {full} tasks"
    if not series.benchmark.endswith(" demo") and full < series.taxonomy.tasks:
        yield f"{full} of {series.taxonomy.tasks:,} tasks"
    cancelled = [log for log in series.logs if log.header.status == "cancelled"]
    if cancelled:
        yield f"cancelled before its end: {', '.join(log.location for log in cancelled)}"
