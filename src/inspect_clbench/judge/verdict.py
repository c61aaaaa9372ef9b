"""A judge's reply becomes a verdict, or a named failure. Pure and total: no text makes it raise."""

import math
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inspect_clbench.judge.replies import (
    Failure,
    Source,
    Wanted,
    as_text,
    find_record,
    shortened,
)

SCORE_KEY = "Overall Score"
STATUS_KEY = "List of Requirement Satisfaction Status"
RATIONALE_KEY = "Grading Rationale"

_WANTED = Wanted(
    key=SCORE_KEY,
    name="overall scores",
    none="no_verdict",
    several="several_verdicts",
    quoted="quoted_verdict",
)

# How judges write a status, from the clearest to the least clear. A list has none.
_STATUS_WORDS = (
    re.compile(r"[^\w\[]*(yes|no|true|false)\W*$", re.IGNORECASE),
    re.compile(r"[^\w\[]*(yes|no|not|true|false)\b(?! applicable)", re.IGNORECASE),
    re.compile(r"[^:\[]*:\W*(yes|no|true|false)\W*$", re.IGNORECASE),
)


@dataclass(frozen=True)
class Verdict:
    """What the judge decided about one answer."""

    solved: bool
    rationale: str
    requirement_status: tuple[Any, ...]
    """The status list as the judge wrote it."""

    source: Source

    @cached_property
    def status(self) -> str:
        """One letter per entry of the status list: y, n, or ? for neither."""
        return "".join(_status_letter(entry) for entry in self.requirement_status)

    @property
    def inconsistent(self) -> bool:
        """Whether the status list contradicts the overall score, which decides."""
        status = self.status
        if self.solved:
            return "n" in status
        return bool(status) and set(status) == {"y"}


def parse_verdict(reply: str, *, cut_off: bool = False, answer: str = "") -> Verdict | Failure:
    """Read a judge's reply: the one JSON object with an overall score in it.

    Args:
        reply: The reply's text, without reasoning.
        cut_off: Whether the reply ended at a length limit.
        answer: The graded answer, to tell a verdict from a quotation of it.
    """
    found = find_record(reply, _WANTED, cut_off=cut_off, answer=answer)
    return found if isinstance(found, Failure) else _verdict(*found)


def _verdict(record: dict[str, Any], source: Source) -> Verdict | Failure:
    solved = _solved(record[SCORE_KEY])
    if solved is None:
        return Failure("bad_score", shortened(as_text(record[SCORE_KEY])))
    status = record.get(STATUS_KEY)
    if isinstance(status, dict):  # {"1": "yes", ...} instead of a list
        status = list(status.values())
    rationale = record.get(RATIONALE_KEY)
    return Verdict(
        solved=solved,
        rationale="" if rationale is None else as_text(rationale),
        requirement_status=tuple(map(_as_entry, status)) if isinstance(status, list) else (),
        source=source,
    )


def _solved(score: Any) -> bool | None:
    if isinstance(score, str):
        return {"0": False, "1": True}.get(score)
    if isinstance(score, int | float) and score in (0, 1):
        return bool(score)
    return None


def _status_letter(entry: Any) -> str:
    # Some judges write {"requirement": "...", "status": "yes"} for each.
    parts = list(entry.values()) if isinstance(entry, dict) else [entry]
    for pattern in _STATUS_WORDS:
        letters = {letter for part in parts if (letter := _letter(part, pattern))}
        if len(letters) == 1:
            return letters.pop()
    return "?"


def _letter(status: Any, pattern: re.Pattern[str]) -> str | None:
    if isinstance(status, bool):
        return "y" if status else "n"
    if isinstance(status, str) and (match := pattern.match(status)):
        return "y" if match[1].lower() in ("yes", "true") else "n"
    return None


def _as_entry(value: Any) -> Any:
    """An entry of the status list in a shape that every log and table can hold."""
    if isinstance(value, dict):
        return {as_text(key): _as_scalar(part) for key, part in value.items()}
    return _as_scalar(value)


def _as_scalar(value: Any) -> Any:
    if value is None or isinstance(value, int):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return as_text(value)
