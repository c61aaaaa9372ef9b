"""Sheets for a person to check a judge by: CSV files that go to a spreadsheet and come back."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import write_text
from inspect_clbench.output.formats import spreadsheet_safe

CONFIRM = "confirm"
YOURS = " yours"

# Excel cuts cells at 32,767 characters.
_MOST_CELL = 30_000
# Where full-width letters are typed, these start a formula too.
_WIDE_SIGNS = ("＝", "＋", "－", "＠")
_DELIMITERS = (",", ";", "\t")
_YES = {"yes", "y", "true", "1", "x", "ja", "oui"}
_NO = {"no", "n", "false", "0", "nein", "non"}


@dataclass(frozen=True)
class SheetRow:
    """A row of a sheet that came back, and that a person has checked."""

    where: str
    """The file and the row, counted as spreadsheets do: the titles are row 1."""

    cells: Mapping[str, str]
    judge: Mapping[str, bool]
    """What the judge said, by question."""

    person: Mapping[str, bool]
    """What the person says: the judge's word where the person left a blank."""


def write_sheet(path: str, columns: Sequence[str], rows: Iterable[Mapping[str, str]]) -> None:
    """Write a sheet to a new file. What a person filled in is never written over."""
    check_new(path)
    out = io.StringIO()
    writer = csv.writer(out)
    writer.writerow(columns)
    for row in rows:
        writer.writerow([to_cell(row.get(column, "")) for column in columns])
    # With the mark at its beginning Excel takes the file for UTF-8.
    write_text(path, "\ufeff" + out.getvalue())


def check_new(path: str) -> None:
    if Path(path).exists():
        raise ClbenchError(
            f"{path}: exists already, and may hold a person's work. Name another file."
        )


def to_cell(text: str) -> str:
    """Text as a cell that no spreadsheet takes for a formula; `from_cell` turns it back."""
    plain = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    if len(plain) > _MOST_CELL:
        half = _MOST_CELL // 2
        note = f"\n[… {len(plain) - 2 * half:,} characters left out; the log has them …]\n"
        plain = plain[:half] + note + plain[-half:]
    # The apostrophe marks what was made safe, so text that begins with one needs its own.
    inner = plain.lstrip()
    if plain.startswith("'") or inner[:1] in _WIDE_SIGNS or spreadsheet_safe(inner) != inner:
        return "'" + plain
    return plain


def from_cell(cell: str) -> str:
    """The text that a cell was made of."""
    return cell.removeprefix("'")


def read_sheet(
    path: str, questions: Sequence[str], corrections: Sequence[str] = ()
) -> tuple[list[SheetRow], list[SheetRow]]:
    """Read a sheet that a person has filled in: the rows with a mark of theirs, and the others.

    Args:
        path: The file, as comma, semicolon or tab separated text.
        questions: The columns in which the judge said yes or no; a person's own word
            stands in the column of the same name and ` yours`.
        corrections: Further columns that a person writes into, whatever the words.
    """
    titles, *lines = _table(path, [*questions, CONFIRM])
    numbered = [(number, line) for number, line in enumerate(lines, start=2) if any(line)]
    found: list[SheetRow] = []
    unchecked: list[SheetRow] = []
    for number, line in numbered:
        cells = dict(zip(titles, map(from_cell, line), strict=False))
        where = f"{path}, row {number}"
        row = _checked(cells, questions, corrections, where)
        if row:
            found.append(row)
        else:
            unchecked.append(SheetRow(where, cells, {}, {}))
    if not found:
        raise ClbenchError(
            f"{path}: nobody has filled it in. Write yes under `{CONFIRM}` where the judge is "
            f"right, or your own yes or no under a column that ends with `{YOURS.strip()}`."
        )
    return found, unchecked


def _checked(
    cells: Mapping[str, str], questions: Sequence[str], corrections: Sequence[str], where: str
) -> SheetRow | None:
    confirmed = _word(cells, CONFIRM, where)
    judge = {question: _word(cells, question, where) for question in questions}
    own = {question: _word(cells, question + YOURS, where) for question in questions}
    corrected = any(cells.get(column, "").strip() for column in corrections)
    if confirmed is None and not corrected and set(own.values()) == {None}:
        return None
    if None in judge.values():
        gone = next(question for question, word in judge.items() if word is None)
        raise ClbenchError(f"{where}: the judge's word under `{gone}` is gone.")
    said = {question: bool(word) for question, word in judge.items()}
    person = {q: said[q] if word is None else word for q, word in own.items()}
    if confirmed is False and not corrected and person == said:
        raise ClbenchError(
            f"{where}: `{CONFIRM}` says no, but nothing is changed. Write what is right under "
            f"a column that ends with `{YOURS.strip()}`."
        )
    return SheetRow(where, cells, said, person)


def _word(cells: Mapping[str, str], column: str, where: str) -> bool | None:
    word = cells.get(column, "").strip().casefold()
    if not word:
        return None
    if word in _YES or word in _NO:
        return word in _YES
    raise ClbenchError(f"{where}: `{cells[column]}` under `{column}`. Write yes or no.")


def _table(path: str, needed: Sequence[str]) -> list[list[str]]:
    try:
        content = Path(path).read_bytes()
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be read ({ex.strerror}).") from None
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:  # as Excel saves where it is not asked for UTF-8
        text = content.decode("cp1252", errors="replace")
    for delimiter in _DELIMITERS:
        try:
            lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
        except csv.Error:
            continue
        titles = [title.strip() for title in lines[0]] if lines else []
        if set(needed) <= set(titles):
            return [titles, *lines[1:]]
    raise ClbenchError(
        f"{path}: not a sheet of this kind. It needs the columns {', '.join(needed)}, as "
        "--sheet wrote them; save it as CSV."
    )
