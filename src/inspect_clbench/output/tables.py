"""A table: titled columns, rows of cells, and notes; and how numbers become cells."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from inspect_clbench.analysis.statistics import Figure, Rate

if TYPE_CHECKING:
    from inspect_clbench.analysis.report import RateRow, RateTable

Tone = Literal["", "headline", "published"]


@dataclass(frozen=True)
class Cell:
    """What a person reads, and the value behind it."""

    text: str
    value: Any = ...
    """For JSON and CSV: the text itself when not given. A mapping becomes a column of
    the CSV for each of its keys."""

    tone: Tone = ""
    """What a terminal shows in bold (the headline) or dimmed (published elsewhere)."""

    best: bool = False
    """Whether it is the best of its column, which LaTeX prints in bold."""

    narrow: str = ""
    """The text on more and shorter lines, for a terminal that has no room."""

    @property
    def plain(self) -> Any:
        return self.text if self.value is ... else self.value


NOTHING = Cell("–", None)
PUBLISHED_MARKS = ("†", "‡")
"""After the names of published rows, in the order of their tables."""

NoteKind = Literal["incomplete", "warning", "unlike", "estimate", "source", "info"]
"""`unlike`: what makes rows of ours unlike the published ones beside them."""

_NOTE_MARKS: dict[NoteKind, str] = {
    "incomplete": "* ", "warning": "! ", "unlike": "! ", "estimate": "~ "
}  # fmt: skip


@dataclass(frozen=True)
class Note:
    """A sentence below a table, and what kind of sentence it is."""

    kind: NoteKind
    text: str
    cure: str = ""
    """What to do about it, for those who have the logs: not in papers and pages."""

    @property
    def is_warning(self) -> bool:
        return self.kind in ("incomplete", "warning", "unlike")

    def __str__(self) -> str:
        return _NOTE_MARKS.get(self.kind, "") + self.text

    @property
    def with_cure(self) -> str:
        return f"{self} {self.cure}".rstrip()


@dataclass(frozen=True)
class Table:
    """Titled columns, rows of cells, and notes below."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    notes: tuple[Note, ...] = ()
    left: int = 1
    """How many columns from the left hold text; the others are numbers."""

    short: Mapping[str, str] = field(default_factory=dict)
    """Shorter heads of columns, for a terminal that has no room; a legend explains them."""

    counts: int = 0
    """How many columns at the right end are counts, which such a terminal has in a note."""

    groups: tuple[tuple[str, int], ...] = ()
    """Names for so many of the number columns each, where a table is too wide for a
    page: formats for people print one table per group, the others one for all."""

    details: tuple[dict[str, Any], ...] = ()
    """What JSON and CSV add to each row, beside what people read."""

    data_title: str = ""
    """The title for JSON, where rates are fractions and not in %; `title` when not given."""

    name: str = ""
    """What a CSV file of its own is named by, where a result has several tables."""


def table(
    title: str,
    rows: Iterable[Mapping[str, Any]],
    notes: Iterable[Note | str] = (),
    *,
    columns: Sequence[str] = (),
    **fields: Any,
) -> Table:
    """A table from plain values: text, whole numbers, rates, None, or cells.

    Args:
        title: The table's title.
        rows: Values by the title of their column.
        notes: Notes; a text is one that only informs.
        columns: The columns of a table that may have no rows.
        fields: Further fields of the table.
    """
    listed = list(rows)
    return Table(
        title,
        tuple(columns or (listed[0] if listed else ())),
        tuple(tuple(cell(value) for value in row.values()) for row in listed),
        tuple(note if isinstance(note, Note) else Note("info", note) for note in notes),
        **fields,
    )


def cell(value: Any) -> Cell:
    match value:
        case Cell():
            return value
        case None:
            return NOTHING
        case int():
            return Cell(f"{value:,}", value)
        case Rate():
            return percent(value)
    return Cell(str(value))


def share(value: float | None) -> Cell:
    """A share in percent, without its error."""
    if value is None or math.isnan(value):
        return NOTHING
    return Cell(f"{100 * value:.1f}", value)


def percent_text(rate: Rate | None) -> str:
    """A rate in percent with its std, as the paper prints it: `23.7 ± 0.5`."""
    if rate is None or math.isnan(rate.mean):
        return "–"
    std = "" if math.isnan(rate.std) else f" ± {100 * rate.std:.1f}"
    return f"{100 * rate.mean:.1f}{std}"


def percent(rate: Rate | None, tone: Tone = "") -> Cell:
    """A rate in percent with its std, and on a line of its own its interval."""
    if rate is None or math.isnan(rate.mean):
        return NOTHING
    text, figures = percent_text(rate), rate.as_row()
    low, high = figures.pop("low"), figures.pop("high")
    if rate.interval is not None:
        # The two kinds of interval are not about the same thing, nor in one column of a CSV.
        mark, lead = ("~", "draw_") if rate.estimate else ("", "")
        figures |= {f"{lead}low": low, f"{lead}high": high}
        if low is not None and high is not None:
            text += f"\n{mark}[{100 * low:.1f}, {100 * high:.1f}]"
    return Cell(text, figures, tone, narrow=text.replace(" ± ", "\n± "))


def figure_share(figure: Figure) -> Cell:
    """A figure in percent, and on a line of its own its interval."""
    return _figure_cell(figure, lambda value: f"{100 * value:.1f}")


def figure_number(figure: Figure) -> Cell:
    return _figure_cell(figure, lambda value: f"{value:.3f}")


def figure_signed(figure: Figure) -> Cell:
    return _figure_cell(figure, lambda value: f"{100 * value:+.1f}")


def _figure_cell(figure: Figure, words: Callable[[float], str]) -> Cell:
    if figure.value is None:
        return NOTHING
    text = words(figure.value)
    if figure.low is not None and figure.high is not None:
        text += f"\n[{words(figure.low)}, {words(figure.high)}]"
    return Cell(text, figure._asdict())


def row_marks(row: "RateRow", numbers: "RateTable") -> str:
    """What follows the name of a row and refers to the notes."""
    if row.published:
        return f" {PUBLISHED_MARKS[numbers.published.index(row.published)]}"
    return (" *" if row.incomplete else "") + (" ~" if row.is_estimate else "")


def initials(names: Iterable[str]) -> dict[str, str]:
    """Short heads for names of several words, unless two of them would be the same."""
    made = {name: "".join(word[0] for word in name.split() if word.isalpha()) for name in names}
    found = Counter(made.values())
    return {
        name: head
        for name, head in made.items()
        if len(head) > 1 and head.isupper() and found[head] == 1
    }
