"""The paper's main table from our logs, and the same by groups of tasks and by thresholds."""

import math
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import cast

from inspect_clbench.analysis.reading.groups import BY, By, Grouping, TokenRule, grouping
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.records import Record
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.analysis.reading.thresholds import (
    THRESHOLDS,
    pass_rows,
    rubric_shares,
    threshold_notes,
)
from inspect_clbench.analysis.reporting.layout import Column, interval_notes, lay_out, rate_cell
from inspect_clbench.analysis.reporting.published import Block, Published
from inspect_clbench.analysis.reporting.published import published as published_table
from inspect_clbench.analysis.statistics.estimate import estimate_cell
from inspect_clbench.analysis.tables import Cell, Table, percent
from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import mean_rate, std_over_runs


def report(
    paths: Paths,
    *,
    by: str | Sequence[str] = (),
    thresholds: bool = False,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    tokens: TokenRule | None = None,
) -> list[Table]:
    """Mean ± std of the solving rate in % over the runs, a row per model.

    Overall and per category, as in the paper, unless other tables are asked for.

    Args:
        paths: Log files, folders or URLs.
        by: A table by `sub_category`, `length`, `turns` or `rubric_count`, or several.
        thresholds: A table of the pass rates at 60 to 100 % of the rubrics met.
        published: Add the rows that the benchmark's authors published.
        leaderboard: Add the rows of the benchmark's leaderboard, to the main table.
        ci: Add the 95 % interval from the standard error clustered on contexts.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
    """
    series = load_series(paths)
    return report_series(
        series,
        by=by,
        thresholds=thresholds,
        published=published,
        leaderboard=leaderboard,
        ci=ci,
        tokens=tokens,
    )


def report_series(
    series: Sequence[Series],
    *,
    by: str | Sequence[str] = (),
    thresholds: bool = False,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    tokens: TokenRule | None = None,
) -> list[Table]:
    """The tables of `report`, for series that are read already."""
    tables = [
        group_table(series, _known(name), tokens=tokens, published=published, ci=ci)
        for name in ([by] if isinstance(by, str) else by)
    ]
    if thresholds:
        tables.append(threshold_table(series, published=published, ci=ci))
    if not tables or leaderboard:
        main = main_table(series, published=published, leaderboard=leaderboard, ci=ci)
        tables.insert(0, main)
    return tables


def main_table(
    series: Sequence[Series],
    *,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
) -> Table:
    """The paper's Table 2."""
    columns = [
        _overall(ci),
        *_group_columns(series, grouping("category", series[0].taxonomy), ci),
        Column("Runs", lambda one: Cell(str(one.runs), one.runs)),
        Column("Rows", _rows_cell),
        Column("Judge coverage", _coverage_cell),
    ]
    sources = _sources(series, main=published, leaderboard=leaderboard)
    return lay_out(
        "solving rate in %, mean ± std over runs",
        series,
        columns,
        sources=sources,
        remarks=interval_notes(series) if ci else (),
    )


def group_table(
    series: Sequence[Series],
    by: By,
    *,
    tokens: TokenRule | None = None,
    published: bool = False,
    ci: bool = False,
) -> Table:
    """Solving rates by groups of tasks."""
    groups = grouping(by, series[0].taxonomy, tokens)
    columns = _group_columns(series, groups, ci)
    if not groups.spans:
        columns = [_overall(ci), *columns]
    remarks = [_task_counts(series, groups), *([groups.note] if groups.note else [])]
    return lay_out(
        f"solving rate in % by {groups.title}, mean ± std over runs",
        series,
        columns,
        sources=_sources(series, **{by: published}),
        remarks=[*remarks, *(interval_notes(series) if ci else ())],
        groups=groups.spans,
    )


def threshold_table(
    series: Sequence[Series], *, published: bool = False, ci: bool = False
) -> Table:
    """Pass rates if part of the rubrics were enough, and the mean share of rubrics met."""

    def pass_cell(threshold: int, one: Series) -> Cell:
        return _narrow(rate_cell(pass_rows(one, threshold), ci))

    def share_cell(one: Series) -> Cell:
        shares = rubric_shares(one)
        return _narrow(percent(mean_rate(shares), std_over_runs(shares)))

    columns = [Column(f"{t} %", partial(pass_cell, t)) for t in THRESHOLDS]
    remarks = [*threshold_notes(series), *(interval_notes(series) if ci else ())]
    return lay_out(
        "pass rate in % if so many % of a task's rubrics were enough, mean ± std over runs",
        series,
        [*columns, Column("Rubrics met", share_cell)],
        sources=_sources(series, thresholds=published),
        remarks=remarks,
    )


def _known(by: str) -> By:
    if by not in BY:
        raise ClbenchError(f"by={by}: unknown. There are: {', '.join(BY)}.")
    return cast(By, by)


def _sources(series: Sequence[Series], **wanted: bool) -> list[Published]:
    """The published tables that there are among those wanted."""
    title = series[0].taxonomy.title
    blocks = [cast(Block, block) for block, want in wanted.items() if want]
    return [table for block in blocks if (table := published_table(title, block))]


def _overall(ci: bool) -> Column:
    def cell(one: Series) -> Cell:
        return estimate_cell(one, one.draw) if one.draw else rate_cell(one.rows(), ci)

    return Column("Overall", cell)


def _group_columns(series: Sequence[Series], groups: Grouping, ci: bool) -> list[Column]:
    divided = {id(one): _divided(one.scored, groups) for one in series}

    def cell(name: str, one: Series) -> Cell:
        return rate_cell(one.rows(divided[id(one)][name]), ci)

    return [Column(name, partial(cell, name)) for name in groups.names]


def _divided(records: Sequence[Record], groups: Grouping) -> defaultdict[str, list[Record]]:
    divided: defaultdict[str, list[Record]] = defaultdict(list)
    for record in records:
        divided[groups.group_of(record)].append(record)
    return divided


def _task_counts(series: Sequence[Series], groups: Grouping) -> str:
    group_of = {r.task_id: groups.group_of(r) for one in series for r in one.scored}
    members = list(group_of.values())
    return (
        "Tasks: " + ", ".join(f"{name} {members.count(name):,}" for name in groups.names) + "."
    )


def _narrow(cell: Cell) -> Cell:
    return Cell(cell.text.replace(" ±", "\n±"), cell.value)


def _rows_cell(series: Series) -> Cell:
    scored, total = len(series.scored), len(series.records)
    text = f"{scored:,}" if scored == total else f"{scored:,} of {total:,}"
    return Cell(text, {"scored": scored, "total": total})


def _coverage_cell(series: Series) -> Cell:
    share = series.judge_coverage
    return Cell("–" if math.isnan(share) else f"{100 * share:.1f} %", share)
