"""How far judges agree: figures worked out by hand, on every kind of log with several verdicts."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.agreement import agreement
from inspect_clbench.results.answers import answers_df
from tests.support.builders import row
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED

GOLDEN = Path(__file__).parent / "golden"

ROWS = [row(id, context=f"c-{id}") for id in ("t1", "t2", "t3", "t4", "t5", "t6", "mute")]

# Three rubrics a task. Four letters are a status list that does not fit.
SAYS = {
    "strict": {"t1": "yyy", "t2": "yyy", "t3": "ynn", "t4": "nnn", "t5": GARBLED, "t6": "yy?!"},
    "mild": {"t1": "yyy", "t2": "yny", "t3": "yyy", "t4": "nny", "t5": "yyy", "t6": "yyyy"},
    "third": {"t1": "yyy", "t2": "yyy", "t3": "nnn", "t4": "nnn", "t5": "yyy", "t6": "yyy"},
}


def plan(judge: str, **changed: str) -> dict[str, list[str]]:
    """What a judge says of the one answer to each task."""
    return {task: [outcome] for task, outcome in (SAYS[judge] | {"mute": EMPTY} | changed).items()}


def panel(folder: Path, *judges: str) -> str:
    says = {f"lab/{judge}": plan(judge) for judge in judges}
    return make_log(folder, ROWS, plan("strict"), judge=list(says), says=says)


def appended(folder: Path, *again: tuple[str, Mapping[str, Any]]) -> str:
    return make_log(folder, ROWS, plan("strict"), judge="lab/strict", again=again)


def table_of(log: str) -> pd.DataFrame:
    """The table's rows, the level and the judges without their provider as the index."""
    frame = agreement(answers_df(log)).frame.fillna({"second": ""})
    frame[["first", "second"]] = frame[["first", "second"]].apply(
        lambda names: names.str.removeprefix("lab/")
    )
    return frame.set_index(["level", "first", "second"])


def counts(row: pd.Series) -> list[int]:
    return list(row[["both_yes", "only_first", "only_second", "both_no"]])


def test_a_panel_of_two_by_hand(tmp_path: Path) -> None:
    frame = table_of(panel(tmp_path, "strict", "mild"))
    assert list(frame.index) == [("verdicts", "strict", "mild"), ("rubrics", "strict", "mild")]
    verdicts, rubrics = frame.iloc[0], frame.iloc[1]
    # t1 and t6 solved for both, t2 for strict only, t3 for mild only, t4 for neither
    assert counts(verdicts) == [2, 1, 1, 1]
    assert (verdicts["compared"], verdicts["agreement"]) == (5, pytest.approx(3 / 5))
    # chance 3/5 · 3/5 + 2/5 · 2/5 = 13/25; (15 - 13) / (25 - 13)
    assert verdicts["kappa"] == pytest.approx(1 / 6)
    assert 0 < verdicts["agreement_low"] < 3 / 5 < verdicts["agreement_high"] < 1
    assert -1 < verdicts["kappa_low"] < 1 / 6 < verdicts["kappa_high"] < 1
    # rubrics of t1 to t4: 3, 2, 1 and 2 of three alike
    assert counts(rubrics) == [6, 1, 3, 2]
    # chance 7 · 9 + 5 · 3 = 78 of 144; (96 - 78) / (144 - 78)
    assert rubrics["kappa"] == pytest.approx(3 / 11)


def test_a_panel_of_three_by_hand(tmp_path: Path) -> None:
    frame = table_of(panel(tmp_path, "strict", "mild", "third"))
    pairs = [("strict", "mild"), ("strict", "third"), ("mild", "third")]
    assert list(frame.loc["verdicts"].index) == [*pairs, ("all 3", "")]
    # strict, mild, third: TTT, TFT, FTF, FFF, -TT, TTT. Pairs 3/5, 5/5, 4/6.
    all_judges = frame.loc["verdicts", "all 3", ""]
    assert all_judges["agreement"] == pytest.approx((3 / 5 + 5 / 5 + 4 / 6) / 3)
    # two answers of 2 · 1 / (3 - 1) each; 17 verdicts, 11 of them yes
    assert all_judges["alpha"] == pytest.approx(1 - 2 * 16 / (11 * 6))
    assert all_judges["compared"] == 6
    assert frame.loc["verdicts", "strict", "third"][["kappa", "kappa_low"]].isna().tolist() == [False, True]


def test_judges_appended_and_asked_again(tmp_path: Path) -> None:
    # Another time, another verdict.
    log = appended(tmp_path, ("lab/mild", plan("mild")), ("lab/strict", plan("strict", t2="yyn")))
    frame = table_of(log)
    # Judges of a panel and those appended give the same figures.
    pair = table_of(panel(tmp_path, "strict", "mild")).loc["verdicts", "strict", "mild"]
    columns = ["both_yes", "compared", "agreement", "agreement_low", "kappa", "kappa_high"]
    assert list(frame.loc["verdicts", "strict", "mild"][columns]) == list(pair[columns])
    assert counts(frame.loc["verdicts", "strict", "strict (judged again 1)"]) == [2, 1, 0, 2]


def test_only_common_answers_of_a_share_are_compared(tmp_path: Path) -> None:
    log = appended(tmp_path, ("lab/mild", {"t1": ["yyy"], "t3": ["yyy"]}), ("lab/third", {"t2": ["yyy"]}))
    frame = table_of(log)
    assert counts(frame.loc["verdicts", "strict", "mild"]) == [1, 0, 1, 0]
    assert frame.loc["verdicts", "strict", "third"]["compared"] == 1
    nothing = frame.loc["rubrics", "mild", "third"]
    assert nothing["compared"] == 0
    assert nothing[["agreement", "kappa"]].isna().all()


def test_a_judge_asked_in_another_way(tmp_path: Path) -> None:
    path = appended(tmp_path, ("lab/strict", plan("third")))
    log = read_eval_log(path)
    for sample in log.samples or []:
        metadata = (sample.scores or {})["rubric_judge1"].metadata or {}
        metadata |= {"judge_effort": "high", "judge_prompt": "upstream", "judge_prompt_sha256": "e"}
    write_eval_log(log, path)
    (_, first, second), *_ = table_of(path).index
    names = ["strict (prompt builtin)", "strict (judge effort high, prompt upstream)"]
    assert [first, second] == names


def test_one_word_throughout_leaves_kappa_undefined(tmp_path: Path) -> None:
    table = agreement(answers_df(make_log(tmp_path, ROWS[:2], judge=["a", "b", "c"])))
    assert table.frame[["kappa", "alpha"]].isna().all(axis=None)
    assert (table.frame["agreement"] == 1).all()
    assert "nan" not in table.to_text(100)
    assert "not defined where all say the same" in table.methods


def test_one_judge_is_too_few(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"lab/strict only, .* inspect score LOG .* --action append"):
        agreement(answers_df(panel(tmp_path, "strict")))


def test_what_people_read(tmp_path: Path) -> None:
    table = agreement(answers_df(panel(tmp_path, "strict", "mild", "third")))
    check_golden(GOLDEN / "agreement.txt", table.to_text(80))


def test_a_comma_in_the_name_of_a_judge_makes_no_panel(tmp_path: Path) -> None:
    log = make_log(
        tmp_path, ROWS, judge="a, b", again=[("c", {row["metadata"]["task_id"]: ["yyy"] for row in ROWS})]
    )
    assert list(table_of(log).loc["verdicts"].index) == [("a, b", "c")]
    with pytest.raises(ClbenchError, match=r"clbench.*: cannot be read .* or other software wrote it"):
        agreement(answers_df(make_log(tmp_path, ROWS, judge=["a, b", "c"])))
