"""A judge's reply becomes a verdict, or a named failure. Pure and total: no text makes it raise."""

import json
import math
import re
from dataclasses import dataclass
from typing import Any, Literal

SCORE_KEY = "Overall Score"
STATUS_KEY = "List of Requirement Satisfaction Status"
RATIONALE_KEY = "Grading Rationale"

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

# Where an object holds the overall score. A quotation inside a JSON string has its
# quotes escaped and is no match.
_SCORE_IN_OBJECT = re.compile(rf'[{{,]\s*"{SCORE_KEY}"\s*:')

# Where an object may start. Each start before a score can cost a scan of the whole
# reply, so the search for the object around the score ends after so many characters.
_OBJECT_START = re.compile(r'\{\s*"')
_MOST_SCANNED = 10_000_000

_LONE_SURROGATE = re.compile(r"[\ud800-\udfff]")

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

    source: Literal["strict", "recovered"]
    """`strict`: the original parser reads it too; `recovered`: only ours does."""

    @property
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


@dataclass(frozen=True)
class Failure:
    """Why there is no verdict."""

    kind: FailureKind
    detail: str = ""

    def __str__(self) -> str:
        return f"{self.kind}: {self.detail}" if self.detail else self.kind


def parse_verdict(reply: str, *, cut_off: bool = False, answer: str = "") -> Verdict | Failure:
    """Read a judge's reply.

    First as the original script does: fences dropped, the whole reply one JSON
    object. Where that finds no verdict, exactly one JSON object with an overall
    score anywhere in the reply will do. A second score, even in a damaged object,
    makes the reply ambiguous.

    Args:
        reply: The reply's text, without reasoning.
        cut_off: Whether the reply ended at a length limit. A reply that is one
            whole JSON object is complete all the same; nothing is recovered
            from others.
        answer: The graded answer. A recovered object that stands in it is the judge
            quoting the answer, not judging it.
    """
    if not reply.strip():
        return Failure("cut_off" if cut_off else "empty_reply")
    whole = load_json(unfenced(reply))
    if isinstance(whole, dict) and SCORE_KEY in whole:
        return _verdict(whole, "strict")
    if cut_off:
        return Failure("cut_off", shortened(reply, tail=True))
    scores = list(_SCORE_IN_OBJECT.finditer(reply))
    if len(scores) > 1:
        return Failure("several_verdicts", f"{len(scores)} overall scores in one reply")
    found = object_around(reply, scores[0], SCORE_KEY) if scores else None
    if found is None:
        return Failure("no_verdict", shortened(reply))
    record, text = found
    if squeezed(text) in squeezed(answer):
        return Failure("quoted_verdict", shortened(text))
    return _verdict(record, "recovered")


def unfenced(reply: str) -> str:
    """The reply without the code fence around it."""
    text = reply.strip()
    if text.startswith("```json"):
        text = text[len("```json") :]
    elif text.startswith("```"):
        text = text[len("```") :]
    if text.endswith("```"):
        text = text[: -len("```")]
    return text


def load_json(text: str) -> Any:
    """The value that a text is the JSON of; none where it is not."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def object_around(
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


def squeezed(text: str) -> str:
    """Text without what changes when something is quoted: space and escapes."""
    return re.sub(r"[\s\\]+", "", text)


def _verdict(
    record: dict[str, Any], source: Literal["strict", "recovered"]
) -> Verdict | Failure:
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
