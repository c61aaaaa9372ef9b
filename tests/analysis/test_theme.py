"""Pictures can be read in light and in dark: contrasts, and that all colours are known."""

import re
from xml.etree import ElementTree

import pytest

from inspect_clbench.analysis import load_series
from inspect_clbench.analysis.drawing.figures import KINDS, Kind, figures
from inspect_clbench.analysis.drawing.pictures import svg
from inspect_clbench.analysis.drawing.plots import draw
from inspect_clbench.analysis.drawing.theme import (
    DARK,
    INK,
    NO_DATA,
    PALETTE,
    PAPER,
    PUBLISHED,
    SOFT,
    contrast,
    dark_css,
    heat,
)

COLOURED = {"fill", "stroke"}


def test_contrast_is_that_of_wcag() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.005)
    assert contrast("#ffffff", "#777777") == contrast("#777777", "#ffffff")


@pytest.mark.parametrize("colour", [*PALETTE, PUBLISHED, NO_DATA])
def test_data_stands_out_on_either_paper(colour: str) -> None:
    assert contrast(colour, PAPER) >= 3
    assert contrast(colour, DARK[PAPER]) >= 3


@pytest.mark.parametrize("ink", [INK, SOFT])
def test_text_can_be_read_on_either_paper(ink: str) -> None:
    assert contrast(ink, PAPER) >= 4.5
    assert contrast(DARK[ink], DARK[PAPER]) >= 4.5


def test_numbers_can_be_read_in_every_cell_of_the_heatmap() -> None:
    for step in range(101):
        fill, ink = heat(step / 100)
        assert contrast(fill, ink) >= 4.5, (step, fill, ink)
    assert heat(-1)[0] == heat(0)[0]
    assert heat(2)[0] == heat(1)[0]


@pytest.mark.parametrize("kind", KINDS)
def test_no_colour_is_left_that_only_suits_one_scheme(demo_log: str, kind: Kind) -> None:
    numbers = figures(load_series([demo_log]), kind)
    drawn = svg(draw(numbers, kind))
    root = ElementTree.fromstring(drawn)
    used = {
        value
        for element in root.iter()
        for name, value in element.attrib.items()
        if name in COLOURED
    }
    most = max(point.mean or 0.0 for point in numbers.points)
    cells = {c for p in numbers.points if p.mean is not None for c in heat(p.mean / most)}
    stays = {*PALETTE, PUBLISHED, NO_DATA, "none", "transparent"} | cells
    assert used & set(DARK), "nothing to repaint: are the colours still written as attributes?"
    assert used <= set(DARK) | stays


def test_each_colour_that_changes_has_its_rule() -> None:
    css = dark_css("svg.marks")
    assert css.startswith("@media screen and (prefers-color-scheme: dark)")
    for light, dark in DARK.items():
        assert f'svg.marks [fill="{light}"] {{ fill: {dark}; }}' in css
        assert f'svg.marks [stroke="{light}"] {{ stroke: {dark}; }}' in css
    assert len(re.findall(r"\{ (fill|stroke): ", css)) == 2 * len(DARK)
