"""The explorer in a browser: from disk, by keys and by links, with hostile texts."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from inspect_clbench.output.explorer import explore
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import ERROR

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
    answers = {
        "a": [f"first line\n{HOSTILE}", "first line\nother"],
        "b": ["The hive has four, or five bees.", "The hive has five, or six."],
    }
    make_log(folder / "logs", rows, PLAN_A, model="one", answers=answers)
    make_log(folder / "logs", rows, PLAN_B, model=f"two{HOSTILE}", answers=answers)
    return explore(str(folder / "logs"), folder / "page.html")[0]


@pytest.fixture
def at(explorer: Path, page: Page) -> Any:
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.on("console", lambda message: wrong.append(message.text))

    def go(place: str = "") -> Page:
        page.goto(explorer.as_uri() + place)
        expect(page.locator("h2")).to_be_visible()
        return page

    yield go
    assert wrong == []
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0


def test_a_link_opens_a_task_and_a_cell_its_answer(at: Any) -> None:
    page = at("#task=a")
    expect(page.locator("h2")).to_have_text("a")
    # The second rubric is missed most often: 2 of 4 answers have it; the others 3 and 2.
    met = page.locator(".matrix tbody td.met")
    assert met.all_text_contents() == ["1/4", "2/4", "2/4", "3/4"]
    page.get_by_label("met: mockllm/one, run 1, rubric 1", exact=True).click()
    expect(page.locator("#answers pre").last).to_contain_text(f"first line\n{HOSTILE}")
    expect(page.locator("#answers")).to_contain_text("Checked line by line.")
    expect(page.locator("#answers")).to_contain_text(
        "answer: 100 tokens in, 20 out · judge: 50"
    )
    page.keyboard.press("Escape")
    expect(page.locator("#answers")).to_be_hidden()


def test_two_answers_stand_beside_each_other_with_what_differs(at: Any) -> None:
    page = at("#task=a")
    page.get_by_label("solved, 3 of 3 rubrics: mockllm/one, run 1").click()
    page.locator("#answers select").select_option(label="mockllm/one, run 2")
    expect(page.locator("#answers section")).to_have_count(2)
    assert page.locator("#answers mark").all_text_contents() == [HOSTILE, "other"]
    expect(page.locator("#answers summary").first).to_have_text(
        "Verdicts differ on 1 of 3 rubrics"
    )
    expect(page.locator("#answers .signs li")).to_have_text("✓ ✗ 3 Says three.")
    page.goto(page.url.replace("#task=a", "#task=b"))
    page.locator(".cell").first.click()
    page.locator(".cell").nth(3).click(modifiers=["Shift"])
    expect(page.locator("#answers section")).to_have_count(2)
    # Lines that are alike differ in words.
    marked = page.locator("#answers mark").all_text_contents()
    assert [text.strip() for text in marked] == ["four,", "five bees.", "five,", "six."]


def test_keys_lead_through_the_tasks_and_their_tables(at: Any) -> None:
    page = at()
    expect(page.locator("h2")).to_have_text("CL-bench")
    for key, task in [("j", "a"), ("j", "b"), ("ArrowDown", "c"), ("j", "c"), ("k", "b")]:
        page.keyboard.press(key)
        expect(page.locator("h2")).to_have_text(task)
    for key in ("ArrowRight", "ArrowDown", "ArrowRight", "ArrowUp", "ArrowRight"):
        page.keyboard.press(key)
    focused = page.locator(":focus")
    expect(focused).to_have_accessible_name("not solved, 0 of 3 rubrics: mockllm/one, run 1")
    assert page.locator(".cell[tabindex='0']").count() == 1
    page.keyboard.press("Enter")
    expect(page.locator("#answers section")).to_have_count(1)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("Shift+Enter")
    expect(page.locator("#answers section")).to_have_count(2)
    page.keyboard.press("Escape")
    expect(page.locator("#answers")).to_be_hidden()
    page.keyboard.press("/")
    page.keyboard.type("FROG")
    expect(page.locator("#count")).to_have_text("1 of 3 tasks")
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    expect(page.locator(".matrix mark")).to_have_text("frog")
    page.keyboard.press("o")
    expect(page.locator("h2")).to_have_text("CL-bench")


def test_filters_find_what_tells_models_apart(at: Any) -> None:
    page = at()
    shown = page.locator("#tasks code")
    page.get_by_label("Solved by", exact=True).select_option(index=1)
    assert shown.all_text_contents() == ["b", "c"]
    page.get_by_label("and by", exact=True).select_option(index=2)
    assert shown.all_text_contents() == ["b"]
    page.get_by_label("and by: in which runs").select_option("some")
    assert shown.all_text_contents() == ["c"]
    page.get_by_label("Solved by", exact=True).select_option(index=0)
    page.get_by_label("and by", exact=True).select_option(index=0)
    page.get_by_label("Show").select_option("near")
    assert shown.all_text_contents() == ["a", "b"]
    expect(page.locator("option[value=near]")).to_have_text(
        "near misses: one rubric missed (2)"
    )
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Sort").select_option("difference")
    assert shown.all_text_contents() == ["b", "a", "c"]


def test_every_number_of_the_overview_leads_to_its_tasks(at: Any) -> None:
    page = at()
    page.get_by_role("table", name="Solving rates", exact=True).get_by_role(
        "button"
    ).first.click()
    expect(page.locator("#count")).to_have_text("2 of 3 tasks, number 1 is open")  # not b
    for number, tasks in [("3 tasks", 3), ("3 rubrics", 2)]:
        page.keyboard.press("o")
        page.get_by_role("button", name=number, exact=True).first.click()
        expect(page.locator("#tasks li")).to_have_count(tasks)
    page.keyboard.press("o")
    table = page.get_by_role("table", name="Solving rates by sub-category")
    table.get_by_role("button").last.click()
    expect(page.locator("#tasks li")).to_have_count(3)


def test_a_comparison_opens_at_the_tasks_that_flipped(explorer: Path, page: Page) -> None:
    compared = explorer.with_name("compared.html")
    done = clbench("compare", str(explorer.parent / "logs"), "-o", str(compared))
    assert done.exit_code == 0, done.stderr
    page.goto(compared.as_uri())
    expect(page.locator("#count")).to_have_text("2 of 3 tasks")
    assert page.locator("#tasks code").all_text_contents() == ["a", "b"]
    expect(page.locator("main caption").first).to_contain_text(
        "These data cannot tell mockllm/one"
    )
    page.get_by_label("Show").select_option("lost")
    assert page.locator("#tasks code").all_text_contents() == ["b"]
    page.keyboard.press("Escape")
    page.keyboard.press("j")
    page.locator(".cell").first.click()
    expect(page.locator("#answers pre").last).to_contain_text("bees")
    assert page.evaluate("window.hacked") is None


def test_a_screen_reader_finds_a_table_with_heads(at: Any, page: Page) -> None:
    for width in (1280, 390):  # on a phone the table is laid out anew
        page.set_viewport_size({"width": width, "height": 800})
        at("#task=a")
        table = page.get_by_role("table", name="Rubrics by model and run")
        assert table.get_by_role("row").count() == 6
        assert (
            table.get_by_role("rowheader")
            .all_text_contents()[-1]
            .startswith("1 Names the frog")
        )
        heads = table.get_by_role("columnheader").all_text_contents()
        assert heads[-4:] == ["1", "2", "1", "2"]
        expect(table.get_by_role("cell").nth(5)).to_have_text("✗")


def test_without_its_second_file_the_page_says_so(explorer: Path, page: Page) -> None:
    alone = explorer.with_name("alone.html")
    alone.write_bytes(explorer.read_bytes())
    answers = explorer.with_name("page-answers.js")
    moved = answers.rename(explorer.with_name("moved.js"))
    page.goto(alone.as_uri() + "#task=a")
    page.locator(".cell").first.click()
    expect(page.locator("#answers")).to_contain_text("page-answers.js is not beside this page")
    moved.rename(answers)


@pytest.fixture(scope="module")
def four(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four models with three runs each, the second the best; one verdict contradicts its list."""
    folder = tmp_path_factory.mktemp("four")
    rows = [row(name, context=name) for name in "ab"]
    for model, status in (("low", "nny"), ("best", "yyy"), ("third", "yyn"), ("fourth", "yny")):
        make_log(
            folder / "logs",
            rows,
            {"a": [status] * 3, "b": ["yyy", status, "yyy" if model != "low" else "yyn!"]},
            model=model,
        )
    return explore(str(folder / "logs"), folder / "page.html")[0]


@pytest.mark.parametrize("width", [390, 1280, 1920])
def test_nothing_is_wider_than_the_page(four: Path, page: Page, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    page.goto(four.as_uri())
    expect(page.locator("h2")).to_have_text("CL-bench")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.goto(f"{four.as_uri()}#task=a")
    for met in page.locator(".met").all()[1:]:
        assert met.evaluate("(cell) => cell.scrollWidth <= cell.clientWidth")
        box = met.bounding_box()
        assert box is not None
        assert box["x"] + box["width"] <= width
    page.locator(".cell").first.click()
    page.locator("#answers select").select_option(index=4)
    expect(page.locator("#answers section")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_what_is_odd_about_an_answer_stands_beside_it(four: Path, page: Page) -> None:
    page.goto(f"{four.as_uri()}#task=b")
    odd = "Verdict that contradicts its list"
    expect(page.locator("header")).to_contain_text(f"{odd}: 1 of 12")
    page.get_by_label(re.compile("solved.*mockllm/low, run 2")).click()
    expect(page.locator("#answers pre")).to_have_count(2)
    expect(page.locator("#answers")).not_to_contain_text(odd)
    page.get_by_label(re.compile("solved.*mockllm/low, run 3")).click()
    expect(page.locator("#answers")).to_contain_text(odd)


def test_odd_file_names_long_answers_and_long_names(tmp_path: Path, page: Page) -> None:
    rows = [row("a", rubrics=["Frog? " * 7_000, "İİİİ frog"])]
    names = ["meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8", "claude-opus-4-5-20251101"]
    for name in [*names, "long-" * 40]:
        answers = {"a": ["the same line\n" * 50_000 + name]}
        make_log(tmp_path / "logs", rows, {"a": ["yn"]}, model=name, answers=answers)
    written = explore(str(tmp_path / "logs"), tmp_path / "run#1: 100%25?.html")
    wrong: list[str] = []
    page.on("pageerror", lambda error: wrong.append(str(error)))
    page.set_viewport_size({"width": 1366, "height": 768})
    page.goto(written[0].as_uri())
    page.get_by_label("Search rubrics").fill("frog")
    page.locator("#tasks a").first.click()
    expect(page.locator(".matrix mark")).to_have_count(7_001)
    assert page.locator(".matrix mark").first.text_content() == "frog"  # the hardest rubric
    head = page.locator(".matrix thead").bounding_box()
    assert head is not None
    assert head["height"] < 160
    page.locator(".cell").first.click()
    expect(page.locator("#answers pre").last).to_contain_text("the same line")
    page.locator("#answers select").select_option(index=1)
    expect(page.locator("#answers section")).to_have_count(2)
    expect(page.locator("#answers mark")).to_have_count(2)
    assert wrong == []


def test_runs_without_a_verdict_do_not_differ_from_others(tmp_path: Path, page: Page) -> None:
    plan = {"a": ["yyy", ERROR], "b": ["yyy", "nnn"]}
    make_log(tmp_path / "logs", [row(name) for name in plan], plan)
    page.goto(explore(str(tmp_path / "logs"), tmp_path / "page.html")[0].as_uri())
    page.get_by_label("Show").select_option("unsteady")
    assert page.locator("#tasks code").all_text_contents() == ["b"]
    page.get_by_label("Show").select_option("all")
    page.get_by_label("Solved by", exact=True).select_option(index=1)
    assert page.locator("#tasks code").all_text_contents() == ["a"]


def test_a_link_to_a_task_that_is_not_there_says_so(four: Path, page: Page) -> None:
    page.goto(f"{four.as_uri()}#task=nosuch")
    expect(page.locator("main")).to_contain_text("No task begins with nosuch.")
    page.goto(four.as_uri())
    expect(page.locator("main")).not_to_contain_text("No task begins with")


def test_the_best_model_comes_first_and_two_answers_before_their_rationales(
    four: Path, page: Page
) -> None:
    page.goto(f"{four.as_uri()}#task=a")
    heads = page.locator(".matrix thead tr").first.locator("th").all_text_contents()
    assert heads[1] == "mockllm/best"
    page.locator(".cell").first.click()
    expect(page.locator("#answers details[open]")).to_have_count(2)
    page.locator("#answers select").select_option(index=4)
    # What differs is what two answers are opened for; their rationales are one click away.
    expect(page.locator("#answers section details[open] summary")).to_have_text(
        ["The answer; what the other one lacks is marked"] * 2
    )
