"""The model provider `clbench_demo`: a student and a judge that need no network."""

import json
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

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.demo.judge import is_label_prompt, judge_reply, label_reply
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import in_running_sample
from inspect_clbench.judge.prompt import rubric_lines

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
    if is_label_prompt(prompt):
        return label_reply(prompt)
    for script in _scripts():
        if script.rubrics in prompt:
            # What fails during the run works when a log is judged again after it.
            is_late = script.judge == "late" and not in_running_sample()
            style = "plain" if is_late else script.judge
            return judge_reply(prompt, style, call, script.rubrics)
    return judge_reply(prompt)
