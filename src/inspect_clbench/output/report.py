"""The tables of solving rates and of error types."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from inspect_clbench.analysis.errors import CrossTable, ErrorReport
from inspect_clbench.analysis.noise import Component, NoiseTable
from inspect_clbench.analysis.report import RateRow, RateTable, Report
from inspect_clbench.benchmarks import EXAM, OVERALL
from inspect_clbench.logs.files import Log
from inspect_clbench.logs.series import Series
from inspect_clbench.metrics.error_types import Coverage
from inspect_clbench.output.notes import label_notes, noise_notes, rate_notes, series_notes
from inspect_clbench.output.tables import (
    Cell,
    Note,
    Table,
    Tone,
    initials,
    percent,
    row_marks,
    share,
    table,
)

_TITLES = {
    "main": "solving rate{}, mean ± std over runs",
    "exam": "figures of the judges{}, mean ± std over runs",
    "thresholds": (
        "pass rate{} if so many % of a task's rubrics were enough, mean ± std over runs"
    ),
    "consistency": "tasks solved in at least one, and in every one, of k runs{}",
    "error_types": "error types of failed answers{}",
}


_SPREADS: dict[Component, str] = {
    "context": "Between contexts",
    "task": "Between tasks of a context",
    "run": "Between runs",
    "judge": "Judge asked again",
}


def report_tables(report: Report) -> list[Table]:
    tables = [rate_table(one) for one in report.tables]
    return tables + [noise_table(one) for one in report.noise]


def noise_table(numbers: NoiseTable) -> Table:
    """Shares of the variance of verdicts, and the standard error that they make."""
    return _titled(
        numbers.series,
        "where the spread of verdicts comes from, shares of the variance{}",
        (
            {
                "Model": Cell(row.name + (" ~" if row.is_estimate else ""), row.name),
                **{title: percent(row.shares[part]) for part, title in _SPREADS.items()},
                "Standard error": share(row.stderr),
                "Twice the runs": share(row.stderr_twice_the_runs),
                "Twice the contexts": share(row.stderr_twice_the_contexts),
            }
            for row in numbers.rows
        ),
        noise_notes(numbers),
        name="noise",
    )


def _titled(
    series: Sequence[Series],
    title: str,
    rows: Iterable[Mapping[str, Any]],
    notes: Iterable[Note | str],
    **fields: Any,
) -> Table:
    """A table whose title says what its rates are in: percent for people, else fractions."""
    lead = f"{series[0].dataset_name}: "
    data_title = lead + title.format("")
    return table(lead + title.format(" in %"), rows, notes, data_title=data_title, **fields)


def error_tables(report: ErrorReport) -> list[Table]:
    """The paper's table of error types, and cross tables of types by groups of tasks."""
    return [
        *(rate_table(one, label_notes(one.series, report.unlabelled)) for one in report.main),
        *(cross_table(crossed, report.unlabelled) for crossed in report.crossed),
    ]


def rate_table(numbers: RateTable, remarks: Sequence[Note | str] | None = None) -> Table:
    """A row per series and per published model, the groups of tasks as columns."""
    rate = numbers.series[0].benchmark.rate
    by_group = f"{rate}{{}} by {numbers.divided_by}, mean ± std over runs"
    nothing_told = (None,) * len(numbers.told)
    head = "Judge" if numbers.series[0].benchmark is EXAM else "Model"
    best = _best(numbers)
    rows = [
        {
            head: Cell(row.model + row_marks(row, numbers), row.model, _tone(row)),
            **dict(zip(numbers.told, row.told or nothing_told, strict=True)),
            **({"Solved in": _solved_in(row)} if row.measure else {}),
            **{
                group: replace(
                    percent(row.rates[group], _tone(row, group)),
                    best=group in best and _printed(row, group) == best[group],
                )
                for group in numbers.groups
            },
            **_counts(row, numbers),
        }
        for row in numbers.rows
    ]
    return _titled(
        numbers.series,
        _TITLES.get(numbers.kind, by_group),
        rows,
        rate_notes(numbers, remarks),
        name=str(numbers.kind),
        left=1 + len(numbers.told) + (numbers.kind == "consistency"),
        short=initials(numbers.groups),
        counts=len(_counts(numbers.rows[0], numbers)),
        groups=numbers.spans,
        details=tuple(
            {
                "incomplete": list(row.incomplete),
                "estimate": row.is_estimate,
                "published": row.published is not None,
                "source": row.published.source if row.published else "",
            }
            for row in numbers.rows
        ),
    )


def _best(numbers: RateTable) -> dict[str, float]:
    """The highest rate of each group as it is printed, of two rows or more that were run here."""
    own = [row for row in numbers.rows if row.published is None]
    if len(own) < 2 or numbers.kind in ("consistency", "error_types", "exam"):
        return {}
    found = {
        g: [x for row in own if (x := _printed(row, g)) is not None] for g in numbers.groups
    }
    return {group: max(rates) for group, rates in found.items() if rates}


def _printed(row: RateRow, group: str) -> float | None:
    rate = row.rates[group]
    if rate is None or row.published or math.isnan(rate.mean):
        return None
    return round(100 * rate.mean, 1)


def cross_table(crossed: CrossTable, unlabelled: Sequence[Log]) -> Table:
    rows: list[dict[str, Any]] = []
    for row in crossed.rows:
        for title, rates in row.rates.items():
            rows.append({"Model": row.model, "Error type": title, **rates})
        counts = {g: Cell(f"{n:,}", {"labelled": n}) for g, n in row.labelled.items()}
        rows.append({"Model": row.model, "Error type": "Labelled", **counts})
    title = f"error types of failed answers{{}} by {crossed.divided_by}"
    return _titled(
        crossed.series,
        title,
        rows,
        [*series_notes(crossed.series), *label_notes(crossed.series, unlabelled)],
        left=2,
        short=initials(crossed.rows[0].labelled) if crossed.rows else {},
        groups=crossed.spans,
    )


def _tone(row: RateRow, group: str = "") -> Tone:
    if row.published:
        return "published"
    return "headline" if group == OVERALL else ""


def _solved_in(row: RateRow) -> Cell:
    k = row.counts["k"]
    if k == 1:
        return Cell("one run", row.measure)
    lead = "at least one" if row.measure.startswith("pass@") else "every one"
    return Cell(f"{lead} of {k} runs", row.measure)


def _counts(row: RateRow, numbers: RateTable) -> dict[str, Any]:
    """The columns after the rates."""
    counts = row.counts
    if numbers.kind == "main":
        if row.published:
            return {"Runs": counts.get("runs"), "Rows": None, "Judge coverage": None}
        scored, total, judged = counts["scored"], counts["total"], counts["coverage"]
        text = f"{scored:,}" if scored == total else f"{scored:,} of {total:,}"
        share = "–" if math.isnan(judged) else f"{100 * judged:.1f} %"
        return {
            "Runs": counts["runs"],
            "Rows": Cell(text, {"scored": scored, "total": total}),
            "Judge coverage": Cell(share, judged),
        }
    if numbers.kind == "exam":
        read, written = counts["tokens"] or (None, None)
        told = {"Verdicts": counts["scored"], "Runs": counts["runs"]}
        return {**told, "Tokens in": read, "Tokens out": written}
    if numbers.kind == "consistency":
        return {"Tasks": counts["tasks"]}
    if numbers.kind == "error_types":
        found: Coverage | None = counts.get("labels")
        return {
            "Labelled": None if found is None else _labelled(found),
            "No usable labels": found.unlabelled if found else None,
            "Empty answers": found.empty if found else None,
        }
    return {}


def _labelled(found: Coverage) -> Cell:
    of = found.failed - found.empty
    share = f" ({100 * found.share:.0f} %)" if of else ""
    value = {"labelled": found.labelled, "of": of, "share": found.share}
    return Cell(f"{found.labelled:,} of {of:,}{share}", value)
