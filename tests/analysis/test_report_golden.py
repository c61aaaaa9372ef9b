"""What people read, compared with files that someone has looked at."""

from pathlib import Path

import pytest
from inspect_ai import eval
from inspect_ai.model import get_model

from inspect_clbench.analysis import costs, near_misses, report, show_task
from inspect_clbench.analysis.reporting.show import task_text
from inspect_clbench.analysis.tables import Format, render
from tests.support.golden import check_golden

GOLDEN = Path(__file__).parent / "golden"
ENDINGS: dict[Format, str] = {
    "terminal": "txt",
    "markdown": "md",
    "csv": "csv",
    "json": "json",
    "latex": "tex",
    "html": "html",
}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A demo run that no other test's calls have had an influence on."""
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": "demo"},
        model=get_model("clbench_demo/student", memoize=False),
        model_roles={"grader": get_model("clbench_demo/judge", memoize=False)},
        epochs=3,
        max_samples=1,
        log_dir=str(tmp_path_factory.mktemp("golden")),
        display="none",
    )
    assert log.status == "success", log.error
    return log.location


@pytest.mark.parametrize("format", ENDINGS)
def test_main_table(log: str, format: Format) -> None:
    text = render(report(log), format, width=120)
    check_golden(GOLDEN / f"main.{ENDINGS[format]}", text)


@pytest.mark.parametrize("format", ENDINGS)
def test_sub_categories_under_their_categories(log: str, format: Format) -> None:
    text = render(report(log, by="sub_category"), format, width=120)
    check_golden(GOLDEN / f"sub_category.{ENDINGS[format]}", text)


@pytest.mark.parametrize("format", ["terminal", "json", "csv"])
def test_intervals(log: str, format: Format) -> None:
    text = render(report(log, ci=True), format, width=120)
    check_golden(GOLDEN / f"ci.{ENDINGS[format]}", text)


def test_published_rows(log: str) -> None:
    text = render(report(log, published=True, leaderboard=True), "markdown")
    check_golden(GOLDEN / "published.md", text)


def test_groups_and_thresholds(log: str) -> None:
    tables = report(log, by=["length", "turns", "rubric_count"], thresholds=True)
    check_golden(GOLDEN / "groups.txt", render(tables, "terminal", width=120))


def test_near_misses(log: str) -> None:
    check_golden(GOLDEN / "near_misses.txt", render(near_misses(log, 5), "terminal", width=120))


def test_costs(log: str, tmp_path: Path) -> None:
    prices = tmp_path / "prices.yaml"
    prices.write_text(
        "clbench_demo/student: {input: 3, cached_input: 0.3, output: 15}\n"
        "clbench_demo/judge: {input: 1.25, output: 10}\n"
    )
    text = render(costs(log, str(prices)), "terminal", width=120)
    check_golden(GOLDEN / "costs.txt", text)


@pytest.mark.parametrize("full", [False, True])
def test_one_task(log: str, full: bool) -> None:
    text = task_text(show_task(log, "demo-nine-herons-1"), full)
    assert log in text
    check_golden(GOLDEN / f"show{'_full' if full else ''}.txt", text.replace(log, "LOG"))
