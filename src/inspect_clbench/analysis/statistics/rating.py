"""Agreement of raters who say yes or no. None stands for a figure that is not defined."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from inspect_ai.scorer import SampleScore, Score, krippendorff_alpha

from inspect_clbench.analysis.statistics.paired import statistics_library

Ratings = tuple[bool | None, ...]
"""What each rater said of one thing; None where one said nothing."""


@dataclass(frozen=True)
class Pair:
    """The words of two raters on what both rated."""

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int

    @property
    def compared(self) -> int:
        return self.both + self.only_first + self.only_second + self.neither

    @property
    def differ(self) -> int:
        return self.only_first + self.only_second

    @property
    def agreement(self) -> float | None:
        return 1 - self.differ / self.compared if self.compared else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None if both say one and the same word throughout."""
        if self.compared in (self.both, self.neither):
            return None
        table = [[self.both, self.only_first], [self.only_second, self.neither]]
        raters = statistics_library("statsmodels.stats.inter_rater")
        return float(raters.cohens_kappa(table, return_results=False))


@dataclass(frozen=True)
class Level:
    """Agreement at one level: whole verdicts, or single rubrics."""

    compared: int
    """Things that two raters or more said something about."""

    agreement: float | None
    """The mean over the pairs of raters."""

    unanimous: float | None
    """The share on which all raters that said something say the same."""

    alpha: float | None
    """Krippendorff's alpha of three raters or more; None if all say the same throughout."""

    pairs: tuple[Pair, ...]


def level_of(raters: Sequence[str], ratings: Mapping[Ratings, int]) -> Level:
    """The figures of a level.

    Args:
        raters: Their names.
        ratings: How often each combination of the raters' words occurs.
    """
    usable = {words: n for words, n in ratings.items() if len(words) - words.count(None) > 1}
    compared = sum(usable.values())
    pairs = tuple(
        _pair(raters[i], raters[j], ratings, i, j)
        for i, j in combinations(range(len(raters)), 2)
    )
    shares = [pair.agreement for pair in pairs if pair.agreement is not None]
    alike = sum(n for words, n in usable.items() if len({*words} - {None}) == 1)
    return Level(
        compared=compared,
        agreement=fmean(shares) if shares else None,
        unanimous=alike / compared if compared else None,
        alpha=_alpha(usable) if len(raters) > 2 else None,
        pairs=pairs,
    )


def _pair(first: str, second: str, ratings: Mapping[Ratings, int], i: int, j: int) -> Pair:
    table: Counter[tuple[bool | None, bool | None]] = Counter()
    for words, count in ratings.items():
        table[words[i], words[j]] += count
    return Pair(
        first,
        second,
        both=table[True, True],
        only_first=table[True, False],
        only_second=table[False, True],
        neither=table[False, False],
    )


def _alpha(ratings: Mapping[Ratings, int]) -> float | None:
    if len({word for words in ratings for word in words if word is not None}) < 2:
        return None
    scores: list[SampleScore] = []
    for words, count in ratings.items():
        said = [word for word in words if word is not None]
        scores += [SampleScore(score=Score(value=said))] * count
    value = krippendorff_alpha()(scores)  # type: ignore[arg-type]  # the deprecated half of Metric takes list[Score]
    return float(value)  # type: ignore[arg-type]  # a metric may return mappings, this one does not
