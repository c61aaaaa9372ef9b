"""The command as users call it: what it prints, where to, and how it ends."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from inspect_clbench.analysis import costs, near_misses, report, show_task
from inspect_clbench.analysis.reporting.show import task_text
from inspect_clbench.analysis.tables import render
from tests.analysis.test_records import other_log, running_log
from tests.support.judges import clbench as command
from tests.support.scripted import scripted_eval, tasks

CLBENCH = Path(sys.executable).parent / "clbench"

Run = Callable[..., tuple[int, str, str]]


@pytest.fixture
def clbench(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Call the entry point with arguments; its exit code and what it printed."""

    def run(*arguments: str) -> tuple[int, str, str]:
        return command(capsys, monkeypatch, *arguments)

    return run


@pytest.mark.long
def test_the_installed_command(demo_log: str) -> None:
    done = subprocess.run(
        [CLBENCH, "report", demo_log, "--format", "markdown"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render(report(demo_log), "markdown")


@pytest.mark.long
def test_the_installed_command_ends_with_one_line_and_code_2() -> None:
    done = subprocess.run([CLBENCH, "report", "no-such.eval"], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "clbench: no-such.eval: no such file or folder. Give a .eval file or a folder of them.\n"
    )


def test_report_offers_what_the_function_does(clbench: Run, demo_log: str) -> None:
    code, out, _ = clbench(
        "report", demo_log, "--by", "length", "--by", "turns", "--thresholds", "--ci",
        "--published", "--chars-per-token", "3.5", "--format", "json",
    )  # fmt: skip
    assert code == 0
    titles = [table["title"] for table in json.loads(out)]
    assert [title.split(" in %")[0] for title in titles] == [
        "CL-bench demo: solving rate",
        "CL-bench demo: solving rate",
        "CL-bench demo: pass rate",
    ]
    assert "estimated as characters / 3.5" in out
    assert '"low"' in out
    assert "GPT 5.1 (reasoning)" in out


def test_leaderboard(clbench: Run, demo_log: str) -> None:
    _, out, _ = clbench("report", demo_log, "--leaderboard", "--format", "markdown")
    assert "| GPT-5.4 (xhigh) † | 27.9 |" in out


def test_output_goes_to_a_file_in_the_format_of_its_ending(
    clbench: Run, demo_log: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.tex"
    assert clbench("report", demo_log, "--output", str(path)) == (0, "", "")
    assert path.read_text("utf-8") == render(report(demo_log), "latex")


def test_a_bad_run_leaves_a_good_file_alone(clbench: Run, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("good")
    code, _, _ = clbench("report", str(tmp_path / "none"), "--output", str(path))
    assert (code, path.read_text()) == (2, "good")


def test_output_that_cannot_be_written(clbench: Run, demo_log: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "report.md"
    code, _, err = clbench("report", demo_log, "--output", str(target))
    assert (code, err.count("\n")) == (2, 1)
    assert f"{target}: cannot be written" in err


def test_show_and_costs(clbench: Run, demo_log: str) -> None:
    task = "demo-nine-herons-1"
    shown = task_text(show_task(demo_log, task), full=True)
    assert clbench("show", demo_log, "--task", task, "--full") == (0, shown, "")
    _, out, _ = clbench("show", demo_log, "--near-misses", "--limit", "2", "--format", "csv")
    assert out == render(near_misses(demo_log, 2), "csv")
    _, out, _ = clbench("costs", demo_log, "--format", "json")
    assert out == render(costs(demo_log), "json")


@pytest.mark.parametrize("arguments", [[], ["--task", "a", "--near-misses"]])
def test_show_wants_one_of_two(clbench: Run, demo_log: str, arguments: list[str]) -> None:
    code, _, err = clbench("show", demo_log, *arguments)
    assert (code, err) == (2, "clbench: show: give either --task ID or --near-misses.\n")


def test_bad_logs_end_with_one_line_and_code_2(
    clbench: Run, demo_log: str, tmp_path: Path
) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cut = tmp_path / "cut_clbench.eval"
    cut.write_bytes(Path(demo_log).read_bytes()[:5000])
    running = running_log(demo_log, tmp_path / "running.eval")
    real = scripted_eval(tmp_path / "real", tasks("a"), {"a": ["yyy"]}).location
    for arguments, message in (
        ([str(tmp_path / "none.eval")], "no such file or folder"),
        ([str(empty)], "no log there"),
        ([other_log(tmp_path / "other")], "a log of sums, not of clbench"),
        ([str(cut)], "not a readable log"),
        ([running], "the run has not ended"),
        ([demo_log, real], "different datasets"),
        ([demo_log, "--by", "colour"], "by=colour: unknown"),
        ([demo_log, "--format", "pdf"], "no such format"),
        ([demo_log, "--chars-per-token", "0"], "use a number above 0"),
    ):
        code, out, err = clbench("report", *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("clbench: ")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.long
def test_progress_shows_on_a_terminal_when_it_takes_long(demo_log: str, tmp_path: Path) -> None:
    script = tmp_path / "slow.py"
    script.write_text(
        "import sys, time\n"
        "from inspect_clbench.analysis import progress\n"
        "from inspect_clbench.analysis.reading import records\n"
        "progress.PATIENCE_SECONDS = 0.2\n"
        "read = records.read_summaries\n"
        "records.read_summaries = lambda log: (time.sleep(1), read(log))[1]\n"
        "from inspect_clbench.cli import main\n"
        "main()\n"
    )
    command = [sys.executable, str(script), "report", demo_log]
    ours, theirs = pty.openpty()
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, text=True)
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert done.returncode == 0
    assert "Reading logs" in shown
    assert "Reading" not in done.stdout
    quiet = subprocess.run(command, capture_output=True, text=True)
    assert quiet.stderr == ""
    assert quiet.stdout == done.stdout


def test_a_report_can_be_a_page(clbench: Run, demo_log: str, tmp_path: Path) -> None:
    output = tmp_path / "page.html"
    assert clbench("report", demo_log, "-o", str(output)) == (0, "", "")
    assert output.read_text("utf-8").startswith("<!DOCTYPE html>")
    code, out, _ = clbench("report", demo_log, "--format", "html")
    assert code == 0
    assert out.startswith("<!DOCTYPE html>")


def test_run_configs_are_found_by_name(clbench: Run) -> None:
    code, out, _ = clbench("run-config", "paper")
    assert code == 0
    assert "clbench" in Path(out.strip()).read_text("utf-8")
    code, _, err = clbench("run-config", "pape")
    assert code == 2
    assert err == "clbench: pape: no such run config. There are: paper, paper-life.\n"
