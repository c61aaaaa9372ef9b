"""The one sentence, for data of every kind."""

from collections.abc import Sequence

import pytest

from inspect_clbench.analysis import Comparison, Series
from inspect_clbench.analysis.paired import PairedTask, difference_of
from inspect_clbench.output import sentence


def series(model: str, effort: str = "", judge: str = "judge") -> Series:
    return Series(
        model, effort, judge, judge_prompt="builtin", judge_prompt_sha256="", version="1",
        again=0, logs=(), answers=(),
    )  # fmt: skip


def comparison(
    *contexts: Sequence[float], a: Series | None = None, b: Series | None = None
) -> Comparison:
    """A comparison of tasks by context, given as the difference of A and B."""
    tasks = tuple(
        PairedTask(f"t{i}.{j}", f"c{i}", "x", (max(d, 0.0), max(-d, 0.0)))
        for i, differences in enumerate(contexts)
        for j, d in enumerate(differences)
    )
    return Comparison(
        series=(a or series("alpha"), b or series("beta")),
        tasks=tasks,
        by_run=True,
        missing=((), ()),
        no_common_run=(),
        overall=difference_of(tasks),
        categories=(),
        bootstrap=None,
        mcnemar=None,
        seed=1,
    )


UNKNOWN = "what difference could have been shown cannot be told."


@pytest.mark.parametrize(
    ("contexts", "expected"),
    [
        (
            [[1]],
            "These data cannot tell alpha and beta apart: alpha solves 100.0 points more than "
            "beta over 1 task in 1 context; one context gives no measure of error, and "
            + UNKNOWN,
        ),
        (
            [[1, -1]],
            "These data cannot tell alpha and beta apart: both solve the same share of the "
            "tasks over 2 tasks in 1 context; one context gives no measure of error, and "
            + UNKNOWN,
        ),
        (
            [[0], [0, 0]],
            "These data cannot tell alpha and beta apart: they did the same on every task, "
            "over 3 tasks in 2 contexts; " + UNKNOWN,
        ),
        (
            [[-1]] * 6,
            "These data can tell alpha and beta apart: beta solves 100.0 points more than "
            "alpha over 6 tasks in 6 contexts, alike in every context (sign test over "
            "contexts, p = 0.031); " + UNKNOWN,
        ),
        (
            [[1, -1], [1, -1]],
            "These data cannot tell alpha and beta apart: both solve the same share of the "
            "tasks over 4 tasks in 2 contexts, alike in every context (sign test over "
            "contexts, p = 1.000); " + UNKNOWN,
        ),
        (
            [[1], [0]],
            "These data cannot tell alpha and beta apart: alpha solves 50.0 points more than "
            "beta (95 % interval −100.0 to 100.0, p = 0.500) over 2 tasks in 2 contexts; with "
            "so few contexts no difference at all would be shown four times out of five.",
        ),
    ],
)
def test_the_sentence_is_whole_for_odd_data(contexts: list[list[int]], expected: str) -> None:
    assert sentence(comparison(*contexts)) == expected


def test_a_clear_difference() -> None:
    # 60 contexts of one task, 30 of them won: mean 1/2, standard error √(0.25 / 59),
    # 2.001 of which are 13.0 points.
    found = comparison(*[[1]] * 30, *[[0]] * 30)
    assert sentence(found).startswith(
        "These data can tell alpha and beta apart: alpha solves 50.0 points more than beta "
        "(95 % interval 37.0 to 63.0, p < 0.001) over 60 tasks in 60 contexts; four times out "
        "of five, data like these would show a difference of 18."
    )


def test_the_same_model_is_told_apart_by_what_differs() -> None:
    effort = comparison([1], [0], a=series("m", "low"), b=series("m"))
    assert effort.names == ("m (low)", "m (default)")
    judge = comparison([1], [0], a=series("m", judge="x"), b=series("m", judge="y"))
    assert judge.names == ("m (x)", "m (y)")
    nothing = comparison([1], [0], a=series("m"), b=series("m"))
    assert nothing.names == ("m (A)", "m (B)")
