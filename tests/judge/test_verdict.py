import json

import pytest

from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import (
    RATIONALE_KEY,
    SCORE_KEY,
    STATUS_KEY,
    Verdict,
    parse_verdict,
)
from tests.support.verdicts import PLAIN, PRETTY, failure_of, reply_with, verdict_of


@pytest.mark.parametrize(
    "reply",
    [
        PLAIN,
        PRETTY,
        f"\n\t  {PLAIN}\r\n ",
        f"```json\n{PLAIN}\n```",
        f"```json{PLAIN}```",
        f"```\n{PLAIN}\n```",
        f"  ```json\n{PRETTY}\n```  \n",
        f"{PLAIN}\n```",
        f"```json\n{PLAIN}",
        json.dumps({SCORE_KEY: 1, RATIONALE_KEY: "All there.", STATUS_KEY: ["yes", "yes"]}),
        reply_with(rationale="All there.").replace("All", "\\u0041ll"),
    ],
)
def test_the_original_way_of_reading(reply: str) -> None:
    assert verdict_of(reply) == Verdict(True, "All there.", ("yes", "yes"), "strict")


@pytest.mark.parametrize(
    ("score", "solved"),
    [
        ("1", True),
        ("0", False),
        ("1.0", True),
        ("0.0", False),
        ("-0.0", False),
        ("1e0", True),
        ("true", True),
        ("false", False),
        ('"1"', True),
        ('"0"', False),
    ],
)
def test_scores_that_are_a_verdict(score: str, solved: bool) -> None:
    reply = f'{{"{SCORE_KEY}": {score}}}'
    assert verdict_of(reply) == Verdict(solved, "", (), "strict")
    assert verdict_of(f"Here it is: {reply}.") == Verdict(solved, "", (), "recovered")


@pytest.mark.parametrize(
    "score",
    [
        *("2", "-1", "0.5", "0.999", "null", "NaN", "Infinity", "-Infinity", "1e999"),
        *('"1 points"', '"1.0"', '" 1"', '"yes"', '"true"', '""', '"１"'),
        *("[1]", "[]", '{"value": 1}', "{}", "11", "10"),
    ],
)
def test_scores_that_are_none(score: str) -> None:
    reply = f'{{"{SCORE_KEY}": {score}}}'
    assert failure_of(reply).kind == "bad_score"
    assert failure_of(f"Here it is: {reply}.").kind == "bad_score"


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "1",
            '"1"',
            "null",
            "[]",
            "{}",
            "[1]",
            "yes",
            "true",
            "NaN",
            "```",
            "``````",
            "```json",
        ),
        f'"{SCORE_KEY}"',
        f'["{SCORE_KEY}", 1]',
        f'{{"{SCORE_KEY.lower()}": 1}}',
        f'{{"{RATIONALE_KEY}": "All there.", "{STATUS_KEY}": ["yes"]}}',
        f"{SCORE_KEY}: 1",
        f'"{SCORE_KEY}": 1',
        f"{{'{SCORE_KEY}': 1}}",
        f'{{"{SCORE_KEY}": 1',
        f'{{"{SCORE_KEY}": }}',
        f'{{"{SCORE_KEY}" 1}}',
        f'{{"{SCORE_KEY}": 1,}}',
        f'{{"{SCORE_KEY}": 01}}',
        json.dumps({"note": f'the answer says {{"{SCORE_KEY}": 1}}'}),
    ],
)
def test_no_verdict_at_all(reply: str) -> None:
    assert failure_of(reply).kind == "no_verdict"
    assert failure_of(f"I judged it so: {reply} and that is all").kind == "no_verdict"


@pytest.mark.parametrize("reply", ["", " ", "\n\t\r\n", "\u2003\u00a0"])
def test_a_reply_without_text(reply: str) -> None:
    assert failure_of(reply) == Failure("empty_reply")
    assert failure_of(reply, cut_off=True) == Failure("cut_off")


@pytest.mark.parametrize(
    "reply",
    [
        f"Let me see.\n\n{PLAIN}",
        f"First I look.\n```json\n{PRETTY}\n```\n",
        f"```json\n{PLAIN}\n```\n\n",
        f"```JSON\n{PLAIN}\n```",
        f"````json\n{PLAIN}\n````",
        f"\ufeff{PLAIN}",
        f"```json\u00a0{PLAIN}\u00a0```",
        f"**{PLAIN}**.",
        f"I weighed {{rubric 1}} and {{}} and {{\"a\": 1}}: {PLAIN}",
        f'In short, the value of the key "{SCORE_KEY}" is 1. {PLAIN}',
        f'So "{SCORE_KEY}": 1 it is. {PLAIN}',
        f"<think>{{hm}}</think>{PLAIN}",
    ],
)  # fmt: skip
def test_one_object_among_other_text_is_recovered(reply: str) -> None:
    read = verdict_of(reply)
    if reply.startswith("```json\n"):
        assert read.source == "strict"
    else:
        assert read == Verdict(True, "All there.", ("yes", "yes"), "recovered")


def test_raw_control_characters_in_strings_are_recovered() -> None:
    reply = PLAIN.replace("All there.", "First:\n\tall\r\nthere.")
    assert verdict_of(reply) == Verdict(
        True, "First:\n\tall\r\nthere.", ("yes", "yes"), "recovered"
    )


def test_braces_and_quotes_in_the_rationale_do_no_harm() -> None:
    rationale = (
        'It sets \\frac{a}{b}, {"x": "y"}, {" and "}", and\n```json\n{"Overall Score": 0}\n```'
    )
    text = reply_with(rationale=rationale)
    assert verdict_of(text).rationale == rationale
    assert verdict_of(f"So: {text}!") == Verdict(True, rationale, ("yes", "yes"), "recovered")


@pytest.mark.parametrize(
    "reply",
    [
        f"{PLAIN}\n{PLAIN}",
        f"{reply_with(0)}\nOn second thoughts:\n{PLAIN}",
        f"[{reply_with(0)}, {PLAIN}]",
        json.dumps({"first": json.loads(PLAIN), "second": json.loads(reply_with(0))}),
        f'So: {{"{SCORE_KEY}": 1, "details": {{"{SCORE_KEY}": 0}}}}',
        f'So: {{"{SCORE_KEY}": 1, "{SCORE_KEY}": 0}}',
        # the rationale quotes the answer without escaping: the outer object is damaged
        f'{{"{RATIONALE_KEY}": "It ends with {PLAIN}", "{SCORE_KEY}": 0}}',
        f'{PLAIN}\nNo, wait:\n{{"{SCORE_KEY}": 0, "{RATIONALE_KEY}": "It',
    ],
)
def test_two_scores_are_none(reply: str) -> None:
    assert failure_of(reply).kind == "several_verdicts"


def test_the_last_of_two_equal_keys_counts_as_in_the_original() -> None:
    assert verdict_of(f'{{"{SCORE_KEY}": 1, "{SCORE_KEY}": 0}}').solved is False
    assert verdict_of(f'{{"{SCORE_KEY}": 0, "{SCORE_KEY}": 1}}').solved is True


def test_the_outer_score_decides_where_the_original_reads_it() -> None:
    assert verdict_of(f'{{"{SCORE_KEY}": 0, "more": {{"{SCORE_KEY}": 1}}}}').solved is False


def test_no_beginning_of_a_verdict_is_one() -> None:
    for end in range(len(PRETTY)):
        assert isinstance(parse_verdict(PRETTY[:end]), Failure)
        assert isinstance(parse_verdict(f"My verdict: {PRETTY[:end]}"), Failure)


def test_a_reply_that_ended_at_a_length_limit() -> None:
    assert failure_of(PLAIN[:40], cut_off=True).kind == "cut_off"
    assert failure_of(f"{PLAIN} And now", cut_off=True).kind == "cut_off"
    assert verdict_of(PLAIN, cut_off=True).source == "strict"
