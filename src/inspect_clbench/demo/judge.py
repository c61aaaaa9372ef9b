"""The offline judge: it reads rubrics and answer out of the prompt and checks quoted phrases."""

import json
import re

_RUBRIC_LINE = re.compile(r"^(\d+)\. ", re.MULTILINE)
QUOTED = re.compile(r'"([^"]+)"')
FORBIDS = re.compile(r"\b(not|never|avoid|without)\b", re.IGNORECASE)


def judge_reply(prompt: str, style: str = "plain", call: int = 0, rubric_text: str = "") -> str:
    """The judge's reply to a prompt.

    Args:
        prompt: The whole message to the judge.
        style: How the reply looks: `plain`, `fenced`, `prose`, `second_ask` (usable
            only when asked again) or `never` (unusable however often).
        call: How often the judge was asked the same before.
        rubric_text: The rubrics as they stand in the prompt, to find them in one that
            is not of the built-in template. What is left then counts as the answer.
    """
    if "=== BEGIN RUBRICS ===\n" in prompt and "=== BEGIN ANSWER ===\n" in prompt:
        rubric_text = between(prompt, "=== BEGIN RUBRICS ===\n", "\n=== END RUBRICS ===")
        answer = last_between(prompt, "=== BEGIN ANSWER ===\n", "\n=== END ANSWER ===")
    elif rubric_text and rubric_text in prompt:
        answer = prompt.replace(rubric_text, "")
    else:
        return "ready"
    rubrics = [rubric for _, rubric in rubrics_in(rubric_text)]
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
    found = [_holds(folded, _folded(phrase)) for phrase in QUOTED.findall(rubric)]
    if FORBIDS.search(QUOTED.sub("", rubric)):
        return not any(found)
    return all(found)


def _reason(rubric: str, answer: str, ok: bool) -> str:
    phrases = " and ".join(f"“{phrase}”" for phrase in QUOTED.findall(rubric)) or "nothing"
    forbidden = bool(FORBIDS.search(QUOTED.sub("", rubric)))
    return f"the answer {'holds' if ok != forbidden else 'lacks'} {phrases}"


def _holds(text: str, phrase: str) -> bool:
    """Whether a phrase stands in a text as whole words: `4 fish` is not in `14 fish`."""
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[*`_]", "", text).split()).casefold()


def rubrics_in(text: str) -> list[tuple[int, str]]:
    """The rubrics of a prompt with their numbers; they may go over several lines."""
    _, *parts = _RUBRIC_LINE.split(text)
    return [(int(n), text.strip()) for n, text in zip(parts[::2], parts[1::2], strict=True)]


def between(text: str, start: str, end: str) -> str:
    """What stands between the first start and the first end after it."""
    return text.split(start, 1)[1].split(end, 1)[0]


def last_between(text: str, start: str, end: str) -> str:
    """What stands between the first start and the last end."""
    return text.split(start, 1)[1].rsplit(end, 1)[0]
