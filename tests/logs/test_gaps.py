"""What is missing of a split run is named, and no part of it is empty by mistake."""

from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import list_eval_logs

from inspect_clbench import clbench
from inspect_clbench.analysis import load_series, report
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.export import export
from inspect_clbench.output import tables_of
from tests.support.builders import row, write_rows
from tests.support.logs import make_log
from tests.support.programs import inspect


def gaps(folder: Path) -> tuple[str, ...]:
    (series,) = load_series(str(folder))
    return series.gaps


def test_ranges_that_no_part_is_of(tmp_path: Path) -> None:
    make_log(tmp_path, "demo", limit=(4, 9))
    make_log(tmp_path, "demo", limit=(12, 20))
    assert gaps(tmp_path) == (
        "13 of 24 tasks (missing: --limit 1-4, --limit 10-12, --limit 21-24)",
    )
    make_log(tmp_path, "demo", limit=(9, 12))
    make_log(tmp_path, "demo", limit=4)
    assert gaps(tmp_path) == ("20 of 24 tasks (missing: --limit 21-24)",)
    make_log(tmp_path, "demo", limit=(20, 1000))
    assert gaps(tmp_path) == ()
    (table,) = tables_of(report(str(tmp_path)))
    assert not any("incomplete" in str(note) for note in table.notes)


def test_categories_that_no_part_is_of(tmp_path: Path) -> None:
    names = ["Domain Knowledge Reasoning", "Procedural Task Execution"]
    make_log(tmp_path, "demo", task_args={"category": names})
    make_log(tmp_path, "demo", limit=2, task_args={"category": "Rule System Application"})
    (gap,) = gaps(tmp_path)
    assert "(missing: Empirical Discovery & Simulation, --limit 3-" in gap
    assert gap.endswith(" of Rule System Application)")


def test_sub_categories_that_no_part_is_of(tmp_path: Path) -> None:
    make_log(tmp_path, "demo", task_args={"sub_category": ["Finance", "Science"]})
    (gap,) = gaps(tmp_path)
    assert "Healthcare" in gap
    assert "Finance" not in gap
    assert gap.endswith(" and 11 more)")


def test_samples_chosen_otherwise_have_no_ranges(tmp_path: Path) -> None:
    task = clbench(dataset="demo")
    make_log(tmp_path, "demo", sample_id=[str(task.dataset[i].id) for i in (1, 3)])
    assert gaps(tmp_path) == ("2 of 24 tasks",)


def test_machines_may_keep_their_copies_in_different_places(tmp_path: Path) -> None:
    rows = [row(f"t{i}") for i in range(6)]
    for name, limit in {"a": (0, 2), "b": (3, 5)}.items():
        make_log(tmp_path / "logs", write_rows(tmp_path / f"{name}.jsonl", rows), limit=limit)
    (gap,) = gaps(tmp_path / "logs")
    assert gap == "4 of 1,899 tasks (missing: --limit 3-3, --limit 6-6)"


def test_an_estimate_is_not_incomplete_but_for_an_export(tmp_path: Path) -> None:
    make_log(tmp_path / "logs", "demo", task_args={"contexts": 8})
    assert gaps(tmp_path / "logs") == ()
    (series,) = load_series(str(tmp_path / "logs"))
    (exported,) = export([str(tmp_path / "logs")], tmp_path / "out")
    held = len(series.tasks)
    assert f"incomplete: drawn for an estimate, {held} of 24 tasks" in exported.notes


def test_an_estimate_of_a_part_says_so(tmp_path: Path) -> None:
    rows = [row(f"t{i}", context=f"c{i}") for i in range(4)]
    make_log(tmp_path / "logs", rows, task_args={"contexts": 2})
    assert gaps(tmp_path / "logs") == ("drawn from 4 of 1,899 tasks only",)


@pytest.mark.parametrize("seed", ["abc", 1.5, True, None])
def test_a_seed_is_a_whole_number(seed: Any) -> None:
    with pytest.raises(ClbenchError, match=f"seed={seed}: give a whole number"):
        clbench(dataset="demo", seed=seed)


def test_the_command_line_counts_from_one(tmp_path: Path) -> None:
    def run(limit: str) -> str:
        done = inspect(
            "eval", "inspect_clbench/clbench", "-T", "dataset=demo",
            "--model", "clbench_demo/student", "--model-role", "grader=clbench_demo/judge",
            "--limit", limit, "--log-dir", str(tmp_path), "--display", "plain",
        )  # fmt: skip
        return " ".join((done.stdout + done.stderr).split())

    assert "Inspect counts --limit from 1" in run("0-12")
    assert list_eval_logs(str(tmp_path)) == []
    run("1-12")
    run("13-24")
    assert gaps(tmp_path) == ()
