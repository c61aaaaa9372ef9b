"""Fixtures shared by all tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelAPI, get_model

from tests.support.builders import run_eval
from tests.support.s3 import bucket
from tests.support.server import LoopbackServer, Script, Serve, hurry

__all__ = ["bucket"]  # a fixture that lives with the other supports

os.environ.setdefault("INSPECT_DISPLAY", "none")

# A busy machine is no reason for a property to fail.
settings.register_profile("clbench", deadline=None)
settings.register_profile("few", deadline=None, max_examples=20)
settings.load_profile("clbench")

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"


@pytest.fixture(scope="session")
def real_data() -> str:
    """The path of the real dataset, on machines that have it."""
    if not REAL_DATA.exists():
        pytest.skip("the real dataset is not on this machine")
    return str(REAL_DATA)


@pytest.fixture(scope="session")
def demo_run(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    """The log of a demo run with three epochs, always the same one.

    The demo's models count their calls: these are no other test's, and one at a time.
    """
    student, judge = (get_model(f"clbench_demo/{name}", memoize=False) for name in ("student", "judge"))
    folder = tmp_path_factory.mktemp("demo")
    log = run_eval("demo", folder, model=student, model_roles={"grader": judge}, epochs=3, max_samples=1)
    assert log.status == "success", log.error
    return log


@pytest.fixture(scope="session")
def demo_log(demo_run: EvalLog) -> str:
    """The path of that log. Read it, copy it, never change it."""
    return demo_run.location


@pytest.fixture
def without_tokenizer(monkeypatch: pytest.MonkeyPatch) -> None:
    """For `run_metrics`, whose model would count tokens with a tokenizer from the network."""

    async def count(self: ModelAPI, *args: object) -> int:
        return 1

    monkeypatch.setattr(ModelAPI, "count_tokens", count)
    monkeypatch.setattr(ModelAPI, "count_text_tokens", count)


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Serve]:
    """Start a scripted server; its models are `openai-api/loop/<name>`, which are asked again at once."""
    hurry(monkeypatch)
    servers: list[LoopbackServer] = []

    def start(script: Script) -> LoopbackServer:
        server = LoopbackServer(script).__enter__()
        servers.append(server)
        monkeypatch.setenv("LOOP_BASE_URL", server.url)
        monkeypatch.setenv("LOOP_API_KEY", "loop-key")
        return server

    yield start
    for server in servers:
        server.__exit__()
