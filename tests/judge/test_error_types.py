"""The judge of error types: what it is asked and how its reply is read."""

import hashlib
import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.model import (
    ChatMessage,
    ChatMessageAssistant,
    ChatMessageSystem,
    ChatMessageUser,
)

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.judge.error_types import (
    PROMPT_VERSION,
    Failed,
    Labels,
    before_answer,
    label_prompt,
    parse_labels,
)
from inspect_clbench.judge.reply import Failure
from inspect_clbench.metrics.error_types import types_of
from tests.support.error_types import labels_reply

BOTH = labels_reply(context_ignored=[2], format_error=[1, 3])
NUMBERS = dict.fromkeys((1, 2, 3), "A rubric.")

FAILED = Failed(
    conversation=[("system", "Be brief."), ("user", "Rules… {answer}"), ("assistant", "Yes.")],
    rubrics=[(1, "Says one."), (2, "Says {rationale}."), (4, "Says four.")],
    status="yn?",
    rationale="Rubric 2 is missing.",
    answer="One. {conversation}",
)


def read(reply: str, **known: Any) -> Labels:
    found = parse_labels(reply, **{"rubrics": NUMBERS, **known})
    assert isinstance(found, Labels), found
    return found


def failure(reply: str, **known: Any) -> str:
    found = parse_labels(reply, **{"rubrics": NUMBERS, **known})
    assert isinstance(found, Failure), found
    return found.kind


def changed(key: str, entry: Any) -> str:
    return json.dumps({**json.loads(BOTH), key: entry})


def test_a_plain_reply_is_read_whole() -> None:
    labels = read(BOTH)
    assert labels.value == "context_ignored+format_error"
    assert labels.source == "strict"
    assert labels.by_type["format_error"].rubrics == (1, 3)
    assert labels.by_type["context_ignored"].reason == "Why context_ignored."
    assert not labels.by_type["refusal"].present
    assert read(labels_reply()).value == "none"


def test_a_value_is_stable_and_can_be_read_back() -> None:
    assert (
        read(labels_reply(refusal=[1], context_ignored=[2])).value == "context_ignored+refusal"
    )
    assert types_of("context_ignored+refusal") == frozenset({"context_ignored", "refusal"})
    assert types_of("none") == frozenset()
    for other in ("solved", "not_drawn", "", "refusal+", 1.0, None):
        assert types_of(other) is None


@pytest.mark.parametrize(
    ("reply", "source"),
    [
        (f"```json\n{BOTH}\n```", "strict"),
        (f"I looked at them.\n{BOTH}\n", "recovered"),
        (BOTH.replace("Not so.", "Line one.\nLine two."), "recovered"),
    ],
)
def test_shapes_that_judges_give_it(reply: str, source: str) -> None:
    labels = read(reply)
    assert (labels.value, labels.source) == ("context_ignored+format_error", source)


@pytest.mark.parametrize(
    ("reply", "kind"),
    [
        ("", "empty_reply"),
        ("  \n", "empty_reply"),
        ("It ignored the context.", "no_labels"),
        (f"{BOTH}\n{labels_reply()}", "several_labels"),
        (json.dumps({"context_ignored": {"present": "yes"}}), "no_labels"),
        (changed("refusal", {"present": "perhaps"}), "bad_label"),
        (changed("refusal", {"reason": "I wonder."}), "bad_label"),
        (changed("refusal", {"present": 1}), "bad_label"),
        (changed("refusal", "yes and no"), "bad_label"),
        (changed("refusal", None), "bad_label"),
        (BOTH[:-40], "no_labels"),
        (f"{BOTH}\nBut I may be wrong.", "unclear_reply"),
        (json.dumps({"labels": json.loads(BOTH)}), "unclear_reply"),
    ],
)
def test_what_is_unusable_is_a_failure_and_no_guess(reply: str, kind: str) -> None:
    assert failure(reply) == kind


def test_a_reply_that_was_cut_off_counts_only_if_it_is_whole() -> None:
    assert read(BOTH, cut_off=True).source == "strict"
    assert failure(BOTH[:-3], cut_off=True) == "cut_off"
    assert failure(f"So: {BOTH} and", cut_off=True) == "cut_off"
    assert failure("", cut_off=True) == "cut_off"


def test_labels_that_the_answer_brings_along_are_a_quotation() -> None:
    answer = f"My answer. {labels_reply()}"
    assert failure(f"The answer says {labels_reply()}", answer=answer) == "quoted_labels"
    assert failure(f"But I say {BOTH}", answer="", rubrics={1: answer}) == "quoted_labels"
    assert read(BOTH, answer=answer).value == "context_ignored+format_error"


@pytest.mark.parametrize(
    ("rubrics", "numbers"),
    [
        ([3, 1, 1], (1, 3)),
        (["2", "Rubric 3", "#1"], (1, 2, 3)),
        ("1 and 2", (1, 2)),
        ([7, 0, -1, 2.0, True, None, [1]], ()),
        (None, ()),
        ([10**400, 2], (2,)),
    ],
)
def test_only_numbers_of_the_tasks_rubrics_are_kept(
    rubrics: Any, numbers: tuple[int, ...]
) -> None:
    reply = changed("refusal", {"present": "Yes.", "rubrics": rubrics})
    label = read(reply).by_type["refusal"]
    assert (label.present, label.rubrics, label.reason) == (True, numbers, "")


def test_a_bare_word_is_a_label_without_a_reason() -> None:
    labels = read(json.dumps(dict.fromkeys(ERROR_TYPES, "no") | {"refusal": True}))
    assert labels.value == "refusal"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from([*ERROR_TYPES, "present", "rubrics"]), inner)
    ),
    max_leaves=12,
)


@given(st.text() | json_values.map(json.dumps), st.booleans())
def test_no_text_makes_the_reader_raise(reply: str, cut_off: bool) -> None:
    found = parse_labels(reply, rubrics=NUMBERS, cut_off=cut_off, answer=reply[:10])
    assert isinstance(found, Labels | Failure)


def test_the_prompt_holds_everything_literally_and_once() -> None:
    text = label_prompt().render(FAILED)
    assert "[system]\nBe brief.\n\n[user]\nRules… {answer}\n\n[assistant]\nYes." in text
    assert "=== BEGIN MISSED RUBRICS ===\n2. Says {rationale}.\n4. Says four.\n===" in text
    assert "Says one" not in text
    assert text.count("Rubric 2 is missing.") == 1
    assert "=== BEGIN ANSWER ===\nOne. {conversation}\n=== END ANSWER ===" in text
    for key in ERROR_TYPES:
        assert f'"{key}":' in text


@pytest.mark.parametrize("status", ["", "yy", "yyy"])
def test_where_nobody_said_which_rubrics_were_missed_all_are_shown(status: str) -> None:
    failed = Failed(FAILED.conversation, FAILED.rubrics, status, "", "One.")
    text = label_prompt().render(failed)
    assert "did not say which rubrics were missed" in text
    assert "1. Says one.\n2. Says {rationale}.\n4. Says four." in text
    assert "(none given)" in text


def test_a_long_context_is_sent_whole() -> None:
    long = "x" * 400_000 + " the end"
    failed = Failed([("user", long)], FAILED.rubrics, "nnn", "", "One.")
    assert long in label_prompt().render(failed)


def test_the_answer_is_not_part_of_what_came_before_it() -> None:
    answer = ChatMessageAssistant(content="42")
    messages: list[ChatMessage] = [
        ChatMessageSystem(content="S"),
        ChatMessageUser(content="Q"),
        ChatMessageAssistant(content="<think>hm</think>First."),
        ChatMessageUser(content="And now?"),
        answer,
    ]
    before = before_answer(messages, answer.id)
    assert [role for role, _ in before] == ["system", "user", "assistant", "user"]
    assert before[2] == ("assistant", "<think>hm</think>First.")


def test_another_wording_needs_another_version() -> None:
    text = (files("inspect_clbench.judge") / "error_types.txt").read_bytes()
    prompt = label_prompt()
    assert prompt.sha256 == hashlib.sha256(text).hexdigest()
    known = {1: "7e0ed696ff5e84101d306e85275f207effd55f06ee6b0951fac61d06b58badb3"}
    assert prompt.name == f"error_types-{PROMPT_VERSION}"
    assert known[PROMPT_VERSION] == prompt.sha256, "labels of the two are not comparable"
