"""Plots and the report's page in a browser: offline, in light and dark, and its links."""

from pathlib import Path
from typing import Literal

import pytest
from playwright.sync_api import Page, expect

from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import tasks

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror='window.hacked=1'>"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory, demo_log: str) -> Path:
    """Pages of a model with a hostile name, and the demo's."""
    folder = tmp_path_factory.mktemp("pages")
    plan = {"a": ["yyy", "yyn"], "b": ["nnn", "yyy"], "c": ["yyy", "yyy"]}
    log = make_log(folder / "logs", tasks("a", "b", "c"), plan, model=HOSTILE).location
    logs = str(Path(demo_log).parent)
    for arguments in (
        ["plot", log, "-o", str(folder / "plot.html")],
        ["report", log, "-o", str(folder / "hostile.html")],
        ["report", logs, "-o", str(folder / "report.html")],
    ):
        done = clbench(*arguments)
        assert done.exit_code == 0, done.stderr
    return folder


def open_alone(page: Page, file: Path, scheme: Literal["light", "dark"] = "light") -> list[str]:
    """Open a file with everything else out of reach; what it asked for, what went wrong."""
    asked: list[str] = []
    address = file.as_uri()
    page.route("**/*", lambda route: route.continue_() if route.request.url == address else route.abort())  # fmt: skip
    page.on("request", lambda request: asked.append(request.url))
    page.on("console", lambda message: asked.append(message.text))
    page.on("pageerror", lambda error: asked.append(str(error)))
    page.emulate_media(color_scheme=scheme)
    page.goto(address)
    expect(page.locator("svg.marks:visible").first).to_be_visible()
    page.wait_for_timeout(300)
    asked.remove(address)
    return asked


@pytest.mark.parametrize("name", ["plot.html", "hostile.html", "report.html"])
def test_nothing_is_fetched_and_nothing_runs(files: Path, page: Page, name: str) -> None:
    assert open_alone(page, files / name) == []
    assert page.evaluate("window.hacked") is None
    assert page.locator("img").count() == 0
    if name != "report.html":
        expect(page.locator("body")).to_contain_text("<img src=x onerror='window.hacked=1'>")


def test_the_pointer_shows_names_as_text(files: Path, page: Page) -> None:
    open_alone(page, files / "plot.html")
    page.locator(".mark-text.role-mark text").last.hover()
    tip = page.locator("#vg-tooltip-element")
    expect(tip).to_contain_text("onerror='window.hacked=1'")
    expect(tip).to_contain_text("66.7")
    assert page.evaluate("window.hacked") is None


@pytest.mark.parametrize(
    ("scheme", "ink", "paper"),
    [
        ("light", "rgb(36, 41, 47)", "rgb(255, 255, 255)"),
        ("dark", "rgb(230, 237, 243)", "rgb(17, 21, 26)"),
    ],
)
@pytest.mark.parametrize("name", ["plot.html", "report.html"])
def test_text_and_paper_follow_the_scheme(
    files: Path, page: Page, name: str, scheme: Literal["light", "dark"], ink: str, paper: str
) -> None:
    open_alone(page, files / name, scheme)
    title = page.locator("svg.marks text").filter(has_text="Overall").first
    assert title.evaluate("e => getComputedStyle(e).fill") == ink
    assert page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor") == paper
    page.emulate_media(media="print")
    assert title.evaluate("e => getComputedStyle(e).fill") == "rgb(36, 41, 47)"


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["plot.html", "report.html"])
def test_no_page_scrolls_sideways(files: Path, page: Page, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 800})
    open_alone(page, files / name)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
