"""Comparing two models, from their logs to the sentence."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench.analysis import Comparison, compare
from inspect_clbench.choices import Format
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import render, sentence, tables_of
from inspect_clbench.output.formats import FORMATS
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.golden import check_golden
from tests.support.logs import make_log

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
    """Alpha's answers, judged by the other judge only."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    folder = tmp_path_factory.mktemp("compare")

    def run(
        name: str,
        student: str,
        *,
        epochs: int = 1,
        start: int = 0,
        end: int = 8,
        **options: Any,
    ) -> str:
        chosen = TASKS[start:end]
        rows = [row(id, context=c, sub_category=s) for id, c, s in chosen]
        plan = {
            id: ["yyy" if id in solved else "yny" for solved in SOLVED[student][:epochs]]
            for id, *_ in chosen
        }
        if options.pop("judged_again", False):
            options["again"] = [("other", plan)]
        options["model"] = student
        return make_log(
            folder / name, rows, plan, provider="openai-api/loop", **options
        ).location

    return Logs(
        alpha=run("alpha", "alpha"),
        beta=run("beta", "beta"),
        alpha_twice=run("alpha-twice", "alpha", epochs=2),
        beta_twice=run("beta-twice", "beta", epochs=2),
        beta_more=run("beta-more", "beta", start=4, end=9),
        two_judges=run("two-judges", "alpha", judged_again=True),
        other_judge=run("other-judge", "alpha", judge="other"),
    )


@pytest.fixture(scope="module")
def found(logs: Logs) -> Comparison:
    return two(logs.alpha, logs.beta)


def two(*paths: str, **options: Any) -> Comparison:
    found = compare(*paths, **options)
    assert isinstance(found, Comparison)
    return found


def test_one_run_each_by_hand(found: Comparison) -> None:
    # Differences: t2, t3, t5, t7 won, t4 lost. Context sums 1, 0, 1, 1, 0 less 3/8 a task:
    # 1/4, -3/4, 1/4, 5/8, -3/8, whose squares add up to 1.21875.
    overall = found.overall
    assert (overall.rate_a, overall.rate_b) == (0.625, 0.25)
    assert overall.stderr == pytest.approx((1.21875 * 5 / 4) ** 0.5 / 8)
    assert [t.task_id for t in found.tasks_by_outcome(won=True)] == ["t2", "t3", "t5", "t7"]
    assert [t.task_id for t in found.tasks_by_outcome(won=False)] == ["t4"]
    assert found.mcnemar == pytest.approx(2 * (1 + 5) / 2**5)
    assert found.bootstrap is not None
    by_category = {c.category: c.difference for c in found.categories}
    assert by_category["Domain Knowledge Reasoning"].difference == pytest.approx(0.25)
    assert by_category["Rule System Application"].difference == pytest.approx(0.5)
    assert sentence(found) == (
        "These data cannot tell openai-api/loop/alpha and openai-api/loop/beta apart: "
        "openai-api/loop/alpha solves 37.5 points more than openai-api/loop/beta (95 % interval "
        "−5.3 to 80.3, p = 0.072) over 8 tasks in 5 contexts; four times out of five, data "
        "like these would show a difference of 58.0 points."
    )


def test_a_frame_has_a_row_for_all_tasks_and_per_category(logs: Logs) -> None:
    found = two(logs.alpha, logs.beta)
    frame = found.to_pandas().set_index("group")
    assert list(frame.index) == [
        "Overall", "Domain Knowledge Reasoning", "Rule System Application",
    ]  # fmt: skip
    overall = frame.loc["Overall"]
    assert (overall["a"], overall["b"]) == found.names
    assert (overall["rate_a"], overall["rate_b"], overall["difference"]) == (0.625, 0.25, 0.375)
    assert (overall["won"], overall["lost"], overall["tied"], overall["tasks"]) == (4, 1, 3, 8)
    assert overall["p"] == found.overall.p
    corrected = [category.p_holm for category in found.categories]
    assert frame["p_holm"].tolist()[1:] == corrected


def test_the_sides_change_places(logs: Logs) -> None:
    forth, back = two(logs.alpha, logs.beta), two(logs.beta, logs.alpha)
    assert back.overall.difference == -forth.overall.difference
    assert (back.overall.won, back.overall.lost) == (1, 4)
    assert "alpha solves 37.5 points more than" in sentence(back)


def test_runs_are_paired_where_both_have_as_many(logs: Logs) -> None:
    found = two(logs.alpha_twice, logs.beta_twice)
    assert found.by_run
    assert found.mcnemar is None
    rates = {t.task_id: (t.a, t.b) for t in found.tasks}
    assert rates["t4"] == (0.5, 1.0)
    assert rates["t5"] == (0.5, 0.0)
    assert found.overall.rate_a == pytest.approx(9 / 16)
    assert "run n of one side with run n of the other, 2 runs" in notes(found)


def test_other_numbers_of_runs_are_paired_by_their_means(logs: Logs) -> None:
    found = two(logs.alpha_twice, logs.beta)
    assert not found.by_run
    assert found.mcnemar is None
    assert {t.task_id: t.a for t in found.tasks}["t5"] == 0.5
    assert "its mean over the runs (A: 2, B: 1)" in notes(found)


def test_tasks_of_one_side_are_named_and_left_out(logs: Logs) -> None:
    found = two(logs.alpha, logs.beta_more)
    assert found.missing == (("t9",), ("t1", "t2", "t3", "t4"))
    assert found.overall.tasks == 4
    assert "B has no score for 4 tasks, left out: t1, t2, t3, t4." in notes(found)
    assert "A has no score for 1 task, left out: t9." in notes(found)


def test_a_log_against_itself(logs: Logs) -> None:
    found = two(logs.alpha, logs.alpha)
    assert found.names == ("openai-api/loop/alpha (A)", "openai-api/loop/alpha (B)")
    assert "cannot tell" in sentence(found)
    assert "they did the same on every task" in sentence(found)
    assert "nan" not in sentence(found)


def test_another_judge_is_pointed_out(logs: Logs) -> None:
    assert "differ: the difference may be theirs" not in notes(two(logs.alpha, logs.beta))
    found = two(logs.alpha, logs.other_judge)
    assert "! The judges differ: the difference may be theirs" in notes(found)
    assert found.names[1] == "openai-api/loop/alpha (openai-api/loop/other)"


def test_several_series_on_a_side_are_named(logs: Logs) -> None:
    with pytest.raises(
        ClbenchError, match=r"alpha: 2 series, not one.*loop/judge\).*loop/other\)"
    ):
        two(logs.two_judges, logs.beta)
    found = two(logs.two_judges, logs.beta, judge="openai-api/loop/judge")
    assert found.overall.difference == 0.375
    with pytest.raises(ClbenchError, match=r"no scores of nobody\. There are .*loop/judge"):
        two(logs.two_judges, logs.beta, judge="nobody")


def notes(comparison: Comparison) -> str:
    return "\n".join(map(str, tables_of(comparison)[0].notes))


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_holds_the_difference(found: Comparison, format: Format) -> None:
    tables = tables_of(found, list_tasks=True)
    out = render(tables[:1] if format == "csv" else tables, format)
    assert ("0.375" if format in ("csv", "json") else "37.5") in out
    assert "nan" not in out.lower().replace("finance", "")


def test_a_file_gets_what_the_screen_would(
    logs: Logs, found: Comparison, tmp_path: Path
) -> None:
    target = tmp_path / "out.md"
    arguments = ("compare", logs.alpha, logs.beta, "--tasks", "--output", str(target))
    assert clbench(*arguments) == (0, "", f"Wrote {target}\n")
    written = target.read_text("utf-8")
    assert written == render(found, "markdown", list_tasks=True)


@pytest.mark.parametrize(("format", "ending"), [("terminal", "txt"), ("markdown", "md")])
def test_what_people_read(
    logs: Logs, format: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    arguments = ("compare", logs.alpha, logs.beta_more, "--tasks", "--format", format)
    _, out, _ = clbench(*arguments)
    check_golden(GOLDEN / f"compare.{ending}", out)


def test_json_has_the_values(logs: Logs) -> None:
    _, out, _ = clbench("compare", logs.alpha, logs.beta, "--format", "json")
    overall = json.loads(out)[0]["rows"][0]
    assert overall["A − B"] == 0.375
    assert (overall["Won"], overall["Lost"]) == (4, 1)
    assert overall["p (Holm)"] is None


def test_the_seed_is_fixed_and_can_be_set(logs: Logs) -> None:
    outs = [
        clbench("compare", logs.alpha_twice, logs.beta, *seed)[1]
        for seed in ((), (), ("--seed", "5"))
    ]
    assert outs[0] == outs[1]
    assert "seed 5" in outs[2]


def test_nothing_in_common_ends_with_exit_code_2(
    logs: Logs, demo_log: str, tmp_path: Path
) -> None:  # fmt: skip
    code, out, err = clbench("compare", logs.alpha, demo_log)
    assert (code, out) == (2, "")
    assert "different datasets" in err
    code, _, err = clbench("compare", logs.alpha, str(tmp_path))
    assert code == 2
    assert str(tmp_path) in err
