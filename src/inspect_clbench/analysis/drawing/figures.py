"""What a picture shows: the cells of the report's tables, row by row and group by group."""

import math
import re
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from inspect_clbench.analysis.reading.groups import TokenRule, grouping
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reading.thresholds import THRESHOLDS, threshold_notes
from inspect_clbench.analysis.reporting.labels import labels
from inspect_clbench.analysis.reporting.report import group_table, main_table, threshold_table
from inspect_clbench.analysis.tables import Cell, Table
from inspect_clbench.analysis.text import one_line
from inspect_clbench.metrics import mean_rate, run_rates

Kind = Literal["rates", "sub_category", "length", "thresholds"]
KINDS: tuple[Kind, ...] = get_args(Kind)

_WHOLE = ("Overall", "100 %")
_MARKS = (" *", " †", " ‡")
_LABEL_WIDTH = 36
_LABEL_LINES = 2
_PIECE = re.compile(r"[^\s/_-]*[\s/_-]*")


@dataclass(frozen=True)
class Point:
    """One rate of one row, as a fraction, with all that is known about its error."""

    row: str
    """The row's label, broken into lines; no other row has it."""

    model: str
    """The row's name in full."""

    group: str
    mean: float | None
    std: float | None
    low: float | None
    high: float | None
    text: str
    published: bool

    @property
    def end(self) -> float:
        """Where what is drawn of it ends on the right."""
        mean = self.mean or 0.0
        return max(min(mean + (self.std or 0.0), 1.0), self.high or 0.0)


@dataclass(frozen=True)
class Figures:
    """The numbers of one picture, and what must be said with them."""

    title: str
    rows: tuple[str, ...]
    """Labels, in the order in which they are drawn."""

    groups: tuple[str, ...]
    points: tuple[Point, ...]
    warnings: tuple[str, ...]
    """What a reader must know beside the numbers, as the table has it."""

    judge: str
    """By whom the answers were judged, and with which prompt."""

    sources: tuple[str, ...] = ()
    """Where published rows come from."""

    spans: tuple[tuple[str, int], ...] = ()
    """Names for so many of the groups each."""

    note: str = ""
    """How the groups were made or counted, where that is not plain."""

    @property
    def empty(self) -> bool:
        return all(point.mean is None for point in self.points)


def figures(
    series: Sequence[Series],
    kind: Kind,
    *,
    published: bool = False,
    tokens: TokenRule | None = None,
) -> Figures:
    """The numbers of a picture, which are those of the report's table.

    Args:
        series: The series.
        kind: Which picture.
        published: Add the published rows, where there are any.
        tokens: How prompt tokens are estimated, for `length`.
    """
    benchmark = series[0].taxonomy
    match kind:
        case "rates":
            table = main_table(series, published=published, ci=True)
            return _figures(series, table, ("Overall", *benchmark.categories), "solving rate")
        case "thresholds":
            table = threshold_table(series, published=published, ci=True)
            names = tuple(f"{threshold} %" for threshold in THRESHOLDS)
            found = _figures(series, table, names, "pass rate by share of rubrics met")
            return replace(found, note=" ".join(threshold_notes(series)))
        case _:
            groups = grouping(kind, benchmark, tokens)
            ci = kind == "length"  # the heatmap has no room for intervals
            table = group_table(series, kind, tokens=tokens, published=published, ci=ci)
            found = _figures(series, table, groups.names, f"solving rate by {groups.title}")
            return replace(found, spans=groups.spans, note=groups.note)


def _figures(
    series: Sequence[Series], table: Table, groups: tuple[str, ...], title: str
) -> Figures:
    names = _names(series, table)
    rows = _short_labels(names)
    places = [table.columns.index(group) for group in groups]
    points = tuple(
        _point(label, name, group, row[place], bool(details["published"]))
        for label, name, row, details in zip(
            rows, names, table.rows, table.details, strict=True
        )
        for group, place in zip(groups, places, strict=True)
    )
    # What the table's notes begin with says what they are.
    notes = [one_line(note) for note in table.notes]
    return Figures(
        title=f"{series[0].benchmark}: {title}",
        rows=_best_first(rows, series, points),
        groups=groups,
        points=points,
        warnings=tuple(note for note in notes if note.startswith(("* ", "! "))),
        judge=next((note for note in notes if note.startswith("Judge: ")), ""),
        sources=tuple(note for note in notes if note.startswith(("† ", "‡ "))),
    )


def _names(series: Sequence[Series], table: Table) -> list[str]:
    own = [
        label + (" *" if one.gaps else "")
        for one, label in zip(series, labels(series), strict=True)
    ]
    return [one_line(name) for name in [*own, *(row[0].text for row in table.rows[len(own) :])]]


def _point(label: str, name: str, group: str, cell: Cell, published: bool) -> Point:
    value: dict[str, Any] = cell.value if isinstance(cell.value, dict) else {}
    return Point(
        row=label,
        model=name,
        group=group,
        mean=value.get("mean"),
        std=value.get("std"),
        low=value.get("low"),
        high=value.get("high"),
        text=_text(cell.text),
        published=published,
    )


def _text(text: str) -> str:
    return one_line(text.split("\n[")[0])


def _best_first(
    rows: Sequence[str], own: Sequence[Series], points: Sequence[Point]
) -> tuple[str, ...]:
    """By the solving rate; published rows that do not say it, by the mean of what they say."""
    known = {row: mean_rate(run_rates(one.rows())) for row, one in zip(rows, own, strict=False)}
    said: dict[str, list[float]] = {}
    for point in points:
        if point.mean is None:
            continue
        if point.group in _WHOLE:
            known.setdefault(point.row, point.mean)
        said.setdefault(point.row, []).append(point.mean)

    def rank(row: str) -> float:
        rate = known[row] if row in known else statistics.fmean(said.get(row, [-1.0]))
        return -1.0 if math.isnan(rate) else rate

    return tuple(sorted(rows, key=rank, reverse=True))


def _short_labels(names: Sequence[str]) -> list[str]:
    taken: set[str] = set()
    short = []
    for name in names:
        label = unique = broken(name)
        number = 2
        while unique in taken:
            unique = f"{label} ({number})"
            number += 1
        taken.add(unique)
        short.append(unique)
    return short


def broken(text: str, width: int = _LABEL_WIDTH, most: int = _LABEL_LINES) -> str:
    """Text on a few lines, broken where its parts meet, cut in its midst if too long."""
    # The mark of a row stays on the line of the word that it belongs to.
    text, mark = (text[:-2], text[-2:]) if text[-2:] in _MARKS else (text, "")
    lines = [""]
    for piece in _PIECE.findall(text):
        if lines[-1] and len(lines[-1] + piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
        while len(lines[-1].rstrip()) > width:
            lines[-1:] = [lines[-1][:width], lines[-1][width:]]
    lines = [line.strip() for line in lines if line.strip()]
    if len(lines) > most:  # what tells names apart often stands at their end
        lines = [*lines[: most - 1], "…" + text[1 - width :].strip()]
    return "\n".join(lines) + mark
