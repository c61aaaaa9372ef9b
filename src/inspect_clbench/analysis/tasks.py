"""Single tasks: their verdicts over the runs, and those that failed by one rubric."""

import difflib
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.frames import Result
from inspect_clbench.benchmarks import RUBRIC_JUDGE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.logs.answers import (
    Answer,
    answer_of,
    check_same_rows,
    people_names,
    read_summaries,
    score_names,
)
from inspect_clbench.logs.files import Log, Paths, find_logs
from inspect_clbench.logs.samples import read_task_samples
from inspect_clbench.logs.series import Series, load_series, series_names
from inspect_clbench.progress import progress

_CLOSE_IDS = 3


@dataclass(frozen=True)
class TaskVerdict:
    """One run's answer to a task and what one judge, or panel, made of it."""

    answer: Answer
    rubrics: tuple[tuple[int, str], ...]
    """The task's rubrics with their numbers."""

    rationales: tuple[tuple[str, bool | None, str], ...]
    """Judges with their verdicts and what they wrote; one, or the judges of a panel."""

    text: str
    """The answer itself."""

    error: str
    """What kept the answer or the verdict from coming about; empty if nothing did."""

    @property
    def missed(self) -> list[tuple[int, str]]:
        """The rubrics that were not met, if the judge said which."""
        if len(self.answer.status) != len(self.rubrics):
            return []
        pairs = zip(self.rubrics, self.answer.status, strict=True)
        return [rubric for rubric, letter in pairs if letter != "y"]


@dataclass(frozen=True)
class TaskView(Result):
    """A task's verdicts, by log, epoch and judge."""

    verdicts: tuple[TaskVerdict, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.verdicts:
            answer = one.answer
            yield {
                "log": str(answer.log),
                "model": answer.log.model,
                "id": answer.task_id,
                "epoch": answer.epoch,
                "judge": answer.judge,
                "outcome": answer.outcome,
                "status": answer.status,
                "missed": [number for number, _ in one.missed],
                "rationale": "\n\n".join(text for _, _, text in one.rationales),
                "answer": one.text,
                "error": one.error,
            }


@dataclass(frozen=True)
class NearMiss:
    """A rubric that alone kept a task from being solved, in one run or several."""

    task_id: str
    sub_category: str
    place: int
    """Which of the task's rubrics, counted from 0 without blank ones."""

    only_miss: int
    """In how many runs it was the only one missed."""

    missed: int
    """In how many runs it was missed at all."""

    runs: int
    """In how many runs the judge said of each rubric whether it was met."""

    number: int = 0
    text: str = ""


@dataclass(frozen=True)
class SeriesNearMisses:
    """The near misses of one series."""

    series: Series
    name: str
    found: int
    """How many there are; `listed` may be fewer."""

    listed: tuple[NearMiss, ...]
    """Those with the rubric's number and text."""

    failed: int
    """Failed answers."""

    near: int
    """Those of them that failed by one rubric."""


@dataclass(frozen=True)
class NearMisses(Result):
    """The tasks that failed by one rubric, for each series."""

    series: tuple[SeriesNearMisses, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.series:
            for miss in one.listed:
                yield {"name": one.name, **asdict(miss)}


def show_task(paths: Paths, task_id: str) -> TaskView:
    """A task's verdicts, by log, epoch and judge.

    Args:
        paths: Log files, folders or URLs.
        task_id: The task, or the beginning of its id if no other begins so.
    """
    logs = find_logs(paths)
    ids = {log.location: _ids(log) for log in logs}
    task = _known_id(task_id, sorted(set().union(*ids.values())))
    found = [
        verdict
        for log in logs
        if task in ids[log.location]
        for sample in read_task_samples(log, [task])
        for verdict in _verdicts(log, sample)
    ]
    if not found:
        raise ClbenchError(f"{task}: none of the logs' runs got to this task.")
    check_same_rows(verdict.answer for verdict in found)
    return TaskView(tuple(found))


def near_misses(paths: Paths, limit: int = 20) -> NearMisses:
    """The tasks that failed by exactly one rubric, most often missed rubrics first.

    Args:
        paths: Log files, folders or URLs.
        limit: How many to list; 0 for all. The rubric's text is read for those only.
    """
    series = load_series(paths)
    named = zip(series, series_names(series), strict=True)
    return NearMisses(tuple(_near_misses(one, name, limit) for one, name in named))


def find_near_misses(series: Series) -> list[NearMiss]:
    """The near misses of a series, most often missed rubrics first."""
    only: Counter[tuple[str, int]] = Counter()
    missed: Counter[tuple[str, int]] = Counter()
    runs: Counter[str] = Counter()
    sub_category: dict[str, str] = {}
    for answer in series.scored:
        if not answer.status or len(answer.status) != answer.rubrics_total:
            continue
        runs[answer.task_id] += 1
        sub_category[answer.task_id] = answer.sub_category
        places = _missed_places(answer)
        missed.update((answer.task_id, place) for place in places)
        if _is_near_miss(answer):
            only[answer.task_id, places[0]] += 1
    found = [
        NearMiss(task, sub_category[task], place, number, missed[task, place], runs[task])
        for (task, place), number in only.items()
    ]
    return sorted(found, key=lambda n: (-n.only_miss, -n.missed, n.task_id, n.place))


def _near_misses(series: Series, name: str, limit: int) -> SeriesNearMisses:
    found = find_near_misses(series)
    chosen = found[:limit] if limit else found
    rubrics = _rubrics(series, list(dict.fromkeys(miss.task_id for miss in chosen)))
    listed = []
    for miss in chosen:
        number, text = rubrics[miss.task_id][miss.place]
        listed.append(replace(miss, number=number, text=text))
    return SeriesNearMisses(
        series=series,
        name=name,
        found=len(found),
        listed=tuple(listed),
        failed=sum(answer.outcome == "failed" for answer in series.scored),
        near=sum(_is_near_miss(answer) for answer in series.scored),
    )


def _is_near_miss(answer: Answer) -> bool:
    return answer.outcome == "failed" and len(_missed_places(answer)) == 1


def _missed_places(answer: Answer) -> list[int]:
    return [place for place, letter in enumerate(answer.status) if letter != "y"]


def _rubrics(series: Series, tasks: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """The numbered rubrics of tasks, which the summaries of a log are too small for."""
    found: dict[str, list[tuple[int, str]]] = {}
    with progress("Reading rubrics", len(tasks)) as advance:
        for log in series.logs:
            held = log.task_ids or set(tasks)
            wanted = [task for task in tasks if task in held and task not in found]
            without = ("messages", "attachments", "scores")
            for sample in read_task_samples(log, wanted, first=True, without=without):
                found[str(sample.id)] = numbered_rubrics(sample.metadata["rubrics"])
                advance(1)
    return found


def _ids(log: Log) -> frozenset[str]:
    return log.task_ids or frozenset(str(summary.id) for summary in read_summaries(log))


def _known_id(wanted: str, known: Sequence[str]) -> str:
    if wanted in known:
        return wanted
    starting = [id for id in known if id.startswith(wanted)]
    if len(starting) == 1:
        return starting[0]
    close = starting or difflib.get_close_matches(wanted, known, n=_CLOSE_IDS, cutoff=0.4)
    if not close:
        raise ClbenchError(f"{wanted}: no such task among the {len(known):,} of the log.")
    lead = f"{len(starting)} tasks begin so" if starting else "no such task"
    hint = "for instance" if starting else "close to it are"
    raise ClbenchError(f"{wanted}: {lead}; {hint}: {', '.join(close[:_CLOSE_IDS])}.")


def _verdicts(log: Log, sample: EvalSample) -> Iterator[TaskVerdict]:
    scores = sample.scores or {}
    names = [name for name in score_names(log, [sample]) if name in scores]
    names += people_names(sample)
    for name in names or [RUBRIC_JUDGE]:
        score = scores.get(name)
        metadata = (score.metadata if score else None) or {}
        answer = answer_of(log, sample, name, score)
        yield TaskVerdict(
            answer=answer,
            rubrics=tuple(numbered_rubrics(sample.metadata.get("rubrics", []))),
            rationales=tuple(_rationales(answer, metadata)),
            text=sample.output.completion,
            error=sample.error.message
            if sample.error
            else str(metadata.get("judge_error", "")),
        )


def _rationales(
    answer: Answer, metadata: dict[str, Any]
) -> Iterator[tuple[str, bool | None, str]]:
    texts = metadata.get("rationales")
    if not isinstance(texts, list):
        return
    if len(texts) == len(answer.votes):
        for vote, text in zip(answer.votes, texts, strict=True):
            yield str(vote.get("judge")), vote.get("solved"), str(text)
    elif text := "\n\n".join(map(str, texts)):
        yield answer.judge, answer.solved, text
