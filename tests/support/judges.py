"""Evals whose answers and verdicts are laid down in a table, through the loopback server."""

import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog

from inspect_clbench.cli import main
from tests.support.builders import row, run_eval, verdict, write_rows
from tests.support.server import Call, Reply, Script

# What a judge says of a student's n-th answer to a task, when asked for the m-th time:
# a letter per rubric (y, n, ?), or "" for no verdict. Solved if there is no n.
Says = Callable[[str, str, str, int, int], str]

_ANSWER = re.compile(r"(\w+) on (\w+), take (\d+)")
_WORDS = {"y": "yes", "n": "no", "?": "perhaps"}


def script(says: Says) -> Script:
    """Students that name themselves, the task and the run; judges that say what they are told.

    A student has nothing to say to a task whose id starts with `mute`.
    """

    def reply(call: Call) -> Reply:
        answer = _ANSWER.search(call.prompt)
        task = re.search(r"TASK=(\w+)", call.prompt)
        if task is not None and task[1].startswith("mute"):
            return Reply("")
        if task is not None:
            return Reply(f"{call.model} on {task[1]}, take {call.attempt}")
        if answer is None:
            return Reply("ready")
        student, task_id, take = answer.groups()
        letters = says(call.model, student, task_id, int(take), call.attempt)
        if not letters:
            return Reply("I would rather not say.")
        return Reply(verdict(int("n" not in letters), [_WORDS[letter] for letter in letters]))

    return reply


def judged_eval(
    log_dir: Path,
    student: str,
    judges: Sequence[str],
    tasks: Sequence[tuple[str, str, str]],
    *,
    epochs: int = 1,
    rubrics: int = 3,
    **kwargs: Any,
) -> EvalLog:
    """Run tasks given as (id, context, sub-category) with one judge or a panel."""
    texts = [f"Rubric {i}." for i in range(rubrics)]
    rows = [row(id, context=c, sub_category=s, rubrics=texts) for id, c, s in tasks]
    log_dir.mkdir(parents=True, exist_ok=True)
    names = [f"openai-api/loop/{judge}" for judge in judges]
    log = run_eval(
        write_rows(log_dir / "rows.jsonl", rows),
        log_dir,
        model=f"openai-api/loop/{student}",
        model_roles={"grader": names if len(names) > 1 else names[0]},
        epochs=epochs,
        max_samples=1,  # the n-th answer of a student is that of run n
        **kwargs,
    )
    assert log.status == "success", log.error
    return log


def clbench(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *arguments: str
) -> tuple[int, str, str]:
    """Run the command through its entry point: exit code, output, errors."""
    monkeypatch.setattr(sys, "argv", ["clbench", *arguments])
    try:
        main()
        code = 0
    except SystemExit as ex:
        code = ex.code if isinstance(ex.code, int) else int(ex.code is not None)
    captured = capsys.readouterr()
    return code, captured.out, captured.err
