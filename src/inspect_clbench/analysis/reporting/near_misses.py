"""The tasks that failed by one rubric, and which rubric that was."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from inspect_clbench.analysis.progress import progress
from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.records import Record, read_first
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.analysis.reporting.labels import labels, notes
from inspect_clbench.analysis.tables import Cell, Table
from inspect_clbench.analysis.text import counted
from inspect_clbench.judge.prompt import numbered_rubrics


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


def near_misses(paths: Paths, limit: int = 20) -> list[Table]:
    """The tasks that failed by exactly one rubric, most often missed rubrics first.

    Args:
        paths: Log files, folders or URLs.
        limit: How many to list; 0 for all. The rubric's text is read for those only.
    """
    series = load_series(paths)
    named = zip(series, labels(series), strict=True)
    return [_table(one, label, limit) for one, label in named]


def find_near_misses(series: Series) -> list[NearMiss]:
    """The near misses of a series, most often missed rubrics first."""
    only: Counter[tuple[str, int]] = Counter()
    missed: Counter[tuple[str, int]] = Counter()
    runs: Counter[str] = Counter()
    sub_category: dict[str, str] = {}
    for record in series.scored:
        if not record.status:
            continue
        runs[record.task_id] += 1
        sub_category[record.task_id] = record.sub_category
        places = _missed_places(record)
        missed.update((record.task_id, place) for place in places)
        if is_near_miss(record):
            only[record.task_id, places[0]] += 1
    found = [
        NearMiss(task, sub_category[task], place, count, missed[task, place], runs[task])
        for (task, place), count in only.items()
    ]
    return sorted(found, key=lambda n: (-n.only_miss, -n.missed, n.task_id, n.place))


def is_near_miss(record: Record) -> bool:
    """Whether an answer failed by exactly one rubric."""
    return record.outcome == "failed" and len(_missed_places(record)) == 1


def _missed_places(record: Record) -> list[int]:
    return [place for place, letter in enumerate(record.status) if letter != "y"]


def _table(series: Series, label: str, limit: int) -> Table:
    found = find_near_misses(series)
    listed = found[:limit] if limit else found
    rubrics = _rubrics(series, list(dict.fromkeys(miss.task_id for miss in listed)))
    rows = []
    for miss in listed:
        number, text = rubrics[miss.task_id][miss.place]
        rows.append(
            (
                Cell(miss.task_id),
                Cell(miss.sub_category),
                Cell(f"{number}. {text}", {"number": number, "text": text}),
                Cell(str(miss.only_miss), miss.only_miss),
                Cell(str(miss.missed), miss.missed),
                Cell(str(miss.runs), miss.runs),
            )
        )
    failed = sum(record.outcome == "failed" for record in series.scored)
    near = sum(is_near_miss(record) for record in series.scored)
    remarks = [f"Of {counted(failed, 'failed answer')}, {near:,} failed by one rubric."]
    if len(listed) < len(found):
        remarks.append(
            f"The first {len(listed)} of {len(found):,} are listed; --limit 0 lists all."
        )
    return Table(
        title=f"{label}: tasks that failed by one rubric",
        columns=("Task", "Sub-category", "Rubric", "Only miss", "Missed", "Runs"),
        rows=tuple(rows),
        notes=(*remarks, *notes([series])),
        left=3,
    )


def _rubrics(series: Series, tasks: Sequence[str]) -> dict[str, list[tuple[int, str]]]:
    """The numbered rubrics of tasks, which the summaries of a log are too small for."""
    found: dict[str, list[tuple[int, str]]] = {}
    with progress("Reading rubrics", len(tasks)) as advance:
        for log in series.logs:
            held = set(log.task_ids) or set(tasks)
            wanted = [task for task in tasks if task in held and task not in found]
            for sample in read_first(log, wanted):
                found[str(sample.id)] = numbered_rubrics(sample.metadata["rubrics"])
                advance(str(sample.id))
    return found
