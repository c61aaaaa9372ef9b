"""Pictures can be read in light and in dark: contrasts, and that all colours are known."""

import re
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import pytest

from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.choices import PlotKind
from inspect_clbench.output import plot
from inspect_clbench.output.charts import heatmap
from inspect_clbench.output.figures import Figure, Point
from inspect_clbench.output.pictures import Picture, svg
from inspect_clbench.output.theme import DARK, INK, PALETTE, PAPER, PUBLISHED, SOFT, dark_css

COLOURED = {"fill", "stroke"}
STAYS = {*PALETTE, PUBLISHED, "none", "transparent"}


def channels(colour: str) -> list[int]:
    if colour.startswith("rgb("):
        return [int(channel) for channel in re.findall(r"\d+", colour)]
    return [int(colour[place : place + 2], 16) for place in (1, 3, 5)]


def luminance(colour: str) -> float:
    shares = (channel / 255 for channel in channels(colour))
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in shares
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG 2 defines it, from 1 to 21."""
    darker, lighter = sorted((luminance(one), luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


@pytest.mark.parametrize("colour", [*PALETTE, PUBLISHED])
def test_data_stands_out_on_either_paper(colour: str) -> None:
    assert contrast(colour, PAPER) >= 3
    assert contrast(colour, DARK[PAPER]) >= 3


@pytest.mark.parametrize("ink", [INK, SOFT])
def test_text_can_be_read_on_either_paper(ink: str) -> None:
    assert contrast(ink, PAPER) >= 4.5
    assert contrast(DARK[ink], DARK[PAPER]) >= 4.5


def heatmap_marks(figure: Figure) -> dict[str, list[ElementTree.Element]]:
    """The cells of a heatmap and the numbers on them, in the order of the points."""
    drawn = svg(Picture("Heat", (), heatmap(figure).to_dict()), words=False)
    return {
        element.attrib["class"].split()[0]: list(element)
        for element in ElementTree.fromstring(drawn).iter()
        if "role-mark" in element.get("class", "")
    }


def test_numbers_can_be_read_in_every_cell_of_the_heatmap() -> None:
    groups = tuple(str(step) for step in range(101))
    points = tuple(Point("m", "m", group, Rate(int(group) / 100)) for group in groups)
    marks = heatmap_marks(Figure(("m",), groups, points, (("All", len(groups)),)))
    contrasts = {
        text.text: contrast(cell.attrib["fill"], text.attrib["fill"])
        for cell, text in zip(marks["mark-rect"], marks["mark-text"], strict=True)
    }
    assert len(contrasts) == 101
    # What is repainted in the dark would no longer go with its cell.
    fills = {one.attrib["fill"] for one in (*marks["mark-rect"], *marks["mark-text"])}
    assert not fills & set(DARK)
    assert not {number: found for number, found in contrasts.items() if found < 4.5}


def test_a_group_without_a_rate_can_be_read_on_either_paper() -> None:
    points = (Point("m", "m", "A", Rate(0.5)), Point("m", "m", "B", Rate(float("nan"))))
    marks = heatmap_marks(Figure(("m",), ("A", "B"), points, (("All", 2),)))
    (dash,) = (text for text in marks["mark-text"] if text.text == "–")
    ink = dash.attrib["fill"]
    assert contrast(ink, PAPER) >= 3
    assert contrast(DARK.get(ink, ink), DARK[PAPER]) >= 3


@pytest.mark.parametrize("kind", get_args(PlotKind))
def test_no_colour_is_left_that_only_suits_one_scheme(
    demo_log: str, kind: PlotKind, tmp_path: Path
) -> None:
    plot(demo_log, str(tmp_path / "x.svg"), kind=kind)
    root = ElementTree.fromstring((tmp_path / "x.svg").read_bytes())
    cells = {  # with colours of their own, and numbers that go with them
        element
        for group in root.iter()
        if kind == "sub_category" and "role-mark" in group.get("class", "")
        for element in group
    }
    used = {
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name in COLOURED and element not in cells
    }
    assert used & set(DARK), "nothing to repaint: are the colours still written as attributes?"
    assert used <= set(DARK) | STAYS


def test_each_colour_that_changes_has_its_rule() -> None:
    css = dark_css("svg.marks")
    assert css.startswith("@media screen and (prefers-color-scheme: dark)")
    for light, dark in DARK.items():
        assert f'svg.marks [fill="{light}"] {{ fill: {dark}; }}' in css
        assert f'svg.marks [stroke="{light}"] {{ stroke: {dark}; }}' in css
    assert len(re.findall(r"\{ (fill|stroke): ", css)) == 2 * len(DARK)
