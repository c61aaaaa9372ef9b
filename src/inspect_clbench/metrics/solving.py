"""The solving rate: per run, per group, its std over runs and its clustered standard error.

All metrics are unreduced: they see every score of every run, whatever reducer is set, and
know the run from the epoch that the scorer wrote down. They are total functions without any
state between calls, because Inspect calls them while an eval runs, after it, and again when
somebody edits a score in place.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from inspect_ai.scorer import CORRECT, NOANSWER, Metric, SampleScore, Value, metric

NAN = float("nan")


class Trial(NamedTuple):
    """One answer in one run: what the arithmetic needs to know of a score."""

    run: int
    cluster: str  # the context, or another group that the answer belongs to
    solved: float  # 0 or 1, or a share of something
    weight: float = 1.0  # for how many tasks of the benchmark it stands: more in a draw


def runs_of(scores: Iterable[SampleScore]) -> Iterator[tuple[int, SampleScore]]:
    """Each score with its run: its epoch or, where it names none, n for a sample's n-th."""
    unnamed: Counter[Any] = Counter()
    for sample_score in scores:
        run = (sample_score.score.metadata or {}).get("epoch")
        if not isinstance(run, int):
            unnamed[sample_score.sample_id] += 1
            run = unnamed[sample_score.sample_id]
        yield run, sample_score


def trials(
    scores: Iterable[SampleScore], group_key: str, *, alone: bool = False
) -> list[Trial]:
    """The scores that count, with the group of each; those left unscored do not.

    A sample without a group is one of its own if it counts `alone`, else its group is "".
    """
    found = []
    for run, sample_score in runs_of(scores):
        value = sample_score.score.value
        if value != NOANSWER:
            told = sample_score.sample_metadata or {}
            own = sample_score.sample_id if alone else None
            group = str(told.get(group_key) or own or "")
            found.append(Trial(run, group, value == CORRECT, weight_in(told)))
    return found


def weight_in(metadata: Mapping[str, Any], default: float = 1.0) -> float:
    """The weight that a sample's metadata gives it; full runs name none."""
    weight = metadata.get("weight")
    if not isinstance(weight, int | float) or not 0 < weight < math.inf:
        return default
    return float(weight)


def run_rates(trials: Iterable[Trial]) -> list[float]:
    """The solving rate of each run, in the order of the runs; a weighted mean in a draw."""
    return [rate for rate, _ in _rates(trials).values()]


def _rates(trials: Iterable[Trial]) -> dict[int, tuple[float, float]]:
    """Rate and sum of weights of each run."""
    total: Counter[tuple[int, float]] = Counter()
    solved: defaultdict[tuple[int, float], float] = defaultdict(float)
    for run, _, value, weight in trials:
        total[run, weight] += 1
        solved[run, weight] += value
    # There are few different weights: whole numbers are added up before they are weighed.
    sums: dict[int, tuple[float, float]] = {}
    for (run, weight), count in sorted(total.items()):
        met, of = sums.get(run, (0.0, 0.0))
        sums[run] = met + weight * solved[run, weight], of + weight * count
    return {run: (met / of, of) for run, (met, of) in sums.items()}


def mean_rate(rates: Sequence[float]) -> float:
    """The paper's mean: each run counts the same."""
    return statistics.fmean(rates) if rates else NAN


def std_over_runs(rates: Sequence[float]) -> float:
    """The paper's std: sample standard deviation (n - 1) of the runs' rates."""
    return statistics.stdev(rates) if len(rates) > 1 else NAN


def residuals(trials: Sequence[Trial]) -> dict[str, float]:
    """How far each context moves the mean of the runs' rates; together they are 0.

    All runs of a task belong to its context; a trial weighs its weight / (runs x weights
    of its run), as in the mean of the runs' rates.
    """
    rates = _rates(trials)
    found: defaultdict[str, float] = defaultdict(float)
    # Equal trials are added at once: a few hundred products instead of thousands.
    for (run, cluster, solved, weight), count in Counter(trials).items():
        rate, weights = rates[run]
        found[cluster] += count * weight * (solved - rate) / weights / len(rates)
    return dict(found)


def clustered_stderr(trials: Sequence[Trial]) -> float:
    """Standard error of the mean rate, clustered on contexts.

    The sandwich estimator with the finite-cluster factor C / (C - 1) that Inspect's
    `stderr(cluster=...)` uses.
    """
    parts = residuals(trials)
    if len(parts) < 2:
        return NAN
    return math.sqrt(
        math.fsum(value * value for value in parts.values()) * len(parts) / (len(parts) - 1)
    )


@metric(scores="unreduced")
def solving() -> Metric:
    """`solving_rate`, its `std` over runs (two or more) and its clustered `stderr`."""

    def compute(scores: list[SampleScore]) -> Value:
        found = trials(scores, "context_id", alone=True)
        rates = run_rates(found)
        values = {"solving_rate": mean_rate(rates)}
        if len(rates) > 1:
            values["std"] = std_over_runs(rates)
        return {**values, "stderr": clustered_stderr(found)}

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
        groups: defaultdict[str, list[Trial]] = defaultdict(list)
        for trial in trials(scores, group_key):
            groups[trial.cluster].append(trial)
        groups.pop("", None)  # those that name no group
        values = {}
        for name in sorted(groups):
            rates = run_rates(groups[name])
            values[name] = mean_rate(rates)
            if std and len(rates) > 1:
                values[f"{name} (std)"] = std_over_runs(rates)
        return values

    return compute


@metric(scores="unreduced")
def judging() -> Metric:
    """How well the rubrics were met, and how far the judge can be relied on."""

    def compute(scores: list[SampleScore]) -> Value:
        reasons = Counter(one.score.reason for one in scores)
        shares = []
        left_out = inconsistent = 0
        for run, one in runs_of(scores):
            metadata = one.score.metadata or {}
            met, total = metadata.get("rubrics_met"), metadata.get("rubrics_total")
            share = rubric_share(met, total, one.score.value == CORRECT)
            inconsistent += bool(metadata.get("inconsistent"))
            if one.score.value == NOANSWER or share is None:
                left_out += 1
            else:
                shares.append(Trial(run, "", share, weight_in(one.sample_metadata or {})))
        failures = reasons["grader_failed"]
        return {
            "rubric_rate": mean_rate(run_rates(shares)),
            "rubric_rate_left_out": left_out,
            "judge_coverage": 1 - failures / len(scores) if scores else NAN,
            "judge_failures": failures,
            "no_response": reasons["no_response"],
            "inconsistent_verdicts": inconsistent,
        }

    return compute


def rubric_share(met: Any, total: Any, solved: bool) -> float | None:
    """The share of rubrics that an answer met; None where it is not known.

    One that is solved without a usable status list counts as meeting all. One that failed
    without it may have met any number but all.
    """
    if total and isinstance(met, int) and isinstance(total, int):
        return met / total
    return 1.0 if solved else None


def clbench_metrics() -> list[Metric | dict[str, list[Metric]]]:
    """The metrics of a rubric-judged run, headline first."""
    return [
        solving(),
        judging(),
        solving_by("context_category", metric={"name": "Category"}),
        solving_by("sub_category", std=False, metric={"name": "Sub-category"}),
    ]
