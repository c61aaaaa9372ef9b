"""Error types: the four labels of the paper's Table 3, the prompt for them, the reply's reader."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from inspect_ai.model import ChatMessage

from inspect_clbench.benchmarks import ERROR_TYPES, NO_TYPE
from inspect_clbench.judge.prompt import Template, missed_rubrics, packaged_text
from inspect_clbench.judge.reply import (
    MOST_SHOWN,
    Failure,
    Source,
    Wanted,
    as_text,
    find_record,
    yes_or_no,
)
from inspect_clbench.text import shortened

# Counts changes of the template that can change labels.
PROMPT_VERSION = 1

_WANTED = Wanted(
    "context_ignored", "sets of labels", "no_labels", "several_labels", "quoted_labels"
)
_YES_OR_NO = re.compile(r"\W*(yes|no|true|false)\W*$", re.IGNORECASE)
_NUMBER = re.compile(r"(?<!\d)\d{1,6}(?!\d)")
_MOST_REASON = 2_000


@dataclass(frozen=True)
class Label:
    """What the judge said about one type."""

    present: bool
    reason: str = ""
    rubrics: tuple[int, ...] = ()  # the numbers of those that it concerns


@dataclass(frozen=True)
class Labels:
    """The error types of one failed answer."""

    by_type: Mapping[str, Label]
    source: Source

    @property
    def value(self) -> str:
        """The types that apply: `context_ignored+refusal`, or `none`."""
        present = [key for key in ERROR_TYPES if self.by_type[key].present]
        return "+".join(present) or NO_TYPE


@dataclass(frozen=True)
class Failed:
    """A failed answer and all that is needed to see why."""

    conversation: Sequence[tuple[str, str]]  # role and text of each message
    rubrics: Sequence[tuple[int, str]]  # with their numbers
    status: str  # a letter per rubric (y, n or ?), or "" where the judge did not say
    rationale: str
    answer: str

    @property
    def missed(self) -> list[tuple[int, str]]:
        return missed_rubrics(self.rubrics, self.status)


def before_answer(
    messages: Sequence[ChatMessage], answer_id: str | None
) -> list[tuple[str, str]]:
    """Role and text of what the model had in front of it when it gave its answer."""
    return [(m.role, m.text) for m in messages if answer_id is None or m.id != answer_id]


def conversation_text(conversation: Iterable[tuple[str, str]]) -> str:
    """A conversation to read, each message under its role."""
    return "\n\n".join(f"[{role}]\n{text}" for role, text in conversation)


class LabelPrompt(Template):
    """Asks for error types: places for the conversation, the rubrics, the rationale, the answer."""

    def render(self, failed: Failed) -> str:
        missed = failed.missed
        lines = [f"{number}. {text}" for number, text in missed or failed.rubrics]
        if not missed:
            note = "(The grader did not say which rubrics were missed. These are all.)"
            lines.insert(0, note)
        return self.fill(
            {
                "{conversation}": conversation_text(failed.conversation),
                "{missed_rubrics}": "\n".join(lines),
                "{rationale}": failed.rationale.strip() or "(none given)",
                "{answer}": failed.answer,
            }
        )


@cache
def label_prompt() -> LabelPrompt:
    """The template that asks for error types."""
    return LabelPrompt(f"error_types-{PROMPT_VERSION}", packaged_text("error_types.txt"))


def parse_labels(
    reply: str, cut_off: bool = False, *, rubrics: Mapping[int, str], answer: str = ""
) -> Labels | Failure:
    """Read a judge's reply about error types. Pure and total: no text makes it raise.

    Every type must be answered by yes or no. Numbers that are not among those of the
    task's `rubrics` are left out.
    """
    material = (answer, *rubrics.values())
    found = find_record(reply, _WANTED, cut_off=cut_off, material=material)
    if isinstance(found, Failure):
        return found
    record, source, _ = found
    missing = [key for key in ERROR_TYPES if key not in record]
    if missing:
        return Failure("no_labels", f"without {', '.join(missing)}")
    by_type = {}
    for key in ERROR_TYPES:
        label = _label(record[key], rubrics)
        if label is None:
            return Failure("bad_label", f"{key}: {shortened(as_text(record[key]), MOST_SHOWN)}")
        by_type[key] = label
    return Labels(by_type, source)


def _label(entry: Any, rubrics: Collection[int]) -> Label | None:
    # A bare yes or no is a label without a reason.
    told = entry if isinstance(entry, dict) else {"present": entry}
    present = yes_or_no(told.get("present"), _YES_OR_NO)
    if present is None:
        return None
    reason = told.get("reason")
    return Label(
        present=present,
        reason="" if reason is None else as_text(reason)[:_MOST_REASON],
        rubrics=_numbers(told.get("rubrics"), rubrics),
    )


def _numbers(entry: Any, known: Collection[int]) -> tuple[int, ...]:
    # Written as numbers or as text such as `Rubric 3`.
    found: set[int] = set()
    for item in entry if isinstance(entry, list) else [entry]:
        if isinstance(item, str):
            found.update(int(number) for number in _NUMBER.findall(item))
        elif isinstance(item, int) and not isinstance(item, bool):
            found.add(item)
    return tuple(sorted(found & set(known)))
