"""The explorer's page: what it knows, what it can do without, and what it refuses."""

import base64
import gzip
import json
import re
from pathlib import Path
from typing import Any

import pytest

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
    assert [model["name"] for model in data["models"]] == ["mockllm/one", "mockllm/two"]
    assert {task["id"]: task["cells"] for task in data["tasks"]} == {
        "a": [["s|yyy|", "f|yyn|"], ["s|yyy|", "s|yyy|"]],
        "b": [["f|nnn|", "s|yyy|"], ["f|nyy|", "f|nny|"]],
        "c": [["s|yyy|", "j||"], ["s|yyn|!", "e||"]],
    }
    assert data["tasks"][0]["rubrics"] == [
        [1, "Says one."],
        [2, "Says two."],
        [3, "Says three."],
    ]
    overall = data["groups"][0]
    assert overall["name"] == "Overall"
    assert [rate["mean"] for rate in overall["rates"]] == [
        pytest.approx(1 / 2),
        pytest.approx(7 / 12),
    ]
    assert answers.name == data["answers"]["file"] == "page-answers.js"


def test_answers_stand_in_a_second_file(logs: Path, tmp_path: Path) -> None:
    page, answers = explore(str(logs), tmp_path / "page.html")
    found = re.fullmatch(r'clbenchAnswers\("(\w+)",(.*)\);\n', answers.read_text(), re.DOTALL)
    assert found
    assert found[1] == payload(page)["answers"]["key"]
    chunks = json.loads(found[2].replace(",\n]", "]"))
    by_place = {(task, model): unpacked(packed) for task, model, packed in chunks}
    assert len(by_place) == 6
    first = by_place[0, 0]["2"]
    assert first["answer"] == "Answer to a.\nSTATUS=yyn"
    assert first["rationale"] == "Checked line by line."
    assert first["tokens"] == [[100, 20], [50, 10]]
    assert by_place[2, 1]["2"]["error"]


def test_a_page_without_answers_is_one_file(logs: Path, tmp_path: Path) -> None:
    done = clbench("explore", str(logs), "-o", str(tmp_path / "p.html"), "--without", "answers")
    assert done.exit_code == 0, done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["p.html"]
    data = payload(tmp_path / "p.html")
    assert "answers" not in data
    assert data["tasks"][1]["rubrics"][0] == [1, "Says one."]


def test_rubrics_can_be_left_out(logs: Path, tmp_path: Path) -> None:
    explore(str(logs), tmp_path / "p.html", without=["rubrics"])
    data = payload(tmp_path / "p.html")
    assert data["tasks"][0]["rubrics"] == [[1, ""], [2, ""], [3, ""]]
    assert "Says one" not in json.dumps(data)


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
