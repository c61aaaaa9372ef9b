"""What a user installs: everything is in the wheel, nothing else is."""

import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "inspect_clbench"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder, cwd=ROOT)
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="module")
def bare(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs of an environment that has the wheel and no extra."""
    programs = tmp_path_factory.mktemp("bare") / "venv" / "bin"
    run(sys.executable, "-m", "venv", "--without-pip", programs.parent)
    install(programs, wheel)
    return programs


def install(programs: Path, *packages: str | Path) -> None:
    uv: list[str | Path] = [sys.executable, "-m", "uv", "pip", "install"]
    run(*uv, "--python", programs / "python", "-c", ROOT / "constraints.txt", *packages)
    link_bytecode(programs)


def link_bytecode(programs: Path) -> None:
    """Link to what this environment has compiled of the same files: it is most of the work.

    What is not of the very same file, Python compiles anew.
    """
    ours = Path(sysconfig.get_path("purelib"))
    (theirs,) = programs.parent.glob("lib/python*/site-packages")
    for compiled in ours.rglob("__pycache__/*.pyc"):
        link = theirs / compiled.relative_to(ours)
        if link.parents[1].exists() and not link.exists():
            link.parent.mkdir(exist_ok=True)
            link.symlink_to(compiled)


def run(*command: str | Path, cwd: Path | None = None) -> str:
    """What a program prints; it must end well."""
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr + done.stdout
    return done.stdout


@pytest.mark.long
def test_the_wheel_holds_the_whole_package(wheel: Path) -> None:
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
        "exam/cases/rain-harp.yaml",
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


DEMO = (
    "-T", "dataset=demo", "--model", "clbench_demo/student",
    "--model-role", "grader=clbench_demo/judge", "--log-dir", "logs", "--display", "plain",
)  # fmt: skip


@pytest.mark.long
def test_the_wheel_runs_the_demo_without_extras(bare: Path, tmp_path: Path) -> None:
    run(
        bare / "inspect",
        "eval",
        "inspect_clbench/clbench",
        *DEMO,
        "--epochs",
        "3",
        cwd=tmp_path,
    )
    table = run(bare / "clbench", "report", "logs", cwd=tmp_path)
    assert "CL-bench demo: solving rate" in table
    assert "clbench_demo/student" in table
    extras = ("scipy", "statsmodels", "altair", "vl_convert")  # s3fs comes with Inspect
    found = run(
        bare / "python",
        "-c",
        f"import importlib.util as u; print([n for n in {extras} if u.find_spec(n)])",
    )
    assert found.strip() == "[]"


@pytest.mark.long
def test_beside_a_benchmark_of_inspect_evals(bare: Path, tmp_path: Path) -> None:
    install(bare, "inspect-evals")
    theirs = "agent_threat_bench_memory_poison"  # its samples come with the package
    both = ("inspect_clbench/clbench", f"inspect_evals/{theirs}")
    run(bare / "inspect", "eval-set", *both, *DEMO, cwd=tmp_path)
    (recipe,) = [
        block
        for block in re.findall(
            r"```python\n(.*?)```", (ROOT / "docs" / "running.md").read_text(), re.S
        )
        if "evals_df" in block
    ]
    shown = "print(evals.set_index('task_name').to_json(orient='index'))"
    printed = run(bare / "python", "-c", f"{recipe}\n{shown}", cwd=tmp_path)
    rows = json.loads(printed.strip().splitlines()[-1])
    assert rows.keys() == {"clbench", theirs}
    for row in rows.values():
        assert 0 <= row["score_headline_value"] <= 1
        assert 0 <= row["score_headline_stderr"] <= 1
    assert rows["clbench"]["score_headline_metric"] == "solving_rate"
    assert rows["clbench"]["score_headline_stderr"] > 0


@pytest.mark.long
def test_the_plugin_is_imported_in_a_tenth_of_the_time_that_inspect_takes() -> None:
    # Inspect takes two seconds, so that this is the 0.2 s that we promise, on any machine.
    code = (
        "import time\n"
        "start = time.process_time()\n"
        "import inspect_ai\n"
        "theirs = time.process_time()\n"
        "import inspect_clbench, inspect_clbench._registry\n"
        "print((time.process_time() - theirs) / (theirs - start))"
    )
    # One of three is enough: what is slow is so every time.
    assert any(float(run(sys.executable, "-c", code)) < 0.1 for _ in range(3))


def test_versions_are_pinned_without_an_index_address() -> None:
    for name in ("constraints.txt", "constraints-lowest.txt"):
        lines = (ROOT / name).read_text("utf-8").splitlines()
        pins = [line for line in lines if line and not line.startswith("#")]
        assert pins
        assert all("==" in pin and "/" not in pin and " " not in pin for pin in pins)
