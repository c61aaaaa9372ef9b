"""The paper's main table from our logs."""

from collections.abc import Sequence

from inspect_clbench.analysis.records import Record
from inspect_clbench.analysis.series import Series, load_series
from inspect_clbench.analysis.tables import Cell, Table, percent
from inspect_clbench.metrics import mean_rate, run_rates, std_over_runs

_LOUD_FAILURES = 0.02


def report(paths: Sequence[str]) -> list[Table]:
    """Mean ± std in % over the runs, overall and per category, a row per model.

    Args:
        paths: Log files, folders or URLs.
    """
    series = load_series(paths)
    benchmark = series[0].taxonomy
    extra = _telling_columns(series)
    columns = (
        "Model",
        *(title for title, _ in extra),
        "Overall",
        *benchmark.categories,
        "Runs",
        "Rows",
        "Judge coverage",
    )
    rows = []
    for one in series:
        mark = " *" if one.gaps else ""
        rows.append(
            (
                Cell(one.model + mark, one.model),
                *(Cell(values[one_index(series, one)]) for _, values in extra),
                rate_cell(one, one.scored),
                *(
                    rate_cell(one, [r for r in one.scored if r.category == category])
                    for category in benchmark.categories
                ),
                Cell(str(one.runs), one.runs),
                Cell(f"{len(one.records):,}", len(one.records)),
                Cell(f"{100 * one.judge_coverage:.1f} %", one.judge_coverage),
            )
        )
    title = f"{series[0].benchmark}: solving rate in %, mean ± std over runs"
    return [Table(title, columns, tuple(rows), tuple(notes(series)), left=1 + len(extra))]


def rate_cell(series: Series, records: Sequence[Record]) -> Cell:
    """Mean ± std over the runs of some of a series' records."""
    rates = run_rates(series.rows(records))
    return percent(mean_rate(rates), std_over_runs(rates))


def one_index(series: Sequence[Series], one: Series) -> int:
    return next(i for i, other in enumerate(series) if other is one)


def _telling_columns(series: Sequence[Series]) -> list[tuple[str, list[str]]]:
    """Columns that tell rows apart: shown only where they differ."""
    candidates = [
        ("Judge", [s.judge + (f" (again {s.again})" if s.again else "") for s in series]),
        ("Judge prompt", [s.judge_prompt for s in series]),
        ("Effort", [s.effort or "default" for s in series]),
    ]
    return [(title, values) for title, values in candidates if len(set(values)) > 1]


def notes(series: Sequence[Series]) -> list[str]:
    """What a reader must know beside the numbers."""
    lines = []
    for one in series:
        lines += [f"* {one.model}: incomplete, {gap}." for gap in one.gaps]
        share = 1 - one.judge_coverage
        if share > _LOUD_FAILURES:
            lines.append(
                f"! {one.model}: {one.judge_failures} rows ({100 * share:.1f} %) have no verdict "
                "because the judge failed; the rate says as much about the judge as about the "
                "model. Ask again for these rows: clbench regrade LOG"
            )
    judges = sorted({one.judge or "none" for one in series})
    prompts = sorted({one.judge_prompt for one in series})
    lines.append(f"Judge: {', '.join(judges)}; prompt: {', '.join(prompts)}.")
    return lines
