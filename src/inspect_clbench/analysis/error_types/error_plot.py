"""The heatmap of error types by groups of tasks."""

from inspect_clbench.analysis.drawing.charts import heatmap
from inspect_clbench.analysis.drawing.figures import Figures, Point, broken
from inspect_clbench.analysis.drawing.pictures import (
    Picture,
    picture_ending,
    plot_library,
    save_picture,
)
from inspect_clbench.analysis.error_types.errors import By, cross_table, known_by
from inspect_clbench.analysis.reading.error_records import LabelledSeries, load_labelled
from inspect_clbench.analysis.reading.groups import grouping
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.text import one_line
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.error_types import ERROR_TYPES

_LABEL_WIDTH = 30


def error_heatmap(paths: Paths, output: str, *, by: str = "category") -> None:
    """Draw which error types the failed answers of which tasks show.

    Args:
        paths: Log files, folders or URLs.
        output: The file: .png, .svg, .pdf or .html.
        by: `category` or `sub_category`.
    """
    chosen = known_by(by)
    picture_ending(output)
    plot_library("vl_convert")
    save_picture(error_picture(load_labelled(paths), chosen), output)


def error_picture(found: LabelledSeries, by: By) -> Picture:
    """The picture of a cross table: a row per type and model, a cell per group of tasks."""
    plot_library("altair")
    groups = grouping(by, found.series[0].taxonomy)
    table = cross_table(found, by)
    several = len(found.series) > 1
    points = []
    for row in table.rows:
        model, title = one_line(row[0].text), row[1].text
        if title not in ERROR_TYPES.values():
            continue
        label = f"{broken(model, _LABEL_WIDTH, 1)}\n{title}" if several else title
        for name in groups.names:
            cell = row[table.columns.index(name)]
            value = cell.value or {}
            points.append(
                Point(
                    row=label, model=f"{model}: {title}", group=name, mean=value.get("mean"),
                    std=None, low=None, high=None, text=cell.text, published=False,
                )
            )  # fmt: skip
    if all(point.mean is None for point in points):
        raise ClbenchError("There is nothing to draw: no failed answer has usable labels.")
    # How it is to be read comes first, warnings come last.
    notes = sorted(map(one_line, table.notes), key=lambda note: note.startswith(("! ", "* ")))
    numbers = Figures(
        title=table.title,
        rows=tuple(dict.fromkeys(point.row for point in points)),
        groups=groups.names,
        points=tuple(points),
        warnings=(),
        judge="",
        spans=groups.spans or ((groups.title.capitalize(), len(groups.names)),),
    )
    return Picture(table.title, tuple(notes), heatmap(numbers).to_dict())
