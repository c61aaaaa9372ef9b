"""What the page holds: the figures of the tables, each task and answer, and nothing it should not."""

import base64
import gzip
import json
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.page import explore
from inspect_clbench.results.report import report
from tests.support.builders import row
from tests.support.logs import make_log

KEY = "sk-proj-abcdefghijklmnop1234"
ROWS = [
    row("t1", context="x", sub_category="Finance", rubrics=["Names the frog.", "Says three."]),
    row("t2", context="y", sub_category="Science"),
    row("t3", context="z", sub_category="Experimental Data"),
]
FIRST = {"t1": ["yy", "yn"], "t2": ["garbled", ""], "t3": ["yyy", "error"]}
SECOND = {"t1": ["nn", "yn"], "t2": ["yyy", "yyn!"], "t3": ["yyy", "yyy"]}
ANSWERS = {"t1": ["The frog.", f"Header api_key={KEY} rejected"]}


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    folder = tmp_path_factory.mktemp("logs")
    first: Any = {"answers": ANSWERS, "error_types": {"t1": ["", "context_ignored"]}}
    make_log(folder, ROWS, FIRST, model="made/one", created="2026-01-02T10:00:00+00:00", **first)
    make_log(folder, ROWS, SECOND, model="made/two", created="2026-03-04T10:00:00+00:00")
    return answers_df(str(folder))


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def part(page: Path, name: str) -> Any:
    found = re.search(rf'id="{name}">([^<]*)<', page.read_text("utf-8"))
    assert found
    return unpacked(found[1])


def texts(answers_file: Path) -> dict[tuple[int, int, int], Any]:
    """What the second file says by task, model and run."""
    content = answers_file.read_text("utf-8")
    chunks = json.loads("[" + content.partition("[")[2].rpartition("]")[0].rstrip().rstrip(",") + "]")
    return {
        (task, model, int(run)): text
        for task, model, packed in chunks
        for run, text in unpacked(packed).items()
    }


@pytest.fixture(scope="module")
def written(answers: pd.DataFrame, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    return explore(answers, tmp_path_factory.mktemp("page") / "page.html")


def test_the_figures_are_those_of_the_report(answers: pd.DataFrame, written: list[Path]) -> None:
    results = part(written[0], "results")
    assert [model["name"] for model in results["models"]] == ["two", "one"]  # best first
    assert results["models"][1] == {"name": "one", "title": "made/one", "runs": [1, 2]}
    assert results["facts"][1] == "Run on 2026-01-02 to 2026-03-04."
    frame = report(answers, ci=True).frame.set_index("name")
    shown = {cells[0][0]: cells[1][0].split("\n")[0] for cells in results["rates"]["rows"]}
    assert shown == {
        name.removeprefix("made/"): f"{100 * mean:.1f}" for name, mean in frame["Overall mean"].items()
    }
    assert results["subs"][0] == ["Finance", "Domain Knowledge Reasoning", 1, [0.0, 0.5]]


def test_what_misleads_is_said_once_and_above_all(written: list[Path]) -> None:
    results = part(written[0], "results")
    text = " ".join(results["warnings"])
    assert text.startswith("No verdict: the judge gave none")
    assert text.count("Ask again") == 1
    assert not any("No verdict" in note for note in results["compare"]["notes"])


def test_tasks_hold_each_verdict_by_model_and_run(written: list[Path]) -> None:
    tasks = {task["id"]: task for task in part(written[0], "tasks-data")}
    assert tasks["t1"]["cells"] == [["f|nn|", "f|yn|"], ["s|yy|", "f|yn|context_ignored"]]
    assert tasks["t2"]["cells"][1][0].startswith("j|")
    assert tasks["t2"]["cells"][1][1].startswith("f|nnn|")  # no answer
    assert tasks["t2"]["cells"][0][1] == "s|yyn|inconsistent"
    assert tasks["t3"]["cells"][1][1] == "e||"
    assert tasks["t1"]["rubrics"] == [[1, "Names the frog."], [2, "Says three."]]
    assert (tasks["t1"]["category"], tasks["t1"]["sub"]) == ("Domain Knowledge Reasoning", "Finance")


def test_no_key_is_written(answers: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "frogfrogfrog12")
    leaky = answers.assign(judge_error=f"401: authorization: Bearer {KEY}", sub_category="frogfrogfrog12")
    page, beside = explore(leaky, tmp_path / "page.html")
    everything = json.dumps([part(page, "results"), part(page, "tasks-data"), [*texts(beside).values()]])
    assert KEY not in everything
    assert "frogfrogfrog12" not in everything
    assert "[hidden]" in everything


def test_texts_of_a_task_stay_as_they_are(tmp_path: Path) -> None:
    text = "Uses https://api.example.org/v1/items?page=2 and says: API key: required."
    log = make_log(tmp_path, [row("t1", rubrics=[text])], answers={"t1": [text]})
    page, beside = explore(answers_df(log), tmp_path / "page.html")
    assert part(page, "tasks-data")[0]["rubrics"] == [[1, text]]
    assert texts(beside)[0, 0, 1]["answer"] == text


@pytest.mark.parametrize("without", [["answers"], ["rubrics"], ["answers", "rubrics"]])
def test_answers_or_rubrics_can_be_left_out(
    answers: pd.DataFrame, tmp_path: Path, without: list[str]
) -> None:
    paths = explore(answers, tmp_path / "page.html", without=without)
    tasks = part(paths[0], "tasks-data")
    assert len(paths) == len([*tmp_path.iterdir()]) == (1 if "answers" in without else 2)
    assert [bool(text) for task in tasks for _, text in task["rubrics"]] == ["rubrics" not in without] * 8
    with pytest.raises(ClbenchError, match=r"ends in .html"):
        explore(answers, tmp_path / "page.txt")
    with pytest.raises(ClbenchError, match="only answers and rubrics can be left out"):
        explore(answers, tmp_path / "page.html", without=["verdicts"])
    text = json.dumps([part(paths[0], "results"), tasks])
    assert "The frog." not in text
    assert "Checked line by line." not in text
    if len(paths) == 2:  # what the judge wrote may quote the rubrics
        says = texts(paths[1])
        assert not any("rationales" in text for text in says.values())
        assert says[0, 1, 1]["answer"] == "The frog."


def test_one_model_and_three_with_published_ones(
    answers: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "altair", None)  # which not everybody has: then there are the tables
    (page,) = explore(answers[answers["model"] == "made/two"], tmp_path / "one.html", without=["answers"])
    results = part(page, "results")
    assert results["answer"].startswith("Tasks solved by two: 66.7 %, 95 % interval [")
    assert not {"compare", "ranks", "forest"} & {*results}
    assert "pip install altair" in results["picture"]["missing"]
    third = answers[answers["model"] == "made/two"].assign(model="made/three", name="made/three", log="third")
    frame = pd.concat([answers, third], ignore_index=True)
    (page,) = explore(frame, tmp_path / "three.html", without=["answers"], published=True)
    results = part(page, "results")
    ranks, rates = results["ranks"], results["rates"]
    assert rates["published"][2:4] == [False, True]
    assert all(link is None for _, link in rates["rows"][3])  # which lead nowhere
    assert [place for _, _, place, _ in ranks] == [0, 1, 2]
    assert ranks[0][0] == 1


def test_nothing_but_its_own_script_runs_in_the_page(written: list[Path]) -> None:
    content = written[0].read_text("utf-8")
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', content)
    assert policy
    assert "default-src 'none'" in policy[1]
    assert "unsafe" not in policy[1]
    assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(", content)
    assert not re.search(r"https?://(?!www\.w3\.org)", content)


def test_imported_answers_have_no_costs(answers: pd.DataFrame, tmp_path: Path) -> None:
    nothing: list[dict[str, Any]] = [{} for _ in answers.index]
    imported = answers.assign(answer_usage=nothing, judge_usage=nothing, error_types_usage=nothing)
    (page,) = explore(imported, tmp_path / "imported.html", without=["answers"])
    assert "costs" not in part(page, "results")


def test_rubrics_are_those_of_a_log_that_reached_the_task(tmp_path: Path) -> None:
    make_log(tmp_path, ROWS[:2], {"t1": ["yy"], "t2": ["missing"]}, model="made/one")
    make_log(tmp_path, ROWS[:2], model="made/two")
    (page,) = explore(answers_df(str(tmp_path)), tmp_path / "page.html", without=["answers"])
    assert all(task["rubrics"] for task in part(page, "tasks-data"))
