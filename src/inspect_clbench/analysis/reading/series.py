"""All runs of one model under one judge, put together from one log or several."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.draws import draw_of
from inspect_clbench.analysis.reading.holes import chosen_from, holes
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.records import Log, Record, find_logs, read_records
from inspect_clbench.analysis.reading.runs import numbered_runs, tasks_of
from inspect_clbench.analysis.text import counted
from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import Row
from inspect_clbench.sampling import Draw
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

    judge_prompt_sha256: str = ""

    @property
    def taxonomy(self) -> Benchmark:
        return BENCHMARKS[self.benchmark.removesuffix(" demo")]

    @property
    def is_demo(self) -> bool:
        return self.benchmark.endswith(" demo")

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
    def draw(self) -> Draw | None:
        """The draw of contexts that the runs are of; none if all tasks were meant."""
        return draw_of(self.logs)

    @cached_property
    def gaps(self) -> tuple[str, ...]:
        """What is missing for a complete set of runs, in words; nothing if complete."""
        return tuple(_gaps(self))


@dataclass(frozen=True)
class _Key:
    """What logs must have in common to be runs of one series."""

    model: str
    effort: str
    judge: str
    judge_prompt: str
    judge_prompt_sha256: str
    version: str
    again: int


def load_series(
    paths: Paths, read: Callable[[Log], Iterable[Record]] = read_records
) -> list[Series]:
    """Read logs and sort them into series, in the order of their first log.

    Parts of a run with disjoint tasks are put together; logs of the same tasks are
    further runs; anything between is an error. Of several copies of a log that the
    same judge scored, the one written last counts.

    Args:
        paths: Log files, folders or URLs.
        read: How the records of a log are read; from its summaries when not given.
    """
    logs = sorted(find_logs(paths), key=lambda log: (log.header.eval.created, log.modified))
    check_one_benchmark(logs)
    grouped: defaultdict[_Key, dict[str, tuple[Log, list[Record]]]] = defaultdict(dict)
    with progress("Reading logs", len(logs)) as advance:
        for log in logs:
            for key, records in _by_judge(log, read(log)):
                # A later copy of the same eval takes the place of an earlier one.
                grouped[key][log.header.eval.eval_id] = (log, records)
            advance(str(log))
    found = [_series(key, list(parts.values())) for key, parts in grouped.items()]
    if not found:
        names = ", ".join(str(log) for log in logs)
        raise ClbenchError(f"{names}: no sample in it. Complete it with: inspect eval-retry")
    return found


def check_one_benchmark(logs: Sequence[Log]) -> None:
    """Refuse logs that cannot share a table because their datasets differ."""
    names = sorted({log.benchmark for log in logs})
    if len(names) > 1:
        examples = "; ".join(
            f"{name or 'unnamed'}: {next(log for log in logs if log.benchmark == name)}"
            for name in names
        )
        raise ClbenchError(
            f"These logs belong to different datasets and cannot share a table ({examples}). "
            "Name the logs of one of them."
        )
    if names[0].removesuffix(" demo") not in BENCHMARKS:
        raise ClbenchError(f"{logs[0]}: the log does not say which dataset it is of.")


def _by_judge(log: Log, read: Iterable[Record]) -> Iterator[tuple[_Key, list[Record]]]:
    by_scorer: defaultdict[str, list[Record]] = defaultdict(list)
    for record in read:
        by_scorer[record.scorer].append(record)
    seen: Counter[tuple[str, ...]] = Counter()
    for records in by_scorer.values():
        judge = _judge_of(log, records)
        version = str(log.header.eval.task_version)
        yield _Key(log.model, log.effort, *judge, version, seen[judge]), records
        seen[judge] += 1


def _judge_of(log: Log, records: Sequence[Record]) -> tuple[str, str, str]:
    """The judge's name, and the name and hash of its prompt, as most rows have them."""
    judges = Counter(record.judge for record in records if record.judge)
    prompts = Counter(
        (r.judge_prompt, r.judge_prompt_sha256) for r in records if r.judge_prompt
    )
    judge = judges.most_common(1)[0][0] if judges else _role_of(log)
    prompt = prompts.most_common(1)[0][0] if prompts else ("", "")
    return (judge, *prompt)


def _role_of(log: Log) -> str:
    """The judge that was to judge, for a log where it had nothing to do."""
    bound = (log.header.eval.model_roles or {}).get("grader")
    models = bound if isinstance(bound, list) else [bound] if bound else []
    return ", ".join(model.model for model in models)


def _series(key: _Key, parts: list[tuple[Log, list[Record]]]) -> Series:
    return Series(
        model=key.model,
        effort=key.effort,
        judge=key.judge,
        judge_prompt=key.judge_prompt,
        benchmark=parts[0][0].benchmark,
        logs=tuple(log for log, _ in parts),
        records=tuple(numbered_runs(parts)),
        again=key.again,
        judge_prompt_sha256=key.judge_prompt_sha256,
    )


def _gaps(series: Series) -> Iterator[str]:
    by_run = Counter(record.run for record in series.records)
    errored = sum(record.outcome == "errored" for record in series.records)
    if errored:
        found = counted(errored, "answer")
        yield f"{found} missing after errors (inspect eval-retry completes the run)"
    held = [tasks_of(log, series.records) for log in series.logs]
    full = len(set().union(*held))
    for run, count in sorted(by_run.items()):
        if count < full:
            yield f"run {run} has {count:,} of {full:,} tasks"
    # All runs are of the same tasks, so any task tells how many runs there should be.
    task = next(iter(held[0]))
    runs = sum(log.epochs for log, ids in zip(series.logs, held, strict=True) if task in ids)
    if len(by_run) < runs:
        yield f"{runs - len(by_run)} of {runs} runs not begun"
    if series.draw and full < series.draw.drawn_tasks:
        yield f"{full:,} of the {series.draw.drawn_tasks:,} tasks that were drawn"
    if series.draw is None:
        yield from _missing_tasks(series, full)
    elif not series.is_demo and series.draw.tasks < series.taxonomy.tasks:
        yield f"drawn from {series.draw.tasks:,} of {series.taxonomy.tasks:,} tasks only"
    for words, logs in (
        ("cancelled", [g for g in series.logs if g.header.status == "cancelled"]),
        # Without an error of the run itself, only samples of it failed.
        ("ended by an error", [g for g in series.logs if g.header.error is not None]),
        ("holds samples marked as invalid", [g for g in series.logs if g.header.invalidated]),
    ):
        if logs:
            yield f"{words}: {', '.join(str(log) for log in logs)}"


def _missing_tasks(series: Series, held: int) -> Iterator[str]:
    known = chosen_from(series.logs) if series.is_demo else series.taxonomy.tasks
    missing = holes(series.logs, series.taxonomy, {r.sub_category for r in series.records})
    words = f" (missing: {', '.join(missing)})" if missing else ""
    if known is None and missing:
        yield f"{counted(held, 'task')}{words}"
    elif known is not None and held < known:
        yield f"{held:,} of {known:,} tasks{words}"
