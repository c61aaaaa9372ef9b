"""The command `clbench`: options, formats, messages and exit codes. What it prints is the tables' own."""

import json
import os
import shutil
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

from inspect_clbench.errors import ClbenchError
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import tasks


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Logs of two models, one of which has a row without a verdict and one that is missing."""
    path = tmp_path_factory.mktemp("logs")
    make_log(
        path, tasks("a", "b", "c"), {"a": ["yyy"], "b": ["garbled"], "c": ["error"]}, model="openai/gpt-x"
    )
    make_log(path, tasks("a", "b", "c"), {"a": ["yyn"], "b": ["yyy"], "c": ["nnn"]}, model="mockllm/student")
    return str(path)


def test_the_version_and_the_help() -> None:
    assert clbench("--version").stdout == f"clbench {version('inspect-clbench')}\n"
    commands = ["plan", "report", "compare", "agreement", "errors", "costs", "plot", "explore", "regrade",
                "import", "export"]  # fmt: skip
    help = clbench("--help").stdout
    assert all(f"\n  {command} " in help for command in commands)


def test_tables_go_to_the_screen_and_to_files_by_their_endings(folder: str, tmp_path: Path) -> None:
    screen = clbench("report", folder)
    assert (screen.exit_code, screen.stderr) == (0, "")
    assert screen.stdout.startswith("CL-bench: solving rate in %")
    starts = {".csv": "name,", ".json": "[", ".md": "**", ".tex": r"\begin{table}", ".txt": "CL-bench"}
    for ending, start in starts.items():
        path = tmp_path / f"table{ending}"
        result = clbench("report", folder, "--output", str(path))
        assert (result.exit_code, result.stdout) == (0, "")
        assert path.read_text("utf-8").startswith(start), ending
    result = clbench("report", folder, "--output", str(tmp_path / "table.xlsx"))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert ".csv" in result.stderr
    clbench("report", folder, "--output", str(tmp_path / "table.md"), "--format", "csv")
    assert (tmp_path / "table.md").read_text("utf-8").startswith("name,")


def test_models_judges_and_labels_are_chosen_for_every_command(folder: str) -> None:
    rows = json.loads(
        clbench("report", folder, "--model", "student", "--label", "student=Ours", "--format=json").stdout
    )
    assert [row["name"] for row in rows] == ["Ours"]
    unknown = clbench("compare", folder, "--model", "nobody")
    assert unknown.exit_code == 1
    assert "openai/gpt-x" in unknown.stderr
    assert clbench("report", folder, "--judge", "nobody").exit_code == 1
    assert clbench("report", folder, "--dataset", "Life").exit_code == 1
    assert clbench("report", folder, "--label", "student").exit_code == 2


def test_what_a_user_can_mend_is_one_message_and_exit_code_1(tmp_path: Path) -> None:
    (tmp_path / "broken.eval").write_bytes(b"no log")
    for words in (["report", str(tmp_path / "broken.eval")], ["report", str(tmp_path / "nothing")]):
        result = clbench(*words)
        assert (result.exit_code, result.stdout) == (1, "")
        assert words[1] in result.stderr.replace("\n", "")
        assert "Traceback" not in result.stderr


def test_keys_and_escapes_are_not_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOOP_API_KEY", "very-secret-value")
    result = clbench("report", str(tmp_path / "very-secret-value\x1b[31m[bold]"))
    assert result.exit_code == 1
    assert "very-secret-value" not in result.stderr
    assert "\x1b" not in result.stderr
    assert "[bold]" in result.stderr


def test_names_that_are_not_utf8(folder: str, tmp_path: Path) -> None:
    assert "Caf\ufffd" in clbench("report", folder, "--label", "student=Caf\udce9").stdout
    log = shutil.copy(next(Path(folder).iterdir()), tmp_path / "caf\udce9.eval")
    result = clbench("report", str(log))
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "caf\ufffd.eval: it cannot be read" in result.stderr


def test_a_message_is_of_a_length_that_can_be_read() -> None:
    message = str(ClbenchError(f"rows.jsonl, task {'x' * 1_000_000}: write it anew."))
    assert len(message) < 5000
    assert message.endswith("x: write it anew.")


def test_a_table_in_a_pipe_has_no_colours_and_the_width_of_columns(folder: str) -> None:
    environment = os.environ | {"COLUMNS": "60"}
    process = subprocess.run(
        [Path(sys.executable).with_name("clbench"), "report", folder],
        capture_output=True,
        env=environment,
        check=True,
    )
    text = process.stdout.decode()
    assert max(map(len, text.split("\n"))) <= 60
    assert "\x1b" not in text
