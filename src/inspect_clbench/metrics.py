"""What the scores of a run add up to. Pure functions, total, one pass over the scores.

All metrics are unreduced: they see every score of every run, whatever reducer is
set, and know the run from the epoch that the scorer wrote down.
"""

import math
import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import compress
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


class Tally:
    """What the metrics need of scores, taken out of each of them once.

    Inspect calls the metrics one after the other with the same scores, about once a
    second while an eval runs, each time with some more at the end. Going through
    thousands of them takes longer than all arithmetic, so the last tally is kept and
    added to.
    """

    _last: "Tally | None" = None

    def __init__(self) -> None:
        self.scores: list[SampleScore] = []
        self.reasons: Counter[str | None] = Counter()
        self.inconsistent = 0
        self.rubric_shares: list[float] = []
        self.panels: list[Mapping[str, Any]] = []
        """The metadata of scores that several judges gave."""

        self._counted: list[SampleScore] = []
        self._runs: list[int] = []
        self._solved: list[bool] = []
        self._unnamed: Counter[Any] = Counter()
        self._cells: dict[tuple[str, bool], tuple[int, Cells]] = {}

    @classmethod
    def of(cls, scores: Sequence[SampleScore]) -> "Tally":
        last = cls._last
        # The very same scores are found to be equal at once, others hardly later.
        if last is None or last.scores != scores[: len(last.scores)]:
            last = cls()
        cls._last = None  # not to be met half done
        last._add(scores[len(last.scores) :])
        cls._last = last
        return last

    def _add(self, scores: Sequence[SampleScore]) -> None:
        self.scores += scores
        found = [sample_score.score for sample_score in scores]
        metadata = [score.metadata or {} for score in found]
        self.reasons.update([score.reason for score in found])
        self.inconsistent += len([1 for one in metadata if one.get("inconsistent")])
        self.panels += [one for one in metadata if "votes" in one]
        rubrics = [(one.get("rubrics_met"), one.get("rubrics_total")) for one in metadata]
        self.rubric_shares += [
            met / total
            for met, total in rubrics
            if total and isinstance(met, int) and isinstance(total, int)
        ]
        runs: list[Any] = [one.get("epoch") for one in metadata]
        if not {type(run) for run in runs} <= {int}:
            ids = [sample_score.sample_id for sample_score in scores]
            runs = [self._run(run, id) for run, id in zip(runs, ids, strict=True)]
        values = [score.value for score in found]
        if NOANSWER in values:
            counts = [value != NOANSWER for value in values]
            scores, runs = list(compress(scores, counts)), list(compress(runs, counts))
            values = list(compress(values, counts))
        self._counted += scores
        self._runs += runs
        self._solved += [value == CORRECT for value in values]

    def _run(self, named: Any, sample_id: Any) -> int:
        """Where no run is named the n-th score of a sample is of the n-th."""
        if isinstance(named, int):
            return named
        self._unnamed[sample_id] += 1
        return self._unnamed[sample_id]

    def cells(self, group_key: str, alone: bool) -> Cells:
        """Those of `cells_of`; they are kept and grow, so they are for reading only."""
        done, cells = self._cells.get((group_key, alone), (0, Counter()))
        new = self._counted[done:]
        groups = [str((s.sample_metadata or {}).get(group_key) or "") for s in new]
        if alone:
            groups = [group or str(s.sample_id) for group, s in zip(groups, new, strict=True)]
        cells.update(zip(self._runs[done:], groups, self._solved[done:], strict=True))
        self._cells[group_key, alone] = (len(self._counted), cells)
        return cells


def cells_of(scores: Sequence[SampleScore], group_key: str, alone: bool = False) -> Cells:
    """Run, group and whether solved, counted over the rows that count.

    Rows left unscored by the user's choice are not among them.

    Args:
        scores: Every score of every run.
        group_key: The key of the sample's metadata that names its group.
        alone: Whether a sample without a group is one of its own; else it is "".
    """
    return Tally.of(scores).cells(group_key, alone)


class _Totals(NamedTuple):
    """By run: all rows, and the solved ones."""

    rows: dict[int, int]
    solved: dict[int, int]

    @property
    def rates(self) -> list[float]:
        return [self.solved[run] / self.rows[run] for run in sorted(self.rows)]


def _totals(cells: Cells) -> _Totals:
    rows: defaultdict[int, int] = defaultdict(int)
    solved: defaultdict[int, int] = defaultdict(int)
    for (run, _, is_solved), count in cells.items():
        rows[run] += count
        if is_solved:
            solved[run] += count
    return _Totals(rows, solved)


def run_rates(rows: Rows) -> list[float]:
    """The solving rate of each run, in the order of the runs."""
    return _totals(Counter(rows)).rates


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
    cells = Counter(rows)
    return _stderr(cells, _totals(cells))


def _stderr(cells: Cells, totals: _Totals) -> float:
    weights = {
        run: ((1 - totals.solved[run] / rows) / rows, -totals.solved[run] / rows / rows)
        for run, rows in totals.rows.items()
    }
    residuals: dict[str, float] = {}
    for (run, cluster, is_solved), count in cells.items():
        weight = weights[run][0] if is_solved else weights[run][1]
        residuals[cluster] = residuals.get(cluster, 0.0) + count * weight
    clusters = len(residuals)
    if clusters < 2:
        return NAN
    squares = math.fsum(value * value for value in residuals.values())
    return math.sqrt(squares * clusters / (clusters - 1)) / len(totals.rows)


@metric(scores="unreduced")
def solving() -> Metric:
    """`solving_rate`, its `std` over runs (two or more) and its clustered `stderr`."""

    def compute(scores: list[SampleScore]) -> Value:
        cells = cells_of(scores, "context_id", alone=True)
        totals = _totals(cells)
        rates = totals.rates
        values = {"solving_rate": mean_rate(rates)}
        if len(rates) > 1:
            values["std"] = std_over_runs(rates)
        return {**values, "stderr": _stderr(cells, totals)}

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
        for row, count in cells_of(scores, group_key).items():
            groups[row[1]][row] = count
        groups.pop("", None)  # rows that name no group
        values = {}
        for name in sorted(groups):
            rates = _totals(groups[name]).rates
            values[name] = mean_rate(rates)
            if std and len(rates) > 1:
                values[f"{name} (std)"] = std_over_runs(rates)
        return values

    return compute


@metric(scores="unreduced")
def judging() -> Metric:
    """How well the rubrics were met, and how far the judge can be relied on."""

    def compute(scores: list[SampleScore]) -> Value:
        tally = Tally.of(scores)
        failures = tally.reasons["grader_failed"]
        shares = tally.rubric_shares
        return {
            "rubric_rate": statistics.fmean(shares) if shares else NAN,
            "judge_coverage": 1 - failures / len(scores) if scores else NAN,
            "judge_failures": failures,
            "no_response": tally.reasons["no_response"],
            "inconsistent_verdicts": tally.inconsistent,
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
