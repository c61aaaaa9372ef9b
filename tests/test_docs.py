"""The README and the pages of the site must not lie.

Their commands are run on logs of the demo, in the order of the page, where that needs no key;
of the others every name and option is checked. Figures are those of the receipts.
"""

import ast
import csv
import inspect
import io
import json
import os
import re
import shlex
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer.main
from docs import generate
from inspect_ai._cli.main import inspect as inspect_command
from inspect_ai.log import EvalLog, read_eval_log
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import PluginError

import inspect_clbench
from inspect_clbench.analysis import answers_df
from inspect_clbench.cli import app
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.programs import inspect as run_inspect
from tests.support.scripted import tasks

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/*.md"))]
}
TEXT = "\n\n".join(PAGES.values())
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]  # a click group
STEPS: list[Callable[..., Any]] = [
    inspect_clbench.rubric_judge,
    inspect_clbench.error_types,
    inspect_clbench.replay,
]


def lines_of(page: str, *programs: str) -> list[str]:
    """The commands in the blocks of a page."""
    text = re.sub(r" \\\n +", " ", PAGES[page])
    lines = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    return [line.split("  #")[0] for line in lines if line.split()[0] in programs]


def inline(program: str) -> list[str]:
    """The commands within sentences and tables."""
    found = re.findall(rf"`({program} [^`]+)`", TEXT)
    return sorted({" ".join(line.split()) for line in found})


def everywhere(program: str) -> list[str]:
    return [line for page in PAGES for line in lines_of(page, program)] + inline(program)


def options_of(command: str) -> set[str]:
    return {name for option in COMMANDS[command].params for name in option.opts}


@pytest.mark.parametrize("line", everywhere("clbench"))
def test_every_clbench_command_and_option_exists(line: str) -> None:
    _, command, *words = line.split()
    if command.startswith("--") or command == "COMMAND":
        assert command in ("--help", "--version", "--install-completion", "COMMAND")
        return
    assert command in COMMANDS
    used = {word.split("=")[0] for word in words if word.startswith("--")}
    assert used <= options_of(command) | {"--help"}


@pytest.mark.parametrize("line", everywhere("inspect"))
def test_every_option_of_inspect_exists(line: str) -> None:
    _, name, *words = shlex.split(
        line.replace("$(clbench run-config ", "(").replace("LOG", "a")
    )
    if name.startswith("--"):
        return
    command: Any = inspect_command.commands[name]
    commands = [command, *getattr(command, "commands", {}).values()]
    options = {o for one in commands for param in one.params for o in param.opts}
    assert {word.split("=")[0] for word in words if word.startswith("-")} <= options


def test_parameters_of_tasks_scorers_and_solvers_exist() -> None:
    tasks = inspect.signature(inspect_clbench.clbench).parameters
    assert set(re.findall(r"-T (\w+)=", TEXT)) <= set(tasks)
    known = {name for step in STEPS for name in inspect.signature(step).parameters}
    assert set(re.findall(r"-S (\w+)=", TEXT)) <= known
    for name in re.findall(r"inspect_clbench/(\w+)", TEXT):
        assert hasattr(inspect_clbench, name), name


class Workspace(NamedTuple):
    """A folder in which the commands of a page work."""

    folder: Path
    log: str


@pytest.fixture(scope="module")
def template(demo_log: str, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    demo = folder / "demo"
    (folder / "logs").mkdir()
    shutil.copy(demo_log, folder / "logs" / "demo.eval")
    make_log(folder / "logs" / "a", "demo", model="model-a", epochs=3)
    make_log(folder / "logs" / "b", "demo", model="model-b", epochs=3)
    assert clbench("export", demo_log, "--to", str(demo)).exit_code == 0
    for number in (1, 2, 3):
        (run,) = demo.glob(f"*_run{number}.jsonl")
        (graded,) = demo.glob(f"*_run{number}_graded.jsonl")
        run.rename(folder / f"run{number}.jsonl")
        graded.rename(folder / f"graded{number}.jsonl")
    price = {"input": 1, "output": 2, "input_cache_write": 1, "input_cache_read": 1}
    models = ("clbench_demo/student", "clbench_demo/judge")
    mock = ("mockllm/model-a", "mockllm/model-b", "mockllm/judge")
    (folder / "prices.yaml").write_text(json.dumps(dict.fromkeys(models + mock, price)))
    return folder


@pytest.fixture
def workspace(template: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    folder = tmp_path / "work"
    shutil.copytree(template, folder)
    monkeypatch.chdir(folder)
    return Workspace(folder, "logs/demo.eval")


def fill_in(sheet: Path) -> None:
    """Confirm every row, as a person would who agrees with the judge."""
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    with sheet.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys())
        writer.writeheader()
        writer.writerows({**row, "confirm": "yes"} for row in rows)


@pytest.mark.parametrize("page", [p for p in PAGES if lines_of(p, "clbench")])
def test_the_commands_of_a_page_work(page: str, workspace: Workspace) -> None:
    for line in lines_of(page, "clbench", "inspect"):
        line = re.sub(r"\bLOG\b", workspace.log, line)
        line = re.sub(r"\bID\b", "demo-pebble-1", line)
        line = re.sub(r"grader=\S+", "grader=clbench_demo/judge", line)
        program, command, *words = shlex.split(line)
        if "s3://" in line:
            continue
        if command == "plan":
            words += ["--dataset", "demo"]
        if program == "clbench":
            done = clbench(command, *words)
            # The demo has a row without a verdict, which a check must find.
            expected = (0, 1) if "verify" in line else (0,)
            assert done.exit_code in expected, f"{line}\n{done.stdout}{done.stderr}"
            if "--sheet" in words:
                fill_in(workspace.folder / words[words.index("--sheet") + 2])
        elif command == "score":
            scored = run_inspect(command, *words, "--display", "none", cwd=workspace.folder)
            assert scored.exit_code == 0, scored.stdout + scored.stderr


@pytest.mark.parametrize("page", [p for p in PAGES if "```python" in PAGES[p]])
def test_the_python_of_a_page_works(page: str, workspace: Workspace) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGES[page], re.DOTALL):
        exec(compile(block, page, "exec"), {})


def test_targets_files_and_links_exist() -> None:
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for page in PAGES:
        for line in lines_of(page, "make"):
            target = line.split()[1].replace("python3.13", "python3.%")
            assert re.search(rf"^{re.escape(target)}:", makefile, re.MULTILINE), line
        if not page.startswith("docs/"):  # the site's build checks the links of its pages
            for link in re.findall(r"\]\(([^)#]+)\)", PAGES[page]):
                assert "://" in link or (ROOT / link).exists(), link
    for path in re.findall(r"`((?:tests|examples|benchmarks|docs)/[\w./]*)`", TEXT):
        assert (ROOT / path).exists(), path
    for module in re.findall(r"python -m benchmarks\.(\w+)", TEXT):
        assert (ROOT / "benchmarks" / f"{module}.py").exists(), module


def test_the_readme_is_short_and_names_the_two_ways_to_try_it() -> None:
    readme = PAGES["README.md"]
    assert readme.count("\n") <= 130
    assert {"make demo", "make test"} <= {
        " ".join(line.split()) for line in lines_of("README.md", "make")
    }


# The reference.


def test_the_reference_has_every_command_and_option() -> None:
    sections = generate.commands_page().split("\n## ")
    found = {section.split("\n")[0]: section for section in sections}
    assert set(COMMANDS) < found.keys()
    for name in COMMANDS:
        assert all(f"`{option}`" in found[name] for option in options_of(name) if "-" in option)
        assert "TODO" not in found[name]


def test_the_reference_has_every_parameter() -> None:
    page = generate.tasks_page()
    steps: list[Callable[..., Any]] = [inspect_clbench.clbench, inspect_clbench.clbench_graded]
    for step in [*steps, *STEPS]:
        section = page.split(f"`inspect_clbench/{step.__name__}`")[1].split("\n## ")[0]
        for name in inspect.signature(step).parameters:
            assert f"\n| `{name}` | " in section


def test_the_reference_has_every_metric(demo_run: EvalLog) -> None:
    assert demo_run.results is not None
    names = {name for score in demo_run.results.scores for name in score.metrics}
    assert {name for name in names if name.islower()} <= generate.METRICS.keys()
    page = generate.metrics_page()
    assert all(f"| `{name}` | " in page for name in generate.METRICS | generate.ERROR_METRICS)


def test_the_reference_has_every_key_of_a_score(workspace: Workspace) -> None:
    said = {"a": ["yyn"]}
    judges = ["one", "two"]
    make_log(
        workspace.folder / "panel", tasks("a"), said, judge=judges, again=[("three", said)]
    )
    (panel,) = (workspace.folder / "panel").glob("*.eval")
    labels = ("--scorer", "inspect_clbench/error_types", "--action", "append", "--overwrite")
    role = ("--model-role", "grader=clbench_demo/judge", "--display", "none")
    draw = ("-S", "max_failures=2")
    run = run_inspect("score", workspace.log, *labels, *draw, *role, cwd=workspace.folder)
    assert run.exit_code == 0, run.stdout + run.stderr
    keys: dict[str, set[str]] = {"rubric_judge": set(), "error_types": set()}
    for log in (workspace.log, str(panel)):
        for sample in read_eval_log(log).samples or []:
            for name, score in (sample.scores or {}).items():
                keys[name.rstrip("1")] |= (score.metadata or {}).keys()
    assert keys["rubric_judge"] == generate.SCORE_METADATA.keys()
    assert keys["error_types"] == generate.LABEL_METADATA.keys()
    assert list(answers_df("logs")) == list(generate.ANSWER_COLUMNS)


def test_a_missing_description_ends_the_build() -> None:
    with pytest.raises(PluginError, match=r"METRICS: .'new_metric'"):
        generate.described([*generate.METRICS, "new_metric"], generate.METRICS, "METRICS")


def test_the_site_is_complete_and_loads_nothing_from_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NO_MKDOCS_2_WARNING", "1")
    config = load_config(str(ROOT / "mkdocs.yml"), site_dir=str(tmp_path))
    config.plugins.on_startup(command="build", dirty=False)
    build(config)
    pages = [path for path in tmp_path.rglob("*.html") if path.name != "404.html"]
    index = (tmp_path / "llms.txt").read_text("utf-8")
    for page in pages:
        text = page.read_text("utf-8")
        assert not re.findall(r'<(?:script|img|link)[^>]*(?:src|href)="(?:https?:)?//', text)
        markdown = page.with_suffix(".md").relative_to(tmp_path).as_posix()
        assert f"]({markdown}): " in index
        assert (tmp_path / markdown).exists()
    assert len(pages) == index.count("\n- ")
    api = (tmp_path / "reference" / "api.html").read_text("utf-8")
    for module in generate.API:
        for name in __import__(module, fromlist=["__all__"]).__all__:
            assert f'id="{module}.{name}"' in api
    for picture in tmp_path.rglob("*.png"):
        assert picture.stat().st_size < 300_000


# Figures.


def page_text(name: str) -> str:
    return " ".join(PAGES[f"docs/{name}.md"].split())


def receipt(name: str) -> str:
    return (ROOT / "benchmarks" / "results" / f"{name}.txt").read_text("utf-8")


def test_the_figures_of_the_full_run_are_those_of_its_receipt() -> None:
    rows = re.findall(
        r"^(\S.*?)\s{2,}(\d+)\s+[\d.]+\s+\{'(.*?)': (\d+)\}$", receipt("faults"), re.MULTILINE
    )
    sums = {"none": 0, "passed": 0, "failed": 0, "empty": 0}
    for name, _, outcome, count in rows:
        kind = {"I grader_failed": "failed", "I no_response": "empty"}.get(outcome, "passed")
        sums["none" if name == "none" else kind] += int(count)
    text = page_text("reliability")
    assert f"{sum(sums.values())} of {sum(sums.values())} rows were counted" in text
    assert f"{sums['none']:,} without a fault" in text
    assert f"{sums['passed']} with a fault that passes" in text
    assert f"{sums['failed']} had judges that never gave a verdict" in text
    assert f"{sums['empty']} had empty answers" in text
    assert f"one percent of each of {len(rows) - 1} faults" in text


def test_the_figures_of_the_cache_order_are_those_of_its_receipt() -> None:
    rows = {
        (connections, order.split("=")[0]): (float(cached), ratio)
        for connections, order, cached, ratio in re.findall(
            r"^ +(20|100)  (\S+) +([\d.]+) .* ([\d.]+)$", receipt("cache_order"), re.MULTILINE
        )
    }
    ours, files = ([rows[n, order] for n in ("20", "100")] for order in ("cache_order", "file"))
    text = page_text("costs")
    assert f"{ours[0][0]:.3f} and {ours[1][0]:.3f} of all prompt tokens" in text
    assert f"in the file's order {files[0][0]:.3f} and {files[1][0]:.3f}" in text
    assert f"wall time {ours[0][1]} and {ours[1][1]} of the file order's" in text


def test_the_figures_of_the_overhead_are_those_of_its_receipt() -> None:
    rows = re.findall(
        r"^ *\S.*? {2,}([\d.]+) +([\d.]+) +([\d.]+)(?: +(± [\d.]+))?(?: +[\d.]+)?$",
        receipt("overhead"),
        re.MULTILINE,
    )
    text = page_text("costs")
    assert len(rows) == 8
    for ours, bare, ratio, error in rows[:6]:
        assert f"| {ours} | {bare} | {ratio} {error} |" in text
    full, live = rows[6][2], rows[7][2]
    assert f"took {full} of the ideal time" in text
    assert f"costs {live} times the CPU" in text
    (metrics,) = re.findall(r"all metrics, 5,697 scores +([\d.]+)", receipt("overhead"))
    assert f"all metrics take {metrics} ms" in text


def test_the_figures_of_reading_are_those_of_their_receipt() -> None:
    (ratio,) = re.findall(r"^ratio +([\d.]+)", receipt("reading"), re.MULTILINE)
    assert f"takes {ratio} of the CPU" in page_text("costs")


def test_the_figures_of_corrected_rates_are_those_of_their_receipt() -> None:
    text, found = page_text("trust"), receipt("correction")
    below, of = re.findall(r"^(\d+) of (\d+) corrected figures below 0\.93$", found, re.M)[0]
    assert f"{int(of) - int(below)} of {of} figures held the truth in 0.93" in text
    (lowest,) = re.findall(r"^  strict .* rate 5%, .* Rogan-Gladen: (0\.\d+)$", found, re.M)
    assert f"the one below, at {lowest}, is Rogan–Gladen's" in text
    rows = re.findall(
        r"rate (\d+)%, (\d+) labels +([01]\.\d+) \( *[\d.]+\) +[01]\.\d+ \( *([\d.]+)\)", found
    )
    assert len(rows) == 36
    widths = {
        n: [round(float(w)) for _, labels, _, w in rows if labels == n] for n in ("100", "300")
    }
    ranges = {n: (min(some), max(some)) for n, some in widths.items()}
    low, high = ranges["100"]
    assert f"100 checks gave intervals of {low} to {high} points" in text
    low, high = ranges["300"]
    assert f"300 of {low} to {high} (" in text
    lenient = re.findall(r"^lenient.* rate 5%, \d+ labels +(0\.\d+)", found, re.M)
    assert set(lenient) == {"0.000"}


def test_the_figures_of_several_epochs_are_those_of_their_receipt() -> None:
    rows = re.findall(
        r"^ +(?:20|100)  cache_order=\d+, 24h +([\d.]+) +0\.9999 .* ([\d.]+)$",
        receipt("cache_epochs"),
        re.M,
    )
    (few, fast), (many, faster) = rows
    text = page_text("costs")
    assert f"{float(few):.3f} at 20 connections" in text
    assert f"{float(many):.3f} at 100" in text
    assert f"in {fast} and {faster} of the file order's time" in text


def test_the_figures_of_intervals_and_power_are_those_of_their_receipts() -> None:
    rows = re.findall(
        r"^(full|draw).*? (0\.\d+) \(.*?\) +0\.\d+ \((\S+) to (\S+)\)"
        r" +0\.\d+ \((\S+) to (\S+)\)",
        receipt("coverage"),
        re.M,
    )
    assert len(rows) == 12
    full, draws = ([row for row in rows if row[0] == kind] for kind in ("full", "draw"))
    text = page_text("results")
    overall = [row[1] for row in full]
    assert f"in {min(overall)} to {max(overall)} of the cases overall" in text
    low, high = min(row[2] for row in full), max(row[3] for row in full)
    assert f"in {low} to {high} by category" in text
    low, high = min(row[4] for row in full), max(row[5] for row in full)
    assert f"in {low} to {high} by sub-category" in text
    drawn = [row[1] for row in draws]
    assert f"of draws in {min(drawn)} to {max(drawn)} overall" in text
    held = re.findall(r"^.* 0\.\d+ +(0\.\d+) +\d+$", receipt("agreement"), re.M)
    assert f"in {min(held)} to {max(held)} of the cases" in page_text("judges")
    first, second = re.findall(r"^  held +overall ([\d.]+)", receipt("comparisons"), re.M)
    text = page_text("comparing")
    assert f"held the truth in {first} and {second} of the cases" in text
    sets = re.findall(r"^\w+ \w+, .* ([\d.]+) +([\d.]+) +[\d.]+$", receipt("comparisons"), re.M)
    pairs, ranks = ([row[n] for row in sets] for n in (0, 1))
    assert f"together in {min(pairs)} to {max(pairs)} of" in text
    assert f"ranks of all models in {min(ranks)} to {max(ranks)}." in text
    shown = re.findall(r"^ +\d+ +\d +[\d.]+ +([\d.]+)$", receipt("power"), re.M)
    assert f"shown in {min(shown)} to {max(shown)} of simulated" in page_text("costs")


# The notebook.


def outputs_of(source: str, namespace: dict[str, Any]) -> list[dict[str, Any]]:
    """Execute a cell; what it prints and the value of its last line, as a notebook has them."""
    body = ast.parse(source).body
    last = body[-1].value if isinstance(body[-1], ast.Expr) else None
    printed = io.StringIO()
    with redirect_stdout(printed):
        exec(
            compile(ast.Module(body[:-1] if last else body, []), "notebook", "exec"), namespace
        )
        value = last and eval(compile(ast.Expression(last), "notebook", "eval"), namespace)
    outputs: list[dict[str, Any]] = []
    if text := printed.getvalue():
        lines = text.splitlines(keepends=True)
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines})
    if value is not None:
        shown = {"text/plain": repr(value).splitlines(keepends=True)}
        outputs.append(
            {
                "data": shown,
                "execution_count": None,
                "metadata": {},
                "output_type": "execute_result",
            }
        )
    return outputs


def test_the_notebook_prints_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With CLBENCH_UPDATE_GOLDEN=1 its outputs are written anew."""
    path = ROOT / "docs" / "notebook.ipynb"
    notebook = json.loads(path.read_text("utf-8"))
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, Any] = {}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    found = [outputs_of("".join(cell["source"]), namespace) for cell in cells]
    if os.environ.get("CLBENCH_UPDATE_GOLDEN"):
        for cell, outputs in zip(cells, found, strict=True):
            cell["outputs"] = outputs
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert found == [cell["outputs"] for cell in cells]
