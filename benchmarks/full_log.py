"""A log of a full run, three times over all tasks, made offline from the real dataset.

The student and the judge are scripted: answers and rationales are sentences drawn from the
prompt and the rubrics, so that they have the size of real ones and compress like them, and
which rubrics are met depends on nothing but the task and the run.
"""

import hashlib
import json
import random
import re
import sys
from collections import Counter
from pathlib import Path

from inspect_ai import eval
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolChoice, ToolInfo

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"

_RUBRICS = re.compile(r"=== BEGIN RUBRICS ===\n(.*?)\n=== END RUBRICS ===", re.DOTALL)
_NUMBERED = re.compile(r"^(\d+)\. ", re.MULTILINE)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")
_MISSED_RUBRICS = 0.09


def build_log(folder: str | Path, epochs: int = 3, limit: int | None = None) -> str:
    """Run the whole benchmark and return the path of the log."""
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: the real dataset is not on this machine; give a log instead.")
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": str(REAL_DATA)},
        model=get_model("mockllm/student", custom_outputs=_Student(), memoize=False),
        model_roles={"grader": get_model("mockllm/judge", custom_outputs=_judge)},
        epochs=epochs,
        limit=limit,
        log_dir=str(folder),
        log_realtime=False,
        display="none",
    )
    assert log.status == "success", log.error
    return log.location


class _Student:
    """Another answer in each run, about as long as a real one."""

    def __init__(self) -> None:
        self._asked: Counter[str] = Counter()

    def __call__(
        self,
        input: list[ChatMessage],
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        prompt = "\n".join(message.text for message in input)
        key = hashlib.sha256(prompt.encode("utf-8", "replace")).hexdigest()
        self._asked[key] += 1
        seed = f"{key[:16]}-{self._asked[key]}"
        return _output("mockllm/student", prompt, f"Answer {seed}.\n" + _drawn(seed, prompt, 5000))


def _judge(
    input: list[ChatMessage],
    tools: list[ToolInfo],
    tool_choice: ToolChoice,
    config: GenerateConfig,
) -> ModelOutput:
    prompt = input[-1].text
    found = _RUBRICS.search(prompt)
    if found is None:  # whether it works, before the run
        return _output("mockllm/judge", prompt, "ready")
    count = _rubric_count(found[1])
    draw = hashlib.sha256(prompt.encode("utf-8", "replace")).digest() * (count // 32 + 1)
    met = [draw[i] > 256 * _MISSED_RUBRICS for i in range(count)]
    reply = {
        "Grading Rationale": _drawn(draw.hex()[:16], found[1], 150 * count),
        "List of Requirement Satisfaction Status": ["yes" if ok else "no" for ok in met],
        "Overall Score": int(all(met)),
    }
    return _output("mockllm/judge", prompt, json.dumps(reply))


def _rubric_count(lines: str) -> int:
    """How many rubrics there are; some hold numbered lists of their own."""
    count = 0
    for number in _NUMBERED.findall(lines):
        count += int(number) == count + 1
    return count


def _drawn(seed: str, text: str, chars: int) -> str:
    rng = random.Random(seed)
    sentences = [one for one in _SENTENCE_ENDS.split(text) if one.strip()] or [text]
    drawn = ""
    while len(drawn) < chars:
        drawn += rng.choice(sentences)[:400] + rng.choice([" ", " ", "\n\n"])
    return drawn


def _output(model: str, prompt: str, reply: str) -> ModelOutput:
    read, written = len(prompt) // 4, len(reply) // 4
    output = ModelOutput.from_content(model, reply)
    output.usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return output


if __name__ == "__main__":
    print(build_log(sys.argv[1] if len(sys.argv) > 1 else "logs"))
