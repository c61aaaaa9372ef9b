"""What the judge is asked about a failed answer, and how its reply is read."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from inspect_clbench.benchmarks import ERROR_TYPES, NO_ERROR_TYPE
from inspect_clbench.judge.prompt import Template
from inspect_clbench.judge.verdict import Failure, parse_object
from inspect_clbench.text import one_line

_PRESENT = {"yes": True, "no": False, "true": True, "false": False}


@dataclass(frozen=True)
class FailedAnswer:
    """A failed answer and all that is needed to see why."""

    conversation: Sequence[tuple[str, str]]
    """Role and text of each message before the answer."""
    rubrics: Sequence[tuple[int, str]]
    """With their numbers."""
    status: str
    """A letter per rubric (y, n or ?), or nothing where the grader did not say."""
    rationale: str
    answer: str

    @property
    def missed(self) -> list[tuple[int, str]]:
        """The rubrics that are not met; none where the grader did not say which."""
        if len(self.status) != len(self.rubrics):
            return []
        return [rubric for rubric, letter in zip(self.rubrics, self.status, strict=True) if letter != "y"]


class LabelPrompt(Template):
    """Asks for error types: places for the conversation, the rubrics, the rationale, the answer."""

    def render(self, failed: FailedAnswer) -> str:
        rubrics = [f"{number}. {rubric}" for number, rubric in failed.missed or failed.rubrics]
        if not failed.missed:
            rubrics.insert(0, "(The grader did not say which rubrics were missed. These are all.)")
        return self.fill(
            {
                "{conversation}": "\n\n".join(f"[{role}]\n{text}" for role, text in failed.conversation),
                "{missed_rubrics}": "\n".join(rubrics),
                "{rationale}": failed.rationale.strip() or "(none given)",
                "{answer}": failed.answer,
            }
        )


def load_label_prompt() -> LabelPrompt:
    """The template that asks for error types."""
    text = (files("inspect_clbench.error_types") / "error_types.txt").read_text("utf-8")
    return LabelPrompt("error_types-1", text)  # the number counts changes that can change labels


@dataclass(frozen=True)
class Label:
    """What the judge said about one type."""

    present: bool
    reason: str
    rubrics: list[int]
    """The numbers of those that it concerns."""


Labels = dict[str, Label]
"""What the judge said about each type."""


def parse_labels(reply: str, cut_off: bool) -> Labels | Failure:
    """Read a reply about error types as strictly as a verdict: each must be answered by yes or no.

    Args:
        reply: The text of the judge's reply.
        cut_off: Whether it ended at a length limit.
    """
    return parse_object(reply, _read_labels, "no_labels", cut_off)


def _read_labels(record: dict[str, Any]) -> Labels | Failure | None:
    if not ERROR_TYPES.keys() <= record.keys():
        return None
    labels = {}
    for key in ERROR_TYPES:
        entry = record[key] if isinstance(record[key], dict) else {}
        present = _PRESENT.get(str(entry.get("present")).strip().lower())
        if present is None:
            return Failure("bad_label", f"{key}: {record[key]}")
        rubrics = entry.get("rubrics")
        labels[key] = Label(
            present=present,
            reason=one_line(str(entry.get("reason") or "")),
            rubrics=[n for n in rubrics if isinstance(n, int)] if isinstance(rubrics, list) else [],
        )
    return labels


def value_of(labels: Labels) -> str:
    """The types that apply, as a score's value: `context_ignored+refusal`, or `none`."""
    return "+".join(key for key in ERROR_TYPES if labels[key].present) or NO_ERROR_TYPE
