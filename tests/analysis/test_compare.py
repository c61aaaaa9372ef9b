"""Comparing two models, from the logs of real runs to the sentence."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench import rubric_judge
from inspect_clbench.analysis.comparing.compare import compare
from inspect_clbench.analysis.comparing.comparison import Comparison
from inspect_clbench.analysis.comparing.comparison_tables import comparison_tables
from inspect_clbench.analysis.tables import FORMATS
from inspect_clbench.errors import ClbenchError
from tests.support.golden import check_golden
from tests.support.judges import clbench, judged_eval, script
from tests.support.server import LoopbackServer

GOLDEN = Path(__file__).parent / "golden"

TASKS = [
    ("t1", "c1", "Finance"), ("t2", "c1", "Finance"),
    ("t3", "c2", "Finance"), ("t4", "c2", "Finance"),
    ("t5", "c3", "Game Mechanics"), ("t6", "c3", "Game Mechanics"),
    ("t7", "c4", "Game Mechanics"), ("t8", "c5", "Game Mechanics"),
    ("t9", "c5", "Game Mechanics"),
]  # fmt: skip

# What each student solves in its runs: the first list in run 1, the second in run 2.
SOLVED = {
    "alpha": (["t1", "t2", "t3", "t5", "t7"], ["t1", "t2", "t3", "t4"]),
    "beta": (["t1", "t4"], ["t1", "t4"]),
}


@dataclass(frozen=True)
class Logs:
    alpha: str
    beta: str
    alpha_twice: str
    beta_twice: str
    beta_more: str
    """Tasks t5 to t9 only."""

    two_judges: str
    """Alpha's run, judged by another judge too."""

    other_judge: str
    """Alpha's run, judged by the other judge only."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Logs]:
    def says(judge: str, student: str, task: str, take: int, asked: int) -> str:
        return "yyy" if task in SOLVED[student][take - 1] else "yny"

    folder = tmp_path_factory.mktemp("compare")

    def run(
        name: str, student: str, *, epochs: int = 1, start: int = 0, end: int = 8
    ) -> EvalLog:
        # A server of its own for each run: takes are counted from one again.
        with LoopbackServer(script(says)) as server:
            patch.setenv("LOOP_BASE_URL", server.url)
            chosen = TASKS[start:end]
            return judged_eval(folder / name, student, ["judge"], chosen, epochs=epochs)

    def judged_again(log: EvalLog, action: Literal["append", "overwrite"]) -> str:
        with LoopbackServer(script(says)) as server:
            patch.setenv("LOOP_BASE_URL", server.url)
            again = score(
                read_eval_log(log.location),
                rubric_judge(),
                model_roles={"grader": "openai-api/loop/other"},
                action=action,
                display="none",
            )
        place = folder / action / "again.eval"
        place.parent.mkdir()
        write_eval_log(again, str(place))
        return str(place)

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LOOP_API_KEY", "loop-key")
        alpha = run("alpha", "alpha")
        yield Logs(
            alpha=alpha.location,
            beta=run("beta", "beta").location,
            alpha_twice=run("alpha-twice", "alpha", epochs=2).location,
            beta_twice=run("beta-twice", "beta", epochs=2).location,
            beta_more=run("beta-more", "beta", start=4, end=9).location,
            two_judges=judged_again(alpha, "append"),
            other_judge=judged_again(alpha, "overwrite"),
        )


def test_one_run_each_by_hand(logs: Logs) -> None:
    found = compare(logs.alpha, logs.beta)
    # Differences: t2, t3, t5, t7 won, t4 lost. Context sums 1, 0, 1, 1, 0 less 3/8 a task:
    # 1/4, -3/4, 1/4, 5/8, -3/8, whose squares add up to 1.21875.
    overall = found.overall
    assert (overall.rate_a, overall.rate_b) == (0.625, 0.25)
    assert overall.stderr == pytest.approx((1.21875 * 5 / 4) ** 0.5 / 8)
    assert [t.task_id for t in found.won] == ["t2", "t3", "t5", "t7"]
    assert [t.task_id for t in found.lost] == ["t4"]
    assert found.mcnemar == pytest.approx(2 * (1 + 5) / 2**5)
    assert found.bootstrap is not None
    by_category = {c.category: c.difference for c in found.categories}
    assert by_category["Domain Knowledge Reasoning"].difference == pytest.approx(0.25)
    assert by_category["Rule System Application"].difference == pytest.approx(0.5)
    assert found.sentence == (
        "These data cannot tell openai-api/loop/alpha and openai-api/loop/beta apart: "
        "openai-api/loop/alpha solves 37.5 points more than openai-api/loop/beta (95 % interval "
        "−5.3 to 80.3, p = 0.072) over 8 tasks in 5 contexts; four times out of five, data "
        "like these would show a difference of 58.0 points."
    )


def test_the_sides_change_places(logs: Logs) -> None:
    forth, back = compare(logs.alpha, logs.beta), compare(logs.beta, logs.alpha)
    assert back.overall.difference == -forth.overall.difference
    assert (back.overall.won, back.overall.lost) == (1, 4)
    assert "alpha solves 37.5 points more than" in back.sentence


def test_runs_are_paired_where_both_have_as_many(logs: Logs) -> None:
    found = compare(logs.alpha_twice, logs.beta_twice)
    assert found.by_run
    assert found.mcnemar is None
    rates = {t.task_id: (t.a, t.b) for t in found.tasks}
    assert rates["t4"] == (0.5, 1.0)
    assert rates["t5"] == (0.5, 0.0)
    assert found.overall.rate_a == pytest.approx(9 / 16)
    assert "run n of A with run n of B, 2 runs" in notes(found)


def test_other_numbers_of_runs_are_paired_by_their_means(logs: Logs) -> None:
    found = compare(logs.alpha_twice, logs.beta)
    assert not found.by_run
    assert found.mcnemar is None
    assert {t.task_id: t.a for t in found.tasks}["t5"] == 0.5
    assert "mean over the runs of A (2) with its mean over the runs of B (1)" in notes(found)


def test_tasks_of_one_side_are_named_and_left_out(logs: Logs) -> None:
    found = compare(logs.alpha, logs.beta_more)
    assert found.only_a == ("t1", "t2", "t3", "t4")
    assert found.only_b == ("t9",)
    assert found.overall.tasks == 4
    assert "Only A has a score for 4 tasks, left out: t1, t2, t3, t4." in notes(found)
    assert "Only B has a score for 1 task, left out: t9." in notes(found)


def test_a_log_against_itself(logs: Logs) -> None:
    found = compare(logs.alpha, logs.alpha)
    assert found.labels == ("openai-api/loop/alpha (A)", "openai-api/loop/alpha (B)")
    assert "cannot tell" in found.sentence
    assert "they did the same on every task" in found.sentence
    assert "nan" not in found.sentence


def test_another_judge_is_pointed_out(logs: Logs) -> None:
    assert "differ: the difference may be theirs" not in notes(compare(logs.alpha, logs.beta))
    found = compare(logs.alpha, logs.other_judge)
    assert "! The judges differ: the difference may be theirs" in notes(found)
    assert found.labels[1] == "openai-api/loop/alpha (openai-api/loop/other)"


def test_several_series_on_a_side_are_named(logs: Logs) -> None:
    with pytest.raises(ClbenchError, match=r"2 series.*loop/judge .*loop/other"):
        compare(logs.two_judges, logs.beta)
    found = compare(logs.two_judges, logs.beta, judge="openai-api/loop/judge")
    assert found.overall.difference == 0.375
    with pytest.raises(ClbenchError, match=r"no scores of nobody\. There are .*loop/judge"):
        compare(logs.two_judges, logs.beta, judge="nobody")


def notes(comparison: Comparison) -> str:
    return "\n".join(comparison_tables(comparison)[0].notes)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_the_difference(
    logs: Logs,
    format: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    arguments = ("compare", logs.alpha, logs.beta, "--tasks", "--format", format)
    code, out, _ = clbench(capsys, monkeypatch, *arguments)
    assert code == 0
    assert ("0.375" if format in ("csv", "json") else "37.5") in out
    assert "nan" not in out.lower().replace("finance", "")
    target = tmp_path / "out.txt"
    clbench(capsys, monkeypatch, *arguments, "--output", str(target))
    assert "37.5" in target.read_text("utf-8") or "0.375" in target.read_text("utf-8")


@pytest.mark.parametrize(("format", "ending"), [("terminal", "txt"), ("markdown", "md")])
def test_what_people_read(
    logs: Logs,
    format: str,
    ending: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    arguments = ("compare", logs.alpha, logs.beta_more, "--tasks", "--format", format)
    _, out, _ = clbench(capsys, monkeypatch, *arguments)
    check_golden(GOLDEN / f"compare.{ending}", out)


def test_json_has_the_values(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, out, _ = clbench(
        capsys, monkeypatch, "compare", logs.alpha, logs.beta, "--format", "json"
    )
    overall = json.loads(out)[0]["rows"][0]
    assert overall["A − B"] == 0.375
    assert (overall["Won"], overall["Lost"]) == (4, 1)
    assert overall["p (Holm)"] is None


def test_the_seed_is_fixed_and_can_be_set(
    logs: Logs, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outs = [
        clbench(capsys, monkeypatch, "compare", logs.alpha_twice, logs.beta, *seed)[1]
        for seed in ((), (), ("--seed", "5"))
    ]
    assert outs[0] == outs[1]
    assert "seed 5" in outs[2]


def test_nothing_in_common_ends_with_exit_code_2(
    logs: Logs, demo_log: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    code, out, err = clbench(capsys, monkeypatch, "compare", logs.alpha, demo_log)
    assert (code, out) == (2, "")
    assert "different datasets" in err
    code, _, err = clbench(capsys, monkeypatch, "compare", logs.alpha, str(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
