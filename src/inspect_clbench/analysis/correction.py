"""The solving rate that a person would have found, from a sheet of verdicts checked by hand.

Two estimates stand beside the judge's own rate. The prediction-powered one
(`analysis.sampled`) takes from each group of tasks what was checked in it. Rogan and Gladen's
(1978) takes the group's rate and the judge's sensitivity and specificity over all groups:

    rate = (judged rate + specificity - 1) / (sensitivity + specificity - 1)

It needs the judge to err alike in all groups, and is the narrower for that. Over all tasks the two
are the same number: sensitivity and specificity are weighted back to the run, with the
weights of the strata, and then the one formula is the other.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf, nan
from typing import Any

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.groups import divide
from inspect_clbench.analysis.sampled import (
    Item,
    Parts,
    Sampled,
    draw_answers,
    estimate,
    sampled,
)
from inspect_clbench.analysis.statistics import Figure, Rate, design_of, rate_of
from inspect_clbench.benchmarks import EXAM, OVERALL
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer
from inspect_clbench.logs.files import Paths
from inspect_clbench.logs.series import Series, as_series, series_names, trials_of

FEWEST = 10
"""So many labels of each stratum are needed for a rate, or all that there can be."""

_NEXT = 10


@dataclass(frozen=True)
class Check:
    """A row of a sheet: a verdict, and what a person says of it."""

    where: str
    """The file and the row."""

    key: tuple[str, ...]
    """The sample's uuid; where the sheet has none, the log, the task and the epoch."""

    judge: str
    scorer: str
    """The name of the score; empty in sheets that do not hold it."""

    judged: bool | None
    """The judge's verdict; None if the row is not checked yet."""

    said: bool | None
    """Whether the answer solves its task, as the person sees it; None if not checked yet."""

    of: int | None = None
    """From how many answers of its stratum it was drawn; None in sheets without weights."""


@dataclass(frozen=True)
class CorrectedRate:
    """A group of tasks: the judge's rate, and what it comes to with the errors of the judge."""

    group: str
    judged: Rate
    answers: Mapping[bool, int]
    """Those that can be checked, by the judge's verdict."""

    labels: Mapping[bool, int]
    rate: Figure
    """Prediction-powered; nothing where there are too few labels."""

    rogan_gladen: Figure


@dataclass(frozen=True)
class CorrectedSeries:
    """One model under one judge."""

    dataset: str
    name: str
    rates: tuple[CorrectedRate, ...]
    sensitivity: Figure
    """Of the answers that solve their task, the share that the judge calls solved."""

    specificity: Figure
    """Of the others, the share that the judge calls not solved."""

    unchecked: int
    """Rows of the sheet without a person's mark."""

    failures: int
    """Answers on which the judge gave no verdict; they stay as they count."""

    weighted: bool
    """Whether the sheet says from how many answers it was drawn."""

    more: Mapping[bool, int] | None
    """Labels of each stratum that would halve the interval over all tasks; None if none would."""

    next: tuple[Answer, ...]
    """Answers that are not in the sheet, of the stratum that adds most to the interval."""


@dataclass(frozen=True)
class Correction(Result):
    """Solving rates corrected by a sheet that a person filled in."""

    series: tuple[CorrectedSeries, ...]
    left_out: tuple[str, ...] = ()
    """Series without a single label."""

    elsewhere: int = 0
    """Rows of the sheet that are of other logs or judges."""

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.series:
            for row in one.rates:
                yield {
                    "dataset": one.dataset,
                    "name": one.name,
                    "group": row.group,
                    "judged": row.judged.mean,
                    "rate": row.rate.value,
                    "low": row.rate.low,
                    "high": row.rate.high,
                    "rogan_gladen": row.rogan_gladen.value,
                    "rogan_gladen_low": row.rogan_gladen.low,
                    "rogan_gladen_high": row.rogan_gladen.high,
                    "labels_solved": row.labels[True],
                    "labels_not_solved": row.labels[False],
                    "answers_solved": row.answers[True],
                    "answers_not_solved": row.answers[False],
                    "sensitivity": one.sensitivity.value,
                    "specificity": one.specificity.value,
                }


def correct(paths: Paths | Sequence[Series], checks: Sequence[Check]) -> Correction:
    """The solving rate corrected for the judge's errors, overall and by category.

    Args:
        paths: Log files, folders or URLs, or series that are read already.
        checks: The rows of a sheet that a person filled in, from
            `inspect_clbench.exchange.checks.read_checks`.
    """
    series = [one for one in as_series(paths) if one.benchmark is not EXAM]
    used: set[str] = set()
    done, left_out = [], []
    for one, name in zip(series, series_names(series), strict=True):
        found = _matched(one, checks)
        used |= {check.where for check in found.values()}
        if any(check.said is not None for check in found.values()):
            done.append(_corrected(one, name, found))
        else:
            left_out.append(name)
    if not done:
        raise ClbenchError(
            f"{checks[0].where.rpartition(',')[0]}: none of its checked rows is of an answer "
            "in these logs, by this judge. Name the log that the sheet was drawn from."
        )
    elsewhere = sum(check.where not in used for check in checks)
    return Correction(tuple(done), tuple(left_out), elsewhere)


def _key(answer: Answer) -> tuple[str, ...]:
    return (
        (answer.uuid,) if answer.uuid else (str(answer.log), answer.task_id, str(answer.epoch))
    )


def _matched(series: Series, checks: Sequence[Check]) -> dict[tuple[str, ...], Check]:
    """The rows that are of this series, by their answer."""
    answers = {_key(answer): answer for answer in series.scored if not answer.reason}
    found: dict[tuple[str, ...], Check] = {}
    for check in checks:
        answer = answers.get(check.key)
        if not answer or check.judge != answer.judge or check.scorer not in ("", answer.scorer):
            continue
        if check.judged not in (None, answer.solved):
            words = ("solved", "not solved")
            raise ClbenchError(
                f"{check.where}: by the sheet the judge said {words[not check.judged]}, by the "
                f"log it said {words[not answer.solved]} (task {answer.task_id}, run "
                f"{answer.epoch}). Put the judge's word back; if the log was judged anew, draw a "
                "new sheet."
            )
        known = found.get(check.key)
        if known and None not in (known.said, check.said) and known.said != check.said:
            raise ClbenchError(
                f"{check.where}: says another thing than {known.where} of the same answer (task "
                f"{answer.task_id}, run {answer.epoch}). Make them alike."
            )
        if known is None or known.said is None:
            found[check.key] = check
    _check_drawn_from(series, found.values())
    return found


def _check_drawn_from(series: Series, checks: Iterable[Check]) -> None:
    """Refuse logs with answers that the sheet could not have been drawn from."""
    now = Counter(answer.solved for answer in series.scored if not answer.reason)
    for check in checks:
        if None not in (check.of, check.judged) and (check.of or 0) < now[bool(check.judged)]:
            raise ClbenchError(
                f"{check.where}: drawn from {check.of:,} answers that the judge calls "
                f"{'solved' if check.judged else 'not solved'}, but the logs have "
                f"{now[bool(check.judged)]:,} of {series.model}. Name the logs that the sheet was "
                "drawn from, or draw a new one."
            )


def _corrected(
    series: Series, name: str, checks: Mapping[tuple[str, ...], Check]
) -> CorrectedSeries:
    design = design_of(series.scored, series.draw)
    items: dict[str, list[Item]] = {}
    divided = divide(series.scored, lambda answer: answer.category)
    of_group = {OVERALL: series.scored} | {g: divided[g] for g in series.benchmark.categories}
    for group, answers in of_group.items():
        if not answers:
            continue
        items[group] = [
            Item(trial, not answer.reason, check.said if check else None)
            for answer, trial in zip(answers, trials_of(answers), strict=True)
            for check in [checks.get(_key(answer))]
        ]
    whole = sampled(items[OVERALL])
    enough = whole.has(FEWEST)
    rates, overall = [], Parts(Figure(None), nan, ())
    for group, some in items.items():
        part = sampled(some)
        judged = rate_of([item.trial for item in some], ci=True, design=design)
        found = part.estimate(_rate) if enough and part.has(FEWEST) else None
        if group == OVERALL and found:
            overall = found
        rates.append(
            CorrectedRate(
                group,
                judged,
                part.answers,
                part.drawn,
                found.figure if found else Figure(None),
                rogan_gladen(part, whole) if found else Figure(None),
            )
        )
    rest = [a for a in series.scored if not a.reason and _key(a) not in checks]
    more, next_stratum = _labels_to_halve(overall, whole)
    return CorrectedSeries(
        dataset=series.dataset_name,
        name=name,
        rates=tuple(rates),
        sensitivity=whole.estimate(_sensitivity).figure if enough else Figure(None),
        specificity=whole.estimate(_specificity).figure if enough else Figure(None),
        unchecked=sum(check.said is None for check in checks.values()),
        failures=sum(answer.reason == "grader_failed" for answer in series.scored),
        weighted=all(check.of is not None for check in checks.values()),
        more=more,
        next=tuple(_next(rest, next_stratum)),
    )


def rate_figure(part: Sampled) -> Figure:
    """The prediction-powered rate of some tasks."""
    return part.estimate(_rate).figure


def rogan_gladen(part: Sampled, whole: Sampled) -> Figure:
    """A group's rate from the judge's rate in it and the judge's errors over all groups."""
    shares = (part.yes, part.no, whole.yes, whole.no)
    return estimate(_rogan_gladen, shares, whole.means, part.contexts).figure


def _rate(yes: float, no: float, if_yes: float, if_no: float) -> float:
    return yes * if_yes + no * if_no


def _sensitivity(yes: float, no: float, if_yes: float, if_no: float) -> float:
    return _ratio(yes * if_yes, _rate(yes, no, if_yes, if_no))


def _specificity(yes: float, no: float, if_yes: float, if_no: float) -> float:
    return _ratio(no * (1 - if_no), _rate(yes, no, 1 - if_yes, 1 - if_no))


def _rogan_gladen(values: Sequence[float]) -> float:
    part_yes, part_no, *whole = values
    better_than_chance = _sensitivity(*whole) + _specificity(*whole) - 1
    if not better_than_chance > 0:
        return nan
    judged = _ratio(part_yes, part_yes + part_no)
    return (part_yes + part_no) * (judged + _specificity(*whole) - 1) / better_than_chance


def _ratio(part: float, whole: float) -> float:
    return part / whole if whole else nan


def _labels_to_halve(
    parts: Parts, whole: Sampled
) -> tuple[dict[bool, int] | None, bool | None]:
    """How many labels of each stratum would halve the interval, and which comes next.

    A label goes where it takes most from the interval. What the contexts add stays.
    """
    if not parts.drawn:
        short = [h for h in (False, True) if whole.drawn[h] < min(FEWEST, whole.answers[h])]
        return None, short[0] if short else None
    now = dict(zip((True, False), parts.drawn, strict=True))
    have = dict(whole.drawn)

    def width(first: bool, labels: int) -> float:
        return now[first] * whole.drawn[first] / labels if now[first] else 0.0

    def gain(first: bool) -> float:
        if have[first] >= whole.answers[first]:
            return -inf
        return width(first, have[first]) - width(first, have[first] + 1)

    next_stratum = max(now, key=gain)
    if gain(next_stratum) <= 0:
        return None, None
    aim = (parts.contexts + sum(now.values())) / 4
    while parts.contexts + sum(width(h, have[h]) for h in now) > aim:
        best = max(now, key=gain)
        if gain(best) <= 0:
            return None, next_stratum
        have[best] += 1
    return {h: have[h] - whole.drawn[h] for h in now}, next_stratum


def _next(rest: Iterable[Answer], stratum: bool | None) -> Iterator[Answer]:
    if stratum is None:
        return
    some = [answer for answer in rest if answer.solved is stratum]
    yield from (answer for _, answer in draw_answers({stratum: some}, _NEXT))
