"""How large the explorer is, and how fast in a browser: four models, three runs, all tasks.

    python -m benchmarks.explorer [LOG]

LOG is a log of three full runs; without one it is made first, which takes some minutes. It
stands for four models: copies under other names whose verdicts differ at random. The page is
opened from disk in headless Chromium, which must be installed. Times are the median of five,
except those of the first answer, with which the second file is read.
"""

import json
import random
import shutil
import statistics
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.full_log import build_log
from inspect_clbench.output import explore

MODELS = ("model-a", "model-b", "model-c", "model-d")
FLIPPED = (0.0, 0.02, 0.05, 0.1)
"""The share of rubrics whose status differs from the first model's."""

PAINT, FILTER = 1_000, 100
"""Milliseconds that the first paint and a filter may take."""

REPEATS = 5
_FILTERS: dict[str, tuple[str, str]] = {
    "search": ("input[type=search]", "should include"),
    "search all": ("input[type=search]", ""),
    "category": ("nav label:nth-of-type(1) select", "index 2"),
    "near misses": ("nav label:nth-of-type(2) select", "near"),
    "every run of": ("nav label:nth-of-type(3) select", "0"),
    "sort": ("nav label:nth-of-type(6) select", "difference"),
}


def another(log: Path, folder: Path, model: str, flipped: float) -> None:
    """A copy of a log under another model's name, with other verdicts in its summaries."""
    rng = random.Random(model)
    with zipfile.ZipFile(log) as old, zipfile.ZipFile(folder / f"{model}.eval", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:  # fmt: skip
        for name in old.namelist():
            content = old.read(name)
            if name in ("header.json", "_journal/start.json"):
                header = json.loads(content)
                header["eval"] |= {"model": f"made/{model}"}
                header["eval"] |= dict.fromkeys(("eval_id", "run_id", "task_id"), model)
                content = json.dumps(header).encode()
            elif name == "summaries.json":
                summaries = json.loads(content)
                for summary in summaries:
                    _flip(summary, flipped, rng)
                content = json.dumps(summaries).encode()
            new.writestr(name, content)


def _flip(summary: dict[str, Any], share: float, rng: random.Random) -> None:
    score = summary["scores"]["rubric_judge"]
    metadata = score["metadata"]
    status = "".join("yn"[letter == "y"] if rng.random() < share else letter for letter in metadata["status"])  # fmt: skip
    metadata |= {"status": status, "rubrics_met": status.count("y")}
    score["value"] = "I" if "n" in status else "C"
    summary["uuid"] = f"{summary['id']}-{summary['epoch']}-{rng.random()}"


def opened(browser: Browser, page_file: Path) -> Page:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto(page_file.as_uri())
    page.wait_for_selector("#count:not(:empty)")
    return page


def first_paint(browser: Browser, page_file: Path) -> float:
    page = opened(browser, page_file)
    entry = "performance.getEntriesByName('first-contentful-paint')[0]"
    page.wait_for_function(f"() => {entry}")
    found: float = page.evaluate(f"{entry}.startTime")
    page.close()
    return found


def filter_time(page: Page, selector: str, value: str) -> float:
    """Milliseconds until the list is laid out anew."""
    found: float = page.evaluate(
        """([selector, value]) => {
            const control = document.querySelector(selector);
            const began = performance.now();
            if (value.startsWith("index ")) control.selectedIndex = Number(value.slice(6));
            else control.value = value;
            control.dispatchEvent(new Event(control.tagName === "INPUT" ? "input" : "change"));
            document.body.offsetHeight;
            return performance.now() - began;
        }""",
        [selector, value],
    )
    return found


def answer_time(page: Page, cell: int, *, beside: bool = False) -> float:
    """Milliseconds until the answer of a cell is laid out."""
    found: float = page.evaluate(
        """async ([cell, beside]) => {
            const began = performance.now();
            const box = document.getElementById("answers");
            box.replaceChildren();
            const button = document.querySelectorAll(".cell")[cell];
            button.dispatchEvent(new MouseEvent("click", { shiftKey: beside }));
            while (!box.querySelector("pre")) await new Promise(requestAnimationFrame);
            document.body.offsetHeight;
            return performance.now() - began;
        }""",
        [cell, beside],
    )
    return found


def median(measure: Callable[[], float]) -> float:
    return statistics.median(measure() for _ in range(REPEATS))


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        logs = folder / "logs"
        logs.mkdir()
        log = Path(sys.argv[1] if len(sys.argv) > 1 else build_log(folder / "first"))
        for model, flipped in zip(MODELS, FLIPPED, strict=True):
            another(log, logs, model, flipped)
        began = time.process_time()
        page_file, answers = explore(str(logs), folder / "explorer.html")
        print(f"4 models, 3 runs each; made in {time.process_time() - began:.0f} s of CPU")
        print(
            f"page {page_file.stat().st_size / 1e6:.1f} MB, answers {answers.stat().st_size / 1e6:.1f} MB"
        )
        chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(
                executable_path=chromium, args=["--no-sandbox"]
            )
            paint = median(lambda: first_paint(browser, page_file))
            print(f"\nfirst contentful paint   {paint:6.0f} ms")
            page = opened(browser, page_file)
            slowest = 0.0
            for what, (selector, value) in _FILTERS.items():
                taken = median(partial(filter_time, page, selector, value))
                slowest = max(slowest, taken)
                print(f"{what:24} {taken:6.0f} ms   {page.locator('#count').text_content()}")
            page.goto(page_file.as_uri() + "#task=" + page.locator("#tasks a").first.get_attribute("href")[6:])  # type: ignore[index]  # all of them are links  # fmt: skip
            page.wait_for_selector(".matrix")
            print(f"{'the first answer':24} {answer_time(page, 0):6.0f} ms")
            print(f"{'another answer':24} {median(lambda: answer_time(page, 1)):6.0f} ms")
            beside = median(lambda: answer_time(page, 4, beside=True))
            print(f"{'two, with what differs':24} {beside:6.0f} ms")
            browser.close()
    holds = paint <= PAINT and slowest <= FILTER
    print(f"\nClaims (paint <= {PAINT} ms, filters <= {FILTER} ms): {'hold' if holds else 'DO NOT HOLD'}")  # fmt: skip
    sys.exit(not holds)


if __name__ == "__main__":
    main()
