"""Records that know where they came from, for those who must read the sample itself."""

from collections.abc import Iterator
from dataclasses import dataclass, fields
from typing import Any

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.reading.records import Log, Record, read_records, read_sample
from inspect_clbench.errors import ClbenchError


@dataclass(frozen=True, slots=True)
class LocatedRecord(Record):
    """A record with its log. Its `run` may be numbered through several logs."""

    log: Log | None = None
    epoch: int = 0
    """The run within the log."""

    def sample(self) -> EvalSample:
        """The whole sample, without its events."""
        assert self.log is not None  # only the base class needs a default
        found = read_sample(self.log, self.task_id, self.epoch)
        if found is None:
            raise ClbenchError(
                f"{self.log}: task {self.task_id}, run {self.epoch} is not in it any more. "
                "Was the log written anew meanwhile? Start again."
            )
        return found


def read_located(log: Log) -> Iterator[LocatedRecord]:
    """The records of a log, as `read_records` gives them."""
    return (
        LocatedRecord(**fields_of(record), log=log, epoch=record.run)
        for record in read_records(log)
    )


def fields_of(record: Record) -> dict[str, Any]:
    """A record's fields by name, to make one of a subclass from."""
    return {field.name: getattr(record, field.name) for field in fields(record)}
