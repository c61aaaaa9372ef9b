"""The page and Inspect's log viewer in headless Chromium, as a person sees them."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright
from tenacity import Retrying, stop_after_delay, wait_fixed

from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.page import explore
from tests.support.builders import row
from tests.support.logs import make_log

pytestmark = pytest.mark.browser

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome") or ""
FLAGS = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PATIENCE = 60_000  # on a busy machine a page may take long to be drawn
expect.set_options(timeout=PATIENCE)

HOSTILE = "</script><img src=x onerror='window.hacked=1'><b>bold<b>"
PLAN_A = {"a": ["yyy", "yyn"], "b": ["nnn", "yyn"], "c": ["yyy", "yyy"]}
PLAN_B = {"a": ["yny", "nnn"], "b": ["yyy", "yyy"], "c": ["yyy", "yyy"]}
ANSWERS = {
    "a": [f"first line\n{HOSTILE}", "first line\nother"],
    "b": ["The hive has four, or five bees.", "The hive has five, or six."],
}

Opener = Callable[..., Page]


@pytest.fixture(scope="module")
def browser(demo_log: str) -> Iterator[Browser]:
    """For this module only, and after the demo's run: Playwright's event loop is in the way of Inspect's."""
    if not CHROMIUM:
        if os.environ.get("CI"):
            pytest.fail("no Chromium, though CI installs one")
        pytest.skip("no Chromium on this machine")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def page_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("page")
    rubrics = [f"Names the frog {HOSTILE}", "Says two.", "Says three."]
    rows = [
        row("a", context="x", rubrics=rubrics),
        row("b", context="y", sub_category="Science"),
        row("c", context="z", sub_category="Experimental Data"),
    ]
    make_log(folder, rows, PLAN_A, model="made/one", answers=ANSWERS, error_types={"a": ["", "refusal"]})
    make_log(folder, rows, PLAN_B, model=f"made/two {HOSTILE.replace('/', '')}", answers=ANSWERS)
    return explore(answers_df(str(folder)), folder / "page.html")[0]


@pytest.fixture
def at(page_file: Path, browser: Browser) -> Iterator[Opener]:
    """Open the page at a place; whatever went wrong in it fails the test at its end."""
    wrong: list[str] = []
    pages: list[Page] = []

    def go(place: str = "", width: int = 1500, file: Path = page_file) -> Page:
        page = browser.new_page(viewport={"width": width, "height": 900})
        page.set_default_timeout(PATIENCE)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text))
        page.goto(file.as_uri() + place)
        expect(page.locator("#bar a").last).to_have_text(re.compile(r"Tasks \(3\)"))
        pages.append(page)
        return page

    yield go
    for page in pages:
        assert page.evaluate("window.hacked") is None
        assert page.locator("img").count() == 0
        page.close()
    assert wrong == []


def ids(page: Page) -> list[str]:
    return page.locator("#tasks code").all_text_contents()


def test_the_answer_and_the_figures_stand_first(at: Opener) -> None:
    page = at()
    expect(page.locator(".answer")).to_contain_text("These data do not tell two")
    expect(page.locator("#report h2").first).to_have_text("Solving rates")
    expect(page.locator("figure svg.wide").first).to_be_visible()
    expect(page.locator("figure svg.narrow").first).to_be_hidden()
    assert HOSTILE.replace("/", "")[-10:] in page.locator("#report table").first.inner_text()
    expect(page.locator("#task")).to_be_hidden()


def test_each_figure_leads_to_its_tasks(at: Opener) -> None:
    page = at()
    page.get_by_role("row", name=re.compile("^one")).first.get_by_role("button").nth(1).click()
    expect(page.locator("#task h2")).to_have_text("a")  # the only task of the category solved by it
    assert ids(page) == ["a"]
    page.keyboard.press("o")
    page.locator(".heat tbody button").nth(2).click()  # Science, the better model
    assert ids(page) == ["b"]
    page.locator("#bar a", has_text="Results").click()
    page.get_by_role("row", name=re.compile("^Overall")).get_by_role("button").click()
    assert ids(page) == ["b"]  # solved more often by the better model
    page.keyboard.press("o")
    page.get_by_role("row", name=re.compile("^one")).last.get_by_role("button").last.click()
    assert ids(page) == ["a"]  # a refusal


def test_a_link_opens_a_task_and_a_verdict_its_answer(at: Opener) -> None:
    page = at("#task=a")
    met = page.locator(".matrix tbody td.met")
    assert met.all_text_contents() == ["1/4", "2/4", "2/4", "3/4"]  # the hardest rubric first
    page.get_by_label("met: one, run 1, rubric 1", exact=True).click()
    expect(page.locator("#answers pre").last).to_contain_text(f"first line\n{HOSTILE}")
    expect(page.locator("#answers")).to_contain_text("Checked line by line.")
    expect(page.locator("#answers")).to_contain_text("tokens in, 20 out")
    page.keyboard.press("Escape")
    expect(page.locator("#answers")).to_be_hidden()
    expect(at("#task=nothing").locator("#task")).to_contain_text("No task begins with nothing.")


def test_two_answers_stand_beside_each_other_with_what_differs(at: Opener) -> None:
    page = at("#task=a")
    page.get_by_label("solved, 3 of 3 rubrics: one, run 1").click()
    page.locator("#answers select").select_option(label="one, run 2")
    expect(page.locator("#answers section")).to_have_count(2)
    assert page.locator("#answers mark").all_text_contents() == [HOSTILE, "other"]
    expect(page.locator("#answers summary").first).to_have_text("Verdicts differ on 1 of 3 rubrics")
    expect(page.locator("#answers .signs li")).to_have_text("✓ ✗ 3 Says three.")
    page = at("#task=b")
    page.locator(".verdict").first.click()
    page.locator(".verdict").nth(1).click(modifiers=["Shift"])
    expect(page.locator("#answers section")).to_have_count(2)
    marked = page.locator("#answers mark").all_text_contents()  # lines that are alike differ in words
    assert [text.strip() for text in marked] == ["four,", "five bees.", "five,", "six."]


def test_keys_lead_through_the_tasks_and_their_tables(at: Opener) -> None:
    page = at()
    for key, task in [("j", "b"), ("j", "a"), ("ArrowDown", "c"), ("j", "c"), ("k", "a")]:
        page.keyboard.press(key)
        expect(page.locator("#task h2")).to_have_text(task)  # sorted by difference at first
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp"):
        page.keyboard.press(key)
    expect(page.locator(":focus")).to_have_accessible_name(
        re.compile("not solved, 0 of 3 rubrics: two .*, run 2")
    )
    assert page.locator(".verdict[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#answers section")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#answers section")).to_have_count(2)
    page.keyboard.press("Escape")
    page.keyboard.press("/")
    page.keyboard.type("FROG")
    expect(page.locator("#count")).to_have_text("1 of 3 tasks, number 1 is open")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".matrix mark")).to_have_text("frog")


def test_filters_find_what_tells_models_apart(at: Opener) -> None:
    page = at("#tasks")
    page.get_by_label("Solved by", exact=True).select_option(label="one")
    assert sorted(ids(page)) == ["a", "c"]
    page.get_by_label("and by", exact=True).select_option(index=1)
    assert ids(page) == ["a"]
    page.get_by_label("Solved by", exact=True).select_option(index=0)
    page.get_by_label("and by", exact=True).select_option(index=0)
    page.get_by_label("Show").select_option("near")
    assert sorted(ids(page)) == ["a", "b"]
    expect(page.locator("option[value=near]")).to_have_text("near misses: one rubric missed (2)")
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Sort").select_option("hardest")
    assert ids(page) == ["a", "b", "c"]
    page.get_by_label("Category").select_option("Science")
    assert ids(page) == ["b"]


def test_on_a_phone_nothing_is_wider_than_the_screen(at: Opener) -> None:
    for place in ("", "#tasks", "#task=a"):
        page = at(place, width=390)
        assert page.evaluate("document.documentElement.scrollWidth") == 390
    expect(page.locator("#tasks")).to_be_hidden()
    page.get_by_role("button", name="Tasks and filters").click()
    expect(page.locator("#tasks")).to_be_visible()


@pytest.fixture(scope="module")
def viewer(demo_log: str) -> Iterator[str]:
    """The address of `inspect view` on the demo's log folder."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [sys.executable, "-m", "inspect_ai", "view", "start", "--log-dir", str(Path(demo_log).parent)]
    process = subprocess.Popen(
        [*command, "--port", str(port)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"http://127.0.0.1:{port}/"
    for attempt in Retrying(stop=stop_after_delay(60), wait=wait_fixed(0.2)):
        with attempt:
            httpx.get(address)
    yield address
    process.terminate()
    process.wait()


def test_inspects_viewer_shows_the_checklist_beside_the_answer(browser: Browser, viewer: str) -> None:
    page = browser.new_page(viewport={"width": 1500, "height": 950})
    page.set_default_timeout(PATIENCE)
    page.goto(viewer)
    page.get_by_text("clbench_demo/student").first.click()
    expect(page.locator("body")).to_contain_text("solving_rate")
    row = page.get_by_role("row").filter(has_text="demo-bar-fold-1").first
    expect(row).to_contain_text("0.83, 5/6 met, not solved")
    page.goto(f"{page.url.rstrip('/')}/samples/sample/demo-bar-fold-1/1/")
    checklist = page.get_by_text("5/6 rubrics met, not solved").last
    expect(checklist).to_be_visible()
    expect(page.get_by_text("R4 = {0}").first).to_be_visible()
    page.wait_for_function(  # elements move while the viewer draws
        """([answer, ...lines]) => {
            const boxes = lines.map((line) => line.getBoundingClientRect());
            const beside = answer.getBoundingClientRect().right <= boxes[0].left;
            return beside && boxes[1].top < boxes[2].top;
        }""",
        arg=[
            page.get_by_text("R4 = {0}").first.element_handle(),
            checklist.element_handle(),
            page.get_by_text("Not met (1)").last.element_handle(),
            page.get_by_text("Met (5)").last.element_handle(),
        ],
    )
    page.locator("a[data-ref-id]").last.click()
    expect(page).to_have_url(re.compile(r"transcript\?message="))
    page.close()
