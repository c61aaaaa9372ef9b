"""Which logs are of drawn contexts only, and how these were drawn."""

from collections.abc import Sequence

from inspect_clbench.analysis.reading.logs import Log
from inspect_clbench.errors import ClbenchError
from inspect_clbench.sampling import Draw


def draw_of(logs: Sequence[Log]) -> Draw | None:
    """The draw that logs of one series were made with; none if all tasks were meant."""
    draws = [_draw(log) for log in logs]
    for log, draw in zip(logs, draws, strict=True):
        if draw != draws[0]:
            raise ClbenchError(
                f"{logs[0]} and {log}: made with different draws of contexts (-T contexts, "
                "seed, category). Name the logs of one draw."
            )
    return draws[0] if draws else None


def _draw(log: Log) -> Draw | None:
    found = (log.header.eval.metadata or {}).get("draw")
    return Draw.model_validate(found) if found else None
