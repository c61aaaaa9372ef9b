"""The report's page: what stands in it, that all of it is text, and what it links to."""

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

from inspect_clbench.analysis import load_series, report
from inspect_clbench.output import Table, report_page, tables_of
from inspect_clbench.output.how_run import how_run_tables
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import ERROR, GARBLED, tasks

HOSTILE = "<b>bold</b><script>hacked()</script>\"'&amp;"


class Page(HTMLParser):
    """What a browser would make of the page: its elements, its text, its addresses."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.addresses: list[str] = []
        self.handlers: list[str] = []
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attrs:
            if name in ("href", "src", "xlink:href", "action", "data"):
                self.addresses.append(value or "")
            if name.startswith("on"):
                self.handlers.append(name)

    def handle_data(self, data: str) -> None:
        self.text += data


@pytest.fixture(scope="module")
def page(demo_log: str) -> str:
    return report_page(demo_log)


def test_it_has_the_table_the_pictures_and_how_it_was_run(demo_log: str, page: str) -> None:
    found = Page(page)
    (table,) = tables_of(report(demo_log))
    for column, cell in zip(table.columns, table.rows[0], strict=True):
        assert column in found.text
        assert cell.text in found.text
    # All demo prompts are of one length; each picture is there for wide and narrow screens.
    assert found.tags.count("svg") == 2 * 4
    assert "CL-bench demo: solving rate by sub-category" in found.text
    assert "by prompt length" not in found.text
    sha = "9bb9bd1f669497993440f9a93398d573a8cf398f81e263bdca6a5df5052aa59a"
    (log,) = load_series([demo_log])[0].logs
    for words in (
        "clbench_demo/judge", "builtin", sha, "demo, 24 tasks", "inspect_clbench/clbench",
        log.header.eval.packages["inspect_ai"], log.header.eval.packages["inspect-clbench"],
        log.header.eval.created[:10], Path(log.location).name,
    ):  # fmt: skip
        assert words in found.text
    assert str(Path(demo_log).parent) not in page


def test_warnings_come_first(page: str) -> None:
    text = Page(page).text
    warning = "no verdict for 3 rows (4.2 %) because the judge failed"
    assert text.index("Read this first") < text.index(warning) < text.index("Results")
    assert text.count(warning) == 1
    # The pictures have intervals though the table has none.
    assert "Fewer than 15 contexts in Domain Knowledge Reasoning 7" in text


def test_it_needs_nothing_from_elsewhere(page: str) -> None:
    found = Page(page)
    assert found.addresses == []
    assert "script" not in found.tags
    assert "default-src 'none'" in page
    assert not re.search(r"url\(|@import", page)
    outside = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert outside <= {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}


@pytest.fixture
def without_pictures(monkeypatch: pytest.MonkeyPatch) -> None:
    """They take most of the time, and are tested elsewhere."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)


@pytest.mark.usefixtures("without_pictures")
def test_the_main_table_stands_before_those_asked_for(demo_log: str) -> None:
    text = Page(report_page(demo_log, by="turns", thresholds=True, published=True)).text
    places = [
        text.index("solving rate in %, mean ± std"),
        text.index("solving rate in % by user turns"),
        text.index("pass rate in % if so many %"),
    ]
    assert places == sorted(places)
    assert "GPT 5.1 (High) †" in text


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Names of models, judges and tasks that would be more than names, and gaps."""
    folder = tmp_path_factory.mktemp("hostile")
    rows = tasks("a<i>", "b&lt;", "c")
    plan = {"a<i>": ["yyn", "yyy"], "b&lt;": [GARBLED, "nnn"], "c": ["yyy", ERROR]}
    make_log(folder, rows, plan, model=HOSTILE, judge="<u>judge</u>", temperature=0.5)
    make_log(folder, rows[:2], {id: ["yyy"] for id in ("a<i>", "b&lt;")}, model="tame")
    return str(folder)


@pytest.fixture(scope="module")
def hostile_page(hostile: str) -> Page:
    return Page(report_page(hostile))


def test_names_stay_names(hostile_page: Page) -> None:
    found = hostile_page
    assert HOSTILE in found.text
    assert "<u>judge</u>" in found.text
    assert not {"script", "b", "i", "u"} & set(found.tags)
    assert not found.handlers


def test_gaps_and_differences_are_told(hostile: str, hostile_page: Page) -> None:
    text = hostile_page.text
    assert "incomplete, 1 answer missing after errors" in text
    assert "The rows are not of the same tasks: 2 tasks are common to all." in text
    assert "CL-bench: 2 models" in text
    different, common = how_run_tables(load_series([hostile]))
    assert column(different, "Model") == [f"mockllm/{HOSTILE}", "mockllm/tame"]
    assert column(different, "Model's settings") == ["temperature=0.5", "–"]
    assert column(different, "Runs") == ["2", "1"]
    assert ("Task", "inspect_clbench/clbench") in [
        tuple(c.text for c in r) for r in common.rows
    ]


def column(table: Table, name: str) -> list[str]:
    place = table.columns.index(name)
    return [row[place].text for row in table.rows]


@pytest.mark.usefixtures("without_pictures")
def test_without_the_extra_it_says_how_to_get_pictures(demo_log: str, page: str) -> None:
    found = Page(report_page(demo_log))
    assert "svg" not in found.tags
    assert "pip install '.[plot]'" in found.text
    assert "pip install" not in page
    assert "41.7 ± 8.3" in found.text
    assert "intervals" not in found.text


@pytest.mark.usefixtures("without_pictures")
def test_the_page_links_to_an_explorer_beside_it(demo_log: str, tmp_path: Path) -> None:
    output = str(tmp_path / "page.html")
    assert Page(report_page(demo_log, output=output)).addresses == []
    assert clbench("explore", demo_log, "-o", str(tmp_path / "explorer.html")).exit_code == 0
    found = Page(report_page(demo_log, output=output))
    assert found.addresses == ["explorer.html"]
    assert "Single tasks" in found.text


@pytest.mark.usefixtures("without_pictures")
def test_the_command_shows_or_writes_the_page(demo_log: str, tmp_path: Path) -> None:
    page, output = report_page(demo_log), tmp_path / "page.html"
    assert page.startswith("<!DOCTYPE html>")
    assert clbench("report", demo_log, "--format", "html") == (0, page, "")
    assert clbench("report", demo_log, "-o", str(output)) == (0, "", f"Wrote {output}\n")
    assert output.read_text("utf-8") == page
