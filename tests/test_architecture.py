"""Imports point one way, chains of them stay short, and what must be light is light."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inspect_clbench"
ORDER = ["text", "errors", "files", "benchmarks", "data", "judge", "metrics", "replay", "scoring",
         "error_types", "exam", "tasks", "demo", "_registry", "results", "regrade", "cli"]  # fmt: skip
# Results read logs: of the core they know the benchmarks and, for plans and files, the rows and tasks.
RESULTS_KNOW = {"text", "errors", "files", "benchmarks", "data", "judge", "replay", "tasks"}
LONGEST_CHAIN = 9
MODULES = {
    ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__"): path
    for path in SOURCE.rglob("*.py")
}


def imports(module: str, *, at_load: bool = False) -> set[str]:
    """The modules of the package that a module imports, or imports when it is loaded."""
    tree = ast.parse(MODULES[module].read_text("utf-8"))
    names: set[str] = set()
    for node in tree.body if at_load else ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names |= {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & MODULES.keys() - {module}


def room(module: str) -> str:
    return module.partition(".")[2].partition(".")[0]


@pytest.mark.parametrize("module", [name for name in MODULES if room(name)])
def test_imports_never_go_back(module: str) -> None:
    rooms = {room(name) for name in imports(module)} - {"", room(module)}
    assert all(ORDER.index(name) < ORDER.index(room(module)) for name in rooms), rooms
    if room(module) == "results":
        assert rooms <= RESULTS_KNOW


@cache
def chain(module: str) -> tuple[str, ...]:
    """The longest chain of imports that starts with a module, as it is loaded."""
    # A package is no link: what stands in it imports its neighbours one by one.
    modules = [name for name in imports(module, at_load=True) if MODULES[name].name != "__init__.py"]
    chains = (chain(name) for name in modules)
    return (module, *max(chains, key=len, default=()))


def test_chains_of_imports_are_short() -> None:
    longest = max(map(chain, MODULES), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded when a program ends."""
    program = f"import atexit, sys\natexit.register(lambda: print(*sys.modules))\n{code}"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    return set(process.stdout.split())


@pytest.mark.parametrize("arguments", [["report", "--help"], ["report"]])
def test_help_and_mistakes_in_arguments_do_without_inspect(arguments: list[str]) -> None:
    loaded = loaded_by(f"sys.argv[1:] = {arguments}\nimport inspect_clbench.cli as cli\ncli.main()")
    assert "typer" in loaded
    assert not {"inspect_ai", "pandas"} & loaded


def test_the_registry_that_every_inspect_command_imports_is_light() -> None:
    loaded = loaded_by("import inspect_clbench._registry")
    assert "inspect_ai" in loaded
    assert not {"pandas", "pyarrow", "altair", "scipy", "datasets"} & loaded
