"""Pictures of rates: overall, by sub-category, by length, by threshold, and of error types."""

from collections.abc import Sequence
from typing import get_args

from inspect_clbench.analysis.errors import errors
from inspect_clbench.analysis.groups import TokenRule
from inspect_clbench.analysis.report import RUBRICS_MET, RateTable, report
from inspect_clbench.benchmarks import OVERALL
from inspect_clbench.choices import PlotKind
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.files import Paths, check_one_dataset
from inspect_clbench.logs.series import Series, load_series
from inspect_clbench.output.figures import Figure, error_figure, rate_figure
from inspect_clbench.output.notes import (
    judge_line,
    label_notes,
    rate_notes,
    series_notes,
    threshold_notes,
    token_notes,
)
from inspect_clbench.output.pictures import Picture, picture_ending, plot_library, save_picture
from inspect_clbench.output.tables import Note

PLOT_KINDS: tuple[PlotKind, ...] = get_args(PlotKind)

_MOST_WARNINGS = 3
_INTERVAL = "95 % interval for tasks of the kind, clustered on contexts"
_DRAWN = "95 % interval of what all tasks would have given in these same runs"


def plot(
    paths: Paths,
    output: str,
    *,
    kind: str = "rates",
    published: bool = False,
    tokens: TokenRule | None = None,
) -> None:
    """Draw a picture of the solving rates in logs and write it to a file.

    Args:
        paths: Log files, folders or URLs.
        output: The file; .png, .svg, .pdf or .html, one that needs nothing beside it.
        kind: `rates`, overall and by category; `sub_category`, a heatmap; `length`, by
            prompt length; `thresholds`, the pass rate at 60 to 100 % of the rubrics.
        published: Add the rows that the benchmark's authors published.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
    """
    chosen = next((known for known in PLOT_KINDS if known == kind), None)
    if chosen is None:
        raise ClbenchError(f"kind={kind}: unknown. There are: {', '.join(PLOT_KINDS)}.")
    picture_ending(output)
    plot_library("vl_convert")
    plot_library("altair")
    table = plotted_table(
        _of_one_dataset(load_series(paths)), chosen, published=published, tokens=tokens
    )
    if published and not table.published:
        title = table.series[0].benchmark.title
        raise ClbenchError(
            f"{kind}: nobody published such rates of {title}. Leave out --published."
        )
    if not any(point.known for point in drawn_figure(table).points):
        raise ClbenchError(f"{kind}: there is nothing to draw, no row of the logs is scored.")
    save_picture(rates_picture(table, chosen), output)


def error_heatmap(paths: Paths, output: str, *, by: str = "category") -> None:
    """Draw which error types the failed answers of which tasks show.

    Args:
        paths: Log files, folders or URLs.
        output: The file: .png, .svg, .pdf or .html.
        by: `category` or `sub_category`.
    """
    picture_ending(output)
    plot_library("vl_convert")
    plot_library("altair")
    from inspect_clbench.output.charts import heatmap

    found = errors(paths, by=by)
    _of_one_dataset(found.series)
    (crossed,) = found.crossed
    figure = error_figure(crossed)
    if not any(point.known for point in figure.points):
        raise ClbenchError("There is nothing to draw: no failed answer has usable labels.")
    name = found.series[0].dataset_name
    title = f"{name}: error types of failed answers in % by {crossed.divided_by}"
    # How it is to be read comes first, warnings come last.
    notes = sorted(
        [*series_notes(found.series), *label_notes(found.series, found.unlabelled)],
        key=_is_warning,
    )
    save_picture(Picture(title, tuple(map(str, notes)), heatmap(figure).to_dict()), output)


def _of_one_dataset(series: Sequence[Series]) -> Sequence[Series]:
    check_one_dataset([log for one in series for log in one.logs])
    return series


def plotted_table(
    series: Sequence[Series],
    kind: PlotKind,
    *,
    published: bool = False,
    tokens: TokenRule | None = None,
) -> RateTable:
    """The numbers of a picture, which are those of the report's table."""
    (table,) = report(
        series,
        by=[kind] if kind in ("sub_category", "length") else [],
        thresholds=kind == "thresholds",
        published=published,
        ci=kind != "sub_category",  # the heatmap has no room for intervals
        tokens=tokens,
    ).tables
    return table


def drawn_figure(table: RateTable) -> Figure:
    """What is drawn of a table: curves are of their own groups only."""
    left_out = {"length": OVERALL, "thresholds": RUBRICS_MET}.get(table.kind)
    return rate_figure(table, [group for group in table.groups if group != left_out])


def rates_picture(table: RateTable, kind: PlotKind, *, alone: bool = True) -> Picture:
    """The picture of a table; if alone, it says who judged and what a reader is warned of."""
    plot_library("altair")
    from inspect_clbench.output.charts import Chart, curves, heatmap, rates_chart

    chart: Chart
    figure = drawn_figure(table)
    match kind:
        case "rates":
            title = "solving rate"
            chart = rates_chart(figure)
            reading = f"Upright: mean over runs. Band: ± std over runs. Line: {_INTERVAL}."
        case "sub_category":
            title = "solving rate by sub-category"
            chart = heatmap(figure)
            reading = "In %, mean over runs. Darker is higher."
        case "length":
            title = "solving rate by prompt length"
            chart = curves(figure, "Prompt length in tokens")
            reading = f"Mean over runs, with the {_INTERVAL}. {' '.join(token_notes(table))}"
        case "thresholds":
            title = "pass rate by share of rubrics met"
            chart = curves(figure, "Share of rubrics needed to pass")
            reading = (
                f"Mean over runs, with the {_INTERVAL}. At 100 % all rubrics are needed, as "
                f"for the solving rate. {' '.join(threshold_notes(table.series))}"
            )
    notes = [note for note in rate_notes(table) if isinstance(note, Note)]
    lines = [reading.strip(), *(str(note) for note in notes if note.kind == "source")]
    if alone:
        told = [str(note) for note in notes if note.kind in ("estimate", "unlike")]
        lines += [judge_line(table.series), *told, *_warnings(notes)]
    if table.ci and any(row.is_estimate for row in table.rows):
        lines.insert(1, f"Dashed, after ~: {_DRAWN}.")
    return Picture(f"{table.series[0].dataset_name}: {title}", tuple(lines), chart.to_dict())


def _warnings(notes: Sequence[Note]) -> list[str]:
    warnings = [str(note) for note in notes if note.kind in ("incomplete", "warning")]
    if len(warnings) <= _MOST_WARNINGS:
        return warnings
    words = "* incomplete. " if any(note.kind == "incomplete" for note in notes) else ""
    return [f"{words}There are {len(warnings)} warnings: see clbench report."]


def _is_warning(note: Note | str) -> bool:
    return isinstance(note, Note) and note.is_warning
