"""How far judges agree with each other, and one with itself when it is asked again."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from inspect_clbench.analysis.comparing.same_answers import join
from inspect_clbench.analysis.reading.series import check_one_benchmark
from inspect_clbench.analysis.reading.verdicts import (
    Answer,
    Identity,
    Judged,
    JudgeVerdicts,
    read_judged,
)
from inspect_clbench.analysis.statistics.rating import Level, Ratings, level_of
from inspect_clbench.errors import ClbenchError

_WORD = {"y": True, "n": False}


@dataclass(frozen=True)
class Steadiness:
    """What became of a judge's verdicts when it was asked the same again."""

    judge: str
    times: int
    """How often it was asked."""

    compared: int
    """Answers on which it gave a verdict more than once."""

    flipped: tuple[Answer, ...]
    """Those of them on which its verdicts differ."""

    @property
    def share(self) -> float | None:
        return len(self.flipped) / self.compared if self.compared else None


@dataclass(frozen=True)
class Agreement:
    """The judges of the same answers, laid side by side."""

    benchmark: str
    labels: tuple[str, ...]
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
    disputed: tuple[Answer, ...]
    """Answers on which the judges' verdicts differ."""

    empty: int
    """Answers without text, which went to no judge."""

    notes: tuple[str, ...]


def agreement(paths: Sequence[str], *, panel_as_one: bool = False) -> Agreement:
    """Compare the verdicts of judges on the same answers.

    The judges are those of a panel, those whose scores `inspect score` appended, and
    with two logs those of both. A judge that appears twice is compared with itself.

    Args:
        paths: One log, folder or URL; or two that hold the same answers.
        panel_as_one: Whether to take a panel's decision for one judge's verdict.

    Returns:
        The figures; `agreement_tables` makes tables of them.
    """
    if not 1 <= len(paths) <= 2:
        raise ClbenchError(f"{len(paths)} logs given. Give one, or two of the same answers.")
    sides = [read_judged(path, panel_as_one=panel_as_one) for path in paths]
    check_one_benchmark([log for side in sides for log in side.logs])
    judges = sides[0].judges
    notes: tuple[str, ...] = ()
    if len(sides) == 2:
        joined = join(*sides)
        judges, notes = joined.judges, joined.notes
    if len(judges) < 2:
        raise ClbenchError(_too_few(paths[0], judges))
    return _agreement(sides[0], judges, notes)


def _agreement(
    side: Judged, judges: tuple[JudgeVerdicts, ...], notes: tuple[str, ...]
) -> Agreement:
    labels = _labels(judges)
    answers = sorted({answer for judge in judges for answer in judge.solved})
    verdicts = {a: tuple(judge.solved.get(a) for judge in judges) for a in answers}
    rubrics, unclear, unlike = _rubric_ratings(judges, answers)
    return Agreement(
        benchmark=side.logs[0].benchmark,
        labels=labels,
        judges=judges,
        verdicts=level_of(labels, Counter(verdicts.values())),
        rubrics=level_of(labels, rubrics),
        unclear=unclear,
        unlike=unlike,
        steadiness=tuple(_steadiness(judges, labels)),
        disputed=tuple(a for a in answers if {True, False} <= {*verdicts[a]}),
        empty=side.empty,
        notes=notes,
    )


def _rubric_ratings(
    judges: Sequence[JudgeVerdicts], answers: Sequence[Answer]
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
    for combination, count in letters.items():
        ratings[tuple(_WORD.get(letter) for letter in combination)] += count
    unclear = sum(row.count("?") * count for row, count in letters.items())
    return ratings, unclear, unlike


def _steadiness(judges: Sequence[JudgeVerdicts], labels: Sequence[str]) -> Iterator[Steadiness]:
    groups: defaultdict[Identity, list[JudgeVerdicts]] = defaultdict(list)
    names: dict[Identity, str] = {}
    for judge, label in zip(judges, labels, strict=True):
        groups[judge.identity].append(judge)
        names.setdefault(judge.identity, label)
    for identity, group in groups.items():
        given = Counter(answer for judge in group for answer in judge.solved)
        again = sorted(answer for answer, times in given.items() if times > 1)
        flipped = tuple(
            a
            for a in again
            if len({judge.solved[a] for judge in group if a in judge.solved}) > 1
        )
        if len(group) > 1:
            yield Steadiness(names[identity], len(group), len(again), flipped)


def _labels(judges: Sequence[JudgeVerdicts]) -> tuple[str, ...]:
    prompts = {(j.identity.prompt, j.identity.prompt_sha256) for j in judges}
    labels: list[str] = []
    for judge in judges:
        label = judge.identity.judge
        if len(prompts) > 1:
            label += f" ({judge.identity.prompt or 'unknown'} prompt)"
        if judge.again:
            label += f" (again {judge.again})"
        while label in labels:  # prompts of the same name but another text
            label += " (another text)"
        labels.append(label)
    return tuple(labels)


def _too_few(path: str, judges: Sequence[JudgeVerdicts]) -> str:
    name = judges[0].identity.judge if judges else "nobody"
    return (
        f"{path}: judged by {name} only, and agreement takes two. Have the answers judged "
        f"again with inspect score {path} --scorer inspect_clbench/rubric_judge --action "
        "append --model-role grader=JUDGE, or name a second log of the same answers."
    )
