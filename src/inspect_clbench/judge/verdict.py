"""A judge's reply becomes a verdict, or a named failure. Pure and total: no text makes it raise."""

import json
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
    "several_verdicts",  # more than one such object
    "quoted_verdict",  # the only such object is copied from the graded answer
    "bad_score",  # an overall score other than 0 or 1
]

# A reply with more plausible object starts than this is not searched further:
# each start may cost a scan of the whole text.
_MOST_OBJECT_STARTS = 1_000

_OBJECT_START = re.compile(r'\{\s*"')


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
    score anywhere in the reply will do.

    Args:
        reply: The reply's text, without reasoning.
        cut_off: Whether the reply ended at a length limit. A reply that is one
            whole JSON object is complete all the same; nothing is recovered
            from others.
        answer: The graded answer. A recovered object that stands in it word for
            word is the judge quoting the answer, not judging it.
    """
    if not reply.strip():
        return Failure("cut_off" if cut_off else "empty_reply")
    try:
        return _parse(reply, cut_off, answer)
    except RecursionError:  # nested so deeply that even showing it fails
        return Failure("no_verdict", "nested too deeply")


def _parse(reply: str, cut_off: bool, answer: str) -> Verdict | Failure:
    whole = _load(_unfenced(reply), strict=True)
    if isinstance(whole, dict) and SCORE_KEY in whole:
        return _verdict(whole, "strict")
    if cut_off:
        return Failure("cut_off", _shortened(reply, tail=True))
    found = _objects_with_score(reply)
    if not found:
        return Failure("no_verdict", _shortened(reply))
    if len(found) > 1:
        return Failure("several_verdicts", f"{len(found)} objects with a score")
    record, text = found[0]
    if text in answer:
        return Failure("quoted_verdict", _shortened(text))
    return _verdict(record, "recovered")


def _unfenced(reply: str) -> str:
    text = reply.strip()
    if text.startswith("```json"):
        text = text[len("```json") :]
    elif text.startswith("```"):
        text = text[len("```") :]
    if text.endswith("```"):
        text = text[: -len("```")]
    return text.strip()


def _load(text: str, *, strict: bool) -> Any:
    try:
        return json.loads(text, strict=strict)
    except (ValueError, RecursionError):
        return None


def _objects_with_score(reply: str) -> list[tuple[dict[str, Any], str]]:
    """The JSON objects in a text that hold an overall score, with their source text."""
    if f'"{SCORE_KEY}"' not in reply:
        return []
    decoder = json.JSONDecoder(strict=False)  # raw newlines in strings are fine
    found: list[tuple[dict[str, Any], str]] = []
    position = 0
    for _ in range(_MOST_OBJECT_STARTS):
        start = _OBJECT_START.search(reply, position)
        if start is None:
            break
        position = start.end()
        try:
            record, end = decoder.raw_decode(reply, start.start())
        except (ValueError, RecursionError):
            continue
        if SCORE_KEY in record:
            found.append((record, reply[start.start() : end]))
            position = end
    return found


def _verdict(
    record: dict[str, Any], source: Literal["strict", "recovered"]
) -> Verdict | Failure:
    solved = _solved(record[SCORE_KEY])
    if solved is None:
        return Failure("bad_score", _shortened(repr(record[SCORE_KEY])))
    status = record.get(STATUS_KEY)
    if isinstance(status, dict):  # {"1": "yes", ...} instead of a list
        status = list(status.values())
    rationale = record.get(RATIONALE_KEY)
    return Verdict(
        solved=solved,
        rationale=rationale if isinstance(rationale, str) else _as_text(rationale),
        requirement_status=tuple(status) if isinstance(status, list) else (),
        source=source,
    )


def _solved(score: Any) -> bool | None:
    if isinstance(score, str):
        return {"0": False, "1": True}.get(score.strip())
    if isinstance(score, int | float) and score in (0, 1):
        return bool(score)
    return None


def _status_letter(entry: Any) -> str:
    if isinstance(entry, bool):
        return "y" if entry else "n"
    if isinstance(entry, str):
        word = entry.strip().strip("\"'.").lower()
        if word.startswith("yes"):
            return "y"
        if word.startswith("no") and not word.startswith("not applicable"):
            return "n"
    if isinstance(entry, dict):  # {"requirement": "...", "status": "yes"}
        letters = {_status_letter(v) for v in entry.values() if not isinstance(v, dict)}
        if len(letters & {"y", "n"}) == 1:
            return (letters & {"y", "n"}).pop()
    return "?"


def _as_text(value: Any) -> str:
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _shortened(text: str, *, tail: bool = False, most: int = 120) -> str:
    folded = " ".join(text.split())
    if len(folded) <= most:
        return folded
    return "…" + folded[-most:] if tail else folded[:most] + "…"
