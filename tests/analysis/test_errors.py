"""The paper's table of error types from logs, by model and by group of tasks."""

import csv
import io
import json
import re
from collections.abc import Callable
from math import isnan
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import EvalLog, write_eval_log

from inspect_clbench import ClbenchError, error_types, rubric_judge
from inspect_clbench.analysis import errors, load_series
from inspect_clbench.output import Table, error_heatmap, render, tables_of
from tests.support.builders import row
from tests.support.command import clbench, usage_error
from tests.support.error_types import Labeller, labels_reply
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, scripted_judge

GOLDEN = Path(__file__).parent / "golden"
ROWS = [
    row("fin1", context="f"),
    row("fin2", context="f"),
    row("game", sub_category="Game Mechanics"),
    row("flow", sub_category="Workflow Orchestration"),
]
PLAN = {
    "fin1": ["nyy", "yyy"],
    "fin2": ["nyy", "nny"],
    "game": ["yyn", EMPTY],
    "flow": [GARBLED, "nnn"],
}
SAYS = {
    "fin1": labels_reply(context_ignored=[1]),
    "fin2": labels_reply(context_ignored=[1], format_error=[1]),
    "game": "No idea.",
    "flow": labels_reply(context_misused=[1, 2, 3]),
}


def says(prompt: str) -> str:
    return next(reply for task, reply in SAYS.items() if f"TASK={task}" in prompt)


def label(log: EvalLog, path: Path, says: Callable[[str], str] = says, **options: Any) -> str:
    """Write the log with its error types to a file."""
    done = score(
        log,
        error_types(**options),
        model_roles={"grader": Labeller(says).model()},
        action="append",
        display="none",
    )
    write_eval_log(done, str(path))
    return str(path)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return make_log(tmp_path_factory.mktemp("runs"), ROWS, PLAN, model="alpha")


@pytest.fixture(scope="module")
def labelled(runs: EvalLog, tmp_path_factory: pytest.TempPathFactory) -> str:
    return label(runs, tmp_path_factory.mktemp("labelled") / "alpha.eval")


def figures(table: Table, number: int = 0) -> dict[str, Any]:
    cells = zip(table.columns, table.rows[number], strict=True)
    return {title: cell.plain for title, cell in cells}


def test_rates_are_shares_of_the_labelled_failed_answers(labelled: str) -> None:
    (table,) = tables_of(errors(labelled))
    # Failed with text: fin1, fin2 twice, game, flow; game has no usable labels.
    found = figures(table)
    assert found["Context Ignored"]["mean"] == 3 / 4
    # Two contexts and none of them: Clopper and Pearson's upper end is 1 - 0.025^(1/2).
    assert found["Refusal"] == pytest.approx(
        {"mean": 0.0, "std": None, "low": 0.0, "high": 1 - 0.025**0.5}
    )
    assert found["Context Misused"]["mean"] == 1 / 4
    assert found["Format Error"]["mean"] == 2 / 4
    assert found["Refusal"]["mean"] == 0.0
    assert found["Labelled"] == {"labelled": 4, "of": 5, "share": 0.8}
    assert found["No usable labels"] == 1
    assert found["Empty answers"] == 1
    text = " ".join(map(str, table.notes))
    assert "left out of the rates: 1 row without a verdict" in text
    assert "no usable labels for 1 failed answer." in text
    assert "Judge: mockllm/labeller; prompt: error_types-1." in text


def test_published_rows_stand_beside_on_request(labelled: str) -> None:
    (table,) = tables_of(errors(labelled, published=True))
    assert len(table.rows) == 11
    gpt = figures(table, 1)
    assert gpt["Model"] == "GPT 5.1 (High)"
    rates = [gpt[name]["mean"] for name in ("Context Ignored", "Context Misused")]
    assert rates == [0.553, 0.615]
    assert sum(gpt[t]["mean"] for t in table.columns[1:5]) > 1, "several types at once"
    assert any("arXiv:2602.03587" in note.text for note in table.notes)


def test_types_by_category_and_sub_category(labelled: str) -> None:
    by_category, by_sub = tables_of(errors(labelled, by=["category", "sub_category"]))
    ignored = figures(by_category)
    assert (ignored["Model"], ignored["Error type"]) == ("mockllm/alpha", "Context Ignored")
    assert ignored["Overall"]["mean"] == 3 / 4
    assert ignored["Domain Knowledge Reasoning"]["mean"] == 1.0
    assert ignored["Procedural Task Execution"]["mean"] == 0.0
    assert ignored["Rule System Application"] is None, "nothing is labelled there"
    counts = figures(by_category, 4)
    assert counts["Domain Knowledge Reasoning"] == {"labelled": 3}
    assert len(by_sub.columns) == 2 + 18
    assert figures(by_sub)["Finance"]["mean"] == 1.0
    assert figures(by_sub, 1)["Workflow Orchestration"]["mean"] == 1.0


def test_a_frame_has_a_row_per_type_and_group(labelled: str) -> None:
    frame = errors(labelled, by="category", published=True).to_pandas()
    assert list(frame.columns) == ["by", "model", "type", "group", "share", "low", "high"]
    ours = frame[frame["model"] == "mockllm/alpha"].set_index(["by", "type", "group"])["share"]
    assert len(ours) == 4 * (1 + 4) + 4  # by category with all tasks, and the paper's table
    assert ours["", "Context Ignored", "Overall"] == 3 / 4
    assert ours["category", "Context Ignored", "Overall"] == 3 / 4
    assert ours["category", "Context Misused", "Procedural Task Execution"] == 1.0
    assert isnan(ours["category", "Refusal", "Rule System Application"])
    published = frame[frame["model"] == "GPT 5.1 (High)"].set_index("type")["share"]
    assert published["Context Misused"] == 0.615


def test_a_draw_is_told(runs: EvalLog, tmp_path: Path) -> None:
    (table,) = tables_of(errors(label(runs, tmp_path / "alpha.eval", max_failures=1)))
    assert figures(table)["Labelled"]["labelled"] + figures(table)["No usable labels"] == 2
    assert "a random draw of at most 1 failure a run; 3 failed answers not drawn" in " ".join(
        map(str, table.notes)
    )


def test_several_models_and_a_log_without_error_types(
    runs: EvalLog, labelled: str, tmp_path: Path
) -> None:
    other = make_log(tmp_path / "beta", ROWS, PLAN, model="beta")
    path = label(other, tmp_path / "beta.eval", lambda _: labels_reply(refusal=[1]))
    plain = make_log(tmp_path / "gamma", ROWS, PLAN, model="gamma")
    # The log from before the labelling is the same run and says nothing more.
    (table,) = tables_of(errors([labelled, runs.location, path, plain.location]))
    assert [line[0].plain for line in table.rows] == ["mockllm/alpha", "mockllm/beta"]
    assert figures(table, 1)["Refusal"]["mean"] == 1.0
    left_out = [str(note) for note in table.notes if "it has no error types" in note.text]
    assert len(left_out) == 1
    assert "gamma" in left_out[0]
    error_heatmap([labelled, path], str(tmp_path / "both.svg"))
    drawn = (tmp_path / "both.svg").read_text("utf-8")
    assert "mockllm/beta" in drawn


def test_a_log_that_was_never_labelled_names_the_command(runs: EvalLog) -> None:
    with pytest.raises(ClbenchError, match=r"inspect score .* --action append"):
        errors(runs.location)


def test_an_unknown_group_is_refused(labelled: str) -> None:
    with pytest.raises(ClbenchError, match="by=length: unknown"):
        errors(labelled, by="length")


def test_the_heatmap_is_drawn(labelled: str, tmp_path: Path) -> None:
    output = tmp_path / "types.svg"
    error_heatmap(labelled, str(output), by="sub_category")
    drawn = output.read_text("utf-8")
    assert drawn.startswith("<svg")
    for words in ("Context Ignored", "Workflow Orchestration", "66.7", "100.0"):
        assert words in drawn
    error_heatmap(labelled, str(output), medium="paper")
    assert float(re.findall(r' width="([\d.]+)pt"', output.read_text("utf-8"))[0]) <= 3.3 * 72
    assert (tmp_path / "types.caption.txt").exists()


def test_the_command_prints_all_formats(labelled: str, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        code, out, err = clbench("errors", labelled, *arguments)
        assert code == 0, err
        return out

    data = json.loads(run("--format", "json"))
    assert data[0]["rows"][0]["Context Ignored"]["mean"] == 0.75
    rows = list(csv.DictReader(io.StringIO(run("--by", "category", "--format", "csv"))))
    assert rows[0]["Overall mean"] == "0.75"
    assert rows[4]["Overall labelled"] == "4"
    assert r"\begin{tabular}" in run("--format", "latex")
    assert "<table>" in run("--format", "html")
    assert "| Context Ignored |" in run("--by", "category", "--format", "markdown")
    assert run("--heatmap", str(tmp_path / "types.svg"), "--for", "paper-wide") == ""
    assert (tmp_path / "types.svg").exists()
    refused = clbench("errors", labelled, "--published", "--heatmap", str(tmp_path / "x.svg"))
    assert "nobody published error types by groups of tasks" in usage_error(refused)
    assert "--for goes with --heatmap" in usage_error(
        clbench("errors", labelled, "--for", "dark")
    )
    code, _, err = clbench("errors")
    assert (code, "No log was given" in err) == (2, True)


def test_what_people_read(labelled: str) -> None:
    found = errors(labelled, by="category", published=True)
    check_golden(GOLDEN / "errors.txt", render(found, "terminal", 100))


def test_scores_of_a_second_judge_are_found_where_samples_ended_in_errors(
    tmp_path: Path,
) -> None:
    rows = [row("gone"), row("fin1")]
    judged = make_log(tmp_path, rows, {"gone": [ERROR], "fin1": ["nyy"]})
    done = score(
        judged, rubric_judge(), model_roles={"grader": scripted_judge("second")},
        action="append", display="none",
    )  # fmt: skip
    write_eval_log(done, str(tmp_path / "again.eval"))
    # Inspect files the second judge under the first one's name in the header.
    assert [one.judge for one in load_series(str(tmp_path / "again.eval"))] == [
        "mockllm/judge", "mockllm/second",
    ]  # fmt: skip
