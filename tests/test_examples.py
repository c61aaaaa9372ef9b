"""The examples, each read by the tool that it is for."""

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from inspect_ai.log import list_eval_logs, read_eval_log

from tests.support.builders import verdict
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply

EXAMPLES = Path(__file__).parents[1] / "examples"
NAMES = ["flow.yaml", "hawk.yaml", "vllm.yaml"]


def _values(node: Any, key: str) -> list[Any]:
    """All values that stand under a key, at any depth."""
    if isinstance(node, dict):
        found = [value for name, value in node.items() if name == key]
        return found + [v for child in node.values() for v in _values(child, key)]
    if isinstance(node, list):
        return [v for child in node for v in _values(child, key)]
    return []


@pytest.mark.parametrize("name", NAMES)
def test_the_order_is_for_the_connections_of_the_run(name: str) -> None:
    example = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    orders, connections = _values(example, "cache_order"), _values(example, "max_connections")
    assert orders
    assert connections
    assert len({*orders, *connections}) == 1


@pytest.fixture
def flow() -> Any:
    return pytest.importorskip(
        "inspect_flow.api", reason="inspect-flow is not installed (pip install inspect-flow)"
    )


def test_flow_loads_its_spec(flow: Any) -> None:
    spec = flow.load_spec(str(EXAMPLES / "flow.yaml"))
    assert [task.name for task in spec.tasks] == ["inspect_clbench/clbench"] * 3
    assert {task.epochs for task in spec.tasks} == {3}
    for task in spec.tasks:
        assert task.args == {"judge_prompt": "upstream", "cache_order": 20}
        assert task.model_roles["grader"].name == "openai/gpt-5.1"
        assert task.model_roles["grader"].config.reasoning_effort == "low"


def test_flow_runs_its_spec(flow: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # Flow runs a spec with uv, which is installed beside this Python.
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    spec = flow.load_spec(str(EXAMPLES / "flow.yaml"))
    # The first task as it stands, with the demo in place of models and dataset.
    demo = spec.tasks[0].model_copy(
        update={
            "args": {"dataset": "demo", "cache_order": 20},
            "model": "clbench_demo/student",
            "model_roles": {"grader": "clbench_demo/judge"},
        }
    )
    monkeypatch.chdir(tmp_path)
    result = flow.run(
        spec.model_copy(
            update={"tasks": [demo], "log_dir": str(tmp_path / "logs"), "store": None}
        )
    )
    assert result.success
    (log,) = result.logs
    assert log.eval.config.epochs == 3
    assert log.eval.task_args["cache_order"] == 20


def test_hawk_reads_its_spec() -> None:
    types = pytest.importorskip(
        "hawk.core.types", reason="hawk is not installed (Python 3.13: pip install hawk)"
    )
    example = yaml.safe_load((EXAMPLES / "hawk.yaml").read_text("utf-8"))
    config = types.EvalSetConfig.model_validate(example)
    assert not config.model_extra, "hawk does not know these settings"
    (package,) = config.tasks
    assert package.name == "inspect_clbench"  # the entry point's name
    assert [task.name for task in package.items] == ["clbench"]
    assert config.epochs == 3
    grader = config.model_roles["grader"].items[0]
    assert grader.args.parsed_config.reasoning_effort == "low"


def test_the_names_for_hawk_are_those_of_the_package() -> None:
    from importlib.metadata import entry_points

    from inspect_clbench import _registry

    example = yaml.safe_load((EXAMPLES / "hawk.yaml").read_text("utf-8"))
    (package,) = example["tasks"]
    (entry,) = entry_points(group="inspect_ai", name=package["name"])
    assert entry.dist is not None
    assert entry.dist.name == package["package"]
    assert all(hasattr(_registry, item["name"]) for item in package["items"])


@pytest.mark.long
def test_vllm_servers_answer_and_judge(
    serve: Callable[[Callable[[Call], Reply]], LoopbackServer], tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        is_judge = call.model == "openai/gpt-oss-120b"
        return Reply(verdict(1, ["yes"]) if is_judge else "An answer.")

    server = serve(script)
    config = (EXAMPLES / "vllm.yaml").read_text("utf-8")
    for host in ("http://student:8000/v1", "http://judge:8000/v1"):
        assert config.count(host) == 1
        config = config.replace(host, server.url)
    (tmp_path / "vllm.yaml").write_text(config, "utf-8")
    run = inspect(
        *("eval", "--run-config", "vllm.yaml"),
        *("-T", "dataset=demo", "--limit", "2", "--display", "none"),
        cwd=tmp_path,
        env={**os.environ, "INSPECT_LOG_DIR": str(tmp_path / "logs"), "VLLM_API_KEY": "none"},
    )
    assert run.exit_code == 0, run.stdout + run.stderr
    (info,) = list_eval_logs(str(tmp_path / "logs"))
    log = read_eval_log(info)
    assert log.status == "success", log.error
    assert log.eval.model == "vllm/Qwen/Qwen3-32B"
    assert log.eval.config.epochs == 3
    assert len(server.calls_of("Qwen/Qwen3-32B")) == 6
    judged = [c for c in server.calls_of("openai/gpt-oss-120b") if "An answer." in c.prompt]
    assert len(judged) == 6
    assert {call.body.get("reasoning_effort") for call in judged} == {"low"}
