"""Charts, built with altair: dots with whiskers, heatmaps, curves, bars and a scatter plot.

All lengths are in parts of the font's size, so that the same code draws for a screen and for
the columns of a paper. Models have one colour in all charts: the first six one each, further
ones and published ones a grey.
"""

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any, cast

import altair as alt

from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.output.html import INK, LINE, PAPER, SOFT
from inspect_clbench.output.tables import percent_text
from inspect_clbench.text import visible

Chart = alt.LayerChart | alt.FacetChart | alt.HConcatChart | alt.VConcatChart

# Told apart with normal sight, with deuteranopia and with protanopia, on light paper as on
# dark; tests/output/test_theme.py measures it.
PALETTE = {
    "#1a549f": "#42c2ff", "#9f420a": "#e35d15", "#26835c": "#29b873",
    "#cc5dc9": "#fbbbbb", "#251355": "#7955d1", "#809228": "#efd530",
}  # fmt: skip
COLOURS = tuple(PALETTE)
SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
PUBLISHED, PUBLISHED_DARK = "#8a929b", "#8b949e"
OTHERS = SOFT

# From few to many: on dark paper the low ones are dark and the high ones bright.
RAMP = {
    "#edf3fa": "#1a222c", "#d3e3f3": "#1c3048", "#b0cfe9": "#1f4163", "#86b5dc": "#23547f",
    "#4486c3": "#5a9fd8", "#23619f": "#86bdec", "#0e3c70": "#b5dafa",
}  # fmt: skip
STEPS = tuple(RAMP)
# Numbers on these colours; which of them stands on a colour is the same on either paper.
ON_LOW, ON_HIGH = "#010101", "#fefefe"
_LOW_STEPS = 4

DATA_DARK = {
    **PALETTE, **RAMP, PUBLISHED: PUBLISHED_DARK, ON_LOW: "#f6f8fa", ON_HIGH: "#04070a",
}  # fmt: skip
"""What the colours of data become on dark paper."""

_LINES = "split(datum.label, '\\n')"
_PIECE = re.compile(r"[^ \n/_-]*[ \n/_-]*")
_BEFORE_MARK = re.compile(r" (?=[*~†‡]( |$))")
_LEADING = 1.12
_MOST_BANDS = 3
_NAME_PITCH = 1.25  # of slanted names beside each other
_LEVEL_LETTERS = 16  # of a line in a column whose name is not slanted
_HALF_COLUMN = 18  # letters of names that fit beside each other in a column of a paper
_GAP = "\u00a0"  # the name of the empty row before published ones
DIFFERENCE = "Difference"
"""What the rows of a forest plot are of."""

MINUS = " − "
"""Between two models whose difference is drawn."""


@dataclass(frozen=True)
class Form:
    """For what a chart is drawn: lengths are in pixels, on paper in points."""

    width: int
    font: float
    narrow: bool = False
    """Whether it is as narrow as a column or a phone."""

    def em(self, size: float) -> float:
        return round(size * self.font, 2)


@dataclass(frozen=True)
class Row:
    """What is drawn of one model, of a pair of models or of an error type."""

    name: str
    """No other row has it."""

    rates: Mapping[str, Rate]
    """By group; nan where there is none."""

    published: bool = False
    colour: str = COLOURS[0]
    shape: str = "circle"
    usd: float = math.nan


@dataclass(frozen=True)
class Figure:
    """The numbers of one picture."""

    rows: tuple[Row, ...]
    groups: tuple[str, ...]
    spans: tuple[tuple[str, int], ...] = ()
    """Names for so many of the groups each."""

    tasks: Mapping[str, int] = field(default_factory=dict)
    """How many tasks a group has, where that is to be shown."""

    of: str = "Model"
    """What a row is of."""

    @property
    def known(self) -> bool:
        return any(not math.isnan(r.mean) for row in self.rows for r in row.rates.values())

    @property
    def most(self) -> float:
        """Where what is drawn ends on the right."""
        ends = (_end(rate) for row in self.rows for rate in row.rates.values())
        return max(ends, default=0.0) or 1.0

    @property
    def has_bands(self) -> bool:
        """Whether curves are few enough for their intervals to be told apart."""
        return sum(row.colour in COLOURS for row in self.rows) <= _MOST_BANDS

    def domain(self) -> list[str]:
        """The rows' names, with an empty one before those that are published."""
        own = [row.name for row in self.rows if not row.published]
        published = [row.name for row in self.rows if row.published]
        return [*own, *([_GAP] if own and published else []), *published]

    def data(self, groups: Sequence[str] | None = None) -> list[dict[str, Any]]:
        """Rows of data for a chart, with what a tooltip says."""
        return [
            _datum(row, group, self.tasks.get(group))
            for row in self.rows
            for group in (self.groups if groups is None else groups)
        ]


def coloured(number: int) -> dict[str, Any]:
    """Colour and shape of the model at a place of the order of models."""
    if number < len(COLOURS):
        return {"colour": COLOURS[number], "shape": SHAPES[number]}
    return {"colour": OTHERS, "shape": "circle"}


def _datum(row: Row, group: str, tasks: int | None) -> dict[str, Any]:
    rate = row.rates[group]
    figures = rate.as_row()
    mean, std = figures["mean"], figures["std"]
    spread: tuple[float | None, float | None] = (None, None)
    if mean is not None and std is not None:
        spread = (max(mean - std, 0.0), min(mean + std, 1.0))
    return {
        **figures,
        "row": row.name,
        "group": group,
        "colour": row.colour,
        "fill": PAPER if row.published else row.colour,
        "estimate": rate.estimate,
        "rate": percent_text(rate),
        "interval": interval_text(rate) or "none",
        "tasks": "" if tasks is None else f"{tasks:,}",
        "std_low": spread[0],
        "std_high": spread[1],
        "end": _end(rate),
    }


def interval_text(rate: Rate) -> str:
    """An interval in percent, or nothing where there is none."""
    low, high = rate.interval or (math.nan, math.nan)
    return "" if math.isnan(low) else f"{100 * low:.1f} to {100 * high:.1f}"


def _end(rate: Rate) -> float:
    figures = rate.as_row()
    reach = (figures["mean"] or 0.0) + (figures["std"] or 0.0)
    return max(min(reach, 1.0), figures["high"] or 0.0)


def rates_chart(figure: Figure, form: Form, inner: float) -> Chart:
    """A panel for all tasks and one per category, with a row per model in each."""
    first, *others = figure.groups
    gap = form.em(1)
    if not form.narrow:
        part = (inner - gap * len(others)) / (1.8 + len(others))
        panels = [_rate_panel(figure, form, first, 1.8 * part, first=True)]
        panels += [_rate_panel(figure, form, group, part) for group in others]
        return alt.hconcat(*panels, spacing=gap, bounds="flush")
    lines: list[Any] = []
    for place in range(0, len(others), 2):
        pair = [
            _rate_panel(figure, form, group, (inner - gap) / 2, labels=not index)
            for index, group in enumerate(others[place : place + 2])
        ]
        lines.append(alt.hconcat(*pair, spacing=gap, bounds="flush"))
    top = _rate_panel(figure, form, first, inner, first=True)
    return alt.vconcat(top, *lines, spacing=form.em(0.8), bounds="full")


def _rate_panel(
    figure: Figure,
    form: Form,
    group: str,
    width: float,
    *,
    first: bool = False,
    labels: bool = False,
) -> Chart:
    data = [datum for datum in figure.data([group]) if datum["mean"] is not None]
    for datum in data:
        datum["number"] = datum["rate"] if first else f"{100 * datum['mean']:.1f}"
    # The numbers stand to the right of what they belong to and need room.
    room = form.em(5.6 if first else 2.8) / width
    most = figure.most / max(1 - room, 0.3)
    marks = ticks(figure.most, min(5, int((width - room * width) / form.em(3))) if first else 2)
    title = "Solving rate in %" if first else ""
    layers = _whiskers(data, figure, form, labels=first or labels)
    interval = layers[0].encode(
        x=alt.X("low:Q", axis=_percent_axis(marks, title), scale=_scale(0, most)), x2="high:Q"
    )
    std = layers[0].mark_rule(strokeWidth=form.em(0.6), opacity=0.35)
    std = std.encode(x="std_low:Q", x2="std_high:Q", strokeDash=alt.value([1, 0]))
    number = _beside_line(layers[1], form)
    return _panel([interval, std, *layers[1:], *number], figure, form, width, group)


def _whiskers(
    data: list[dict[str, Any]], figure: Figure, form: Form, *, labels: bool = True
) -> list[alt.Chart]:
    """The line of an interval, its two ends and the dot, for charts with a row each."""
    base = alt.Chart(alt.InlineData(values=data)).encode(
        y=_row_axis(figure.domain(), form, labels=labels),
        color=alt.Color("colour:N", scale=None),
        tooltip=_tooltip(figure),
    )
    # Intervals of a draw are of another kind than those of full runs.
    dash = alt.when(alt.datum.estimate).then(alt.value([3, 2])).otherwise(alt.value([1, 0]))
    line = base.mark_rule(strokeWidth=form.em(0.1)).encode(strokeDash=dash)
    end = base.mark_tick(thickness=form.em(0.1), size=form.em(0.8), orient="vertical")
    # Full runs have short intervals: a larger dot would hide them.
    dot = base.mark_point(size=form.em(0.33) ** 2, opacity=1, strokeWidth=form.em(0.1))
    dot = dot.encode(x="mean:Q", fill=alt.Fill("fill:N", scale=None))
    return [line, end.encode(x="low:Q"), end.encode(x="high:Q"), dot]


def _beside_line(base: alt.Chart, form: Form) -> list[alt.Chart]:
    """Numbers to the right of a line, and a rim of paper around them."""
    look: dict[str, Any] = {"align": "left", "dx": form.em(0.5), "fontSize": form.font}
    rim = base.mark_text(**look, stroke=PAPER, strokeWidth=form.em(0.35))
    text = base.mark_text(**look).encode(color=alt.value(INK))
    return [one.encode(x="end:Q", text="number:N") for one in (rim, text)]


def _panel(
    layers: list[alt.Chart], figure: Figure, form: Form, width: float, title: str
) -> Chart:
    height = _row_height(figure.domain(), form) * len(figure.domain())
    return alt.layer(*layers, width=width, height=height, title=_heading(title, form, width))


def forest(figure: Figure, form: Form, inner: float) -> Chart:
    """Differences with their intervals, and a line where there is none."""
    (group,) = figure.groups
    data = figure.data()
    for datum in data:
        low, high, mean = datum["low"], datum["high"], datum["mean"]
        interval = "" if low is None else f" [{signed(low)}, {signed(high)}]"
        datum |= {"number": signed(mean) + ("" if form.narrow else interval), "zero": 0}
        datum["end"] = mean if high is None else high
        datum["interval"] = interval.strip() or "none"
        datum["rate"] = signed(mean)
        datum["fill"] = INK if datum["colour"] == INK else PAPER
    ends = [x for d in data for x in (d["low"], d["high"], d["mean"]) if x is not None]
    low, high = min(0.0, *ends), max(0.0, *ends)
    room = form.em(2.8 if form.narrow else 8.5) / inner
    span = (high - low or 0.1) / max(1 - room, 0.3)
    marks = [x for x in ticks(max(-low, high), 3) if x <= high]
    marks = [*(-x for x in ticks(max(-low, high), 3) if 0 < x <= -low), *marks]
    axis = _percent_axis(marks)
    pair = broken(group, _letters(form, inner)).split("\n") if group else []
    axis.title = ["Difference in points", *pair]
    axis.labelExpr = "datum.value ? format(100 * datum.value, '+.0f') : '0'"
    scale = _scale(low - 0.02 * span, low + span)
    layers = _whiskers(data, figure, form)
    line = layers[0].encode(x=alt.X("low:Q", axis=axis, scale=scale), x2="high:Q")
    zero = layers[0].mark_rule(strokeWidth=form.em(0.1)).encode(
        x="zero:Q", y=alt.Y(), color=alt.value(SOFT)
    )  # fmt: skip
    number = _beside_line(layers[1], form)
    return _panel([zero, line, *layers[1:], *number], figure, form, inner, "")


def signed(share: float) -> str:
    """A difference in points with its sign."""
    text = f"{100 * share:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def heatmap(figure: Figure, form: Form, inner: float) -> Chart:
    """Models by groups of tasks; in a narrow form with many groups, these are the rows.

    There, published models stand below if the names of all do not fit beside each other.
    """
    steps = _steps(figure)
    gap = form.em(0.6)
    unit = (inner - gap * (len(figure.spans) - 1)) / len(figure.groups)
    turned = form.narrow and len(figure.spans) > 1
    parts = [figure]
    most = int(inner / form.em(_NAME_PITCH))
    if turned and len(figure.domain()) > most:
        own = [row for row in figure.rows if not row.published]
        published = [row for row in figure.rows if row.published]
        chosen = [*_evenly(own, most), *_evenly(published, most)]
        parts = [replace(figure, rows=tuple(rows)) for rows in chosen]
    drawn: list[Any] = []
    for part in parts:
        blocks: list[Any] = []
        start = 0
        for name, size in figure.spans:
            groups = figure.groups[start : start + size]
            start += size
            ends = part is parts[-1] and start == len(figure.groups)
            blocks.append(
                _heat_block(
                    part, form, name, groups, unit, inner, steps, turned=turned, legend=ends
                )
            )
        if not turned:
            return alt.hconcat(*blocks, spacing=gap, bounds="flush")
        drawn.append(alt.vconcat(*blocks, spacing=form.em(2), bounds="flush"))
    return alt.vconcat(*drawn, spacing=form.em(1), bounds="full")


def _evenly(rows: Sequence[Row], most: int) -> list[Sequence[Row]]:
    """Rows in as few parts of one size as hold at most so many each."""
    count = math.ceil(len(rows) / most)
    size = math.ceil(len(rows) / max(count, 1))
    return [rows[part * size : (part + 1) * size] for part in range(count)]


def _heat_block(
    figure: Figure,
    form: Form,
    name: str,
    groups: Sequence[str],
    unit: float,
    inner: float,
    steps: list[float],
    *,
    turned: bool,
    legend: bool,
) -> Chart:
    first = groups[0] == figure.groups[0]
    shown = {g: f"{g} ({figure.tasks[g]:,})" if g in figure.tasks else g for g in groups}
    domain = figure.domain()
    cell = inner / len(domain) if turned else unit
    data = figure.data(groups)
    whole = max(
        (len(f"{100 * d['mean']:.0f}") for d in data if d["mean"] is not None), default=1
    )
    letters = cell / form.em(0.58)
    digits = 1 if letters >= whole + 2 else 0 if letters >= whole else None
    for datum in data:
        mean = datum["mean"]
        text = "–" if mean is None else "" if digits is None else f"{100 * mean:.{digits}f}"
        high = mean is not None and sum(mean >= step for step in steps) >= _LOW_STEPS
        ink = PUBLISHED if mean is None else ON_HIGH if high else ON_LOW
        datum |= {"column": shown[datum["group"]], "number": text, "ink": ink}
    base = alt.Chart(alt.InlineData(values=data)).encode(tooltip=_tooltip(figure))
    height = form.em(1.7) if turned else _row_height(domain, form)
    if turned:
        base = base.encode(
            x=_column_axis(domain, form, cell, labels=first, orient="top"),
            y=_row_axis(list(shown.values()), form, wrap=34, grid=False, field="column"),
        )
    else:
        base = base.encode(
            x=_column_axis(list(shown.values()), form, cell, field="column", wrap=40),
            y=_row_axis(domain, form, labels=first, grid=False),
        )
    scale = alt.Scale(type="threshold", domain=steps, range=list(STEPS[: len(steps) + 1]))
    gradient = alt.Legend(
        type="gradient", orient="bottom", direction="horizontal", title="Rate in %",
        titleOrient="left",
        labelExpr="datum.value > 0 ? format(100 * datum.value, '.0f') : ''",
        gradientLength=form.em(8.5), gradientThickness=form.em(0.8), offset=form.em(1),
        labelFontSize=form.font * 0.88,
    )  # fmt: skip
    scaled = legend if turned else first
    cells = base.transform_filter("datum.mean != null").mark_rect(stroke=PAPER)
    cells = cells.encode(
        color=alt.Color("mean:Q", scale=scale, legend=gradient if scaled else None)
    )
    number = base.mark_text(fontSize=form.font * (0.92 if digits else 0.88))
    number = number.encode(text="number:N", color=alt.Color("ink:N", scale=None))
    size: dict[str, Any] = {
        "width": inner if turned else unit * len(groups),
        "height": height * (len(groups) if turned else len(domain)),
    }
    title = _heading(name, form, form.width if turned else size["width"])
    if turned:
        title.anchor = "end"  # over the names of the rows, where there is room
    chart = alt.layer(cells, number, title=title, **size)
    return cast(Chart, chart.resolve_scale(color="independent"))


def _steps(figure: Figure) -> list[float]:
    """Where the colours of a heatmap change: round numbers up to the highest rate."""
    rates = (rate.mean for row in figure.rows for rate in row.rates.values())
    most = max((mean for mean in rates if not math.isnan(mean)), default=0.0)
    width = next(
        step
        for step in (0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.1, 0.12, 0.15)
        if step == 0.15 or most < step * 7
    )
    return [round(width * step, 4) for step in range(1, len(STEPS))]


def curves(figure: Figure, form: Form, inner: float, x_title: str, y_title: str) -> Chart:
    """A curve per model: the first six in colour with intervals, the others in grey."""
    named = {row.name: _legend_name(row) for row in figure.rows}
    styles = {
        named[row.name]: (row.colour, row.shape)
        for row in sorted(figure.rows, key=lambda row: (row.published, row.colour == OTHERS))
    }
    labels = unique(
        [broken(name, 30 if form.narrow else 24, 1 if form.narrow else 2) for name in styles]
    )
    legend = alt.Legend(
        title=None, orient="bottom" if form.narrow else "right", direction="vertical",
        labelExpr=_LINES, labelLimit=0, symbolSize=form.em(0.6) ** 2 * 1.6,
        columns=2 if form.narrow and max(map(len, labels)) <= _HALF_COLUMN else 1,
        rowPadding=form.em(0.5 if form.narrow else 0.9),
    )  # fmt: skip
    shown = dict(zip(styles, labels, strict=True))
    # Grey ones first: what is drawn later lies above.
    rows = sorted(figure.rows, key=lambda row: row.colour in COLOURS)
    data = [
        {**_datum(row, group, figure.tasks.get(group)), "label": shown[named[row.name]],
         "strong": row.colour in COLOURS}
        for row in rows
        for group in figure.groups
    ]  # fmt: skip
    marks = ticks(figure.most, 5)
    x = alt.X(
        "group:N",
        scale=alt.Scale(type="point", domain=list(figure.groups), padding=0.3),
        axis=alt.Axis(
            title=x_title,
            labelAngle=0,
            labelOverlap=True,
            grid=False,
            labelPadding=form.em(0.3),
        ),
    )
    y = alt.Y(
        "mean:Q",
        axis=_percent_axis(marks, title=f"{y_title} in %"),
        scale=_scale(0, marks[-1]),
    )
    base = alt.Chart(alt.InlineData(values=data)).encode(
        x=x,
        color=alt.Color(
            "label:N",
            legend=legend,
            scale=alt.Scale(domain=labels, range=[colour for colour, _ in styles.values()]),
        ),
    )
    strong = base.transform_filter("datum.strong")
    grey = base.transform_filter("!datum.strong").mark_line(strokeWidth=form.em(0.09))
    line = strong.mark_line(strokeWidth=form.em(0.16)).encode(y=y, detail="row:N")
    band = strong.mark_area(opacity=0.14).encode(y="low:Q", y2="high:Q", detail="row:N")
    point = base.mark_point(filled=True, size=form.em(0.6) ** 2 * 1.3, opacity=1).encode(
        y=y,
        tooltip=_tooltip(figure),
        shape=alt.Shape(
            "label:N",
            legend=legend,
            scale=alt.Scale(domain=labels, range=[shape for _, shape in styles.values()]),
        ),
        size=alt.when("datum.strong").then(alt.value(form.em(0.6) ** 2 * 1.3)).otherwise(
            alt.value(form.em(0.3) ** 2)
        ),
    )  # fmt: skip
    return alt.layer(
        *([band] if figure.has_bands else []),
        grey.encode(y=y, detail="row:N"),
        line,
        point,
        width=inner,
        height=form.em(15 if form.narrow else 24),
    )


def _legend_name(row: Row) -> str:
    if row.published:
        return "Published"
    return row.name if row.colour in COLOURS else "Further models"


def bars(figure: Figure, form: Form, inner: float) -> Chart:
    """A bar per model, divided into groups that add up to all tasks."""
    last = len(figure.groups) - 1
    steps = [1 + round(place * (len(STEPS) - 2) / last) for place in range(last + 1)]
    colours = {g: STEPS[step] for g, step in zip(figure.groups, steps, strict=True)}
    beside = form.em(2.6) / inner
    data: list[dict[str, Any]] = []
    for row in figure.rows:
        if all(math.isnan(rate.mean) for rate in row.rates.values()):
            continue
        start = 0.0
        for group, step in zip(figure.groups, steps, strict=True):
            datum = _datum(row, group, None)
            mean = datum["mean"] or 0.0
            wide = mean * inner >= form.em(2.4)
            datum |= {
                "start": start,
                "stop": start + mean,
                "middle": start + mean / 2,
                "number": f"{100 * mean:.1f}" if wide else "",
                "ink": ON_LOW if step < _LOW_STEPS else ON_HIGH,
            }
            start += mean
            data.append(datum)
        if not datum["number"]:  # solved in every run: the number stands after the bar
            datum |= {"number": f"{100 * mean:.1f}", "middle": 1 + beside / 2, "ink": INK}
    base = alt.Chart(alt.InlineData(values=data)).encode(
        y=_row_axis(figure.domain(), form, grid=False), tooltip=_tooltip(figure)
    )
    legend = alt.Legend(
        title="Tasks solved in", orient="top", symbolType="square", columns=2 if form.narrow else 0,
        titleOrient="top" if form.narrow else "left",
    )  # fmt: skip
    scale = alt.Scale(domain=list(colours), range=list(colours.values()))
    bar = base.mark_bar(stroke=PAPER, height=alt.RelativeBandSize(0.72)).encode(
        x=alt.X(
            "start:Q",
            axis=_percent_axis([0, 0.25, 0.5, 0.75, 1], title="Tasks in %"),
            scale=_scale(0, 1 + beside),
        ),
        x2="stop:Q",
        color=alt.Color("group:N", scale=scale, legend=legend),
    )
    number = base.mark_text(fontSize=form.font).encode(
        x="middle:Q", text="number:N", color=alt.Color("ink:N", scale=None)
    )
    height = _row_height(figure.domain(), form, least=2.0) * len(figure.rows)
    chart = alt.layer(bar, number, width=inner, height=height)
    return cast(Chart, chart.resolve_scale(color="independent"))


def scatter(figure: Figure, form: Form, inner: float) -> Chart:
    """Cost against solving rate, with the models' names beside their points."""
    (group,) = figure.groups
    height = form.em(20 if form.narrow else 26)
    usd = [row.usd for row in figure.rows]
    log = max(usd) > 8 * min(usd) > 0
    low = min(usd) / 1.6 if log else 0.0
    high = max(usd) * (1.9 if log else 1.25) or 1.0
    lowest = min((row.rates[group].as_row()["low"] or 0.0 for row in figure.rows), default=0.0)
    marks = ticks(figure.most, 5)
    marks = [mark for mark in marks if mark >= max(m for m in marks if m <= lowest)]

    def place(row: Row, rate: float) -> tuple[float, float]:
        share = row.usd / high
        if log:
            share = math.log(row.usd / low) / math.log(high / low)
        return share * inner, height * (marks[-1] - rate) / (marks[-1] - marks[0])

    data = figure.data()
    spots = [place(row, row.rates[group].mean) for row in figure.rows]
    ends = [
        (place(row, high)[1], place(row, low)[1])
        for row in figure.rows
        for low, high in [row.rates[group].interval or (row.rates[group].mean,) * 2]
    ]
    lines = [(x, top, x, bottom) for (x, _), (top, bottom) in zip(spots, ends, strict=True)]
    most = _letters(form, inner / 2)
    shown = [broken(row.name, most, 1) for row in figure.rows]
    named = [(name, *spot) for name, spot in zip(shown, spots, strict=True)]
    labels = _beside(named, lines, form, inner, height)
    each = zip(data, figure.rows, shown, labels, strict=True)
    for datum, row, name, (at, middle, align) in each:
        datum |= {"label": name, "label_x": at, "label_y": middle, "align": align}
        datum |= {"usd": row.usd, "cost": f"{row.usd:,.2f}", "shape": row.shape}
    axis = alt.Axis(title="Cost of a run in USD", grid=False, format=",.3~r", tickCount=5)
    scale = alt.Scale(type="log" if log else "linear", domain=[low, high], nice=False)
    tips = [*_tooltip(figure), alt.Tooltip("cost:N", title="USD per run")]
    base = alt.Chart(alt.InlineData(values=data)).encode(
        x=alt.X("usd:Q", scale=scale, axis=axis),
        color=alt.Color("colour:N", scale=None),
        tooltip=tips,
    )
    y = alt.Y(
        "mean:Q",
        scale=_scale(marks[0], marks[-1]),
        axis=_percent_axis(marks, title="Solving rate in %"),
    )
    interval = base.mark_rule(strokeWidth=form.em(0.1), opacity=0.6)
    point = base.mark_point(filled=True, size=form.em(0.7) ** 2 * 1.4, opacity=1)
    point = point.encode(y=y, shape=alt.Shape("shape:N", scale=None))
    names = [
        alt.Chart(alt.InlineData(values=[d for d in data if d["align"] == align]))
        .mark_text(align=align, baseline="middle", fontSize=form.font, clip=False)
        .encode(
            x=alt.X("label_x:Q", scale=None, axis=None),
            y=alt.Y("label_y:Q", scale=None, axis=None),
            text="label:N",
            color=alt.value(INK),
            tooltip=tips,
        )
        for align in ("left", "right", "center")
        if any(d["align"] == align for d in data)
    ]
    return alt.layer(
        interval.encode(y="low:Q", y2="high:Q"), point, *names, width=inner, height=height
    )


_Spot = tuple[float, float, str]
_Box = tuple[float, float, float, float]


def _beside(
    names: Sequence[tuple[str, float, float]],
    lines: Sequence[_Box],
    form: Form,
    width: float,
    height: float,
) -> list[_Spot]:
    """Where each name stands: the first place around its point that nothing else takes."""
    gap, line = form.em(0.6), form.em(1.1)
    dots = [(x - gap / 2, y - gap / 2, x + gap / 2, y + gap / 2) for _, x, y in names]
    spots: list[_Spot] = []
    boxes: list[_Box] = []
    for name, x, y in names:
        best = (math.inf, (x, y, "left"), (x, y, x, y))
        long = 0.54 * form.font * len(name)
        for away in range(8):
            for way, align in product((-1, 1), ("left", "right", "center")):
                left = x + {"left": gap, "right": -gap - long, "center": -long / 2}[align]
                middle = y + way * line * (away / 2 + (align == "center"))
                box = (left, middle - line / 2, left + long, middle + line / 2)
                outside = box[0] < 0 or box[2] > width or box[1] < 0 or box[3] > height
                over = 10 * _overlaps(box, [*dots, *boxes]) + 2 * _overlaps(box, lines)
                at = {"left": box[0], "right": box[2], "center": x}[align]
                best = min(best, (over + 20 * outside + away, (at, middle, align), box))
        spots.append(best[1])
        boxes.append(best[2])
    return spots


def _overlaps(box: _Box, others: Sequence[_Box]) -> int:
    left, top, right, bottom = box
    return sum(left < r and right > x and top < b and bottom > t for x, t, r, b in others)


def ticks(most: float, count: int) -> list[float]:
    """Round percentages up to the highest value, at most so many beside zero."""
    for step in (1, 2, 5, 10, 20, 25, 50):
        if 100 * most <= step * (count + 1):
            break
    return [value / 100 for value in range(0, min(int(100 * most) + step, 100) + 1, step)]


def broken(text: str, width: int, most: int = 2) -> str:
    """Wrap a label at spaces, slashes, hyphens and underscores, shortened if it is too long."""
    text = _BEFORE_MARK.sub("\u00a0", text)
    if MINUS in text and most == 2 and len(text) > width:
        first, _, second = text.partition(MINUS)
        return f"{broken(first, width - 2, 1)}{MINUS.rstrip()}\n{broken(second, width, 1)}"
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


def unique(names: Sequence[str]) -> list[str]:
    """Names, numbered where several are the same."""
    found: dict[str, None] = {}
    for name in names:
        number, new = 1, name
        while new in found:
            number += 1
            new = f"{name} ({number})"
        found[new] = None
    return list(found)


def _label_width(form: Form) -> int:
    return 20 if form.narrow else 40


def _row_height(names: Sequence[str], form: Form, least: float = 1.7) -> float:
    wrapped = [broken(name, _label_width(form)) for name in names]
    lines = max((name.count("\n") + 1 for name in wrapped), default=1)
    return form.em(max(least, _LEADING * lines + 0.5))


def _expression(names: Sequence[str], wrap: int, most: int = 2) -> str:
    """An expression of Vega for the lines of a label, so that data keep names as they are."""
    shown = [visible(name) for name in names]
    lines = {name: broken(name, wrap, most).split("\n") for name in shown}
    return f"{json.dumps(lines)}[datum.label] || ''"


def _row_axis(
    names: Sequence[str],
    form: Form,
    *,
    labels: bool = True,
    grid: bool = True,
    wrap: int = 0,
    field: str = "row",
) -> alt.Y:
    lines = _expression(names, wrap or _label_width(form))
    # Vega centres the first line of a label on its row, not the label.
    offset = alt.ExprRef(f"-{form.em(_LEADING) / 2} * (length({lines}) - 1)")
    axis = alt.Axis(
        labels=labels, labelExpr=lines, labelLimit=0, labelLineHeight=form.em(_LEADING),
        labelOffset=offset, labelPadding=form.em(0.5), labelColor=INK,
        labelFontSize=form.font * (0.9 if wrap else 1),
        domain=False, ticks=False, grid=grid, gridColor=LINE, title=None,
        gridOpacity=alt.ExprRef(f"datum.value == {json.dumps(_GAP)} ? 0 : 1"),
    )  # fmt: skip
    return alt.Y(f"{field}:N", sort=None, scale=alt.Scale(domain=list(names)), axis=axis)


def _column_axis(
    names: Sequence[str],
    form: Form,
    width: float,
    *,
    labels: bool = True,
    field: str = "row",
    wrap: int = 28,
    orient: Any = "bottom",
) -> alt.X:
    letters = _letters(form, width)
    if level := orient == "bottom" and letters >= _LEVEL_LETTERS:
        lines = _expression(names, letters, 3)
    else:
        lines = _expression(names, wrap, 1)
    axis = alt.Axis(
        labels=labels, labelExpr=lines, labelLimit=0,
        labelAngle=0 if level else -65 if form.narrow else -50,
        labelLineHeight=form.em(_LEADING),
        labelAlign="center" if level else "left" if orient == "top" else "right",
        labelPadding=form.em(0.3), domain=False, ticks=False, orient=orient, title=None,
    )  # fmt: skip
    return alt.X(f"{field}:N", sort=None, scale=alt.Scale(domain=list(names)), axis=axis)


def _tooltip(figure: Figure) -> list[alt.Tooltip]:
    fields = {"row": figure.of, "group": "Tasks", "rate": "In %", "interval": "95 % interval"}
    if figure.of == DIFFERENCE:
        fields = {"row": figure.of, "rate": "In points", "interval": "95 % interval"}
    return [alt.Tooltip(f"{name}:N", title=title) for name, title in fields.items()]


def _heading(text: str, form: Form, width: float) -> Any:
    if not text:
        return alt.Undefined
    return alt.Title(
        broken(text, _letters(form, width), 3).split("\n"), fontSize=form.font,
        fontWeight="bold", anchor="start", frame="group", offset=form.em(0.5),
    )  # fmt: skip


def _letters(form: Form, width: float) -> int:
    return max(int(width / form.em(0.58)), 8)


def _scale(low: float, high: float) -> alt.Scale:
    return alt.Scale(domain=[low, high], nice=False, zero=False)


def _percent_axis(values: list[float], title: str = "") -> alt.Axis:
    # Without the count Vega thins out the values that it is given.
    return alt.Axis(
        labelExpr="format(100 * datum.value, '.0f')", values=values, tickCount=len(values),
        title=title or None, labelOverlap=False, labelFlush=False,
    )  # fmt: skip
