"""The pictures' parts: frames of numbers become altair charts.

A model is a row, a column or a panel with its name beside it, never a colour to be looked up:
nobody tells twelve colours apart. The colours are of Okabe and Ito's, for every kind of eye.
Names are data of a chart, never parts of its expressions.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import altair as alt
import numpy as np
import pandas as pd

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.compare import ALPHA, compare
from inspect_clbench.results.costs import costs, dollars_per_run
from inspect_clbench.results.report import LENGTHS, OVERALL, report
from inspect_clbench.results.table import folded, interval

LETTER, LINE = 5.6, 12  # width and height of the labels' letters, in pixels
FIGURES = 120  # the width of a difference and its interval
BLUE, GREY, LIGHT, INK = "#0072B2", "#8A8A8A", "#DDDDDD", "#222222"
RAMP = ["#F7FBFF", "#C6DBEF", "#6BAED6", "#2171B5", "#08306B"]
LINES = "split(datum.label, '\\n')"  # a folded name has several
HEADER: dict[str, Any] = {"title": None, "labelExpr": LINES, "labelFontWeight": "bold", "labelFontSize": 10,
                          "labelLimit": 0, "labelPadding": 4}  # fmt: skip

Chart: TypeAlias = Any  # altair has a class for each way of putting charts together


def rates(answers: pd.DataFrame, width: float) -> Chart:
    """The solving rate of each model, overall and by category, with 95 % intervals."""
    frame = report(answers, ci=True).frame
    groups = _groups(frame)
    data = _long(frame, "name", groups, width)
    room = width - _name_width(data["row"])
    longest = max(len(word) for group in groups for word in group.split())
    columns = _columns(len(groups), room, LETTER * longest + 6)
    panel = room / columns - 12
    data["group"] = data["group"].map(lambda name: folded(name, max(longest, int(panel / LETTER))))
    y = _rows(list(data["row"].unique()))
    x = _numbers(0, _top(data), ticks=panel / 40)
    dots = alt.layer(
        alt.Chart().mark_rule(color=BLUE, strokeWidth=1.5).encode(alt.X("low:Q", **x), alt.X2("high:Q"), y),
        alt.Chart().mark_circle(color=BLUE, size=28, opacity=1).encode(alt.X("mean:Q", **x), y),
        data=data,
    ).properties(width=panel, height=alt.Step(_step(data["row"])))
    chart = _panels(dots, data["group"], columns)
    return _finished(chart, "Tasks solved in %, with 95 % interval")


def heatmap(answers: pd.DataFrame, width: float) -> Chart:
    """The solving rate of each model in each sub-category."""
    frame = report(answers, by="sub_category").frame
    models = _groups(frame)
    categories = answers.drop_duplicates("sub_category").set_index("sub_category")["category"]
    frame["category"] = frame["sub_category"].map(categories).fillna("")
    frame["sub_category"] = [f"{r.sub_category} ({r.tasks:,})" for r in frame.itertuples()]
    data = _long(frame, "sub_category", models, width)
    data["category"] = pd.concat([frame["category"]] * len(models))
    data["text"] = data["mean"].map("{:.0f}".format).replace("nan", "")
    data["dark"] = data["mean"] > data["mean"].max() * 0.68  # white is as legible as black there
    cell = min(90, (width - _name_width(data["row"])) / len(models) - 1)
    heads = data["group"].map(_folding(width))
    if (heads.str.count("\n") + 1).max() * LINE <= cell:  # else they would touch their neighbours
        data["group"] = heads
    axis = _name_axis(orient="top", labelAngle=-90)
    x = alt.X("group:N", sort=list(data["group"].unique()), title=None, axis=axis)
    y = _rows(list(data["row"].unique()))
    colour = alt.Color("mean:Q", scale=alt.Scale(range=RAMP, domainMin=0), legend=None)
    ink = alt.condition("datum.dark", alt.value("white"), alt.value(INK))
    cells = alt.layer(
        alt.Chart().mark_rect(stroke="white").encode(x, y, colour),
        alt.Chart().mark_text(fontSize=9).encode(x, y, alt.Text("text:N"), color=ink),
        data=data,
    ).properties(width=alt.Step(cell), height=alt.Step(_step(data["row"], least=15)))
    look = HEADER | {"labelPadding": -8, "labelOrient": "top", "labelAnchor": "start", "labelAngle": 0}
    header = alt.Header(**look)
    row = alt.Row("category:N", sort=list(data["category"].unique()), header=header)
    chart = cells.facet(row=row, spacing=4).resolve_scale(y="independent")
    return _finished(chart, "Tasks solved in %, by sub-category (tasks)")


def length(answers: pd.DataFrame, width: float) -> Chart:
    """The solving rate by the length of the prompt: a panel per model, the others in grey."""
    frame = report(answers, by="length", ci=True).frame
    models = _groups(frame)
    data = _long(frame, "length", models, width)
    columns = _columns(len(models), width - 50, max(85, (width - 50) / 4))
    panel = min(350, (width - 50) / columns - 12)
    panels = pd.concat([data.assign(panel=name, shown=data["group"] == name) for name in models])
    panels["panel"] = panels["panel"].map(lambda name: folded(name, int(panel / LETTER)))
    x = alt.X("row:N", sort=[*LENGTHS], title=None, axis=alt.Axis(labelAngle=-45, ticks=False))
    y = _numbers(0, _top(data))
    mean = alt.Y("mean:Q", **y)
    shown = alt.Chart().transform_filter("datum.shown")
    lines = alt.layer(
        alt.Chart()
        .transform_filter("!datum.shown")
        .mark_line(color=LIGHT, strokeWidth=1)
        .encode(x, mean, alt.Detail("group:N")),
        shown.mark_area(color=BLUE, opacity=0.18).encode(x, alt.Y("low:Q", **y), alt.Y2("high:Q")),
        shown.mark_line(color=BLUE, strokeWidth=2, point=alt.OverlayMarkDef(color=BLUE, size=30)).encode(
            x, mean
        ),
        data=panels,
    ).properties(width=panel, height=90)
    chart = _panels(lines, panels["panel"], columns)
    return _finished(chart, "Tasks solved in %, with 95 % interval, by tokens of the prompt", width=width)


def forest(answers: pd.DataFrame, width: float) -> Chart:
    """Differences from the best model; of two models overall and in each category."""
    frame = compare(answers).frame
    best = frame["a"].iloc[0]
    if "group" in frame:
        title = f"Points that {best} solves more than {frame['b'].iloc[0]}"
        rows, p = frame["group"], frame["p_holm"].fillna(frame["p"])
    else:
        frame = frame[frame["a"] == best]
        title = f"Points that {best} solves more than each"
        rows, p = frame["b"], frame["p_holm"]
    data = 100 * frame[["difference", "low", "high"]]
    data = data.assign(row=rows.map(_folding(width)), apart=p < ALPHA)
    data["text"] = [interval(r.difference, r.low, r.high).replace("\n", " ") for r in frame.itertuples()]
    order, panel = list(data["row"]), width - _name_width(data["row"]) - FIGURES
    ends = [min(0, data["low"].min()), max(0, data["high"].max())]
    x = _numbers(*ends)
    fill = alt.condition("datum.apart", alt.value(BLUE), alt.value("white"))
    y = _rows(order)
    dots = alt.layer(
        alt.Chart().mark_rule(color=GREY, strokeDash=[4, 3]).encode(x=alt.datum(0)),
        alt.Chart().mark_rule(color=BLUE, strokeWidth=1.5).encode(alt.X("low:Q", **x), alt.X2("high:Q"), y),
        alt.Chart()
        .mark_point(stroke=BLUE, size=50, opacity=1, strokeWidth=1.5)
        .encode(alt.X("difference:Q", **x), y, fill=fill),
        alt.Chart().mark_text(align="left").encode(alt.Text("text:N"), y, x=alt.value(panel + 10)),
        data=data,
    ).properties(width=panel, height=alt.Step(_step(order)))
    note = f"95 % intervals, adjusted for several comparisons; filled: told apart (p < {ALPHA:.2g})"
    return _finished(dots, title, note, width=width)


def cost(answers: pd.DataFrame, width: float, prices: Any = None) -> Chart:
    """The solving rate against the price of a run; numbers stand for the models below."""
    dollars = dollars_per_run(answers, prices)
    data = _long(report(answers, ci=True).frame, "name", [OVERALL], 2 * width)
    data = data.assign(dollars=data["name"].map(dollars))
    data = data[data["dollars"].between(0, np.inf, inclusive="neither")]  # what a scale of logarithms has
    if data.empty:
        raise ClbenchError(
            f"A picture of costs takes prices above 0. {' '.join(costs(answers, prices).notes)}"
        )
    ends = [data["dollars"].min() * 0.8, data["dollars"].max() * 1.25]
    data["number"] = [f"{number}" for number in range(1, len(data) + 1)]
    data["label"] = data["number"] + "  " + data["name"]
    x = alt.X("dollars:Q", title="Dollars a run", axis=alt.Axis(grid=False, tickCount=5, format="~g"),
              scale=alt.Scale(type="log", nice=False, domain=ends))  # fmt: skip
    y = _numbers(0, _top(data), title="Tasks solved in %")
    legend = alt.Legend(orient="bottom", columns=1, symbolOpacity=0, symbolSize=0, labelLimit=0, title=None)
    colour = alt.Color("label:N", sort=None, scale=alt.Scale(range=[BLUE]), legend=legend)
    dots = alt.layer(
        alt.Chart().mark_rule(strokeWidth=1.5).encode(x, alt.Y("low:Q", **y), alt.Y2("high:Q"), colour),
        alt.Chart().mark_circle(size=50, opacity=1).encode(x, alt.Y("mean:Q", **y), colour),
        alt.Chart().mark_text(dy=-7).encode(x, alt.Y("high:Q", **y), alt.Text("number:N")),
        data=data,
    ).properties(width=width - 45, height=220)
    return _finished(dots, "Tasks solved and the cost of a run, with 95 % interval", width=width)


def _groups(frame: pd.DataFrame) -> list[str]:
    """What a table has columns of rates for."""
    return [column.removesuffix(" mean") for column in frame if column.endswith(" mean")]


def _long(frame: pd.DataFrame, row: str, groups: Sequence[str], width: float) -> pd.DataFrame:
    """A table's rates in percent, a line per row and group, names folded."""
    parts = []
    for group in groups:
        figures = 100 * frame[[f"{group} {key}" for key in ("mean", "low", "high")]]
        figures.columns = pd.Index(["mean", "low", "high"])
        parts.append(figures.assign(row=frame[row].map(_folding(width)), name=frame[row], group=group))
    return pd.concat(parts)


def _folding(width: float) -> Callable[[str], str]:
    """Names get a third of the picture's width at most."""
    return lambda name: folded(name, int(min(34, width / 18)))


def _name_width(names: Sequence[str]) -> float:
    return LETTER * max(len(line) for name in names for line in name.split("\n")) + 10


def _step(names: Sequence[str], least: float = 18) -> float:
    """The distance of rows, so that folded names beside each other do not touch."""
    lines = [name.count("\n") + 1 for name in dict.fromkeys(names)]
    return max(least, LINE * max(a + b for a, b in pairwise([*lines, 1])) / 2 + 6)


def _numbers(low: float, high: float, ticks: float = 4, title: str | None = None) -> dict[str, Any]:
    """A channel of numbers from about `low` to about `high`."""
    scale = alt.Scale(domain=[low, high], nice=True)
    return {"title": title, "axis": alt.Axis(tickCount=ticks), "scale": scale}


def _top(data: pd.DataFrame) -> float:
    """The end of a scale of percent."""
    return float(np.ceil(data[["mean", "high"]].max(axis=None) / 10) * 10) or 10


def _columns(panels: int, room: float, least: float) -> int:
    """How many panels stand side by side: as many as fit, and no row nearly empty."""
    rows = -(-panels // max(1, min(panels, int(room / least))))
    return -(-panels // rows)


def _panels(chart: Chart, names: pd.Series, columns: int) -> Chart:
    facet = alt.Facet("panel:N" if names.name == "panel" else "group:N", sort=list(names.unique()),
                      header=alt.Header(**HEADER), title=None)  # fmt: skip
    panels = chart.facet(facet, columns=columns, spacing={"row": 8, "column": 12})
    return panels.resolve_axis(x="independent")  # else below the last row only, full or not


def _rows(names: Sequence[str]) -> alt.Y:
    return alt.Y("row:N", sort=list(names), title=None, axis=_name_axis())


def _name_axis(**more: Any) -> alt.Axis:
    # The first line of a name stands at its row; the middle of its lines should.
    lines = [{"test": f"length({LINES}) == {n}", "value": -LINE * (n - 1) / 2} for n in range(2, 7)]
    look = {"labelPadding": 6, "labelOffset": {"condition": lines, "value": 0}, **more}
    return alt.Axis(labelExpr=LINES, labelLimit=0, ticks=False, domain=False, **look)


def _finished(chart: Any, *title: str, width: float = 620) -> Chart:
    """The same look for all pictures; the title says what they show."""
    lines = [line for part in title for line in folded(part, int(width / LETTER)).split("\n")]
    text = alt.TitleParams(lines, anchor="start", fontSize=11, fontWeight="normal", offset=12)
    chart = chart.properties(title=text, background="white")
    return chart.configure(font="Arial, Helvetica, sans-serif", padding=4).configure_view(stroke=None)
