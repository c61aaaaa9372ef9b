"""Which error types failed answers show, and how many of the failed answers have labels.

The rates are shares of labelled answers, so they mean little without the coverage.
"""

import heapq
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from inspect_ai.scorer import Metric, SampleScore, Value, metric

from inspect_clbench.benchmarks import ERROR_TYPES, NO_TYPE
from inspect_clbench.metrics.solving import NAN, runs_of

Unlabelled = Literal[
    "solved",  # nothing to explain
    "not_run",  # the sample ended in an error
    "no_verdict",  # the rubric judge failed, not the model
    "empty_answer",  # failed, but there is no text to look at
    "not_drawn",  # failed, but not among those drawn to be labelled
    "unlabelled",  # failed and drawn, but the judge gave no usable labels
]
"""The value of a score without error types. All others are sets of types."""

State = Literal["labelled"] | Unlabelled


def types_of(value: Any) -> frozenset[str] | None:
    """The types in the value of labels; none if it is not one."""
    if value == NO_TYPE:
        return frozenset()
    parts = value.split("+") if isinstance(value, str) else []
    return frozenset(parts) if parts and all(part in ERROR_TYPES for part in parts) else None


@dataclass(frozen=True)
class Labelled:
    """What the arithmetic needs to know of one answer."""

    run: int
    state: State
    types: frozenset[str] = frozenset()
    rank: str = ""  # its place in the random order of its run's failures
    most: int | None = None  # how many failures of a run are to be counted; all if none


def labelled(value: Any, metadata: Mapping[str, Any] | None, run: int) -> Labelled:
    """Read the value and metadata of one score of the scorer `error_types`."""
    metadata = metadata or {}
    types = types_of(value)
    most = metadata.get("max_failures")
    state = "labelled" if types is not None else value
    return Labelled(
        run=run,
        state=state if state in ("labelled", *get_args(Unlabelled)) else "unlabelled",  # type: ignore[arg-type]  # mypy does not narrow by a tuple of get_args
        types=types or frozenset(),
        rank=str(metadata.get("draw_rank", "")),
        most=most if isinstance(most, int) else None,
    )


def within_draw(answers: Sequence[Labelled]) -> list[Labelled]:
    """The same answers, with labels beyond the draw of a run taken back.

    Where failures came one after the other the scorer had to ask about some that
    others then pushed out of the draw. Counting them would favour early ones.
    """
    most = next((one.most for one in answers if one.most is not None), None)
    if most is None:
        return list(answers)
    ranks: defaultdict[int, list[str]] = defaultdict(list)
    for one in answers:
        if one.rank:
            ranks[one.run].append(one.rank)
    drawn = {run: set(heapq.nsmallest(most, found)) for run, found in ranks.items()}
    return [
        one
        if not one.rank or one.rank in drawn[one.run]
        else replace(one, state="not_drawn", types=frozenset())
        for one in answers
    ]


def type_rates(answers: Iterable[Labelled]) -> dict[str, float]:
    """The share of labelled answers that each type applies to; they may exceed 1 together."""
    found = [one.types for one in answers if one.state == "labelled"]
    return {
        key: sum(key in types for types in found) / len(found) if found else NAN
        for key in ERROR_TYPES
    }


@dataclass(frozen=True)
class Coverage:
    """How many failed answers there are, and how many of them have labels."""

    labelled: int
    unlabelled: int
    not_drawn: int
    empty: int

    @property
    def failed(self) -> int:
        return self.labelled + self.unlabelled + self.not_drawn + self.empty

    @property
    def share(self) -> float:
        """Labelled ones among the failed answers that have a text."""
        with_text = self.failed - self.empty
        return self.labelled / with_text if with_text else NAN


def coverage(answers: Iterable[Labelled]) -> Coverage:
    """Count failed answers by what became of them."""
    states = Counter(one.state for one in answers)
    return Coverage(
        labelled=states["labelled"],
        unlabelled=states["unlabelled"],
        not_drawn=states["not_drawn"],
        empty=states["empty_answer"],
    )


@metric(scores="unreduced")
def error_type_rates() -> Metric:
    """The share of the labelled failed answers, over samples and runs, that show each type."""

    def compute(scores: list[SampleScore]) -> Value:
        return {**type_rates(_answers(scores))}

    return compute


@metric(scores="unreduced")
def error_type_coverage() -> Metric:
    """How many failed answers there are, and how far they are labelled."""

    def compute(scores: list[SampleScore]) -> Value:
        counts = coverage(_answers(scores))
        return {
            "labelled_share": counts.share,
            "failed": counts.failed,
            "labelled": counts.labelled,
            "unlabelled": counts.unlabelled,
            "not_drawn": counts.not_drawn,
            "empty_answers": counts.empty,
        }

    return compute


def _answers(scores: Sequence[SampleScore]) -> list[Labelled]:
    return within_draw(
        [labelled(one.score.value, one.score.metadata, run) for run, one in runs_of(scores)]
    )
