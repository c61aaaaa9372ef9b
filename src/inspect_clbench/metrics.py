"""What the scores of a run add up to. Pure functions, total, one pass over the scores.

All metrics are unreduced: they see every score of every run, whatever reducer is
set, and know the run from the epoch that the scorer wrote down.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from inspect_ai.scorer import CORRECT, NOANSWER, Metric, SampleScore, Value, metric

NAN = float("nan")


class Row(NamedTuple):
    """What the arithmetic needs to know of one score; a plain tuple will do."""

    run: int
    cluster: str
    solved: bool


Rows = Iterable[tuple[int, str, bool]]
Cells = Counter[tuple[int, str, bool]]
"""How often each row occurs: a few hundred of them stand for thousands."""


def rows_of(
    scores: Sequence[SampleScore], group_key: str, alone: bool = False
) -> list[tuple[int, str, bool]]:
    """Run, group and whether solved, for each row that counts.

    Rows left unscored by the user's choice are not among them. The loop runs about
    once a second while an eval runs, so it makes plain tuples.

    Args:
        scores: Every score of every run.
        group_key: The key of the sample's metadata that names its group.
        alone: Whether a sample without a group is one of its own; else it is "".
    """
    rows = []
    seen: dict[Any, int] = {}
    for sample_score in scores:
        score = sample_score.score
        epoch = score.metadata.get("epoch") if score.metadata else None
        if not isinstance(epoch, int):  # the n-th score of a sample is of the n-th run
            epoch = seen[sample_score.sample_id] = seen.get(sample_score.sample_id, 0) + 1
        value = score.value
        if value != NOANSWER:
            metadata = sample_score.sample_metadata
            group = metadata.get(group_key) if metadata else None
            if not group:
                group = sample_score.sample_id if alone else ""
            rows.append((epoch, str(group), value == CORRECT))
    return rows


def run_rates(rows: Rows) -> list[float]:
    """The solving rate of each run, in the order of the runs."""
    return _rates(Counter(rows))


def _rates(cells: Cells) -> list[float]:
    totals, solved = _per_run(cells)
    return [solved[run] / totals[run] for run in sorted(totals)]


def _per_run(cells: Cells) -> tuple[Counter[int], Counter[int]]:
    """All rows of each run, and its solved ones."""
    totals: Counter[int] = Counter()
    solved: Counter[int] = Counter()
    for (run, _, is_solved), count in cells.items():
        totals[run] += count
        if is_solved:
            solved[run] += count
    return totals, solved


def mean_rate(rates: Sequence[float]) -> float:
    """The paper's mean: each run counts the same."""
    return statistics.fmean(rates) if rates else NAN


def std_over_runs(rates: Sequence[float]) -> float:
    """The paper's std: sample standard deviation (n - 1) of the runs' rates."""
    return statistics.stdev(rates) if len(rates) > 1 else NAN


def clustered_stderr(rows: Rows) -> float:
    """Standard error of the mean rate, clustered on contexts.

    The sandwich estimator with the finite-cluster factor C / (C - 1) that Inspect's
    `stderr(cluster=...)` uses. All runs of a task belong to its context's cluster;
    a row weighs 1 / (runs x rows of its run), as in the mean of the runs' rates.
    """
    return _stderr(Counter(rows))


def _stderr(cells: Cells) -> float:
    totals, solved = _per_run(cells)
    weights = {
        run: ((1 - solved[run] / total) / total, -solved[run] / total / total)
        for run, total in totals.items()
    }
    residuals: dict[str, float] = {}
    for (run, cluster, is_solved), count in cells.items():
        weight = weights[run][0] if is_solved else weights[run][1]
        residuals[cluster] = residuals.get(cluster, 0.0) + count * weight
    clusters = len(residuals)
    if clusters < 2:
        return NAN
    squares = math.fsum(value * value for value in residuals.values())
    return math.sqrt(squares * clusters / (clusters - 1)) / len(totals)


@metric(scores="unreduced")
def solving() -> Metric:
    """`solving_rate`, its `std` over runs (two or more) and its clustered `stderr`."""

    def compute(scores: list[SampleScore]) -> Value:
        cells = Counter(rows_of(scores, "context_id", alone=True))
        rates = _rates(cells)
        values = {"solving_rate": mean_rate(rates)}
        if len(rates) > 1:
            values["std"] = std_over_runs(rates)
        return {**values, "stderr": _stderr(cells)}

    return compute


@metric(scores="unreduced")
def solving_by(
    group_key: str, std: bool = True, metric: dict[str, str] | None = None
) -> Metric:
    """Solving rate per group, and `<group> (std)` over runs where asked for.

    Args:
        group_key: The key of the sample's metadata that names its group.
        std: Whether to add the std over runs.
        metric: The label of the groups' table in the log viewer, as `name`.
    """

    def compute(scores: list[SampleScore]) -> Value:
        groups: defaultdict[str, Cells] = defaultdict(Counter)
        for row, count in Counter(rows_of(scores, group_key)).items():
            groups[row[1]][row] = count
        groups.pop("", None)  # rows that name no group
        values = {}
        for name in sorted(groups):
            rates = _rates(groups[name])
            values[name] = mean_rate(rates)
            if std and len(rates) > 1:
                values[f"{name} (std)"] = std_over_runs(rates)
        return values

    return compute


@metric(scores="unreduced")
def judging() -> Metric:
    """How well the rubrics were met, and how far the judge can be relied on."""

    def compute(scores: list[SampleScore]) -> Value:
        shares, failures, empty, inconsistent = [], 0, 0, 0
        for sample_score in scores:
            score = sample_score.score
            metadata = score.metadata or {}
            failures += score.reason == "grader_failed"
            empty += score.reason == "no_response"
            inconsistent += bool(metadata.get("inconsistent"))
            met, total = metadata.get("rubrics_met"), metadata.get("rubrics_total")
            if isinstance(met, int) and isinstance(total, int) and total:
                shares.append(met / total)
        return {
            "rubric_rate": statistics.fmean(shares) if shares else NAN,
            "judge_coverage": 1 - failures / len(scores) if scores else NAN,
            "judge_failures": failures,
            "no_response": empty,
            "inconsistent_verdicts": inconsistent,
        }

    return compute


def clbench_metrics() -> list[Metric | dict[str, list[Metric]]]:
    """The metrics of a rubric-judged run, headline first."""
    return [
        solving(),
        judging(),
        solving_by("context_category", metric={"name": "Category"}),
        solving_by("sub_category", std=False, metric={"name": "Sub-category"}),
    ]
