"""Runs that were cached, killed or repeated end like an undisturbed one."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from threading import Event

import pytest
from inspect_ai import eval_retry
from inspect_ai.log import list_eval_logs, read_eval_log

from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]

GOOD, BAD = verdict(1, ["yes"] * 3), verdict(0, ["yes", "no", "yes"])


def task_of(call: Call) -> str:
    return call.prompt.rsplit("TASK=", 1)[-1].split()[0]


def steady(call: Call) -> Reply:
    """The verdict depends on the task alone, so that every run must give the same."""
    if call.model == "student":
        return Reply(f"Answer. TASK={task_of(call)} end")
    if "TASK=" not in call.prompt:
        return Reply("ready")
    return Reply(GOOD if int(task_of(call)) % 3 else BAD)


def test_a_second_run_from_the_cache_makes_no_request(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    dataset = write_rows(tmp_path / "rows.jsonl", [row(str(i)) for i in range(6)])

    def script(call: Call) -> Reply:
        if call.model == "judge" and "TASK=2 " in call.prompt and call.attempt == 1:
            return Reply("The first reply is of no use, and it goes into the cache.")
        return steady(call)

    server = serve(script)
    first = run_eval(dataset, tmp_path / "one", epochs=2, cache=True)
    attempts = [
        ((s.scores or {})["rubric_judge"].metadata or {})["judge_attempts"]
        for s in first.samples or []
        if s.id == "2"
    ]
    # whichever run asked first got the useless reply, and was not given it again
    assert sorted(attempts) == [1, 2]
    assert metrics_of(first)["judge_failures"] == 0

    requests = len(server.calls)
    second = run_eval(dataset, tmp_path / "two", epochs=2, cache=True)
    assert len(server.calls) == requests
    assert metrics_of(second) == metrics_of(first)


@pytest.mark.long
def test_a_killed_run_is_completed_by_a_retry(serve: Serve, tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", [row(str(i)) for i in range(12)])
    undisturbed_dir, killed_dir = tmp_path / "whole", tmp_path / "killed"
    killed = Event()

    def slow(call: Call) -> Reply:
        reply = steady(call)
        delay = 0.4 if call.model == "student" and not killed.is_set() else 0.0
        return Reply(reply.text, delay=delay)

    server = serve(slow)
    process = subprocess.Popen(
        [
            sys.executable, "-m", "inspect_ai", "eval", "inspect_clbench/clbench",
            "-T", f"dataset={dataset}", "--model", "openai-api/loop/student",
            "--model-role", "grader=openai-api/loop/judge", "--epochs", "3",
            "--max-connections", "2", "--adaptive-connections", "false", "--log-dir", str(killed_dir),
            "--log-buffer", "1", "--display", "none",
        ],
        env=os.environ.copy(),
    )  # fmt: skip
    deadline = time.monotonic() + 90
    while len(server.calls_of("judge")) < 14 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    killed.set()
    (info,) = list_eval_logs(str(killed_dir))
    done_before = read_eval_log(info.name, header_only=True).status
    assert done_before == "started"

    (retried,) = eval_retry(info.name, log_dir=str(tmp_path / "again"), display="none")
    assert retried.status == "success"
    keys = Counter((s.id, s.epoch) for s in retried.samples or [])
    assert set(keys) == {(str(i), epoch) for i in range(12) for epoch in (1, 2, 3)}
    assert set(keys.values()) == {1}
    asked = Counter(task_of(call) for call in server.calls_of("student"))
    assert sum(asked.values()) < 2 * 36 - 8, "what was finished is not asked again"
    assert metrics_of(retried) == metrics_of(run_eval(dataset, undisturbed_dir, epochs=3))
