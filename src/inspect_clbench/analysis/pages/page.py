"""The report as a page to be sent to someone: tables, pictures, how it was run."""

import html
from collections.abc import Iterator, Sequence
from dataclasses import replace

from inspect_clbench.analysis.drawing.figures import KINDS, Figures, Kind, figures
from inspect_clbench.analysis.drawing.pictures import PLOT_EXTRA, plot_library, svg
from inspect_clbench.analysis.drawing.plots import draw
from inspect_clbench.analysis.pages.page_samples import samples_section
from inspect_clbench.analysis.pages.page_style import PAGE_STYLE
from inspect_clbench.analysis.pages.viewer_links import find_bundle
from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.groups import TokenRule
from inspect_clbench.analysis.reading.located import read_located
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.analysis.reporting.how_run import how_run_tables, package_version
from inspect_clbench.analysis.reporting.report import main_table, report_series
from inspect_clbench.analysis.tables import Table, html_table, readable_tables
from inspect_clbench.analysis.text import counted, one_line
from inspect_clbench.errors import ClbenchError

# Nothing runs in the page and nothing is fetched for it.
_POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'"
_WARNING_MARKS = ("* ", "! ")
_NO_PICTURES = (
    "<p>There are none, because the packages that draw them are not installed. They come "
    f"with: <code>{html.escape(PLOT_EXTRA)}</code></p>"
)


def report_page(
    paths: Paths,
    *,
    by: str | Sequence[str] = (),
    thresholds: bool = False,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    tokens: TokenRule | None = None,
    output: str | None = None,
) -> str:
    """The report as an HTML page that needs nothing beside it.

    It begins with the main table, whatever other tables are asked for. Where a folder
    made by `inspect view bundle` stands beside the page, samples are linked to it.

    Args:
        paths: Log files, folders or URLs.
        by: Further tables by `sub_category`, `length`, `turns` or `rubric_count`.
        thresholds: A further table of the pass rates at 60 to 100 % of the rubrics met.
        published: Add the rows that the benchmark's authors published.
        leaderboard: Add the rows of the benchmark's leaderboard, to the main table.
        ci: Add the 95 % intervals to the tables; the pictures have them anyway.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
        output: Where the page will be, to find a bundle beside it.
    """
    series = load_series(paths, read_located)
    tables = [main_table(series, published=published, leaderboard=leaderboard, ci=ci)]
    if by or thresholds:
        tables += report_series(
            series, by=by, thresholds=thresholds, published=published, ci=ci, tokens=tokens
        )
    logs = [log for one in series for log in one.logs]
    bundle = find_bundle(output, logs) if output else None
    can_draw = _can_draw()
    pictures = (
        "\n".join(_pictures(series, published=published, tokens=tokens))
        if can_draw
        else _NO_PICTURES
    )
    # The pictures have intervals even where the tables have none.
    told = [*tables, main_table(series, ci=True)] if can_draw else tables
    title = _title(series)
    body = [
        f"<header><h1>{_text(title)}</h1><p class=facts>{_text(_facts(series))}</p></header>",
        _warnings(told),
        f"<section><h2>Results</h2>\n{_tables(tables)}</section>",
        f"<section><h2>Pictures</h2>\n{pictures}</section>",
        samples_section(series, bundle) if bundle else "",
        f"<section class=how><h2>How it was run</h2>\n{_tables(how_run_tables(series))}</section>",
        f"<footer>Made by <code>clbench report</code>, inspect_clbench {package_version()}.</footer>",
    ]
    return _document(title, "\n".join(part for part in body if part))


def _title(series: Sequence[Series]) -> str:
    models = list(dict.fromkeys(one.model for one in series))
    shown = models[0] if len(models) == 1 else f"{len(models)} models"
    return f"{series[0].benchmark}: {shown}"


def _facts(series: Sequence[Series]) -> str:
    tasks = len(frozenset().union(*(one.tasks for one in series)))
    runs = sorted({one.runs for one in series})
    judges = sorted({one.judge for one in series if one.judge})
    days = sorted({str(log.header.eval.created)[:10] for one in series for log in one.logs})
    facts = [
        counted(tasks, "task"),
        counted(runs[0], "run") if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs",
        f"judged by {', '.join(judges)}" if judges else "no judge",
        days[0] if len(days) == 1 else f"{days[0]} to {days[-1]}",
    ]
    return " · ".join(facts)


def _warnings(tables: Sequence[Table]) -> str:
    found = dict.fromkeys(
        note for table in tables for note in table.notes if note.startswith(_WARNING_MARKS)
    )
    if not found:
        return ""
    items = "\n".join(f"<li>{_text(note.removeprefix('! '))}</li>" for note in found)
    return f"<section class=warnings><h2>Read this first</h2><ul>\n{items}\n</ul></section>"


def _tables(tables: Sequence[Table]) -> str:
    """Tables without the notes that stand at the head of the page."""
    plain = [
        replace(
            table,
            notes=tuple(note for note in table.notes if not note.startswith(_WARNING_MARKS)),
        )
        for table in tables
    ]
    return "\n".join(html_table(table) for table in readable_tables(plain))


def _pictures(
    series: Sequence[Series], *, published: bool, tokens: TokenRule | None
) -> Iterator[str]:
    with progress("Drawing", len(KINDS)) as advance:
        for kind in KINDS:
            numbers = figures(series, kind, published=published, tokens=tokens)
            if _says_something(numbers):
                yield _picture(numbers, kind)
            advance(kind)


def _can_draw() -> bool:
    try:
        plot_library("altair")
        plot_library("vl_convert")
    except ClbenchError:
        return False
    return True


def _says_something(numbers: Figures) -> bool:
    """Whether the logs have more than one group to be compared."""
    own = [p for p in numbers.points if p.mean is not None and not p.published]
    return len({point.group for point in own}) > 1


def _picture(numbers: Figures, kind: Kind) -> str:
    picture = draw(numbers, kind, alone=False)
    reading = _text(" ".join(picture.lines))
    return (
        f"<figure><figcaption>{_text(picture.title)}</figcaption>"
        f"<p class=reading>{reading}</p>\n{svg(picture, words=False)}</figure>"
    )


def _text(text: str) -> str:
    return html.escape(one_line(text))


def _document(title: str, body: str) -> str:
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{PAGE_STYLE}</style>\n"
        f"</head>\n<body>\n{body}\n</body>\n</html>\n"
    )
