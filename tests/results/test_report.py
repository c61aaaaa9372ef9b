"""The report: each number worked out by hand, and what is said beside the numbers."""

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.estimates import solving_rate
from inspect_clbench.results.report import methods_line, notes_of, published_table, report
from tests.support.builders import row
from tests.support.golden import check_golden
from tests.support.logs import make_log

GOLDEN = Path(__file__).parent / "golden"
ROWS = [
    row("t1", context="a", sub_category="Finance"),
    row("t2", context="a", sub_category="Finance"),
    row("t3", context="b", sub_category="Science"),
    row("t4", context="c", sub_category="Experimental Data"),
]
PLAN = {"t1": ["yyy", "yyn"], "t2": ["yyy", "yyy"], "t3": ["", "garbled"], "t4": ["nnn", "error"]}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Two models with two runs; the first has a row of each kind."""
    folder = tmp_path_factory.mktemp("report")
    make_log(folder, ROWS, PLAN, model="openai/gpt", epochs=2, cost=0.5)
    solved = {task: ["yyy", "yyy"] for task in PLAN} | {"t4": ["nyy~", "yyy"]}
    make_log(folder, ROWS, solved, model="anthropic/opus", epochs=2)
    return answers_df(str(folder))


def by_name(frame: pd.DataFrame, name: str) -> dict[str, Any]:
    (record,) = frame[frame["name"] == name].to_dict("records")
    return dict(record)


def test_the_main_table(answers: pd.DataFrame) -> None:
    table = report(answers)
    assert list(table.frame["name"]) == ["anthropic/opus", "openai/gpt"]  # best first
    gpt = by_name(table.frame, "openai/gpt")
    # 2 of 4, and 1 of the 3 that have an answer.
    assert gpt["Overall mean"] == pytest.approx((2 / 4 + 1 / 3) / 2)
    assert gpt["Overall std"] == pytest.approx(np.std([2 / 4, 1 / 3], ddof=1))
    assert gpt["Domain Knowledge Reasoning mean"] == pytest.approx((2 / 3 + 1 / 3) / 2)
    assert gpt["Empirical Discovery & Simulation mean"] == 0
    assert (gpt["runs"], gpt["answers"], gpt["no_verdict"], gpt["missing"], gpt["cut_off"]) == (2, 7, 1, 1, 0)
    assert by_name(table.frame, "anthropic/opus")["cut_off"] == 1
    estimate = solving_rate(answers[answers["name"] == "openai/gpt"])
    assert [gpt["Overall low"], gpt["Overall high"]] == [estimate.low, estimate.high]
    check_golden(GOLDEN / "report.txt", table.to_text(80) + "\n" + report(answers, ci=True).to_text(80))


def test_columns_of_problems_appear_only_where_there_are_any(answers: pd.DataFrame) -> None:
    sound = answers[
        (answers["reason"] == "") & answers["solved"].notna() & (answers["stop_reason"] == "stop")
    ]
    table = report(sound)
    heads = ["Model", "Overall", "Domain Knowledge Reasoning", "Empirical Discovery & Simulation"]
    assert [column.head for column in table.columns] == heads
    assert table.notes == []


def test_a_note_is_said_once_for_all_rows(answers: pd.DataFrame) -> None:
    judge, model = notes_of(answers)
    assert report(answers).notes == notes_of(answers, with_counts=False)  # its columns say how many
    # Without the row that has no verdict: 2 of 4, and 1 of 2.
    assert "No verdict (1 of gpt)" in judge
    assert "gpt 50.0. Ask again: clbench regrade LOG." in judge
    assert "Missing (1 of gpt)" in model
    assert "inspect eval-retry LOG. Cut off (1 of opus)" in model


def test_the_methods_line(answers: pd.DataFrame) -> None:
    sha256 = answers["judge_prompt_sha256"].iloc[0][:12]
    assert methods_line(answers) == (
        "Methods: CL-bench, 4 tasks in 3 contexts; runs: 2 of openai/gpt, anthropic/opus; "
        f"judge: mockllm/judge, effort default, prompt builtin {sha256}; task version 2."
    )
    assert methods_line(answers.assign(source="bench")) == methods_line(answers)  # says nothing of "CL-bench"
    hub = answers.assign(source=["tencent/CL-bench", "folder/rows.jsonl"] * 8)
    assert "CL-bench (tencent/CL-bench, revision b28a5832a09b, rows.jsonl), 4 tasks" in methods_line(hub)
    judges = answers["model"].map({"openai/gpt": "a, b", "anthropic/opus": "c"})
    several = methods_line(answers.assign(judge=judges, judge_effort="low, low", draw="3 of 500 contexts, seed 0",
                                          settings="temperature 0.0", version="1"))  # fmt: skip
    assert "a draw of 3 of 500 contexts, seed 0; runs: 2 of openai/gpt (temperature 0.0), " in several
    assert f"judge: a, b, effort low, low, prompt builtin {sha256} (of openai/gpt); c, effort" in several
    assert several.endswith("task version 1.")


@pytest.mark.parametrize(
    ("by", "groups", "gpt"),
    [
        ("sub_category", ["Finance", "Science", "Experimental Data"], [3 / 4, 0, 0]),
        ("length", ["0-4K", "4-8K", "8-16K", "16-32K", "32K+"], [5 / 12, *[np.nan] * 4]),
        # Met: 3, 2 of 3; 3, 3; 0 of 3, no list; 0. The row without a list is left out.
        ("threshold", [f"{t} %" for t in range(60, 101, 5)] + ["mean share met"],
         [(2 / 4 + 1) / 2] * 2 + [(2 / 4 + 1 / 2) / 2] * 7 + [(2 / 4 + 5 / 6) / 2]),
        # t1 and t3 have two answers like t2, t4 one: any of t1, t2, t3 is solved in 2, all in 1.
        ("runs", ["1 run", "any of 2 runs", "all of 2 runs"], [5 / 12, 2 / 3, 1 / 3]),
    ],
)  # fmt: skip
def test_groups_of_tasks(answers: pd.DataFrame, by: str, groups: list[str], gpt: list[float]) -> None:
    table = report(answers, by=by)
    assert list(table.frame[by]) == groups
    assert list(table.frame["openai/gpt mean"]) == pytest.approx(gpt, nan_ok=True)
    assert [column.head for column in table.columns[1:]] == ["Tasks", "opus", "gpt"]
    texts = [table.to_text(80), report(answers, by=by, ci=True).to_text(60)]
    check_golden(GOLDEN / f"report_by_{by}.txt", "\n".join(texts))


def test_lengths_are_those_of_the_paper(answers: pd.DataFrame) -> None:
    chars = {"t1": 4 * 4096 - 1, "t2": 4 * 4096, "t3": 4 * 32768, "t4": np.nan}
    frame = report(answers.assign(prompt_chars=answers["id"].map(chars)), by="length").frame
    assert list(frame["tasks"]) == [1, 1, 0, 0, 1]


def test_a_score_that_contradicts_its_list_decides(answers: pd.DataFrame) -> None:
    frame = answers.assign(solved=0.0, rubrics_met=3, rubrics_total=3)
    shares = report(frame, by="threshold").frame.set_index("threshold")["openai/gpt mean"]
    assert (shares["95 %"], shares["100 %"]) == (1, 0)


def test_scores_of_a_share_are_left_out(answers: pd.DataFrame) -> None:
    second = answers.assign(judge="x/second", name="openai/gpt (judge x/second)", share=0.1)
    both = report(pd.concat([answers, second]))
    pd.testing.assert_frame_equal(both.frame, report(answers).frame)
    assert both.notes[-1] == "Left out: the scores of a share of the answers by x/second (10%)."
    with pytest.raises(ClbenchError, match="Only scores of a share"):
        report(second)


def test_published_rows_stand_below_and_say_what_is_unlike(answers: pd.DataFrame) -> None:
    table = report(answers, published=True)
    assert list(table.frame["published"]) == [False] * 2 + [True] * 10
    paper = by_name(table.frame, "GPT 5.1 (High) †")
    assert (paper["Overall mean"], paper["Overall std"], paper["runs"]) == (0.237, 0.005, 3)
    assert len(table.notes) == 3
    assert table.notes[-1].startswith(
        "† Published, and made otherwise (1,903 tasks, judge gpt-5.1 with the original prompt)"
    )
    check_golden(GOLDEN / "report_published.txt", table.to_text(80))


def test_what_is_refused(answers: pd.DataFrame) -> None:
    with pytest.raises(ClbenchError, match="leave out --by"):
        report(answers, by="length", published=True)
    with pytest.raises(ClbenchError, match="choose one with --dataset"):
        report(pd.concat([answers, answers.assign(dataset="CL-bench Life")]))
    with pytest.raises(ClbenchError, match="CL-bench demo: no such table is published"):
        report(answers.assign(dataset="CL-bench demo"), published=True)


def test_tasks_of_somebody_else(answers: pd.DataFrame) -> None:
    foreign = answers.assign(category="", sub_category="", prompt_chars=np.nan, dataset="org/name@1")
    assert [column.head for column in report(foreign).columns[:2]] == ["Model", "Overall"]
    assert methods_line(foreign).startswith("Methods: org/name@1, 4 tasks")
    for by in ("sub_category", "length"):
        with pytest.raises(ClbenchError, match="these logs do not say it of their tasks"):
            report(foreign, by=by)


def test_published_figures_are_the_papers() -> None:
    main, life = published_table("CL-bench", "main"), published_table("CL-bench Life", "main")
    assert {tuple(model["rates"]) for model in main["rows"]} == {("Overall", *CLBENCH.categories)}
    assert {tuple(model["rates"]) for model in life["rows"]} == {("Overall", *CLBENCH_LIFE.categories)}
    assert (len(main["rows"]), main["tasks"], life["tasks"]) == (10, 1903, 405)
    # With n - 1 over three runs of 1,903 tasks each overall figure is one that whole counts of tasks can give.
    assert life["rows"][0]["rates"]["Overall"] == [19.3, 0.5]
