"""Pictures of the report's tables: rates, sub-categories, lengths, thresholds."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from inspect_clbench.analysis.drawing.charts import heatmap, rates_chart
from inspect_clbench.analysis.drawing.curves import curves
from inspect_clbench.analysis.drawing.figures import KINDS, Figures, Kind, figures
from inspect_clbench.analysis.drawing.pictures import (
    Picture,
    picture_ending,
    plot_library,
    save_picture,
)
from inspect_clbench.analysis.reading.groups import TokenRule
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.series import load_series
from inspect_clbench.errors import ClbenchError

if TYPE_CHECKING:
    import altair as alt

    from inspect_clbench.analysis.drawing.curves import Curves

__all__ = ["KINDS", "Kind", "draw", "plot"]

_MOST_WARNINGS = 3
_INTERVAL = "95 % interval of the mean, clustered on contexts"


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
    known = _known(kind)
    picture_ending(output)
    plot_library("vl_convert")
    series = load_series(paths)
    numbers = figures(series, known, published=published, tokens=tokens)
    if published and not numbers.sources:
        raise ClbenchError(
            f"{kind}: nobody published such rates of {series[0].taxonomy.title}. Leave out "
            "--published."
        )
    if numbers.empty:
        raise ClbenchError(f"{kind}: there is nothing to draw, no row of the logs is scored.")
    save_picture(draw(numbers, known), output)


def draw(numbers: Figures, kind: Kind, *, alone: bool = True) -> Picture:
    """The picture of these numbers.

    Args:
        numbers: The numbers.
        kind: Which picture.
        alone: Whether it must say for itself who judged and what a reader is warned of.
    """
    plot_library("altair")
    chart: alt.HConcatChart | Curves
    match kind:
        case "rates":
            chart = rates_chart(numbers)
            reading = f"Upright: mean over runs. Band: ± std over runs. Line: {_INTERVAL}."
        case "sub_category":
            chart, reading = heatmap(numbers), "In %, mean over runs. Darker is higher."
        case "length":
            chart = curves(numbers, "Prompt length in tokens")
            reading = f"Mean over runs, with the {_INTERVAL}. {numbers.note}"
        case "thresholds":
            chart = curves(numbers, "Share of rubrics needed to pass")
            reading = (
                f"Mean over runs, with the {_INTERVAL}. At 100 % all rubrics are needed, as "
                f"for the solving rate. {numbers.note}"
            )
    lines = [reading, *numbers.sources]
    if alone:
        lines += [numbers.judge, *_warnings(numbers)]
    return Picture(numbers.title, tuple(line for line in lines if line), chart.to_dict())


def _known(kind: str) -> Kind:
    for known in KINDS:
        if kind == known:
            return known
    raise ClbenchError(f"kind={kind}: unknown. There are: {', '.join(KINDS)}.")


def _warnings(numbers: Figures) -> Sequence[str]:
    if len(numbers.warnings) <= _MOST_WARNINGS:
        return numbers.warnings
    words = "* incomplete. " if any(w.startswith("*") for w in numbers.warnings) else ""
    return [f"{words}There are {len(numbers.warnings)} warnings: see clbench report."]
