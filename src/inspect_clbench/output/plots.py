"""Pictures of logs: what each kind shows, how it is read, and its numbers in words."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import combinations
from os import PathLike
from typing import TYPE_CHECKING, Any, get_args

from inspect_clbench.analysis.compare import AgainstPublished, Comparison, Ranking, compare
from inspect_clbench.analysis.costs import Prices, costs
from inspect_clbench.analysis.errors import CrossTable, errors
from inspect_clbench.analysis.groups import TokenRule
from inspect_clbench.analysis.paired import Difference
from inspect_clbench.analysis.report import (
    RUBRICS_MET,
    RateTable,
    main_table,
    report,
    solved_counts_table,
)
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import OVERALL
from inspect_clbench.choices import Medium, PlotKind
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.files import Paths, check_one_dataset, find_logs, meant
from inspect_clbench.logs.series import Series, by_dataset, load_series
from inspect_clbench.output.html import INK
from inspect_clbench.output.notes import label_notes, rate_notes, series_notes
from inspect_clbench.output.pictures import Picture, picture_ending, plot_library, save_picture
from inspect_clbench.output.tables import Note, percent_text, row_marks
from inspect_clbench.text import one_line

if TYPE_CHECKING:
    from inspect_clbench.output.charts import Figure, Row

PLOT_KINDS: tuple[PlotKind, ...] = get_args(PlotKind)
PAGE_KINDS: tuple[PlotKind, ...] = (*PLOT_KINDS[:4], "consistency")

_INTERVAL = "95 % interval for tasks like these, clustered on contexts"
_DRAWN = "95 % interval of what all tasks would have given in these same runs"
_PUBLISHED = "†: published, not run here."


def plot(
    paths: Paths,
    output: str,
    *,
    kind: str = "rates",
    medium: str = "screen",
    published: bool = False,
    tokens: TokenRule | None = None,
    against: str | None = None,
    prices: str | PathLike[str] | Prices | None = None,
) -> None:
    """Draw a picture of logs and write it to a file.

    For a paper, and beside PNG and PDF, a second file has the caption with all notes and the
    picture in words: `rates.caption.txt` beside `rates.pdf`.

    Args:
        paths: Log files, folders or URLs.
        output: The file; .png, .svg, .pdf or .html, one that needs nothing beside it.
        kind: `rates`, overall and by category; `sub_category`, a heatmap; `length`, by
            prompt length; `thresholds`, the pass rate at 60 to 100 % of the rubrics;
            `forest`, the differences of `compare`; `consistency`, tasks solved in 0 to k of
            k runs; `cost`, the cost of a run against the solving rate.
        medium: `screen`; `dark`, the same on dark paper; `paper`, a column of 3.3 inches;
            `paper-wide`, two columns, 6.8 inches.
        published: Add the rows that the benchmark's authors published.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
        against: For `forest`, the model that the others are compared with; all pairs if not
            given.
        prices: For `cost`, as `costs` takes them.
    """
    chosen = next((known for known in PLOT_KINDS if known == kind), None)
    if chosen is None:
        raise ClbenchError(f"kind={kind}: unknown. There are: {', '.join(PLOT_KINDS)}.")
    form = _known_medium(medium)
    if against is not None and chosen != "forest":
        raise ClbenchError(f"{kind}: --against goes with --kind forest.")
    picture_ending(output, form)
    plot_library("vl_convert")
    plot_library("altair")
    if chosen == "forest":
        picture = _forest_picture(paths, against)
    else:
        series = _of_one_dataset(load_series(paths))
        if chosen == "cost":
            picture = _cost_picture(series, prices)
        else:
            table = plotted_table(series, chosen, published=published, tokens=tokens)
            picture = rates_picture(table, chosen)
    if published and (chosen in ("forest", "cost") or not table.published):
        title = find_logs(paths)[0].benchmark.title
        raise ClbenchError(
            f"{kind}: nobody published such rates of {title}. Leave out --published."
        )
    save_picture(picture, output, form)


def error_heatmap(
    paths: Paths, output: str, *, by: str = "category", medium: str = "screen"
) -> None:
    """Draw which error types the failed answers of which tasks show.

    Args:
        paths: Log files, folders or URLs.
        output: The file: .png, .svg, .pdf or .html.
        by: `category` or `sub_category`.
        medium: As for `plot`.
    """
    form = _known_medium(medium)
    picture_ending(output, form)
    plot_library("vl_convert")
    plot_library("altair")
    from inspect_clbench.output.charts import heatmap

    found = errors(paths, by=by)
    _of_one_dataset(found.series)
    (crossed,) = found.crossed
    figure = error_figure(crossed)
    if not figure.known:
        raise ClbenchError("There is nothing to draw: no failed answer has usable labels.")
    name = found.series[0].dataset_name
    whose = f"{one_line(crossed.rows[0].model)}. " if len(crossed.rows) == 1 else ""
    picture = Picture(
        f"{name}: error types of failed answers in % by {crossed.divided_by}",
        f"{whose}In % of the labelled failed answers. Several types may apply to an answer.",
        in_words(figure),
        partial(heatmap, figure),
        _notes([*series_notes(found.series), *label_notes(found.series, found.unlabelled)]),
    )
    save_picture(picture, output, form)


def _known_medium(medium: str) -> Medium:
    known: tuple[Medium, ...] = get_args(Medium)
    if medium not in known:
        raise ClbenchError(f"medium={medium}: unknown. There are: {', '.join(known)}.")
    return known[known.index(medium)]


def _of_one_dataset(found: Sequence[Series]) -> Sequence[Series]:
    check_one_dataset([log for one in found for log in one.logs])
    (series,) = by_dataset(found)
    return series


def plotted_table(
    series: Sequence[Series],
    kind: PlotKind,
    *,
    published: bool = False,
    tokens: TokenRule | None = None,
) -> RateTable:
    """The numbers of a picture, which are those of the report's table."""
    if kind == "consistency":
        if (few := min(series, key=lambda one: one.runs)).runs < 2:
            raise ClbenchError(
                f"consistency: {few.model} has one run, and it takes two or more. Choose models "
                "that have them with --model."
            )
        return solved_counts_table(series)
    (table,) = report(
        series,
        by=[kind] if kind in ("sub_category", "length") else [],
        thresholds=kind == "thresholds",
        published=published,
        ci=True,
        tokens=tokens,
    ).tables
    return table


def rates_picture(table: RateTable, kind: PlotKind) -> Picture:
    """The picture of a table of rates."""
    from inspect_clbench.output import charts

    draw: Any
    figure = rate_figure(table)
    if not figure.known:
        raise ClbenchError(f"{kind}: there is nothing to draw, no row of the logs is scored.")
    match kind:
        case "sub_category":
            title = "solving rate by sub-category"
            draw = partial(charts.heatmap, figure)
            reading = "Mean over runs in %; in brackets the number of tasks."
        case "length":
            title = "solving rate by prompt length"
            axes = ("Prompt length in tokens", "Solving rate")
            draw = partial(_curves, figure, axes)
            reading = f"Mean over runs. {_bands(figure)}"
        case "thresholds":
            title = "pass rate by share of rubrics met"
            axes = ("Share of rubrics needed to pass", "Pass rate")
            draw = partial(_curves, figure, axes)
            reading = f"Mean over runs. At 100 % all rubrics are needed. {_bands(figure)}"
        case "consistency":
            title = "in how many runs tasks are solved"
            draw = partial(charts.bars, figure)
            reading = (
                f"Share of tasks in %, solved in so many of {len(figure.groups) - 1} runs."
            )
        case _:
            title = "solving rate"
            draw = partial(charts.rates_chart, figure)
            reading = (
                f"In %. Dot: mean over runs. Bar: ± std over runs. Line with ends: {_INTERVAL}."
            )
    reading += _marks(table, dashed=kind == "rates")
    name = f"{table.series[0].dataset_name}: {title}"
    return Picture(name, reading, in_words(figure), draw, _notes(rate_notes(table)))


def _marks(table: RateTable, *, dashed: bool = False) -> str:
    """What the marks behind the names of models mean."""
    own = [row for row in table.rows if row.published is None]
    told = f" {_PUBLISHED}" if table.published else ""
    if any(row.is_estimate for row in own):
        told += f" After ~{', dashed' if dashed else ''}: {_DRAWN}."
    return told + (" *: incomplete." if any(row.incomplete for row in own) else "")


def _bands(figure: "Figure") -> str:
    return f"Bands: {_INTERVAL}." if figure.has_bands else ""


def _curves(figure: "Figure", axes: tuple[str, str], form: Any, inner: float) -> Any:
    from inspect_clbench.output.charts import curves

    return curves(figure, form, inner, *axes)


def rate_figure(table: RateTable) -> "Figure":
    """What is drawn of a table: curves are of their own groups only."""
    from inspect_clbench.output.charts import PUBLISHED, Figure, Row, coloured, unique

    left_out = {"length": OVERALL, "thresholds": RUBRICS_MET}.get(table.kind)
    groups = tuple(group for group in table.groups if group != left_out)
    names = unique([one_line(row.name) + row_marks(row, table) for row in table.rows])
    rows = []
    for place, (name, row) in enumerate(zip(names, table.rows, strict=True)):
        grey = {"colour": PUBLISHED, "shape": "circle"}
        look = grey if row.published else coloured(place)
        rates = {group: row.rates[group] or Rate(math.nan) for group in groups}
        rows.append(Row(name, rates, row.published is not None, **look))
    shown = table.tasks if table.kind == "sub_category" else {}
    return Figure(tuple(rows), groups, table.spans, shown)


def error_figure(table: CrossTable) -> "Figure":
    """Error types by groups of tasks: a row per model and type."""
    from inspect_clbench.output.charts import Figure, Row

    groups = tuple(name for name in table.groups if name != OVERALL)
    rows = [
        Row(f"{one_line(row.model)}: {title}" if len(table.rows) > 1 else title, rates)
        for row in table.rows
        for title, rates in row.rates.items()
    ]
    spans = table.spans or (("", len(groups)),)
    return Figure(tuple(rows), groups, spans, of="Error type")


def in_words(figure: "Figure") -> str:
    """The numbers of a picture, row by row."""
    from inspect_clbench.output.charts import interval_text

    def told(group: str, rate: Rate) -> str:
        interval = interval_text(rate)
        inside = f" ({interval})" if interval else ""
        return f"{group} {percent_text(rate)}{inside}"

    rows = (
        f"{row.name}: {', '.join(told(group, row.rates[group]) for group in figure.groups)}."
        for row in figure.rows
    )
    return " ".join(rows)


def _notes(notes: Iterable[Note | str]) -> tuple[Note, ...]:
    return tuple(note if isinstance(note, Note) else Note("info", note) for note in notes)


def _forest_picture(paths: Paths, against: str | None) -> Picture:
    from inspect_clbench.output.charts import DIFFERENCE, MINUS, Figure, forest, signed
    from inspect_clbench.output.compare import sentence

    found = compare(*([paths] if isinstance(paths, str | PathLike) else paths))  # type: ignore[misc]  # mypy loses the type of a choice that is unpacked
    assert not isinstance(found, AgainstPublished)  # only for a row that is named
    names = tuple(map(one_line, found.names))
    base = None if against is None else names.index(meant(against, "against", names, "model"))
    rows = list(_differences(found, names, base))
    heading = "" if isinstance(found, Ranking) else MINUS.join(names)
    if isinstance(found, Comparison) and base == 0:
        heading = MINUS.join(reversed(names))
    figure = Figure(tuple(rows), (heading,), of=DIFFERENCE)
    if isinstance(found, Ranking):
        reading = (
            "Difference of solving rates in points, over the same tasks. Lines: intervals that "
            "hold together for all pairs with 95 % confidence. Hollow: not told apart."
        )
    else:
        reading = (
            "Difference of solving rates in points, over the same tasks. Lines: 95 % intervals, "
            "clustered on contexts. Hollow: not told apart."
        )
    told = []
    for row in rows:
        ((_, rate),) = row.rates.items()
        ends = rate.interval or (math.nan, math.nan)
        inside = "" if math.isnan(ends[0]) else f" ({signed(ends[0])} to {signed(ends[1])})"
        told.append(f"{row.name}: {signed(rate.mean)}{inside}.")
    title = f"{found.series[0].dataset_name}: {heading or 'differences between models'}"
    numbers = " ".join([sentence(found), *told])
    notes = _notes(series_notes(found.series))
    return Picture(title, reading, numbers, partial(forest, figure), notes)


def _differences(
    found: Comparison | Ranking, names: Sequence[str], base: int | None
) -> "Iterable[Row]":
    from inspect_clbench.output.charts import MINUS, PUBLISHED, Row

    def row(name: str, heading: str, one: Difference, sign: int) -> Row:
        ends = sorted((sign * (one.low or 0.0), sign * (one.high or 0.0)))
        interval = None if one.low is None else (ends[0], ends[1])
        colour = INK if one.told_apart else PUBLISHED
        return Row(
            name, {heading: Rate(sign * one.difference, math.nan, interval)}, colour=colour
        )

    if isinstance(found, Comparison):
        sign = -1 if base == 0 else 1
        heading = MINUS.join(names) if sign > 0 else MINUS.join(reversed(names))
        yield row(OVERALL, heading, found.overall, sign)
        for category in found.categories:
            yield row(category.category, heading, category.difference, sign)
        return
    pairs = zip(combinations(range(len(names)), 2), found.groups[0].pairs, strict=True)
    for (a, b), one in pairs:
        if base is None or base in (a, b):
            first, second = (b, a) if a == base else (a, b)
            sign = -1 if a == base else 1
            yield row(f"{names[first]}{MINUS}{names[second]}", "", one, sign)


def _cost_picture(
    series: Sequence[Series], prices: str | PathLike[str] | Prices | None
) -> Picture:
    from inspect_clbench.output.charts import scatter

    if prices is None:
        raise ClbenchError(
            "cost: no prices. Give a file of them with --model-cost-config, as clbench costs "
            "takes it."
        )
    table = main_table(series, ci=True)
    figure = rate_figure(replace(table, groups=(OVERALL,)))
    rows = []
    for row, one in zip(figure.rows, series, strict=True):
        spent = costs(list(one.logs), prices).spent
        if not spent or not math.isfinite(row.rates[OVERALL].mean):
            raise ClbenchError(
                f"cost: {row.name}: its logs have no tokens or no scored row. Choose other "
                "models with --model."
            )
        runs = max(each.runs for each in spent)
        usd = math.fsum(each.total - each.after_run for each in spent)
        rows.append(replace(row, usd=usd / runs))
    figure = replace(figure, rows=tuple(rows))
    told = (
        f"{row.name}: {row.usd:,.2f} USD, solving rate {percent_text(row.rates[OVERALL])}."
        for row in rows
    )
    return Picture(
        f"{series[0].dataset_name}: cost of a run and solving rate",
        f"Cost of one run with its judge, in USD. Upright lines: {_INTERVAL}.{_marks(table)}",
        " ".join(told),
        partial(scatter, figure),
        _notes(rate_notes(table)),
    )
