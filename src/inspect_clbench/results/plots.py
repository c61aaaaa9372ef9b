"""Pictures of the tables, for a paper's text or column; the caption belongs to the paper."""

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing
from inspect_clbench.results.table import short_names
from inspect_clbench.text import one_line, shortened

KINDS = ("rates", "forest", "heatmap", "length", "cost")
FORMATS = (".svg", ".pdf", ".png")
PIXELS_PER_INCH = 96
PNG_PIXELS_PER_INCH = 220
POINTS = 72 / PIXELS_PER_INCH  # of a pixel, which vl_convert takes for a point


def plot(answers: pd.DataFrame, kind: str, path: str | Path, width: float = 6.5, prices: Any = None) -> Path:
    """Draw a picture and write it to a file.

    Args:
        answers: From `answers_df`, of one dataset.
        kind: `rates`, overall and by category; `forest`, the differences of `compare`; `heatmap`,
            rates by sub-category; `length`, rates by the length of the prompt; `cost`, rates
            against the price of a run.
        path: The file; its ending, .svg, .pdf or .png, says how it is written.
        width: In inches: 6.5 is the width of a page's text, 3.3 of a column.
        prices: For `cost`, as `costs` takes them.

    Returns:
        The file that was written.
    """
    path = Path(path)
    if path.suffix.lower() not in FORMATS:
        raise ClbenchError(f"{path}: a picture ends in {', '.join(FORMATS)}.")
    content = _written(draw(answers, kind, width, prices), path.suffix.lower())
    with replacing(path) as file:
        file.write(content)
    return path


def draw(answers: pd.DataFrame, kind: str, width: float = 6.5, prices: Any = None) -> Any:
    """The picture as an altair chart."""
    if kind not in KINDS:
        raise ClbenchError(f"{kind}: no such picture. There are {', '.join(KINDS)}.")
    chart = getattr(charts_module(), kind)
    answers = answers.assign(name=answers["name"].map(short_names(answers["name"])))
    words = ["name", "category", "sub_category"]  # vl_convert stops at characters that no XML can hold
    answers[words] = answers[words].map(one_line)
    pixels = PIXELS_PER_INCH * width - 8  # of which the edges
    return chart(answers, pixels, prices) if kind == "cost" else chart(answers, pixels)


def svg(picture: Any) -> str:
    """An altair chart as the text of an SVG file."""
    return _written(picture, ".svg").decode()


def charts_module() -> ModuleType:
    """The charts, or an error that says how to get the libraries that draw them."""
    try:
        import altair  # noqa: F401  # only whether it is installed matters here, as for the next
        import vl_convert  # noqa: F401  # charts and `_written` import what they use
    except ImportError as ex:
        raise ClbenchError(f"Pictures need {ex.name}: pip install altair vl-convert-python") from ex
    from inspect_clbench.results import charts

    return charts


def _written(picture: Any, ending: str) -> bytes:
    import vl_convert

    spec = picture.to_json()
    try:
        content = vl_convert.vegalite_to_svg(spec)
    except ValueError as ex:  # of a name such as constructor, which JavaScript's objects have
        raise ClbenchError(
            f"The picture cannot be drawn ({shortened(str(ex), 100)}). Rename what it shows."
        ) from ex
    if ending == ".png":
        return bytes(vl_convert.vegalite_to_png(spec, scale=POINTS, ppi=PNG_PIXELS_PER_INCH))
    if ending == ".svg":
        return content.encode()
    size = re.compile(r'(?<= width=")[\d.]+|(?<= height=")[\d.]+')
    content = size.sub(lambda side: str(POINTS * float(side[0])), content, count=2)  # of the whole: the first
    return bytes(vl_convert.svg_to_pdf(content))
