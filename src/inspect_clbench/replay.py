"""The solver `replay`: answers out of inference files of the original scripts, to be judged."""

from collections.abc import Sequence

from inspect_ai.log import EvalSpec, transcript
from inspect_ai.model import ModelOutput
from inspect_ai.solver import Generate, Solver, TaskState, solver

from inspect_clbench.benchmarks import ANSWER_EVENT
from inspect_clbench.data.rows import task_of
from inspect_clbench.data.sources import read_file
from inspect_clbench.errors import ClbenchError

_NAME = "inspect_clbench/replay"


@solver
def replay(files: str | list[str] = "") -> Solver:
    """Give the answers that stand in inference files; no model is called.

    Use it with `--model none/NAME`, NAME being the model that gave the answers, and as many
    epochs as there are files.

    Args:
        files: Inference files of the original scripts, one per run: the n-th file is epoch n.
            Paths or URLs, also compressed.
    """
    paths = _paths(files)
    runs = [read_answers(path) for path in paths]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        answer = runs[state.epoch - 1].get(str(state.sample_id))
        if answer is None:
            raise ClbenchError(
                f"{paths[state.epoch - 1]}: no row for task {state.sample_id}. Add it to the file and complete "
                "the run with: inspect eval-retry LOG"
            )
        # An empty answer too needs a choice: without one it passes for a sample that was never answered.
        state.output = ModelOutput.from_content(str(state.model), answer, stop_reason="unknown")
        state.messages.append(state.output.message)
        # No model was called, so that the transcript would not show the answer.
        transcript().info(answer, source="answer")
        state.output.message.metadata = {ANSWER_EVENT: transcript().events[-1].uuid}
        return state

    return solve


def read_answers(path: str) -> dict[str, str]:
    """The answers of an inference file by task id; "" for a null."""
    answers: dict[str, str] = {}
    for number, record in read_file(path):
        place = f"{path}, row {number}"
        task_id = task_of(record)
        if task_id is None:
            raise ClbenchError(f"{place}: neither metadata.task_id nor idx names a task.")
        if task_id in answers:
            raise ClbenchError(f"{place}: a second answer to task {task_id}; remove one of the rows.")
        answer = record.get("model_output", 0)
        if not isinstance(answer, str | None):
            raise ClbenchError(f"{place}, task {task_id}: model_output must be there, a text or null.")
        answers[task_id] = answer or ""
    if not answers:
        raise ClbenchError(f"{path}: the file has no rows.")
    return answers


def check_replay(task: EvalSpec, epochs: int) -> None:
    """Compare the number of replayed files with that of the runs, if a run replays files.

    Inspect does not tell a solver the epochs of its run.
    """
    if task.solver != _NAME:
        return
    number = len(_paths((task.solver_args or {}).get("files", "")))
    if number != epochs:
        raise ClbenchError(
            f"replay: each run needs a file of its own (files {number}, epochs {epochs}). Use --epochs {number}."
        )


def _paths(files: str | Sequence[str]) -> list[str]:
    # A command line makes one text or a list of what it is given.
    paths = [str(path).strip() for path in ([files] if isinstance(files, str) else files)]
    if not all(paths) or not paths:
        raise ClbenchError("replay: name the files, one per run: -S files=run1.jsonl,run2.jsonl")
    return paths
