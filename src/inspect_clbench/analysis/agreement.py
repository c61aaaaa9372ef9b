"""How far judges agree with each other, and one with itself when it is asked again."""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from os import PathLike
from statistics import fmean
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.verdicts import (
    AnswerKey,
    Judged,
    JudgeKey,
    JudgeVerdicts,
    join,
    read_judged,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.files import Log, Paths, check_one_dataset
from inspect_clbench.metrics.agreement import alpha, kappa

Ratings = tuple[bool | None, ...]
"""What each judge said of one thing; None where one said nothing."""

_WORD = {"y": True, "n": False}


@dataclass(frozen=True)
class Pair:
    """What two judges said of what both judged."""

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
    def agreement(self) -> float | None:
        return (self.both + self.neither) / self.compared if self.compared else None

    @property
    def kappa(self) -> float | None:
        """Cohen's kappa; None if both say one and the same word throughout."""
        return _defined(
            kappa(
                {
                    (True, True): self.both,
                    (True, False): self.only_first,
                    (False, True): self.only_second,
                    (False, False): self.neither,
                }
            )
        )


@dataclass(frozen=True)
class Level:
    """Agreement at one level: whole verdicts, or single rubrics."""

    compared: int
    """Things that two judges or more said something about."""

    agreement: float | None
    """The mean over the pairs of judges."""

    unanimous: float | None
    """The share on which all judges that said something say the same."""

    alpha: float | None
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
class Agreement(Result):
    """The judges of the same answers, side by side."""

    dataset_name: str
    names: tuple[str, ...]
    """What to call the judges, in their order."""

    judges: tuple[JudgeVerdicts, ...]
    verdicts: Level
    """Agreement on whether an answer solves its task."""

    rubrics: Level
    """Agreement on whether an answer meets a rubric."""

    unclear: int
    """Entries of status lists that are neither yes nor no, left out."""

    unlike: int
    """Answers that have more rubrics in one log than in the other, left out."""

    steadiness: tuple[Steadiness, ...]
    disputed: tuple[AnswerKey, ...]
    """Answers on which the judges' verdicts differ."""

    empty: int
    """Answers without text, which went to no judge."""

    left_out: tuple[str, ...]
    """What two logs do not have in common."""

    def records(self) -> Iterator[dict[str, Any]]:
        for name, level in (("verdicts", self.verdicts), ("rubrics", self.rubrics)):
            for pair in level.pairs:
                figures = {"agreement": pair.agreement, "kappa": pair.kappa}
                yield {"level": name, **asdict(pair), "compared": pair.compared, **figures}


def agreement(
    paths: Paths | Sequence[Sequence[Log]], *, panel_as_one: bool = False
) -> Agreement:
    """Compare the verdicts of judges on the same answers.

    The judges are those of a panel, those whose scores `inspect score` appended, and
    with two logs those of both. A judge that appears twice is compared with itself.

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
    judges, left_out = join(*sides) if len(sides) == 2 else (sides[0].judges, [])
    if len(judges) < 2:
        name = judges[0].key.judge if judges else "nobody"
        raise ClbenchError(
            f"{sides[0].logs[0]}: judged by {name} only, and agreement takes two. Have them "
            f"judged again with inspect score {sides[0].logs[0]} --scorer inspect_clbench/rubric_judge "
            "--action append --model-role grader=JUDGE, or name a second log of the same "
            "answers."
        )
    return _agreement(sides[0], judges, tuple(left_out))


def _agreement(
    side: Judged, judges: tuple[JudgeVerdicts, ...], left_out: tuple[str, ...]
) -> Agreement:
    names = _names(judges)
    answers = sorted({key for judge in judges for key in judge.solved})
    verdicts = {a: tuple(judge.solved.get(a) for judge in judges) for a in answers}
    rubrics, unclear, unlike = _rubric_ratings(judges, answers)
    return Agreement(
        dataset_name=side.logs[0].dataset_name,
        names=names,
        judges=judges,
        verdicts=level_of(names, Counter(verdicts.values())),
        rubrics=level_of(names, rubrics),
        unclear=unclear,
        unlike=unlike,
        steadiness=tuple(_steadiness(judges, names)),
        disputed=tuple(a for a in answers if {True, False} <= {*verdicts[a]}),
        empty=side.empty,
        left_out=left_out,
    )


def level_of(judges: Sequence[str], ratings: Mapping[Ratings, int]) -> Level:
    """The figures of a level.

    Args:
        judges: Their names.
        ratings: How often each combination of what the judges said occurs.
    """
    usable = {words: n for words, n in ratings.items() if len(words) - words.count(None) > 1}
    compared = sum(usable.values())
    pairs = tuple(
        _pair(judges[i], judges[j], ratings, i, j)
        for i, j in combinations(range(len(judges)), 2)
    )
    shares = [pair.agreement for pair in pairs if pair.agreement is not None]
    alike = sum(n for words, n in usable.items() if len({*words} - {None}) == 1)
    units: Counter[tuple[int, int]] = Counter()
    for words, n in usable.items():
        units[len(words) - words.count(None), words.count(True)] += n
    return Level(
        compared=compared,
        agreement=fmean(shares) if shares else None,
        unanimous=alike / compared if compared else None,
        alpha=_defined(alpha(units)) if len(judges) > 2 else None,
        pairs=pairs,
    )


def _pair(first: str, second: str, ratings: Mapping[Ratings, int], i: int, j: int) -> Pair:
    table: Counter[tuple[bool | None, bool | None]] = Counter()
    for words, number in ratings.items():
        table[words[i], words[j]] += number
    return Pair(
        first,
        second,
        both=table[True, True],
        only_first=table[True, False],
        only_second=table[False, True],
        neither=table[False, False],
    )


def _defined(figure: float) -> float | None:
    return None if math.isnan(figure) else figure


def _rubric_ratings(
    judges: Sequence[JudgeVerdicts], answers: Sequence[AnswerKey]
) -> tuple[Counter[Ratings], int, int]:
    """How often each combination of the judges' words on a rubric occurs; what is left out."""
    letters: Counter[tuple[str, ...]] = Counter()
    unlike = 0
    for answer in answers:
        statuses = [judge.statuses.get(answer, "") for judge in judges]
        sizes = {len(status) for status in statuses if status}
        if len(sizes) == 1:
            blank = " " * sizes.pop()  # for a judge without a usable list
            letters.update(zip(*(status or blank for status in statuses), strict=True))
        unlike += len(sizes) > 1
    ratings: Counter[Ratings] = Counter()
    for combination, number in letters.items():
        ratings[tuple(_WORD.get(letter) for letter in combination)] += number
    unclear = sum(row.count("?") * number for row, number in letters.items())
    return ratings, unclear, unlike


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
    prompts = {(judge.key.prompt, judge.key.prompt_sha256) for judge in judges}
    names: list[str] = []
    for judge in judges:
        name = judge.key.judge
        if len(prompts) > 1:
            name += f" ({judge.key.prompt or 'unknown'} prompt)"
        if judge.again:
            name += f" (again {judge.again})"
        while name in names:  # prompts of the same name but another text
            name += " (another text)"
        names.append(name)
    return tuple(names)
