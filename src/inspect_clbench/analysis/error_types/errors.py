"""The paper's Table 3 from logs: which error types failed answers show, and where."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Literal, cast, get_args

from inspect_clbench.analysis.reading.error_records import (
    LabelledSeries,
    LabelRecord,
    labels_of,
    load_labelled,
)
from inspect_clbench.analysis.reading.groups import Grouping, grouping
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reporting.labels import labels, notes
from inspect_clbench.analysis.reporting.layout import Column, lay_out
from inspect_clbench.analysis.reporting.published import published as published_table
from inspect_clbench.analysis.tables import Cell, Table, percent
from inspect_clbench.analysis.text import counted
from inspect_clbench.error_metrics import coverage, type_rates
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.error_types import ERROR_TYPES

By = Literal["category", "sub_category"]
BY: tuple[str, ...] = get_args(By)


def errors(
    paths: Paths, *, by: str | Sequence[str] = (), published: bool = False
) -> list[Table]:
    """The share of labelled failed answers, over samples and runs, that show each type.

    Args:
        paths: Log files, folders or URLs.
        by: A cross table of types by `category` or `sub_category`, or both, instead of
            the paper's table.
        published: The paper's table with the published rows, where there are any.
    """
    found = load_labelled(paths)
    chosen = [by] if isinstance(by, str) else by
    tables = [cross_table(found, known_by(name)) for name in chosen]
    if not tables or published:
        tables.insert(0, main_table(found, published=published))
    return tables


def main_table(found: LabelledSeries, *, published: bool = False) -> Table:
    """Types by model."""
    series = found.series
    counts = {id(one): coverage(r.label for r in labels_of(one)) for one in series}
    rates = {id(one): type_rates(r.label for r in labels_of(one)) for one in series}

    def rate_cell(key: str, one: Series) -> Cell:
        return percent(rates[id(one)][key])

    def labelled_cell(one: Series) -> Cell:
        count = counts[id(one)]
        of = count.failed - count.empty
        share = f" ({100 * count.share:.0f} %)" if of else ""
        value = {"labelled": count.labelled, "of": of, "share": count.share}
        return Cell(f"{count.labelled:,} of {of:,}{share}", value)

    def count_cell(what: str, one: Series) -> Cell:
        count: int = getattr(counts[id(one)], what)
        return Cell(f"{count:,}", count)

    columns = [
        *(Column(title, partial(rate_cell, key)) for key, title in ERROR_TYPES.items()),
        Column("Labelled", labelled_cell),
        Column("No usable labels", partial(count_cell, "unlabelled")),
        Column("Empty answers", partial(count_cell, "empty")),
    ]
    source = published_table(series[0].taxonomy.title, "error_types") if published else None
    return lay_out(
        "error types of failed answers in %",
        series,
        columns,
        sources=[source] if source else (),
        remarks=_remarks(found),
    )


def cross_table(found: LabelledSeries, by: By) -> Table:
    """Types by groups of tasks, for each model."""
    series = found.series
    groups = grouping(by, series[0].taxonomy)
    wide = bool(groups.spans)
    rows: list[tuple[Cell, ...]] = []
    for one, name in zip(series, labels(series), strict=True):
        divided = divide(labels_of(one), groups)
        parts = [divided[group] for group in groups.names]
        parts = parts if wide else [labels_of(one), *parts]
        for key, title in ERROR_TYPES.items():
            rates = [percent(type_rates(r.label for r in part)[key]) for part in parts]
            rows.append((Cell(name), Cell(title), *rates))
        rows.append((Cell(name), Cell("Labelled"), *map(_labelled_count, parts)))
    return Table(
        title=f"{series[0].benchmark}: error types of failed answers in % by {groups.title}",
        columns=("Model", "Error type", *(() if wide else ("Overall",)), *groups.names),
        rows=tuple(rows),
        notes=(*notes(series), *_remarks(found)),
        left=2,
        groups=groups.spans,
    )


def divide(
    records: Iterable[LabelRecord], groups: Grouping
) -> defaultdict[str, list[LabelRecord]]:
    """The records of each group of tasks."""
    divided: defaultdict[str, list[LabelRecord]] = defaultdict(list)
    for record in records:
        divided[groups.group_of(record)].append(record)
    return divided


def known_by(by: str) -> By:
    """What a user wants error types divided by."""
    if by not in BY:
        raise ClbenchError(f"by={by}: unknown. There are: {', '.join(BY)}.")
    return cast(By, by)


def _labelled_count(records: Sequence[LabelRecord]) -> Cell:
    count = coverage(record.label for record in records).labelled
    return Cell(f"{count:,}", {"labelled": count})


def _remarks(found: LabelledSeries) -> list[str]:
    lines = [
        "In % of the labelled failed answers of all runs together. Several types may apply to "
        "an answer, so that they exceed 100 % together; empty answers are counted apart."
    ]
    for one, name in zip(found.series, labels(found.series), strict=True):
        lines += [f"{name}: {line}" for line in _about_labels(labels_of(one))]
    lines += [f"! {log}: left out, it has no error types." for log in found.without]
    return lines


def _about_labels(records: Sequence[LabelRecord]) -> list[str]:
    counts = coverage(record.label for record in records)
    lines = []
    draws = sorted({r.label.most for r in records if r.label.most is not None})
    if draws:
        most = " or ".join(counted(number, "failure") for number in draws)
        lines.append(
            f"a random draw of at most {most} a run; "
            f"{counted(counts.not_drawn, 'failed answer')} not drawn."
        )
    if counts.unlabelled:
        lines.append(
            f"the judge gave no usable labels for {counted(counts.unlabelled, 'failed answer')}."
        )
    return lines
