"""The offline judge of error types: it reads missed rubrics and answer and compares their words."""

import json
import re

from inspect_clbench.demo.judge import FORBIDS, QUOTED, between, last_between, rubrics_in
from inspect_clbench.judge.error_types import ERROR_TYPES, label_prompt

_WORD = re.compile(r"[a-z0-9]+")
_FORM = re.compile(r"\b(order|tags?|strokes?|shape|decimal)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(I cannot|I can't|I am unable|I am afraid that I|not enough information)\b",
    re.IGNORECASE,
)
_LONG = 3


def is_label_prompt(prompt: str) -> bool:
    """Whether a prompt asks for error types."""
    return prompt.startswith(label_prompt().template.split("\n", 1)[0])


def label_reply(prompt: str) -> str:
    """The labels of the answer in a prompt, each with the rubrics that show it."""
    answer = last_between(prompt, "=== BEGIN ANSWER ===\n", "\n=== END ANSWER ===")
    # The conversation and the rationale may quote anything; the last such part counts.
    part = prompt.rsplit("=== BEGIN MISSED RUBRICS ===\n", 1)[1]
    missed = rubrics_in(between("\n" + part, "\n", "\n=== END MISSED RUBRICS ==="))
    shown: dict[str, list[int]] = {key: [] for key in ERROR_TYPES}
    for number, rubric in missed:
        shown[_type_of(rubric, answer)].append(number)
    if _REFUSES.search(answer):
        shown["refusal"] = [number for number, _ in missed]
    labels = {
        key: {
            "present": "yes" if numbers else "no",
            "reason": _REASONS[key][bool(numbers)],
            "rubrics": numbers,
        }
        for key, numbers in shown.items()
    }
    return json.dumps(labels, indent=1)


_REASONS = {
    "context_ignored": (
        "For every missed rubric the answer takes up the matter.",
        "The answer hardly mentions what the rubric rests on.",
    ),
    "context_misused": (
        "Nothing from the context is used wrongly.",
        "The answer takes the matter up and arrives at something else.",
    ),
    "format_error": (
        "No missed rubric is about form alone.",
        "All the words are there, but not in the form that was asked for.",
    ),
    "refusal": (
        "The answer does not decline.",
        "The answer says that it cannot be done.",
    ),
}


def _type_of(rubric: str, answer: str) -> str:
    around = QUOTED.sub("", rubric)
    is_form = bool(_FORM.search(around))
    if FORBIDS.search(around):  # the answer holds what it must not hold
        return "format_error" if is_form else "context_misused"
    said = set(_words(answer))
    content = _words(" ".join(QUOTED.findall(rubric)))
    if is_form and said.issuperset(content):
        return "format_error"
    taken_up = _share(said, content) > 0.5 or _share(said, content + _words(around)) > 0.5
    return "context_misused" if taken_up else "context_ignored"


def _share(said: set[str], words: list[str]) -> float:
    return sum(word in said for word in words) / len(words) if words else 0.0


def _words(text: str) -> list[str]:
    """Words and numbers, without the small words that stand in every text."""
    found = _WORD.findall(text.lower())
    return [word for word in found if len(word) >= _LONG or word.isdigit()]
