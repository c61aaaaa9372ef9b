"""Tables as text in each format. Text from outside is escaped in every one of them."""

import csv
import io
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import count, groupby, product, zip_longest
from pathlib import PurePath
from textwrap import wrap
from typing import Any, get_args

from inspect_clbench.choices import Format
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target
from inspect_clbench.output.html import html_page, html_table
from inspect_clbench.output.tables import Cell, Note, Table
from inspect_clbench.output.terminal import (
    terminal_table,
    with_counts_in_notes,
    with_short_heads,
    with_stacked_cells,
)
from inspect_clbench.text import INVISIBLE, one_line

FORMATS: tuple[Format, ...] = get_args(Format)

_ENDINGS: dict[str, Format] = {
    ".txt": "terminal",
    ".md": "markdown",
    ".csv": "csv",
    ".json": "json",
    ".tex": "latex",
    ".html": "html",
    ".htm": "html",
}

_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    "±": r"$\pm$", "–": r"\textendash{}", "−": "$-$", "·": r"$\cdot$", "…": r"\ldots{}", "≥": r"$\geq$",
    "†": r"$\dagger$", "<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}",
    '"': "''", "[": "{[}", "]": "{]}", "‡": r"$\ddagger$", "≤": r"$\leq$", "√": r"$\surd$",
    "×": r"$\times$", "²": "$^2$", "’": "'", "“": "``", "”": "''", "\u00a0": "~", "\ufffd": "?",
    "*": "{*}", "`": r"\textasciigrave{}",
}  # fmt: skip
# Letters of the first blocks that pdflatex has no sign for.
_NO_SIGN = frozenset("ĦħĸŉĿŀŦŧſ«»ÐðÞþĐđŊŋ")
# What LaTeX calls sizes of letters, and the points of an em in each: small ones are wider.
_SIZES = {"small": 9.25, "footnotesize": 8.5, "scriptsize": 8.0}
_NARROW, _WIDE = frozenset(" .,:;'|!ijlfrtI[](){}-"), frozenset("mw%±@&…")
_TABCOLSEP = 3
_COLUMN, _TEXT = 238, 397  # 3.3 inches, and the 5.5 of many templates of conferences
_HEAD_WIDTH, _HEAD_LINES = 10, 3


def render_tables(
    tables: Sequence[Table], format: Format, width: int | None = None, *, styled: bool = False
) -> str:
    """Tables as text in one of the formats; a width and styles are for the terminal's only."""
    pages = readable_tables(tables)
    match format:
        case "terminal":
            return "\n".join(terminal_table(table, width, styled=styled) for table in pages)
        case "markdown":
            return "\n".join(markdown_table(table) for table in pages)
        case "csv":
            if len(tables) != 1:
                raise ClbenchError(
                    f"CSV: these are {len(tables)} tables ({', '.join(csv_names(tables))}), and "
                    "a CSV holds one. Give --output FILE.csv for a file each, or --format json."
                )
            return csv_table(tables[0])
        case "json":
            return json_tables(tables)
        case "latex":
            text = "\n".join(map(latex_table, pages, csv_names(pages)))
            foreign = sorted(
                {letter for letter in text if letter > "\u017f" or letter in _NO_SIGN}
            )
            told = f"% pdflatex does not know {' '.join(foreign)}: use lualatex or xelatex.\n"
            return told + text if foreign else text
        case "html":
            title = tables[0].title if tables else "CL-bench"
            return html_page(title, "\n".join(map(html_table, pages)))


def format_for(output: str | None, format: str | None) -> Format:
    """The format that a user asked for, outright or with the ending of a file's name.

    A file that could not be written is refused here, before anything is computed for it.
    """
    if output is not None:
        check_target(output)
    if format is not None:
        known = next((known for known in FORMATS if known == format), None)
        if known is None:
            raise ClbenchError(f"{format}: no such format. There are: {', '.join(FORMATS)}.")
        return known
    if output is None:
        return "terminal"
    ending = PurePath(output).suffix.lower()
    if ending not in _ENDINGS:
        raise ClbenchError(
            f"{output}: its ending does not say the format. Use {', '.join(_ENDINGS)}, or "
            "give the format with --format."
        )
    return _ENDINGS[ending]


def readable_tables(tables: Sequence[Table]) -> list[Table]:
    """Tables as a person reads them: none too wide, and a common note under the last only."""
    pages = [page for table in tables for page in _by_group(table)]
    later: set[Note] = set()
    for index, page in reversed(list(enumerate(pages))):
        pages[index] = replace(page, notes=tuple(n for n in page.notes if n not in later))
        later.update(page.notes)
    return pages


def _by_group(table: Table) -> Iterator[Table]:
    start = table.left
    for name, size in table.groups:
        chosen = slice(start, start + size)
        start += size
        yield replace(
            table,
            title=f"{table.title} · {name}",
            columns=(*table.columns[: table.left], *table.columns[chosen]),
            rows=tuple((*row[: table.left], *row[chosen]) for row in table.rows),
            groups=(),
        )
    if not table.groups:
        yield table


def markdown_table(table: Table) -> str:
    """A table in the Markdown of GitHub, its notes as a list."""
    rule = ["---" if index < table.left else "--:" for index in range(len(table.columns))]
    rows = [
        [_markdown_text(column) for column in table.columns],
        rule,
        *([_markdown_text(cell.text) for cell in row] for row in table.rows),
    ]
    lines = [f"**{_markdown_text(table.title)}**", ""]
    lines += [f"| {' | '.join(row)} |" for row in rows]
    if table.notes:
        lines += ["", *(f"- {_markdown_text(note.with_cure)}" for note in table.notes)]
    return "\n".join(lines) + "\n"


def _markdown_text(text: str) -> str:
    # An ampersand only acts where it starts an entity.
    return re.sub(r"([\\`*_{}\[\]<>#|~$]|&(?=#?\w+;))", r"\\\1", one_line(text))


def csv_names(tables: Sequence[Table]) -> list[str]:
    """A name for each table, for a file of its own."""
    seen = Counter(table.name for table in tables)
    return [
        table.name
        if seen[table.name] == 1 and table.name
        else f"{table.name or 'table'}{number}"
        for number, table in enumerate(tables, start=1)
    ]


def csv_table(table: Table) -> str:
    """A table with the values behind its cells, a column for each; without its notes."""
    columns: dict[str, list[Any]] = {}
    for index, title in enumerate(table.columns):
        cells = [row[index] for row in table.rows]
        parts = [cell.value if isinstance(cell.value, dict) else {} for cell in cells]
        for key in dict.fromkeys(key for values in parts for key in values):
            columns[f"{title} {key}"] = [values.get(key) for values in parts]
        if not any(parts):
            columns[title] = [cell.plain for cell in cells]
    for key in dict.fromkeys(key for details in table.details for key in details):
        columns[key] = [details.get(key) for details in table.details]
    out = io.StringIO()
    writer = csv.writer(out)
    for row in (columns, *zip(*columns.values(), strict=True)):
        writer.writerow([spreadsheet_safe(_csv_text(value)) for value in row])
    return out.getvalue()


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
    # With a plus it is somebody's text: a spreadsheet would save it without.
    is_number = re.fullmatch(r"-?[0-9]+(\.[0-9]+)?(e[+-]?[0-9]+)?", text)
    risky = text.startswith(("=", "+", "-", "@", "\t", "\r"))
    return "'" + text if risky and not is_number else text


def json_tables(tables: Sequence[Table]) -> str:
    """Tables as a JSON list, with rows as objects and rates as fractions."""
    data = []
    for table in tables:
        values = [[cell.plain for cell in row] for row in table.rows]
        rows = [dict(zip(table.columns, row, strict=True)) for row in values]
        for row, details in zip(rows, table.details, strict=False):
            row |= details
        notes = [note.with_cure for note in table.notes]
        data.append(
            {"title": table.data_title or table.title, "rows": _finite(rows), "notes": notes}
        )
    text = json.dumps(data, ensure_ascii=False, indent=2, allow_nan=False) + "\n"
    return INVISIBLE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _finite(value: Any) -> Any:
    if isinstance(value, float):
        # More digits are noise that differs between machines.
        return round(value, 10) if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    return value


def latex_table(table: Table, label: str = "table") -> str:
    """A table for a paper, to be used with the package booktabs.

    It is 5.5 inches wide at most, where it can be: counts move into a note, then heads
    become short, then the letters small.
    """
    table, size = _latex_fitting(table)
    environment = "table" if _latex_width(table, size) <= _COLUMN else "table*"
    heads = [_head_lines(column) for column in table.columns]
    lines = [
        rf"\begin{{{environment}}}[t]",
        rf"\centering\{size}\setlength{{\tabcolsep}}{{{_TABCOLSEP}pt}}",
        rf"\caption{{{_latex_text(table.title)}}}",
        rf"\label{{tab:{label}}}",
        rf"\begin{{tabular}}{{{'l' * table.left}{'r' * (len(heads) - table.left)}}}",
        r"\toprule",
        *(_latex_row(map(_latex_text, line)) for line in zip(*heads, strict=True) if any(line)),
        r"\midrule",
    ]
    for published, rows in groupby(table.rows, key=lambda row: row[0].tone == "published"):
        if published:
            lines.append(r"\midrule")
        lines += [line for row in rows for line in _latex_rows(row)]
    lines += [r"\bottomrule", r"\end{tabular}"]
    told = [str(note) for note in table.notes]
    told += ["Bold: the highest of the rows run here."] * any(
        c.best for r in table.rows for c in r
    )
    if told:
        notes = " \\par\n".join(_latex_text(note) for note in told)
        lines += [
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\raggedright\{size}",
            notes,
            r"\end{minipage}",
        ]
    lines.append(rf"\end{{{environment}}}")
    return "\n".join(lines) + "\n"


def _latex_fitting(table: Table) -> tuple[Table, str]:
    """The table in the widest form, and with the largest letters, that fit a page."""
    without = with_counts_in_notes(table)
    short = with_short_heads(without)
    stacked = with_stacked_cells(short)
    tries = [(table, "small"), *product((without, short, stacked), _SIZES)]
    fitting = (one for one in tries if _latex_width(*one) <= _TEXT)
    return next(fitting, tries[-1])


def _latex_width(table: Table, size: str) -> float:
    """How many points a table is wide, as far as its letters tell."""
    columns = zip(map(_head_lines, table.columns), *table.rows, strict=True)
    ems = 0.0
    for heads, *cells in columns:
        texts = [*heads, *(line for cell in cells for line in cell.text.split("\n"))]
        ems += max(map(_ems, texts)) * (1.15 if any(cell.best for cell in cells) else 1)
    return ems * _SIZES[size] + 2 * _TABCOLSEP * len(table.columns)


def _ems(text: str) -> float:
    """How wide a text is at most in the letters of LaTeX, but for rare ones."""
    return sum(
        0.36 if letter in _NARROW else 0.79 if letter.isupper() or letter in _WIDE else 0.53
        for letter in text
    )


def _head_lines(head: str) -> list[str]:
    """A head in up to three lines, as narrow as rates are where its words allow it."""
    for width in count(_HEAD_WIDTH):
        lines = wrap(one_line(head), width, break_long_words=False)
        if len(lines) <= _HEAD_LINES:
            break
    return [""] * (_HEAD_LINES - len(lines)) + lines


def _latex_rows(row: Sequence[Cell]) -> list[str]:
    """A row of cells; what stands on a second line of them becomes a second row."""
    lines: list[str] = []
    for found in zip_longest(*(cell.text.split("\n") for cell in row), fillvalue=""):
        texts = [_latex_text(text) for text in found]
        if not lines:
            texts = [
                rf"\textbf{{{t}}}" if c.best else t for t, c in zip(texts, row, strict=True)
            ]
        lines.append(_latex_row(texts))
    if len(lines) > 1:
        lines.append(r"\addlinespace")
    return lines


def _latex_row(texts: Iterable[str]) -> str:
    return " & ".join(texts) + r" \\"


def _latex_text(text: str) -> str:
    escaped = "".join(_LATEX.get(character, character) for character in one_line(text))
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would become a dash
