"""Imports point one way, and the plugin stays light."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inspect_clbench"
FOUNDATION = {"errors", "files", "taxonomy"}

# Which rooms a room may import from, besides itself and the foundation.
ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "files": set(),
    "taxonomy": set(),
    "judge": set(),
    "metrics": set(),
    "panel_metrics": {"metrics"},
    "error_metrics": {"judge"},
    "ordering": set(),
    "sampling": {"rows"},
    "rows": {"row_files"},
    "row_files": {"hub"},
    "hub": set(),
    "viewer": {"judge"},
    "scores": {"judge", "viewer"},
    "dataset": {"rows", "row_files", "hub", "ordering", "sampling"},
    "demo": {"judge"},
    "replay": {"rows", "row_files"},
    "scorers": {"judge", "metrics", "panel_metrics", "error_metrics", "viewer", "scores"},
    "whole_run": {"replay", "scorers"},
    "tasks": {"dataset", "judge", "scorers", "viewer", "whole_run"},
    "regrade": {"scorers"},
    "analysis": {"metrics", "panel_metrics", "error_metrics", "sampling", "rows", "row_files", "hub", "judge", "viewer", "scores"},
    "cli": {"analysis", "regrade"},
    "_registry": {"tasks", "scorers", "metrics", "panel_metrics", "error_metrics", "demo", "replay"},
    "__init__": {"tasks", "scorers", "metrics", "panel_metrics", "error_metrics", "replay"},
}  # fmt: skip

# The rooms of the analysis; each may import from those before it.
ANALYSIS = (
    "text", "progress", "tables", "reading", "statistics", "reporting", "comparing",
    "drawing", "error_types", "checking", "originals", "pages",
)  # fmt: skip

# These know nothing of the rest of the house but what is named here.
PURE: dict[str, set[str]] = {
    "judge/replies.py": set(),
    "judge/verdict.py": {"judge.replies"},
    "metrics.py": set(),
}


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    return {module.split(".")[0] for module in imported_modules(path)}


def imported_modules(path: Path) -> set[str]:
    modules: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        names: list[str] = []
        if isinstance(node, ast.ImportFrom) and node.module:
            names = [node.module]
            if node.module == "inspect_clbench":
                names = [f"inspect_clbench.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        own = "inspect_clbench."
        modules |= {name.removeprefix(own) for name in names if name.startswith(own)}
    return modules


@pytest.mark.parametrize("path", sorted(SOURCE.rglob("*.py")), ids=lambda p: p.name)
def test_imports_point_one_way(path: Path) -> None:
    room = room_of(path)
    allowed = ALLOWED[room] | FOUNDATION | {room}
    assert imported_rooms(path) <= allowed
    name = str(path.relative_to(SOURCE))
    assert imported_modules(path) <= PURE.get(name, imported_modules(path))


@pytest.mark.parametrize("room", ANALYSIS)
def test_the_rooms_of_the_analysis_stand_in_order(room: str) -> None:
    allowed = {*ANALYSIS[: ANALYSIS.index(room) + 1], ""}
    place = SOURCE / "analysis" / room
    paths = list(place.rglob("*.py")) if place.is_dir() else [place.with_suffix(".py")]
    assert paths
    for path in paths:
        found = re.findall(r"inspect_clbench\.analysis\.?(\w*)", path.read_text("utf-8"))
        assert set(found) <= allowed, path


def test_every_room_of_the_analysis_is_named() -> None:
    names = {path.stem for path in (SOURCE / "analysis").iterdir()}
    assert names - {"__init__", "__pycache__"} == set(ANALYSIS)


@pytest.mark.long
def test_nothing_heavy_is_imported_before_it_is_used() -> None:
    code = (
        "import sys, inspect_ai, inspect_ai.log\n"
        "before = set(sys.modules)\n"
        "import inspect_clbench, inspect_clbench._registry, inspect_clbench.cli\n"
        "import inspect_clbench.analysis\n"
        "heavy = {'pandas', 'pyarrow', 'altair', 'vl_convert', 'scipy', 'statsmodels', 'datasets', 's3fs'}\n"
        "print(sorted(heavy & (set(sys.modules) - before)))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
