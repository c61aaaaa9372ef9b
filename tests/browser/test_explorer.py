"""The explorer in a browser: from disk, by keys and by links, with hostile texts."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from inspect_clbench.output.explorer import explore
from tests.support.builders import row
from tests.support.logs import make_log

pytestmark = pytest.mark.browser

HOSTILE = "</script><img src=x onerror='window.hacked=1'><b>bold</b>"
PLAN_A = {"a": ["yyy", "yyn"], "b": ["nnn", "yyn"], "c": ["yyy", "yyy"]}
PLAN_B = {"a": ["yny", "nnn"], "b": ["yyy", "yyy"], "c": ["yyy", "yyy"]}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("explorer")
    rubrics = [f"Names the frog {HOSTILE}", "Says two.", "Says three."]
    rows = [
        row("a", context="x", rubrics=rubrics),
        row("b", context="y"),
        row("c", context="z"),
    ]
    answers = {"a": [f"first line\n{HOSTILE}", "first line\nother"]}
    make_log(folder / "logs", rows, PLAN_A, model="one", answers=answers)
    make_log(folder / "logs", rows, PLAN_B, model=f"two{HOSTILE}")
    return explore(str(folder / "logs"), folder / "page.html")[0]


@pytest.fixture
def at(explorer: Path, page: Page) -> Any:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))

    def go(place: str = "") -> Page:
        page.goto(explorer.as_uri() + place)
        expect(page.locator("#count")).to_contain_text("tasks")
        return page

    yield go
    assert wrong == []
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_a_link_opens_a_task_and_a_cell_its_answer(at: Any) -> None:
    page = at("#task=a")
    expect(page.locator("h2")).to_have_text("a")
    # The second rubric is missed most often: 2 of 4 answers have it; the others 3 and 2.
    met = page.locator(".matrix tbody td.number")
    assert met.all_text_contents() == ["2/4", "2/4", "3/4"]
    page.get_by_label("mockllm/one, run 1, rubric 1: met").click()
    expect(page.locator("#answers pre").last).to_contain_text(f"first line\n{HOSTILE}")
    expect(page.locator("#answers")).to_contain_text("Checked line by line.")
    page.locator("#answers select").select_option(label="mockllm/one, run 2")
    expect(page.locator("#answers section")).to_have_count(2)
    assert page.locator("#answers mark").all_text_contents() == [HOSTILE, "other"]


def test_keys_lead_through_the_tasks(at: Any) -> None:
    page = at()
    expect(page.locator("h2")).to_have_text("CL-bench")
    for key, task in [("j", "a"), ("j", "b"), ("ArrowDown", "c"), ("j", "c"), ("k", "b")]:
        page.keyboard.press(key)
        expect(page.locator("h2")).to_have_text(task)
    page.keyboard.press("/")
    page.keyboard.type("FROG")
    expect(page.locator("#count")).to_have_text("1 of 3 tasks")
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    expect(page.locator("h2")).to_have_text("CL-bench")


def test_filters_find_what_tells_models_apart(at: Any) -> None:
    page = at()
    shown = page.locator("#tasks code")
    page.get_by_label("Every run of").select_option(index=2)
    assert shown.all_text_contents() == ["b", "c"]
    page.get_by_label("No run of").select_option(index=1)
    assert shown.all_text_contents() == ["b"]
    page.get_by_label("Every run of").select_option(index=0)
    page.get_by_label("No run of").select_option(index=0)
    page.get_by_label("Show").select_option("near")
    assert shown.all_text_contents() == ["a", "b"]
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Sort").select_option("difference")
    assert shown.all_text_contents() == ["b", "a", "c"]


def test_a_link_opens_the_tasks_on_which_two_models_differ(at: Any) -> None:
    page = at("#show=flipped")
    assert page.locator("#tasks code").all_text_contents() == ["a", "b"]


def test_a_number_leads_to_its_tasks(at: Any) -> None:
    page = at()
    page.get_by_role("table", name="Solving rates").get_by_role("button").first.click()
    expect(page.locator("#count")).to_have_text("1 of 3 tasks")  # of the first model: c
    expect(page.locator("h2")).to_have_text("c")


def test_without_its_second_file_the_page_says_so(explorer: Path, page: Page) -> None:
    alone = explorer.with_name("alone.html")
    alone.write_bytes(explorer.read_bytes())
    answers = explorer.with_name("page-answers.js")
    moved = answers.rename(explorer.with_name("moved.js"))
    page.goto(alone.as_uri() + "#task=a")
    page.locator(".cell").first.click()
    expect(page.locator("#answers")).to_contain_text("page-answers.js is not beside this page")
    moved.rename(answers)


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_is_wider_than_the_page(at: Any, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    at("#task=a")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
