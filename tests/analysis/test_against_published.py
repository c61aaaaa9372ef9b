"""One's own runs beside a published row."""

import json
import math
from pathlib import Path

import pytest

from inspect_clbench.analysis import AgainstPublished, compare
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import render, sentence
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log

NAME = "published:GPT 5.1 (High)"
ROWS = [row(f"t{i}.{j}", context=f"c{i}") for i in range(4) for j in range(2)]
SOLVED = ("t0.0", "t0.1", "t1.0")


def write(folder: Path, model: str, solved: tuple[str, ...] = SOLVED) -> str:
    ids = [one["metadata"]["task_id"] for one in ROWS]
    plan = {id: ["yyy" if id in solved else "yny"] for id in ids}
    return make_log(folder, ROWS, plan, model=model).location


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(tmp_path_factory.mktemp("against"), "alpha")


def against(*paths: str) -> AgainstPublished:
    found = compare(*paths)
    assert isinstance(found, AgainstPublished)
    return found


def test_both_errors_and_the_interval_by_hand(log: str) -> None:
    overall, category = against(log, NAME).groups
    # Contexts of two tasks solve 2, 1, 0, 0; less 2 · 3/8: 5/4, 1/4, -3/4, -3/4.
    variance = (25 + 1 + 9 + 9) / 16 * (4 / 3) / 8**2
    assert overall.rate == 0.375
    assert overall.stderr == pytest.approx(math.sqrt(variance))
    # Design effect: that variance over the one of eight independent tasks.
    effect = variance / (0.375 * 0.625 / 8)
    published = math.sqrt(0.237 * 0.763 / 1903 * effect)
    assert (overall.published_rate, overall.published_std) == (0.237, 0.005)
    assert overall.published_stderr == pytest.approx(published)
    both = math.sqrt(variance + published**2)
    assert overall.difference == pytest.approx(0.138)
    # Student's t with 3 degrees of freedom: 3.182446 at 97.5 %.
    assert overall.low == pytest.approx(0.138 - 3.182446 * both, abs=1e-6)
    assert overall.high == pytest.approx(0.138 + 3.182446 * both, abs=1e-6)
    # The category's published rate is 25.3 ± 1.3 over its 663 tasks.
    assert category.group == "Domain Knowledge Reasoning"
    assert category.published_stderr == pytest.approx(math.sqrt(0.253 * 0.747 / 663 * effect))


def test_without_a_design_effect_tasks_of_a_context_count_as_one(tmp_path: Path) -> None:
    # Every context solves one of its two tasks: no error to be had.
    alike = write(tmp_path, "alike", ("t0.0", "t1.0", "t2.0", "t3.0"))
    overall, _ = against(alike, NAME).groups
    assert (overall.stderr, overall.low, overall.p) == (None, None, None)
    assert overall.published_stderr == pytest.approx(math.sqrt(0.237 * 0.763 / 1903 * 2))


def test_the_std_over_runs_is_the_least_error(tmp_path: Path) -> None:
    # Of eight contexts seven solve one of two tasks and one both: a design effect of a quarter.
    rows = [
        row(f"t{i}.{j}", context=f"c{i}", sub_category="Experimental Data")
        for i in range(8)
        for j in range(2)
    ]
    plan = {f"t{i}.{j}": ["yyy" if j == 0 or i == 0 else "yny"] for i in range(8) for j in range(2)}  # fmt: skip
    _, category = against(make_log(tmp_path, rows, plan).location, NAME).groups
    # Published: 18.1 ± 3.1 over three runs.
    assert category.published_stderr == pytest.approx(0.031 / math.sqrt(3))


def test_what_people_read(log: str) -> None:
    found = against(log, NAME)
    assert sentence(found) == (
        "These data cannot tell mockllm/alpha from the published GPT 5.1 (High): it solves 13.8 "
        "points more (95 % interval −62.5 to 90.1, p = 0.605, unpaired)."
    )
    text = " ".join(render(found, width=80).split())
    for part in (
        "1,903 tasks, of which 1,899 are public",
        "another judge (mockllm/judge, not gpt-5.1)",
        "incomplete, 8 of 1,899 tasks",
        "design effect of the own runs",
        "nearly the same tasks",
    ):
        assert part in text
    frame = found.to_pandas()
    assert list(frame["group"]) == ["Overall", "Domain Knowledge Reasoning"]
    assert frame["difference"][0] == pytest.approx(0.138)


def test_the_command(log: str) -> None:
    code, out, _ = clbench("compare", log, "published:gpt 5.1 (high)", "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["rows"][0]["Difference"] == pytest.approx(0.138)
    # A row of the leaderboard that the paper does not have, without a std.
    assert "Hy3 preview" in clbench("compare", log, "published:Hy3 preview").stdout


def test_names_and_numbers_that_do_not_fit(log: str, tmp_path: Path) -> None:
    code, out, err = clbench("compare", log, "published:GPT 9")
    assert (code, out) == (2, "")
    assert "published:GPT 9: no such row for CL-bench. There are: GPT 5.1 (High); " in err
    with pytest.raises(ClbenchError, match="one published row, not 2"):
        compare(log, NAME, "published:o3 (High)")
    write(tmp_path, "beta")
    with pytest.raises(ClbenchError, match=r"Choose one with --model: mockllm/\w+; mockllm/"):
        compare(log, tmp_path, NAME)
    assert isinstance(compare(log, tmp_path, NAME, model="beta"), AgainstPublished)
    with pytest.raises(ClbenchError, match="No log was given"):
        compare(NAME)
    assert "leave --tasks out" in clbench("compare", log, NAME, "--tasks").stderr


def test_the_demo_says_nothing_beside_a_published_row(demo_log: str) -> None:
    done = clbench("compare", demo_log, NAME)
    assert done.exit_code == 0
    assert "did the demo's tasks: they say nothing beside the published GPT 5.1" in done.stdout
    assert "These data" not in done.stdout
