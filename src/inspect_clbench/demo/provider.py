"""The model provider `clbench_demo`: a student and a judge that need no network.

The judge finds in an answer the phrases that rubrics quote. It reads everything out of the
prompt it is sent, as any other judge does.
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
    StopReason,
    modelapi,
)
from inspect_ai.tool import ToolChoice, ToolInfo

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import in_running_sample
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.judge.verdict import RATIONALE, SCORE, STATUS

_QUOTED = re.compile(r'"([^"]+)"')
_FORBIDS = re.compile(r"\b(not|never|avoid|without)\b", re.IGNORECASE)
_ABOUT_FORM = re.compile(r"\b(order|tags?|strokes?|shape|decimal)\b", re.IGNORECASE)
_REFUSES = re.compile(r"\b(I cannot|I can't|I am unable|not enough information)\b", re.IGNORECASE)
_NUMBER = re.compile(r"^(\d+)\. ", re.MULTILINE)

# How often each prompt was sent in this run. Inspect keeps a model for all runs of a process: what
# the model itself counted would give the second run other answers than the first.
_counts: RunVar[Counter[str]] = RunVar("clbench_demo_counts")


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
                f"clbench_demo/{model_name}: unknown. There are clbench_demo/student and clbench_demo/judge."
            )

    async def generate(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        prompt = "\n".join(message.text for message in input)
        count = _count(f"{self.model_name} {prompt}")
        is_student = self.model_name == "student"
        text, stop_reason = _answer(prompt, count) if is_student else (_judge(prompt, count), "stop")
        output = ModelOutput.from_content(f"clbench_demo/{self.model_name}", text, stop_reason)
        read, written = len(prompt) // 4, len(text) // 4
        output.usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
        return output


def _count(key: str) -> int:
    """How often the same was asked before in this run."""
    counts = _counts.get(None)
    if counts is None:
        counts = Counter()
        _counts.set(counts)
    counts[key] += 1
    return counts[key] - 1


class Script(NamedTuple):
    """A task of the demo, the student's answers to it in turn, and how the judge replies."""

    prompt: str
    rubrics: str
    answers: list[str]
    cut_off: list[int]
    """The positions of answers that end at a length limit."""
    judge: str


@cache
def load_scripts() -> list[Script]:
    """What the student and the judge do, task by task."""
    folder = files("inspect_clbench.demo")
    answers = json.loads((folder / "answers.json").read_text("utf-8"))
    scripts = []
    for line in (folder / "rows.jsonl").read_text("utf-8").splitlines():
        row = json.loads(line)
        prompt = "\n".join(message["content"] for message in row["messages"])
        rubrics = "\n".join(f"{number}. {rubric}" for number, rubric in numbered_rubrics(row["rubrics"]))
        script = answers[row["metadata"]["task_id"]]
        scripts.append(Script(prompt, rubrics, script["answers"], script.get("cut_off", []), script["judge"]))
    return scripts


def _answer(prompt: str, count: int) -> tuple[str, StopReason]:
    for script in load_scripts():
        if script.prompt == prompt:
            position = count % len(script.answers)
            return script.answers[position], "max_tokens" if position in script.cut_off else "stop"
    return "I only know the tasks of the demo: run this model with -T dataset=demo.", "stop"


def _judge(prompt: str, count: int) -> str:
    if "=== BEGIN MISSED RUBRICS ===" in prompt:
        return _labels(prompt)
    for script in load_scripts():
        if script.rubrics in prompt:
            return _verdict(script.rubrics, prompt, script.judge, count)
    if "=== BEGIN RUBRICS ===" in prompt:
        return _verdict(_part(prompt, "RUBRICS"), prompt, "plain", count)
    return "ready"


def _verdict(rubrics: str, prompt: str, style: str, count: int) -> str:
    """A verdict, in one of the ways in which real judges give or fail to give one."""
    # In a prompt of the user's own the answer is what the rubrics leave.
    answer = _part(prompt, "ANSWER") if "=== BEGIN ANSWER ===" in prompt else prompt.replace(rubrics, "")
    met = [is_met(rubric, answer) for _, rubric in _numbered(rubrics)]
    status = ["yes" if is_rubric_met else "no" for is_rubric_met in met]
    if style == "contradicts" and all(met):
        status[-1] = "no"
    rationale = " ".join(f"Rubric {number}: {word}." for number, word in enumerate(status, start=1))
    reply = json.dumps({RATIONALE: rationale, STATUS: status, SCORE: int(all(met))}, indent=1)
    match style:
        case "fenced":
            return f"```json\n{reply}\n```"
        case "second_ask" if count == 0:
            return f"The answer is quite good, though not in every respect.\n\n{reply}"
        # What fails during the run works when the log is judged again after it.
        case "late" if in_running_sample():
            return reply[: len(reply) // 2]
    return reply


def is_met(rubric: str, answer: str) -> bool:
    """Whether the answer holds every phrase that the rubric quotes, or none if it forbids them."""
    held = [_holds(_folded(answer), _folded(phrase)) for phrase in _QUOTED.findall(rubric)]
    return not any(held) if _FORBIDS.search(_QUOTED.sub("", rubric)) else all(held)


def _labels(prompt: str) -> str:
    """The error types of an answer: of each missed rubric one, and refusal by the answer's words."""
    answer = _part(prompt, "ANSWER")
    rubrics: dict[str, list[int]] = {key: [] for key in ERROR_TYPES}
    for number, rubric in _numbered(_part(prompt, "MISSED RUBRICS")):
        phrases = _QUOTED.findall(rubric)
        words = {word for phrase in phrases for word in re.findall(r"\w+", _folded(phrase))}
        held = [word for word in words if _holds(_folded(answer), word)]
        if _ABOUT_FORM.search(_QUOTED.sub("", rubric)) and len(held) == len(words):
            rubrics["format_error"].append(number)
        elif _REFUSES.search(answer):
            rubrics["refusal"].append(number)
        else:
            rubrics["context_misused" if 2 * len(held) > len(words) else "context_ignored"].append(number)
    reason = "By the phrases that the missed rubrics quote."
    labels = {
        key: {"present": "yes" if numbers else "no", "reason": reason, "rubrics": numbers}
        for key, numbers in rubrics.items()
    }
    return json.dumps(labels, indent=1)


def _part(prompt: str, name: str) -> str:
    after, end = prompt.split(f"=== BEGIN {name} ===\n", 1)[1], f"\n=== END {name} ==="
    # The answer may quote anything, also its own end.
    return (after.rsplit(end, 1) if name == "ANSWER" else after.split(end, 1))[0]


def _numbered(text: str) -> list[tuple[int, str]]:
    _, *parts = _NUMBER.split(text)
    return [(int(number), rubric) for number, rubric in zip(parts[::2], parts[1::2], strict=True)]


def _holds(text: str, phrase: str) -> bool:
    # As whole words: `4 fish` is not in `14 fish`.
    return re.search(rf"(?<!\w){re.escape(phrase)}(?!\w)", text) is not None


def _folded(text: str) -> str:
    return " ".join(re.sub(r"[*`_]", "", text).split()).casefold()
