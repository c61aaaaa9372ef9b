"""The metrics of error types: by hand, and for whatever scores they are given."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.scorer import SampleScore, Score

from inspect_clbench import error_type_coverage, error_type_rates
from inspect_clbench.metrics.error_types import Labelled, within_draw

# The decorated functions are called as Inspect calls them.
RATES: Any = error_type_rates()
COVERAGE: Any = error_type_coverage()


def scored(task: str, value: Any, **metadata: Any) -> SampleScore:
    return SampleScore(score=Score(value=value, metadata=metadata), sample_id=task)


SCORES = [
    scored("a", "context_ignored+refusal", epoch=1),
    scored("a", "context_ignored", epoch=2),
    scored("a", "solved", epoch=3),
    scored("b", "none", epoch=1),
    scored("b", "unlabelled", epoch=2),
    scored("b", "empty_answer", epoch=3),
    scored("c", "no_verdict", epoch=1),
    scored("c", "not_run", epoch=2),
    scored("c", "refusal", epoch=3),
]


def test_rates_by_hand() -> None:
    assert RATES(SCORES) == {
        "context_ignored": 2 / 4,
        "context_misused": 0.0,
        "format_error": 0.0,
        "refusal": 2 / 4,
    }
    assert COVERAGE(SCORES) == {
        "labelled_share": 4 / 5,
        "failed": 6,
        "labelled": 4,
        "unlabelled": 1,
        "not_drawn": 0,
        "empty_answers": 1,
    }


def test_labels_beyond_the_draw_are_not_counted() -> None:
    draw = {"epoch": 1, "max_failures": 2}
    scores = [
        scored("late", "refusal", draw_rank="c", **draw),  # came first, then pushed out
        scored("x", "none", draw_rank="a", **draw),
        scored("y", "none", draw_rank="b", **draw),
        scored("z", "not_drawn", draw_rank="d", **draw),
        scored("other run", "refusal", draw_rank="e", epoch=2, max_failures=2),
    ]
    assert RATES(scores)["refusal"] == pytest.approx(1 / 3)
    assert (COVERAGE(scores)["labelled"], COVERAGE(scores)["not_drawn"]) == (3, 2)


def test_without_any_label_there_is_no_rate() -> None:
    for scores in ([], [scored("a", "solved"), scored("b", "unlabelled")]):
        assert all(math.isnan(rate) for rate in RATES(scores).values())
    assert math.isnan(COVERAGE([])["labelled_share"])


anything = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)


@given(
    st.lists(
        st.tuples(st.sampled_from(["none", "C", "", 1.0, "refusal+x"]), anything, anything)
    )
)
def test_no_score_makes_them_raise(found: list[tuple[Any, Any, Any]]) -> None:
    scores = [
        scored("a", value, epoch=one, max_failures=other, draw_rank=one)
        for value, one, other in found
    ]
    rates, counts = RATES(scores), COVERAGE(scores)
    assert all(math.isnan(rate) or 0 <= rate <= 1 for rate in rates.values())
    assert counts["failed"] == len(scores), "what is not known counts as unlabelled"


def test_a_log_without_a_draw_stays_as_it_is() -> None:
    answers = [Labelled(1, "labelled", frozenset({"refusal"})), Labelled(1, "solved")]
    assert within_draw(answers) == answers
