"""From a judge's reply to a verdict or a named failure. Pure and total: no text makes it raise."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inspect_clbench.judge.reply import (
    MOST_SHOWN,
    Failure,
    Source,
    Wanted,
    as_text,
    find_record,
    undressed,
    yes_or_no,
)
from inspect_clbench.text import shortened

SCORE_KEY = "Overall Score"
STATUS_KEY = "List of Requirement Satisfaction Status"
RATIONALE_KEY = "Grading Rationale"

_WANTED = Wanted(
    SCORE_KEY, "overall scores", "no_verdict", "several_verdicts", "quoted_verdict"
)

# How judges write a status, from the clearest to the least clear. A list has none.
_STATUS_WORDS = (
    re.compile(r"[^\w\[]*(yes|no|true|false)\W*$", re.IGNORECASE),
    re.compile(r"[^\w\[]*(yes|no|not|true|false)\b(?! applicable)", re.IGNORECASE),
    re.compile(r"[^:\[]*:\W*(yes|no|true|false)\W*$", re.IGNORECASE),
)

# How the words before an object may give another verdict than the object does. A false alarm
# costs another request, so these are broad, above all where "solved" is at stake.
_ZERO = r"(?<![\w.,])(?:0+(?:\.0+)?(?!\w|[.,]\d)|zero\b|nil\b|nought\b|fail\w*)"
_SCORE = (
    r"\b(?:scor|grad|rating|mark|point|credit|verdict|result|outcome|judge?ment|conclusion)\w*"
)
_RUBRIC = r"\b(?:rubric|requirement|criteri|item|condition)\w*"
_MET = r"\b(?:met|meet|satisf|fulfil|pass|solv|address|present|correct|accept)\w*"
_NEAR = r"[^.;!?\n]{0,40}?"
_SAYS_NO = re.compile(
    "|".join(
        (
            rf"{_SCORE}{_NEAR}{_ZERO}",  # a score of zero, the verdict: fail
            rf"{_SCORE}{_NEAR}\b(?:no|not|negative|unsolved|reject\w*|incorrect)\b",
            rf"{_ZERO}\W{{0,3}}(?:{_SCORE}|/\s*1\b|out of)",  # zero points, 0/1
            # In whatever language: after a colon, or at the end of a sentence.
            rf"(?<!\d):\W{{0,4}}{_ZERO}|{_ZERO}[^\w\s]{{0,4}}?(?:[.:;!。\n]|$)",
            rf"\b(?:overall|final|total|g[ia]v|award|assign|deserv|earn|receiv|get)\w*{_NEAR}{_ZERO}",
            rf"{_RUBRIC}{_NEAR}\b(?:not\s(?:\w+\s)?{_MET}|unmet|missing|fail|violat|lack)",
            rf"\b(?:not|never|cannot|\w+n['’]t|fail\w*)\b{_NEAR}{_MET}{_NEAR}(?:\b(?:all|every|each)\b|{_RUBRIC})",
            rf"\bnot\s(?:all|every|each)\b{_NEAR}{_MET}",
            r"\bunsolved\b|\bnot\s(?:solv|pass|accept)|[❌✗✘❎🚫⛔👎]",
            r"(?:^|[.!?:|(\n])\s*(?:no|nope|false|wrong|incorrect)\b",  # Solved: no. False.
        )
    )
)
# The words that lead up to an object: I will not print, the answer claims.
_LEADS = re.compile(
    rf"\b(?:not|never|wrong|instead|\w{{1,9}}n['’]t|ignor\w*|refus\w*|reject\w*)\b{_NEAR}$"
    r"|\b(?:answer|response|student|model|text|it|rubric)s?\b[^.;!?\n]{0,40}?"
    r"\b(?:say|said|claim|stat|grad|ask|want|tell|told|end|contain|includ|demand|quot|print|writ)"
    rf"\w*{_NEAR}$"
)
_SAYS_YES = re.compile(
    rf"\b(?:overall|final|total)\w*{_NEAR}(?<![\w.,#])(?:1(?:\.0+)?(?!\w|[.,]\d)|one\b|pass|solved\b)"
)
_OTHER_KEYS = re.compile(r"grading\W{0,3}rationale|satisfaction\W{0,3}status")


@dataclass(frozen=True)
class Verdict:
    """What the judge decided about one answer."""

    solved: bool
    rationale: str
    requirement_status: tuple[Any, ...]  # the status list as the judge wrote it
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


def parse_verdict(
    reply: str, cut_off: bool = False, answer: str = "", rubrics: Sequence[str] = ()
) -> Verdict | Failure:
    """Read a judge's reply on an answer, which may have ended at a length limit."""
    found = find_record(reply, _WANTED, cut_off=cut_off, material=(answer, *rubrics))
    if isinstance(found, Failure):
        return found
    record, source, before = found
    solved = _solved(record[SCORE_KEY])
    if solved is None:
        return Failure("bad_score", shortened(as_text(record[SCORE_KEY]), MOST_SHOWN))
    if otherwise := _contradiction(before, solved):
        return Failure("unclear_reply", "words before it: " + shortened(otherwise, MOST_SHOWN))
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


def _contradiction(before: str, solved: bool) -> str | None:
    """What in the words before an object may be another verdict, or a part of one."""
    text = undressed(before)
    match = (
        (_SAYS_NO if solved else _SAYS_YES).search(text)
        or (_LEADS.search(text.rstrip()[-200:]) if solved else None)
        or _OTHER_KEYS.search(text)
    )
    return match[0] if match else None


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
        said = {yes_or_no(part, pattern) for part in parts} - {None}
        if len(said) == 1:
            return "y" if said.pop() else "n"
    return "?"


def _as_entry(value: Any) -> Any:
    # In a shape that every log and table can hold.
    if isinstance(value, dict):
        return {as_text(key): _as_scalar(part) for key, part in value.items()}
    return _as_scalar(value)


def _as_scalar(value: Any) -> Any:
    is_number = isinstance(value, int) or (isinstance(value, float) and math.isfinite(value))
    return value if value is None or is_number else as_text(value)
