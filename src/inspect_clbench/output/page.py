"""The report as a page to be sent to someone: tables, pictures, samples, how it was run."""

import html
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path, PurePath
from typing import Any

from inspect_clbench import __version__
from inspect_clbench.analysis.correction import Check, correct
from inspect_clbench.analysis.groups import TokenRule
from inspect_clbench.analysis.report import (
    RateTable,
    exam_tables,
    known_groups,
    main_table,
    report,
)
from inspect_clbench.benchmarks import EXAM
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.files import Paths
from inspect_clbench.logs.series import Series, as_series, by_dataset
from inspect_clbench.output.correction import correction_tables
from inspect_clbench.output.formats import readable_tables
from inspect_clbench.output.how_run import how_run_tables
from inspect_clbench.output.html import STYLE, escaped, html_page, html_table
from inspect_clbench.output.pictures import (
    PLOT_EXTRA,
    Picture,
    dark_css,
    form_for,
    plot_library,
    svg,
)
from inspect_clbench.output.plots import PAGE_KINDS, plotted_table, rate_figure, rates_picture
from inspect_clbench.output.report import rate_table, report_tables
from inspect_clbench.output.tables import Table
from inspect_clbench.progress import progress
from inspect_clbench.text import counted

_NO_PICTURES = (
    "<p>There are none, because the packages that draw them are not installed. They come "
    f"with: <code>{html.escape(PLOT_EXTRA)}</code></p>"
)
_EXPLORER = (
    "<section><h2>Single tasks</h2>\n<p>Rubrics, answers and verdicts of each task are in the "
    '<a href="explorer.html">explorer</a> beside this page.</p></section>'
)


def report_page(
    paths: Paths,
    *,
    by: str | Sequence[str] = (),
    thresholds: bool = False,
    consistency: bool = False,
    noise: bool = False,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    tokens: TokenRule | None = None,
    checked: Sequence[Check] = (),
    output: str | None = None,
) -> str:
    """The report as an HTML page that needs nothing beside it.

    It begins with the main table, whatever other tables are asked for. Models have one order
    in all tables and pictures, the best first. Where an explorer
    stands beside the page, as explorer.html, the page links to it.

    Args:
        paths: Log files, folders or URLs.
        by: Further tables by `sub_category`, `length`, `turns` or `rubric_count`.
        thresholds: A further table of the pass rates at 60 to 100 % of the rubrics met.
        consistency: A further table of what was solved in one, and in every one, of k runs.
        noise: A further table of the variance between contexts, tasks, runs and verdicts.
        published: Add the rows that the benchmark's authors published.
        leaderboard: Add the rows of the benchmark's leaderboard, to the main table.
        ci: Add the 95 % intervals to the tables; the pictures have them anyway.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
        checked: Verdicts that a person checked: adds the rates corrected by them.
        output: Where the page will be, to find an explorer beside it.
    """
    chosen = known_groups(by)
    further: dict[str, Any] = {
        "thresholds": thresholds,
        "consistency": consistency,
        "noise": noise,
    }
    options: dict[str, Any] = {"published": published, "ci": ci}
    body: list[str] = []
    titles = []
    every = as_series(paths)
    for series in by_dataset(every):
        is_exam = series[0].benchmark is EXAM
        if is_exam:
            tables = [rate_table(one) for one in exam_tables(series)]
        else:
            main = main_table(series, leaderboard=leaderboard, exams=every, **options)
            tables = [rate_table(main)]
        if chosen or any(further.values()):
            found = report(series, by=chosen, tokens=tokens, **options, **further)
            tables += report_tables(found)
        warned_by = tables
        pictures = _NO_PICTURES
        if _can_draw() and not is_exam:
            # The pictures have intervals even where the tables have none.
            warned_by = [*tables, rate_table(main_table(series, ci=True))]
            pictures = "\n".join(_pictures(series, published=published, tokens=tokens))
        titles.append(_title(series))
        head = f"<h1>{escaped(titles[-1])}</h1><p class=facts>{escaped(_facts(series))}</p>"
        how = _tables(how_run_tables(series))
        body += [
            f"<header>{head}</header>",
            _warnings(warned_by, series),
            f"<section><h2>Results</h2>\n{_tables(tables)}</section>",
            "" if is_exam else f"<section><h2>Pictures</h2>\n{pictures}</section>",
            f"<section class=how><h2>How it was run</h2>\n{how}</section>",
        ]
    if checked:
        corrected = _tables(correction_tables(correct(every, checked)))
        body.append(f"<section><h2>Checked by hand</h2>\n{corrected}</section>")
    if output and Path(output).with_name("explorer.html").is_file():
        body.insert(-1, _EXPLORER)
    made_by = f"Made by <code>clbench report</code>, inspect_clbench {__version__}."
    body.append(f"<footer>{made_by}</footer>")
    style = STYLE + (dark_css("svg.marks") if _can_draw() else "")
    return html_page("; ".join(titles), "\n".join(part for part in body if part), style=style)


def _title(series: Sequence[Series]) -> str:
    models = {one.model for one in series}
    shown = series[0].model if len(models) == 1 else f"{len(models)} models"
    return f"{series[0].dataset_name}: {shown}"


def _facts(series: Sequence[Series]) -> str:
    tasks = len(frozenset().union(*(one.tasks for one in series)))
    runs = sorted({one.runs for one in series})
    judges = sorted({one.judge for one in series if one.judge})
    days = sorted({str(log.header.eval.created)[:10] for one in series for log in one.logs})
    is_exam = series[0].benchmark is EXAM
    facts = [
        counted(tasks, "case" if is_exam else "task"),
        counted(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs",
        *([] if is_exam else [f"judged by {', '.join(judges)}" if judges else "no judge"]),
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
    ]
    return " · ".join(facts)


def _warnings(tables: Sequence[Table], series: Sequence[Series]) -> str:
    found = dict.fromkeys(note for table in tables for note in table.notes if note.is_warning)
    if not found:
        return ""
    texts = (str(note) if note.kind == "incomplete" else note.text for note in found)
    items = "\n".join(f"<li>{escaped(text)}</li>" for text in texts)
    for log in (log for one in series for log in one.logs):
        # The page is sent to others, who need not know in which folder the log was.
        items = items.replace(escaped(str(log)), escaped(PurePath(str(log)).name))
    return f"<section class=warnings><h2>Read this first</h2><ul>\n{items}\n</ul></section>"


def _tables(tables: Sequence[Table]) -> str:
    """Tables without the notes that stand at the head of the page."""
    plain = [
        replace(table, notes=tuple(note for note in table.notes if not note.is_warning))
        for table in tables
    ]
    return "\n".join(html_table(table) for table in readable_tables(plain))


def _can_draw() -> bool:
    try:
        plot_library("altair")
        plot_library("vl_convert")
        plot_library("scipy")  # for the intervals that they show
    except ClbenchError:
        return False
    return True


def _pictures(
    series: Sequence[Series], *, published: bool, tokens: TokenRule | None
) -> Iterator[str]:
    with progress("Drawing", len(PAGE_KINDS)) as advance:
        for kind in PAGE_KINDS:
            if kind != "consistency" or all(one.runs > 1 for one in series):
                table = plotted_table(series, kind, published=published, tokens=tokens)
                if _worth_drawing(table):
                    yield _figure(rates_picture(table, kind))
            advance(1)


def _worth_drawing(table: RateTable) -> bool:
    """One group alone has nothing to be compared with."""
    rows = [row for row in rate_figure(table).rows if not row.published]
    rates = ((group, rate) for row in rows for group, rate in row.rates.items())
    return len({group for group, rate in rates if not math.isnan(rate.mean)}) > 1


def _figure(picture: Picture) -> str:
    """A picture in two widths, of which a browser shows the one that fits."""
    forms = {"wide": form_for("screen"), "narrow": form_for("paper")}
    drawn = (
        svg(picture, form).replace('class="marks"', f'class="marks {name}"', 1)
        for name, form in forms.items()
    )
    return (
        f"<figure><figcaption>{escaped(picture.title)}</figcaption>"
        f"<p class=reading>{escaped(picture.reading)}</p>\n{''.join(drawn)}</figure>"
    )
