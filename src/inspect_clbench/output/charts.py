"""Charts, built with altair: rates in panels, heatmaps, and curves."""

import json
from collections.abc import Sequence
from typing import Any

import altair as alt

from inspect_clbench.output.figures import Figure, broken
from inspect_clbench.output.theme import INK, LINE, OWN, PALETTE, PAPER, PUBLISHED, SHAPES, SOFT

Chart = alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

_LINES = "split(datum.label, '\\n')"
_LINE_HEIGHT = 13
_CELL = 44
_PANELS_ABREAST = 4
# Between the points of neighbours, in parts of the distance between groups.
_DODGE = 0.07
# On cells of the heatmap: neither of them changes in the dark scheme, as the ink does.
_DARK_TEXT, _LIGHT_TEXT = "#010101", "#fefefe"
_LIGHT_TEXT_ABOVE = 0.74  # of the highest rate: there the contrast of both is over 4.5


def rates_chart(figure: Figure) -> alt.HConcatChart:
    """A panel for all tasks and one per category, with a line per model in each."""
    panels = [
        _rate_panel(figure, group, width=145 if index else 250, first=not index)
        for index, group in enumerate(figure.groups)
    ]
    return alt.hconcat(*panels, spacing=16, bounds="flush")


def _rate_panel(figure: Figure, group: str, *, width: int, first: bool) -> Chart:
    data = [point.datum() for point in figure.points if point.group == group and point.known]
    scale = alt.Scale(domain=[False, True], range=[OWN, PUBLISHED])
    base = alt.Chart(alt.InlineData(values=data)).encode(
        y=_row_axis(figure.rows, labels=first, grid=True),
        color=alt.Color("published:N", scale=scale, legend=None),
        tooltip=_tooltip(),
    )
    # The numbers stand to the right of what they belong to and need room.
    x = alt.X(scale=alt.Scale(domain=[0, 1.38 * figure.most], nice=False))
    axis = _percent_axis(ticks(figure.most, 5 if first else 2))
    std = base.mark_rule(strokeWidth=10, opacity=0.4).encode(
        x=x.copy().field("std_low").type("quantitative").axis(axis), x2="std_high:Q"
    )
    interval = base.mark_rule(strokeWidth=1.5).encode(
        x="low:Q", x2="high:Q", strokeDash=_dashed()
    )
    mean = base.mark_tick(thickness=3, size=17, opacity=1).encode(x="mean:Q")
    text = "rate:N" if first else "number:N"
    number = base.mark_text(align="left", dx=8).encode(x="end:Q", text=text)
    halo = number.mark_text(align="left", dx=8, stroke=PAPER, strokeWidth=5)
    layers = (std, interval, mean, halo, number.encode(color=alt.value(INK)))
    height = _row_height(figure.rows) * len(figure.rows)
    return alt.layer(*layers, width=width, height=height, title=_heading(group, width))


def heatmap(figure: Figure) -> alt.HConcatChart:
    """Models by groups of tasks, the groups under the names of their spans."""
    blocks, start = [], 0
    for name, size in figure.spans:
        groups = figure.groups[start : start + size]
        blocks.append(_heat_block(figure, name, groups, first=start == 0))
        start += size
    return alt.hconcat(*blocks, spacing=8, bounds="flush")


def _heat_block(figure: Figure, name: str, groups: Sequence[str], *, first: bool) -> Chart:
    most = max((point.rate.mean for point in figure.points if point.known), default=0.0) or 1.0
    shown = {group: broken(group, 24) for group in groups}
    data = [
        {**point.datum(), "column": shown[point.group]}
        for point in figure.points
        if point.group in shown
    ]
    base = alt.Chart(alt.InlineData(values=data)).encode(
        x=alt.X("column:N", sort=None, scale=alt.Scale(domain=list(shown.values())))
        .title(None)
        .axis(
            labelAngle=-50, labelExpr=_LINES, labelLimit=0, labelLineHeight=_LINE_HEIGHT,
            domain=False, ticks=False,
        ),
        y=_row_axis(figure.rows, labels=first, grid=False),
        tooltip=_tooltip(interval=False),
    )  # fmt: skip
    scale = alt.Scale(scheme="blues", domain=[0, most])
    known = alt.datum.mean != None  # noqa: E711  # an expression of Vega, not of Python
    colour = alt.when(known).then(alt.Color("mean:Q", scale=scale, legend=None))
    ink = alt.when(alt.datum.mean > _LIGHT_TEXT_ABOVE * most).then(alt.value(_LIGHT_TEXT))
    ink = ink.when(known).then(alt.value(_DARK_TEXT))
    cells = base.mark_rect().encode(color=colour.otherwise(alt.value(PAPER)))
    numbers = base.mark_text().encode(
        text="number:N", color=ink.otherwise(alt.value(PUBLISHED))
    )
    width = _CELL * len(groups)
    height = _row_height(figure.rows) * len(figure.rows)
    return alt.layer(cells, numbers, width=width, height=height, title=_heading(name, width))


def curves(figure: Figure, x_title: str) -> Chart:
    """A curve per model: in one panel if they are few, else each in one of its own."""
    few = len(figure.rows) <= len(PALETTE)
    return _one_panel(figure, x_title) if few else _own_panels(figure, x_title)


def _one_panel(figure: Figure, x_title: str) -> Chart:
    rows = list(figure.rows)
    legend = alt.Legend(
        title=None, labelExpr=_LINES, labelLimit=0, symbolSize=80, labelFontSize=12,
        labelColor=INK, labelOffset=8, rowPadding=_LINE_HEIGHT + 4,
    )  # fmt: skip
    colour = alt.Scale(domain=rows, range=list(PALETTE[: len(rows)]))
    shape = alt.Scale(domain=rows, range=list(SHAPES[: len(rows)]))
    data = alt.InlineData(values=_curve_data(figure, dodge=_DODGE))
    base = alt.Chart(data).encode(color=alt.Color("row:N", scale=colour, legend=legend))
    line, interval, point = _curve_layers(base, figure, x_title, size=45)
    point = point.encode(shape=alt.Shape("row:N", scale=shape, legend=legend))
    return alt.layer(line, interval, point, width=560, height=320)


def _own_panels(figure: Figure, x_title: str) -> Chart:
    data = alt.InlineData(values=_curve_data(figure))  # once in the file, for all panels
    names = {point.row: point.name for point in figure.points}
    published = {point.row for point in figure.points if point.published}
    panels = []
    for index, row in enumerate(figure.rows):
        title = x_title if index + _PANELS_ABREAST >= len(figure.rows) else ""
        own = alt.Chart(data).transform_filter(alt.FieldEqualPredicate(index, "place"))
        base = own.encode(color=alt.value(PUBLISHED if row in published else OWN))
        layers = _curve_layers(base, figure, title, size=20)
        others = (
            layers[0]
            .mark_line(strokeWidth=1, opacity=0.25)
            .encode(detail="place:N", color=alt.value(SOFT))
        )
        others.transform = alt.Undefined
        panel = alt.layer(
            others, *layers, width=220, height=140, title=_heading(names[row], 220)
        )
        panels.append(panel)
    abreast = [panels[i : i + _PANELS_ABREAST] for i in range(0, len(panels), _PANELS_ABREAST)]
    lines = (alt.hconcat(*some, spacing=46, bounds="flush") for some in abreast)
    return alt.vconcat(*lines, spacing=20)


def _curve_layers(
    base: alt.Chart, figure: Figure, x_title: str, *, size: int
) -> list[alt.Chart]:
    last = len(figure.groups) - 1
    marks = ticks(figure.most, 4 if size < 30 else 6)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.3, last + 0.3], nice=False, zero=False),
        axis=alt.Axis(
            values=list(range(last + 1)),
            labelExpr=f"{json.dumps(figure.groups)}[datum.value]",
            labelOverlap=True, title=x_title or None, grid=False,
        ),
    )  # fmt: skip
    y = alt.Y("mean:Q", axis=_percent_axis(marks), scale=alt.Scale(domain=[0, max(marks)]))
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y)
    interval = base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(
        x=x, y="low:Q", y2="high:Q", strokeDash=_dashed()
    )
    point = base.mark_point(filled=True, size=size, opacity=1).encode(
        x=x, y=y, tooltip=_tooltip()
    )
    return [line, interval, point]


def _curve_data(figure: Figure, dodge: float = 0.0) -> list[dict[str, Any]]:
    middle = (len(figure.rows) - 1) / 2
    data = []
    for point in figure.points:
        place = figure.rows.index(point.row)
        x = figure.groups.index(point.group) + dodge * (place - middle)
        data.append({**point.datum(), "place": place, "x": x})
    return sorted(data, key=lambda datum: datum["place"])


def ticks(most: float, count: int) -> list[float]:
    """Round percentages up to the highest value, at most so many beside zero."""
    for step in (1, 2, 5, 10, 20, 25, 50):
        if 100 * most <= step * (count + 1):
            break
    return [value / 100 for value in range(0, min(int(100 * most) + step, 100) + 1, step)]


def _row_height(rows: Sequence[str]) -> int:
    lines = max((row.count("\n") + 1 for row in rows), default=1)
    return max(26, _LINE_HEIGHT * lines + 8)


def _dashed() -> alt.StrokeDash:
    """Intervals of a draw are of another kind than those of full runs."""
    scale = alt.Scale(domain=[False, True], range=[[1, 0], [4, 3]])
    return alt.StrokeDash("estimate:N", scale=scale, legend=None)


def _tooltip(*, interval: bool = True) -> list[alt.Tooltip]:
    fields = {"model": "Model", "group": "Tasks", "rate": "Rate in %"}
    if interval:
        fields["interval"] = "95 % interval"
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in fields.items()]


def _heading(text: str, width: int) -> alt.Title:
    lines = broken(text, max(width // 7, 12), 3).split("\n")
    return alt.Title(
        lines, fontSize=12, fontWeight="bold", anchor="start", frame="group", offset=8
    )


def _percent_axis(values: list[float]) -> alt.Axis:
    # Without the count Vega thins out the values that it is given.
    return alt.Axis(
        format=".0%", values=values, tickCount=len(values), title=None, labelOverlap=False,
        labelFlush=False,
    )  # fmt: skip


def _row_axis(rows: Sequence[str], *, labels: bool, grid: bool) -> alt.Y:
    # Vega centres the first line of a label on its row, not the label.
    offset = alt.ExprRef(f"-{_LINE_HEIGHT / 2} * (length({_LINES}) - 1)")
    axis = alt.Axis(
        labels=labels, labelExpr=_LINES, labelLimit=0, labelLineHeight=_LINE_HEIGHT,
        labelOffset=offset, labelPadding=8, labelColor=INK, labelFontSize=12,
        domain=False, ticks=False, grid=grid, gridColor=LINE,
    )  # fmt: skip
    return alt.Y("row:N", sort=None, scale=alt.Scale(domain=list(rows)), axis=axis, title=None)
