"""How far the judges of a panel agree. Pure functions, total, one pass over the scores.

They run about once a second while an eval runs, so kappa and alpha are worked out from
counts here; the tests hold them against statsmodels and Inspect's own alpha.
"""

import statistics
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from inspect_clbench.metrics import Tally

NAN = float("nan")


@metric(scores="unreduced")
def judge_agreement() -> Metric:
    """Agreement between the judges of a panel; nothing where each answer had one judge.

    `judge_agreement` is the share of answers on which two judges say the same,
    `rubric_agreement` that of single rubrics, both as the mean over the pairs of judges.
    Beside them stands `judge_kappa` (Cohen's) for two judges or `judge_alpha`
    (Krippendorff's) for more.
    """

    def compute(scores: list[SampleScore]) -> Value:
        panels: defaultdict[tuple[str, ...], list[_Panel]] = defaultdict(list)
        for metadata in Tally.of(scores).panels:
            votes = metadata["votes"]
            if isinstance(votes, list):
                try:
                    names = tuple([vote["judge"] for vote in votes])
                    panels[names].append((votes, metadata.get("rubrics_total")))
                except (TypeError, KeyError):  # not votes of ours
                    continue
        return _figures(panels) if any(len(names) > 1 for names in panels) else {}

    return compute


_Panel = tuple[list[dict[str, Any]], Any]
"""The votes on one answer, and how many rubrics it has."""


def _figures(panels: Mapping[tuple[str, ...], Sequence[_Panel]]) -> dict[str, float]:
    units: Counter[tuple[int, int]] = Counter()
    tables: defaultdict[tuple[str, str], Counter[tuple[bool, bool]]] = defaultdict(Counter)
    rubrics: defaultdict[tuple[str, str], list[int]] = defaultdict(lambda: [0, 0])
    judges: set[str] = set()
    for names, answers in panels.items():
        labels = _labels(names)
        judges.update(labels)
        for verdicts, count in _verdicts(answers, len(names)).items():
            units[len(verdicts) - verdicts.count(None), verdicts.count(True)] += count
            for i, j in combinations(range(len(names)), 2):
                a, b = verdicts[i], verdicts[j]
                if a is not None and b is not None:
                    tables[labels[i], labels[j]][a, b] += count
        for (i, j), (same, compared) in _same_rubrics(answers, len(names)).items():
            rubrics[labels[i], labels[j]][0] += same
            rubrics[labels[i], labels[j]][1] += compared
    by_pair = [(t[True, True] + t[False, False]) / t.total() for t in tables.values()]
    by_rubric = [same / compared for same, compared in rubrics.values() if compared]
    figures = {"judge_agreement": statistics.fmean(by_pair) if by_pair else NAN}
    if len(judges) == 2:
        figures["judge_kappa"] = kappa(next(iter(tables.values()), {}))
    else:
        figures["judge_alpha"] = alpha(units)
    figures["rubric_agreement"] = statistics.fmean(by_rubric) if by_rubric else NAN
    return figures


def _labels(names: Sequence[str]) -> list[str]:
    """Names that tell apart a judge who sits on the panel twice."""
    return [f"{name} {names[:i].count(name)}" for i, name in enumerate(names)]


def _verdicts(
    answers: Sequence[_Panel], judges: int
) -> Counter[tuple[bool | None, ...]]:  # fmt: skip
    """How often each combination of the judges' verdicts occurs; None is no verdict."""
    columns = [
        [
            solved if (solved := votes[i].get("solved")) is True or solved is False else None
            for votes, _ in answers
        ]
        for i in range(judges)
    ]
    return Counter(zip(*columns, strict=True))


def _same_rubrics(
    answers: Sequence[_Panel], judges: int
) -> dict[tuple[int, int], tuple[int, int]]:
    """Per pair of judges: rubrics seen alike, and rubrics to which both said yes or no."""
    import numpy as np

    columns = []
    for i in range(judges):
        letters = "".join([_letters(votes[i].get("status"), total) for votes, total in answers])
        columns.append(np.frombuffer(letters.encode("ascii", "replace"), dtype=np.uint8))
    known = [column != ord("?") for column in columns]
    counts = {}
    for i, j in combinations(range(judges), 2):
        both = known[i] & known[j]
        same = both & (columns[i] == columns[j])
        counts[i, j] = (int(same.sum()), int(both.sum()))
    return counts


def _letters(status: Any, rubrics: Any) -> str:
    """A letter per rubric, all unknown where the status list has another length."""
    if isinstance(status, str) and len(status) == rubrics:
        return status
    return "?" * rubrics if isinstance(rubrics, int) else ""


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

    Args:
        units: How many answers have so many verdicts, so many of which are yes.
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
