"""Pictures of tables: rates in panels, and the heatmap. Built with altair."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from inspect_clbench.analysis.drawing.figures import Figures, Point, broken
from inspect_clbench.analysis.drawing.theme import (
    INK,
    LINE,
    NO_DATA,
    OWN,
    PAPER,
    PUBLISHED,
    heat,
)

if TYPE_CHECKING:
    import altair as alt

LINES = "split(datum.label, '\\n')"
LINE_HEIGHT = 13
_CELL = 44


def rates_chart(figures: Figures) -> "alt.HConcatChart":
    """A panel for all tasks and one per category, with a line per model in each."""
    import altair as alt

    panels = [
        _rate_panel(figures, group, width=145 if index else 250, first=not index)
        for index, group in enumerate(figures.groups)
    ]
    return alt.hconcat(*panels, spacing=16, bounds="flush")


def _rate_panel(
    figures: Figures, group: str, *, width: int, first: bool
) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    points = [p for p in figures.points if p.group == group and p.mean is not None]
    base = alt.Chart(inline([_rate_datum(point, first) for point in points])).encode(
        y=alt.Y("row:N", sort=None, scale=alt.Scale(domain=list(figures.rows)))
        .title(None)
        .axis(_row_axis(labels=first, grid=True)),
        color=_own_or_published(),
        tooltip=tooltip(),
    )
    most = max((point.end for point in figures.points), default=0.0) or 1.0
    # The numbers stand to the right of what they belong to and need room.
    x = alt.X(scale=alt.Scale(domain=[0, 1.38 * most], nice=False))
    axis = percent_axis(ticks(most, 5 if first else 2))
    std = base.mark_rule(strokeWidth=10, opacity=0.4).encode(
        x=x.copy().field("std_low").type("quantitative").axis(axis), x2="std_high:Q"
    )
    interval = base.mark_rule(strokeWidth=1.5).encode(x="low:Q", x2="high:Q")
    mean = base.mark_tick(thickness=3, size=17, opacity=1).encode(x="mean:Q")
    number = base.mark_text(align="left", dx=8).encode(x="end:Q", text="text:N")
    halo = number.mark_text(align="left", dx=8, stroke=PAPER, strokeWidth=5)
    layers = (std, interval, mean, halo, number.encode(color=alt.value(INK)))
    return alt.layer(
        *layers,
        width=width,
        height=row_height(figures.rows) * len(figures.rows),
        title=heading(group, width),
    )


def _rate_datum(point: Point, first: bool) -> dict[str, Any]:
    mean, std = point.mean or 0.0, point.std
    return {
        **datum(point),
        "std_low": None if std is None else max(mean - std, 0.0),
        "std_high": None if std is None else min(mean + std, 1.0),
        "end": point.end,
        "text": point.text if first else point.text.split(" ±")[0],
    }


def heatmap(figures: Figures) -> "alt.HConcatChart":
    """Models by groups of tasks, the groups under the names of their spans."""
    import altair as alt

    blocks, start = [], 0
    for name, size in figures.spans:
        chosen = figures.groups[start : start + size]
        blocks.append(_heat_block(figures, name, chosen, first=start == 0))
        start += size
    return alt.hconcat(*blocks, spacing=8, bounds="flush")


def _heat_block(
    figures: Figures, name: str, groups: Sequence[str], *, first: bool
) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    most = max((point.mean or 0.0 for point in figures.points), default=0.0) or 1.0
    shown = {group: broken(group, 24) for group in groups}
    data = [
        {**_heat_datum(point, most), "column": shown[point.group]}
        for point in figures.points
        if point.group in shown
    ]
    base = alt.Chart(inline(data)).encode(
        x=alt.X("column:N", sort=None, scale=alt.Scale(domain=list(shown.values())))
        .title(None)
        .axis(
            labelAngle=-50, labelExpr=LINES, labelLimit=0, labelLineHeight=LINE_HEIGHT,
            domain=False, ticks=False,
        ),
        y=alt.Y("row:N", sort=None, scale=alt.Scale(domain=list(figures.rows)))
        .title(None)
        .axis(_row_axis(labels=first, grid=False)),
        tooltip=tooltip(interval=False),
    )  # fmt: skip
    cells = base.mark_rect().encode(color=alt.Color("fill:N", scale=None))
    numbers = base.mark_text().encode(text="text:N", color=alt.Color("ink:N", scale=None))
    width = _CELL * len(groups)
    return alt.layer(
        cells,
        numbers,
        width=width,
        height=row_height(figures.rows) * len(figures.rows),
        title=heading(name, width),
    )


def _heat_datum(point: Point, most: float) -> dict[str, Any]:
    fill, ink = ("none", NO_DATA) if point.mean is None else heat(point.mean / most)
    return {**datum(point), "text": point.text.split(" ±")[0], "fill": fill, "ink": ink}


def row_height(rows: Sequence[str]) -> int:
    """The height of a row that holds the tallest label."""
    lines = max((row.count("\n") + 1 for row in rows), default=1)
    return max(26, LINE_HEIGHT * lines + 8)


def datum(point: Point) -> dict[str, Any]:
    """A point as data of a chart, with what a tooltip says."""
    low, high = point.low, point.high
    interval = "none" if low is None or high is None else f"{100 * low:.1f} to {100 * high:.1f}"
    return {
        "row": point.row,
        "model": point.model,
        "group": point.group,
        "mean": point.mean,
        "std": point.std,
        "low": low,
        "high": high,
        "published": point.published,
        "rate": point.text,
        "interval": interval,
    }


def inline(values: list[dict[str, Any]]) -> "alt.InlineData":
    """Data that stands in the chart itself."""
    import altair as alt

    return alt.InlineData(values=values)


def tooltip(*, interval: bool = True) -> list["alt.Tooltip"]:
    """What a page shows of the point under the pointer."""
    import altair as alt

    fields = {"model": "Model", "group": "Tasks", "rate": "Rate in %"}
    if interval:
        fields["interval"] = "95 % interval"
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in fields.items()]


def heading(text: str, width: int) -> "alt.Title":
    """The heading of a panel, broken so that it is not wider."""
    import altair as alt

    lines = broken(text, max(width // 7, 12), 3).split("\n")
    return alt.Title(
        lines, fontSize=12, fontWeight="bold", anchor="start", frame="group", offset=8
    )


def ticks(most: float, count: int) -> list[float]:
    """Round percentages up to the highest value, at most so many beside zero."""
    for step in (1, 2, 5, 10, 20, 25, 50):
        if 100 * most <= step * (count + 1):
            break
    return [value / 100 for value in range(0, min(int(100 * most) + step, 100) + 1, step)]


def percent_axis(values: list[float]) -> "alt.Axis":
    """An axis of rates with ticks where they are wanted."""
    import altair as alt

    # Without the count Vega thins out the values that it is given.
    return alt.Axis(
        format=".0%",
        values=values,
        tickCount=len(values),
        title=None,
        labelOverlap=False,
        labelFlush=False,
    )


def _own_or_published() -> "alt.Color":
    import altair as alt

    scale = alt.Scale(domain=[False, True], range=[OWN, PUBLISHED])
    return alt.Color("published:N", scale=scale, legend=None)


def _row_axis(*, labels: bool, grid: bool) -> "alt.Axis":
    import altair as alt

    # Vega centres the first line of a label on its row, not the label.
    offset = alt.ExprRef(f"-{LINE_HEIGHT / 2} * (length({LINES}) - 1)")
    return alt.Axis(
        labels=labels, labelExpr=LINES, labelLimit=0, labelLineHeight=LINE_HEIGHT,
        labelOffset=offset, labelPadding=8, labelColor=INK, labelFontSize=12,
        domain=False, ticks=False, grid=grid, gridColor=LINE,
    )  # fmt: skip
