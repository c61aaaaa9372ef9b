"""A table and the ways to write it down. Text from outside is escaped in every format."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any, Literal, get_args

from inspect_clbench.analysis.tables.markup import html_page, html_table, latex_table
from inspect_clbench.analysis.tables.writers import (
    csv_table,
    json_tables,
    markdown_table,
    spreadsheet_safe,
    terminal_table,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import write_text

__all__ = [
    "FORMATS",
    "Cell",
    "Format",
    "Table",
    "format_for",
    "html_table",
    "percent",
    "readable_tables",
    "render",
    "save",
    "spreadsheet_safe",
]

Format = Literal["terminal", "markdown", "csv", "json", "latex", "html"]
FORMATS: tuple[str, ...] = get_args(Format)

_ENDINGS: dict[str, Format] = {
    ".txt": "terminal",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
}
_FILE_WIDTH = 120


@dataclass(frozen=True)
class Cell:
    """What a person reads, and the values behind it."""

    text: str
    value: Any = ...
    """For JSON and CSV: the text itself when not given. A mapping becomes a column of
    the CSV for each of its keys."""

    @property
    def plain(self) -> Any:
        return self.text if self.value is ... else self.value

    @staticmethod
    def of(value: Any) -> "Cell":
        if isinstance(value, Cell):
            return value
        return Cell("" if value is None else str(value), value)


@dataclass(frozen=True)
class Table:
    """Titled columns, rows of cells, and notes below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[str, ...] = ()
    left: int = 1
    """How many columns from the left hold text; the others are numbers."""

    groups: tuple[tuple[str, int], ...] = ()
    """Names for so many of the number columns each, where a table is too wide for a
    page: formats for people print one table per group, the others one for all."""

    details: tuple[dict[str, Any], ...] = ()
    """What JSON and CSV add to each row, beside what people read."""


def percent(
    mean: float, std: float | None = None, interval: tuple[float, float] | None = None
) -> Cell:
    """A rate in percent with its std, as the paper prints it: `23.7 ± 0.5`.

    Args:
        mean: The rate as a fraction.
        std: Its standard deviation over runs, where there is one.
        interval: The ends of its interval, printed on a line of their own.
    """
    if math.isnan(mean):
        return Cell("–", None)
    known_std = None if std is None or math.isnan(std) else std
    text = f"{100 * mean:.1f}" + ("" if known_std is None else f" ± {100 * known_std:.1f}")
    value: dict[str, Any] = {"mean": mean, "std": known_std}
    if interval is not None:
        low, high = interval
        if math.isnan(low):
            return Cell(text, {**value, "low": None, "high": None})
        text += f"\n[{100 * low:.1f}, {100 * high:.1f}]"
        value |= {"low": low, "high": high}
    return Cell(text, value)


def render(tables: Sequence[Table], format: Format, width: int | None = None) -> str:
    """Tables as text in one of the formats.

    Args:
        tables: The tables.
        format: `terminal`, `markdown`, `csv`, `json`, `latex` or `html` (a whole page).
        width: The width of the terminal; found out when not given.
    """
    pages = readable_tables(tables)
    match format:
        case "terminal":
            return "\n".join(terminal_table(table, width) for table in pages)
        case "markdown":
            return "\n".join(markdown_table(table) for table in pages)
        case "csv":
            return "\r\n".join(csv_table(table) for table in tables)
        case "json":
            return json_tables(tables)
        case "latex":
            return "\n".join(latex_table(table) for table in pages)
        case "html":
            title = tables[0].title if tables else "CL-bench"
            return html_page(title, "\n".join(html_table(table) for table in pages))


def readable_tables(tables: Sequence[Table]) -> list[Table]:
    """Tables as a person reads them: none too wide, and no note under two of them."""
    return _notes_once([page for table in tables for page in _by_group(table)])


def save(tables: Sequence[Table], output: str, format: str | None = None) -> None:
    """Write tables to a file, whole or not at all.

    Args:
        tables: The tables.
        output: The path; its ending says the format when none is given.
        format: One of the formats of `render`.
    """
    text = render(tables, format_for(output, format), _FILE_WIDTH)
    try:
        write_text(output, text)
    except OSError as ex:
        raise ClbenchError(f"{output}: cannot be written ({ex.strerror}).") from None


def format_for(output: str | None, format: str | None) -> Format:
    """The format that a user asked for, outright or with the ending of a file's name."""
    for known in get_args(Format):
        if format == known:
            return known  # type: ignore[no-any-return]  # one of the literals, which get_args hides
    if format is not None:
        raise ClbenchError(f"{format}: no such format. There are: {', '.join(FORMATS)}.")
    if output is None:
        return "terminal"
    ending = PurePath(output).suffix.lower()
    if ending not in _ENDINGS:
        raise ClbenchError(
            f"{output}: its ending does not say the format. Use {', '.join(_ENDINGS)}, or "
            "give the format with --format."
        )
    return _ENDINGS[ending]


def _notes_once(tables: Sequence[Table]) -> list[Table]:
    """Tables that a person reads one after the other: a common note stands under the last."""
    return [
        replace(
            table,
            notes=tuple(
                note
                for note in table.notes
                if not any(note in later.notes for later in tables[index:])
            ),
        )
        for index, table in enumerate(tables, start=1)
    ]


def _by_group(table: Table) -> Iterator[Table]:
    if not table.groups:
        yield table
        return
    start = table.left
    for index, (name, size) in enumerate(table.groups):
        chosen = slice(start, start + size)
        start += size
        last = index == len(table.groups) - 1
        yield replace(
            table,
            title=f"{table.title} · {name}",
            columns=(*table.columns[: table.left], *table.columns[chosen]),
            rows=tuple((*row[: table.left], *row[chosen]) for row in table.rows),
            notes=table.notes if last else (),
            groups=(),
        )
