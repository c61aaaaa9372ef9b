"""A log of a full run, three times over all tasks, made offline from the real dataset.

    python -m benchmarks.full_log [FOLDER]

Model and judge are scripted: answers and rationales are sentences drawn from the prompt and the rubrics, so
that they have the size of real ones and compress like them; which rubrics are met is drawn too.
"""

import random
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from tests.support.builders import verdict
from tests.support.scripted import PROBE, scripted_output

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"
RUBRICS = re.compile(r"=== BEGIN RUBRICS ===\n(.*?)\n=== END RUBRICS ===", re.DOTALL)
SENTENCE_ENDS = re.compile(r"(?<=[.!?;:])\s+|\n+")
MISSED_RUBRICS = 0.09
ANSWER_CHARS, RATIONALE_CHARS = 5_000, 150  # of each answer, and for each rubric


def build_log(folder: str | Path, epochs: int = 3) -> str:
    """Run the benchmark on all rows and return the path of the log."""
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: the real dataset is not on this machine; give a log instead.")
    draw = random.Random(1)

    def student(input: Sequence[Any], *_: Any) -> ModelOutput:
        prompt = "\n".join(message.text for message in input)
        return output("student", prompt, drawn(draw, prompt, ANSWER_CHARS))

    def judge(input: Sequence[Any], *_: Any) -> ModelOutput:
        prompt = input[-1].text
        rubrics = RUBRICS.search(prompt)
        if rubrics is None:
            assert prompt == PROBE
            return output("judge", prompt, "ready")
        count = rubric_count(rubrics[1])
        status = ["no" if draw.random() < MISSED_RUBRICS else "yes" for _ in range(count)]
        rationale = drawn(draw, rubrics[1], RATIONALE_CHARS * count)
        return output("judge", prompt, verdict(int("no" not in status), status, rationale))

    (log,) = eval(
        "inspect_clbench/clbench", task_args={"dataset": str(REAL_DATA)},
        model=get_model("mockllm/student", custom_outputs=student, memoize=False),
        model_roles={"grader": get_model("mockllm/judge", custom_outputs=judge, memoize=False)},
        epochs=epochs, log_dir=str(folder), log_realtime=False, display="none",
    )  # fmt: skip
    assert log.status == "success", log.error
    return log.location


def rubric_count(lines: str) -> int:
    """How many rubrics there are; some hold numbered lists of their own."""
    count = 0
    for number in re.findall(r"^(\d+)\. ", lines, re.MULTILINE):
        count += int(number) == count + 1
    return count


def drawn(draw: random.Random, text: str, chars: int) -> str:
    sentences = [sentence for sentence in SENTENCE_ENDS.split(text) if sentence.strip()] or [text]
    words = ""
    while len(words) < chars:
        words += draw.choice(sentences)[:400] + draw.choice([" ", " ", "\n\n"])
    return words


def output(model: str, prompt: str, reply: str) -> ModelOutput:
    read, written = len(prompt) // 4, len(reply) // 4
    usage = ModelUsage(input_tokens=read, output_tokens=written, total_tokens=read + written)
    return scripted_output(model, reply, usage)


if __name__ == "__main__":
    print(build_log(sys.argv[1] if len(sys.argv) > 1 else "logs"))
