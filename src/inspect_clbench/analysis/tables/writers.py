"""Tables for terminals, Markdown, CSV and JSON."""

import csv
import io
import json
import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.markup import escape as escape_rich
from rich.table import Table as RichTable

from inspect_clbench.analysis.text import INVISIBLE, one_line

_LEAST_TEXT = 32

if TYPE_CHECKING:
    from inspect_clbench.analysis.tables import Cell, Table


def terminal_table(table: "Table", width: int | None) -> str:
    """A table as rich draws it, too wide rather than without a column."""
    console = Console(file=io.StringIO(), width=width, highlight=False, emoji=False)
    widths = _widths(table, console.width)
    console.width = max(console.width, sum(widths) + _room(widths))
    shown = RichTable(box=box.SIMPLE_HEAD)
    for index, (column, size) in enumerate(zip(table.columns, widths, strict=True)):
        shown.add_column(
            escape_rich(one_line(column)),
            justify="left" if index < table.left else "right",
            vertical="bottom",
            overflow="fold",
            width=size,
        )
    for row in table.rows:
        shown.add_row(*(escape_rich("\n".join(_lines(cell))) for cell in row))
    with console.capture() as capture:
        console.print(escape_rich(one_line(table.title)))
        console.print(shown)
        for note in table.notes:
            console.print(escape_rich(one_line(note)))
    return "\n".join(line.rstrip() for line in capture.get().split("\n"))


def _widths(table: "Table", wanted: int) -> list[int]:
    """How wide each column must be, and text columns as wide as there is room for."""
    full, least = [], []
    for index, column in enumerate(table.columns):
        lines = [line for row in table.rows for line in _lines(row[index])]
        content = max((cell_len(line) for line in lines), default=0)
        word = max((cell_len(word) for word in one_line(column).split()), default=0)
        full.append(max(content, word))
        is_text = index < table.left
        least.append(max(min(content, _LEAST_TEXT) if is_text else content, word))
    spare = wanted - sum(least) - _room(least)
    for index in range(table.left):
        more = max(min(full[index] - least[index], spare), 0)
        least[index] += more
        spare -= more
    return least


def _room(widths: Sequence[int]) -> int:
    return 3 * len(widths) + 2  # padding beside each column, separators, the edges


def _lines(cell: "Cell") -> list[str]:
    return [one_line(line) for line in cell.text.split("\n")]


def markdown_table(table: "Table") -> str:
    """A table in the Markdown of GitHub, its notes as a list."""

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
    return "\n".join(lines) + "\n"


def _markdown_text(text: str) -> str:
    # An ampersand only acts where it starts an entity.
    return re.sub(r"([\\`*_{}\[\]<>#|~$]|&(?=#?\w+;))", r"\\\1", one_line(text))


def csv_table(table: "Table") -> str:
    """A table with the values behind its cells, a column for each; without its notes."""
    out = io.StringIO()
    writer = csv.writer(out)
    parts = [_csv_keys(table, index) for index in range(len(table.columns))]
    extra = list(dict.fromkeys(key for details in table.details for key in details))
    header = [
        f"{column} {key}" if key else column
        for column, keys in zip(table.columns, parts, strict=True)
        for key in keys
    ]
    writer.writerow([spreadsheet_safe(name) for name in [*header, *extra]])
    for number, row in enumerate(table.rows):
        fields = [
            _csv_field(cell, key) for cell, keys in zip(row, parts, strict=True) for key in keys
        ]
        details = table.details[number] if table.details else {}
        fields += [_csv_text(details.get(key)) for key in extra]
        writer.writerow([spreadsheet_safe(field) for field in fields])
    return out.getvalue()


def _csv_keys(table: "Table", index: int) -> list[str]:
    """The parts that a column's cells fall into; one nameless part for plain cells."""
    values = [row[index].value for row in table.rows]
    keys = dict.fromkeys(key for value in values if isinstance(value, dict) for key in value)
    return [str(key) for key in keys] or [""]


def _csv_field(cell: "Cell", key: str) -> str:
    if key:
        return _csv_text(cell.value.get(key) if isinstance(cell.value, dict) else None)
    return _csv_text(cell.plain)


def _csv_text(value: Any) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list | tuple):
        return "; ".join(_csv_text(item) for item in value)
    return one_line(str(value))


def spreadsheet_safe(text: str) -> str:
    """Text that no spreadsheet program takes for a formula; numbers stay as they are."""
    if text[:1] in ("=", "+", "-", "@", "\t", "\r") and not _is_number(text):
        return "'" + text
    return text


def _is_number(text: str) -> bool:
    # With a plus it is somebody's text: a spreadsheet would save it without.
    return re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text) is not None


def json_tables(tables: Sequence["Table"]) -> str:
    """Tables as a JSON list, with rows as objects and rates as fractions."""
    data = [_plain(table) for table in tables]
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _plain(table: "Table") -> dict[str, Any]:
    rows = []
    for number, row in enumerate(table.rows):
        values = (_finite(cell.plain) for cell in row)
        details = table.details[number] if table.details else {}
        rows.append(dict(zip(table.columns, values, strict=True)) | _finite(details))
    return {"title": table.title, "rows": rows, "notes": list(table.notes)}


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        # More digits are noise that differs between machines.
        return round(value, 10) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value
