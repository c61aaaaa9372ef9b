"""The solving rate: per run, per group, its std over runs and its clustered standard error.

All metrics are unreduced: they see every score of every run, whatever reducer is set, and
know the run from the epoch that the scorer wrote down. They are total functions without any
state between calls, because Inspect calls them while an eval runs, after it, and again when
somebody edits a score in place.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from inspect_ai.scorer import CORRECT, NOANSWER, Metric, SampleScore, Value, metric

NAN = float("nan")


class Trial(NamedTuple):
    """One answer in one run: what the arithmetic needs to know of a score."""

    run: int
    cluster: str  # the context, or another group that the answer belongs to
    solved: bool


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
            group = (sample_score.sample_metadata or {}).get(group_key)
            own = sample_score.sample_id if alone else None
            found.append(Trial(run, str(group or own or ""), value == CORRECT))
    return found


def run_rates(trials: Iterable[Trial]) -> list[float]:
    """The solving rate of each run, in the order of the runs."""
    return list(_rates(trials).values())


def _rates(trials: Iterable[Trial]) -> dict[int, float]:
    total: Counter[int] = Counter()
    solved: Counter[int] = Counter()
    for run, _, is_solved in trials:
        total[run] += 1
        solved[run] += is_solved
    return {run: solved[run] / total[run] for run in sorted(total)}


def mean_rate(rates: Sequence[float]) -> float:
    """The paper's mean: each run counts the same."""
    return statistics.fmean(rates) if rates else NAN


def std_over_runs(rates: Sequence[float]) -> float:
    """The paper's std: sample standard deviation (n - 1) of the runs' rates."""
    return statistics.stdev(rates) if len(rates) > 1 else NAN


def clustered_stderr(trials: Sequence[Trial]) -> float:
    """Standard error of the mean rate, clustered on contexts.

    The sandwich estimator with the finite-cluster factor C / (C - 1) that Inspect's
    `stderr(cluster=...)` uses. All runs of a task belong to its context's cluster;
    a trial weighs 1 / (runs x trials of its run), as in the mean of the runs' rates.
    """
    rates = _rates(trials)
    sizes = Counter(run for run, _, _ in trials)
    residuals: defaultdict[str, float] = defaultdict(float)
    # Equal trials are added at once: a few hundred products instead of thousands.
    for (run, cluster, solved), count in Counter(trials).items():
        residuals[cluster] += count * ((solved - rates[run]) / sizes[run])
    clusters = len(residuals)
    if clusters < 2:
        return NAN
    squares = math.fsum(value * value for value in residuals.values())
    return math.sqrt(squares * clusters / (clusters - 1)) / len(rates)


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
        inconsistent = 0
        for one in scores:
            metadata = one.score.metadata or {}
            met, total = metadata.get("rubrics_met"), metadata.get("rubrics_total")
            if total and isinstance(met, int) and isinstance(total, int):
                shares.append(met / total)
            inconsistent += bool(metadata.get("inconsistent"))
        failures = reasons["grader_failed"]
        return {
            "rubric_rate": statistics.fmean(shares) if shares else NAN,
            "judge_coverage": 1 - failures / len(scores) if scores else NAN,
            "judge_failures": failures,
            "no_response": reasons["no_response"],
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
