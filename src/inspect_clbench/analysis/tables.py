"""A table and the ways to write it down. Text from outside is escaped in every format."""

import csv
import html
import io
import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from rich import box
from rich.console import Console
from rich.markup import escape as escape_rich
from rich.table import Table as RichTable

Format = Literal["terminal", "markdown", "csv", "json", "latex", "html"]
FORMATS: tuple[str, ...] = get_args(Format)


@dataclass(frozen=True)
class Cell:
    """What a person reads, and the values behind it."""

    text: str
    value: Any = None

    @staticmethod
    def of(value: Any) -> "Cell":
        return (
            value
            if isinstance(value, Cell)
            else Cell("" if value is None else str(value), value)
        )


@dataclass(frozen=True)
class Table:
    """Titled columns, rows of cells, and notes below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = field(default=())
    left: int = 1
    """How many columns from the left hold text; the others are numbers."""


def percent(mean: float, std: float | None = None) -> Cell:
    """A rate in percent with its std, as the paper prints it: `23.7 ± 0.5`."""
    if math.isnan(mean):
        return Cell("–", None)
    if std is None or math.isnan(std):
        return Cell(f"{100 * mean:.1f}", {"mean": mean, "std": None})
    return Cell(f"{100 * mean:.1f} ± {100 * std:.1f}", {"mean": mean, "std": std})


def render(tables: Sequence[Table], format: Format, width: int | None = None) -> str:
    """Tables as text in one of the formats."""
    match format:
        case "terminal":
            return "\n".join(_terminal(table, width) for table in tables)
        case "markdown":
            return "\n".join(_markdown(table) for table in tables)
        case "csv":
            return "\r\n".join(_csv(table) for table in tables)
        case "json":
            data = [_plain(table) for table in tables]
            return json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
        case "latex":
            return "\n".join(_latex(table) for table in tables)
        case "html":
            return "\n".join(html_table(table) for table in tables)


def _terminal(table: Table, width: int | None) -> str:
    shown = RichTable(title=escape_rich(table.title), box=box.SIMPLE_HEAD, title_justify="left")
    needed = 2
    for index, column in enumerate(table.columns):
        is_text = index < table.left
        cells = max((len(_one_line(row[index].text)) for row in table.rows), default=0)
        word = max((len(word) for word in column.split()), default=0)
        least = max(min(cells, 32) if is_text else cells, word)
        needed += least + 3  # padding on both sides and a separator
        shown.add_column(
            escape_rich(column),
            justify="left" if is_text else "right",
            vertical="bottom",
            overflow="fold",
            width=least,
        )
    for row in table.rows:
        shown.add_row(*(escape_rich(_one_line(cell.text)) for cell in row))
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.width = max(console.width, needed)  # rather too wide than without a column
    with console.capture() as capture:
        console.print(shown)
        for note in table.notes:
            console.print(escape_rich(note))
    return capture.get()


def _markdown(table: Table) -> str:
    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    rule = ["---" if i < table.left else "--:" for i in range(len(table.columns))]
    lines = [
        f"**{_markdown_text(table.title)}**",
        "",
        line([_markdown_text(c) for c in table.columns]),
        line(rule),
    ]
    lines += [line([_markdown_text(cell.text) for cell in row]) for row in table.rows]
    if table.notes:
        lines += ["", *(f"- {_markdown_text(note)}" for note in table.notes)]
    return "\n".join(lines) + "\n"  # fmt: skip


def _markdown_text(text: str) -> str:
    return re.sub(r"([\\`*_{}\[\]<>#|~$])", r"\\\1", _one_line(text))


def _csv(table: Table) -> str:
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow([spreadsheet_safe(column) for column in table.columns])
    writer.writerows([spreadsheet_safe(cell.text) for cell in row] for row in table.rows)
    return out.getvalue()


def spreadsheet_safe(text: str) -> str:
    """Text that no spreadsheet program takes for a formula."""
    return "'" + text if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _plain(table: Table) -> dict[str, Any]:
    rows = [
        dict(zip(table.columns, (_finite(cell.value) for cell in row), strict=True))
        for row in table.rows
    ]
    return {"title": table.title, "rows": rows, "notes": list(table.notes)}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    return value


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": "--", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
}  # fmt: skip


def _latex_text(text: str) -> str:
    return "".join(_LATEX.get(character, character) for character in _one_line(text))


def _latex(table: Table) -> str:
    spec = "l" * table.left + "r" * (len(table.columns) - table.left)
    lines = [
        f"% {_one_line(table.title)}",
        rf"\begin{{tabular}}{{{spec}}}",
        r"\toprule",
        " & ".join(_latex_text(column) for column in table.columns) + r" \\",
        r"\midrule",
        *(" & ".join(_latex_text(cell.text) for cell in row) + r" \\" for row in table.rows),
        r"\bottomrule",
        r"\end{tabular}",
        *(f"% {_one_line(note)}" for note in table.notes),
    ]
    return "\n".join(lines) + "\n"


def html_table(table: Table) -> str:
    """The table as an HTML fragment."""

    def cells(tag: str, texts: Sequence[str]) -> str:
        return "".join(
            f"<{tag}{'' if i < table.left else ' class=num'}>{html.escape(_one_line(text))}</{tag}>"
            for i, text in enumerate(texts)
        )

    head = cells("th", table.columns)
    body = "\n".join(f"<tr>{cells('td', [c.text for c in row])}</tr>" for row in table.rows)
    notes = "".join(f"<li>{html.escape(_one_line(note))}</li>" for note in table.notes)
    return (
        f"<figure><figcaption>{html.escape(table.title)}</figcaption>\n<table>\n"
        f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>\n</table>\n"
        + (f"<ul class=notes>{notes}</ul>\n" if notes else "")
        + "</figure>"
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())
