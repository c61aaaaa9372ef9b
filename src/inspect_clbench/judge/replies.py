"""The one JSON object that a reply was asked for. Pure and total: no text makes it raise."""

import json
import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

FailureKind = Literal[
    "call_failed",  # no reply: the request failed after its retries
    "timeout",  # no reply within the time limit of an attempt
    "empty_reply",  # a reply without text
    "cut_off",  # the reply ended at a length limit
    "refused",  # the judge's provider or the judge declined
    "no_verdict",  # no JSON object with an overall score
    "several_verdicts",  # more than one overall score
    "quoted_verdict",  # the only such object is copied from the graded answer
    "bad_score",  # an overall score other than 0 or 1
    "no_labels",  # of error types: no JSON object with all four of them
    "several_labels",  # more than one such object
    "quoted_labels",  # the only one is copied from the graded answer
    "bad_label",  # a type that is neither yes nor no
]

# Where an object may start. Each start before a key can cost a scan of the whole
# reply, so the search for the object around the key ends after so many characters.
_OBJECT_START = re.compile(r'\{\s*"')
_MOST_SCANNED = 10_000_000

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

Source = Literal["strict", "recovered"]
"""`strict`: the original parser reads the reply too; `recovered`: only ours does."""


@dataclass(frozen=True)
class Failure:
    """Why there is no verdict."""

    kind: FailureKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


@dataclass(frozen=True)
class Wanted:
    """A kind of object: the key that tells it, and how its absence is called."""

    key: str
    name: str
    """What several of them are called."""

    none: FailureKind
    several: FailureKind
    quoted: FailureKind

    @cached_property
    def place(self) -> re.Pattern[str]:
        """Where an object holds the key.

        A quotation inside a JSON string has its quotes escaped and is no match.
        """
        return re.compile(rf'[{{,]\s*"{re.escape(self.key)}"\s*:')


def find_record(
    reply: str, wanted: Wanted, *, cut_off: bool, answer: str
) -> tuple[dict[str, Any], Source] | Failure:
    """Find the object in a reply, and say how it was found.

    First as the original script does: fences dropped, the whole reply one JSON
    object. Where that finds none, exactly one such object anywhere in the reply will
    do. The key a second time, even in a damaged object, makes the reply ambiguous.

    Args:
        reply: The reply's text, without reasoning.
        wanted: The kind of object.
        cut_off: Whether the reply ended at a length limit. A reply that is one
            whole JSON object is complete all the same; nothing is recovered
            from others.
        answer: The answer that the reply is about. A recovered object that stands in it
            is a quotation.
    """
    if not reply.strip():
        return Failure("cut_off" if cut_off else "empty_reply")
    whole = _load_json(_unfenced(reply))
    if isinstance(whole, dict) and wanted.key in whole:
        return whole, "strict"
    if cut_off:
        return Failure("cut_off", shortened(reply, tail=True))
    places = list(wanted.place.finditer(reply))
    if len(places) > 1:
        return Failure(wanted.several, f"{len(places)} {wanted.name} in one reply")
    found = _object_around(reply, places[0], wanted.key) if places else None
    if found is None:
        return Failure(wanted.none, shortened(reply))
    record, text = found
    if _squeezed(text) in _squeezed(answer):
        return Failure(wanted.quoted, shortened(text))
    return record, "recovered"


def _unfenced(reply: str) -> str:
    """The reply without the code fence around it."""
    text = reply.strip()
    if text.startswith("```json"):
        text = text[len("```json") :]
    elif text.startswith("```"):
        text = text[len("```") :]
    if text.endswith("```"):
        text = text[: -len("```")]
    return text


def _load_json(text: str) -> Any:
    """The value that a text is the JSON of; none where it is not."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _object_around(
    reply: str, place: re.Match[str], key: str
) -> tuple[dict[str, Any], str] | None:
    """The JSON object that holds a key at a place of the reply, with its source text."""
    decoder = json.JSONDecoder(strict=False)  # raw newlines in strings are fine
    starts = [m.start() for m in _OBJECT_START.finditer(reply, 0, place.end())]
    scanned = 0
    for start in reversed(starts):  # the innermost comes first
        try:
            record, end = decoder.raw_decode(reply, start)
        except (ValueError, RecursionError):
            scanned += len(reply)
        else:
            if end > place.start():
                return (record, reply[start:end]) if key in record else None
            scanned += end - start
        if scanned > _MOST_SCANNED:
            break
    return None


def _squeezed(text: str) -> str:
    """Text without what changes when something is quoted: space and escapes."""
    return re.sub(r"[\s\\]+", "", text)


def as_text(value: Any) -> str:
    """A value as text that every log and table can hold."""
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except RecursionError:
            return "(nested too deeply)"
    return _LONE_SURROGATE.sub("\ufffd", value)


def shortened(text: str, *, tail: bool = False, most: int = 120) -> str:
    """The beginning of a text, or its end, on one line."""
    folded = _LONE_SURROGATE.sub("\ufffd", " ".join(text.split()))
    if len(folded) <= most:
        return folded
    return "…" + folded[-most:] if tail else folded[:most] + "…"
