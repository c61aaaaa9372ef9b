"""The offline judge: it reads rubrics and answer out of the prompt and checks quoted phrases."""

import json
import re

_RUBRIC_LINE = re.compile(r"^(\d+)\. ", re.MULTILINE)
_QUOTED = re.compile(r'"([^"]+)"')
_NEGATION = re.compile(r"\b(not|never|avoid|without)\b", re.IGNORECASE)


def judge_reply(prompt: str, style: str = "plain", call: int = 0) -> str:
    """The judge's reply to a prompt of the built-in template.

    Args:
        prompt: The whole message to the judge.
        style: How the reply looks: `plain`, `fenced`, `prose`, `second_ask` (usable
            only when asked again) or `never` (unusable however often).
        call: How often the judge was asked the same before.
    """
    if "=== BEGIN RUBRICS ===" not in prompt:
        return "ready"
    rubrics = _rubrics(_between(prompt, "=== BEGIN RUBRICS ===\n", "\n=== END RUBRICS ==="))
    answer = _last_between(prompt, "=== BEGIN ANSWER ===\n", "\n=== END ANSWER ===")
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
            return f"I went through the rubrics one by one.\n\n{reply}\n\nThat is my verdict."
        case "second_ask" if call % 2 == 0:
            return "The answer is quite good, though not in every respect."
        case "never":
            return reply[: len(reply) // 2]
    return reply


def is_met(rubric: str, answer: str) -> bool:
    """Whether the answer holds every phrase that the rubric quotes, or none if it forbids them."""
    folded = _folded(answer)
    found = [_folded(phrase) in folded for phrase in _QUOTED.findall(rubric)]
    if _NEGATION.search(_QUOTED.sub("", rubric)):
        return not any(found)
    return all(found)


def _reason(rubric: str, answer: str, ok: bool) -> str:
    phrases = " and ".join(f"“{phrase}”" for phrase in _QUOTED.findall(rubric)) or "nothing"
    forbidden = bool(_NEGATION.search(_QUOTED.sub("", rubric)))
    return f"the answer {'holds' if ok != forbidden else 'lacks'} {phrases}"


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[*`_]", "", text).split()).casefold()


def _rubrics(text: str) -> list[str]:
    return [part.strip() for part in _RUBRIC_LINE.split(text)[2::2]]


def _between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].split(end, 1)[0]


def _last_between(text: str, start: str, end: str) -> str:
    return text.split(start, 1)[1].rsplit(end, 1)[0]
