"""Where the spread of verdicts comes from: contexts, their tasks, runs, and the judge.

Variance components of the nested design by analysis of variance (Henderson's method 1, which
needs no balance): tasks within contexts, runs within tasks, and the judge within answers where
the same one was asked again. An estimate below 0 counts as 0. Intervals come from drawing
contexts anew.
"""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np

from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.statistics import LEVEL, Array, Rate, drawn_anew

if TYPE_CHECKING:
    from inspect_clbench.logs.answers import Answer
    from inspect_clbench.logs.series import Series

Component = Literal["context", "task", "run", "judge"]
COMPONENTS: tuple[Component, ...] = get_args(Component)
_RESAMPLES = 2_000
_SEED = 20260203


@dataclass(frozen=True)
class NoiseRow:
    """The variance of one series' verdicts, and what would narrow its rate."""

    model: str
    name: str
    variance: Mapping[Component, float | None]
    """None where it cannot be told from the one before it."""

    shares: Mapping[Component, Rate | None]
    stderr: float
    """Of the solving rate over tasks like these."""

    stderr_twice_the_runs: float
    stderr_twice_the_contexts: float
    is_estimate: bool = False


@dataclass(frozen=True)
class NoiseTable(Result):
    """Variance components of several series."""

    series: tuple["Series", ...]
    rows: tuple[NoiseRow, ...]

    def records(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            for part in COMPONENTS:
                share = row.shares[part] or Rate(math.nan)
                yield {
                    "table": "noise",
                    "dataset": self.series[0].dataset_name,
                    "model": row.model,
                    "name": row.name,
                    "component": part,
                    "variance": row.variance[part],
                    **{name: share.as_row()[name] for name in ("mean", "low", "high")},
                    "stderr": row.stderr,
                    "stderr_twice_the_runs": row.stderr_twice_the_runs,
                    "stderr_twice_the_contexts": row.stderr_twice_the_contexts,
                }


@dataclass
class _Sums:
    """What one context adds to the sums of squares."""

    contexts: int = 1
    answers: int = 0
    tasks: int = 0
    total: float = 0.0
    of_runs: float = 0.0  # squares within tasks
    of_tasks: float = 0.0  # squares of tasks' means, not yet centred
    of_context: float = 0.0  # the same of the context's mean
    task_sizes: float = 0.0  # answers of a task, squared
    within: float = 0.0  # the same over the answers of the context
    size: float = 0.0  # answers of the context, squared
    of_judge: float = 0.0  # squares within answers
    again: int = 0  # their degrees of freedom


def noise_table(series: Sequence["Series"], names: Sequence[str]) -> NoiseTable:
    """Variance components of the verdicts of each series, which go by these names."""
    first = [(one, name) for one, name in zip(series, names, strict=True) if one.again == 0]
    rows = (_row(one, name, _asked_again(one, series)) for one, name in first)
    return NoiseTable(tuple(one for one, _ in first), tuple(rows))


def _asked_again(series: "Series", others: Sequence["Series"]) -> list["Series"]:
    """The series in which the same judge was asked once more for the same answers."""
    logs = {log.eval_id for log in series.logs}
    return [
        one
        for one in others
        if one.again
        and (one.judge, one.judge_prompt_sha256) == (series.judge, series.judge_prompt_sha256)
        and logs & {log.eval_id for log in one.logs}
    ]


def _row(series: "Series", name: str, again: Sequence["Series"]) -> NoiseRow:
    verdicts: defaultdict[tuple[str, str, int], list[bool]] = defaultdict(list)
    for answer in (a for one in (series, *again) for a in one.scored):
        verdicts[_key(answer)].append(answer.solved)
    tasks: defaultdict[str, defaultdict[str, list[list[bool]]]]
    tasks = defaultdict(lambda: defaultdict(list))
    for answer in series.scored:
        tasks[answer.context_id][answer.task_id].append(verdicts[_key(answer)])
    return _components(series, name, [list(some.values()) for some in tasks.values()])


def _key(answer: "Answer") -> tuple[str, str, int]:
    return answer.log.eval_id, answer.task_id, answer.epoch


def _components(
    series: "Series", name: str, contexts: Sequence[Sequence[Sequence[Sequence[bool]]]]
) -> NoiseRow:
    parts = variance_components(contexts)
    total = math.fsum(part or 0.0 for part in parts.values())
    sums = _matrix(contexts)
    drawn = _estimates(drawn_anew(len(contexts), _RESAMPLES, _SEED) @ sums)
    sizes = sum(drawn[part] for part in COMPONENTS if parts[part] is not None)
    sizes = np.where(sizes == 0, np.nan, sizes)  # a draw without any difference has no shares
    tail = 50 * (1 - LEVEL)
    shares: dict[Component, Rate | None] = dict.fromkeys(COMPONENTS)
    for part, variance in parts.items():
        if variance is not None and total:
            low, high = np.nanpercentile(drawn[part] / sizes, [tail, 100 - tail])
            # Draws that are all alike say nothing about how far off the share may be.
            interval = (float(low), float(high)) if low < high else None
            shares[part] = Rate(variance / total, interval=interval)
    return NoiseRow(
        model=series.model,
        name=name,
        variance=parts,
        shares=shares,
        is_estimate=series.draw is not None,
        **_stderrs(parts, _Sums(*sums.sum(axis=0))),
    )


def variance_components(
    contexts: Sequence[Sequence[Sequence[Sequence[float]]]],
) -> dict[Component, float | None]:
    """The variance of each component, of values by context, task, answer and verdict.

    A component that cannot be told from the one before it is None: runs where each task has
    one, tasks where each context has one, the judge where it was asked once.
    """
    sums = _matrix(contexts).sum(axis=0)
    found = _estimates(sums[None, :])
    counts = _Sums(*sums)
    known = {
        "context": counts.contexts > 0,
        "task": counts.tasks > counts.contexts,
        "run": counts.answers > counts.tasks,
        "judge": counts.again > 0,
    }
    return {part: float(found[part][0]) if known[part] else None for part in COMPONENTS}


def _matrix(contexts: Sequence[Sequence[Sequence[Sequence[float]]]]) -> Array:
    rows = [list(asdict(_sums(tasks)).values()) for tasks in contexts]
    return np.array(rows, dtype=float).reshape(len(contexts), len(fields(_Sums)))


def _sums(tasks: Sequence[Sequence[Sequence[float]]]) -> _Sums:
    found = _Sums()
    for answers in tasks:
        values = [verdicts[0] for verdicts in answers]
        number, total = len(values), math.fsum(values)
        found.answers += number
        found.tasks += 1
        found.total += total
        found.of_runs += math.fsum(v * v for v in values) - total**2 / number
        found.of_tasks += total**2 / number
        found.task_sizes += number**2
        for verdicts in answers:
            of = math.fsum(verdicts)
            found.of_judge += math.fsum(v * v for v in verdicts) - of**2 / len(verdicts)
            found.again += len(verdicts) - 1
    found.of_context = found.total**2 / found.answers
    found.within = found.task_sizes / found.answers
    found.size = found.answers**2
    return found


def _estimates(sums: Array) -> dict[Component, Array]:
    """The components of each row of sums, by setting mean squares equal to what is expected."""
    s = _Sums(*sums.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        judge = _or_zero(s.of_judge / s.again)
        # One run alone tells nothing of runs: what spreads within a task is the judge's.
        inner = np.where(s.answers > s.tasks, s.of_runs / (s.answers - s.tasks), judge)
        squares = s.of_tasks - s.of_context - (s.tasks - s.contexts) * inner
        task = _or_zero(squares / (s.answers - s.within))
        squares = s.of_context - s.total**2 / s.answers - (s.contexts - 1) * inner
        squares = squares - (s.within - s.task_sizes / s.answers) * task
        context = _or_zero(squares / (s.answers - s.size / s.answers))
    judge = np.minimum(judge, inner)
    parts = {"context": context, "task": task, "run": inner - judge, "judge": judge}
    return {part: np.maximum(parts[part], 0.0) for part in COMPONENTS}


def _or_zero(values: Any) -> Array:
    return np.where(np.isfinite(values), values, 0.0)


def _stderrs(parts: Mapping[Component, float | None], sums: _Sums) -> dict[str, float]:
    if not sums.answers:
        names = ("stderr", "stderr_twice_the_runs", "stderr_twice_the_contexts")
        return dict.fromkeys(names, math.nan)
    of_tasks = (parts["context"] or 0.0) * sums.size / sums.answers**2
    of_tasks += (parts["task"] or 0.0) * sums.task_sizes / sums.answers**2
    of_runs = ((parts["run"] or 0.0) + (parts["judge"] or 0.0)) / sums.answers
    return {
        "stderr": math.sqrt(of_tasks + of_runs),
        "stderr_twice_the_runs": math.sqrt(of_tasks + of_runs / 2),
        "stderr_twice_the_contexts": math.sqrt((of_tasks + of_runs) / 2),
    }
