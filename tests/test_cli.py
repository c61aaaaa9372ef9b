"""The command as users call it: what it prints, where to, and how it ends."""

import io
import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from urllib.parse import urlparse

import pytest

from inspect_clbench import progress
from inspect_clbench.analysis import costs, near_misses, report, show_task
from inspect_clbench.cli import main
from inspect_clbench.logs import answers
from inspect_clbench.logs.files import read_summaries
from inspect_clbench.output import render, task_text
from tests.logs.test_answers import other_log, running_log
from tests.support.command import clbench, usage_error
from tests.support.logs import make_log
from tests.support.scripted import tasks

CLBENCH = Path(sys.executable).parent / "clbench"


@pytest.mark.long
def test_the_installed_command(demo_log: str) -> None:
    done = subprocess.run(
        [CLBENCH, "report", demo_log, "--format", "markdown"], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == render(report(demo_log), "markdown")


def test_report_offers_what_the_function_does(demo_log: str) -> None:
    code, out, _ = clbench(
        "report", demo_log, "--by", "length", "--by", "turns", "--thresholds", "--ci",
        "--published", "--chars-per-token", "3.5", "--format", "json",
    )  # fmt: skip
    assert code == 0
    titles = [table["title"] for table in json.loads(out)]
    assert titles == [  # of fractions, not in %
        "CL-bench demo: solving rate by prompt length, mean ± std over runs",
        "CL-bench demo: solving rate by user turns in the prompt, mean ± std over runs",
        "CL-bench demo: pass rate if so many % of a task's rubrics were enough, mean ± std over "
        "runs",
    ]
    assert "estimated as characters / 3.5" in out
    assert '"low"' in out
    assert "GPT 5.1 (High)" in out


def test_leaderboard(demo_log: str) -> None:
    _, out, _ = clbench("report", demo_log, "--leaderboard", "--format", "markdown")
    assert "| GPT-5.4 (xhigh) † | 27.9 |" in out


def test_output_goes_to_a_file_in_the_format_of_its_ending(
    demo_log: str, tmp_path: Path
) -> None:
    path = tmp_path / "report.tex"
    assert clbench("report", demo_log, "--output", str(path)) == (0, "", f"Wrote {path}\n")
    assert path.read_text("utf-8") == render(report(demo_log), "latex")


def test_a_bad_run_leaves_a_good_file_alone(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    path.write_text("good")
    code, _, _ = clbench("report", str(tmp_path / "none"), "--output", str(path))
    assert (code, path.read_text()) == (2, "good")


def test_output_that_cannot_be_written(demo_log: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "report.md"
    code, _, err = clbench("report", demo_log, "--output", str(target))
    assert (code, err.count("\n")) == (2, 1)
    assert f"{target}: there is no folder {target.parent}" in err


def test_show_and_costs(demo_log: str) -> None:
    task = "demo-nine-herons-1"
    shown = task_text(show_task(demo_log, task), full=True)
    assert clbench("show", demo_log, "--task", task, "--full") == (0, shown, "")
    _, out, _ = clbench("show", demo_log, "--near-misses", "--limit", "2", "--format", "csv")
    assert out == render(near_misses(demo_log, 2), "csv")
    _, out, _ = clbench("costs", demo_log, "--format", "json")
    assert out == render(costs(demo_log), "json")


@pytest.mark.parametrize(
    "arguments", [["--task", "a", "--near-misses"], ["--rubrics", "--near-misses"]]
)
def test_show_wants_one_of_three(demo_log: str, arguments: list[str]) -> None:
    told = usage_error(clbench("show", demo_log, *arguments))
    assert told.endswith("give one of --task ID, --rubrics and --near-misses.")


def test_bad_logs_end_with_one_line_and_code_2(demo_log: str, tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    cut = tmp_path / "cut_clbench.eval"
    cut.write_bytes(Path(demo_log).read_bytes()[:5000])
    running = running_log(demo_log, tmp_path / "running.eval")
    for arguments, message in (
        (["none.eval"], "none.eval: no such file or folder. Give a .eval file or a folder"),
        ([str(empty)], "no log there"),
        ([other_log(tmp_path / "other")], "a log of sums, not of clbench"),
        ([str(cut)], "not a readable log"),
        ([running], "the run has not ended"),
        ([demo_log, "--chars-per-token", "0"], "use a number above 0"),
    ):
        code, out, err = clbench("report", *arguments)
        assert (code, out) == (2, ""), arguments
        assert err.startswith("clbench: ")
        assert message in err
        assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--by", "colour"], "'colour' is not one of 'category', 'sub_category', 'length'"),
        (["--format", "pdf"], "'pdf' is not one of 'terminal', 'markdown', 'csv'"),
        (["--colour"], "No such option: --colour"),
    ],
)
def test_mistakes_in_the_arguments_name_what_there_is(
    demo_log: str, arguments: list[str], message: str
) -> None:
    assert message in usage_error(clbench("report", demo_log, *arguments))


def test_progress_shows_on_a_terminal_when_it_takes_long(
    demo_log: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs = pty.openpty()

    shown = ""

    def slowly(log: Any) -> Any:
        # Until the bar of this step is shown; without a terminal that is never. On a slow
        # machine the step before it has one too.
        nonlocal shown
        patience = 30 if sys.stderr.isatty() else 0.3
        while "Reading samples" not in shown and select.select([ours], [], [], patience)[0]:
            shown += os.read(ours, 100_000).decode()
        return read_summaries(log)

    monkeypatch.setattr(answers, "read_summaries", slowly)
    monkeypatch.setattr(progress, "PATIENCE_SECONDS", 0.1)
    monkeypatch.setenv("TERM", "xterm")
    quiet = clbench("report", demo_log)
    assert (quiet.exit_code, quiet.stderr) == (0, "")
    with os.fdopen(theirs, "w", encoding="utf-8") as terminal:
        done = clbench("report", demo_log, stderr=terminal)
    os.close(ours)
    assert (done.exit_code, done.stdout) == (0, quiet.stdout)
    assert "Reading samples" in shown
    assert "Reading" not in done.stdout


def test_run_configs_are_found_by_name() -> None:
    code, out, _ = clbench("run-config", "paper")
    assert code == 0
    assert "clbench" in Path(out.strip()).read_text("utf-8")
    told = usage_error(clbench("run-config", "pape"))
    assert "'pape' is not one of 'paper', 'paper-life'" in told


@pytest.mark.parametrize("command", ["report", "costs", "errors", "compare", "agreement"])
def test_the_name_of_a_file_is_looked_at_before_any_log(command: str, tmp_path: Path) -> None:
    logs = [str(tmp_path / "none.eval")] * (2 if command == "compare" else 1)
    done = clbench(command, *logs, "--output", str(tmp_path / "table.xyz"))
    assert done.exit_code == 2
    assert "its ending does not say the format" in done.stderr


def test_messages_hold_nothing_that_a_terminal_would_obey() -> None:
    for name in ("\x1b[31mlogs", "logs\ud800"):
        done = clbench("report", name)
        assert done.exit_code == 2
        assert done.stderr.startswith("clbench: ")
        assert not {"\x1b", "\ud800"} & {*done.stderr}


@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_screen_that_lacks_characters_gets_question_marks(
    encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = make_log(
        tmp_path, tasks("a", "b"), {"a": ["yyy"], "b": ["yyn"]}, model="模型"
    ).location
    written = {name: io.BytesIO() for name in ("stdout", "stderr")}
    for name, buffer in written.items():
        monkeypatch.setattr(sys, name, io.TextIOWrapper(buffer, encoding, write_through=True))
    for arguments, code in (["report", log], 0), (["report", "模型.eval"], 2):
        monkeypatch.setattr(sys, "argv", ["clbench", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        assert ended.value.code == code
    assert all(b"??" in buffer.getvalue() for buffer in written.values())


def test_several_tables_are_a_csv_file_each(demo_log: str, tmp_path: Path) -> None:
    wanted = ("report", demo_log, "--by", "turns", "--thresholds")
    code, out, err = clbench(*wanted, "--format", "csv")
    assert (code, out) == (2, "")
    assert "these are 2 tables (turns, thresholds), and a CSV holds one" in err
    output = tmp_path / "rates.csv"
    code, _, err = clbench(*wanted, "-o", str(output))
    assert code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "rates-thresholds.csv",
        "rates-turns.csv",
    ]
    assert "rates-turns.csv" in err
    clbench("report", demo_log, "-o", str(output))
    assert output.read_text("utf-8").startswith("Model,Overall mean,Overall std,")


def test_help_has_exit_codes_and_no_types_of_flags() -> None:
    short, long = clbench("-h"), clbench("--help")
    assert short == long
    assert "Exit codes: 0 for success, 1 for a check that failed, 2 for input" in short.stdout
    assert "--install-completion" in short.stdout
    report = clbench("report", "-h").stdout
    assert "<bool>" not in short.stdout + report
    assert "Usage: clbench report [OPTIONS] {LOG}..." in report


def test_the_demos_rows_without_a_verdict_get_one(demo_log: str, tmp_path: Path) -> None:
    log = shutil.copy(urlparse(demo_log).path, tmp_path / "demo.eval")
    hint = f"clbench regrade {shlex.quote(str(log))}"
    assert hint in clbench("report", str(log), "--format", "json").stdout
    done = clbench("regrade", str(log))
    assert done.exit_code == 0
    assert f"3 rows without a verdict judged again, all have one now: {log}" in done.stdout
    assert "clbench regrade" not in clbench("report", str(log)).stdout
    assert clbench("regrade", str(log)).stdout.startswith("Every row has a verdict: ")
