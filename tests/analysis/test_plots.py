"""Pictures: that files are what they say, and that they show the report's numbers."""

import re
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from inspect_clbench.analysis import load_series, plot, report
from inspect_clbench.analysis.drawing.figures import KINDS, Kind, broken, figures
from inspect_clbench.analysis.drawing.pictures import Picture, save_picture
from inspect_clbench.analysis.drawing.plots import draw
from inspect_clbench.analysis.tables import Table
from inspect_clbench.errors import ClbenchError
from inspect_clbench.taxonomy import CLBENCH
from tests.support.builders import SUB_CATEGORIES, row
from tests.support.judges import clbench
from tests.support.scripted import scripted_eval

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
    scripted_eval(folder, ROWS, plan("yyy", "yyn", "nnn"), model="plain")
    scripted_eval(folder, ROWS, plan("yyy", "yyy", "yyn", "ynn"), model=HOSTILE)
    return str(folder)


def picture(logs: str, kind: Kind, *, published: bool = False) -> Picture:
    return draw(figures(load_series([logs]), kind, published=published), kind)


def rows_of_data(spec: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for values in spec["datasets"].values():
        yield from values


@pytest.mark.parametrize("ending", ["png", "svg", "pdf", "html"])
def test_files_are_what_they_say(
    demo_log: str,
    tmp_path: Path,
    ending: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    output = tmp_path / f"rates.{ending}"
    done = clbench(capsys, monkeypatch, "plot", demo_log, "--output", str(output))
    assert done == (0, "", "")
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


TABLES: dict[Kind, dict[str, Any]] = {
    "rates": {"ci": True},
    "sub_category": {"by": "sub_category"},
    "length": {"by": "length", "ci": True},
    "thresholds": {"thresholds": True, "ci": True},
}


def expected_points(table: Table, groups: tuple[str, ...]) -> set[tuple[Any, ...]]:
    points = set()
    for cells in table.rows:
        for group in groups:
            value = cells[table.columns.index(group)].value or {}
            numbers = (value.get(key) for key in ("mean", "std", "low", "high"))
            points.add((cells[0].text, group, *numbers))
    return points


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("published", [False, True])
def test_the_numbers_are_those_of_the_report(logs: str, kind: Kind, published: bool) -> None:
    (table,) = report(logs, published=published, **TABLES[kind])
    groups = figures(load_series([logs]), kind).groups
    drawn = {
        tuple(datum[key] for key in ("model", "group", "mean", "std", "low", "high"))
        for datum in rows_of_data(picture(logs, kind, published=published).spec())
    }
    wanted = expected_points(table, groups)
    if kind == "rates":  # a group without a rate is not drawn there
        wanted = {point for point in wanted if point[2] is not None}
    assert drawn == wanted
    assert len({model for model, *_ in drawn}) == len(table.rows)


def test_the_heatmap_has_the_papers_order(logs: str) -> None:
    blocks = picture(logs, "sub_category").spec()["hconcat"]
    headings = [" ".join(block["title"]["text"]) for block in blocks]
    assert headings == list(CLBENCH.categories)
    columns = [
        name.replace("\n", " ")
        for block in blocks
        for name in block["layer"][0]["encoding"]["x"]["scale"]["domain"]
    ]
    assert columns == list(CLBENCH.sub_categories)


def test_lengths_and_thresholds_stand_in_their_order(logs: str) -> None:
    lengths = figures(load_series([logs]), "length")
    assert lengths.groups == ("0-4K", "4-8K", "8-16K", "16-32K", "32K+")
    assert picture(logs, "length").lines[0].endswith("characters / 4; 1K = 1,024 tokens.")
    thresholds = figures(load_series([logs]), "thresholds")
    assert (thresholds.groups[0], thresholds.groups[-1]) == ("60 %", "100 %")
    means = [p.mean for p in thresholds.points if p.model.startswith("mockllm/plain")]
    assert means == sorted(means, key=lambda mean: -(mean or 0))


def test_best_first_and_incomplete_marked(logs: str) -> None:
    numbers = figures(load_series([logs]), "rates")
    assert numbers.rows[-1] == "mockllm/plain *"
    lines = draw(numbers, "rates").lines
    assert "* mockllm/plain: incomplete, 18 of 1,899 tasks." in lines
    assert "Judge: mockllm/judge; prompt: builtin." in lines


def test_hostile_names_stay_text(logs: str, tmp_path: Path) -> None:
    plot(logs, str(tmp_path / "x.svg"))
    root = ElementTree.fromstring((tmp_path / "x.svg").read_bytes())
    assert not {element.tag for element in root.iter()} & {f"{SVG}script", f"{SVG}image", "img"}
    assert "</script><script>" in "".join(root.itertext())
    plot(logs, str(tmp_path / "x.html"), kind="length")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert page.count("<script") == page.count("</script>") == 2
    assert "<img src=x" not in page
    assert "window.hacked=1\\u003c/script" in page


def test_a_page_needs_nothing_from_elsewhere(demo_log: str, tmp_path: Path) -> None:
    plot(demo_log, str(tmp_path / "x.html"), kind="sub_category")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert "default-src 'none'" in page
    markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
    assert not re.search(r"\b(src|href)=|url\(|@import|https?:", markup)
    assert not re.search(r"<script[^>]*\bsrc=", page)


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
        (["-o", "x.png", "--kind", "pie"], "kind=pie: unknown. There are: rates, sub_category"),
        (["-o", "x.png", "--chars-per-token", "0"], "use a number above 0"),
    ],
)
def test_bad_wishes(
    demo_log: str,
    tmp_path: Path,
    arguments: list[str],
    message: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, errors = clbench(capsys, monkeypatch, "plot", demo_log, *arguments)
    assert code == 2
    assert message in errors
    assert errors.count("\n") == 1
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
        f"{library} is not installed. Install it with: pip install 'inspect-clbench[plot]'"
    )


@pytest.mark.parametrize(
    ("name", "lines"),
    [
        ("openai/gpt-5.1", ["openai/gpt-5.1"]),
        (
            "together/meta-llama/Llama-4-Maverick-17B-128E-Instruct-FP8 *",
            ["together/meta-llama/Llama-4-", "Maverick-17B-128E-Instruct-FP8 *"],
        ),
        ("a" * 36 + "b" * 36 + "c" * 35, ["a" * 36, "…" + "c" * 35]),
    ],
)
def test_long_names_are_broken_where_their_parts_meet(name: str, lines: list[str]) -> None:
    assert broken(name).split("\n") == lines
