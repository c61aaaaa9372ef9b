"""Pictures as files: PNG, SVG, PDF or an HTML page, made without browser and network.

A picture for a paper is as wide as its columns, with lettering of 7 to 9 points and without a
title. What a caption needs, and the numbers in words, stand in a text file beside it, as they
do beside formats that cannot hold a text alternative. Fonts are embedded in PDF; in SVG text
stays text.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from importlib import import_module
from pathlib import PurePath
from textwrap import fill, wrap
from typing import TYPE_CHECKING, Any

from inspect_clbench.choices import Medium
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target, replacing, write_text
from inspect_clbench.output.html import DARK, INK, LINE, PAPER, SOFT, escaped, html_page
from inspect_clbench.output.tables import Note
from inspect_clbench.progress import tell
from inspect_clbench.text import install_command, shortened, visible

if TYPE_CHECKING:
    from inspect_clbench.output.charts import Chart, Form

PLOT_EXTRA = install_command("plot")
PICTURE_ENDINGS = (".png", ".svg", ".pdf", ".html", ".htm")
_PAPER_ENDINGS = (".pdf", ".svg")
_CAPTION_WIDTH = 96
_PNG_SCALE = 2
_INNER = 0.6

# Metrics of Arial everywhere: what is measured when the picture is made fits later on.
FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"

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
ul {{ font-size: .85rem; max-width: 55rem; overflow-wrap: anywhere; padding-left: 1.2rem; }}
@media screen and (prefers-color-scheme: dark) {{
  body {{ background: {DARK[PAPER]}; color: {DARK[INK]}; }}
  #vg-tooltip-element.vg-tooltip {{
    background: {DARK[PAPER]}; color: {DARK[INK]}; border-color: {DARK[LINE]};
  }}
  #vg-tooltip-element.vg-tooltip td.key {{ color: {DARK[SOFT]}; }}
}}
"""


@dataclass(frozen=True)
class Picture:
    """A chart, and the words that belong to it."""

    title: str
    reading: str
    """How it is to be read, in a line or two."""

    numbers: str
    """What it shows in words, with its numbers."""

    draw: "Callable[[Form, float], Chart]"
    """The chart for a form, when its panels are so wide together."""

    notes: tuple[Note, ...] = ()

    @property
    def alternative(self) -> str:
        return f"{self.title}. {self.reading} {self.numbers}"

    @property
    def caption(self) -> str:
        """All that a caption may need, and the picture in words."""
        notes = (str(note) for note in self.notes)
        parts = [f"{self.title}. {self.reading}", *notes, f"In numbers: {self.numbers}"]
        return "\n\n".join(fill(visible(part), _CAPTION_WIDTH) for part in parts) + "\n"

    def spec(self, form: "Form", *, words: bool = False, dark: bool = False) -> dict[str, Any]:
        """The whole Vega-Lite specification, as wide as the form, with its title or without."""
        inner = _INNER * form.width
        for _ in range(5):  # what stands around the panels may change with their width
            drawn = self.draw(form, inner).to_dict()
            told = {"description": self.alternative, "config": _config(form)}
            # A character that no XML can hold would end the process that measures it.
            spec = _mapped({**drawn, **told}, visible)
            spare = form.width - _width(_convert("svg", spec))
            if 0 <= spare < 3:
                break
            inner = max(inner + spare - 1, form.em(10))
        if words:
            most = int(form.width / form.em(0.5))
            lines = wrap(self.reading, most)
            spec["title"] = {"text": wrap(self.title, int(most / 1.3)), "subtitle": lines}
        colours = _dark() if dark else {}
        shown: dict[str, Any] = _mapped(spec, lambda text: colours.get(text, visible(text)))
        return shown


def _config(form: "Form") -> dict[str, Any]:
    small, title = round(0.9 * form.font, 2), round(1.35 * form.font, 2)
    return {
        "aria": False,
        "background": PAPER,
        "font": FONT,
        "padding": 2 if form.font < 10 else 12,
        "view": {"stroke": None},
        "axis": {
            "labelColor": SOFT, "labelFontSize": small, "titleColor": SOFT,
            "titleFontSize": small, "titleFontWeight": "normal", "domainColor": LINE,
            "tickColor": LINE, "gridColor": LINE, "tickSize": form.em(0.3),
            "titlePadding": form.em(0.4),
        },
        "legend": {
            "labelColor": INK, "labelFontSize": form.font, "titleColor": SOFT,
            "titleFontSize": small, "titleFontWeight": "normal", "symbolOpacity": 1,
            "gradientStrokeColor": PAPER,
        },
        "title": {
            "color": INK, "fontSize": title, "anchor": "start", "subtitleColor": SOFT,
            "subtitleFontSize": form.font, "subtitleLineHeight": round(1.35 * form.font, 2),
            "subtitlePadding": form.em(0.5), "offset": form.em(1.4),
        },
    }  # fmt: skip


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    # Names in titles and data come from logs, and a file of XML cannot hold every character.
    match value:
        case dict():
            return {key: _mapped(part, change) for key, part in value.items()}
        case list() | tuple():
            return [_mapped(part, change) for part in value]
    return change(value) if isinstance(value, str) else value


def _dark() -> dict[str, str]:
    from inspect_clbench.output.charts import DATA_DARK

    return {**DARK, **DATA_DARK}


def dark_css(scope: str) -> str:
    """Rules that repaint the pictures in SVG that `scope` selects, on dark screens only."""
    rules = "\n".join(
        f'  {scope} [{what}="{light}"] {{ {what}: {dark}; }}'
        for light, dark in _dark().items()
        for what in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme: dark) {{\n{rules}\n}}\n"


def form_for(medium: Medium) -> "Form":
    """How wide and with which lettering a picture is drawn."""
    from inspect_clbench.output.charts import Form

    # 3.3 and 6.8 inches in points, less than a point of rounding.
    sizes = {"paper": (237, 8, True), "paper-wide": (489, 8, False)}
    return Form(*sizes.get(medium, (900, 12.5, False)))


def save_picture(picture: Picture, output: str, medium: Medium = "screen") -> None:
    """Write a picture to a file, whole or not at all; the ending says the format.

    Warnings are told and never drawn. A caption goes to a file beside the picture's, where
    it is for a paper or the format cannot hold a text alternative.
    """
    ending = picture_ending(output, medium)
    form, paper = form_for(medium), medium.startswith("paper")
    if ending in (".html", ".htm"):
        content = interactive_page(picture).encode("utf-8", "replace")
    elif ending == ".svg":
        drawn = svg(picture, form, words=not paper, dark=medium == "dark")
        if paper:
            drawn = re.sub(r' (width|height)="([\d.]+)"', r' \1="\2pt"', drawn, count=2)
        content = drawn.encode("utf-8", "replace")
    else:
        spec = picture.spec(form, words=not paper, dark=medium == "dark")
        scale = {"scale": _PNG_SCALE} if ending == ".png" else {}
        content = _convert(ending[1:], spec, **scale)
    with replacing(output) as file:
        file.write(content)
    for note in picture.notes:
        if note.is_warning:
            tell(note.with_cure)
    if paper or ending in (".png", ".pdf"):
        write_text(PurePath(output).with_suffix(".caption.txt").as_posix(), picture.caption)


def picture_ending(output: str, medium: Medium = "screen") -> str:
    """The ending of a picture's file, if it is one that can be written."""
    check_target(output)
    ending = PurePath(output).suffix.lower()
    if ending not in PICTURE_ENDINGS:
        raise ClbenchError(
            f"{output}: its ending does not say the format. Use {', '.join(PICTURE_ENDINGS)}."
        )
    if medium.startswith("paper") and ending not in _PAPER_ENDINGS:
        raise ClbenchError(f"{output}: for a paper, write a .pdf or .svg: they can be scaled.")
    if medium == "dark" and ending.startswith(".htm"):
        raise ClbenchError(
            f"{output}: a page follows its reader's light or dark scheme. Leave out --for dark."
        )
    return ending


def svg(picture: Picture, form: "Form", *, words: bool = False, dark: bool = False) -> str:
    """A picture in SVG with its text alternative."""
    drawn: str = _convert("svg", picture.spec(form, words=words, dark=dark))
    opened = f'<svg role="img" aria-label="{escaped(picture.title)}"'
    head, end, body = drawn.replace("<svg", opened, 1).partition(">")
    told = picture.caption if words else picture.alternative
    return f"{head}{end}<desc>{escaped(told)}</desc>{body}"


def interactive_page(picture: Picture) -> str:
    """A page with the picture, its numbers under the pointer, and all scripts in itself."""
    options = {
        "mode": "vega-lite",
        "renderer": "svg",
        "ast": True,
        "actions": {"export": True, "source": False, "compiled": False, "editor": False},
    }
    wide, narrow = (
        _script_json(picture.spec(form, words=True))
        for form in (form_for("screen"), replace(form_for("paper"), width=325, font=12))
    )
    call = (
        f"const spec = innerWidth < 800 ? {narrow} : {wide};\n"
        f"vegaEmbed('#picture', spec, {_script_json(options)});"
    )
    bundle = plot_library("vl_convert").javascript_bundle(
        "window.vegaEmbed = vegaEmbed;", vl_version=_vegalite_version()
    )
    scripts = bundle.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    return html_page(
        picture.title,
        f'<div id="picture" role="img" aria-label="{escaped(picture.alternative)}"></div>\n'
        f"<ul>{''.join(f'<li>{escaped(str(note))}</li>' for note in picture.notes)}</ul>\n"
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


def _convert(format: str, spec: dict[str, Any], **options: Any) -> Any:
    convert = getattr(plot_library("vl_convert"), f"vegalite_to_{format}")
    try:
        return convert(spec, vl_version=_vegalite_version(), **options)
    except ValueError as ex:  # a name such as `toString` is taken for a word of Vega
        raise ClbenchError(
            f"This cannot be drawn ({shortened(str(ex), 120)}). Does a model have a name such "
            "as `if`? Give it another with --label."
        ) from None


def _width(drawn: str) -> float:
    found = re.search(r'\swidth="([\d.]+)"', drawn)
    return float(found[1]) if found else 0.0


def _vegalite_version() -> str:
    """The version for which altair wrote the chart, as vl-convert names it."""
    major, minor, *_ = plot_library("altair").SCHEMA_VERSION.removeprefix("v").split(".")
    return f"{major}.{minor}"


def _script_json(value: Any) -> str:
    """JSON that can stand in a script: nothing in it ends the script or opens a tag."""
    return json.dumps(value, allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
