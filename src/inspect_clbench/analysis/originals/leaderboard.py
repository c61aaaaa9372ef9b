"""The object that the leaderboard takes for a model."""

from collections.abc import Iterable, Sequence
from typing import Any

from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.metrics import Row, mean_rate, run_rates, std_over_runs
from inspect_clbench.taxonomy import Benchmark

LEADERBOARD = "leaderboard.json"


def leaderboard(series: Series, org: str = "") -> dict[str, Any]:
    """The leaderboard's object of a series.

    A row without a verdict is a zero here, even where the log leaves it out of its
    rates: the object must follow from the graded files.
    """
    graded = (record for record in series.records if record.outcome != "errored")
    outcomes = [(r.category, Row(r.run, r.context_id, r.solved)) for r in graded]
    return board_of(outcomes, series.taxonomy, model=series.model, org=org)


def board_of(
    outcomes: Sequence[tuple[str, Row]], benchmark: Benchmark, *, model: str, org: str
) -> dict[str, Any]:
    """The leaderboard's object: fractions to three decimals, a std of 0 for a single run.

    Args:
        outcomes: What became of each answer, with its category.
        benchmark: The benchmark.
        model: The model's name.
        org: The organisation behind it.
    """
    board: dict[str, Any] = {"model": model, "org": org}
    board |= _rates("overall", (row for _, row in outcomes))
    for category, key in benchmark.leaderboard_keys.items():
        board |= _rates(key, (row for name, row in outcomes if name == category))
    return board


def _rates(key: str, rows: Iterable[Row]) -> dict[str, float | None]:
    rates = run_rates(rows)
    if not rates:
        return {key: None, f"{key}_std": None}
    std = round(std_over_runs(rates), 3) if len(rates) > 1 else 0
    return {key: round(mean_rate(rates), 3), f"{key}_std": std}
