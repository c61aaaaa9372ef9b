"""How far judges agree with each other, and one with itself when it is asked again.

A judge may be a model, or a person who filled in a sheet.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from os import PathLike
from typing import Any

import numpy as np

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.statistics import Figure, kappa_figure, share_figure
from inspect_clbench.analysis.verdicts import (
    AnswerKey,
    Judged,
    JudgeKey,
    JudgeVerdicts,
    Left,
    join,
    read_judged,
)
from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import BY_HAND
from inspect_clbench.logs.files import Log, Paths, check_one_dataset
from inspect_clbench.metrics.agreement import (
    YES_NO,
    Words,
    alpha,
    kappa,
    known_to_both,
    mean_share,
    several,
    share_alike,
    unanimous,
)

Ratings = Mapping[str, Mapping[Words, int]]
"""By context, how often each combination of what the judges said occurs."""


ALL_TYPES = "all types"
"""The level on which the sets of error types of an answer are compared."""


@dataclass(frozen=True)
class Pair:
    """What two judges said of what both judged."""

    first: str
    second: str
    counts: Mapping[Words, int]
    """How often the first said one word and the second another."""

    agreement: Figure
    kappa: Figure
    """Cohen's kappa; None if both say one and the same word throughout."""

    @property
    def compared(self) -> int:
        return sum(self.counts.values())

    @property
    def both(self) -> int:
        return self.counts.get((True, True), 0)

    @property
    def only_first(self) -> int:
        return self.counts.get((True, False), 0)

    @property
    def only_second(self) -> int:
        return self.counts.get((False, True), 0)

    @property
    def neither(self) -> int:
        return self.counts.get((False, False), 0)


@dataclass(frozen=True)
class Level:
    """Agreement at one level: whole verdicts, single rubrics, or an error type."""

    name: str
    compared: int
    """Things that two judges or more said something about."""

    contexts: int
    """Of how many contexts these are."""

    agreement: Figure
    """The mean over the pairs of judges."""

    unanimous: Figure
    """The share on which all judges that said something say the same."""

    alpha: Figure
    """Krippendorff's alpha of three judges or more; None if all say the same throughout."""

    pairs: tuple[Pair, ...]


@dataclass(frozen=True)
class Steadiness:
    """What became of a judge's verdicts when it was asked the same again."""

    judge: str
    times: int
    """How often it was asked."""

    compared: int
    """Answers on which it gave a verdict more than once."""

    flipped: tuple[AnswerKey, ...]
    """Those of them on which its verdicts differ."""

    @property
    def share(self) -> float | None:
        return len(self.flipped) / self.compared if self.compared else None


@dataclass(frozen=True)
class Filled:
    """How far a sheet is filled in."""

    rows: int
    checked: int
    contrary: int = 0
    """Rows in which the person's verdict does not follow from the person's rubrics."""


@dataclass(frozen=True)
class Agreement(Result):
    """The judges of the same answers, side by side."""

    source: str
    """The name of the dataset, or of the sheet."""

    names: tuple[str, ...]
    """What to call the judges, in their order."""

    judges: tuple[JudgeVerdicts, ...]
    levels: tuple[Level, ...]
    """Whether an answer solves its task, whether it meets a rubric, and whether it shows each
    error type: those on which two judges or more said something."""

    unclear: int = 0
    """Entries of status lists that are neither yes nor no, left out."""

    unlike: int = 0
    """Answers that have more rubrics in one log than in the other, left out."""

    steadiness: tuple[Steadiness, ...] = ()
    disputed: tuple[AnswerKey, ...] = ()
    """Answers on which the judges' verdicts differ."""

    empty: int = 0
    """Answers without text, which went to no judge."""

    left: Left = field(default_factory=Left)
    """What two logs do not have in common."""

    filled: Filled | None = None
    """Of a sheet."""

    def __getitem__(self, level: str) -> Level:
        return next(one for one in self.levels if one.name == level)

    def records(self) -> Iterator[dict[str, Any]]:
        for level in self.levels:
            for pair in level.pairs:
                yield {
                    "level": level.name,
                    **{name: getattr(pair, name) for name in _RECORDED},
                    **_flat("agreement", pair.agreement),
                    **_flat("kappa", pair.kappa),
                }
            if len(level.pairs) > 1:
                yield {
                    "level": level.name,
                    "compared": level.compared,
                    **_flat("agreement", level.agreement),
                    **_flat("unanimous", level.unanimous),
                    **_flat("alpha", level.alpha),
                }


_RECORDED = ("first", "second", "both", "only_first", "only_second", "neither", "compared")


def _flat(name: str, figure: Figure) -> dict[str, float | None]:
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}


def agreement(
    paths: Paths | Sequence[Sequence[Log]], *, panel_as_one: bool = False
) -> Agreement:
    """Compare the verdicts of judges on the same answers, and their error types.

    The judges are those of a panel, those whose scores `inspect score` appended, people
    whose sheets were added to the log, and with two logs those of both. A judge that
    appears twice is compared with itself.

    Args:
        paths: One log, folder or URL; or two that hold the same answers. What
            `find_logs` found in each may stand for it.
        panel_as_one: Whether to take a panel's decision for one judge's verdict.
    """
    given = [paths] if isinstance(paths, str | PathLike | Log) else list(paths)
    if not 1 <= len(given) <= 2:
        raise ClbenchError(f"{len(given)} logs given. Give one, or two of the same answers.")
    sides = [read_judged(path, panel_as_one=panel_as_one) for path in given]
    check_one_dataset([log for side in sides for log in side.logs])
    judged = join(*sides) if len(sides) == 2 else sides[0]
    if len(judged.judges) < 2 and len(judged.labellers) < 2:
        name = judged.judges[0].key.judge if judged.judges else "nobody"
        raise ClbenchError(
            f"{judged.logs[0]}: judged by {name} only, and agreement takes two. Have the answers "
            f"judged again with inspect score {judged.logs[0]} --scorer "
            "inspect_clbench/rubric_judge --action append --model-role grader=JUDGE, name a "
            "second log of the same answers, or have a person judge some: clbench check-judge."
        )
    return agreement_of(judged, judged.logs[0].dataset_name)


def agreement_of(judged: Judged, source: str, filled: Filled | None = None) -> Agreement:
    """The agreement of judges.

    Args:
        judged: Their verdicts and error types.
        source: The name of the dataset, or of the sheet.
        filled: How far the sheet is filled in, if it is one.
    """
    judges, names = judged.judges, _names(judged.judges)
    answers = sorted({key for judge in judges for key in judge.solved})
    said = {key: tuple(judge.solved.get(key) for judge in judges) for key in answers}
    statuses, unclear, unlike = _statuses(judges, answers)
    levels = []
    if len(judges) > 1:
        contexts = judged.contexts
        levels.append(level_of("verdicts", names, _counted(contexts, said, lambda w: [w])))
        levels.append(level_of("rubrics", names, _counted(contexts, statuses, _yes_or_no)))
    return Agreement(
        source=source,
        names=names,
        judges=judges,
        levels=(*levels, *_type_levels(judged)),
        unclear=unclear,
        unlike=unlike,
        steadiness=tuple(_steadiness(judges, names)),
        disputed=tuple(key for key in answers if {True, False} <= {*said[key]}),
        empty=judged.empty,
        left=judged.left,
        filled=filled,
    )


def level_of(name: str, judges: Sequence[str], ratings: Ratings) -> Level:
    """The figures of a level.

    Args:
        name: What to call it.
        judges: Their names.
        ratings: How often each combination of what the judges said occurs.
    """
    words = list(dict.fromkeys(w for found in ratings.values() for w in found))
    counts = np.array(
        [[found.get(w, 0) for w in words] for found in ratings.values()], dtype=float
    ).reshape(len(ratings), len(words))
    usable = counts[counts @ several(words) > 0]
    whole = usable.sum(0)
    pairs = []
    for i, j in combinations(range(len(judges)), 2):
        both = known_to_both(words, i, j)
        table: Counter[Words] = Counter()
        for w, known, number in zip(words, both, whole, strict=True):
            if known:
                table[w[i], w[j]] += int(number)
        rows = counts[counts @ both > 0]
        pairs.append(
            Pair(
                judges[i],
                judges[j],
                table,
                share_figure(partial(share_alike, words, i=i, j=j), rows),
                kappa_figure(partial(kappa, words, i=i, j=j), rows),
            )
        )
    several_pairs = len(pairs) > 1
    return Level(
        name=name,
        compared=int(whole @ several(words)),
        contexts=len(usable),
        agreement=share_figure(partial(mean_share, words), usable)
        if several_pairs
        else pairs[0].agreement,
        unanimous=share_figure(partial(unanimous, words), usable),
        alpha=kappa_figure(partial(alpha, words), usable) if several_pairs else Figure(None),
        pairs=tuple(pairs),
    )


def _counted(
    contexts: Mapping[AnswerKey, str],
    said: Mapping[AnswerKey, Any],
    words: Callable[[Any], Iterable[Words]],
) -> Ratings:
    """How often each combination occurs in each context, from what was said of each answer."""
    ratings: defaultdict[str, Counter[Words]] = defaultdict(Counter)
    for key, found in said.items():
        ratings[contexts[key]].update(words(found))
    return ratings


def _statuses(
    judges: Sequence[JudgeVerdicts], answers: Sequence[AnswerKey]
) -> tuple[dict[AnswerKey, list[str]], int, int]:
    """The judges' status lists of the same length, and what is left out."""
    found = {}
    unclear = unlike = 0
    for answer in answers:
        statuses = [judge.statuses.get(answer, "") for judge in judges]
        sizes = {len(status) for status in statuses if status}
        if len(sizes) == 1:
            blank = " " * sizes.pop()  # for a judge without a usable list
            found[answer] = [status or blank for status in statuses]
            unclear += sum(status.count("?") for status in statuses)
        unlike += len(sizes) > 1
    return found, unclear, unlike


def _yes_or_no(statuses: Sequence[str]) -> Iterator[Words]:
    return (tuple(map(YES_NO.get, letters)) for letters in zip(*statuses, strict=True))


def _type_levels(judged: Judged) -> Iterator[Level]:
    """A level for each error type, and one for all types of an answer together."""
    labellers, names = judged.labellers, _names(judged.labellers)
    if len(labellers) < 2:
        return
    answers = sorted({key for one in labellers for key in one.statuses})
    said = {key: [one.statuses.get(key, "") for one in labellers] for key in answers}
    for place, title in enumerate(ERROR_TYPES.values()):

        def words(statuses: Sequence[str], place: int = place) -> list[Words]:
            return [tuple(YES_NO.get(status[place : place + 1]) for status in statuses)]

        yield level_of(title, names, _counted(judged.contexts, said, words))
    ratings = _counted(judged.contexts, said, lambda s: [tuple(one or None for one in s)])
    yield level_of(ALL_TYPES, names, ratings)


def _steadiness(judges: Sequence[JudgeVerdicts], names: Sequence[str]) -> Iterator[Steadiness]:
    groups: defaultdict[JudgeKey, list[tuple[str, JudgeVerdicts]]] = defaultdict(list)
    for judge, name in zip(judges, names, strict=True):
        groups[judge.key].append((name, judge))
    for group in groups.values():
        if len(group) < 2:
            continue
        said: defaultdict[AnswerKey, list[bool]] = defaultdict(list)
        for _, judge in group:
            for answer, solved in judge.solved.items():
                said[answer].append(solved)
        again = sorted(answer for answer, words in said.items() if len(words) > 1)
        flipped = tuple(answer for answer in again if len({*said[answer]}) > 1)
        yield Steadiness(group[0][0], len(group), len(again), flipped)


def _names(judges: Sequence[JudgeVerdicts]) -> tuple[str, ...]:
    prompts = {judge.key[1:] for judge in judges if judge.key.prompt != BY_HAND}
    names: list[str] = []
    for judge in judges:
        name = judge.key.judge
        if len(prompts) > 1 and judge.key.prompt != BY_HAND:
            name += f" ({judge.key.prompt or 'unknown'} prompt)"
        if judge.again:
            name += f" (again {judge.again})"
        while name in names:  # prompts of the same name but another text
            name += " (another text)"
        names.append(name)
    return tuple(names)
