"""Imports point one way, chains of them stay short, and what must be light is light."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inspect_clbench"
ORDER = ["text", "errors", "files", "progress", "benchmarks", "data", "judge", "metrics", "replay", "scoring",
         "error_types", "exam", "tasks", "demo", "_registry", "results", "regrade", "cli", "__main__"]  # fmt: skip
# Results read logs: of the core they know the benchmarks and, for plans and files, the rows and tasks.
RESULTS_KNOW = {"text", "errors", "files", "progress", "benchmarks", "data", "judge", "replay", "tasks"}
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
    """The modules that are loaded after a program has run."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    process = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(process.stdout.split())


@pytest.mark.parametrize("arguments", [["--help"], ["report", "--help"], ["--version"], ["report"]])
def test_help_and_mistakes_in_arguments_do_without_inspect(arguments: list[str]) -> None:
    code = (
        "import sys, atexit\n"
        "atexit.register(lambda: print(*sys.modules))\n"
        "import inspect_clbench, inspect_clbench.cli\n"
        "inspect_clbench.cli.main()"
    )
    command = [sys.executable, "-c", code, *arguments]
    process = subprocess.run(command, capture_output=True, text=True, check=False)
    assert process.returncode == (2 if arguments == ["report"] else 0)
    assert "typer" in (modules := process.stdout.split())
    assert not {"inspect_ai", "pandas"} & {*modules}


def test_the_registry_that_every_inspect_command_imports_is_light() -> None:
    loaded = loaded_by("import inspect_clbench._registry")
    assert "inspect_ai" in loaded
    assert not {"pandas", "pyarrow", "altair", "scipy", "datasets"} & loaded


def test_public_names_are_functions_and_not_modules_of_their_names() -> None:
    import inspect_clbench
    import inspect_clbench.results

    for name in inspect_clbench.__all__:
        assert callable(getattr(inspect_clbench, name))
    assert all(callable(getattr(inspect_clbench.results, name)) for name in inspect_clbench.results.__all__)
