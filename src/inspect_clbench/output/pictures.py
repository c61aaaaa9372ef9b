"""Pictures as files: PNG, SVG, PDF or an HTML page, made without browser and network."""

import json
from dataclasses import dataclass
from importlib import import_module
from pathlib import PurePath
from textwrap import wrap
from typing import Any

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target, replacing
from inspect_clbench.output.html import escaped, html_page
from inspect_clbench.output.theme import DARK, FONT, INK, LINE, PAPER, SOFT, dark_css
from inspect_clbench.text import install_command, visible

PLOT_EXTRA = install_command("plot")
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".html", ".htm")
_TEXT_WIDTH = 110
_PNG_SCALE = 2

# What a page may do: nothing but show itself. Vega's expressions are interpreted, so
# that not even evaluating strings as code has to be allowed.
_POLICY = (
    "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data: blob:; base-uri 'none'; form-action 'none'"
)
_PAGE_STYLE = f"""
:root {{ color-scheme: light dark; }}
body {{ background: {PAPER}; color: {INK}; font-family: {FONT}; margin: 1.5rem; }}
#picture {{ overflow-x: auto; }}
#picture svg {{ background: none !important; }}
@media screen and (prefers-color-scheme: dark) {{
  body {{ background: {DARK[PAPER]}; color: {DARK[INK]}; }}
  #vg-tooltip-element.vg-tooltip {{
    background: {DARK[PAPER]}; color: {DARK[INK]}; border-color: {DARK[LINE]};
  }}
  #vg-tooltip-element.vg-tooltip td.key {{ color: {DARK[SOFT]}; }}
}}
"""

_CONFIG = {
    "aria": False,
    "background": PAPER,
    "font": FONT,
    "padding": 12,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT, "labelFontSize": 11, "titleColor": SOFT, "titleFontSize": 12,
        "titleFontWeight": "normal", "domainColor": LINE, "tickColor": LINE, "gridColor": LINE,
    },
    "legend": {"labelColor": INK, "symbolOpacity": 1, "offset": 24},
    "text": {"fontSize": 11.5},
    "title": {
        "color": INK, "fontSize": 16, "anchor": "start", "subtitleColor": SOFT,
        "subtitleFontSize": 12, "subtitleLineHeight": 16, "subtitlePadding": 6, "offset": 18,
    },
}  # fmt: skip


@dataclass(frozen=True)
class Picture:
    """A chart, and the words that belong to it."""

    title: str
    lines: tuple[str, ...]
    """How it is to be read, and what a reader must know."""

    chart: dict[str, Any]
    """A Vega-Lite specification without title and colours of paper and text."""

    def spec(self, *, words: bool = True) -> dict[str, Any]:
        """The whole Vega-Lite specification, with title and lines or without."""
        description = " ".join((f"{self.title}.", *self.lines))
        spec = {**self.chart, "description": description, "config": _CONFIG}
        if words:
            lines = [part for line in self.lines for part in wrap(line, _TEXT_WIDTH)]
            spec["title"] = {"text": wrap(self.title, _TEXT_WIDTH), "subtitle": lines}
        return {key: _visible(value) for key, value in spec.items()}


def _visible(value: Any) -> Any:
    # Names in titles and data come from logs, and a file of XML cannot hold every character.
    match value:
        case dict():
            return {key: _visible(part) for key, part in value.items()}
        case list() | tuple():
            return [_visible(part) for part in value]
    return visible(value) if isinstance(value, str) else value


def save_picture(picture: Picture, output: str) -> None:
    """Write a picture to a file, whole or not at all; the ending says the format."""
    match picture_ending(output):
        case ".png":
            content = _converted("png", picture, scale=_PNG_SCALE)
        case ".pdf":
            content = _converted("pdf", picture)
        case ".svg":
            content = svg(picture).encode("utf-8", "replace")
        case _:
            content = interactive_page(picture).encode("utf-8", "replace")
    with replacing(output) as file:
        file.write(content)


def picture_ending(output: str) -> str:
    """The ending of a picture's file, if it is one that can be written."""
    check_target(output)
    ending = PurePath(output).suffix.lower()
    if ending not in PICTURE_ENDINGS:
        raise ClbenchError(
            f"{output}: its ending does not say the format. Use {', '.join(PICTURE_ENDINGS)}."
        )
    return ending


def svg(picture: Picture, *, words: bool = True) -> str:
    """A picture in SVG that follows the reader's light or dark scheme."""
    drawn: str = _converted("svg", picture, words=words)
    opened = f'<svg role="img" aria-label="{escaped(picture.title)}"'
    head, end, body = drawn.replace("<svg", opened, 1).partition(">")
    return f"{head}{end}<style>{dark_css('svg.marks')}</style>{body}"


def interactive_page(picture: Picture) -> str:
    """A page with the picture, its numbers under the pointer, and all scripts in itself."""
    options = {
        "mode": "vega-lite",
        "renderer": "svg",
        "ast": True,
        "actions": {"export": True, "source": False, "compiled": False, "editor": False},
    }
    call = f"vegaEmbed('#picture', {_script_json(picture.spec())}, {_script_json(options)});"
    bundle = plot_library("vl_convert").javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=_vegalite_version()
    )
    scripts = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return html_page(
        picture.title,
        f'<main id="picture" aria-label="{escaped(picture.title)}"></main>\n'
        f"<script type=module>{call}</script>",
        policy=_POLICY,
        style=f"{_PAGE_STYLE}{dark_css('#picture')}",
        script=scripts,
    )


def plot_library(name: str) -> Any:
    """A library that draws, altair or vl_convert, or what to do when they are not installed."""
    try:
        return import_module(name)
    except ImportError:
        raise ClbenchError(f"{name} is not installed. Install it with: {PLOT_EXTRA}") from None


def _converted(format: str, picture: Picture, words: bool = True, **options: Any) -> Any:
    convert = getattr(plot_library("vl_convert"), f"vegalite_to_{format}")
    return convert(picture.spec(words=words), vl_version=_vegalite_version(), **options)


def _vegalite_version() -> str:
    """The version for which altair wrote the chart, as vl-convert names it."""
    major, minor, *_ = plot_library("altair").SCHEMA_VERSION.removeprefix("v").split(".")
    return f"{major}.{minor}"


def _script_json(value: Any) -> str:
    """JSON that can stand in a script: nothing in it ends the script or opens a tag."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
