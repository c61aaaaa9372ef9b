"""Runs that cannot succeed: one message, an exit code and no log."""

import os
from pathlib import Path

import pytest
from inspect_ai import eval, task_with
from inspect_ai.log import list_eval_logs, read_eval_log

from inspect_clbench import clbench
from tests.support.answers import write_lines
from tests.support.builders import row, write_rows
from tests.support.command import Result
from tests.support.programs import inspect


def run(folder: Path, *arguments: str) -> Result:
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    return inspect(
        "eval", "inspect_clbench/clbench", "--model", "mockllm/model", *arguments,
        "--log-dir", str(folder / "logs"), "--display", "plain", cwd=folder, env=env,
    )  # fmt: skip


def rows(folder: Path) -> str:
    return write_rows(folder / "rows.jsonl", [row("t1"), row("t2")])


REPLAY = ("--solver", "inspect_clbench/replay", "-T", "dataset=demo")


@pytest.mark.long
@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("-T", "dataset=rows.jsonl"), "The judge cannot work: role grader, model openai/gpt-5.1."),
        (
            ("-T", "dataset=demo", "--model-role", "judge=clbench_demo/judge"),
            "Nothing asks for the model role judge: the judge's role is called grader.",
        ),
        (("-T", "dataset=demo", "--limit", "30-40"), "No sample was chosen for this run."),
        (("-T", "dataset=demo", "--batch", "10"), "--batch: an answer may take a day"),
        (("-T", "dataset=demo", "-T", "seed=3"), "seed=3: there is nothing to draw"),
        (REPLAY, "replay: name the files, one per run"),
        ((*REPLAY, "-S", "files=none.jsonl"), "none.jsonl: no such file."),
        (
            (*REPLAY, "-S", "files=run1.jsonl", "--epochs", "2"),
            "replay: 1 file(s) for 2 epoch(s)",
        ),
    ],
    ids=["no key", "wrong role", "limit", "batch", "seed", "no files", "no file", "epochs"],
)  # fmt: skip
def test_a_run_that_cannot_succeed_is_refused_without_a_log(
    arguments: tuple[str, ...], words: str, tmp_path: Path
) -> None:
    rows(tmp_path)
    write_lines(tmp_path / "run1.jsonl", [{"idx": "t1", "model_output": "x"}])
    done = run(tmp_path, *arguments)
    printed = " ".join((done.stdout + done.stderr).split())
    assert done.exit_code == 1
    assert words in printed
    assert "Traceback" not in printed
    assert not list_eval_logs(str(tmp_path / "logs"))


@pytest.mark.parametrize("role", ["judge", "Scorer", "graders", "evaluator"])
def test_a_role_like_the_judges_is_refused_from_python_too(role: str, tmp_path: Path) -> None:
    (log,) = eval(
        clbench(dataset="demo"),
        model="clbench_demo/student",
        model_roles={role: "clbench_demo/judge"},
        limit=1,
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "error"
    assert f"Nothing asks for the model role {role}" in str(log.error)


def test_other_roles_are_the_users_own(tmp_path: Path) -> None:
    (log,) = eval(
        clbench(dataset="demo"),
        model="clbench_demo/student",
        model_roles={"critic": "clbench_demo/judge"},
        limit=1,
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success"
    # The demo's judge is the demo's default.
    assert log.eval.model_roles is not None
    grader = log.eval.model_roles["grader"]
    assert not isinstance(grader, list)
    assert grader.model == "clbench_demo/judge"


WRAPPED = """
from inspect_ai import Task, task, task_with
from inspect_clbench import clbench

@task
def mine() -> Task:
    return task_with(clbench(dataset="rows.jsonl"), model_roles={"grader": "clbench_demo/judge"})
"""


@pytest.mark.long
def test_a_tasks_own_grader_counts(tmp_path: Path) -> None:
    rows(tmp_path)
    (tmp_path / "mine.py").write_text(WRAPPED)
    env = {name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")}
    folder = str(tmp_path / "logs")
    done = inspect(
        "eval", "mine.py", "--model", "clbench_demo/student", "--log-dir", folder,
        "--display", "plain", cwd=tmp_path, env=env,
    )  # fmt: skip
    assert done.exit_code == 0
    (log,) = list_eval_logs(folder)
    assert read_eval_log(log, header_only=True).status == "success"


def test_samples_can_be_taken_by_hand() -> None:
    dataset = clbench(dataset="demo").dataset
    assert len(dataset[100:200]) == 0
    assert len(task_with(clbench(dataset="demo"), name="x").dataset[:3]) == 3
