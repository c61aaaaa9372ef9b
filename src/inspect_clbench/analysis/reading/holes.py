"""What the parts of a split run leave out, named so that it can be run."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from inspect_clbench.analysis.reading.logs import Log
from inspect_clbench.taxonomy import Benchmark

# The arguments of a task that choose what --limit counts, or in which order. Not the
# dataset: each machine may have its copy in another place.
_CHOICE = ("category", "sub_category", "cache_order")

_SHOWN = 5


def holes(logs: Sequence[Log], benchmark: Benchmark, found: Collection[str]) -> list[str]:
    """The categories and the ranges of --limit that no log is of.

    Args:
        logs: The parts.
        benchmark: Whose tasks they are parts of.
        found: The sub-categories that they have tasks of.
    """
    named = [*_categories(logs, benchmark, found), *_ranges(logs)]
    more = [f"{len(named) - _SHOWN} more"] if len(named) > _SHOWN else []
    return named[:_SHOWN] + more


def chosen_from(logs: Sequence[Log]) -> int | None:
    """How many tasks there are, by the parts that say so; none if each is of a choice."""
    whole = [log for log in logs if not _argument(log, "category", "sub_category")]
    return max((log.header.eval.dataset.samples or 0 for log in whole), default=0) or None


def _argument(log: Log, *names: str) -> str:
    """What a log's task was given for some arguments, in words; empty if nothing."""
    values = [log.header.eval.task_args.get(name) for name in names]
    lists = [value if isinstance(value, list) else [value] for value in values if value]
    return ", ".join(str(one) for several in lists for one in several)


def _categories(
    logs: Sequence[Log], benchmark: Benchmark, found: Collection[str]
) -> Iterator[str]:
    if all(_argument(log, "category") for log in logs):
        for name, parts in benchmark.groups.items():
            if not set(parts) & set(found):
                yield name
    if all(_argument(log, "sub_category") for log in logs):
        yield from (name for name in benchmark.sub_categories if name not in found)


def _ranges(logs: Sequence[Log]) -> Iterator[str]:
    choices: defaultdict[str, list[Log]] = defaultdict(list)
    for log in logs:
        arguments = log.header.eval.task_args
        key = json.dumps([arguments.get(name) for name in _CHOICE], default=str)
        choices[key].append(log)
    for parts in choices.values():
        of = _argument(parts[0], "category", "sub_category")
        for first, last in _uncovered(parts):
            yield f"--limit {first + 1}-{last}" + (f" of {of}" if of else "")


def _uncovered(logs: Sequence[Log]) -> Iterator[tuple[int, int]]:
    """The stretches of the samples' order that no log is of."""
    ranges = []
    for log in logs:
        config, dataset = log.header.eval.config, log.header.eval.dataset
        if config.sample_id or config.sample_shuffle or dataset.shuffled:
            return  # chosen otherwise: the numbers say nothing
        limit = config.limit
        everything = dataset.samples or 0
        first, last = limit if isinstance(limit, tuple) else (0, limit or everything)
        ranges.append((max(first, 0), last))
    end = max(log.header.eval.dataset.samples or 0 for log in logs)
    reached = 0
    for first, last in sorted(ranges):
        if first > reached:
            yield reached, min(first, end)
        reached = max(reached, last)
    if reached < end:
        yield reached, end
