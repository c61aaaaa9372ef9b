"""What a user installs: everything is in the wheel, nothing else is."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "inspect_clbench"


@pytest.mark.slow
def test_the_wheel_holds_the_whole_package(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True, timeout=120)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (entry_points,) = (n for n in names if n.endswith("entry_points.txt"))
        registered = archive.read(entry_points).decode()
    expected = {
        f"inspect_clbench/{path.relative_to(PACKAGE).as_posix()}"
        for path in PACKAGE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert expected <= names
    for name in (
        "demo/rows.jsonl",
        "demo/life_rows.jsonl",
        "judge/builtin.txt",
        "run_configs/paper.yaml",
        "run_configs/paper-life.yaml",
        "analysis/published.json",
        "eval.yaml",
        "py.typed",
    ):
        assert f"inspect_clbench/{name}" in names
    assert "inspect_clbench = inspect_clbench._registry" in registered
    assert "clbench = inspect_clbench.cli:main" in registered
    assert not [n for n in names if n.startswith(("tests", "benchmarks", "docs"))]


def test_versions_are_pinned_without_an_index_address() -> None:
    for name in ("constraints.txt", "constraints-lowest.txt"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        assert pins
        assert all("==" in pin and "/" not in pin and " " not in pin for pin in pins)
