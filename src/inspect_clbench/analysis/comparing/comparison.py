"""What a comparison of two series says, and the one sentence that says it."""

from dataclasses import dataclass

from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reporting.labels import labels
from inspect_clbench.analysis.statistics.paired import Difference, PairedTask
from inspect_clbench.analysis.text import counted


@dataclass(frozen=True)
class CategoryDifference:
    """The difference within one category."""

    category: str
    difference: Difference
    p_holm: float | None
    """Corrected for the number of categories."""


@dataclass(frozen=True)
class Comparison:
    """All that the pairing of two series says. Differences are A minus B."""

    a: Series
    b: Series
    tasks: tuple[PairedTask, ...]
    by_run: bool
    """Whether run n was paired with run n; otherwise each task's mean over its runs."""

    only_a: tuple[str, ...]
    """Tasks that only A has a score for."""

    only_b: tuple[str, ...]
    no_common_run: tuple[str, ...]
    """Tasks that both have scores for, but never of the same run."""

    overall: Difference
    categories: tuple[CategoryDifference, ...]
    bootstrap: tuple[float, float] | None
    mcnemar: float | None
    """P value, where each side has one run."""

    seed: int

    @property
    def labels(self) -> tuple[str, str]:
        """What to call the two: their models, or what else tells them apart."""
        a, b = labels([self.a, self.b])
        return (a, b) if a != b else (f"{a} (A)", f"{b} (B)")

    @property
    def won(self) -> list[PairedTask]:
        """The tasks that A solved more often than B, the clearest first."""
        return sorted((t for t in self.tasks if t.a > t.b), key=_clearest_first)

    @property
    def lost(self) -> list[PairedTask]:
        """The tasks that B solved more often than A, the clearest first."""
        return sorted((t for t in self.tasks if t.a < t.b), key=_clearest_first)

    @property
    def sentence(self) -> str:
        """Whether the data can tell the two apart, and what they could have shown."""
        a, b = self.labels
        can = "can" if self.overall.told_apart else "cannot"
        return f"These data {can} tell {a} and {b} apart: {_grounds(self.overall, a, b)}."


def _clearest_first(task: PairedTask) -> tuple[float, str]:
    return (-abs(task.difference), task.task_id)


def _grounds(overall: Difference, a: str, b: str) -> str:
    where = f"over {counted(overall.tasks, 'task')} in {counted(overall.contexts, 'context')}"
    found = _found(overall, a, b)
    unknown = "what difference could have been shown cannot be told"
    if overall.stderr is None:
        return f"{found} {where}; one context gives no measure of error, and {unknown}"
    if overall.won == overall.lost == 0:
        return f"they did the same on every task, {where}; {unknown}"
    if overall.low is None or overall.high is None:
        test = f"sign test over contexts, {p_value(overall.p)}"
        return f"{found} {where}, alike in every context ({test}); {unknown}"
    interval = f"95 % interval {points(overall.low)} to {points(overall.high)}"
    shown = (
        "with so few contexts no difference at all would be shown four times out of five"
        if overall.detectable is None
        else "four times out of five, data like these would show a difference of "
        f"{points(overall.detectable)} points"
    )
    return f"{found} ({interval}, {p_value(overall.p)}) {where}; {shown}"


def _found(overall: Difference, a: str, b: str) -> str:
    size = points(abs(overall.difference))
    if size == "0.0":
        return "both solve the same share of the tasks"
    better, other = (a, b) if overall.difference > 0 else (b, a)
    return f"{better} solves {size} points more than {other}"


def points(share: float) -> str:
    """A rate or a difference of rates in percentage points."""
    text = f"{100 * share:.1f}"
    return "0.0" if text == "-0.0" else text.replace("-", "−")


def p_value(p: float | None) -> str:
    """A p value in words."""
    if p is None:
        return "no p value"
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
