"""The solving rate: of a run, of a group, its std over runs and its clustered standard error.

All metrics are unreduced: they see every score of every run, whatever reducer is set, and know
the run from the epoch that the scorer wrote down. They are total functions without any state
between calls, because Inspect calls them while an eval runs, after it, and again when somebody
edits a score in place.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from inspect_ai.scorer import CORRECT, NOANSWER, Metric, SampleScore, Value, metric

from inspect_clbench.benchmarks import LENGTH_LIMITS

NAN = float("nan")


class Trial(NamedTuple):
    """An answer in one run: what the arithmetic needs to know of a score."""

    run: int
    group: str
    """The context, or the category, that the answer belongs to."""
    solved: float
    """0 or 1, or the share of the rubrics that it meets."""


def run_rates(trials: Iterable[Trial]) -> list[float]:
    """The rate of each run, in the order of the runs."""
    values: defaultdict[int, list[float]] = defaultdict(list)
    for trial in trials:
        values[trial.run].append(trial.solved)
    return [statistics.fmean(values[run]) for run in sorted(values)]


def mean_rate(trials: Iterable[Trial]) -> float:
    """The paper's mean: each run counts the same."""
    rates = run_rates(trials)
    return statistics.fmean(rates) if rates else NAN


def _mean_and_std(trials: Sequence[Trial], name: str, std_name: str) -> dict[str, float]:
    """The mean and, of two or more runs, the paper's std: the sample standard deviation (n - 1)."""
    rates = run_rates(trials)
    std = {std_name: statistics.stdev(rates)} if len(rates) > 1 else {}
    return {name: mean_rate(trials), **std}


def clustered_stderr(trials: Sequence[Trial]) -> float:
    """Standard error of the mean of the runs' rates, clustered on contexts.

    The sandwich estimator with the finite-cluster factor C / (C - 1) that Inspect's
    `stderr(cluster=...)` uses. All runs of a task belong to its context. Where nobody or
    everybody solved there is nothing to estimate it from: nan, as 0 would say certainty.
    """
    if len({trial.solved for trial in trials}) < 2:
        return NAN
    sizes = Counter(trial.run for trial in trials)
    rates = dict(zip(sorted(sizes), run_rates(trials), strict=True))
    shifts: defaultdict[str, float] = defaultdict(float)  # how far each context moves the mean
    for run, context, solved in trials:
        shifts[context] += (solved - rates[run]) / sizes[run] / len(rates)
    count = len(shifts)
    if count < 2:
        return NAN
    return math.sqrt(math.fsum(shift * shift for shift in shifts.values()) * count / (count - 1))


@metric(scores="unreduced")
def solving() -> Metric:
    """`solving_rate`, its `std` over runs (two or more) and its clustered `stderr`."""

    def compute(scores: list[SampleScore]) -> Value:
        # A task without a context is one of its own.
        trials = [
            Trial(run, _group(score, "context_id") or str(score.sample_id), score.score.value == CORRECT)
            for run, score in _counted(scores)
        ]
        return {**_mean_and_std(trials, "solving_rate", "std"), "stderr": clustered_stderr(trials)}

    return compute


@metric(scores="unreduced")
def solving_by(group_key: str, metric: dict[str, str] | None = None) -> Metric:
    """Solving rate of each group, and `<group> (std)` over runs (two or more).

    Args:
        group_key: The key of the sample's metadata that names its group.
        metric: The label of the groups' table in the log viewer, as `name`.
    """

    def compute(scores: list[SampleScore]) -> Value:
        groups: defaultdict[str, list[Trial]] = defaultdict(list)
        for run, score in _counted(scores):
            if group := _group(score, group_key):
                groups[group].append(Trial(run, group, score.score.value == CORRECT))
        values: dict[str, float] = {}
        for group in sorted(groups):
            values |= _mean_and_std(groups[group], group, f"{group} (std)")
        return values

    return compute


@metric(scores="unreduced")
def judging() -> Metric:
    """How well the rubrics were met, and how far answers and judge can be relied on."""

    def compute(scores: list[SampleScore]) -> Value:
        reasons = Counter(score.score.reason for score in scores)
        failures = reasons["grader_failed"]
        shares = [
            Trial(run, "", share)
            for run, score in _counted(scores)
            if (share := _rubric_share(score)) is not None
        ]
        return {
            "rubric_rate": mean_rate(shares),
            "judge_coverage": 1 - failures / len(scores) if scores else NAN,
            "judge_failures": failures,
            "no_response": reasons["no_response"],
            "inconsistent_verdicts": sum(bool(_metadata(score).get("inconsistent")) for score in scores),
            "cut_off_answers": sum(_metadata(score).get("stop_reason") in LENGTH_LIMITS for score in scores),
        }

    return compute


def _counted(scores: Iterable[SampleScore]) -> Iterator[tuple[int, SampleScore]]:
    """The scores that count, with their runs; those that a person left unscored do not.

    The run is the epoch that a score names or, where it names none, n for a sample's n-th.
    """
    unnamed: Counter[Any] = Counter()
    for score in scores:
        run = _metadata(score).get("epoch")
        if not isinstance(run, int):
            unnamed[score.sample_id] += 1
            run = unnamed[score.sample_id]
        if score.score.value != NOANSWER:
            yield run, score


def _group(score: SampleScore, key: str) -> str:
    return str((score.sample_metadata or {}).get(key) or "")


def _metadata(score: SampleScore) -> dict[str, Any]:
    return score.score.metadata or {}


def _rubric_share(score: SampleScore) -> float | None:
    """The share of rubrics that an answer meets; None of one that failed without a usable status list."""
    met, total = _metadata(score).get("rubrics_met"), _metadata(score).get("rubrics_total")
    return met / total if isinstance(met, int) and isinstance(total, int) and total else None


def clbench_metrics() -> list[Metric | dict[str, list[Metric]]]:
    """The metrics of a rubric-judged run, headline first."""
    return [solving(), judging(), solving_by("context_category", metric={"name": "Category"})]
