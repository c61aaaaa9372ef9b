"""Series and published figures as rows under the same columns."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reporting.labels import notes, telling_columns
from inspect_clbench.analysis.reporting.published import Published, PublishedRow
from inspect_clbench.analysis.tables import Cell, Table, percent
from inspect_clbench.metrics import (
    Row,
    clustered_stderr,
    mean_rate,
    run_rates,
    std_over_runs,
)

LEVEL = 0.95
_QUANTILE = NormalDist().inv_cdf((1 + LEVEL) / 2)
# Below so many contexts the normal quantile makes intervals that are too narrow.
_FEW_CONTEXTS = 30
_NO_ERROR = 1e-9
_MARKS = ("†", "‡")
_NOTHING = Cell("–", None)


@dataclass(frozen=True)
class Column:
    """A column of figures: its title, and a series' cell in it."""

    title: str
    cell: Callable[[Series], Cell]


def rate_cell(rows: Sequence[Row], ci: bool = False) -> Cell:
    """Mean ± std of the runs' rates, and the 95 % interval where it is asked for."""
    rates = run_rates(rows)
    mean = mean_rate(rates)
    if not ci:
        return percent(mean, std_over_runs(rates))
    margin = _QUANTILE * clustered_stderr(rows)
    interval = (max(mean - margin, 0.0), min(mean + margin, 1.0))
    # One context alone has no error, and contexts that all came out alike hide theirs.
    if math.isnan(margin) or margin < _NO_ERROR:
        interval = (math.nan, math.nan)
    return percent(mean, std_over_runs(rates), interval)


def interval_notes(series: Sequence[Series]) -> list[str]:
    """How the intervals were made, and whether they can be believed."""
    lines = [
        "In brackets: 95 % interval of the mean, from the standard error clustered on contexts "
        f"(normal quantile {_QUANTILE:.2f}); it covers the choice of tasks, the std only the "
        "differences between runs. None where contexts came out too much alike to tell."
    ]
    fewest = min(len({record.context_id for record in one.scored}) for one in series)
    if fewest < _FEW_CONTEXTS:
        lines.append(
            f"! With {fewest} contexts the intervals are too narrow; {_FEW_CONTEXTS} or more "
            "would do."
        )
    return lines


def lay_out(
    title: str,
    series: Sequence[Series],
    columns: Sequence[Column],
    *,
    sources: Sequence[Published] = (),
    remarks: Sequence[str] = (),
    groups: tuple[tuple[str, int], ...] = (),
) -> Table:
    """A table with a row per series and a row per model of published tables.

    Args:
        title: The table's title.
        series: The series.
        columns: The columns of figures; published figures go under the same titles.
        sources: Published tables whose rows are added, marked.
        remarks: Notes of this table, beside those of the series.
        groups: Names for so many columns each.
    """
    telling = telling_columns(series)
    rows, details = [], []
    for index, one in enumerate(series):
        marks = (" *" if one.gaps else "") + (" ~" if one.draw else "")
        name = Cell(one.model + marks, one.model)
        told = [Cell(values[index]) for _, values in telling]
        rows.append((name, *told, *(column.cell(one) for column in columns)))
        details.append(_details(incomplete=list(one.gaps)))
    lines = []
    for mark, source in zip(_MARKS, sources, strict=False):
        for row in source.rows:
            name = Cell(f"{row.model} {mark}", row.model)
            figures = [_published_cell(column.title, row, source) for column in columns]
            rows.append((name, *(_NOTHING for _ in telling), *figures))
            details.append(_details(published=True, source=source.source))
        lines.append(f"{mark} Published, not run here: {source.source}.")
        lines += [f"{row.model}: {row.note}." for row in source.rows if row.note]
    if sources and any(one.is_demo for one in series):
        lines.append(
            "! The demo's tasks are not the benchmark's: its rates say nothing beside these."
        )
    return Table(
        title=f"{series[0].benchmark}: {title}",
        columns=("Model", *(name for name, _ in telling), *(c.title for c in columns)),
        rows=tuple(rows),
        notes=(*notes(series), *remarks, *lines),
        left=1 + len(telling),
        groups=groups,
        details=tuple(details),
    )


def _published_cell(column: str, row: PublishedRow, source: Published) -> Cell:
    if column == "Runs" and source.runs:
        return Cell(str(source.runs), source.runs)
    rate = row.rates.get(column)
    return percent(rate.mean, rate.std) if rate else _NOTHING


def _details(
    *, incomplete: Sequence[str] = (), published: bool = False, source: str = ""
) -> dict[str, Any]:
    return {"incomplete": list(incomplete), "published": published, "source": source}
