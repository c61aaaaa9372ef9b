"""Imports point one way, chains of them stay short, and the package stays light."""

import ast
import subprocess
import sys
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "inspect_clbench"
PACKAGE = "inspect_clbench"

BASE = {"benchmarks", "choices", "errors", "files", "progress", "text"}
CORE = {"data", "judge", "metrics", "scoring"}

# Which layers a layer may import from, besides itself and the base.
ALLOWED: dict[str, set[str]] = {
    "data": set(),
    "judge": {"data"},
    "metrics": {"data", "judge"},
    "scoring": {"data", "judge", "metrics"},
    "demo": {"judge"},
    "solvers": {"data"},
    "exam": CORE,
    "tasks": CORE | {"exam", "solvers"},
    "regrade": CORE | {"logs"},
    "logs": CORE,
    "analysis": CORE | {"logs"},
    "output": CORE | {"logs", "analysis"},
    "exchange": CORE | {"logs", "analysis", "output", "solvers", "tasks"},
    "audit": CORE | {"logs", "analysis", "regrade"},
    "cli": {"analysis", "audit", "exchange", "output", "regrade"},
    "__main__": {"cli"},
    "_registry": CORE | {"demo", "exam", "exchange", "solvers", "tasks"},
    "__init__": CORE | {"exam", "exchange", "solvers", "tasks"},
}
# The guard refuses a replay whose files do not fit the epochs.
EXCEPTIONS = {"scoring/graders.py": {"solvers"}}

# These know nothing of the package but what is named here.
PURE: dict[str, set[str]] = {
    "data/selection.py": {"errors"},
    "judge/reply.py": {"text"},
    "judge/verdict.py": {"judge.reply", "text"},
    "metrics/solving.py": set(),
}

MODULES = sorted(SOURCE.rglob("*.py"))
LONGEST_CHAIN = 10


def layer_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def imported(nodes: Iterable[ast.AST]) -> set[str]:
    """The modules of this package that are imported, without its name."""
    names: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module)
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return {name.removeprefix(f"{PACKAGE}.") for name in names if file_of(name) is not None}


def file_of(module: str) -> Path | None:
    if not module.startswith(f"{PACKAGE}."):
        return None
    place = SOURCE.joinpath(*module.split(".")[1:])
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.exists()), None)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_imports_point_one_way(path: Path) -> None:
    found = imported(ast.walk(ast.parse(path.read_text("utf-8"))))
    layer, name = layer_of(path), str(path.relative_to(SOURCE))
    layers = {module.split(".")[0] for module in found}
    if layer in BASE:
        assert layers <= BASE
    else:
        assert layers <= ALLOWED[layer] | BASE | {layer} | EXCEPTIONS.get(name, set())
    assert found <= PURE.get(name, found)


def test_the_rules_are_about_modules_that_exist() -> None:
    assert {SOURCE / name for name in (*PURE, *EXCEPTIONS)} <= set(MODULES)
    assert {layer_of(path) for path in MODULES} == BASE | ALLOWED.keys()


@cache
def chain(path: Path) -> tuple[str, ...]:
    """The longest chain of imports that starts with a module, as it is loaded."""
    found = imported(ast.parse(path.read_text("utf-8")).body)
    files = [
        file for name in found if (file := file_of(f"{PACKAGE}.{name}")) not in (None, path)
    ]
    longest = max((chain(file) for file in files if file), key=len, default=())
    return (str(path.relative_to(SOURCE)), *longest)


def test_chains_of_imports_are_short() -> None:
    longest = max((chain(path) for path in MODULES), key=len)
    assert len(longest) <= LONGEST_CHAIN, " -> ".join(longest)


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_no_setting_of_the_interpreter_is_touched(path: Path) -> None:
    """A run that fails could not put it back."""
    names = {
        alias.name.split(".")[0]
        for node in ast.walk(ast.parse(path.read_text("utf-8")))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert not names & {"gc", "locale", "warnings"}


def loaded_by(code: str) -> set[str]:
    """The modules that are loaded after a program has run."""
    program = f"import sys\n{code}\nprint(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(done.stdout.split())


def test_the_package_loads_nothing_until_it_is_used() -> None:
    loaded = loaded_by("import inspect_clbench")
    assert not {"inspect_ai", "pandas", "pydantic", "rich"} & loaded


@pytest.mark.parametrize(
    ("arguments", "ending"),
    [
        (None, None),
        (["--help"], 0),
        (["report", "--help"], 0),
        (["--version"], 0),
        (["report"], 2),
        (["report", "x.eval", "--by", "colour"], 2),
        (["show", "x.eval", "--rubrics", "--near-misses"], 2),
    ],
)
def test_the_command_answers_at_once(arguments: list[str] | None, ending: int | None) -> None:
    """Importing Inspect takes seconds: help, version and usage errors do without it."""
    code = "import inspect_clbench.cli\n"
    if arguments is not None:
        code += (
            "import contextlib, io\n"
            f"sys.argv = ['clbench', *{arguments}]\n"
            "ended = 0\n"
            "with contextlib.redirect_stdout(io.StringIO()):\n"
            "    try:\n"
            "        inspect_clbench.cli.main()\n"
            "    except SystemExit as ex:\n"
            "        ended = ex.code\n"
            f"assert ended == {ending}, ended\n"
        )
    assert not {"inspect_ai", "pandas"} & loaded_by(code)


@pytest.mark.long
def test_nothing_heavy_is_imported_and_the_public_names_are_what_they_say() -> None:
    """In one process, since importing Inspect takes seconds."""
    heavy = {"pandas", "pyarrow", "altair", "vl_convert", "scipy", "statsmodels", "datasets", "s3fs"}  # fmt: skip
    code = (
        "import inspect_clbench._registry, inspect_clbench.cli\n"
        "import inspect_clbench.analysis.report\n"
        "from inspect_clbench.analysis import report\n"
        "assert callable(report), report\n"  # and not the module of that name
        f"found = {heavy} & set(sys.modules)\n"
        "assert not found, found\n"
        "from inspect_clbench import *\n"
        "import inspect_clbench as package\n"
        "assert callable(replay) and replay is package.replay, replay\n"
        "assert set(package.__all__) == set(dir(package))\n"
        "assert all(hasattr(package, name) for name in package.__all__)\n"
        "assert not hasattr(package, 'nothing_of_this_name')\n"
    )
    assert "inspect_ai" in loaded_by(code)
