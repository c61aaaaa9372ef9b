"""The README and the pages do not lie: their commands and their Python run on logs of the demo."""

import json
import re
import shlex
import shutil
from collections.abc import Iterator
from inspect import signature
from pathlib import Path

import pandas as pd
import pytest
from inspect_ai import score
from inspect_ai._cli.main import inspect as inspect_command
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench import clbench as clbench_task
from inspect_clbench import judge_exam, rubric_judge
from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.sources import DEMO, read_rows
from inspect_clbench.error_types.scorer import error_types
from inspect_clbench.replay import replay
from tests.support.command import clbench
from tests.support.logs import make_log

ROOT = Path(__file__).parents[1]
PAGES = {
    str(path.relative_to(ROOT)): path.read_text("utf-8")
    for path in [ROOT / "README.md", *sorted(ROOT.glob("docs/*.md"))]
}
PRICE = {"input": 1, "output": 2, "input_cache_write": 1, "input_cache_read": 1}


def commands(program: str, text: str) -> Iterator[list[str]]:
    """The words of each command of a program, in blocks and in sentences."""
    text = re.sub(r" \\\n +", " ", text)
    lines = re.findall(rf"^    ({program} .*)$", text, re.MULTILINE) + re.findall(
        rf"`({program} [^`]+)`", text
    )
    return (shlex.split(line, comments=True)[1:] for line in lines)


def options(words: list[str]) -> set[str]:
    return {word.split("=")[0] for word in words if word.startswith("--")}


@pytest.mark.parametrize("page", PAGES)
def test_commands_options_and_arguments_exist(page: str) -> None:
    for name, *words in commands("inspect", PAGES[page]):
        if name in inspect_command.commands:
            params = [*inspect_command.commands[name].params]
            for command in getattr(inspect_command.commands[name], "commands", {}).values():
                params += command.params
            assert options(words) <= {option for param in params for option in param.opts}
    arguments = {name for task in (clbench_task, judge_exam) for name in signature(task).parameters}
    assert set(re.findall(r"-T (\w+)=", PAGES[page])) <= arguments
    steps = {name for step in (rubric_judge, error_types, replay) for name in signature(step).parameters}
    assert set(re.findall(r"-S (\w+)=", PAGES[page])) <= steps | {"words"}  # of the page's own solver
    for path in re.findall(r"`((?:tests|examples|benchmarks|docs)/[\w./]*)`", PAGES[page]):
        assert (ROOT / path).exists(), path


@pytest.fixture
def workspace(demo_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with what the pages name: logs of two models and of the demo, files, prices."""
    (tmp_path / "logs").mkdir()
    log = read_eval_log(demo_log)
    for scorer in (rubric_judge(), error_types()):
        log = score(
            log, scorer, action="append", model_roles={"grader": "clbench_demo/judge"}, display="none"
        )
    write_eval_log(log, str(tmp_path / "demo.eval"))
    rows = [row for _, row in read_rows(DEMO, CLBENCH)]
    for name, step in (("a", 2), ("b", 3)):
        plan = {
            row["metadata"]["task_id"]: ["yn"[number % step > 0] * len(row["rubrics"])] * 3
            for number, row in enumerate(rows)
        }
        types = {task: ["refusal"] * 3 for task, runs in plan.items() if "n" in runs[0]}
        make_log(tmp_path / "logs" / name, rows, plan, model=f"mockllm/student-{name}", error_types=types)
    assert clbench("export", demo_log, "--output", str(tmp_path / "files")).exit_code == 0
    for number in (1, 2, 3):
        (graded,) = (tmp_path / "files").glob(f"*run{number}_graded.jsonl")
        shutil.copy(graded, tmp_path / f"graded{number}.jsonl")
    models = ("mockllm/student-a", "mockllm/student-b", "mockllm/judge", "openai/gpt-5.1")
    (tmp_path / "prices.yaml").write_text(json.dumps(dict.fromkeys(models, PRICE)), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_commands_of_all_pages_work(workspace: Path) -> None:
    done = set()
    for page, text in PAGES.items():
        for words in commands("clbench", text):
            line = " ".join(words)
            if line in done or len(words) == 1:
                continue  # a command's bare name
            if words[0] == "regrade":
                words.append("--help")  # what asks a judge has tests of its own; here its options are read
            done.add(line)
            log = "logs/a" if "--published" in words else "demo.eval"  # nothing is published of the demo
            words = [log if word == "LOG" else word for word in words]
            if words[0] == "import":
                words += ["--log-dir", "imported"]  # rows of the demo beside rows of `make_log`
            words = [re.sub(r"^(student|take_notes)=", "student-a=", word) for word in words]
            words = ["student-a" if word == "student" else word for word in words]
            result = clbench(*words)
            assert result.exit_code == 0, f"{page}: {line}\n{result.stdout}{result.stderr}"
            if "--draw" in words:
                fill_in(workspace / "sheet.csv")


def fill_in(sheet: Path) -> None:
    """Agree with the judge on every row, as a person may."""
    rows = pd.read_csv(sheet, dtype=str)
    rows.assign(person=rows["judge"]).to_csv(sheet, index=False)


@pytest.mark.parametrize("page", [page for page in PAGES if "```python" in PAGES[page]])
@pytest.mark.usefixtures("workspace")
def test_the_python_of_a_page_works(page: str) -> None:
    for block in re.findall(r"```python\n(.*?)```", PAGES[page], re.DOTALL):
        exec(compile(block, page, "exec"), {})


def test_the_readme_is_short_and_its_links_lead_somewhere() -> None:
    readme = PAGES["README.md"]
    assert readme.count("\n") <= 110
    makefile = (ROOT / "Makefile").read_text("utf-8")
    for words in commands("make", readme):
        assert re.search(rf"^{words[0]}:", makefile, re.MULTILINE), words
    for link in re.findall(r"\]\(([^)#]+)\)", readme):
        assert "://" in link or (ROOT / link).exists(), link
