"""What a set of runs lacks, in words that say how to complete it."""

import json
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.selection import ContextDraw
from inspect_clbench.text import counted, some

if TYPE_CHECKING:
    from inspect_clbench.logs.answers import Answer
    from inspect_clbench.logs.files import Log

# The arguments of a task that choose what --limit counts, or in which order. Not the
# dataset: each machine may have its copy in another place.
_CHOICE = ("category", "sub_category", "cache_order")
_SHOWN = 5


def gaps(
    logs: Sequence["Log"], answers: Sequence["Answer"], draw: ContextDraw | None
) -> Iterator[str]:
    """What is missing for a complete set of runs; nothing if complete."""
    benchmark, is_demo = logs[0].benchmark, logs[0].is_demo
    by_run = Counter(answer.run for answer in answers)
    errored = sum(answer.outcome == "errored" for answer in answers)
    if errored:
        found = counted(errored, "answer")
        yield f"{found} missing after errors (inspect eval-retry completes the run)"
    present = {answer.task_id for answer in answers}
    held = [log.task_ids or present for log in logs]
    full = len(set().union(*held))
    for run, count in sorted(by_run.items()):
        if count < full:
            yield f"run {run} has {count:,} of {full:,} tasks"
    # All runs are of the same tasks, so any task tells how many runs there should be.
    task = next(iter(held[0]))
    runs = sum(log.epochs for log, ids in zip(logs, held, strict=True) if task in ids)
    if len(by_run) < runs:
        yield f"{runs - len(by_run)} of {runs} runs not begun"
    if draw is None:
        yield from _missing_tasks(logs, benchmark, is_demo, full, answers)
    else:
        if full < draw.drawn_tasks:
            yield f"{full:,} of the {draw.drawn_tasks:,} tasks that were drawn"
        if not is_demo and draw.tasks < benchmark.tasks:
            yield f"drawn from {draw.tasks:,} of {benchmark.tasks:,} tasks only"
    for words, marked in (
        ("cancelled", [log for log in logs if log.header.status == "cancelled"]),
        # Without an error of the run itself, only samples of it failed.
        ("ended by an error", [log for log in logs if log.header.error is not None]),
        ("holds samples marked as invalid", [log for log in logs if log.header.invalidated]),
    ):
        if marked:
            yield f"{words}: {', '.join(str(log) for log in marked)}"


def _missing_tasks(
    logs: Sequence["Log"],
    benchmark: Benchmark,
    is_demo: bool,
    held: int,
    answers: Sequence["Answer"],
) -> Iterator[str]:
    whole = [log for log in logs if not _argument(log, "category", "sub_category")]
    chosen_from = max((log.header.eval.dataset.samples or 0 for log in whole), default=0)
    known = chosen_from if is_demo or not benchmark.tasks else benchmark.tasks
    found = {answer.sub_category for answer in answers}
    missing = [*_missing_categories(logs, benchmark, found), *_missing_ranges(logs)]
    words = f" (missing: {some(missing, _SHOWN)})" if missing else ""
    if not known and missing:
        yield f"{counted(held, 'task')}{words}"
    elif held < known:
        yield f"{held:,} of {known:,} tasks{words}"


def _argument(log: "Log", *names: str) -> str:
    """What a log's task was given for some arguments, in words; empty if nothing."""
    values = [log.header.eval.task_args.get(name) for name in names]
    lists = [value if isinstance(value, list) else [value] for value in values if value]
    return ", ".join(str(one) for several in lists for one in several)


def _missing_categories(
    logs: Sequence["Log"], benchmark: Benchmark, found: Collection[str]
) -> Iterator[str]:
    if all(_argument(log, "category") for log in logs):
        for name, parts in benchmark.groups.items():
            if not set(parts) & set(found):
                yield name
    if all(_argument(log, "sub_category") for log in logs):
        yield from (name for name in benchmark.sub_categories if name not in found)


def _missing_ranges(logs: Sequence["Log"]) -> Iterator[str]:
    choices: defaultdict[str, list[Log]] = defaultdict(list)
    for log in logs:
        arguments = log.header.eval.task_args
        key = json.dumps([arguments.get(name) for name in _CHOICE], default=str)
        choices[key].append(log)
    for parts in choices.values():
        of = _argument(parts[0], "category", "sub_category")
        for first, last in _uncovered(parts):
            yield f"--limit {first + 1}-{last}" + (f" of {of}" if of else "")


def _uncovered(logs: Sequence["Log"]) -> Iterator[tuple[int, int]]:
    """The stretches of the samples' order that no log is of."""
    ranges = []
    end = max(log.header.eval.dataset.samples or 0 for log in logs)
    for log in logs:
        config, dataset = log.header.eval.config, log.header.eval.dataset
        if config.sample_id or config.sample_shuffle or dataset.shuffled:
            return  # chosen otherwise: the numbers say nothing
        limit = config.limit
        first, last = limit if isinstance(limit, tuple) else (0, limit or dataset.samples or 0)
        ranges.append((max(first, 0), last))
    reached = 0
    for first, last in sorted(ranges):
        if first > reached:
            yield reached, min(first, end)
        reached = max(reached, last)
    if reached < end:
        yield reached, end
