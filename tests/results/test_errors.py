"""The paper's table of error types, against shares made by hand."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.errors import errors
from tests.support.builders import row
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED

ROWS = [
    row("fin1", context="f"),
    row("fin2", context="f"),
    row("game", sub_category="Game Mechanics"),
    row("flow", sub_category="Workflow Orchestration"),
]
PLAN = {"fin1": ["nyy", "yyy"], "fin2": ["nyy", "nny"], "game": ["yyn", EMPTY], "flow": [GARBLED, "nnn"]}
LABELS = {
    "fin1": ["context_ignored", "solved"],
    "fin2": ["context_ignored+format_error", "context_ignored+format_error"],
    "game": ["unlabelled", "empty_answer"],
    "flow": ["no_verdict", "context_misused"],
}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    return answers_df(make_log(tmp_path_factory.mktemp("logs"), ROWS, PLAN, error_types=LABELS))


def only_row(answers: pd.DataFrame) -> Any:
    (figures,) = errors(answers).frame.to_dict("records")
    return figures


def test_shares_are_of_the_labelled_failed_answers(answers: pd.DataFrame) -> None:
    figures = only_row(answers)
    # Failed: fin1, fin2 twice, game twice, flow once, and flow's first run has no verdict. Labelled: four.
    assert (figures["labelled"], figures["failed"]) == (4, 6)
    assert figures["Context Ignored mean"] == 3 / 4
    assert figures["Context Misused mean"] == 1 / 4
    assert figures["Format Error mean"] == 2 / 4
    assert figures["Refusal mean"] == 0
    # None of two contexts: Clopper and Pearson's upper end is 1 - 0.025^(1/2).
    assert figures["Refusal low"] == 0
    assert figures["Refusal high"] == pytest.approx(1 - 0.025**0.5)


def test_answers_outside_a_share_are_counted(tmp_path: Path) -> None:
    plan = {"fin1": ["nyy"], "fin2": ["nyy"], "game": ["nyy"], "flow": [ERROR]}  # which is no failed answer
    again = [("mockllm/second", {"fin1": ["nnn"]})]  # whose verdicts were not labelled
    log = make_log(tmp_path, ROWS, plan, again=again, error_types={"game": ["refusal"]})
    table = errors(answers_df(log, judge="mockllm/judge"))
    assert "1 of 3" in table.to_text(80)
    assert table.notes == ["Failed answers left out of the shares: 2 that no judge was asked about."]
    assert table.methods.endswith("Error types named by mockllm/judge.")


def test_an_answer_that_shows_no_type_is_labelled(tmp_path: Path) -> None:
    log = make_log(
        tmp_path, ROWS[:2], {"fin1": ["nyy"], "fin2": ["nyy"]},
        error_types={"fin1": ["none"], "fin2": ["refusal"]},
    )  # fmt: skip
    figures = only_row(answers_df(log))
    assert (figures["labelled"], figures["Refusal mean"], figures["Context Ignored mean"]) == (2, 0.5, 0)
    assert pd.isna(figures["Refusal low"]), "one context tells nothing of others"


def test_published_rows_stand_under_ours(answers: pd.DataFrame) -> None:
    table = errors(answers, published=True)
    assert len(table.frame) == 11
    figures = table.frame.set_index("name").loc["GPT 5.1 (High) †"]
    shares = [figures["Context Ignored mean"], figures["Context Misused mean"]]
    assert shares == pytest.approx([0.553, 0.615])
    assert figures["published"]
    assert table.notes[-1].startswith("† Published: arXiv:2602.03587v1 Table 3 (annotated by hand")
    check_golden(Path(__file__).parent / "golden" / "errors.txt", table.to_text(80))


def test_a_model_without_labels_has_a_row_that_says_so(tmp_path: Path) -> None:
    make_log(tmp_path, ROWS, PLAN, model="mockllm/alpha", error_types=LABELS)
    make_log(tmp_path, ROWS, PLAN, model="mockllm/beta")
    frame = errors(answers_df(str(tmp_path))).frame.set_index("name")
    assert frame["labelled"].to_dict() == {"mockllm/alpha": 4, "mockllm/beta": 0}
    assert pd.isna(frame.loc["mockllm/beta", "Refusal mean"])


def test_logs_that_were_never_labelled_name_the_command(tmp_path: Path) -> None:
    answers = answers_df(make_log(tmp_path, ROWS, PLAN))
    with pytest.raises(ClbenchError, match="inspect score LOG --scorer inspect_clbench/error_types --action"):
        errors(answers)
