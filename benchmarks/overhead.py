"""What our own code costs on top of Inspect: ratios, both sides measured in one run.

    python -m benchmarks.overhead ../shared/data/CL-bench.jsonl.xz

The bare task makes the same two calls per sample (answer, judge) with a trivial scorer and without
metrics. Both sides run the whole file at the same moment, each in a new process, so that a slow minute
of the machine slows both. Each figure is the mean of such pairs, with the standard error of the ratio.
"""

import json
import lzma
import math
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from inspect_ai import Task, eval
from inspect_ai.dataset import Sample, json_dataset
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser, get_model
from inspect_ai.scorer import CORRECT, Score, Scorer, Target, scorer
from inspect_ai.solver import TaskState, generate
from tests.support.builders import verdict
from tests.support.server import Call, LoopbackServer, Reply

PAIRS = 6
ANSWER = "An answer of some length, with words of many kinds in it. " * 70
RATIONALE = "Requirement 1 is met: the answer says so in so many words. " * 8
_RUBRIC = re.compile(r"^\d+\. ", re.MULTILINE)
_PROMPT = Path(__file__).parents[1] / "src" / "inspect_clbench" / "judge" / "builtin.txt"
_MESSAGE: Any = {"system": ChatMessageSystem, "user": ChatMessageUser, "assistant": ChatMessageAssistant}


def script(call: Call) -> Reply:
    if call.model != "judge":
        return Reply(ANSWER)
    return Reply(verdict(0, ["yes"] * (len(_RUBRIC.findall(call.prompt)) - 1) + ["no"], RATIONALE))


def bare_task(dataset: str) -> Task:
    @scorer(metrics=[])
    def trivial() -> Scorer:
        template = _PROMPT.read_text("utf-8")

        async def score(state: TaskState, target: Target) -> Score:
            lines = "\n".join(f"{i}. {rubric}" for i, rubric in enumerate(state.metadata["rubrics"], start=1))
            prompt = template.replace("{rubrics_text}", lines).replace(
                "{model_output}", state.output.completion
            )
            await get_model(role="grader", required=True).generate(prompt)
            return Score(value=CORRECT)

        return score

    def sample(record: dict[str, Any]) -> Sample:
        return Sample(
            id=record["metadata"]["task_id"],
            input=[_MESSAGE[m["role"]](content=m["content"]) for m in record["messages"]],
            metadata={**record["metadata"], "rubrics": record["rubrics"]},
        )

    return Task(dataset=json_dataset(dataset, sample), solver=generate(), scorer=trivial())


def run_side(side: str, dataset: str) -> dict[str, float]:
    """A run of the whole file in this process, from the import of our package to the end."""
    if side == "bare":
        # Inspect imports each plugin that is installed, which a bare task does not need.
        sys.modules["inspect_clbench._registry"] = ModuleType("none")
    cpu = time.process_time()
    task = (
        bare_task(dataset)
        if side == "bare"
        else import_module("inspect_clbench.tasks").clbench(dataset=dataset)
    )
    loading = time.process_time() - cpu
    cpu = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            task, model=f"openai-api/loop/{side}", model_roles={"grader": "openai-api/loop/judge"},
            max_connections=50, max_samples=100, log_realtime=False, log_dir=folder, display="none",
        )  # fmt: skip
        assert log.status == "success", log.error
        log_bytes = sum(path.stat().st_size for path in Path(folder).iterdir())
    rows = len(task.dataset)
    return {
        "CPU ms per sample": 1000 * (time.process_time() - cpu) / rows,
        "CPU s to import and load": loading,
        "log KB per sample": log_bytes / 1024 / rows,
    }


def measured_pair(dataset: str) -> dict[str, dict[str, float]]:
    """What both sides measured, in processes that ran at the same moment."""
    with LoopbackServer(script) as server:
        environment = os.environ | {"LOOP_BASE_URL": server.url, "LOOP_API_KEY": "loop"}
        command = [sys.executable, "-m", "benchmarks.overhead", dataset]
        processes = {
            side: subprocess.Popen([*command, side], env=environment, stdout=subprocess.PIPE, text=True)
            for side in ("ours", "bare")
        }
        printed = {side: process.communicate()[0] for side, process in processes.items()}
    return {side: json.loads(lines.strip().splitlines()[-1]) for side, lines in printed.items()}


def main() -> None:
    dataset, *side = sys.argv[1:]
    if side:
        print(json.dumps(run_side(side[0], dataset)))
        return
    with tempfile.NamedTemporaryFile(suffix=".jsonl") as plain:  # unpacking is not what is compared
        with lzma.open(dataset) as packed:
            plain.write(packed.read())
        plain.flush()
        pairs = [measured_pair(plain.name) for _ in range(PAIRS)]
    print(f"{'':28}{'ours':>9}{'bare':>9}{'ratio':>9}")
    for name in pairs[0]["ours"]:
        ours, bare = ([pair[side][name] for pair in pairs] for side in ("ours", "bare"))
        ratios = [mine / theirs for mine, theirs in zip(ours, bare, strict=True)]
        error = statistics.stdev(ratios) / math.sqrt(len(ratios))
        means = [statistics.fmean(values) for values in (ours, bare, ratios)]
        print(f"{name:28}{means[0]:9.2f}{means[1]:9.2f}{means[2]:9.3f} ± {error:.3f}")


if __name__ == "__main__":
    main()
