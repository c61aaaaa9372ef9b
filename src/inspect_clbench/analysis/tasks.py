"""Single tasks: their verdicts over the runs, and lists of tasks and of rubrics."""

import difflib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from statistics import fmean
from typing import Any, Literal

from inspect_ai.log import EvalSample

from inspect_clbench.analysis.frames import Result
from inspect_clbench.benchmarks import EXAM, RUBRIC_JUDGE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import missed_rubrics, numbered_rubrics
from inspect_clbench.logs.answers import (
    Answer,
    answer_of,
    check_same_rows,
    people_names,
    score_names,
)
from inspect_clbench.logs.files import Log, Paths, find_logs, read_summaries
from inspect_clbench.logs.samples import read_task_samples
from inspect_clbench.logs.series import (
    Series,
    as_series,
    by_dataset,
    load_series,
    series_names,
)
from inspect_clbench.progress import progress

_CLOSE_IDS = 3

ListKind = Literal["tasks", "rubrics", "apart", "near_misses"]
"""`apart`: the rubrics on which models differ most."""


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
        return missed_rubrics(self.rubrics, self.answer.status)


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
class Count:
    """How one series did on a task or on one of its rubrics."""

    runs: int
    """That count for the solving rate; of a rubric, with a usable status list."""

    met: int
    """Runs in which the task was solved, or the rubric met."""

    only_miss: int
    """Runs in which the rubric alone kept the task from being solved."""

    rubrics: float | None
    """Of a task, the share of its rubrics that was met, over the runs."""

    @property
    def share(self) -> float:
        return self.met / self.runs


@dataclass(frozen=True)
class Item:
    """A task, or one of its rubrics."""

    task_id: str
    category: str
    sub_category: str
    counts: tuple[Count | None, ...]
    """Of each series; None where it has no usable verdict."""

    place: int = -1
    """Which of the task's rubrics, counted from 0 without blank ones."""

    number: int = 0
    text: str = ""

    @property
    def known(self) -> list[Count]:
        return [count for count in self.counts if count]

    @property
    def share(self) -> float:
        """How often the task was solved, or the rubric met: the mean over the series."""
        return fmean(count.share for count in self.known)

    @property
    def spread(self) -> float:
        """How far the series are apart."""
        shares = [count.share for count in self.known]
        return max(shares) - min(shares)

    @property
    def only_miss(self) -> int:
        return sum(count.only_miss for count in self.known)

    @property
    def missed(self) -> int:
        return sum(count.runs - count.met for count in self.known)


@dataclass(frozen=True)
class TaskList:
    """Tasks, or rubrics, of some series in an order."""

    kind: ListKind
    series: tuple[Series, ...]
    names: tuple[str, ...]
    found: int
    """How many there are; `items` may be fewer."""

    items: tuple[Item, ...]
    near: int
    """Failed answers that missed one rubric only."""


@dataclass(frozen=True)
class TaskLists(Result):
    """Lists of tasks or rubrics."""

    lists: tuple[TaskList, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        for one in self.lists:
            for item in one.items:
                for name, count in zip(one.names, item.counts, strict=True):
                    yield {
                        "list": one.kind,
                        "name": name,
                        **{key: getattr(item, key) for key in _RECORDED},
                        **(asdict(count) if count else {}),
                        "missed": count.runs - count.met if count else None,
                    }


_RECORDED = ("task_id", "category", "sub_category", "number", "text")


def show_task(paths: Paths, task_id: str) -> TaskView:
    """A task's verdicts, by log, epoch and judge.

    Args:
        paths: Log files, folders or URLs.
        task_id: The task, or the beginning of its id if no other begins so.
    """
    logs = find_logs(paths, exams=True)
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


def list_tasks(paths: Paths, limit: int = 20) -> TaskLists:
    """The tasks, hardest first: in how many runs each was solved, and its rubrics met.

    Args:
        paths: Log files, folders or URLs.
        limit: How many to list; 0 for all.
    """
    return _lists(by_dataset(as_series(paths)), ["tasks"], limit)


def list_rubrics(paths: Paths, limit: int = 20) -> TaskLists:
    """The rubrics, hardest first; of several models, those too that tell them apart.

    Args:
        paths: Log files, folders or URLs.
        limit: How many to list; 0 for all. The rubric's text is read for those only.
    """
    groups = by_dataset(load_series(paths))
    apart = limit and any(len(group) > 1 for group in groups)
    return _lists(groups, ["rubrics", "apart"] if apart else ["rubrics"], limit)


def near_misses(paths: Paths, limit: int = 20) -> TaskLists:
    """The rubrics that alone made a task fail, for each series, most often missed first.

    Args:
        paths: Log files, folders or URLs.
        limit: How many to list; 0 for all. The rubric's text is read for those only.
    """
    return _lists([[one] for one in load_series(paths)], ["near_misses"], limit)


_ORDERS: dict[ListKind, Callable[[Item], tuple[Any, ...]]] = {
    "tasks": lambda item: (item.share, fmean(c.rubrics or 0.0 for c in item.known)),
    "rubrics": lambda item: (item.share, -item.missed),
    "apart": lambda item: (-item.spread, item.share),
    "near_misses": lambda item: (-item.only_miss, -item.missed),
}


def _lists(
    groups: Sequence[Sequence[Series]], kinds: Sequence[ListKind], limit: int
) -> TaskLists:
    lists = []
    names = series_names([one for group in groups for one in group])
    for group in groups:
        own, names = tuple(names[: len(group)]), names[len(group) :]
        check_same_rows(answer for one in group for answer in one.scored)
        found = _items(group, of_rubrics=kinds[0] != "tasks")
        for kind in kinds:
            items = [
                item
                for item in found
                if (kind != "apart" or item.spread)
                and (kind != "near_misses" or item.only_miss)
            ]
            order = _ORDERS[kind]
            items.sort(key=lambda item: (*order(item), item.task_id, item.place))
            chosen = items[:limit] if limit else items
            if kind != "tasks":
                chosen = _with_texts(group, chosen)
            near = sum(item.only_miss for item in found)
            lists.append(TaskList(kind, tuple(group), own, len(items), tuple(chosen), near))
    return TaskLists(tuple(lists))


def _items(series: Sequence[Series], of_rubrics: bool) -> list[Item]:
    """The tasks of series, or their rubrics, with how each series did."""
    counted: dict[tuple[str, int], list[Counter[str]]] = {}
    of_task: dict[str, Answer] = {}
    for index, one in enumerate(series):
        for answer in one.scored:
            of_task.setdefault(answer.task_id, answer)
            letters = answer.status if len(answer.status) == answer.rubrics_total else ""
            met = [letter == "y" for letter in letters]
            near = answer.outcome == "failed" and met.count(False) == 1
            for place, yes in enumerate(met) if of_rubrics else [(-1, answer.solved)]:
                key = answer.task_id, place
                count = counted.setdefault(key, [Counter() for _ in series])[index]
                count["runs"] += 1
                count["met"] += yes
                if of_rubrics:
                    count["only_miss"] += near and not yes
                else:
                    count["rubrics"] += sum(met)
                    count["of"] += len(met)
    items = []
    for (task, place), counts in counted.items():
        found = (
            Count(
                c["runs"], c["met"], c["only_miss"], c["rubrics"] / c["of"] if c["of"] else None
            )
            if c["runs"]
            else None
            for c in counts
        )
        first = of_task[task]
        items.append(Item(task, first.category, first.sub_category, tuple(found), place))
    return items


def _with_texts(series: Sequence[Series], items: Sequence[Item]) -> list[Item]:
    logs = {log.location: log for one in series for log in one.logs}
    tasks = dict.fromkeys(item.task_id for item in items)
    rubrics = _rubrics(list(logs.values()), list(tasks))
    found = []
    for item in items:
        known = rubrics.get(item.task_id, [])
        if item.place >= len(known):
            raise ClbenchError(
                f"{series[0].logs[0]}: task {item.task_id} has fewer rubrics ({len(known)}) in "
                "its sample than in its score. The log is damaged."
            )
        number, text = known[item.place]
        found.append(replace(item, number=number, text=text))
    return found


def _rubrics(logs: Sequence[Log], tasks: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """The numbered rubrics of tasks, which the summaries of a log are too small for."""
    found: dict[str, list[tuple[int, str]]] = {}
    with progress("Reading rubrics", len(tasks)) as advance:
        for log in logs:
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
            # In the judge exam the output is the verdict.
            text=str(sample.metadata.get("answer", ""))
            if log.benchmark is EXAM
            else sample.output.completion,
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
