"""Pictures: that files are what they say, and that they show the report's numbers."""

import json
import math
import re
import struct
import sys
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast
from xml.etree import ElementTree

import pytest
from inspect_ai.model import ModelCost

from inspect_clbench.analysis import (
    Comparison,
    Ranking,
    compare,
    costs,
    find_logs,
    load_series,
    report,
)
from inspect_clbench.analysis.report import (
    RateRow,
    RateTable,
    exactly,
    solved_counts_table,
)
from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.choices import Medium, PlotKind
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.series import by_dataset
from inspect_clbench.output import plot, tables_of
from inspect_clbench.output.charts import (
    COLOURS,
    OTHERS,
    Figure,
    Row,
    broken,
    rates_chart,
    signed,
)
from inspect_clbench.output.pictures import Picture, form_for, save_picture, svg
from inspect_clbench.output.plots import PAGE_KINDS, plotted_table, rate_figure, rates_picture
from tests.support.builders import SUB_CATEGORIES, row
from tests.support.command import clbench, usage_error
from tests.support.logs import make_log
from tests.support.scripted import ERROR, tasks

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
        table = plotted_table(by_dataset(load_series(logs))[0], kind, published=published)
        return rates_picture(table, kind).spec(form_for("screen"), words=True)

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
    caption = tmp_path / "rates.caption.txt"
    assert (done.exit_code, done.stdout) == (0, "")
    assert done.stderr.startswith(
        f"Wrote {output}\n! clbench_demo/student: no verdict for 3 rows"
    )
    assert caption.exists() == (ending in ("png", "pdf"))
    if caption.exists():
        told = " ".join(caption.read_text("utf-8").split())
        assert "CL-bench demo: solving rate. In %. Dot: mean over runs." in told
        assert "In numbers: clbench_demo/student: Overall 41.7 ± 8.3 (" in told
        assert "no verdict for 3 rows" in told
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
            assert "no verdict" not in "".join(text or "" for text in texts)
            assert "Overall 41.7 ± 8.3" in (root.findtext(f"{SVG}desc") or "")
            assert root.attrib["aria-label"] == "CL-bench demo: solving rate"
        case "pdf":
            assert content.startswith(b"%PDF-1.")
            assert content.rstrip().endswith(b"%%EOF")
        case _:
            assert content.startswith(b"<!DOCTYPE html>")
            assert b"vegaEmbed('#picture', spec" in content
            page = content.decode("utf-8")
            assert "default-src 'none'" in page
            assert not re.search(r"<script[^>]*\bsrc=", page)
            markup = re.sub(r"<script.*?</script>", "", page, flags=re.DOTALL)
            assert not re.search(r"\b(src|href)=|url\(|@import|https?:", markup)


TABLES: dict[PlotKind, dict[str, Any]] = {
    "rates": {"ci": True},
    "sub_category": {"by": "sub_category", "ci": True},
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
        tuple(datum[key] for key in ("row", "group", *FIGURES))
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
    first, unknown, other, _ = figure.data()
    assert [first[key] for key in FIGURES] == [1 / 3, 1 / 7, 0.25, 0.5]
    assert (first["rate"], first["interval"]) == ("33.3 ± 14.3", "25.0 to 50.0")
    assert unknown["mean"] is None
    assert other["std_high"] is None
    assert figure.domain() == ["50.0 ± 10.0 [1.0, 2.0]", "other"]


def test_the_heatmap_has_the_papers_order(spec: Callable[..., dict[str, Any]]) -> None:
    blocks = spec("sub_category")["hconcat"]
    headings = [" ".join(block["title"]["text"]) for block in blocks]
    assert headings == list(CLBENCH.categories)
    columns = [
        name.rpartition(" (")[0]
        for block in blocks
        for name in block["layer"][0]["encoding"]["x"]["scale"]["domain"]
    ]
    assert columns == list(CLBENCH.sub_categories)


def test_lengths_and_thresholds_stand_in_their_order(
    spec: Callable[..., dict[str, Any]],
) -> None:
    lengths = spec("length")
    assert groups_of(lengths) == ("0-4K", "4-8K", "8-16K", "16-32K", "32K+")
    thresholds = spec("thresholds")
    groups = groups_of(thresholds)
    assert (groups[0], groups[-1]) == ("60 %", "100 %")
    means = [d["mean"] for d in rows_of_data(thresholds) if d["row"] == "mockllm/plain *"]
    assert len(means) == len(groups)
    assert means == sorted(means, key=lambda mean: -(mean or 0))


def test_best_first_and_incomplete_marked(
    logs: str, spec: Callable[..., dict[str, Any]]
) -> None:
    rows = list(dict.fromkeys(datum["row"] for datum in rows_of_data(spec("rates"))))
    assert rows[-1] == "mockllm/plain *"
    picture = rates_picture(plotted_table(by_dataset(load_series(logs))[0], "rates"), "rates")
    told = " ".join(picture.caption.split())
    assert "mockllm/plain: incomplete, 18 of 1,899 tasks." in told
    assert told.count("incomplete, ") == 1, "of both models at once"
    assert "Judge: mockllm/judge; prompt: builtin." in told
    assert picture.reading.endswith("*: incomplete.")


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
    wide = page.rpartition("} : {")[2]
    assert json.JSONDecoder().raw_decode("{" + wide)[0] == spec("length")


def test_published_rows_only_where_there_are_some(demo_log: str, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"nobody published such rates of CL-bench\."):
        plot(demo_log, str(tmp_path / "x.svg"), kind="thresholds", published=True)
    plot(demo_log, str(tmp_path / "x.svg"), published=True)
    drawn = (tmp_path / "x.svg").read_text("utf-8")
    assert "GPT 5.1 (High) †" in drawn
    assert "†: published, not run here." in drawn


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-o", "x.gif"], "x.gif: its ending does not say the format. Use .png, .svg, .pdf"),
        (["-o", "x.png", "--chars-per-token", "0"], "use a number above 0"),
        (["-o", "x.png", "--for", "paper"], "x.png: for a paper, write a .pdf or .svg"),
        (["-o", "x.html", "--for", "dark"], "a page follows its reader's light or dark scheme"),
        (["-o", "x.svg", "--against", "m"], "rates: --against goes with --kind forest."),
        (
            ["-o", "x.svg", "--kind", "cost"],
            "cost: no prices. Give a file of them with --model-",
        ),
        (["-o", "x.svg", "--kind", "forest"], "one model only (clbench_demo/student)"),
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
    assert (
        "'pie' is not one of 'rates', 'sub_category', 'length', 'thresholds', 'forest'" in told
    )
    with pytest.raises(ClbenchError, match=r"kind=pie: unknown\. There are: rates, sub"):
        plot(demo_log, output, kind="pie")
    assert not list(tmp_path.iterdir())


def test_a_picture_that_fails_leaves_the_old_one(tmp_path: Path) -> None:
    output = tmp_path / "x.png"
    output.write_bytes(b"good")
    bad = SimpleNamespace(to_dict=lambda: {"mark": "no such mark"})
    with pytest.raises(ClbenchError, match="This cannot be drawn"):
        save_picture(Picture("t", "", "", lambda form, inner: cast(Any, bad)), str(output))
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
        ("one/model-a − another/model-b-of-2026", ["one/model-a −", "another/model-b-of-2026"]),
    ],
)
def test_long_names_are_broken_where_their_parts_meet(name: str, lines: list[str]) -> None:
    assert broken(name, 36).split("\n") == lines


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Twelve models, of which the later ones solve less."""
    folder = tmp_path_factory.mktemp("many")
    for number in range(12):
        plan = {
            f"t{n}": ["yyy" if (5 * n + run) % 14 > number else "nny" for run in range(3)]
            for n in range(len(ROWS))
        }
        make_log(folder, ROWS, plan, model=f"maker/model-{number}-2026-01-01")
    return str(folder)


@pytest.mark.parametrize("medium", ["paper", "paper-wide"])
@pytest.mark.parametrize("kind", [*PAGE_KINDS, "forest"])
def test_for_a_paper(many: str, tmp_path: Path, kind: PlotKind, medium: str) -> None:
    labels = {f"model-{n}-": f"Model {n}" for n in range(12)}
    found = find_logs(many, labels=labels)
    output = tmp_path / "x.svg"
    plot(found, str(output), kind=kind, medium=medium)
    root = ElementTree.fromstring(output.read_bytes())
    width = float(root.attrib["width"].removesuffix("pt"))
    wanted = {"paper": 3.3, "paper-wide": 6.8}[medium] * 72
    assert wanted - 12 <= width <= wanted
    texts = [text for text in root.iter(f"{SVG}text") if text.text or list(text)]
    sizes = {float(text.attrib["font-size"].removesuffix("px")) for text in texts}
    assert 7 <= min(sizes) <= max(sizes) <= 9
    told = "".join(root.itertext())
    assert "Model 0" in told
    assert "maker/" not in told
    assert "CL-bench: " not in "".join("".join(text.itertext()) for text in texts)
    assert "Model 11" in (tmp_path / "x.caption.txt").read_text("utf-8")


def test_in_a_column_published_models_stand_below_where_names_would_collide(
    many: str,
) -> None:
    table = plotted_table(by_dataset(load_series(many))[0], "sub_category", published=True)
    spec = rates_picture(table, "sub_category").spec(form_for("paper"))
    parts = [
        part["vconcat"][0]["layer"][0]["encoding"]["x"]["scale"]["domain"]
        for part in spec["vconcat"]
    ]
    # In their order, each part as large as the next, and none of both kinds.
    assert [name for part in parts for name in part] == [
        row.name for row in rate_figure(table).rows
    ]
    assert [len(part) for part in parts] == [6, 6, 10]
    assert [all(name.endswith("†") for name in part) for part in parts] == [False, False, True]
    wide = rates_picture(table, "sub_category").spec(form_for("paper-wide"))
    (rows, *_) = (b["layer"][0]["encoding"]["y"]["scale"]["domain"] for b in wide["hconcat"])
    assert len(rows) == 23  # with an empty one between them


def test_dots_do_not_hide_the_intervals_of_full_runs() -> None:
    # As a full run has them: 1.1 points at a rate of 20 %, and one category at 50 %.
    groups = ("Overall", *CLBENCH.categories)
    rates = dict.fromkeys(groups, Rate(0.2, 0.005, (0.178, 0.222)))
    high = rates | {groups[-1]: Rate(0.5, 0.01, (0.44, 0.56))}
    figure = Figure((Row("A model", rates), Row("Another model", high)), groups)
    drawn = Picture("Rates", "", "", partial(rates_chart, figure))
    media: tuple[Medium, ...] = ("screen", "paper", "paper-wide")
    for medium in media:
        text = svg(drawn, form_for(medium))
        line = re.search(r'mark-rule role-mark.*?<line [^>]*x2="([\d.]+)"', text)
        dot = re.search(
            r'mark-symbol role-mark.*?d="M([\d.]+),.*?stroke-width="([\d.]+)"', text
        )
        assert line
        assert dot
        assert float(line[1]) / 2 > float(dot[1]) + float(dot[2]) / 2, medium


def test_fonts_are_embedded_in_pdf(logs: str, tmp_path: Path) -> None:
    plot(logs, str(tmp_path / "x.pdf"), medium="paper")
    content = (tmp_path / "x.pdf").read_bytes()
    (width,) = re.findall(rb"/MediaBox \[0 0 ([\d.]+)", content)
    assert 234 <= float(width) <= 3.3 * 72
    assert b"/FontFile2" in content or b"/FontFile3" in content
    assert b"/Subtype /Image" not in content


def test_a_model_has_one_colour_in_all_pictures(many: str) -> None:
    series = by_dataset(load_series(many))[0]
    for kind in PAGE_KINDS:
        rows = rate_figure(plotted_table(series, kind)).rows
        assert [row.colour for row in rows] == [*COLOURS, *[OTHERS] * 6]
        assert [row.name for row in rows] == [f"{one.model} *" for one in series]


def test_forest_shows_the_differences_of_compare(many: str, tmp_path: Path) -> None:
    logs = find_logs(many, model=["model-0-", "model-1-", "model-9-"])
    ranking = compare(*logs)
    assert isinstance(ranking, Ranking)
    output = tmp_path / "x.svg"
    plot(logs, str(output), kind="forest")
    drawn = ElementTree.fromstring(output.read_bytes()).findtext(f"{SVG}desc") or ""
    for (a, b), one in zip(
        combinations(ranking.names, 2), ranking.groups[0].pairs, strict=True
    ):
        assert f"{a} − {b}: {signed(one.difference)}" in drawn
    plot(logs, str(output), kind="forest", against="model-1-")
    drawn = ElementTree.fromstring(output.read_bytes()).findtext(f"{SVG}desc") or ""
    first, second, third = ranking.names
    one = ranking.groups[0].pairs[2]
    assert f"{third} − {second}: {signed(-one.difference)}" in drawn
    assert f"{first} − {third}" not in drawn
    with pytest.raises(ClbenchError, match="--against nobody: no such model"):
        plot(logs, str(output), kind="forest", against="nobody")


def test_forest_of_two_models_is_by_category(logs: str, tmp_path: Path) -> None:
    found = compare(*find_logs(logs))
    assert isinstance(found, Comparison)
    plot(logs, str(tmp_path / "x.svg"), kind="forest")
    drawn = ElementTree.fromstring((tmp_path / "x.svg").read_bytes()).findtext(f"{SVG}desc")
    assert f"Overall: {signed(found.overall.difference)}" in (drawn or "")
    # Which is subtracted from which stands in the picture, whatever it is drawn for.
    for medium in ("screen", "paper"):
        plot(
            find_logs(logs, labels={"plain": "P", "script": "Q"}),
            str(tmp_path / "y.svg"),
            kind="forest",
            medium=medium,
        )
        root = ElementTree.fromstring((tmp_path / "y.svg").read_bytes())
        texts = ["".join(text.itertext()) for text in root.iter(f"{SVG}text")]
        assert any(" − ".join(pair) in text for text in texts for pair in ("PQ", "QP"))
    long = find_logs(logs, labels={"plain": "A name " * 30, "script": "Other name " * 30})
    plot(long, str(tmp_path / "y.svg"), kind="forest", medium="paper")
    root = ElementTree.fromstring((tmp_path / "y.svg").read_bytes())
    assert float(root.attrib["width"].removesuffix("pt")) <= 3.3 * 72
    assert all(one.category in (drawn or "") for one in found.categories)


def test_consistency_counts_runs(tmp_path: Path) -> None:
    plan = {"a": ["yyy"] * 3, "b": ["yyy", "nnn", "nnn"], "c": ["nnn"] * 3, "d": ["nnn"] * 3}
    log = make_log(tmp_path, tasks("a", "b", "c", "d"), plan).location
    (row,) = solved_counts_table(load_series(log)).rows
    means = {group: rate.mean for group, rate in row.rates.items() if rate}
    assert means == {"0 of 3": 0.5, "1 of 3": 0.25, "2 of 3": 0, "3 of 3": 0.25}
    # Of three runs, two by two: b is solved in one of two in two of three choices.
    assert [exactly(3, 1, 2, number) for number in range(3)] == [1 / 3, 2 / 3, 0]
    one = make_log(tmp_path / "one", tasks("a"), {"a": ["yyy"]}).location
    with pytest.raises(ClbenchError, match="mockllm/student has one run"):
        plot(one, str(tmp_path / "x.svg"), kind="consistency")


def test_consistency_draws_nothing_for_a_model_without_verdicts(tmp_path: Path) -> None:
    for model, outcome in (("good", "yyy"), ("gone", ERROR)):
        make_log(
            tmp_path, tasks("a", "b"), {"a": [outcome] * 2, "b": [outcome] * 2}, model=model
        )
    table = plotted_table(by_dataset(load_series(str(tmp_path)))[0], "consistency")
    spec = rates_picture(table, "consistency").spec(form_for("screen"))
    assert {datum["row"].split(" ")[0] for datum in rows_of_data(spec)} == {"mockllm/good"}


def test_pointers_say_what_they_show(logs: str, tmp_path: Path) -> None:
    plot(logs, str(tmp_path / "x.html"), kind="forest")
    page = (tmp_path / "x.html").read_text("utf-8")
    assert '"title": "In points"' in page
    assert '"title": "Model"' not in page


def test_cost_against_rate(logs: str, tmp_path: Path) -> None:
    cost = ModelCost(input=10, output=10, input_cache_write=10, input_cache_read=1)
    names = {log.model for log in find_logs(logs)} | {"mockllm/judge"}
    plot(logs, str(tmp_path / "x.svg"), kind="cost", prices=dict.fromkeys(names, cost))
    drawn = ElementTree.fromstring((tmp_path / "x.svg").read_bytes()).findtext(f"{SVG}desc")
    # 18 tasks of 120 tokens, 40 of them cached, and 60 of the judge.
    assert "mockllm/plain *: 0.03 USD, solving rate" in (drawn or "")
    long = find_logs(logs, labels={"plain": "A name " * 30, "script": "Other name " * 30})
    prices = dict.fromkeys(names, cost)
    plot(long, str(tmp_path / "y.svg"), kind="cost", prices=prices, medium="paper")
    root = ElementTree.fromstring((tmp_path / "y.svg").read_bytes())
    assert float(root.attrib["width"].removesuffix("pt")) <= 3.3 * 72


def test_cost_of_a_run_is_without_scores_given_later(tmp_path: Path) -> None:
    plan = {"a": ["yyy"], "b": ["nnn"]}
    log = make_log(tmp_path, tasks("a", "b"), plan, again=[("second", plan)]).location
    cost = ModelCost(input=1000, output=1000, input_cache_write=1000, input_cache_read=1000)
    prices = dict.fromkeys(("mockllm/student", "mockllm/judge", "mockllm/second"), cost)
    (spent,) = costs(log, prices).spent or ()
    assert spent.after_run > 0
    plot(log, str(tmp_path / "x.svg"), kind="cost", prices=prices)
    drawn = ElementTree.fromstring((tmp_path / "x.svg").read_bytes()).findtext(f"{SVG}desc")
    assert f": {spent.per_run:,.2f} USD, solving rate" in (drawn or "")


def test_labels_are_used_in_tables_pictures_pages_and_sentences(
    logs: str, tmp_path: Path
) -> None:
    names = tmp_path / "names.yaml"
    names.write_text('"plain": "Plain <1>"\n"not-there": "Nobody"\n', "utf-8")
    for command in (
        ["report", logs], ["report", logs, "--format", "html"], ["compare", logs],
        ["show", logs], ["costs", logs],
    ):  # fmt: skip
        done = clbench(*command, "--label", str(names))
        assert done.exit_code == 0, done.stderr
        assert "Plain <1>" in done.stdout or "Plain &lt;1&gt;" in done.stdout
    assert "mockllm/plain" not in clbench("report", logs, "--label", str(names)).stdout


@pytest.mark.parametrize(
    ("label", "message"),
    [
        ("nobody=X", "--label nobody: no such model. There are: "),
        ("plain=", '--label plain=: give a model and its label, NAME="LABEL".'),
        ("missing.yaml", "--label missing.yaml: cannot be read"),
        (f"plain=mockllm/{HOSTILE}", "would both be called"),
        ("mockllm/plain=Other", "mockllm/plain would be called both First and Other."),
    ],
)
def test_labels_that_cannot_be_used(logs: str, label: str, message: str) -> None:
    given = ["--label", "plain=First"] if label.endswith("Other") else []
    code, _, errors = clbench("report", logs, *given, "--label", label)
    assert code == 2
    assert message in errors


def test_a_label_that_is_given_comes_before_one_of_a_file(
    logs: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    names = tmp_path / "names.yaml"
    names.write_text("plain: Of the file\nnot-there: A\nnor-this: B\n", "utf-8")
    for given in (["plain=Given", str(names)], [str(names), "plain=Given"]):
        done = clbench("report", logs, "--label", given[0], "--label", given[1])
        assert "Given" in done.stdout
        assert "Of the file" not in done.stdout
        (told,) = [record.getMessage() for record in caplog.records]
        assert told.endswith("not in the logs are passed over: not-there, nor-this.")
        caplog.clear()
