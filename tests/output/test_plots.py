"""Pictures: that files are what they say, and that they show the report's numbers."""

import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from inspect_clbench.analysis import load_series, report
from inspect_clbench.analysis.report import RateRow, RateTable
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.choices import PlotKind
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import plot, tables_of
from inspect_clbench.output.figures import broken, rate_figure
from inspect_clbench.output.pictures import Picture, save_picture
from inspect_clbench.output.plots import plotted_table, rates_picture
from tests.support.builders import SUB_CATEGORIES, row
from tests.support.command import clbench, usage_error
from tests.support.logs import make_log

HOSTILE = "</script><script>window.hacked=1</script><img src=x onerror=alert(1)>\"&'\\n{{x}}"
SVG = "{http://www.w3.org/2000/svg}"

ROWS = [
    row(f"t{n}", context=f"c{n % 9}", sub_category=sub, question="x" * 9_000 * (n % 5) + f"\nTASK=t{n}")
    for n, sub in enumerate(SUB_CATEGORIES)
]  # fmt: skip


def plan(*patterns: str) -> dict[str, list[str]]:
    """Outcomes that differ from task to task and from run to run."""
    return {
        f"t{n}": [patterns[(n + run) % len(patterns)] for run in range(2)]
        for n in range(len(ROWS))
    }


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two models, one of them with a name that wants to be more than a name."""
    folder = tmp_path_factory.mktemp("plots")
    make_log(folder, ROWS, plan("yyy", "yyn", "nnn"), model="plain")
    make_log(folder, ROWS, plan("yyy", "yyy", "yyn", "ynn"), model=HOSTILE)
    return str(folder)


@pytest.fixture(scope="module")
def spec(logs: str) -> Callable[..., dict[str, Any]]:
    """The chart of a picture, with its data."""

    @cache
    def drawn(kind: PlotKind, *, published: bool = False) -> dict[str, Any]:
        table = plotted_table(load_series(logs), kind, published=published)
        return rates_picture(table, kind).spec()

    return drawn


def rows_of_data(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for values in spec["datasets"].values():
        yield from values


def groups_of(spec: dict[str, Any]) -> tuple[str, ...]:
    """The groups of tasks that are drawn, in their order."""
    return tuple(dict.fromkeys(datum["group"] for datum in rows_of_data(spec)))


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_files_are_what_they_say(demo_log: str, tmp_path: Path, ending: str) -> None:
    output = tmp_path / f"rates.{ending}"
    done = clbench("plot", demo_log, "--output", str(output))
    assert done == (0, "", f"Wrote {output}\n")
    content = output.read_bytes()
    match ending:
        case "png":
            assert content.startswith(b"\x89PNG\r\n\x1a\n")
            width, height = struct.unpack(">II", content[16:24])
            assert width > 1500
            assert height > 200
        case "svg":
            root = ElementTree.fromstring(content)
            assert root.tag == f"{SVG}svg"
            texts = {text.text for text in root.iter(f"{SVG}text")}
            assert {"clbench_demo/student", "41.7 ± 8.3"} <= texts
        case "pdf":
            assert content.startswith(b"%PDF-1.")
            assert content.rstrip().endswith(b"%%EOF")
        case _:
            assert content.startswith(b"<!DOCTYPE html>")
            assert b"vegaEmbed('#picture'" in content
            page = content.decode("utf-8")
            assert "default-src 'none'" in page
            assert not re.search(r"<script[^>]*\bsrc=", page)
            markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
            assert not re.search(r"\b(src|href)=|url\(|@import|https?:", markup)


TABLES: dict[PlotKind, dict[str, Any]] = {
    "rates": {"ci": True},
    "sub_category": {"by": "sub_category"},
    "length": {"by": "length", "ci": True},
    "thresholds": {"thresholds": True, "ci": True},
}
NOT_DRAWN = {"length": "Overall", "thresholds": "Rubrics met"}
FIGURES = ("mean", "std", "low", "high")


@pytest.mark.parametrize(
    ("kind", "published"),
    [*((kind, False) for kind in TABLES), ("rates", True), ("sub_category", True)],
)
def test_the_numbers_are_those_of_the_report(
    logs: str, spec: Callable[..., dict[str, Any]], kind: PlotKind, published: bool
) -> None:
    found = report(logs, published=published, **TABLES[kind])
    (numbers,), (table,) = found.tables, tables_of(found)
    assert not published or numbers.published
    drawn = {
        tuple(datum[key] for key in ("model", "group", *FIGURES))
        for datum in rows_of_data(spec(kind, published=published))
    }
    wanted = {
        (cells[0].text, group, *((rate or Rate(math.nan)).as_row()[key] for key in FIGURES))
        for row, cells in zip(numbers.rows, table.rows, strict=True)
        for group, rate in row.rates.items()
        if group != NOT_DRAWN.get(kind)
    }
    if kind == "rates":  # a group without a rate is not drawn there
        wanted = {point for point in wanted if point[2] is not None}
    assert drawn == wanted
    assert len({model for model, *_ in drawn}) == len(table.rows)


def test_numbers_are_taken_from_the_table_of_rates_and_not_from_text(logs: str) -> None:
    series = report(logs).tables[0].series
    exact = Rate(1 / 3, 1 / 7, (0.25, 0.5))
    rows = (
        RateRow("50.0 ± 10.0", "50.0 ± 10.0 [1.0, 2.0]", {"70 %": exact, "80 %": None}),
        RateRow("other", "other", {"70 %": Rate(0.2), "80 %": Rate(math.nan)}),
    )
    figure = rate_figure(RateTable("main", series, (), ("70 %", "80 %"), rows))
    first, unknown, other, _ = figure.points
    assert first.rate is exact
    datum = first.datum()
    assert [datum[key] for key in FIGURES] == [1 / 3, 1 / 7, 0.25, 0.5]
    assert (datum["rate"], datum["interval"]) == ("33.3 ± 14.3", "25.0 to 50.0")
    assert [point.known for point in figure.points] == [True, False, True, False]
    assert unknown.datum()["mean"] is None
    assert other.datum()["std_high"] is None
    assert figure.rows == ("50.0 ± 10.0 [1.0, 2.0]", "other")


def test_the_heatmap_has_the_papers_order(spec: Callable[..., dict[str, Any]]) -> None:
    blocks = spec("sub_category")["hconcat"]
    headings = [" ".join(block["title"]["text"]) for block in blocks]
    assert headings == list(CLBENCH.categories)
    columns = [
        name.replace("\n", " ")
        for block in blocks
        for name in block["layer"][0]["encoding"]["x"]["scale"]["domain"]
    ]
    assert columns == list(CLBENCH.sub_categories)


def test_lengths_and_thresholds_stand_in_their_order(
    spec: Callable[..., dict[str, Any]],
) -> None:
    lengths = spec("length")
    assert groups_of(lengths) == ("0-4K", "4-8K", "8-16K", "16-32K", "32K+")
    assert "characters / 4; 1K = 1,024 tokens." in lengths["description"]
    thresholds = spec("thresholds")
    groups = groups_of(thresholds)
    assert (groups[0], groups[-1]) == ("60 %", "100 %")
    means = [d["mean"] for d in rows_of_data(thresholds) if d["model"] == "mockllm/plain *"]
    assert len(means) == len(groups)
    assert means == sorted(means, key=lambda mean: -(mean or 0))


def test_best_first_and_incomplete_marked(
    logs: str, spec: Callable[..., dict[str, Any]]
) -> None:
    (table,) = report(logs, ci=True).tables
    assert rate_figure(table).rows[-1] == "mockllm/plain *"
    told = spec("rates")["description"]
    assert "* mockllm/plain: incomplete, 18 of 1,899 tasks." in told
    assert "Judge: mockllm/judge; prompt: builtin." in told


def test_hostile_names_stay_text(
    logs: str, spec: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    plot(logs, str(tmp_path / "x.svg"))
    root = ElementTree.fromstring((tmp_path / "x.svg").read_bytes())
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}image", "img"}
    assert "</script><script>" in "".join(root.itertext())
    plot(logs, str(tmp_path / "x.html"), kind="length")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img src=x" not in page
    assert "window.hacked=1\\u003c/script" in page
    call = page.rpartition("vegaEmbed('#picture', ")[2]
    assert json.JSONDecoder().raw_decode(call)[0] == spec("length")


def test_published_rows_only_where_there_are_some(demo_log: str, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"nobody published such rates of CL-bench\."):
        plot(demo_log, str(tmp_path / "x.svg"), kind="thresholds", published=True)
    plot(demo_log, str(tmp_path / "x.svg"), published=True)
    assert "GPT 5.1 (High) †" in (tmp_path / "x.svg").read_text("utf-8")
    assert "† Published, not run here: arXiv:2602.03587v1" in (tmp_path / "x.svg").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.gif"], "x.gif: its ending does not say the format. Use .png, .svg, .pdf"),
        (["-o", "x.png", "--chars-per-token", "0"], "use a number above 0"),
    ],
)
def test_bad_wishes(
    demo_log: str,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = clbench("plot", demo_log, *arguments)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_a_kind_that_there_is_not(demo_log: str, tmp_path: Path) -> None:
    output = str(tmp_path / "x.png")
    told = usage_error(clbench("plot", demo_log, "-o", output, "--kind", "pie"))
    assert "Invalid value for '--kind'" in told
    assert "'pie' is not one of 'rates', 'sub_category', 'length', 'thresholds'" in told
    with pytest.raises(ClbenchError, match=r"kind=pie: unknown\. There are: rates, sub"):
        plot(demo_log, output, kind="pie")
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    output = tmp_path / "x.png"
    output.write_bytes(b"good")
    with pytest.raises(ValueError):
        save_picture(Picture("t", (), {"mark": "no such mark"}), str(output))
    assert output.read_bytes() == b"good"
    assert [path.name for path in tmp_path.iterdir()] == ["x.png"]


@pytest.mark.parametrize("library", ["altair", "vl_convert"])
def test_without_the_extra_the_message_is_how_to_get_it(
    demo_log: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, library: str
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ClbenchError) as caught:
        plot(demo_log, str(tmp_path / "x.png"))
    assert str(caught.value) == (
        f"{library} is not installed. Install it with: pip install '.[plot]'"
    )


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("openai/gpt-5.1", ["openai/gpt-5.1"]),
        (
            "together/meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8",
            ["together/meta-llama/Llama-4-", "Maverick-17B-128E-Instruct-FP8"],
        ),
        ("a" * 36 + "b" * 36 + "c" * 35, ["a" * 36, "…" + "c" * 35]),
    ],
)
def test_long_names_are_broken_where_their_parts_meet(name: str, lines: list[str]) -> None:
    assert broken(name).split("\n") == lines
