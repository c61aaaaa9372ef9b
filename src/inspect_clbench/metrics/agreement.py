"""How far the judges of a panel agree: shares, Cohen's kappa, Krippendorff's alpha.

Metrics run about once a second while an eval runs, so kappa and alpha are worked out from
counts; the tests compare them with those of statsmodels and Inspect.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import combinations
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from inspect_clbench.metrics.solving import NAN


@metric(scores="unreduced")
def judge_agreement() -> Metric:
    """Agreement between the judges of a panel; nothing where each answer had one judge.

    `judge_agreement` is the share of answers on which two judges say the same,
    `rubric_agreement` that of single rubrics, both as the mean over the pairs of judges.
    Beside them stands `judge_kappa` (Cohen's) for two judges or `judge_alpha`
    (Krippendorff's) for more.
    """

    def compute(scores: list[SampleScore]) -> Value:
        judges: set[str] = set()
        units: Counter[tuple[int, int]] = Counter()
        verdicts: defaultdict[tuple[str, str], Counter[tuple[Any, Any]]] = defaultdict(Counter)
        rubrics: defaultdict[tuple[str, str], Counter[tuple[Any, Any]]] = defaultdict(Counter)
        for one in scores:
            votes = _votes(one.score.metadata or {})
            if len(votes) < 2:
                continue
            judges.update(judge for judge, _, _ in votes)
            known = [solved for _, solved, _ in votes if solved is not None]
            units[len(known), sum(known)] += 1
            for (a, solved_a, status_a), (b, solved_b, status_b) in combinations(votes, 2):
                if solved_a is not None and solved_b is not None:
                    verdicts[a, b][solved_a, solved_b] += 1
                rubrics[a, b].update(zip(status_a, status_b, strict=False))
        if not judges:
            return {}
        figures = {"judge_agreement": _mean_share_alike(verdicts.values())}
        if len(judges) == 2:
            figures["judge_kappa"] = kappa(next(iter(verdicts.values()), {}))
        else:
            figures["judge_alpha"] = alpha(units)
        return {**figures, "rubric_agreement": _mean_share_alike(rubrics.values())}

    return compute


def _votes(metadata: Mapping[str, Any]) -> list[tuple[str, bool | None, str]]:
    """Judge, verdict and status list of each vote, the latter empty if it does not fit."""
    votes = metadata.get("votes")
    if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
        return []
    found: list[tuple[str, bool | None, str]] = []
    names: Counter[str] = Counter()
    for vote in votes:
        name, solved, status = (vote.get(key) for key in ("judge", "solved", "status"))
        names[str(name)] += 1  # a judge who sits on the panel twice is two
        fits = isinstance(status, str) and len(status) == metadata.get("rubrics_total")
        found.append(
            (
                f"{name} {names[str(name)]}",
                solved if isinstance(solved, bool) else None,
                status if fits else "",
            )
        )
    return found


def _mean_share_alike(tables: Iterable[Mapping[tuple[Any, Any], int]]) -> float:
    """The share of equal pairs in the counts of each two judges, as a mean over these."""
    shares = []
    for table in tables:
        known = {pair: count for pair, count in table.items() if "?" not in pair}
        if known:
            alike = sum(count for (a, b), count in known.items() if a == b)
            shares.append(alike / sum(known.values()))
    return statistics.fmean(shares) if shares else NAN


def kappa(table: Mapping[tuple[bool, bool], int]) -> float:
    """Cohen's kappa from the four counts; nan where both judges always say the same word."""
    both, first, second, neither = (
        table.get(cell, 0)
        for cell in ((True, True), (True, False), (False, True), (False, False))
    )
    total = both + first + second + neither
    by_chance = (both + first) * (both + second) + (neither + first) * (neither + second)
    if by_chance == total * total:
        return NAN
    return (total * (both + neither) - by_chance) / (total * total - by_chance)


def alpha(units: Mapping[tuple[int, int], int]) -> float:
    """Krippendorff's alpha for yes and no; nan where all verdicts are the same.

    `units` is how many answers have so many verdicts, so many of which are yes.
    """
    ratings = yes = 0
    observed = 0.0
    for (size, agreeing), count in units.items():
        if size < 2:
            continue
        ratings += size * count
        yes += agreeing * count
        observed += count * agreeing * (size - agreeing) / (size - 1)
    expected = yes * (ratings - yes)
    return 1 - observed * (ratings - 1) / expected if expected else NAN
