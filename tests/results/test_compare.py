"""Which model is better: figures worked out by hand, the sentence, the ranks."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.compare import compare
from inspect_clbench.results.report import report
from tests.support.builders import row
from tests.support.golden import check_golden
from tests.support.logs import MISSING, make_log
from tests.support.scripted import ERROR, GARBLED, Plan

GOLDEN = Path(__file__).parent / "golden"

TASKS = [
    ("t1", "c1", "Finance"), ("t2", "c1", "Finance"),
    ("t3", "c2", "Finance"), ("t4", "c2", "Finance"),
    ("t5", "c3", "Game Mechanics"), ("t6", "c3", "Game Mechanics"),
    ("t7", "c4", "Game Mechanics"), ("t8", "c5", "Game Mechanics"),
]  # fmt: skip
ALPHA, BETA = ["t1", "t2", "t3", "t5", "t7"], ["t1", "t4"]
CATEGORIES = ["Domain Knowledge Reasoning", "Rule System Application"]


def log(folder: Path, model: str, *runs: Sequence[str], changes: Plan | None = None) -> str:
    """The log of a model that solves these tasks in its runs."""
    plan = {id: ["yyy" if id in solved else "yny" for solved in runs] for id, *_ in TASKS}
    rows = [row(id, context=context, sub_category=sub) for id, context, sub in TASKS]
    return make_log(folder / model, rows, {**plan, **(changes or {})}, model=f"some-lab/{model}")


def answers(solved: Mapping[str, Sequence[Sequence[float]]]) -> pd.DataFrame:
    """A frame of one run of each model: what it solved, by context."""
    rows = [
        {"name": f"lab/{name}", "id": f"{context}.{place}", "context_id": f"c{context}", "solved": value}
        for name, contexts in solved.items()
        for context, values in enumerate(contexts)
        for place, value in enumerate(values)
    ]
    columns = ["draw", "source", "settings", "solver", "judge_effort", "judge_prompt_sha256",
               "reason", "category"]  # fmt: skip
    frame = pd.DataFrame(rows).assign(
        **dict.fromkeys(columns, ""), dataset="CL-bench", run=1, share=1.0, stand_in=""
    )
    frame = frame.assign(judge="judge", judge_prompt="builtin", version="2", stop_reason="stop")
    return frame.assign(model=frame["name"])


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    folder = tmp_path_factory.mktemp("compare")
    return log(folder, "alpha", ALPHA), log(folder, "beta", BETA)


def test_two_models_by_hand(logs: tuple[str, str]) -> None:
    # Differences: t2, t3, t5, t7 won, t4 lost. Context sums 1, 0, 1, 1, 0 less 3/8 a task:
    # 1/4, -3/4, 1/4, 5/8, -3/8, whose squares add up to 1.21875. Student's t is 2.776.
    table = compare(answers_df(logs))
    frame = table.frame.set_index("group")
    assert list(frame.index) == ["Overall", *CATEGORIES]
    overall = frame.loc["Overall"]
    assert (overall["a"], overall["b"]) == ("some-lab/alpha", "some-lab/beta")
    assert (overall["rate_a"], overall["rate_b"], overall["difference"]) == (0.625, 0.25, 0.375)
    assert overall["stderr"] == pytest.approx((1.21875 * 5 / 4) ** 0.5 / 8)
    reach = 2.7764451 * overall["stderr"]
    assert list(overall[["low", "high"]]) == pytest.approx([0.375 - reach, 0.375 + reach])
    # 80 % power: t of 0.941 more.
    assert overall["detectable"] == pytest.approx((2.7764451 + 0.9409646) * overall["stderr"])
    assert list(frame["tasks"]) == [8, 4, 4]


def test_intervals_of_categories_hold_together(logs: tuple[str, str]) -> None:
    table = compare(answers_df(logs))
    frame = table.frame.set_index("group")
    assert list(frame["level"]) == [0.95, 0.975, 0.975]
    # Of two contexts of two tasks one is won by a task: 1/4 with a standard error of 1/4. With one degree
    # of freedom Student's t is 25.45, and no difference is larger than 1.
    finance = frame.loc[CATEGORIES[0]]
    assert (finance["difference"], finance["stderr"]) == pytest.approx((0.25, 0.25))
    assert (finance["low"], finance["high"]) == (-1, 1)
    assert np.isnan(finance["detectable"])
    p = frame.loc[CATEGORIES, "p"]
    assert frame.loc[p.idxmin(), "p_holm"] == pytest.approx(min(2 * p.min(), 1))
    assert frame.loc["Overall", "p_holm"] == frame.loc["Overall", "p"]
    assert "97.5 % for each category" in table.methods


def test_the_better_model_comes_first_in_whatever_order(logs: tuple[str, str]) -> None:
    alpha, beta = logs
    assert compare(answers_df([beta, alpha])).title == compare(answers_df([alpha, beta])).title


def test_rates_are_those_of_report_where_rows_are_missing(tmp_path: Path) -> None:
    changes = {"t1": [ERROR, "yyy"], "t6": ["yyy", MISSING]}
    paths = [log(tmp_path, "alpha", ALPHA, BETA, changes=changes), log(tmp_path, "beta", BETA)]
    frame = answers_df(paths)
    rates = report(frame).frame.set_index("name")
    overall = compare(frame).frame.iloc[0]
    assert overall["tasks"] == 8
    # Run 1 without t1: 5 of 7; run 2 without t6: 2 of 7.
    assert overall["rate_a"] == rates.loc["some-lab/alpha", "Overall mean"] == pytest.approx(3.5 / 7)
    assert overall["rate_b"] == rates.loc["some-lab/beta", "Overall mean"] == 0.25


def test_only_tasks_in_common_count_and_it_says_so(tmp_path: Path) -> None:
    missing = {id: [MISSING] for id in ("t1", "t2", "t3", "t4")}
    garbled = {"t1": [GARBLED], "t5": [GARBLED]}
    paths = [log(tmp_path, "alpha", ALPHA, changes=garbled), log(tmp_path, "beta", BETA, changes=missing)]
    table = compare(answers_df(paths))
    assert list(table.frame["group"]) == ["Overall", CATEGORIES[1]]
    assert table.frame["rate_a"][0] == 0.25
    assert "Only the 4 tasks in common count; answered were: alpha 8, beta 4." in table.notes[0]
    assert table.notes[1].startswith("No verdict (1 of alpha)")
    assert "Rates without them: alpha 33.3" in table.notes[1]
    with pytest.raises(ClbenchError, match=r"Full runs of lab/alpha only: add a log of another model"):
        compare(answers({"alpha": [[1]]}))
    with pytest.raises(ClbenchError, match=r"No task .* lab/alpha, lab/beta\. Leave one out with --model"):
        compare(answers({"alpha": [[1]], "beta": [[], [1]]}))


def test_scores_of_a_share_of_the_answers_do_not_count() -> None:
    frame = answers({"alpha": [[1], [1], [0]], "beta": [[0], [1], [0]]})
    second_judge = frame.assign(name=frame["name"] + " (judge b)", judge="b", share=0.1)
    assert compare(pd.concat([frame, second_judge], ignore_index=True)).title == compare(frame).title


def test_other_judges_are_pointed_out() -> None:
    frame = answers({"alpha": [[1], [1], [0]], "beta": [[0], [1], [0]]})
    assert compare(frame).notes == []
    frame["judge"] = frame["name"].replace({"lab/alpha": "a", "lab/beta": "b"})
    (note,) = compare(frame).notes
    assert note == "Not judged alike (judge): a part of a difference may be the judge's."


@pytest.mark.parametrize(
    ("beta", "sentence"),
    [
        (
            [[0]] * 30 + [[1]] * 30,
            # 30 of 60 contexts won: 1/2 with a standard error of √(0.25 / 59), 2.001 of them are 13.0.
            "alpha is better than beta: alpha solves 50.0 points more (95 % interval 37.0 to 63.0, p < 0.001) "
            "over 60 tasks in 60 contexts.",
        ),
        (
            [[0, 1]],
            "These data do not tell alpha and beta apart: alpha solves 50.0 points more (sign test over "
            "contexts, p = 1.000) over 2 tasks in 1 context.",
        ),
        (
            [[1], [1, 1]],
            "These data do not tell alpha and beta apart: both solve the same share (sign test over contexts, "
            "p = 1.000) over 3 tasks in 2 contexts.",
        ),
        (
            [[0]] * 6,
            "alpha is better than beta: alpha solves 100.0 points more (sign test over contexts, p = 0.031) over "
            "6 tasks in 6 contexts.",
        ),
    ],
)
def test_the_sentence(beta: list[list[float]], sentence: str) -> None:
    table = compare(answers({"alpha": [[1] * len(values) for values in beta], "beta": beta}))
    assert table.title == f"CL-bench. {sentence}"
    assert "nan" not in table.to_text(120)


# What models solve of 60 contexts. Alpha and beta are alike but for two of them.
FOUR = {
    "delta": [[0]] * 59 + [[1]],
    "alpha": [[1]] * 60,
    "beta": [[1]] * 58 + [[0]] * 2,
    "gamma": [[1]] * 30 + [[0]] * 30,
}


def test_ranks_are_those_that_the_pairs_allow() -> None:
    table = compare(answers(FOUR))
    frame = table.frame
    models = frame.drop_duplicates("a").set_index("a")
    assert list(models.index) == ["lab/alpha", "lab/beta", "lab/gamma", "lab/delta"]
    ranks = models[["best_rank", "worst_rank"]].to_numpy().tolist()
    assert ranks == [[1, 2], [1, 2], [3, 3], [4, 4]]
    assert list(models["rate_a"]) == pytest.approx([1, 58 / 60, 0.5, 1 / 60])
    assert len(frame) == 6 + 1, "the last model has a row, though none is behind it"
    assert frame["level"].dropna().unique() == pytest.approx([1 - 0.05 / 6])
    pairs = frame.dropna(subset="b")
    # Alpha and beta: 2/60 with a standard error of √(2 · 58 / 60 / 60 / 59), p is the largest.
    assert pairs["p_holm"].iloc[0] == pairs["p"].iloc[0] == pytest.approx(0.159, abs=0.001)
    assert (pairs["low"].iloc[0] < 0 < pairs["low"].iloc[1:]).all()
    sentence = "CL-bench. alpha solves most, and these data tell it from "
    assert table.title == f"{sentence}2 of the other 3 models, not from beta, over 60 tasks in 60 contexts."
    title = compare(answers({name: FOUR[name] for name in ("alpha", "gamma", "delta")})).title
    assert title.startswith(f"{sentence}all of the other 2 models over 60 tasks")
    title = compare(answers({"alpha": FOUR["alpha"], "beta": FOUR["beta"], "copy": FOUR["beta"]})).title
    assert title.startswith(f"{sentence}none of the other 2 models over 60 tasks")


def test_what_people_read(logs: tuple[str, str]) -> None:
    texts = [compare(answers_df(logs)).to_text(80), compare(answers(FOUR)).to_text(80)]
    check_golden(GOLDEN / "compare.txt", "\n\n".join(texts))
