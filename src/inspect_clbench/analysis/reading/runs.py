"""How several logs make up the runs of one series: parts of a run, and further runs."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from inspect_clbench.analysis.reading.logs import Log
from inspect_clbench.analysis.reading.records import Record
from inspect_clbench.errors import ClbenchError

Part = tuple[Log, Sequence[Record]]


@dataclass
class _Block:
    """Logs that hold disjoint parts of the same runs."""

    first_run: int
    epochs: int
    owners: dict[str, Log]
    """Which log holds which task."""


def numbered_runs(parts: Sequence[Part]) -> Iterable[Record]:
    """The records of several logs, their runs numbered through.

    Logs with disjoint tasks and as many epochs are parts of the same runs; a log of
    tasks that are there already holds further runs. In the end all runs must be of
    the same tasks.
    """
    blocks: list[_Block] = []
    numbered: list[Record] = []
    for log, records in parts:
        ids = tasks_of(log, records)
        block = _block_for(log, ids, blocks)
        block.owners.update(dict.fromkeys(ids, log))
        numbered += (replace(r, run=block.first_run + r.run) for r in records)
    for block in blocks[1:]:
        if block.owners.keys() != blocks[0].owners.keys():
            raise _do_not_fit(blocks[0], block)
    return numbered


def tasks_of(log: Log, records: Sequence[Record]) -> set[str]:
    """The tasks that a log was to hold, or holds where it does not say."""
    return set(log.task_ids) or {record.task_id for record in records}


def _block_for(log: Log, ids: set[str], blocks: list[_Block]) -> _Block:
    for block in blocks:
        if log.epochs == block.epochs and not ids & block.owners.keys():
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
