"""The one JSON object that a judge was asked for, found in its reply, or a named failure.

Pure and total: no text makes it raise, because replies hold anything.
"""

import html
import json
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from inspect_clbench.text import shortened

FailureKind = Literal[
    "call_failed",  # no reply: the request failed after its retries
    "timeout",  # no reply within the time limit of an attempt
    "empty_reply",  # a reply without text
    "cut_off",  # the reply ended at a length limit
    "refused",  # the judge's provider or the judge declined
    "no_verdict",  # no JSON object with an overall score
    "several_verdicts",  # more than one overall score
    "quoted_verdict",  # such an object amid words, about an answer or rubric with one too
    "unclear_reply",  # an object amid words that may say something else
    "bad_score",  # an overall score other than 0 or 1
    "no_labels",  # of error types: no JSON object with all four of them
    "several_labels",  # more than one such object
    "quoted_labels",  # such an object amid words, about an answer or rubric with one too
    "bad_label",  # a type that is neither yes nor no
    "recorded",  # of an imported row: what the graded file says
]

# Where an object may start. Each start before a key can cost a scan of the whole
# reply, so the search for the object around the key ends after so many characters.
_OBJECT_START = re.compile(r'\{\s*"')
_MOST_SCANNED = 10_000_000

# How much of a reply a failure quotes.
MOST_SHOWN = 120

_FENCE = re.compile(r"```+\s*(?:json\b)?", re.IGNORECASE)
# What may follow the object: ends of fences, sentences and emphasis. No end of another
# object or list: what else is in that may say something else.
_NOTHING = re.compile(r"""[\s`*_.,;!)>"'|\ufeff-]*""")
_TAG = re.compile(r"</?[a-zA-Z][^<>]{0,200}>")
_ESCAPE = re.compile(r"\\u([0-9a-fA-F]{4})")
_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

Source = Literal["strict", "recovered"]
"""`strict`: the original parser reads the reply too; `recovered`: only ours does."""


@dataclass(frozen=True)
class Failure:
    """Why there is no verdict."""

    kind: FailureKind
    detail: str = ""

    def __str__(self) -> str:
        if self.kind == "recorded":
            return self.detail
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


class Wanted(NamedTuple):
    """A kind of object: the key that tells it, what several are called, how absence is named."""

    key: str
    name: str
    none: FailureKind
    several: FailureKind
    quoted: FailureKind


class Found(NamedTuple):
    """The object, how it was found, and the words before it."""

    record: dict[str, Any]
    source: Source
    before: str = ""


def find_record(
    reply: str, wanted: Wanted, *, cut_off: bool, material: Sequence[str]
) -> Found | Failure:
    """Find the object in a reply, and say how it was found.

    First as the original script does: fences dropped, the whole reply one JSON object.
    Where that finds none, an object amid words will do only if it can be nothing but the
    judge's own: the one place with the key, even counting damaged objects; the judge's
    last word, so that nothing after it takes it back; and about `material` (answer and
    rubrics) that does not have the key in any dress, so that it quotes nobody.
    """
    if not reply.strip():
        return Failure("cut_off" if cut_off else "empty_reply")
    try:
        whole = json.loads(_unfenced(reply))
    except (ValueError, RecursionError):
        whole = None
    if isinstance(whole, dict) and wanted.key in whole:
        return Found(whole, "strict")
    if cut_off:
        return Failure("cut_off", shortened(reply, MOST_SHOWN, tail=True))
    # A quotation inside a JSON string has its quotes escaped and is no match.
    places = list(re.finditer(rf'[{{,]\s*"{re.escape(wanted.key)}"\s*:', reply))
    if len(places) > 1:
        return Failure(wanted.several, f"{len(places)} {wanted.name} in one reply")
    found = _object_around(reply, places[0], wanted.key) if places else None
    if found is None:
        return Failure(wanted.none, shortened(reply, MOST_SHOWN))
    record, start, end = found
    before = _FENCE.sub(" ", reply[:start])
    if not _NOTHING.fullmatch(reply, end):
        return Failure("unclear_reply", "words after it: " + shortened(reply[end:], MOST_SHOWN))
    if _letters(before) and any(_has_key(text, wanted.key) for text in material):
        return Failure(wanted.quoted, shortened(reply[start:end], MOST_SHOWN))
    return Found(record, "recovered", before)


def _unfenced(reply: str) -> str:
    text = reply.strip()
    fence = "```json" if text.startswith("```json") else "```"
    return text.removeprefix(fence).removesuffix("```")


def _object_around(
    reply: str, place: re.Match[str], key: str
) -> tuple[dict[str, Any], int, int] | None:
    """The JSON object that holds a key at a place of the reply, with its start and end."""
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
                return (record, start, end) if key in record else None
            scanned += end - start
        if scanned > _MOST_SCANNED:
            break
    return None


def undressed(text: str) -> str:
    """Text in lower case without accents, entities and escapes: what a quotation may change."""
    text = _ESCAPE.sub(lambda match: chr(int(match[1], 16)), html.unescape(html.unescape(text)))
    plain = {ord(char): _plain(char) for char in set(text) if char > "\x7f"}
    return text.translate(plain).casefold()


def _plain(char: str) -> str:
    # One by one: ordering a million accents on one letter would take hours. And not all
    # of those characters that stand for a sentence.
    digit = unicodedata.decimal(char, None)
    return unicodedata.normalize("NFKD", char)[:3] if digit is None else str(digit)


def _letters(text: str) -> str:
    # Without quotes, space, markup and what is invisible.
    return re.sub(r"[\W_]+", "", undressed(text))


def _has_key(text: str, key: str) -> bool:
    return any(_letters(key) in _letters(part) for part in (text, _TAG.sub("", text)))


def as_text(value: Any) -> str:
    """A value as text that every log and table can hold."""
    if not isinstance(value, str):
        try:
            value = json.dumps(value, ensure_ascii=False)
        except RecursionError:
            return "(nested too deeply)"
    return _LONE_SURROGATE.sub("\ufffd", value)


def yes_or_no(value: Any, pattern: re.Pattern[str]) -> bool | None:
    """What a boolean says, or a text in the first group of a pattern; else None."""
    if isinstance(value, bool):
        return value
    match = pattern.match(value) if isinstance(value, str) else None
    return match[1].lower() in ("yes", "true") if match else None
