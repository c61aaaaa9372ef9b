"""The README must not lie: its commands, options, metrics, files and figures exist."""

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main
from inspect_ai.log import EvalLog

import inspect_clbench
from inspect_clbench.cli import app

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
CODE = [
    *re.findall(r"^    (\S.*)$", README, re.MULTILINE),
    *re.findall(r"`([^`\n]+)`", README),
]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a click group


def options_of(command: str) -> set[str]:
    return {name for option in COMMANDS[command].params for name in option.opts}


@pytest.mark.parametrize("line", [c for c in CODE if c.startswith("clbench ")])
def test_every_clbench_command_and_option_exists(line: str) -> None:
    _, command, *words = line.split("#")[0].split()
    assert command in COMMANDS
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= options_of(command)


def test_every_option_of_a_table_row_belongs_to_its_command() -> None:
    rows = re.findall(r"^\| `clbench (\S+)[^`]*` \| (.*) \|$", README, re.MULTILINE)
    assert len(rows) > 10
    for command, text in rows:
        for option in re.findall(r"`(--[a-z-]+)", text):
            assert option in options_of(command), f"{command} {option}"


def test_every_command_is_described() -> None:
    described = set(re.findall(r"`clbench ([a-z-]+)", README))
    assert set(COMMANDS) <= described


def test_task_and_scorer_parameters_exist() -> None:
    tasks = inspect.signature(inspect_clbench.clbench).parameters
    for name in re.findall(r"-T (\w+)=", README):
        assert name in tasks
    documented = set(re.findall(r"`-T (\w+)=`", README))
    assert set(tasks) <= documented
    steps: list[Callable[..., Any]] = [
        inspect_clbench.rubric_judge,
        inspect_clbench.error_types,
        inspect_clbench.replay,
    ]
    known = {name for step in steps for name in inspect.signature(step).parameters}
    for name in re.findall(r"-S (\w+)=", README):
        assert name in known


def test_every_metric_exists_and_is_described(demo_run: EvalLog) -> None:
    assert demo_run.results is not None
    real = set(demo_run.results.scores[0].metrics)
    table = README.split("| metric | meaning |")[1].split("\n\n")[0]
    described = set(re.findall(r"`([a-z_]+)`", table))
    assert described <= real
    assert {name for name in real if name.islower()} <= described


def test_the_published_prompt_is_the_one_in_use() -> None:
    prompt = ROOT / "src" / "inspect_clbench" / "judge" / "error_types.txt"
    assert prompt.read_text("utf-8").strip() in README


def test_targets_and_files_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for target in re.findall(r"^    make (\w+)", README, re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    for link in re.findall(r"\]\(([^)#]+)\)", README):
        if "://" not in link:
            assert (ROOT / link).exists(), link
    for path in re.findall(r"`((?:tests|examples|benchmarks)/[\w./]*)`", README):
        assert (ROOT / path).exists(), path


def test_the_figures_of_the_full_run_are_those_of_its_receipt() -> None:
    receipt = (ROOT / "benchmarks" / "results" / "faults.txt").read_text("utf-8")
    rows = re.findall(
        r"^(\S.*?)\s{2,}(\d+)\s+[\d.]+\s+\{'(.*?)': (\d+)\}$", receipt, re.MULTILINE
    )
    sums = {"none": 0, "passed": 0, "failed": 0, "empty": 0}
    for name, _, outcome, count in rows:
        kind = {"I grader_failed": "failed", "I no_response": "empty"}.get(outcome, "passed")
        sums["none" if name == "none" else kind] += int(count)
    text = " ".join(README.split("## Reliability")[1].split())
    assert f"{sum(sums.values())} of {sum(sums.values())} rows were counted" in text
    assert f"{sums['none']:,} without a fault" in text
    assert f"{sums['passed']} with a fault that passes" in text
    assert f"{sums['failed']} had judges that never gave a verdict" in text
    assert f"{sums['empty']} had empty answers" in text
    assert f"one percent of each of {len(rows) - 1} faults" in text


def test_the_figures_of_the_cache_order_are_those_of_its_receipt() -> None:
    receipt = (ROOT / "benchmarks" / "results" / "cache_order.txt").read_text("utf-8")
    rows = {
        (connections, order.split("=")[0]): (float(cached), ratio)
        for connections, order, cached, ratio in re.findall(
            r"^ +(20|100)  (\S+) +([\d.]+) .* ([\d.]+)$", receipt, re.MULTILINE
        )
    }
    ours, files = ([rows[n, order] for n in ("20", "100")] for order in ("cache_order", "file"))
    text = " ".join(README.split("**Prompt caches.**")[1].split())
    assert f"{ours[0][0]:.3f} and {ours[1][0]:.3f} of all prompt tokens" in text
    assert f"in the file's order {files[0][0]:.3f} and {files[1][0]:.3f}" in text
    assert f"wall time {ours[0][1]} and {ours[1][1]} of the file order's" in text


def test_the_figures_of_the_overhead_are_those_of_its_receipt() -> None:
    receipt = (ROOT / "benchmarks" / "results" / "overhead.txt").read_text("utf-8")
    rows = re.findall(
        r"^ *\S.*? {2,}([\d.]+) +([\d.]+) +([\d.]+)(?: +(± [\d.]+))?(?: +[\d.]+)?$",
        receipt,
        re.MULTILINE,
    )
    text = " ".join(README.split("**What it costs beside Inspect.**")[1].split())
    assert len(rows) == 8
    for ours, bare, ratio, error in rows[:6]:
        assert f"| {ours} | {bare} | {ratio} {error} |" in text
    full, live = rows[6][2], rows[7][2]
    assert f"took {full} of the ideal time" in text
    assert f"costs {live} times the CPU" in text
    (metrics,) = re.findall(r"all metrics, 5,697 scores +([\d.]+)", receipt)
    assert f"all metrics take {metrics} ms" in text


def test_the_figures_of_reading_are_those_of_their_receipt() -> None:
    receipt = (ROOT / "benchmarks" / "results" / "reading.txt").read_text("utf-8")
    (ratio,) = re.findall(r"^ratio +([\d.]+)", receipt, re.MULTILINE)
    assert f"takes {ratio} of the CPU" in " ".join(README.split())
