"""The paper's Table 3 from logs: which error types failed answers show, and where."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.groups import divide, grouping
from inspect_clbench.analysis.published import published_tables
from inspect_clbench.analysis.report import (
    RateTable,
    build_rate_table,
    known_groups,
)
from inspect_clbench.analysis.statistics import Rate, share_figure
from inspect_clbench.benchmarks import ERROR_TYPES, OVERALL
from inspect_clbench.choices import By, ErrorsBy
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import ERROR_TYPES_SCORER, Answer, read_labels
from inspect_clbench.logs.files import Log, Paths, find_logs
from inspect_clbench.logs.series import Series, by_dataset, load_series, series_names
from inspect_clbench.metrics.error_types import coverage


@dataclass(frozen=True)
class CrossRow:
    """The error types of one series by groups of tasks."""

    model: str
    rates: Mapping[str, Mapping[str, Rate]]
    """By error type, then by group."""

    labelled: Mapping[str, int]
    """How many answers of each group have labels."""


@dataclass(frozen=True)
class CrossTable:
    """Error types by groups of tasks, for several series."""

    series: tuple[Series, ...]
    by: By
    divided_by: str
    groups: tuple[str, ...]
    spans: tuple[tuple[str, int], ...]
    rows: tuple[CrossRow, ...]


@dataclass(frozen=True)
class ErrorReport(Result):
    """Error types of failed answers."""

    series: tuple[Series, ...]
    unlabelled: tuple[Log, ...]
    """Logs that have no error types, passed over."""

    main: tuple[RateTable, ...]
    """The paper's table of each dataset, if it was asked for."""

    crossed: tuple[CrossTable, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        for table in self.crossed:
            for row in table.rows:
                for kind, rates in row.rates.items():
                    for group, rate in rates.items():
                        yield _record(table.by, row.model, kind, group, rate)
        for own in (row for main in self.main for row in main.rows):
            for kind, found in own.rates.items():
                yield _record("", own.name, kind, OVERALL, found)


def _record(by: str, model: str, kind: str, group: str, rate: Rate | None) -> dict[str, Any]:
    figures = rate.as_row() if rate else {"mean": None, "low": None, "high": None}
    shares = {"share": figures["mean"], "low": figures["low"], "high": figures["high"]}
    return {"by": by, "model": model, "type": kind, "group": group, **shares}


def errors(
    paths: Paths, *, by: str | Sequence[str] = (), published: bool = False
) -> ErrorReport:
    """The share of labelled failed answers, over samples and runs, that show each type.

    Args:
        paths: Log files, folders or URLs. Logs without error types are passed over.
        by: A cross table of types by `category` or `sub_category`, or both, instead of
            the paper's table.
        published: The paper's table with the published rows, where there are any.
    """
    chosen = known_groups(by, ErrorsBy)
    series, unlabelled = load_labelled(paths)
    datasets = by_dataset(series)
    return ErrorReport(
        series=tuple(series),
        unlabelled=tuple(unlabelled),
        main=tuple(_main_table(s, published) for s in datasets if published or not chosen),
        crossed=tuple(_cross_table(s, name) for s in datasets for name in chosen),
    )


def load_labelled(paths: Paths) -> tuple[list[Series], list[Log]]:
    """The series whose failed answers have error types, and the logs that have none."""
    logs = find_logs(paths)
    having: set[str] = set()
    lacking: set[str] = set()

    def read(log: Log) -> list[Answer]:
        answers = read_labels(log)
        (having if answers else lacking).add(log.eval_id)
        return answers

    try:
        series = load_series(logs, read)
    except ClbenchError:
        if not lacking or having:
            raise
        raise ClbenchError(
            f"{logs[0]}: its failed answers have no error types yet. Have them labelled: "
            f"inspect score {logs[0]} --scorer inspect_clbench/{ERROR_TYPES_SCORER} --action append "
            "--overwrite --model-role grader=JUDGE"
        ) from None
    # A log's copy from before it was labelled says nothing more.
    return series, [log for log in logs if log.eval_id in lacking - having]


def _main_table(series: Sequence[Series], published: bool) -> RateTable:
    keys = {title: key for key, title in ERROR_TYPES.items()}
    rates = {id(one): _type_rates(one.answers) for one in series}
    return build_rate_table(
        "error_types",
        series,
        tuple(keys),
        lambda one, title: rates[id(one)][keys[title]],
        counts=lambda one: {"labels": coverage(a.label for a in one.answers)},
        sources=published_tables(
            series[0].benchmark.title, ["error_types"] if published else []
        ),
    )


def _cross_table(series: Sequence[Series], by: By) -> CrossTable:
    groups = grouping(by, series[0].benchmark)
    rows = []
    for one, name in zip(series, series_names(series), strict=True):
        divided: dict[str, Sequence[Answer]] = dict(divide(one.answers, groups.group_of))
        parts = {group: divided.get(group, ()) for group in groups.names}
        if not groups.spans:
            parts = {OVERALL: one.answers, **parts}
        rates = {group: _type_rates(some) for group, some in parts.items()}
        rows.append(
            CrossRow(
                model=name,
                rates={
                    title: {group: found[key] for group, found in rates.items()}
                    for key, title in ERROR_TYPES.items()
                },
                labelled={group: _labelled(some) for group, some in parts.items()},
            )
        )
    names = groups.names if groups.spans else (OVERALL, *groups.names)
    return CrossTable(tuple(series), by, groups.title, names, groups.spans, tuple(rows))


def _type_rates(answers: Iterable[Answer]) -> dict[str, Rate]:
    """The share of labelled answers that each type applies to, with its interval."""
    labels: defaultdict[str, list[frozenset[str]]] = defaultdict(list)
    for answer in answers:
        if answer.label.state == "labelled":
            labels[answer.context_id].append(answer.label.types)
    if not labels:
        return dict.fromkeys(ERROR_TYPES, Rate(math.nan))
    rates = {}
    for key in ERROR_TYPES:
        counts = [[sum(key in types for types in some), len(some)] for some in labels.values()]
        found = share_figure(lambda c: c[..., 0] / c[..., 1], np.array(counts, dtype=float))
        ends = [math.nan if end is None else end for end in found[1:]]
        rates[key] = Rate(found.value or 0.0, interval=(ends[0], ends[1]), contexts=len(labels))
    return rates


def _labelled(answers: Iterable[Answer]) -> int:
    return coverage(answer.label for answer in answers).labelled
