from typing import Any

import pytest

from tests.support.verdicts import reply_with, verdict_of


@pytest.mark.parametrize(
    ("status", "letters"),
    [
        (["yes", "no"], "yn"),
        (["Yes", "NO", " yes ", "no.", "'yes'", "**no**"], "ynynyn"),
        ([True, False], "yn"),
        (["true", "False"], "yn"),
        (["yes - it says so", "No, the date is missing", "not met", "not at all"], "ynnn"),
        (["Requirement 1: yes", "Requirement 2: no", "3: No."], "ynn"),
        (["No, though the first half is a yes"], "n"),
        (["N/A", "not applicable", "partly", "", None, 1, 0, 2.5, [], "noted", "yesterday"], "?" * 11),
        ([["yes"], ["no"], ["yes", "no"]], "???"),
        ({"1": "yes", "2": "no"}, "yn"),
        ({"1": {"status": "yes"}, "2": False}, "yn"),
        ([{"requirement": "Gives the sum", "status": "yes"}, {"status": "no"}], "yn"),
        ([{"requirement": "No decimal numbers", "status": "yes"}], "y"),
        ([{"requirement": "No decimal numbers", "status": "no - 2.5 is one"}], "n"),
        ([{"id": 1, "met": True}, {"id": 2, "met": False}, {"a": "yes", "b": "no"}, {}], "yn??"),
        ([], ""),
        ("yes", ""),
        (None, ""),
        (7, ""),
    ],
)  # fmt: skip
def test_the_status_list_in_its_many_shapes(status: Any, letters: str) -> None:
    assert verdict_of(reply_with(status=status)).status == letters


@pytest.mark.parametrize(
    ("score", "status", "inconsistent"),
    [
        (1, ["yes", "yes"], False),
        (1, ["yes", "no"], True),
        (1, ["no"], True),
        (1, ["yes", "partly"], False),
        (0, ["yes", "no"], False),
        (0, ["yes", "yes"], True),
        (0, ["yes", "partly"], False),
        (0, [], False),
        (1, [], False),
        (0, None, False),
    ],
)
def test_the_score_decides_and_a_contrary_status_is_flagged(
    score: int, status: Any, inconsistent: bool
) -> None:
    read = verdict_of(reply_with(score, status))
    assert read.solved is bool(score)
    assert read.inconsistent is inconsistent


@pytest.mark.parametrize(
    ("rationale", "text"),
    [
        (None, ""),
        ("", ""),
        (["Rubric 1 is met.", "Ö"], '["Rubric 1 is met.", "Ö"]'),
        ({"1": "met"}, '{"1": "met"}'),
        (5, "5"),
    ],
)
def test_a_rationale_that_is_not_text(rationale: Any, text: str) -> None:
    assert verdict_of(reply_with(rationale=rationale)).rationale == text
