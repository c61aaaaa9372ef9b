"""The specs for runners name what exists."""

from inspect import signature
from pathlib import Path
from typing import Any

import inspect_flow.api as flow
import pytest
import yaml

from inspect_clbench import clbench

EXAMPLES = Path(__file__).parents[1] / "examples"


def values(node: Any, key: str) -> list[Any]:
    """All values that stand under a key, at any depth."""
    children = node.items() if isinstance(node, dict) else enumerate(node) if isinstance(node, list) else ()
    return [
        found for name, child in children for found in ([child] if name == key else []) + values(child, key)
    ]


@pytest.mark.parametrize("name", ["flow.yaml", "hawk.yaml", "vllm.yaml"])
def test_arguments_and_orders_fit_the_task(name: str) -> None:
    spec = yaml.safe_load((EXAMPLES / name).read_text("utf-8"))
    orders, connections = values(spec, "cache_order"), values(spec, "max_connections")
    assert len({*orders, *connections}) == 1  # the order is for the run's connections
    arguments = [args for args in values(spec, "args") if "cache_order" in args]
    assert arguments
    assert all(args.keys() <= signature(clbench).parameters.keys() for args in arguments)


def test_flow_reads_its_spec() -> None:
    tasks: list[Any] = [*(flow.load_spec(str(EXAMPLES / "flow.yaml")).tasks or [])]
    assert [task.name for task in tasks] == ["inspect_clbench/clbench"] * 3
    assert {task.args["judge_prompt"] for task in tasks} == {"upstream"}
