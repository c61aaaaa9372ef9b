"""The model provider `clbench_demo`: a student and a judge that need no network."""

import json
from collections import Counter
from functools import cache
from importlib.resources import files
from typing import Any

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

from inspect_clbench.demo.judge import judge_reply
from inspect_clbench.demo.labeller import is_label_prompt, label_reply
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import rubric_lines
from inspect_clbench.taxonomy import BENCHMARKS

# Inspect keeps a model for all evaluations of a process; what it counts must not outlive
# one of them, or the second would start with other answers than the first.
_calls: RunVar[Counter[tuple[str, str]]] = RunVar("clbench_demo_calls")

_NO_ROW = "I only know the tasks of the demo: run this model with -T dataset=demo."


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


def _answer(prompt: str, call: int) -> str:
    """The student's n-th answer to a task: another one in each run."""
    scripts = _by_prompt()
    if prompt not in scripts:
        return _NO_ROW
    answers: list[str] = scripts[prompt]["answers"]
    return answers[call % len(answers)]


def _grade(prompt: str, call: int) -> str:
    if is_label_prompt(prompt):
        return label_reply(prompt)
    known = (item for item in _styles().items() if item[0] in prompt)
    rubric_text, style = next(known, ("", "plain"))
    return judge_reply(prompt, style, call, rubric_text)


@cache
def _rows() -> list[dict[str, Any]]:
    return [
        json.loads(line)
        for benchmark in BENCHMARKS.values()
        for line in _text(f"{benchmark.demo}rows.jsonl").split("\n")
        if line
    ]


@cache
def _scripts() -> dict[str, Any]:
    scripts: dict[str, Any] = {}
    for benchmark in BENCHMARKS.values():
        scripts |= json.loads(_text(f"{benchmark.demo}answers.json"))
    return scripts


def _text(name: str) -> str:
    return (files("inspect_clbench.demo") / name).read_text("utf-8")


@cache
def _by_prompt() -> dict[str, Any]:
    return {
        "\n".join(m["content"] for m in row["messages"]): _scripts()[row["metadata"]["task_id"]]
        for row in _rows()
    }


@cache
def _styles() -> dict[str, str]:
    return {
        rubric_lines(row["rubrics"]): _scripts()[row["metadata"]["task_id"]]["judge"]
        for row in _rows()
    }
