"""What the scores of a run add up to. Pure functions, total, one pass over the scores.

All metrics are unreduced: they see every score of every run, whatever reducer is
set, and know the run from the epoch that the scorer wrote down.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.scorer import CORRECT, NOANSWER, Metric, SampleScore, Value, metric

NAN = float("nan")


@dataclass(frozen=True)
class Row:
    """What the arithmetic needs to know of one score."""

    run: int
    cluster: str
    solved: bool


def rows_of(scores: Sequence[SampleScore]) -> list[Row]:
    """The scored rows; those left unscored by the user's choice are not among them."""
    seen: Counter[Any] = Counter()
    rows = []
    for sample_score in scores:
        seen[sample_score.sample_id] += 1
        score = sample_score.score
        if score.value == NOANSWER:
            continue
        epoch = (score.metadata or {}).get("epoch")
        run = epoch if isinstance(epoch, int) else seen[sample_score.sample_id]
        context = (sample_score.sample_metadata or {}).get("context_id")
        cluster = str(context if context else sample_score.sample_id)
        rows.append(Row(run, cluster, score.value == CORRECT))
    return rows


def run_rates(rows: Iterable[Row]) -> list[float]:
    """The solving rate of each run, in the order of the runs."""
    totals: Counter[int] = Counter()
    solved: Counter[int] = Counter()
    for row in rows:
        totals[row.run] += 1
        solved[row.run] += row.solved
    return [solved[run] / totals[run] for run in sorted(totals)]


def mean_rate(rates: Sequence[float]) -> float:
    """The paper's mean: each run counts the same."""
    return statistics.fmean(rates) if rates else NAN


def std_over_runs(rates: Sequence[float]) -> float:
    """The paper's std: sample standard deviation (n - 1) of the runs' rates."""
    return statistics.stdev(rates) if len(rates) > 1 else NAN


def clustered_stderr(rows: Sequence[Row]) -> float:
    """Standard error of the mean rate, clustered on contexts.

    The sandwich estimator with the finite-cluster factor C / (C - 1) that Inspect's
    `stderr(cluster=...)` uses. All runs of a task belong to its context's cluster;
    a row weighs 1 / (runs x rows of its run), as in the mean of the runs' rates.
    """
    if not rows:
        return NAN
    totals = Counter(row.run for row in rows)
    solved = Counter(row.run for row in rows if row.solved)
    residuals: defaultdict[str, float] = defaultdict(float)
    for row in rows:
        total = totals[row.run]
        residuals[row.cluster] += (row.solved - solved[row.run] / total) / total
    clusters = len(residuals)
    if clusters < 2:
        return NAN
    squares = math.fsum(value * value for value in residuals.values())
    return math.sqrt(squares * clusters / (clusters - 1)) / len(totals)


@metric(scores="unreduced")
def solving() -> Metric:
    """`solving_rate`, its `std` over runs (two or more) and its clustered `stderr`."""

    def compute(scores: list[SampleScore]) -> Value:
        rows = rows_of(scores)
        rates = run_rates(rows)
        values = {"solving_rate": mean_rate(rates)}
        if len(rates) > 1:
            values["std"] = std_over_runs(rates)
        return {**values, "stderr": clustered_stderr(rows)}

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
        groups: defaultdict[str, list[SampleScore]] = defaultdict(list)
        for score in scores:
            name = (score.sample_metadata or {}).get(group_key)
            if name:
                groups[str(name)].append(score)
        values = {}
        for name in sorted(groups):
            rates = run_rates(rows_of(groups[name]))
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
