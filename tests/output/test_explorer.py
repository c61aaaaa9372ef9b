"""The explorer's page: what it knows, what it can do without, and what it refuses."""

import base64
import gzip
import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import write_eval_log

from inspect_clbench.errors import ClbenchError
from inspect_clbench.output.explorer import explore
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import ERROR, GARBLED, tasks

PLAN_A = {"a": ["yyy", "yyn"], "b": ["nnn", "yyy"], "c": ["yyy", GARBLED]}
PLAN_B = {"a": ["yyy", "yyy"], "b": ["nyy", "nny"], "c": ["yyn!", ERROR]}


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logs")
    make_log(folder, tasks("a", "b", "c"), PLAN_A, model="one")
    make_log(folder, tasks("a", "b", "c"), PLAN_B, model="two")
    return folder


def unpacked(text: str) -> Any:
    return json.loads(gzip.decompress(base64.b64decode(text)))


def payload(page: Path) -> Any:
    found = re.search(r'id="data">([^<]*)<', page.read_text("utf-8"))
    assert found
    return unpacked(found[1])


def test_the_page_knows_every_verdict(logs: Path, tmp_path: Path) -> None:
    page, answers = explore(str(logs), tmp_path / "page.html")
    data = payload(page)
    assert [model["name"] for model in data["models"]] == [
        "mockllm/two",
        "mockllm/one",
    ]  # the better one
    assert {task["id"]: task["cells"] for task in data["tasks"]} == {
        "a": [["s|yyy|", "s|yyy|"], ["s|yyy|", "f|yyn|"]],
        "b": [["f|nyy|", "f|nny|"], ["f|nnn|", "s|yyy|"]],
        "c": [["s|yyn|!", "e||"], ["s|yyy|", "j||"]],
    }
    assert data["tasks"][0]["rubrics"] == [
        [1, "Says one."],
        [2, "Says two."],
        [3, "Says three."],
    ]
    overall = data["groups"][0]
    assert overall["name"] == "Overall"
    assert [rate["mean"] for rate in overall["rates"]] == [
        pytest.approx(7 / 12),
        pytest.approx(1 / 2),
    ]
    assert answers.name == data["answers"]["file"] == "page-answers.js"


def test_answers_stand_in_a_second_file(logs: Path, tmp_path: Path) -> None:
    page, answers = explore(str(logs), tmp_path / "page.html")
    assert payload(page)["answers"]["key"] in answers.read_text()
    by_place = answers_in(answers)
    assert len(by_place) == 6
    first = by_place[0, 1]["2"]
    assert first["answer"] == "Answer to a.\nSTATUS=yyn"
    assert first["rationale"] == "Checked line by line."
    assert first["use"] == [[100, 20, None], [50, 10, None]]
    assert by_place[2, 0]["2"]["error"]


def test_an_answers_file_belongs_to_its_page_only(tmp_path: Path) -> None:
    keys = set()
    for text in ("first", "second"):  # the same verdicts on other answers
        folder = tmp_path / text
        make_log(folder, tasks("a"), {"a": ["yyy"]}, answers={"a": [text]})
        keys.add(payload(explore(str(folder), folder / "page.html")[0])["answers"]["key"])
    assert len(keys) == 2


def test_names_and_costs_that_a_page_cannot_hold_as_they_are(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, model="a\u202eb")
    assert log.samples
    usage = log.samples[0].output.usage
    assert usage
    usage.total_cost = math.nan
    write_eval_log(log)
    page, answers = explore(str(tmp_path), tmp_path / "page.html")
    assert payload(page)["models"][0]["name"] == "mockllm/a\ufffdb"
    assert answers_in(answers)[0, 0]["1"]["use"][0] == [100, 20, None]


def test_a_page_without_answers_is_one_file(logs: Path, tmp_path: Path) -> None:
    done = clbench("explore", str(logs), "-o", str(tmp_path / "p.html"), "--without", "answers")
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]
    data = payload(tmp_path / "p.html")
    assert "answers" not in data
    assert data["tasks"][1]["rubrics"][0] == [1, "Says one."]


def answers_in(file: Path) -> dict[tuple[int, int], Any]:
    """What the second file holds, by task and model."""
    found = re.fullmatch(
        r'clbenchAnswers\("(\w+)",(.*)\);\n', file.read_text("utf-8"), re.DOTALL
    )
    assert found
    chunks = json.loads(found[2].replace(",\n]", "]"))
    return {(task, model): unpacked(packed) for task, model, packed in chunks}


def test_rubrics_can_be_left_out_with_what_may_quote_them(logs: Path, tmp_path: Path) -> None:
    page, answers = explore(str(logs), tmp_path / "p.html", without=["rubrics"])
    data = payload(page)
    assert data["tasks"][0]["rubrics"] == [[1, ""], [2, ""], [3, ""]]
    assert "Says one" not in json.dumps(data)
    written = answers_in(answers)
    assert written[0, 1]["2"]["answer"] == "Answer to a.\nSTATUS=yyn"
    assert "rationale" not in written[0, 1]["2"]
    assert written[2, 1]["2"]["error"] == ""  # of the judge: its reply may be in it
    assert written[2, 0]["2"]["error"]  # of the sample


def test_a_comparison_is_an_explorer_of_the_tasks_that_flipped(
    logs: Path, tmp_path: Path
) -> None:
    page = tmp_path / "compared.html"
    done = clbench("compare", str(logs), "-o", str(page))
    assert done.exit_code == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "compared-answers.js",
        "compared.html",
    ]
    data = payload(page)
    overall = data["tables"][0]
    assert "mockllm/one" in overall["title"]
    assert dict(zip(overall["columns"], overall["rows"][0], strict=True))["Won"] == "1"
    # In their common runs the first model solved b once more, and a once less.
    assert data["flipped"] == [[1], [0]]
    assert str(logs) not in json.dumps(data)


def test_three_models_are_compared_on_the_same_page(logs: Path, tmp_path: Path) -> None:
    make_log(tmp_path / "third", tasks("a", "b", "c"), PLAN_B, model="three")
    page = tmp_path / "compared.html"
    done = clbench("compare", str(logs), str(tmp_path / "third"), "-o", str(page))
    assert done.exit_code == 0, done.stderr
    data = payload(page)
    assert "flipped" not in data
    assert [table["title"] for table in data["tables"]][1] == "The difference of each pair"


def test_only_a_page_is_written(logs: Path, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"ends in \.html"):
        explore(str(logs), tmp_path / "page.png")
    assert clbench("explore", str(logs), "-o", str(tmp_path / "page.png")).exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_several_datasets_are_not_mixed(logs: Path, demo_log: str, tmp_path: Path) -> None:
    output = str(tmp_path / "p.html")
    done = clbench("explore", str(logs), demo_log, "-o", output)
    assert done.exit_code == 2
    assert '--dataset "CL-bench"' in done.stderr
    done = clbench("explore", str(logs), demo_log, "-o", output, "--dataset", "CL-bench")
    assert done.exit_code == 0, done.stderr
    assert len(payload(tmp_path / "p.html")["tasks"]) == 3


def test_nothing_from_outside_stands_in_the_page(tmp_path: Path) -> None:
    hostile = "</script><script>window.hacked=1</script>"
    make_log(tmp_path / "logs", tasks("a", "b"), {"a": ["yyy"]}, model=hostile)
    (page, _) = explore(str(tmp_path / "logs"), tmp_path / "p.html")
    assert "hacked" not in page.read_text("utf-8")


@pytest.mark.parametrize("without", ["rubrics", ["rubric"]])
def test_what_cannot_be_left_out_is_refused(logs: Path, tmp_path: Path, without: Any) -> None:
    with pytest.raises(ClbenchError, match="give a list of answers and rubrics"):
        explore(str(logs), tmp_path / "page.html", without=without)
    assert not (tmp_path / "page.html").exists()
