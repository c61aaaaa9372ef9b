"""The log viewer as a person sees it: from the list of logs to a failed sample."""

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import FloatRect, Locator, Page, expect

pytestmark = pytest.mark.browser

# With CLBENCH_PICTURES set to a folder, the README's pictures are made anew.
PICTURES = os.environ.get("CLBENCH_PICTURES")


def picture(page: Page, name: str) -> None:
    if PICTURES:
        Path(PICTURES).mkdir(parents=True, exist_ok=True)
        # without the bar on top, which shows where the log lies
        clip = {"x": 0, "y": 30, "width": 1500, "height": 920}
        page.screenshot(path=str(Path(PICTURES) / f"{name}.png"), clip=clip)  # type: ignore[arg-type]  # a TypedDict by another name


def open_log(page: Page, viewer: str) -> None:
    page.goto(viewer)
    page.get_by_text("clbench_demo/student").first.click()
    expect(page.get_by_text("demo-balloon-post-1").first).to_be_visible()


def open_sample(page: Page, viewer: str, name: str) -> None:
    open_log(page, viewer)
    # The list holds only the rows in sight: one that may be further down has an address.
    page.goto(f"{page.url.rstrip('/')}/samples/sample/{name}/1/")
    expect(page.get_by_role("tab", name="Transcript")).to_be_visible()


def test_the_headline_and_its_std_stand_in_the_title(page: Page, viewer: str) -> None:
    open_log(page, viewer)
    title = page.locator("body")
    for words in ("solving_rate", "std", "stderr", "0.417", "0.083"):
        expect(title).to_contain_text(words)


def test_categories_and_sub_categories_are_tables_of_their_own(page: Page, viewer: str) -> None:
    open_log(page, viewer)
    page.get_by_text("All scoring").click()
    dialog = page.locator("body")
    expect(dialog).to_contain_text("rubric_judge (Category)")
    expect(dialog).to_contain_text("rubric_judge (Sub-category)")
    expect(dialog).to_contain_text("Procedural Task Execution")
    expect(dialog).to_contain_text("Workflow Orchestration")
    picture(page, "scoring")


def test_the_sample_list_shows_rubrics_and_coloured_pills(page: Page, viewer: str) -> None:
    open_log(page, viewer)
    row = page.get_by_role("row").filter(has_text="demo-bar-fold-1").first
    expect(row).to_contain_text("0.83, 5/6 met, not solved")
    pill = row.locator("[data-col-id^=score] span")
    expect(pill).to_have_text("I")
    red = re.compile(r"rgb\((1[5-9]|2\d)\d, \d{1,2}, \d{1,2}\)")
    expect(pill).to_have_css("background-color", red)  # waits: rows in sight are drawn anew
    picture(page, "samples")


def test_the_checklist_stands_beside_the_answer_with_missed_rubrics_first(
    page: Page, viewer: str
) -> None:
    open_sample(page, viewer, "demo-bar-fold-1")
    # The transcript holds the score as well, further down; the checklist comes last.
    checklist = page.get_by_text("5/6 rubrics met, not solved").last
    expect(checklist).to_be_visible()
    answer = page.get_by_text("R4 = {0}").first
    expect(answer).to_be_visible()
    settled(page, lambda: right_edge(answer) <= place(checklist)["x"], "beside, not below")
    not_met, met = page.get_by_text("Not met (1)").last, page.get_by_text("Met (5)").last
    settled(page, lambda: place(not_met)["y"] < place(met)["y"], "what is missed comes first")
    picture(page, "checklist")


def test_a_citation_jumps_to_the_answer(page: Page, viewer: str) -> None:
    open_sample(page, viewer, "demo-bar-fold-1")
    link = page.locator("a[data-ref-id]").last
    expect(link).to_have_text(re.compile(r"M\d+"))
    link.click()
    expect(page).to_have_url(re.compile(r"transcript\?message="))
    expect(page.get_by_text("R4 = {0}").first).to_be_in_viewport()


def test_answers_are_sorted_by_the_share_of_rubrics_met(page: Page, viewer: str) -> None:
    open_log(page, viewer)
    page.get_by_text("Answer", exact=True).first.click()
    shares = page.get_by_text(re.compile(r"^\d\.\d\d, \d+/\d+ met"))

    def ascending() -> bool:
        found = [float(text[:4]) for text in shares.all_inner_texts()]
        return len(found) > 3 and found[0] < 1 and found == sorted(found)

    settled(page, ascending, "the least first")


def place(element: Locator) -> FloatRect:
    found = element.bounding_box()
    assert found is not None
    return found


def right_edge(element: Locator) -> float:
    return place(element)["x"] + place(element)["width"]


def settled(page: Page, holds: Callable[[], bool], words: str) -> None:
    """Wait until something holds: elements move while a page is being drawn."""
    for _ in range(100):
        if holds():
            return
        page.wait_for_timeout(100)
    pytest.fail(words)


HOSTILE_SAMPLES = ["demo-pebble-1", "demo-mast-frames-1", "demo-bar-fold-1"]


@pytest.mark.parametrize("name", HOSTILE_SAMPLES)
def test_hostile_rubrics_are_shown_as_they_are(
    page: Page, viewer: str, name: str, demo_rubrics: dict[str, list[str]]
) -> None:
    open_sample(page, viewer, name)
    page.get_by_role("tab", name="Scoring").click()
    entries = page.locator("li:visible:has(> strong:first-child)")
    rubrics = demo_rubrics[name]
    expect(entries).to_have_count(len(rubrics))  # none split, none swallowed
    wanted = {f"{i} {' '.join(r.split())}" for i, r in enumerate(rubrics, start=1)}

    def shown() -> set[str]:
        return {text.replace("\u2060", "").lstrip("✓✗? ") for text in entries.all_inner_texts()}

    settled(page, lambda: shown() == wanted, f"{shown()} instead of {wanted}")
