"""Pictures can be read in light and in dark, also by the colour-blind."""

import json
import math
import re
from collections.abc import Sequence
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import get_args
from xml.etree import ElementTree

import numpy as np
import pytest

from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.choices import PlotKind
from inspect_clbench.output import plot
from inspect_clbench.output.charts import (
    DATA_DARK,
    ON_HIGH,
    ON_LOW,
    PALETTE,
    PUBLISHED,
    PUBLISHED_DARK,
    Figure,
    Row,
    heatmap,
)
from inspect_clbench.output.html import DARK, INK, PAPER, SOFT
from inspect_clbench.output.pictures import Picture, dark_css, form_for, svg
from tests.support.logs import make_log
from tests.support.scripted import tasks

COLOURED = {"fill", "stroke"}
CHANGES = {**DARK, **DATA_DARK}


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


# Machado, Oliveira and Fernandes (2009), severity 1, on linear RGB.
SIGHT = {
    "normal": [[1, 0, 0], [0, 1, 0], [0, 0, 1]],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
}
XYZ = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]


def lab(colour: str, sight: str) -> list[float]:
    shares = np.array(channels(colour)) / 255
    linear = np.where(shares <= 0.04045, shares / 12.92, ((shares + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(SIGHT[sight]) @ linear, 0, 1)
    x, y, z = (np.array(XYZ) @ seen) / (0.9505, 1, 1.089)
    fx, fy, fz = (
        c ** (1 / 3) if c > 216 / 24389 else (24389 / 27 * c + 16) / 116 for c in (x, y, z)
    )
    return [116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)]


def difference(one: Sequence[float], other: Sequence[float]) -> float:
    """CIEDE2000."""
    (l1, a1, b1), (l2, a2, b2) = one, other
    mean = (math.hypot(a1, b1) + math.hypot(a2, b2)) / 2
    g = 0.5 * (1 - math.sqrt(mean**7 / (mean**7 + 25**7)))
    a1, a2 = (1 + g) * a1, (1 + g) * a2
    c1, c2 = math.hypot(a1, b1), math.hypot(a2, b2)
    h1, h2 = (math.degrees(math.atan2(b, a)) % 360 for a, b in ((a1, b1), (a2, b2)))
    turn = (h2 - h1 + 180) % 360 - 180
    hue, light, chroma = (h1 + turn / 2) % 360, (l1 + l2) / 2, (c1 + c2) / 2
    t = 1 - sum(
        factor * math.cos(math.radians(times * hue + shift))
        for factor, times, shift in (
            (0.17, 1, -30),
            (-0.24, 2, 0),
            (-0.32, 3, 6),
            (0.2, 4, -63),
        )
    )
    s_l = 1 + 0.015 * (light - 50) ** 2 / math.sqrt(20 + (light - 50) ** 2)
    s_c, s_h = 1 + 0.045 * chroma, 1 + 0.015 * chroma * t
    d_h = 2 * math.sqrt(c1 * c2) * math.sin(math.radians(turn / 2)) / s_h
    rotation = -math.sin(math.radians(60 * math.exp(-(((hue - 275) / 25) ** 2))))
    rotation *= 2 * math.sqrt(chroma**7 / (chroma**7 + 25**7))
    d_l, d_c = (l2 - l1) / s_l, (c2 - c1) / s_c
    return math.sqrt(d_l**2 + d_c**2 + d_h**2 + rotation * d_c * d_h)


def test_the_difference_is_that_of_its_authors() -> None:
    """From the table of Sharma, Wu and Dalal (2005)."""
    assert difference((50, 2.6772, -79.7751), (50, 0, -82.7485)) == pytest.approx(
        2.0425, abs=1e-4
    )
    assert difference((50, 2.5, 0), (73, 25, -18)) == pytest.approx(27.1492, abs=1e-4)
    assert difference((2.0776, 0.0795, -1.135), (0.9033, -0.0636, -0.5514)) == pytest.approx(
        0.9082, abs=1e-4
    )


@pytest.mark.parametrize("sight", SIGHT)
@pytest.mark.parametrize("paper", ["light", "dark"])
def test_models_are_told_apart_by_everybody(sight: str, paper: str) -> None:
    colours = [*PALETTE, PUBLISHED] if paper == "light" else [*PALETTE.values(), PUBLISHED_DARK]
    for one, other in combinations(colours, 2):
        assert difference(lab(one, sight), lab(other, sight)) >= 12, (one, other)


@pytest.mark.parametrize("colour", [*PALETTE, PUBLISHED])
def test_data_stands_out_on_either_paper(colour: str) -> None:
    assert contrast(colour, PAPER) >= 3
    assert contrast(DATA_DARK[colour], DARK[PAPER]) >= 3


@pytest.mark.parametrize("ink", [INK, SOFT])
def test_text_can_be_read_on_either_paper(ink: str) -> None:
    assert contrast(ink, PAPER) >= 4.5
    assert contrast(DARK[ink], DARK[PAPER]) >= 4.5


def heatmap_marks(figure: Figure) -> dict[str, list[ElementTree.Element]]:
    """The cells of a heatmap and the numbers on them, in the order of the groups."""
    drawn = svg(Picture("Heat", "", "", partial(heatmap, figure)), form_for("screen"))
    return {
        element.attrib["class"].split()[0]: list(element)
        for element in ElementTree.fromstring(drawn).iter()
        if "role-mark" in element.get("class", "")
    }


def test_numbers_can_be_read_in_every_cell_of_the_heatmap() -> None:
    groups = tuple(str(step) for step in range(0, 101, 4))
    row = Row("m", {group: Rate(int(group) / 100) for group in groups})
    marks = heatmap_marks(Figure((row,), groups, (("All", len(groups)),)))
    pairs = {
        (cell.attrib["fill"], text.attrib["fill"])
        for cell, text in zip(marks["mark-rect"], marks["mark-text"], strict=True)
    }
    assert {text for _, text in pairs} == {ON_LOW, ON_HIGH}
    for cell, text in pairs:
        assert contrast(cell, text) >= 4.5 or (
            cell == "#4486c3" and contrast(cell, text) >= 3.7
        )
        assert contrast(CHANGES[cell], CHANGES[text]) >= 4.5


def test_low_cells_do_not_glow_in_the_dark() -> None:
    groups = ("0", "50")
    marks = heatmap_marks(
        Figure((Row("m", {"0": Rate(0.0), "50": Rate(0.5)}),), groups, (("All", 2),))
    )
    low, high = (CHANGES[cell.attrib["fill"]] for cell in marks["mark-rect"])
    assert contrast(low, DARK[PAPER]) < 1.3 < 4 < contrast(high, DARK[PAPER])


def test_a_group_without_a_rate_can_be_read_on_either_paper() -> None:
    row = Row("m", {"A": Rate(0.5), "B": Rate(float("nan"))})
    marks = heatmap_marks(Figure((row,), ("A", "B"), (("All", 2),)))
    (dash,) = (text for text in marks["mark-text"] if text.text == "–")
    ink = dash.attrib["fill"]
    assert contrast(ink, PAPER) >= 3
    assert contrast(CHANGES[ink], DARK[PAPER]) >= 3


@pytest.mark.parametrize("kind", get_args(PlotKind))
def test_no_colour_is_left_that_only_suits_one_scheme(tmp_path: Path, kind: PlotKind) -> None:
    """Files are light unless asked for dark, and a page can repaint what is in them."""
    rows = tasks(*"abcdef")
    for number, model in enumerate(("one", "two", "three")):
        plan = {
            id: ["yyy", "nnn" if (n + number) % 3 else "yyy"] for n, id in enumerate("abcdef")
        }
        make_log(tmp_path, rows, plan, model=model)
    cost = {"input": 1.0, "output": 1.0, "input_cache_write": 1.0, "input_cache_read": 1.0}
    prices = tmp_path / "prices.json"
    names = ("one", "two", "three", "judge")
    prices.write_text(json.dumps({f"mockllm/{name}": cost for name in names}))
    used = {}
    for medium in ("screen", "dark"):
        output = tmp_path / f"{medium}.svg"
        given = str(prices) if kind == "cost" else None
        plot(str(tmp_path), str(output), kind=kind, medium=medium, prices=given)
        root = ElementTree.fromstring(output.read_bytes())
        assert root.find("{http://www.w3.org/2000/svg}style") is None
        used[medium] = {
            value
            for element in root.iter()
            for name, value in element.attrib.items()
            if name in COLOURED
        } - {"none", "transparent"}
    assert used["screen"] & set(DARK), "are the colours still written as attributes?"
    assert used["screen"] <= set(CHANGES)
    assert used["dark"] <= set(CHANGES.values())


def test_each_colour_that_changes_has_its_rule() -> None:
    css = dark_css("svg.marks")
    assert css.startswith("@media screen and (prefers-color-scheme: dark)")
    for light, dark in CHANGES.items():
        assert f'svg.marks [fill="{light}"] {{ fill: {dark}; }}' in css
        assert f'svg.marks [stroke="{light}"] {{ stroke: {dark}; }}' in css
    assert len(re.findall(r"\{ (fill|stroke): ", css)) == 2 * len(CHANGES)
