"""The solvers `replay` and `generate_by_context`.

`replay` gives answers out of inference files of the original scripts, so that they can be
judged, and compared with answers of a run, without paying for them again.
"""

from collections.abc import Mapping, Sequence
from logging import getLogger
from pathlib import Path
from typing import Any, Literal

import click
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec, transcript
from inspect_ai.model import GenerateConfigArgs, ModelOutput, get_model
from inspect_ai.solver import Generate, Solver, TaskState, solver

from inspect_clbench.benchmarks import ANSWER_EVENT
from inspect_clbench.data.rows import answered_task
from inspect_clbench.data.sources import read_file_rows, replayed_model
from inspect_clbench.errors import ClbenchError
from inspect_clbench.text import printable, some

logger = getLogger(__name__)

NAME = "inspect_clbench/replay"


@solver
def replay(files: str | list[str] = "", model_name: str | None = None) -> Solver:
    """Give the answers that stand in inference files; no model is called.

    Use it with `--model none/NAME`, NAME being the model that gave the answers, and as
    many epochs as there are files. Rows are matched by `metadata.task_id`, or by `idx`
    where they have no metadata.

    Args:
        files: Inference files of the original scripts, one per run: the n-th file is
            epoch n. Paths or URLs, also compressed (.gz, .xz, .zst).
        model_name: The name of the model in tables, if not that of `--model none/NAME`;
            with `--model none` it is taken from the files' names.
    """
    paths = _paths(files)
    if (epochs := _epochs_of_command()) not in (None, len(paths)):
        raise _count_error(len(paths), epochs)
    runs = [_read(path) for path in paths]

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        if state.epoch > len(runs):
            raise _count_error(len(runs), state.epoch)
        answers = runs[state.epoch - 1]
        if state.sample_id not in answers:
            raise ClbenchError(
                f"{paths[state.epoch - 1]}: no row for task {state.sample_id}. Add it to the "
                "file and complete the run with: inspect eval-retry LOG"
            )
        # An empty answer too needs a choice: without one it passes for a sample that
        # was never answered.
        name = replayed_model(paths, str(state.model), model_name)
        answer = answers[str(state.sample_id)]
        state.output = ModelOutput.from_content(name, answer)
        state.messages.append(state.output.message)
        # No model was called, so that the transcript would not show the answer.
        transcript().info(answer, source="answer")
        state.output.message.metadata = {ANSWER_EVENT: transcript().events[-1].uuid}
        return state

    return solve


# How providers are told which requests to send to the same machine, where Inspect lets a caller
# say so. It sends each sample's own id, so that siblings, which share most of their prompts, may
# come to machines whose caches do not know them.
_AFFINITY: dict[str, tuple[Literal["extra_headers", "extra_body"], str]] = {
    "openrouter": ("extra_headers", "x-session-id"),
    "fireworks": ("extra_headers", "x-session-affinity"),
    "meta": ("extra_body", "prompt_cache_key"),
}


@solver
def generate_by_context() -> Solver:
    """Call the model once, as Inspect's `generate` does, with the context as the cache's key.

    Providers that route requests by a key (OpenRouter, Fireworks, Meta) get the context's id
    in place of the sample's, so that tasks of a context find what their siblings left in the
    prompt cache. To other providers it makes no difference. It is the solver of a task with
    `cache_order`.
    """

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        settings: GenerateConfigArgs = {}
        context = state.metadata.get("context_id")
        if context and (found := _AFFINITY.get(state.model.api)):
            field, name = found
            own = getattr(get_model().config, field) or {}
            settings[field] = {name: str(context), **own}
        # No tools: a model that calls some all the same would be asked again for ever.
        return await generate(state, tool_calls="none", **settings)

    return solve


def _epochs_of_command() -> int | None:
    """The epochs that `inspect eval` was given, if it runs and no file gives them.

    Known early it is one message; at the start of the run it is a log with a traceback.
    """
    command = click.get_current_context(silent=True)
    if command is None or command.info_name != "eval" or command.params.get("run_config"):
        return None
    return command.params.get("epochs", 0) or 1


def check_replay(task: EvalSpec, samples: Sequence[Sample], epochs: int) -> None:
    """Compare replayed files with the run they are for, if this is such a run.

    Inspect tells a solver neither the epochs nor the tasks of its run.
    """
    if task.solver != NAME:
        return
    paths = _paths((task.solver_args or {})["files"])
    if len(paths) != epochs:
        raise _count_error(len(paths), epochs)
    tasks = {str(sample.id) for sample in samples}
    for path in paths:
        answers = _read(path)
        unknown = [task_id for task_id in answers if task_id not in tasks]
        if len(unknown) == len(answers):
            raise ClbenchError(
                f"{path}: none of its {len(answers):,} rows fits a task of this run (the "
                f"first: {unknown[0]}). Is it a file of another dataset?"
            )
        if unknown:
            logger.warning(
                "%s: %d of %d rows fit no task of this run and are left out (%s). That is "
                "as it should be with --limit or a category.",
                printable(path), len(unknown), len(answers), printable(some(unknown)),
            )  # fmt: skip
        if missing := sorted(tasks - answers.keys()):
            logger.warning(
                "%s: no row for %d of %d tasks (%s). They become errors, not zeros.",
                printable(path), len(missing), len(tasks), printable(some(missing)),
            )  # fmt: skip


def _paths(files: Any) -> list[str]:
    # A command line may have made the argument one or many.
    paths = [files] if isinstance(files, str | Path) else list(files or ())
    named = [str(path).strip() for path in paths]
    if not named or not all(named):
        raise ClbenchError(
            "replay: name the files, one per run: -S files=run1.jsonl,run2.jsonl"
        )
    return named


def _count_error(files: int, epochs: int) -> ClbenchError:
    return ClbenchError(
        f"replay: {files} file(s) for {epochs} epoch(s), but each run needs a file of its "
        f"own. Use --epochs {files}, or name as many files as epochs."
    )


def _read(path: str) -> Mapping[str, str]:
    """The answers of a file by task id; "" for a null. Nothing else of a row is kept."""
    answers: dict[str, str] = {}
    rows: dict[str, int] = {}
    for number, record in read_file_rows(path):
        where = f"{path}, row {number}"
        task_id = answered_task(record, where)
        if (earlier := rows.setdefault(task_id, number)) != number:
            raise ClbenchError(
                f"{where}: task {task_id} already stands in row {earlier}. A run has one "
                "answer per task; remove one of the rows."
            )
        if "model_output" not in record:
            raise ClbenchError(f"{where}, task {task_id}: the row has no model_output.")
        answer = record["model_output"]
        if not isinstance(answer, str | None):
            raise ClbenchError(
                f"{where}, task {task_id}: model_output must be text or null, this one is "
                f"{type(answer).__name__}."
            )
        answers[task_id] = answer or ""
    if not answers:
        raise ClbenchError(f"{path}: the file has no rows.")
    return answers
