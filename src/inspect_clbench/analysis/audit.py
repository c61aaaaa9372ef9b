"""What became of verdicts when the judge was asked again, in the same way and in others.

The scores are those that `inspect_clbench.audit` appended to a copy of a log: of answers that
were drawn evenly from the solved and the others. All figures are weighted back to the log.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.sampled import Item, sampled
from inspect_clbench.analysis.statistics import Figure, Rate, design_of, interval_of, rate_of
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import AUDITED, Answer, answer_of, people_names, score_names
from inspect_clbench.logs.files import Log, Paths, find_logs, read_summaries
from inspect_clbench.logs.series import trials_of

_MOST_UNSTEADY = 10


@dataclass(frozen=True)
class Change:
    """What came of asking in one way."""

    score: str
    """The name of its scores in the log."""

    judge: str
    judge_prompt: str
    compared: Mapping[bool, int]
    """Answers with both verdicts, by the first one."""

    flipped: Mapping[bool, int]
    """Those of them with another verdict now."""

    failed: int
    """Answers that the judge was asked about and gave no verdict on; no flips."""

    rubrics: Mapping[bool, int]
    """Single rubrics with a yes or no both times, by the first."""

    rubrics_flipped: Mapping[bool, int]
    flips: Figure
    """The share of verdicts that would flip in the whole log."""

    rubric_flips: Figure
    rate: Figure
    """The solving rate of the whole log by these verdicts."""

    moved: Figure
    """By how much that is more or less than the log's own."""


@dataclass(frozen=True)
class Unsteady:
    """An answer whose verdict or rubrics changed."""

    answer: Answer
    flipped_in: tuple[str, ...]
    """The names of the scores with another verdict."""

    asked: int
    rubrics: int
    """Single rubrics that changed, over all ways of asking."""


@dataclass(frozen=True)
class Audit(Result):
    """How steady the judge of a log is."""

    log: Log
    judge: str
    rate: Rate
    answers: Mapping[bool, int]
    """Those with a verdict in the log, by the verdict."""

    changes: tuple[Change, ...]
    unsteady: tuple[Unsteady, ...]
    """The answers that changed most, for a person to read."""

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.changes:
            yield {
                "score": one.score,
                "judge": one.judge,
                "judge_prompt": one.judge_prompt,
                "solved": one.compared[True],
                "solved_flipped": one.flipped[True],
                "not_solved": one.compared[False],
                "not_solved_flipped": one.flipped[False],
                "failed": one.failed,
                "met": one.rubrics[True],
                "met_flipped": one.rubrics_flipped[True],
                "missed": one.rubrics[False],
                "missed_flipped": one.rubrics_flipped[False],
                **_flat("flips", one.flips),
                **_flat("rubric_flips", one.rubric_flips),
                **_flat("solving_rate", one.rate),
                **_flat("moved", one.moved),
            }


def _flat(name: str, figure: Figure) -> dict[str, float | None]:
    return {name: figure.value, f"{name}_low": figure.low, f"{name}_high": figure.high}


def read_audit(path: Paths) -> Audit:
    """The result of an audit, from the copy of the log that it wrote. Nothing is asked.

    Args:
        path: The copy.
    """
    logs = find_logs(path)
    if len(logs) > 1:
        raise ClbenchError(f"{len(logs)} logs given: {logs[0]}, {logs[1]}. Name one of them.")
    log = logs[0]
    summaries = read_summaries(log)
    names = dict.fromkeys(n for s in summaries for n in people_names(s, AUDITED))
    if not names:
        raise ClbenchError(
            f"{log}: there is no audit in it. To make one, in a copy of the log: "
            f"clbench audit {log} -o COPY.eval"
        )
    main = score_names(log, summaries)[0]
    pairs = [
        (answer, summary)
        for summary in summaries
        for answer in [answer_of(log, summary, main, (summary.scores or {}).get(main))]
        if answer.scored
    ]
    answers = [answer for answer, _ in pairs]
    seconds = {
        name: [
            answer_of(log, summary, name, summary.scores[name])
            if name in (summary.scores or {}) and summary.scores
            else None
            for _, summary in pairs
        ]
        for name in names
    }
    trials = trials_of(answers)
    return Audit(
        log=log,
        judge=Counter(answer.judge for answer in answers if answer.judge).most_common(1)[0][0],
        rate=rate_of(trials, ci=True, design=design_of(answers, log.draw)),
        answers=Counter(answer.solved for answer in answers if not answer.reason),
        changes=tuple(_change(name, answers, some) for name, some in seconds.items()),
        unsteady=tuple(_unsteady(answers, seconds)),
    )


def _change(name: str, answers: Sequence[Answer], seconds: Sequence[Answer | None]) -> Change:
    given = [one for one in seconds if one is not None]
    verdicts = [one if one and not one.reason and one.scored else None for one in seconds]
    items = [
        Item(trial, not first.reason, second.solved if second else None)
        for first, second, trial in zip(answers, verdicts, trials_of(answers), strict=True)
    ]
    part = sampled(items)
    pairs = [(a, b) for a, b in zip(answers, verdicts, strict=True) if b and not a.reason]
    flipped = Counter(a.solved for a, b in pairs if a.solved != b.solved)
    rubrics = [(a, _compared(a, b)) for a, b in pairs]
    compared, changed = (
        Counter(
            before == "y" for _, some in rubrics for before, now in some if take(before, now)
        )
        for take in (lambda before, now: True, lambda before, now: before != now)
    )
    of = Counter(answer.solved for answer, _ in pairs)
    return Change(
        score=name,
        judge=given[0].judge,
        judge_prompt=given[0].judge_prompt,
        compared=of,
        flipped=flipped,
        failed=len(given) - len(pairs),
        rubrics=compared,
        rubrics_flipped=changed,
        flips=part.estimate(
            lambda yes, no, if_yes, if_no: yes * (1 - if_yes) + no * if_no
        ).figure,
        rubric_flips=_rubric_flips(
            rubrics, {h: part.answers[h] / n for h, n in of.items() if n}
        ),
        rate=part.estimate(lambda yes, no, if_yes, if_no: yes * if_yes + no * if_no).figure,
        moved=part.estimate(
            lambda yes, no, if_yes, if_no: yes * (if_yes - 1) + no * if_no, least=-1.0
        ).figure,
    )


def _compared(first: Answer, second: Answer) -> list[tuple[str, str]]:
    """The rubrics of which both verdicts say yes or no."""
    if len(first.status) != len(second.status):
        return []
    pairs = zip(first.status, second.status, strict=True)
    return [(before, now) for before, now in pairs if {before, now} <= {"y", "n"}]


def _rubric_flips(
    rubrics: Sequence[tuple[Answer, Sequence[tuple[str, str]]]], weights: Mapping[bool, float]
) -> Figure:
    """The weighted share of single rubrics that changed, clustered on contexts."""
    total = math.fsum(weights[answer.solved] * len(some) for answer, some in rubrics)
    if not total:
        return Figure(None)
    changed = [
        (answer, len(some), sum(before != now for before, now in some))
        for answer, some in rubrics
    ]
    share = math.fsum(weights[answer.solved] * number for answer, _, number in changed) / total
    moved: defaultdict[str, float] = defaultdict(float)
    for answer, of, number in changed:
        moved[answer.context_id] += weights[answer.solved] * (number - share * of) / total
    count = len(moved)
    if count < 2:
        return Figure(share)
    variance = math.fsum(value * value for value in moved.values()) * count / (count - 1)
    interval = interval_of(share, math.sqrt(variance), [(variance, count - 1)], count)
    return Figure(share, *interval)


def _unsteady(
    answers: Sequence[Answer], seconds: Mapping[str, Sequence[Answer | None]]
) -> list[Unsteady]:
    found = []
    for place, first in enumerate(answers):
        given = {name: some[place] for name, some in seconds.items()}
        usable = {n: one for n, one in given.items() if one and one.scored and not one.reason}
        flipped = tuple(n for n, one in usable.items() if one.solved != first.solved)
        rubrics = sum(a != b for one in usable.values() for a, b in _compared(first, one))
        if flipped or rubrics:
            found.append(Unsteady(first, flipped, len(usable), rubrics))
    found.sort(key=lambda one: (-len(one.flipped_in), -one.rubrics))
    return found[:_MOST_UNSTEADY]
