"""Pictures: files of the size that was asked for, with the numbers of the tables and names as they are."""

import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.page import explore
from inspect_clbench.results.plots import KINDS, draw, plot, svg
from tests.support.builders import SUB_CATEGORIES, row
from tests.support.logs import make_log

HOSTILE = "made/x\x1b<script>alert(1)<b>' + datum.mean + \"${y}"
NAMES = (
    "openai/gpt-5.1",
    "anthropic/claude-opus-4-5-20251101",
    "moonshotai/kimi-k2-thinking",
    "google/gemini-3-pro-preview",
    "qwen/qwen3-max-2025-09-23",
    "openrouter/mistralai/mistral-large-2512-instruct",
    "meta-llama/llama-4-maverick-17b-128e-instruct",
    "x-ai/grok-4.1-fast-reasoning",
    "z-ai/glm-4.6",
    "minimax/minimax-m2",
    "deepseek/deepseek-v3.2-speciale",
    HOSTILE,
)


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> pd.DataFrame:
    """Twelve models: the n-th solves all tasks but those of its first n sub-categories."""
    folder = tmp_path_factory.mktemp("plots")
    rows = [row(sub, context=f"{sub} {n}", sub_category=sub, question="Long. " * 9_000 * (n + 1))
            for n, sub in enumerate(SUB_CATEGORIES)]  # fmt: skip
    for number, model in enumerate(NAMES):
        plan = {sub: ["nyy"] for sub in SUB_CATEGORIES[: number + 1]}
        make_log(folder, rows, plan, model=model)
    return answers_df(str(folder))


@pytest.fixture(scope="module")
def prices(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A file of prices: each model twice as dear as the one before it."""
    dollars = {"mockllm/judge": 1, **{name: 2**number for number, name in enumerate(NAMES)}}
    kinds = ("input", "output", "input_cache_write", "input_cache_read")
    path = tmp_path_factory.mktemp("prices") / "prices.json"
    path.write_text(
        json.dumps({name: dict.fromkeys(kinds, price) for name, price in dollars.items()}), "utf-8"
    )
    return str(path)


def models(answers: pd.DataFrame, number: int) -> pd.DataFrame:
    return answers[answers["model"].isin(NAMES[:number])]


def texts(picture: str) -> list[str]:
    """The words of a picture, line by line."""
    root = ElementTree.fromstring(picture)
    return [
        "".join(element.itertext())
        for element in root.iter()
        if element.tag.endswith(("}text", "}tspan")) and not list(element)
    ]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("number", "inches"), [(1, 6.5), (2, 3.3), (6, 6.5), (12, 6.5), (12, 3.3)])
def test_a_picture_fits_its_page_and_names_each_model(
    everything: pd.DataFrame, prices: str, kind: str, number: int, inches: float
) -> None:
    if (kind, number) == ("forest", 1):
        with pytest.raises(ClbenchError, match="another model"):
            draw(models(everything, 1), kind, inches)
        return
    picture = svg(draw(models(everything, number), kind, inches, prices))
    width = float(ElementTree.fromstring(picture).attrib["width"])
    assert width <= 96 * inches * 1.03
    if number > 2 or kind == "rates":
        assert width >= 96 * inches * 0.85
    words = "".join(texts(picture)).replace(" ", "")
    for model in NAMES[:number]:
        assert model.rsplit("/", 1)[-1].replace(" ", "")[-12:] in words
    assert "<script" not in picture  # of the hostile name
    assert ("x\ufffd<script>alert(1)" in words) is (number == 12)


def test_heads_above_narrow_columns_are_not_folded(everything: pd.DataFrame) -> None:
    name = "claude-opus-4-5-20251101"
    assert name in texts(svg(draw(models(everything, 12), "heatmap", 3.3)))
    assert name not in texts(svg(draw(models(everything, 2), "heatmap", 3.3))), "there is room for two lines"


@pytest.mark.parametrize("ending", [".svg", ".png", ".pdf", ".PNG"])
def test_the_ending_says_how_it_is_written(everything: pd.DataFrame, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"rates{ending}"
    assert plot(models(everything, 6), "rates", path) == path
    content = path.read_bytes()
    if ending == ".svg":
        inches = float(ElementTree.fromstring(content).attrib["width"]) / 96
    elif ending == ".pdf":
        found = re.search(rb"MediaBox ?\[0 0 ([\d.]+)", content)
        assert found
        inches = float(found[1]) / 72
    else:
        assert content.startswith(b"\x89PNG")
        inches = int.from_bytes(content[16:20], "big") / 220
    assert 5.7 < inches <= 6.7


def test_the_figures_are_those_of_the_tables(everything: pd.DataFrame) -> None:
    two = models(everything, 2)
    words = texts(svg(draw(two, "heatmap")))
    assert words.count("0") == 3  # one sub-category of the first model, two of the second
    assert words.count("100") == 33
    assert "Finance (1)" in words
    words = texts(svg(draw(two, "forest")))
    assert "Points that gpt-5.1 solves more than claude-opus-4-5-20251101" in words
    assert any(word.startswith("5.6 [") for word in words)  # 17 and 16 of 18


def test_costs_need_prices(everything: pd.DataFrame, prices: str, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"prices above 0\. No price is known for"):
        draw(everything, "cost")
    assert "Dollars a run" in texts(svg(draw(everything, "cost", prices=prices)))
    free = tmp_path / "free.json"  # which no scale of logarithms has
    free.write_text(re.sub(r": \d+", ": 0", Path(prices).read_text("utf-8")), "utf-8")
    with pytest.raises(ClbenchError, match="prices above 0"):
        draw(everything, "cost", prices=free)


def test_a_name_that_vega_cannot_take_is_said(everything: pd.DataFrame, tmp_path: Path) -> None:
    answers = everything.assign(category="constructor")
    with pytest.raises(ClbenchError, match="cannot be drawn"):
        plot(answers, "rates", tmp_path / "rates.png")
    explore(answers, tmp_path / "page.html", without=["answers"])


def test_without_the_libraries_the_message_says_what_to_install(
    everything: pd.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "rates.svg").write_text("as it was", encoding="utf-8")
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ClbenchError, match="pip install altair vl-convert-python"):
        plot(everything, "rates", tmp_path / "rates.svg")
    with pytest.raises(ClbenchError, match=r"rates.gif: a picture ends in .svg, .pdf, .png"):
        plot(everything, "rates", tmp_path / "rates.gif")
    with pytest.raises(ClbenchError, match="bars: no such picture"):
        plot(everything, "bars", tmp_path / "bars.svg")
    assert (tmp_path / "rates.svg").read_text("utf-8") == "as it was"
