"""Tables in every format: nothing from outside acts, nothing gets lost."""

import csv
import io
import json
import math
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from inspect_clbench.analysis import load_series, report
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.choices import Format
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import Cell, Note, Table, render, save
from inspect_clbench.output.formats import (
    FORMATS,
    _latex_fitting,
    _latex_width,
    format_for,
)
from inspect_clbench.output.notes import judge_failure_notes
from inspect_clbench.output.tables import Tone, percent
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import GARBLED, tasks

HOSTILE = "a|b & <b>*c*</b> [red]_d_[/red] $x$ 100% #1 {e} ~f^g \\h &lt;\x1b[31m\u202e\nnext"


def table(text: str = "model", notes: tuple[str, ...] = ()) -> Table:
    rows = ((Cell(text), percent(Rate(0.237, 0.005))),)
    told = tuple(Note("info", note) for note in notes)
    return Table("Title", ("Model", "Rate"), rows, notes=told)


def test_percent_as_the_paper_prints_it() -> None:
    printed = percent(Rate(0.2374, 0.0049))
    assert (printed.text, printed.value) == ("23.7 ± 0.5", {"mean": 0.2374, "std": 0.0049})
    assert percent(Rate(0.2374)).text == "23.7"
    assert percent(Rate(0.2374, math.nan)).value == {"mean": 0.2374, "std": None}
    assert percent(Rate(math.nan)) == percent(None) == Cell("–", None)
    assert percent(Rate(0.5, 0.1, (0.25, 0.75))).text == "50.0 ± 10.0\n[25.0, 75.0]"


@pytest.mark.parametrize("format", FORMATS)
def test_no_format_lets_through_what_terminals_obey(format: Format) -> None:
    hostile = table(HOSTILE, notes=(HOSTILE,))
    text = render([hostile], format, width=300)
    if format == "json":  # which writes characters that do not show as escapes
        (parsed,) = json.loads(text)
        assert parsed["rows"][0]["Model"] == HOSTILE
    assert "\x1b" not in text
    assert "\u202e" not in text


def test_terminal_takes_brackets_literally() -> None:
    assert "[red]_d_[/red]" in render([table(HOSTILE)], "terminal", width=300)


def test_terminal_keeps_every_column_however_narrow() -> None:
    wide = Table(
        "T",
        tuple(f"Column {i}" for i in range(12)),
        (tuple(percent(Rate(0.5, 0.1)) for _ in range(12)),),
    )
    text = render([wide], "terminal", width=40)
    assert text.count("50.0 ± 10.0") == 12


def test_terminal_gives_text_the_room_there_is() -> None:
    long = "word " * 20
    assert long.strip() in render([table(long)], "terminal", width=200)
    assert long.strip() not in render([table(long)], "terminal", width=80)


def test_markdown_rows_stay_rows() -> None:
    lines = render([table(HOSTILE)], "markdown").split("\n")
    row = next(line for line in lines if "next" in line)
    assert row.startswith(r"| a\|b & \<b\>\*c\*\</b\> \[red\]\_d\_\[/red\] \$x\$ 100% \#1")
    assert r"\&lt;" in row
    assert row.replace(r"\|", "").count("|") == 3


def test_latex_is_escaped() -> None:
    text = render([table(HOSTILE)], "latex")
    assert r"a\textbar{}b \& \textless{}b\textgreater{}{*}c{*}" in text
    assert (
        r"\$x\$ 100\% \#1 \{e\} \textasciitilde{}f\textasciicircum{}g \textbackslash{}h" in text
    )
    assert r"23.7 $\pm$ 0.5 \\" in text
    assert r"\begin{tabular}{lr}" in text
    # Neither two hyphens become a dash, nor does a star belong to the row before.
    assert r"{*}a-{}-b \textasciigrave{}c" in render([table("*a--b `c")], "latex")
    noted = render([table(notes=("one\ntwo & more",))], "latex")
    assert r"one two \& more" in noted


def own_and_published() -> Table:
    """Two rows of ours and a published one, with heads of several words and counts."""
    rows = []
    for name, rate, published in (("A", 0.2, False), ("B", 0.3, False), ("C †", 0.9, True)):
        tone: Tone = "published" if published else ""
        cells = [Cell(name, tone=tone)]
        for _ in range(5):
            best = name == "B"
            cells.append(replace(percent(Rate(rate, 0.01, (0.1, 0.4)), tone), best=best))
        rows.append((*cells, Cell("3", 3), Cell("5,697", 5697)))
    heads = ("Domain Knowledge Reasoning", "Rule System Application", "Procedural Task Execution",
             "Empirical Discovery & Simulation")  # fmt: skip
    columns = ("Model", "Overall", *heads, "Runs", "Rows")
    return Table(
        "T_1", columns, tuple(rows), (Note("info", "50 % & #"),), counts=2, name="main"
    )


def test_latex_is_a_table_for_a_paper() -> None:
    text = render([own_and_published()], "latex")
    lines = text.split("\n")
    assert lines[0] == r"\begin{table*}[t]"
    assert r"\caption{T\_1}" in lines
    assert r"\label{tab:main}" in lines
    heads = [
        line
        for line in lines
        if line.endswith(r"Reasoning & Application & Execution & Simulation \\")
    ]
    assert heads == [r"Model & Overall & Reasoning & Application & Execution & Simulation \\"]
    assert r" &  & Knowledge & System & Task & Discovery \& \\" in lines
    assert lines.count(r"\midrule") == 2
    assert lines.index(r"\midrule", lines.index(r"\midrule") + 1) + 1 == next(
        n for n, line in enumerate(lines) if line.startswith(r"C $\dagger$")
    )
    assert text.count(r"\textbf{30.0 $\pm$ 1.0}") == 5
    assert text.count(r"\textbf") == 5
    # Counts of rows and intervals do not make it wider than a page.
    assert "Runs 3, Rows 5,697." in text
    assert text.count("{[}10.0, 40.0{]}") == 15
    assert r"50 \% \& \#" in text[text.index("minipage") :]


def test_latex_says_which_letters_pdflatex_does_not_know() -> None:
    assert not render([table("Modèle · 1 ± 2 \ufffd")], "latex").startswith("%")
    told, first, *_ = render([table("模型")], "latex").split("\n")
    assert told == "% pdflatex does not know 型 模: use lualatex or xelatex."
    assert render([table("Ħa")], "latex").startswith("% pdflatex does not know Ħ:")
    assert first.startswith(r"\begin{table")


def test_latex_compiles_and_fits(tmp_path: Path) -> None:
    tables = [own_and_published(), table(HOSTILE, notes=(HOSTILE,))]
    text = render(tables, "latex")
    widths = [_latex_width(*_latex_fitting(one)) for one in tables]
    assert max(widths) <= 397
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex on this machine: only the widths by letters are checked")
    whole = (
        "\\documentclass{article}\\usepackage{booktabs}\\setlength{\\textwidth}{5.5in}\n"
        f"\\begin{{document}}\n{text}\\end{{document}}\n"
    )
    (tmp_path / "x.tex").write_text(whole, "utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "x.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "Overfull" not in done.stdout
    assert (tmp_path / "x.pdf").exists()


def test_judge_failures_of_several_models_are_one_warning(tmp_path: Path) -> None:
    for model in ("one", "two"):
        make_log(tmp_path, tasks("a", "b"), {"a": [GARBLED], "b": ["yyy"]}, model=model)
    found = report(str(tmp_path))
    told = " ".join(render(found, "terminal").split())
    assert told.count("the judge failed") == told.count("clbench regrade") == 1
    assert "mockllm/one 1 row (50.0 %), mockllm/two 1 row (50.0 %)" in told
    assert "(and so for 1 more log)" in told
    one, two = load_series(str(tmp_path))
    (note,) = judge_failure_notes([("one name", one), ("one name", two)])
    assert note.text.count("one name 1 row (50.0 %)") == 2, "two draws may have one name"
    formats: tuple[Format, ...] = ("latex", "html")
    for format in formats:  # they are sent on, to people without the logs
        sent = render(found, format)
        assert "the judge failed" in sent
        assert "clbench regrade" not in sent
        assert str(tmp_path) not in sent


def test_html_is_escaped_and_whole() -> None:
    text = render([table("<script>alert(1)</script>", notes=("<i>",))], "html")
    assert text.startswith("<!DOCTYPE html>")
    assert "<script>" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "<li>&lt;i&gt;</li>" in text
    # Nothing is fetched from elsewhere.
    assert "http" not in text.replace('<meta http-equiv="Content-Security-Policy"', "")
    assert "default-src 'none'" in text


def test_csv_holds_the_values() -> None:
    cells = (Cell("=1+1"), percent(Rate(0.25)), Cell("1,234", 1234), Cell("–", None))
    whole = Table(
        "T", ("Model", "Rate", "Rows", "Other"), (cells,), details=({"incomplete": ["x", "y"]},)
    )
    header, row = csv.reader(io.StringIO(render([whole], "csv"), newline=""))
    assert header == ["Model", "Rate mean", "Rate std", "Rows", "Other", "incomplete"]
    assert row == ["'=1+1", "0.25", "", "1234", "", "x; y"]


def test_csv_keeps_negative_numbers() -> None:
    whole = Table("T", ("A", "B"), ((Cell("-x"), Cell("-1.5", -1.5)),))
    assert render([whole], "csv") == "A,B\r\n'-x,-1.5\r\n"


def test_json_has_no_nan() -> None:
    whole = Table("T", ("A",), ((Cell("?", {"x": math.nan, "y": [math.inf, 1]}),),))
    assert json.loads(render([whole], "json"))[0]["rows"] == [
        {"A": {"x": None, "y": [None, 1]}}
    ]


def test_groups_are_pages_for_people_and_one_table_for_programs() -> None:
    cells = tuple(Cell(str(i), i) for i in range(3))
    whole = Table(
        "T",
        ("Model", "A", "B", "C"),
        ((Cell("m"), *cells),),
        (Note("info", "note"),),
        groups=(("G", 2), ("H", 1)),
    )
    text = render([whole], "markdown")
    assert "**T · G**\n\n| Model | A | B |" in text
    assert "**T · H**\n\n| Model | C |" in text
    assert text.count("note") == 1
    assert render([whole], "csv") == "Model,A,B,C\r\nm,0,1,2\r\n"


def test_a_note_of_several_tables_stands_under_the_last() -> None:
    pages = [table(notes=("common", "first")), table(notes=("second", "common"))]
    assert [
        line.removeprefix("- ")
        for line in render(pages, "markdown").split("\n")
        if line.startswith("- ")
    ] == ["first", "second", "common"]
    assert [page["notes"] for page in json.loads(render(pages, "json"))] == [
        ["common", "first"],
        ["second", "common"],
    ]


def test_the_format_is_asked_for_or_read_off_the_name() -> None:
    assert format_for(None, None) == "terminal"
    assert format_for("x.TEX", None) == "latex"
    assert format_for("x.html", "markdown") == "markdown"
    with pytest.raises(ClbenchError, match=r"x\.doc: its ending does not say the format"):
        format_for("x.doc", None)
    with pytest.raises(
        ClbenchError, match=r"pdf: no such format\. There are: terminal, markdown"
    ):
        format_for(None, "pdf")


def test_files_are_written_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    save([table()], str(path))
    assert path.read_text("utf-8") == render([table()], "markdown")
    broken = Table("T", ("A", "B"), ((Cell("only one"),),))
    with pytest.raises(ValueError, match="zip"):
        save([broken], str(path), "json")
    assert path.read_text("utf-8") == render([table()], "markdown")
    assert [file.name for file in path.parent.iterdir()] == ["report.md"]


def test_published_rows_are_never_the_best(demo_log: str) -> None:
    done = clbench("report", demo_log, "--published", "--format", "latex")
    assert done.exit_code == 0, done.stderr
    assert r"\textbf" not in done.stdout  # one row was run here: nothing to compare it with
