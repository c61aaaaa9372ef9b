"""The model provider `clbench_demo`: a student and a judge that need no network.

The judge makes verdicts from the phrases that rubrics quote and error types from their words.
It reads everything out of the prompt it is sent, as any other judge does.
"""

import json
import re
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from anyio.lowlevel import RunVar
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelAPI,
    ModelOutput,
    ModelUsage,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE, ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import in_running_sample
from inspect_clbench.judge.error_types import label_prompt
from inspect_clbench.judge.prompt import rubric_lines

_RUBRIC_LINE = re.compile(r"^(\d+)\. ", re.MULTILINE)
_QUOTED = re.compile(r'"([^"]+)"')
_FORBIDS = re.compile(r"\b(not|never|avoid|without)\b", re.IGNORECASE)
_WORD = re.compile(r"[a-z0-9]+")
_FORM = re.compile(r"\b(order|tags?|strokes?|shape|decimal)\b", re.IGNORECASE)
_REFUSES = re.compile(
    r"\b(I cannot|I can't|I am unable|I am afraid that I|not enough information)\b",
    re.IGNORECASE,
)

# Inspect keeps a model for all evaluations of a process; what it counts must not outlive
# one of them, or the second would start with other answers than the first.
_calls: RunVar[Counter[tuple[str, str]]] = RunVar("clbench_demo_calls")


@modelapi(name="clbench_demo")
class clbench_demo(ModelAPI):
    """`clbench_demo/student` answers the demo's tasks, `clbench_demo/judge` grades them."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),
        **model_args: Any,
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config)
        if model_name not in ("student", "judge"):
            raise ClbenchError(
                f"clbench_demo/{model_name}: unknown. There are clbench_demo/student "
                "and clbench_demo/judge."
            )

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        prompt = "\n".join(message.text for message in input)
        call = _count_call(self.model_name, prompt)
        reply = _answer(prompt, call) if self.model_name == "student" else _grade(prompt, call)
        usage = ModelUsage(
            input_tokens=len(prompt) // 4,
            output_tokens=len(reply) // 4,
            total_tokens=len(prompt) // 4 + len(reply) // 4,
        )
        output = ModelOutput.from_content(f"clbench_demo/{self.model_name}", reply)
        return output.model_copy(update={"usage": usage})


def _count_call(model: str, prompt: str) -> int:
    """How often a model was asked the same before, in this evaluation."""
    calls = _calls.get(None)
    if calls is None:
        calls = Counter()
        _calls.set(calls)
    calls[model, prompt] += 1
    return calls[model, prompt] - 1


class _Script(NamedTuple):
    """A task, the student's answers to it in turn, and the style of the judge's replies."""

    prompt: str
    rubrics: str
    answers: list[str]
    judge: str


@cache
def _scripts() -> list[_Script]:
    found = []
    folder = files("inspect_clbench.demo")
    for benchmark in (CLBENCH, CLBENCH_LIFE):
        told = json.loads((folder / f"{benchmark.demo}answers.json").read_text("utf-8"))
        rows = (folder / f"{benchmark.demo}rows.jsonl").read_text("utf-8")
        for row in map(json.loads, filter(None, rows.split("\n"))):
            prompt = "\n".join(message["content"] for message in row["messages"])
            script = told[row["metadata"]["task_id"]]
            rubrics = rubric_lines(row["rubrics"])
            found.append(_Script(prompt, rubrics, script["answers"], script["judge"]))
    return found


def _answer(prompt: str, call: int) -> str:
    for script in _scripts():
        if script.prompt == prompt:
            return script.answers[call % len(script.answers)]
    return "I only know the tasks of the demo: run this model with -T dataset=demo."


def _grade(prompt: str, call: int) -> str:
    if prompt.startswith(label_prompt().template.split("\n", 1)[0]):
        return label_reply(prompt)
    for script in _scripts():
        if script.rubrics in prompt:
            # What fails during the run works when a log is judged again after it.
            is_late = script.judge == "late" and not in_running_sample()
            style = "plain" if is_late else script.judge
            return judge_reply(prompt, style, call, script.rubrics)
    return judge_reply(prompt)


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
