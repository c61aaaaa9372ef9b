"""How fast the page is: six models, three runs, all tasks.

    python -m benchmarks.explorer [LOG]

LOG is a log of three full runs; without one it is made first, which takes some minutes. It stands
for six models: its answers under other names, with verdicts that differ at random. The page is
opened from disk in headless Chromium, which must be installed. Times are the median of five, but
for that of the first answer, with which the second file is read.
"""

import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import Browser, sync_playwright

from benchmarks.full_log import build_log
from inspect_clbench.results import answers_df, explore

PAINT, FILTER = 1_000, 100
"""Milliseconds that the first paint and a filter may take."""
REPEATS = 5
FILTERS = {
    "search": ("search", "should include"),
    "no search": ("search", ""),
    "near misses": ("show", "near"),
    "all tasks": ("show", "all"),
    "sort": ("sort", "hardest"),
}
# Milliseconds until the list is laid out anew, or an answer is.
FILTERING = """([name, value]) => {
    const control = document.querySelector(`[name=${name}]`);
    const began = performance.now();
    control.value = value;
    control.dispatchEvent(new Event(name === "search" ? "input" : "change"));
    document.body.offsetHeight;
    return performance.now() - began;
}"""
ANSWERING = """async (place) => {
    const began = performance.now();
    const box = document.getElementById("answers");
    box.replaceChildren();
    document.querySelectorAll(".verdict")[place].click();
    while (!box.querySelector("pre")) await new Promise(requestAnimationFrame);
    return performance.now() - began;
}"""


def models(answers: pd.DataFrame, number: int) -> pd.DataFrame:
    """The answers of a log as those of so many models; each but the first has rubrics judged otherwise."""
    rng = np.random.default_rng(1)
    copies = [answers]
    for copy in range(1, number):
        is_missed = rng.random(len(answers)) < 0.1 * copy
        status = answers["status"].mask(is_missed, answers["status"].str.replace("y", "n", n=1))
        solved = (~status.str.contains("n")).astype(float).where(answers["solved"].notna())
        name = f"made/model-{copy}"
        copies.append(answers.assign(status=status, solved=solved, model=name, name=name))
    return pd.concat(copies, ignore_index=True)


def first_paint(browser: Browser, page_file: Path) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 860})
    page.goto(page_file.as_uri())
    entry = "performance.getEntriesByName('first-contentful-paint')[0]"
    page.wait_for_function(f"() => {entry}")
    return float(page.evaluate(f"{entry}.startTime"))


def median(measure: Callable[..., float], *arguments: Any) -> float:
    return statistics.median(measure(*arguments) for _ in range(REPEATS))


def write(answers: pd.DataFrame, page_file: Path) -> None:
    wall, cpu = time.perf_counter(), time.process_time()
    files = explore(answers, page_file)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    sizes = " and ".join(f"{file.stat().st_size / 1e6:.1f} MB" for file in files)
    print(f"{answers['name'].nunique()} models: written in {wall:.0f} s, {cpu:.0f} s of CPU; {sizes}")


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        answers = answers_df(sys.argv[1] if len(sys.argv) > 1 else build_log(folder / "logs"))
        page_file = folder / "page.html"
        write(models(answers, 2), folder / "two.html")
        write(models(answers, 6), page_file)
        chromium = shutil.which("chromium") or shutil.which("google-chrome") or ""
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
            paint = median(first_paint, browser, page_file)
            print(f"\nfirst contentful paint   {paint:6.0f} ms")
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto(page_file.as_uri() + "#tasks")
            page.wait_for_selector(".matrix")
            slowest = 0.0
            for what, (control, value) in FILTERS.items():
                milliseconds = median(page.evaluate, FILTERING, [control, value])
                slowest = max(slowest, milliseconds)
                print(f"{what:24} {milliseconds:6.0f} ms   {page.locator('#count').text_content()}")
            print(f"{'the first answer':24} {page.evaluate(ANSWERING, 0):6.0f} ms")
            print(f"{'another answer':24} {median(page.evaluate, ANSWERING, 1):6.0f} ms")
            browser.close()
    holds = paint <= PAINT and slowest <= FILTER
    print(f"\nClaims (paint <= {PAINT} ms, filters <= {FILTER} ms): {'hold' if holds else 'DO NOT HOLD'}")
    sys.exit(not holds)


if __name__ == "__main__":
    main()
