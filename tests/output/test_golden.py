"""What people read, compared with files that someone has looked at."""

import shutil
from pathlib import Path
from urllib.parse import urlparse

import pytest

from inspect_clbench.analysis import costs, near_misses, report, show_task
from inspect_clbench.choices import Format
from inspect_clbench.output import render, task_text
from tests.support.golden import check_golden


@pytest.fixture(autouse=True, name="demo_log")
def _demo_log(demo_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The demo's log under a name that is always the same."""
    shutil.copy(urlparse(demo_log).path, tmp_path / "demo.eval")
    monkeypatch.chdir(tmp_path)
    return "demo.eval"


GOLDEN = Path(__file__).parent / "golden"
ENDINGS: dict[Format, str] = {
    "terminal": "txt",
    "markdown": "md",
    "csv": "csv",
    "json": "json",
    "latex": "tex",
    "html": "html",
}


@pytest.mark.parametrize("format", ENDINGS)
def test_main_table(demo_log: str, format: Format) -> None:
    text = render(report(demo_log), format, width=120)
    check_golden(GOLDEN / f"main.{ENDINGS[format]}", text)


@pytest.mark.parametrize("format", ["terminal"])
def test_sub_categories_under_their_categories(demo_log: str, format: Format) -> None:
    text = render(report(demo_log, by="sub_category"), format, width=120)
    check_golden(GOLDEN / f"sub_category.{ENDINGS[format]}", text)


@pytest.mark.parametrize("format", ["terminal", "json", "csv"])
def test_intervals(demo_log: str, format: Format) -> None:
    text = render(report(demo_log, ci=True), format, width=120)
    check_golden(GOLDEN / f"ci.{ENDINGS[format]}", text)


def test_published_rows(demo_log: str) -> None:
    text = render(report(demo_log, published=True, leaderboard=True), "markdown")
    check_golden(GOLDEN / "published.md", text)


def test_groups_and_thresholds(demo_log: str) -> None:
    found = report(demo_log, by=["length", "turns", "rubric_count"], thresholds=True)
    check_golden(GOLDEN / "groups.txt", render(found, "terminal", width=120))


def test_near_misses(demo_log: str) -> None:
    check_golden(
        GOLDEN / "near_misses.txt", render(near_misses(demo_log, 5), "terminal", width=120)
    )


def test_costs(demo_log: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "clbench_demo/student:\n"
        "  {input: 3, input_cache_write: 3, input_cache_read: 0.3, output: 15}\n"
        "clbench_demo/judge:\n"
        "  {input: 1.25, input_cache_write: 1.25, input_cache_read: 1.25, output: 10}\n"
    )
    text = render(costs(demo_log, str(prices)), "terminal", width=120)
    check_golden(GOLDEN / "costs.txt", text)


@pytest.mark.parametrize("full", [False, True])
def test_one_task(demo_log: str, full: bool) -> None:
    text = task_text(show_task(demo_log, "demo-nine-herons-1"), full)
    assert demo_log in text
    check_golden(GOLDEN / f"show{'_full' if full else ''}.txt", text.replace(demo_log, "LOG"))
