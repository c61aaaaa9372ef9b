"""What a picture shows: rates row by row and group by group, best row first."""

import math
import re
from collections.abc import Container, Sequence
from dataclasses import dataclass
from itertools import chain, count
from typing import TYPE_CHECKING, Any

from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import OVERALL
from inspect_clbench.output.tables import percent_text, row_marks
from inspect_clbench.text import one_line

if TYPE_CHECKING:
    from inspect_clbench.analysis.errors import CrossTable
    from inspect_clbench.analysis.report import RateTable

_LABEL_WIDTH = 36
_LABEL_LINES = 2
_PIECE = re.compile(r"[^\s/_-]*[\s/_-]*")


@dataclass(frozen=True)
class Point:
    """One rate of one row."""

    row: str
    """The row's label, broken into lines; no other row has it."""

    name: str
    """The row's name in full."""

    group: str
    rate: Rate
    published: bool = False

    @property
    def known(self) -> bool:
        return not math.isnan(self.rate.mean)

    @property
    def end(self) -> float:
        """Where what is drawn of it ends on the right."""
        figures = self.rate.as_row()
        reach = (figures["mean"] or 0.0) + (figures["std"] or 0.0)
        return max(min(reach, 1.0), figures["high"] or 0.0)

    def datum(self) -> dict[str, Any]:
        """The point as data of a chart, with what a tooltip says."""
        figures = self.rate.as_row()
        mean, std, low, high = figures.values()
        spread: tuple[float | None, float | None] = (None, None)
        if mean is not None and std is not None:
            spread = (max(mean - std, 0.0), min(mean + std, 1.0))
        interval = "none"
        if low is not None and high is not None:
            interval = f"{100 * low:.1f} to {100 * high:.1f}"
            interval += " (of all tasks, these runs)" if self.rate.estimate else ""
        return {
            **figures,
            "row": self.row,
            "model": self.name,
            "group": self.group,
            "published": self.published,
            "estimate": self.rate.estimate,
            "rate": percent_text(self.rate),
            "number": "–" if mean is None else f"{100 * mean:.1f}",
            "interval": interval,
            "std_low": spread[0],
            "std_high": spread[1],
            "end": self.end,
        }


@dataclass(frozen=True)
class Figure:
    """The numbers of one picture."""

    rows: tuple[str, ...]
    """Labels, in the order in which they are drawn."""

    groups: tuple[str, ...]
    points: tuple[Point, ...]
    spans: tuple[tuple[str, int], ...] = ()
    """Names for so many of the groups each."""

    @property
    def most(self) -> float:
        return max((point.end for point in self.points), default=0.0) or 1.0


def rate_figure(table: "RateTable", groups: Sequence[str] | None = None) -> Figure:
    """The rates of a table, of some of its groups or of all."""
    chosen = tuple(table.groups if groups is None else groups)
    ranks: dict[str, float] = {}
    points = []
    for row in table.rows:
        name, mark = one_line(row.name), row_marks(row, table)
        label = _unused(broken(name) + mark, ranks)
        name += mark
        found = [
            Point(label, name, g, row.rates[g] or Rate(math.nan), row.published is not None)
            for g in chosen
        ]
        points += found
        ranks[label] = -1.0 if math.isnan(row.solving_rate) else row.solving_rate
    rows = tuple(sorted(ranks, key=ranks.__getitem__, reverse=True))
    return Figure(rows, chosen, tuple(points), table.spans)


def error_figure(table: "CrossTable") -> Figure:
    """Error types by groups of tasks: a row per model and type."""
    groups = tuple(name for name in table.groups if name != OVERALL)
    points = []
    for row in table.rows:
        model = one_line(row.model)
        lead = f"{broken(model, 30, 1)}\n" if len(table.rows) > 1 else ""
        for title, rates in row.rates.items():
            points += [Point(lead + title, f"{model}: {title}", g, rates[g]) for g in groups]
    spans = table.spans or ((table.divided_by.capitalize(), len(groups)),)
    return Figure(tuple(dict.fromkeys(p.row for p in points)), groups, tuple(points), spans)


def _unused(label: str, taken: Container[str]) -> str:
    numbered = (f"{label} ({number})" for number in count(2))
    return next(name for name in chain([label], numbered) if name not in taken)


def broken(text: str, width: int = _LABEL_WIDTH, most: int = _LABEL_LINES) -> str:
    """Wrap a label at spaces, slashes, hyphens and underscores, shortened if it is too long."""
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
    return "\n".join(lines)
