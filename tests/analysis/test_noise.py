"""Consistency over runs and variance components, worked out by hand."""

from pathlib import Path

import pytest

from inspect_clbench.analysis import report
from inspect_clbench.analysis.noise import NoiseTable, variance_components
from inspect_clbench.analysis.report import at_least_one, every_one
from inspect_clbench.output import render
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log

Y, N = "yyy", "nnn"
ROWS = [
    row(name, context=context, sub_category="Finance" if context == "x" else "Game Mechanics")
    for name, context in (("a", "x"), ("b", "x"), ("c", "z"), ("d", "z"))
]
PLAN = {"a": [Y, Y], "b": [Y, N], "c": [N, N], "d": [N, Y]}


@pytest.mark.parametrize(
    ("runs", "solved", "k", "any_of", "all_of"),
    [
        (3, 1, 1, 1 / 3, 1 / 3),
        (3, 1, 2, 2 / 3, 0),  # two of three runs: 2 of the 3 pairs hold the solved one
        (3, 2, 2, 1, 1 / 3),  # 1 of the 3 pairs holds both
        (3, 2, 3, 1, 0),
        (4, 3, 2, 1, 1 / 2),
        (2, 0, 2, 0, 0),
        (2, 2, 2, 1, 1),
    ],
)
def test_pass_at_k_and_pass_to_the_k(
    runs: int, solved: int, k: int, any_of: float, all_of: float
) -> None:
    assert at_least_one(runs, solved, k) == pytest.approx(any_of)
    assert every_one(runs, solved, k) == pytest.approx(all_of)


def test_consistency_overall_and_by_category(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, PLAN, epochs=2).location
    frame = report(log, consistency=True).to_pandas().set_index(["measure", "group"])
    # Solved in 2, 1, 0 and 1 of two runs.
    means = {
        measure: frame.loc[(measure, "Overall")]["mean"] for measure in frame.index.levels[0]
    }
    assert means == {"pass@1": 0.5, "pass@2": 0.75, "pass^2": 0.25}
    of_domain = frame.xs("Domain Knowledge Reasoning", level="group")["mean"]
    assert of_domain.to_dict() == {"pass@1": 0.75, "pass@2": 1.0, "pass^2": 0.5}
    # pass^2: contexts 1/2 and 0 about 1/4, so residuals 1/8 and a standard error of 1/4.
    low, high = frame.loc[("pass^2", "Overall")][["low", "high"]]
    assert 0 < low < 0.25 < high < 1
    text = render(report(log, consistency=True), "terminal", 120)
    assert "at least one of 2 runs" in text
    assert "every one of 2 runs" in text


def test_a_task_without_all_runs_counts_as_far_as_it_goes(tmp_path: Path) -> None:
    plan = {**PLAN, "d": [Y, "garbled"]}
    arguments = {"judge_failure": "unscored"}
    log = make_log(tmp_path, ROWS, plan, epochs=2, task_args=arguments).location
    frame = report(log, consistency=True).to_pandas().set_index(["measure", "group"])
    # d has one verdict and is out for k = 2: of a, b and c two were solved once or more.
    assert frame.loc[("pass@1", "Overall")]["mean"] == pytest.approx((1 + 0.5 + 0 + 1) / 4)
    assert frame.loc[("pass@2", "Overall")]["mean"] == pytest.approx(2 / 3)


HAND = [[[[1], [1]], [[1], [0]]], [[[0], [0]], [[0], [1]]]]


def test_components_by_hand() -> None:
    # Runs: two tasks with squares 1/2, over 4 degrees of freedom. Tasks: squares 1/4 in each
    # context over 2, which is what runs make. Contexts: means 3/4 and 1/4, squares 1/2 over
    # 1; less the runs' 1/4, over 4 answers.
    assert variance_components(HAND) == {
        "context": pytest.approx(1 / 16), "task": 0, "run": pytest.approx(1 / 4), "judge": None
    }  # fmt: skip


def test_sizes_need_not_be_equal() -> None:
    # One context with tasks of 2 and 1 answers, one with a task of 2.
    values = [[[[1], [0]], [[1]]], [[[0], [0]]]]
    run = 0.5 / 2
    # Tasks: 1/2 + 1 - 4/3 = 1/6, less a run's; 5 answers less 5/3 and 2.
    task = (1 / 6 - run) / (5 - 5 / 3 - 2)
    # Contexts: 4/3 - 4/5, less a run's; 11/3 - 9/5 of a task's; 5 answers less 13/5.
    context = (4 / 3 - 4 / 5 - run - (5 / 3 + 2 - 9 / 5) * task) / (5 - 13 / 5)
    assert task < 0  # counts as none
    found = variance_components(values)
    assert found["run"] == pytest.approx(run)
    assert found["task"] == 0
    assert found["context"] == pytest.approx(context)


def test_a_judge_asked_again_takes_its_part_of_the_runs() -> None:
    again = [[[[v, v] for (v,) in answers] for answers in tasks] for tasks in HAND]
    again[0][0][0] = [1, 0]
    # Squares 1/2 in one of 8 answers.
    found = variance_components(again)
    assert found["judge"] == pytest.approx(1 / 16)
    assert found["run"] == pytest.approx(1 / 4 - 1 / 16)


def test_what_cannot_be_told_apart_is_not_told() -> None:
    one_run = [[[[1]], [[0]]], [[[0]], [[0]]]]
    assert variance_components(one_run)["run"] is None
    one_task = [[[[1], [0]]], [[[0], [0]]]]
    assert variance_components(one_task)["task"] is None


def noise_of(log: str) -> NoiseTable:
    found = report(log, noise=True)
    assert found.tables == ()
    (table,) = found.noise
    return table


def test_shares_and_what_would_help(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, PLAN, epochs=2).location
    (found,) = noise_of(log).rows
    shares = {part: rate.mean for part, rate in found.shares.items() if rate}
    assert shares == {"context": pytest.approx(0.2), "task": 0, "run": pytest.approx(0.8)}
    # 1/16 * 32/64 of contexts and 1/4 / 8 of runs.
    assert found.stderr == pytest.approx(0.25)
    assert found.stderr_twice_the_runs == pytest.approx((3 / 64) ** 0.5)
    assert found.stderr_twice_the_contexts == pytest.approx((1 / 32) ** 0.5)
    done = clbench("report", log, "--noise")
    assert "more runs would help" in done.stdout
    assert "standard error of its rate is 25.00 points" in " ".join(done.stdout.split())


@pytest.mark.filterwarnings("error")
def test_draws_of_contexts_without_a_difference_are_passed_over(tmp_path: Path) -> None:
    # Of the contexts of one task each, some draws hold solved tasks only, or none at all.
    rows = [row(name, context=name) for name in "abc"]
    log = make_log(tmp_path, rows, {"a": [Y], "b": [N], "c": [N]}).location
    (found,) = noise_of(log).rows
    assert found.shares["context"] is not None


def test_the_same_judge_again_is_found_in_the_log(tmp_path: Path) -> None:
    second = {**PLAN, "a": [N, Y]}
    log = make_log(tmp_path, ROWS, PLAN, epochs=2, again=[("judge", second)]).location
    (found,) = noise_of(log).rows
    assert found.variance["judge"] == pytest.approx(1 / 16)
    frame = report(log, noise=True).to_pandas()
    assert list(frame["component"]) == ["context", "task", "run", "judge"]


def test_another_judge_is_not_the_same_again(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, PLAN, epochs=2, again=[("other", PLAN)]).location
    assert [found.variance["judge"] for found in noise_of(log).rows] == [None, None]


def test_a_run_without_any_verdict_has_no_components(tmp_path: Path) -> None:
    plan = {task: ["garbled", "garbled"] for task in "abcd"}
    arguments = {"judge_failure": "unscored"}
    log = make_log(tmp_path, ROWS, plan, epochs=2, task_args=arguments).location
    (found,) = noise_of(log).rows
    assert set(found.variance.values()) == {None}
    done = clbench("report", log, "--noise")
    assert done.exit_code == 0
    assert "nan" not in done.stdout


def test_a_share_has_no_interval_where_all_draws_are_alike(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, {"a": [Y], "b": [Y], "c": [N], "d": [N]}, epochs=1).location
    (table,) = report(log, noise=True).noise
    shares = [share for share in table.rows[0].shares.values() if share]
    assert shares
    for share in shares:
        assert share.interval is None or share.interval[0] < share.interval[1]
