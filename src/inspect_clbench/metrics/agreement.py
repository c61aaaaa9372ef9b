"""How far judges agree: shares, Cohen's kappa, Krippendorff's alpha.

What judges said is counted by combinations of words: how often the first said yes and the
second no, and so on. Every figure is a function of these counts, of one row of them or of many
rows at once, so that the metrics of a run, the tables and the bootstrap share one piece of
arithmetic. Where a figure is not defined it is nan. The tests compare the figures with those
of statsmodels and Inspect.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

from inspect_ai.scorer import Metric, SampleScore, Value, metric

if TYPE_CHECKING:  # else imported where it is used: Inspect imports this module at each start
    import numpy as np
    from numpy.typing import NDArray

Words = tuple[Hashable, ...]
"""What each judge said of one thing; None where one said nothing."""

Names = tuple[str, ...]
Array: TypeAlias = "NDArray[np.float64]"

YES_NO: dict[Hashable, bool] = {"y": True, "n": False}
"""The letters of a status list that say something."""


@metric(scores="unreduced")
def judge_agreement() -> Metric:
    """Agreement between the judges of a panel; nothing where each answer had one judge.

    `judge_agreement` is the share of answers on which two judges say the same,
    `rubric_agreement` that of single rubrics, both as the mean over the pairs of judges.
    Beside them stands `judge_kappa` (Cohen's) for two judges or `judge_alpha`
    (Krippendorff's) for more.
    """

    def compute(scores: list[SampleScore]) -> Value:
        verdicts: defaultdict[Names, Counter[Words]] = defaultdict(Counter)
        statuses: defaultdict[Names, Counter[Words]] = defaultdict(Counter)
        for one in scores:
            names, solved, status = _votes(one.score.metadata or {})
            if len(names) > 1:
                verdicts[names][solved] += 1
                statuses[names].update(zip(*status, strict=True))
        if not verdicts:
            return {}
        judges = sorted({judge for names in verdicts for judge in names})
        words, counts = _side_by_side(verdicts, judges)
        figures = {"judge_agreement": mean_share(words, counts)}
        if len(judges) == 2:
            figures["judge_kappa"] = kappa(words, counts)
        else:
            figures["judge_alpha"] = alpha(words, counts)
        letters, counts = _side_by_side(statuses, judges)
        words = [tuple(YES_NO.get(letter) for letter in w) for w in letters]
        figures["rubric_agreement"] = mean_share(words, counts)
        return {name: float(figure) for name, figure in figures.items()}

    return compute


def _votes(metadata: Mapping[str, Any]) -> tuple[Names, Words, list[str]]:
    """The judges of a panel, their verdicts, and their status lists, blank if they do not fit."""
    votes, total = metadata.get("votes"), metadata.get("rubrics_total")
    if not isinstance(votes, list) or not all(isinstance(vote, dict) for vote in votes):
        return (), (), []
    seen: Counter[str] = Counter()
    names = []
    for vote in votes:
        name = str(vote.get("judge"))
        seen[name] += 1  # a judge who sits on the panel twice is two
        names.append(f"{name} {seen[name]}")
    solved = (vote.get("solved") for vote in votes)
    listed = (vote.get("status") for vote in votes)
    statuses = [s if isinstance(s, str) and len(s) == total else "" for s in listed]
    blank = " " * max(map(len, statuses), default=0)
    return (
        tuple(names),
        tuple(word if isinstance(word, bool) else None for word in solved),
        [status or blank for status in statuses],
    )


def _side_by_side(
    counted: Mapping[Names, Mapping[Words, int]], judges: Sequence[str]
) -> tuple[list[Words], Array]:
    """Words in the order of the judges, and how often each combination occurs."""
    words: list[Words] = []
    counts: list[int] = []
    for names, found in counted.items():
        places = [names.index(judge) if judge in names else None for judge in judges]
        words += [tuple(None if p is None else w[p] for p in places) for w in found]
        counts += found.values()
    return words, _floats(counts)


def share_alike(words: Sequence[Words], counts: Array, i: int = 0, j: int = 1) -> Array:
    """The share on which two judges say the same.

    Args:
        words: The combinations that occur.
        counts: How often each occurs, along the last axis.
        i: The place of one judge in a combination.
        j: That of the other.
    """
    same = [w[i] == w[j] and w[i] is not None for w in words]
    return _ratio(counts @ _floats(same), counts @ known_to_both(words, i, j))


def mean_share(words: Sequence[Words], counts: Array) -> Array:
    """The share on which two judges say the same, as the mean over the pairs of judges."""
    import numpy as np

    pairs = combinations(range(len(words[0]) if words else 0), 2)
    shares = np.array([share_alike(words, counts, i, j) for i, j in pairs])
    found = ~np.isnan(shares)
    return _ratio(np.where(found, shares, 0.0).sum(0), found.sum(0).astype(float))


def unanimous(words: Sequence[Words], counts: Array) -> Array:
    """The share on which all judges that say something, two or more, say the same."""
    alike = [len({*w} - {None}) == 1 for w in words] * several(words)
    return _ratio(counts @ alike, counts @ several(words))


def kappa(words: Sequence[Words], counts: Array, i: int = 0, j: int = 1) -> Array:
    """Cohen's kappa of two judges; nan where both always say the same word."""
    import numpy as np

    counts = counts * known_to_both(words, i, j)
    total = counts.sum(-1)
    alike = counts @ _floats(w[i] == w[j] for w in words)
    by_chance = np.zeros_like(total)
    for word in {w[i] for w in words} & {w[j] for w in words}:
        first, second = (counts @ _floats(w[k] == word for w in words) for k in (i, j))
        by_chance = by_chance + first * second
    return _ratio(total * alike - by_chance, total * total - by_chance)


def alpha(words: Sequence[Words], counts: Array) -> Array:
    """Krippendorff's alpha for words without an order; nan where all words are the same."""
    import numpy as np

    tallies = [Counter(word for word in w if word is not None) for w in words]
    sizes = _floats(tally.total() for tally in tallies) * several(words)
    mixed = (
        sum(n * (tally.total() - n) for n in tally.values()) / max(tally.total() - 1, 1)
        for tally in tallies
    )
    ratings = counts @ sizes
    expected = np.zeros_like(ratings)
    for word in {word for tally in tallies for word in tally}:
        of_word = counts @ (_floats(tally[word] for tally in tallies) * several(words))
        expected = expected + of_word * (ratings - of_word)
    return 1 - _ratio((counts @ _floats(mixed)) * (ratings - 1), expected)


def known_to_both(words: Sequence[Words], i: int, j: int) -> Array:
    """1 for the combinations in which both judges say something, 0 for the others."""
    return _floats(w[i] is not None and w[j] is not None for w in words)


def several(words: Sequence[Words]) -> Array:
    """1 for the combinations in which two judges or more say something, 0 for the others."""
    return _floats(len(w) - w.count(None) > 1 for w in words)


def _floats(values: Iterable[float]) -> Array:
    import numpy as np

    return np.array(list(values), dtype=float)


def _ratio(part: Array, whole: Array) -> Array:
    """Part of the whole; nan where there is no whole."""
    import numpy as np

    known = np.asarray(whole) != 0
    return np.where(known, part / np.where(known, whole, 1.0), np.nan)
