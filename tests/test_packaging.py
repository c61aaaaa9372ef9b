"""What a user installs: everything is in the wheel, and it runs without extras."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "inspect_clbench"


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program prints; it must end well."""
    process = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)
    assert process.returncode == 0, process.stderr + process.stdout
    return process.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (path,) = folder.glob("*.whl")
    return path


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    files = {path.relative_to(PACKAGE.parent).as_posix() for path in PACKAGE.rglob("*") if path.is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        entry_points = next(name for name in archive.namelist() if name.endswith("entry_points.txt"))
        registered = archive.read(entry_points).decode()
    assert names == {name for name in files if "__pycache__" not in name}
    assert "inspect_clbench = inspect_clbench._registry" in registered
    assert "clbench = inspect_clbench.cli:main" in registered


def test_a_plain_install_runs_everything_but_pictures(wheel: Path, tmp_path: Path) -> None:
    programs = tmp_path / "venv" / "bin"
    run(sys.executable, "-m", "venv", "--without-pip", programs.parent)
    constraints = ROOT / "constraints.txt"
    run(
        *(sys.executable, "-m", "uv", "pip", "install", "--python", programs / "python"),
        *("-c", constraints, wheel),
    )
    demo = "inspect_clbench/clbench -T dataset=demo --model clbench_demo/student --limit 4"
    run(programs / "inspect", "eval", *demo.split(), "--display", "none", cwd=tmp_path)
    clbench = programs / "clbench"
    assert "CL-bench demo: solving rate" in run(clbench, "report", "logs", cwd=tmp_path)
    run(clbench, "plan", "--model", "clbench_demo/student", "--contexts", "2", cwd=tmp_path)
    run(clbench, "explore", "logs", "--output", "page.html", cwd=tmp_path)
    plot = subprocess.run(
        [clbench, "plot", "logs", "--output", "rates.svg"], cwd=tmp_path, capture_output=True, text=True
    )
    assert plot.returncode == 1
    assert "altair" in plot.stderr
    assert not (tmp_path / "rates.svg").exists()


def test_versions_are_pinned_without_an_index_address() -> None:
    for name in ("constraints.txt", "constraints-lowest.txt"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        assert pins
        assert all("==" in pin and "/" not in pin and " " not in pin for pin in pins)
