"""From a judge's reply to a verdict, or to the reason why there is none. No text makes it raise."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, TypeVar

from inspect_clbench.text import redacted, shortened

SCORE = "Overall Score"
STATUS = "List of Requirement Satisfaction Status"
RATIONALE = "Grading Rationale"

Reason = Literal[
    "call_failed",  # no reply: the request failed after its retries
    "timeout",  # no reply within the time limit of an attempt
    "empty_reply",  # a reply without text
    "cut_off",  # the reply ended at a length limit, or the request was too long
    "refused",  # the judge, or its provider in its place, declined
    "no_verdict",  # not one JSON object with an overall score
    "bad_score",  # an overall score other than 0 or 1
    "no_labels",  # not one JSON object with all error types
    "bad_label",  # an error type that is neither there nor not there
]

_SOLVED = {0: False, 1: True, "0": False, "1": True}  # a float and a boolean equal their number
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")
# Alone, or followed by a reason: "No, the date is missing". Not the first word of a sentence.
_STATUS = re.compile(r"\W*(?:(yes|true)|(no|false))(?:\W*$|\s*[-–—,.:;(])", re.IGNORECASE)

T = TypeVar("T")


@dataclass(frozen=True)
class Failure:
    """Why a judge gave no verdict, and what shows it: words of the judge or its provider, without keys."""

    reason: Reason
    detail: str = ""

    def __post_init__(self) -> None:
        # Short enough for a log's summaries, also those of a panel.
        object.__setattr__(self, "detail", shortened(redacted(self.detail[:10_000]), 200))

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


@dataclass(frozen=True)
class Verdict:
    """What the judge decided about one answer."""

    solved: bool
    rationale: str
    status: str
    """A letter per rubric: y (met), n (not met) or ? (the judge wrote something else)."""

    @property
    def is_inconsistent(self) -> bool:
        """Whether the status list contradicts the score, which decides."""
        met = bool(self.status) and set(self.status) == {"y"}
        return "n" in self.status if self.solved else met


def parse_verdict(reply: str, cut_off: bool = False) -> Verdict | Failure:
    """Read a reply as the original script does: one JSON object, perhaps in a code fence.

    Unlike the original it reads raw line breaks in the rationale, and no score that stands
    there twice.

    Args:
        reply: The text of the judge's reply.
        cut_off: Whether it ended at a length limit.
    """
    return parse_object(reply, _read_verdict, "no_verdict", cut_off)


def parse_object(
    reply: str, read: Callable[[dict[str, Any]], T | Failure | None], missing: Reason, cut_off: bool = False
) -> T | Failure:
    """Read a reply that is one JSON object and nothing else.

    A reply with anything around the object is asked for again: words beside it may take it
    back, or introduce what the answer planted.

    Args:
        reply: The text of the reply.
        read: Makes of the object what was asked for, or a failure, or None where it is another object.
        missing: The reason where the reply is no such object.
        cut_off: Whether the reply ended at a length limit.
    """
    if not reply.strip():
        return Failure("cut_off" if cut_off else "empty_reply")
    try:
        record = json.loads(_without_fence(reply), strict=False, object_pairs_hook=_without_repeats)
        result = read(record) if isinstance(record, dict) else None
    except (ValueError, RecursionError):  # also of numbers and lists that are longer than Python takes
        result = None
    if result is None:
        return Failure("cut_off" if cut_off else missing, reply)
    return result


def _read_verdict(record: dict[str, Any]) -> Verdict | Failure | None:
    if SCORE not in record:
        return None
    score, status = record[SCORE], record.get(STATUS)
    if not isinstance(score, str | int | float) or score not in _SOLVED:
        return Failure("bad_score", str(score))
    return Verdict(
        solved=_SOLVED[score],
        # Half a character, which JSON can hold, fits into no log.
        rationale=_LONE_SURROGATE.sub("\ufffd", str(record.get(RATIONALE) or "")),
        status="".join(map(_letter, status)) if isinstance(status, list) else "",
    )


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        raise ValueError("a key that stands there twice")
    return record


def _without_fence(reply: str) -> str:
    text = reply.strip()
    fence = text[:7] if text[:7].lower() == "```json" else "```"
    return text.removeprefix(fence).removesuffix("```")


def _letter(status: Any) -> str:
    match = _STATUS.match(str(status)) if isinstance(status, str | bool) else None
    return "?" if match is None else "y" if match[1] else "n"
