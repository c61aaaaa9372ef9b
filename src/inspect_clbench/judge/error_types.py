"""Why an answer failed: the four error types, the prompt that asks for them, the reply's reader."""

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from inspect_ai.model import ChatMessage

from inspect_clbench.judge.replies import (
    Failure,
    Source,
    Wanted,
    as_text,
    find_record,
    shortened,
)

ERROR_TYPES = {
    "context_ignored": "Context Ignored",
    "context_misused": "Context Misused",
    "format_error": "Format Error",
    "refusal": "Refusal",
}
"""The types by their key, in the paper's order and with its names."""

# Counts changes of the template that can change labels.
PROMPT_VERSION = 1

NO_TYPE = "none"

_WANTED = Wanted(
    key=next(iter(ERROR_TYPES)),
    name="sets of labels",
    none="no_labels",
    several="several_labels",
    quoted="quoted_labels",
)
_YES_OR_NO = re.compile(r"\W*(yes|no|true|false)\W*", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)")
_MOST_REASON = 2_000


@dataclass(frozen=True)
class Label:
    """What the judge said about one type."""

    present: bool
    reason: str = ""
    rubrics: tuple[int, ...] = ()
    """The numbers of the rubrics it concerns."""


@dataclass(frozen=True)
class Labels:
    """The error types of one failed answer."""

    by_type: Mapping[str, Label]
    source: Source
    """`strict`: the whole reply is the object; `recovered`: it stands among other text."""

    @property
    def value(self) -> str:
        """The types that apply, always in the same order: `context_ignored+refusal`."""
        return types_value(key for key, label in self.by_type.items() if label.present)


def types_value(types: Iterable[str]) -> str:
    """A set of types as a stable string; `none` where there is none."""
    chosen = set(types)
    return "+".join(key for key in ERROR_TYPES if key in chosen) or NO_TYPE


def types_of(value: Any) -> frozenset[str] | None:
    """The types in such a string; none if it is not one."""
    if value == NO_TYPE:
        return frozenset()
    parts = value.split("+") if isinstance(value, str) else []
    return frozenset(parts) if parts and all(part in ERROR_TYPES for part in parts) else None


@dataclass(frozen=True)
class Failed:
    """A failed answer and all that is needed to see why."""

    conversation: Sequence[tuple[str, str]]
    """Role and text of each message before the answer, the system message too."""

    rubrics: Sequence[tuple[int, str]]
    """The task's rubrics with their numbers."""

    status: str
    """A letter per rubric (y, n or ?), or "" where the judge did not say."""

    rationale: str
    answer: str

    @property
    def missed(self) -> list[tuple[int, str]]:
        """The rubrics not met; empty where the judge did not say which."""
        if len(self.status) != len(self.rubrics):
            return []
        pairs = zip(self.rubrics, self.status, strict=True)
        return [rubric for rubric, letter in pairs if letter != "y"]


def before_answer(
    messages: Sequence[ChatMessage], answer_id: str | None
) -> list[tuple[str, str]]:
    """Role and text of what the model had in front of it when it gave its answer.

    Args:
        messages: All messages of a sample.
        answer_id: The message that holds the answer.
    """
    return [
        (message.role, message.text)
        for message in messages
        if answer_id is None or message.id != answer_id
    ]


def conversation_text(conversation: Iterable[tuple[str, str]]) -> str:
    """A conversation to read, each message under its role."""
    return "\n\n".join(f"[{role}]\n{text}" for role, text in conversation)


@dataclass(frozen=True)
class LabelPrompt:
    """The template of the labelling judge's one message."""

    name: str
    template: str

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.template.encode()).hexdigest()

    def render(self, failed: Failed) -> str:
        """Put everything in its place, literally, whole and once."""
        missed = failed.missed
        lines = [f"{number}. {text}" for number, text in missed or failed.rubrics]
        if not missed:
            lines.insert(
                0, "(The grader did not say which rubrics were missed. These are all.)"
            )
        values = {
            "{conversation}": conversation_text(failed.conversation),
            "{missed_rubrics}": "\n".join(lines),
            "{rationale}": failed.rationale.strip() or "(none given)",
            "{answer}": failed.answer,
        }
        # The template is cut at its placeholders, so that one inside the material stays
        # as it is.
        places = "|".join(re.escape(place) for place in values)
        parts = re.split(f"({places})", self.template)
        return "".join(values.get(part, part) for part in parts)


@cache
def label_prompt() -> LabelPrompt:
    """The template that asks for error types."""
    resource = files("inspect_clbench.judge") / "error_types.txt"
    return LabelPrompt(f"error_types-{PROMPT_VERSION}", resource.read_text(encoding="utf-8"))


def parse_labels(
    reply: str,
    *,
    rubrics: Collection[int],
    cut_off: bool = False,
    answer: str = "",
) -> Labels | Failure:
    """Read a judge's reply about error types. Pure and total: no text makes it raise.

    The whole reply is one JSON object with the four types, or exactly one such object
    stands in it. Every type must be answered by yes or no.

    Args:
        reply: The reply's text, without reasoning.
        rubrics: The numbers that the task's rubrics have; others are left out.
        cut_off: Whether the reply ended at a length limit: nothing is recovered then.
        answer: The failed answer. A recovered object that stands in it is a quotation.
    """
    found = find_record(reply, _WANTED, cut_off=cut_off, answer=answer)
    return found if isinstance(found, Failure) else _labels(found[0], rubrics, found[1])


def _labels(
    record: dict[str, Any], rubrics: Collection[int], source: Source
) -> Labels | Failure:
    missing = [key for key in ERROR_TYPES if key not in record]
    if missing:
        return Failure("no_labels", f"without {', '.join(missing)}")
    by_type = {}
    for key in ERROR_TYPES:
        label = _label(record[key], rubrics)
        if label is None:
            return Failure("bad_label", f"{key}: {shortened(as_text(record[key]))}")
        by_type[key] = label
    return Labels(by_type, source)


def _label(entry: Any, rubrics: Collection[int]) -> Label | None:
    """One type's label; a bare yes or no is one without a reason."""
    if not isinstance(entry, dict):
        present = _yes_or_no(entry)
        return None if present is None else Label(present)
    present = _yes_or_no(entry.get("present"))
    if present is None:
        return None
    reason = entry.get("reason")
    return Label(
        present=present,
        reason="" if reason is None else as_text(reason)[:_MOST_REASON],
        rubrics=_numbers(entry.get("rubrics"), rubrics),
    )


def _yes_or_no(word: Any) -> bool | None:
    if isinstance(word, bool):
        return word
    match = _YES_OR_NO.fullmatch(word) if isinstance(word, str) else None
    return match[1].lower() in ("yes", "true") if match else None


def _numbers(entry: Any, known: Collection[int]) -> tuple[int, ...]:
    """The rubric numbers in a list, written as numbers or as text such as `Rubric 3`."""
    entries = entry if isinstance(entry, list) else [entry]
    found: set[int] = set()
    for item in entries:
        if isinstance(item, str):
            found.update(int(number) for number in _NUMBER.findall(item))
        elif isinstance(item, int) and not isinstance(item, bool):
            found.add(item)
    return tuple(sorted(found & set(known)))
