"""Pictures of curves: rates by prompt length and by threshold. Built with altair."""

import json
from typing import TYPE_CHECKING, Any

from inspect_clbench.analysis.drawing.charts import (
    LINE_HEIGHT,
    LINES,
    datum,
    heading,
    inline,
    percent_axis,
    ticks,
    tooltip,
)
from inspect_clbench.analysis.drawing.figures import Figures
from inspect_clbench.analysis.drawing.theme import INK, OWN, PALETTE, PUBLISHED, SHAPES, SOFT

if TYPE_CHECKING:
    import altair as alt

    Curves = alt.LayerChart | alt.FacetChart | alt.VConcatChart

_ABREAST = 4
# Between the points of neighbours, in parts of the distance between groups.
_DODGE = 0.07


def curves(figures: Figures, x_title: str) -> "Curves":
    """A curve per model: in one panel if they are few, else each in one of its own.

    Args:
        figures: The numbers.
        x_title: What stands below the groups.
    """
    if len(figures.rows) <= len(PALETTE):
        return _one_panel(figures, x_title)
    return _own_panels(figures, x_title)


def _one_panel(figures: Figures, x_title: str) -> "alt.LayerChart | alt.FacetChart":
    import altair as alt

    rows = list(figures.rows)
    legend = alt.Legend(
        title=None, labelExpr=LINES, labelLimit=0, symbolSize=80, labelFontSize=12,
        labelColor=INK, labelOffset=8, rowPadding=LINE_HEIGHT + 4,
    )  # fmt: skip
    colour = alt.Scale(domain=rows, range=list(PALETTE[: len(rows)]))
    shape = alt.Scale(domain=rows, range=list(SHAPES[: len(rows)]))
    base = alt.Chart(inline(_data(figures, dodge=_DODGE))).encode(
        color=alt.Color("row:N", scale=colour, legend=legend)
    )
    line, interval, point = _curve_layers(base, figures, x_title, size=45)
    point = point.encode(shape=alt.Shape("row:N", scale=shape, legend=legend))
    return alt.layer(line, interval, point, width=560, height=320)


def _own_panels(figures: Figures, x_title: str) -> "alt.VConcatChart":
    import altair as alt

    data = inline(_data(figures))  # one for all panels, so that the file holds it once
    names = {point.row: point.model for point in figures.points}
    published = {point.row for point in figures.points if point.published}
    panels = []
    for index, row in enumerate(figures.rows):
        title = x_title if index + _ABREAST >= len(figures.rows) else ""
        own = alt.Chart(data).transform_filter(alt.FieldEqualPredicate(index, "place"))
        base = own.encode(color=alt.value(PUBLISHED if row in published else OWN))
        layers = _curve_layers(base, figures, title, size=20)
        others = (
            layers[0]
            .mark_line(strokeWidth=1, opacity=0.25)
            .encode(detail="place:N", color=alt.value(SOFT))
        )
        others.transform = alt.Undefined
        panel = alt.layer(
            others, *layers, width=220, height=140, title=heading(names[row], 220)
        )
        panels.append(panel)
    lines = [panels[i : i + _ABREAST] for i in range(0, len(panels), _ABREAST)]
    return alt.vconcat(
        *(alt.hconcat(*line, spacing=46, bounds="flush") for line in lines), spacing=20
    )


def _curve_layers(
    base: "alt.Chart", figures: Figures, x_title: str, *, size: int
) -> list["alt.Chart"]:
    import altair as alt

    last = len(figures.groups) - 1
    most = max((point.end for point in figures.points), default=0.0) or 1.0
    marks = ticks(most, 4 if size < 30 else 6)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-0.3, last + 0.3], nice=False, zero=False),
        axis=alt.Axis(
            values=list(range(last + 1)),
            labelExpr=f"{json.dumps(figures.groups)}[datum.value]",
            labelOverlap=True, title=x_title or None, grid=False,
        ),
    )  # fmt: skip
    y = alt.Y("mean:Q", axis=percent_axis(marks), scale=alt.Scale(domain=[0, max(marks)]))
    line = base.mark_line(strokeWidth=2).encode(x=x, y=y)
    interval = base.mark_rule(strokeWidth=1.5, opacity=0.7).encode(x=x, y="low:Q", y2="high:Q")
    point = base.mark_point(filled=True, size=size, opacity=1).encode(
        x=x, y=y, tooltip=tooltip()
    )
    return [line, interval, point]


def _data(figures: Figures, dodge: float = 0.0) -> list[dict[str, Any]]:
    rows = {row: index for index, row in enumerate(figures.rows)}
    groups = {group: index for index, group in enumerate(figures.groups)}
    middle = (len(rows) - 1) / 2
    return [
        {
            **datum(point),
            "place": rows[point.row],
            "x": groups[point.group] + dodge * (rows[point.row] - middle),
        }
        for point in sorted(figures.points, key=lambda point: rows[point.row])
    ]
