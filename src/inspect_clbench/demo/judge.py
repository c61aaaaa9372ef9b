"""The offline judge: verdicts from the phrases that rubrics quote, error types from their words.

It reads everything out of the prompt it is sent, as any other judge does.
"""

import json
import re

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.judge.error_types import label_prompt

_RUBRIC_LINE = re.compile(r"^(\d+)\. ", re.MULTILINE)
_QUOTED = re.compile(r'"([^"]+)"')
_FORBIDS = re.compile(r"\b(not|never|avoid|without)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_FORM = re.compile(r"\b(order|tags?|strokes?|shape|decimal)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(I cannot|I can't|I am unable|I am afraid that I|not enough information)\b",
    re.IGNORECASE,
)


def judge_reply(prompt: str, style: str = "plain", call: int = 0, rubric_text: str = "") -> str:
    """The judge's reply to a prompt, in one of the styles that real judges show.

    `call` is how often it was asked the same before; `rubric_text` finds the rubrics in a
    prompt that is not of the built-in template. What is left then counts as the answer.
    """
    if "=== BEGIN RUBRICS ===\n" in prompt and "=== BEGIN ANSWER ===\n" in prompt:
        after = prompt.split("=== BEGIN RUBRICS ===\n", 1)[1]
        rubric_text = after.split("\n=== END RUBRICS ===", 1)[0]
        answer = _answer_in(prompt)
    elif rubric_text and rubric_text in prompt:
        answer = prompt.replace(rubric_text, "")
    else:
        return "ready"
    rubrics = [rubric for _, rubric in _rubrics_in(rubric_text)]
    met = [is_met(rubric, answer) for rubric in rubrics]
    notes = " ".join(
        f"Rubric {i}: {'met' if ok else 'not met'}; {_reason(rubric, answer, ok)}."
        for i, (rubric, ok) in enumerate(zip(rubrics, met, strict=True), start=1)
    )
    reply = json.dumps(
        {
            "Grading Rationale": notes,
            "List of Requirement Satisfaction Status": ["yes" if ok else "no" for ok in met],
            "Overall Score": int(all(met)),
        },
        ensure_ascii=False,
        indent=1,
    )
    match style:
        case "fenced":
            return f"```json\n{reply}\n```"
        case "prose":
            return f"I went through the rubrics one by one. That is my verdict:\n\n{reply}"
        case "second_ask" if call % 2 == 0:
            return "The answer is quite good, though not in every respect."
        case "late":
            return reply[: len(reply) // 2]
    return reply


def is_met(rubric: str, answer: str) -> bool:
    """Whether the answer holds every phrase that the rubric quotes, or none if it forbids them."""
    folded = _folded(answer)
    found = [_holds(folded, _folded(phrase)) for phrase in _QUOTED.findall(rubric)]
    if _FORBIDS.search(_QUOTED.sub("", rubric)):
        return not any(found)
    return all(found)


def _reason(rubric: str, answer: str, ok: bool) -> str:
    phrases = " and ".join(f"“{phrase}”" for phrase in _QUOTED.findall(rubric)) or "nothing"
    forbidden = bool(_FORBIDS.search(_QUOTED.sub("", rubric)))
    return f"the answer {'holds' if ok != forbidden else 'lacks'} {phrases}"


def _holds(text: str, phrase: str) -> bool:
    # As whole words: `4 fish` is not in `14 fish`.
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[*`_]", "", text).split()).casefold()


def _rubrics_in(text: str) -> list[tuple[int, str]]:
    _, *parts = _RUBRIC_LINE.split(text)
    return [(int(n), text.strip()) for n, text in zip(parts[::2], parts[1::2], strict=True)]


def _answer_in(prompt: str) -> str:
    after = prompt.split("=== BEGIN ANSWER ===\n", 1)[1]
    return after.rsplit("\n=== END ANSWER ===", 1)[0]


def is_label_prompt(prompt: str) -> bool:
    """Whether a prompt asks for error types."""
    return prompt.startswith(label_prompt().template.split("\n", 1)[0])


def label_reply(prompt: str) -> str:
    """The labels of the answer in a prompt, each with the rubrics that show it."""
    answer = _answer_in(prompt)
    # The conversation and the rationale may quote anything; the last such part counts.
    after = prompt.rsplit("=== BEGIN MISSED RUBRICS ===\n", 1)[1]
    missed = _rubrics_in(after.split("\n=== END MISSED RUBRICS ===", 1)[0])
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
    "refusal": ("The answer does not decline.", "The answer says that it cannot be done."),
}


def _type_of(rubric: str, answer: str) -> str:
    around = _QUOTED.sub("", rubric)
    is_form = bool(_FORM.search(around))
    if _FORBIDS.search(around):  # the answer holds what it must not hold
        return "format_error" if is_form else "context_misused"
    said = set(_words(answer))
    content = _words(" ".join(_QUOTED.findall(rubric)))
    if is_form and said.issuperset(content):
        return "format_error"
    taken_up = _share(said, content) > 0.5 or _share(said, content + _words(around)) > 0.5
    return "context_misused" if taken_up else "context_ignored"


def _share(said: set[str], words: list[str]) -> float:
    return sum(word in said for word in words) / len(words) if words else 0.0


def _words(text: str) -> list[str]:
    # Without the small words that stand in every text.
    found = _WORD.findall(text.lower())
    return [word for word in found if len(word) >= 3 or word.isdigit()]
