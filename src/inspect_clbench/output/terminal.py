"""Tables for a terminal: they fit its width, and no number, id or name is broken.

A table that is too wide gets short heads with a legend, then its counts move into a note, then
its cells are stacked, and at last its rows become columns, as many side by side as fit.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from textwrap import TextWrapper

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, Tone
from inspect_clbench.text import one_line

FILE_WIDTH = 120
"""Of texts in pipes and files. A table there keeps its form and may be wider."""

_GAP = 2
_SHORT_HEAD = 10
_LONGEST_WORD = 60  # of what comes from outside; names and ids are shorter
_STYLES: dict[Tone, str] = {"": "", "headline": "bold", "published": "dim"}
# Stands for a blank at which no line ends; of those for private use, which texts do not have.
_GLUE = "\ue000"


def terminal_table(table: Table, width: int | None = None, *, styled: bool = False) -> str:
    """A table as text.

    Args:
        table: The table.
        width: The columns to fit it into; in its usual form, however wide, if not given.
        styled: Whether to add the codes for bold, dim and coloured text.
    """
    shown = width or FILE_WIDTH
    lines = TextWrapper(shown, break_long_words=False, break_on_hyphens=False)
    console = Console(
        file=io.StringIO(),
        width=10_000,  # of a table in its usual form
        color_system="standard" if styled else None,
        force_terminal=styled,
        no_color=False,
        legacy_windows=False,
        highlight=False,
    )
    parts = _fitting(_glued(table), width) if width else [_glued(table)]

    def write(text: str, style: str = "") -> None:
        # A path that is longer than a line stays whole, to be copied.
        for line in lines.wrap(one_line(text)) or [""]:
            console.print(Text(line, style))

    with console.capture() as capture:
        write(table.title)
        for part in parts:
            console.print("", _draw(part, shown), sep="\n")
        if table.notes:
            console.print()
        for note in parts[-1].notes:
            write(note.with_cure, "yellow" if note.is_warning else "")
    printed = capture.get().replace(_GLUE, " ").split("\n")
    return "\n".join(line.rstrip() for line in printed)


def _glued(table: Table) -> Table:
    """The table with blanks only where a line may end: not in numbers, nor before a mark."""

    def glued(text: str, where: str) -> str:
        lines = (re.sub(where, _GLUE, one_line(line)) for line in text.split("\n"))
        return "\n".join(lines)

    def glued_cell(cell: Cell, where: str) -> Cell:
        return replace(cell, text=glued(cell.text, where), narrow=glued(cell.narrow, where))

    def glued_head(text: str) -> str:
        return glued(text, " ") if len(text) < _SHORT_HEAD else one_line(text)

    places = [r" (?=\S$)" if index < table.left else " " for index in range(len(table.columns))]
    return replace(
        table,
        columns=tuple(map(glued_head, table.columns)),
        rows=tuple(tuple(map(glued_cell, row, places)) for row in table.rows),
        short={glued_head(long): glued_head(short) for long, short in table.short.items()},
    )


def _fitting(table: Table, width: int) -> list[Table]:
    for layout in _layouts(table):
        if _sum(_least(column) for column in _columns(layout)) <= width:
            return [layout]
    return list(_transposed(table, width))


def _layouts(table: Table) -> Iterator[Table]:
    """The table in ever narrower forms."""
    yield table
    table = with_short_heads(table)
    yield table
    table = with_counts_in_notes(table)
    yield table
    yield with_stacked_cells(table)


def with_stacked_cells(table: Table) -> Table:
    """A table whose cells have more and shorter lines."""
    rows = (
        (replace(cell, text=cell.narrow or cell.text) for cell in row) for row in table.rows
    )
    return replace(table, rows=tuple(map(tuple, rows)))


def with_short_heads(table: Table) -> Table:
    """A table with the shorter heads that it has, and a note that explains them."""
    short = {column: table.short[column] for column in table.columns if column in table.short}
    if not short:
        return table
    words = "; ".join(f"{head} {column}" for column, head in short.items())
    columns = tuple(short.get(column, column) for column in table.columns)
    notes = (*table.notes, Note("info", f"Columns: {words}."))
    return replace(table, columns=columns, notes=notes)


def with_counts_in_notes(table: Table) -> Table:
    """A table whose counts stand in a note and not in columns."""
    if not table.counts:
        return table
    kept = len(table.columns) - table.counts
    names: dict[str, list[str]] = {}
    for row in table.rows:
        if row[0].tone == "published":
            continue
        told = zip(table.columns[kept:], row[kept:], strict=True)
        counts = [f"{title} {cell.text}" for title, cell in told if cell != NOTHING]
        names.setdefault(", ".join(counts), []).append(row[0].text)
    names.pop("", None)
    notes = [
        Note("info", f"{counts}." if len(names) == 1 else f"{', '.join(rows)}: {counts}.")
        for counts, rows in names.items()
    ]
    return replace(
        table,
        columns=table.columns[:kept],
        rows=tuple(row[:kept] for row in table.rows),
        notes=(*notes, *table.notes),
        counts=0,
    )


def _transposed(table: Table, width: int) -> Iterator[Table]:
    """Tables with a column for each row, as many as fit side by side."""
    titles = tuple(map(Cell, table.columns[1:]))
    waiting = list(table.rows)
    while waiting:
        shown = 1
        for number in range(1, len(waiting) + 1):
            part = _flipped(table, titles, waiting[:number])
            if _sum(_least(column) for column in _columns(part)) > width:
                break
            shown = number
        yield _flipped(table, titles, waiting[:shown])
        del waiting[:shown]


def _flipped(table: Table, titles: Sequence[Cell], rows: Sequence[tuple[Cell, ...]]) -> Table:
    heads = (table.columns[0], *(row[0].text for row in rows))
    cells = zip(titles, *(row[1:] for row in rows), strict=True)
    # Beside texts of several lines numbers to the right would be hard to find.
    left = 1 if table.left == 1 else len(heads)
    return Table(table.title, heads, tuple(cells), table.notes, left=left)


def _columns(table: Table) -> Iterator[tuple[str, list[Cell]]]:
    for index, head in enumerate(table.columns):
        yield head, [row[index] for row in table.rows]


def _sum(widths: Iterable[int]) -> int:
    found = list(widths)
    return sum(found) + _GAP * (len(found) - 1)


def _least(column: tuple[str, list[Cell]]) -> int:
    """The width of the longest word."""
    texts = [column[0], *(cell.text for cell in column[1])]
    words = (word for text in texts for line in text.split("\n") for word in line.split(" "))
    return min(max(map(cell_len, words), default=0), _LONGEST_WORD)


def _natural(column: tuple[str, list[Cell]]) -> int:
    """The width at which no cell is wrapped; heads are, at words."""
    lines = (line for cell in column[1] for line in cell.text.split("\n"))
    return max(_least(column), max(map(cell_len, lines), default=0))


def _draw(table: Table, width: int) -> RichTable:
    columns = list(_columns(table))
    least, widths = [_least(column) for column in columns], [_natural(c) for c in columns]
    while _sum(widths) > width and widths != least:
        # The widest gives way, of those that can.
        _, index = max((w, i) for i, w in enumerate(widths) if w > least[i])
        widths[index] -= 1
    drawn = RichTable(
        box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0)
    )
    for index, head in enumerate(table.columns):
        drawn.add_column(
            Text(head),
            overflow="fold",
            justify="left" if index < table.left else "right",
            width=widths[index],
        )
    for row in table.rows:
        drawn.add_row(*(Text(cell.text, _STYLES[cell.tone]) for cell in row))
    return drawn
