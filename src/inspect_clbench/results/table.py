"""A table: a frame of numbers, and how each column is printed, in five formats.

Numbers stay numbers until a format is chosen; CSV and JSON get them as they are.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from pathlib import Path
from shutil import get_terminal_size
from typing import Any

import pandas as pd
from rich.box import Box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table as RichTable
from rich.text import Text

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import write_text
from inspect_clbench.text import one_line

GAP = 2
UNLIMITED = 10_000
NAME_WIDTH = 12  # of names, where room is short
WORD_WIDTH = 16  # of a head's longest word: Communication
ENDINGS = {".txt": "table", ".md": "markdown", ".tex": "latex", ".csv": "csv", ".json": "json"}
FORMULA = tuple("=+-@＝＋－＠")  # how one begins, to spreadsheets of some countries also in full width
LATEX_WIDTH = 20  # of names on a page
RULES = Box("    \n    \n ── \n    \n ── \n    \n    \n    \n")  # under the heads, and between sections


def text(value: Any) -> str:
    return "–" if pd.isna(value) or value == "" else one_line(str(value))


def count(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.0f}"


def percent(value: float) -> str:
    return "–" if pd.isna(value) else points(value)


def points(value: float) -> str:
    """A share or difference in percent, with a minus as long as a plus, and no −0.0."""
    return f"{round(100 * value, 1) + 0.0:.1f}".replace("-", "−")


def mean_std(mean: float, std: float) -> str:
    return percent(mean) if pd.isna(std) else f"{percent(mean)} ± {percent(std)}"


def interval(mean: float, low: float, high: float) -> str:
    """A figure and its interval below it; with a dash only where no minus can stand beside it."""
    ends = "–" if low >= 0 else ", "
    return percent(mean) if pd.isna(low) else f"{percent(mean)}\n[{percent(low)}{ends}{percent(high)}]"


def short_names(names: Iterable[str]) -> dict[str, str]:
    """Names of models by the last part of their path; whole where several end in the same."""
    names = list(dict.fromkeys(names))
    short = {name: re.sub(r"^\S*/(?=[^\s/])", "", name) for name in names}
    ends = list(short.values())
    return {name: end if ends.count(end) == 1 else name for name, end in short.items()}


def folded(name: str, letters: int) -> str:
    """A name in lines of so many letters, cut after spaces, slashes and hyphens if possible."""
    lines = [""]
    for piece in re.findall(rf"[^ /-]{{0,{letters - 1}}}.?", name):
        if len((lines[-1] + piece).rstrip()) > letters:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


@dataclass(frozen=True)
class Column:
    """A column as it is printed: its head, and which columns of the frame it shows, and how."""

    head: str
    sources: Sequence[str]
    show: Callable[..., str] = text
    once: str = ""
    """The frame's column that leaves the cell empty where the row above has the same in it."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the frame's texts are called here, such as `short_names`."""

    def cells(self, frame: pd.DataFrame) -> list[str]:
        rows = zip(*(frame[source] for source in self.sources), strict=True)
        cells = [self.show(*(self.names.get(v, v) if isinstance(v, str) else v for v in row)) for row in rows]
        if self.once:
            is_same = frame[self.once].eq(frame[self.once].shift())
            cells = ["" if same else cell for cell, same in zip(cells, is_same, strict=True)]
        return cells

    def printed(self, frame: pd.DataFrame) -> "_Printed":
        cells, is_text = self.cells(frame), self.show is text
        width = _width(cells)
        head = one_line(self.head).replace(" & ", "\xa0& ")  # no line begins with it
        word = max(len(piece.rstrip()) for piece in re.findall("[^ /-]*.?", head))
        head = folded(head, max(width, min(word, WORD_WIDTH))).replace("\xa0", " ")
        least = max(_width([head]), min(width, NAME_WIDTH) if is_text else width)
        return _Printed(head, cells, is_text, least, max(_width([head]), width))


@dataclass(frozen=True, eq=False)
class _Printed:
    """The texts of a column, and how wide it must and can be."""

    head: str
    cells: list[str]
    is_text: bool
    least: int
    most: int


@dataclass(frozen=True, repr=False)
class Table:
    """What a command answers: numbers, how to print them, and what to know about them."""

    title: str
    frame: pd.DataFrame
    """Rows with a true `published` are others' figures: they stand under a rule, in grey."""
    columns: Sequence[Column]
    notes: Sequence[str] = ()
    """What a reader must know to not be misled: three at the most."""
    methods: str = ""
    """How the figures were made, in a line ready for an appendix."""

    def __repr__(self) -> str:
        return self.to_text()

    def to_text(self, width: int | None = None, styled: bool = False) -> str:
        """For a terminal.

        Args:
            width: In letters; the terminal's if not given.
            styled: Whether to print heads and published rows in another style.
        """
        page = StringIO()
        width = width or get_terminal_size().columns
        options: dict[str, Any] = {
            "file": page, "color_system": "standard" if styled else None, "force_terminal": styled,
            "force_jupyter": False, "highlight": False,
        }  # fmt: skip
        prose, tables = Console(width=width, **options), Console(width=UNLIMITED, **options)
        prose.print(Text(one_line(self.title)), end="\n\n")
        for block in self._blocks(width):
            tables.print(self._rich_table(block, width))
            tables.print()
        for line in self._prose():
            prose.print(Text(line))
        return "".join(f"{line.rstrip()}\n" for line in page.getvalue().rstrip().split("\n"))

    def _blocks(self, width: int) -> Iterator[list[_Printed]]:
        """As many columns as fit, in their order, and below them the next; each with all names."""
        columns = [column.printed(self.frame) for column in self.columns]
        names = sum(column.least + GAP for column in columns if column.is_text)
        blocks: list[list[_Printed]] = [[]]
        for figures in columns:
            if not figures.is_text:
                used = names + sum(column.least + GAP for column in [*blocks[-1], figures])
                if blocks[-1] and used > width + GAP:
                    blocks.append([])
                blocks[-1].append(figures)
        for block in blocks:
            yield [column for column in columns if column.is_text or column in block]

    def _rich_table(self, columns: Sequence[_Printed], width: int) -> RichTable:
        """A block. What room is left goes to the names, to the narrowest first."""
        letters = {column: column.least for column in columns}
        for _ in range(width + GAP - sum(column.least + GAP for column in columns)):
            if narrow := [column for column in columns if letters[column] < column.most]:
                letters[min(narrow, key=letters.__getitem__)] += 1
        table = RichTable(box=RULES, show_edge=False, pad_edge=False, padding=(0, GAP - 1, 0, 0))
        for column in columns:
            table.add_column(Text(column.head), justify="left" if column.is_text else "right", no_wrap=True)
        for place in range(len(self.frame)):
            if place == self._rows_above_rule:
                table.add_section()
            cells = [folded(c.cells[place], letters[c]) if c.is_text else c.cells[place] for c in columns]
            table.add_row(*map(Text, cells), style="dim" if place >= self._rows_above_rule else "")
        return table

    def to_markdown(self) -> str:
        rules = ["---" if column.show is text else "---:" for column in self.columns]
        columns = [[one_line(column.head), *column.cells(self.frame)] for column in self.columns]
        heads, *rows = zip(*(map(_markdown, cells) for cells in columns), strict=True)
        table = "\n".join(f"| {' | '.join(cells)} |" for cells in (heads, rules, *rows))
        title, *prose = map(_markdown, [one_line(self.title), *self._prose()])
        return "\n\n".join([f"**{title}**", table, *prose]) + "\n"

    def to_latex(self) -> str:
        """A float with a booktabs table, its title for the caption and the notes under it."""
        columns = [column.printed(self.frame) for column in self.columns]
        stacked = [[_stacked(cell, c.is_text) for cell in [c.head, *c.cells]] for c in columns]
        heads, *lines = [" & ".join(cells) + r" \\[2pt]" for cells in zip(*stacked, strict=True)]
        if self._rows_above_rule < len(lines):
            lines.insert(self._rows_above_rule, r"\midrule")
        label = re.sub(r"[^a-z0-9]+", "-", self.title.lower())[:40].strip("-")
        start = [
            r"\begin{table}\centering\small\setlength{\tabcolsep}{4pt}",
            rf"\caption{{{_latex(one_line(self.title))}}}\label{{tab:{label}}}",
            rf"\begin{{tabular}}{{{''.join('l' if column.is_text else 'r' for column in columns)}}}",
        ]
        table = [r"\toprule", heads, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"]
        prose = [rf"\par\smallskip {_latex(line)}" for line in self._prose()]
        return "\n".join([*start, *table, r"\par\raggedright\footnotesize", *prose, r"\end{table}", ""])

    def to_csv(self) -> str:
        """The frame. What a spreadsheet would take for a formula begins with an apostrophe."""
        frame = self.frame.map(_shown).rename(columns=_shown)
        return str(frame.map(defused).rename(columns=defused).to_csv(index=False))

    def to_json(self) -> str:
        """The frame as a list of rows; what is missing is null."""
        frame = self.frame.map(_shown).rename(columns=_shown).astype(object)
        rows = frame.where(frame.notna(), None).to_dict("records")
        return json.dumps(rows, indent=2, ensure_ascii=False, default=float) + "\n"

    def to(self, form: str, width: int | None = None, styled: bool = False) -> str:
        """The table as `table`, `markdown`, `latex`, `csv` or `json`; width and style are a terminal's."""
        writers: dict[str, Callable[[], str]] = {
            "table": lambda: self.to_text(width, styled),
            "markdown": self.to_markdown,
            "latex": self.to_latex,
            "csv": self.to_csv,
            "json": self.to_json,
        }
        if form not in writers:
            raise ClbenchError(f"{form}: no such format. There are: {', '.join(writers)}.")
        return writers[form]()

    def save(self, path: str | Path, form: str | None = None) -> None:
        """Write a format, by default the one that the ending of the file says.

        Raises:
            ClbenchError: It says none, or the file cannot be written.
        """
        form = form or ENDINGS.get(Path(path).suffix.lower())
        if form is None:
            raise ClbenchError(f"{path}: give the file a name that ends in {', '.join(ENDINGS)}.")
        write_text(path, self.to(form))

    @property
    def _rows_above_rule(self) -> int:
        published = self.frame.get("published", pd.Series(dtype=bool))
        return len(self.frame) - int(published.eq(True).sum())

    def _prose(self) -> list[str]:
        return [one_line(line) for line in (self.methods, *self.notes) if line]


# What pdflatex prints as another sign, takes for a command, or (brackets and stars after a line's end) for an option.
_LATEX = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", "[": "{[}", "]": "{]}", "*": "{*}", "±": r"$\pm$", "−": "$-$",
    "–": "--", "…": r"\dots{}", "†": r"\dag{}", **{mark: "\\" + mark for mark in "&%$#_{}"},
}  # fmt: skip
_ACCENTED = set(map(chr, range(0xC0, 0x100))) - set("ÐÞðþ")  # all others need packages


def _latex(cell: str) -> str:
    """A cell as LaTeX; a letter that pdflatex does not know by its number, such as [U+4E2D]."""
    return "".join(
        _LATEX.get(c, c if c.isascii() or c in _ACCENTED else f"{{[}}U+{ord(c):04X}{{]}}") for c in cell
    )


def _stacked(cell: str, is_text: bool) -> str:
    """A cell of one or several lines; a name is folded."""
    lines = (folded(cell, LATEX_WIDTH) if is_text else cell).split("\n")
    stacked, side = r" \\ ".join(map(_latex, lines)), "l" if is_text else "r"
    if len(lines) > 1:
        stacked = rf"\begin{{tabular}}[t]{{@{{}}{side}@{{}}}}{stacked}\end{{tabular}}"
    return stacked


def _markdown(cell: str) -> str:
    return re.sub(r"([\\`*_\[\]<>|#~]|&(?=[#\w]+;))", r"\\\1", cell.replace("\n", " "))


def _shown(value: Any) -> Any:
    return one_line(value) if isinstance(value, str) else value


def defused(value: Any) -> Any:
    """A cell of CSV, with an apostrophe before what a spreadsheet would take for a formula."""
    return f"'{value}" if isinstance(value, str) and value.lstrip().startswith(FORMULA) else value


def _width(cells: Iterable[str]) -> int:
    """The width of the longest line; a letter of some scripts is two wide."""
    return max((cell_len(line) for cell in cells for line in cell.split("\n")), default=0)
