"""Several models with `inspect eval-set`, logs on S3, killed and resumed."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from inspect_ai.log import list_eval_logs, read_eval_log

from inspect_clbench.analysis import report
from tests.support.builders import metrics_of, row, verdict, write_rows
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
TASKS = 8


@pytest.mark.long
def test_a_killed_eval_set_on_s3_is_resumed(serve: Serve, bucket: str, tmp_path: Path) -> None:
    killed = Event()

    def script(call: Call) -> Reply:
        if call.model.startswith("student"):
            return Reply(f"Answer of {call.model}.", delay=0.0 if killed.is_set() else 0.5)
        return Reply(verdict(1, ["yes"] * 3))

    server = serve(script)
    folder = f"s3://{bucket}/set"
    dataset = write_rows(tmp_path / "rows.jsonl", [row(f"t{i}") for i in range(TASKS)])
    command = [
        "eval-set", "inspect_clbench/clbench",
        "-T", f"dataset={dataset}", "--log-dir", folder, "--display", "none",
        "--model", "openai-api/loop/student-a,openai-api/loop/student-b",
        "--model-role", "grader=openai-api/loop/judge", "--max-tasks", "1",
        "--max-connections", "1", "--adaptive-connections", "false", "--log-buffer", "1",
    ]  # fmt: skip
    python = [sys.executable, "-m", "inspect_ai"]
    process = subprocess.Popen([*python, *command], env=os.environ.copy())
    deadline = time.monotonic() + 90
    while len(server.calls_of("judge")) < TASKS + 4 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.set()
    asked = [len(server.calls_of(f"student-{name}")) for name in "ab"]
    assert sum(asked) < 2 * TASKS, "killed in the middle"

    done = inspect(*command)
    assert done.exit_code == 0, done.stdout + done.stderr
    logs = [read_eval_log(info) for info in list_eval_logs(folder)]
    complete = [log for log in logs if log.status == "success"]
    assert {log.eval.model for log in complete} == {
        "openai-api/loop/student-a",
        "openai-api/loop/student-b",
    }
    for log in complete:
        assert len(log.samples or []) == TASKS
        assert metrics_of(log)["solving_rate"] == 1.0
    (table,) = report([folder]).tables
    assert [row.model for row in table.rows] == [
        log.eval.model for log in sorted(complete, key=lambda log: log.eval.created)
    ]
    # the finished model is not asked again
    assert len(server.calls_of("student-a")) + len(server.calls_of("student-b")) < 2 * TASKS + 6
