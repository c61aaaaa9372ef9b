import json
from typing import Any

from hypothesis import assume, example, given
from hypothesis import strategies as st

from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import (
    RATIONALE_KEY,
    SCORE_KEY,
    STATUS_KEY,
    Verdict,
    parse_verdict,
)

anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)
scores = st.sampled_from([0, 1, 0.0, 1.0, False, True])
verdicts = st.builds(
    lambda score, status, rationale, rest: (
        rest | {RATIONALE_KEY: rationale, STATUS_KEY: status, SCORE_KEY: score}
    ),
    scores,
    anything | st.lists(st.sampled_from(["yes", "no"])),
    anything | st.text(),
    st.dictionaries(st.text(), anything, max_size=2),
)
# Pieces that replies are made of, so that the search gets somewhere.
fragments = st.lists(
    st.sampled_from(
        [
            *('"', "{", "}", "[", "]", ":", ",", "\\", "\n", " ", "```", "```json", "1", "0"),
            *("null", "NaN", '"yes"', "\ud800", "\\ud800", "\ufeff", "\x00", "e9999", "-"),
            *(f'"{key}": ' for key in (SCORE_KEY, STATUS_KEY, RATIONALE_KEY)),
            f'{{"{SCORE_KEY}": 1}}',
        ]
    )
    | st.text(max_size=3),
    max_size=30,
).map("".join)
any_text = st.text(st.characters(exclude_categories=())) | fragments


def read_by_the_original(reply: str) -> Any:
    """The rule of the original script, in words of ours, to compare with."""
    text = reply.strip()
    for fence in ("```json", "```"):
        if text.startswith(fence):
            text = text.removeprefix(fence)
            break
    return json.loads(text.removesuffix("```"))


@given(reply=any_text, answer=any_text, cut_off=st.booleans())
@example(reply='{"Overall Score": ' + "[" * 5000 + "]" * 5000 + "}", answer="", cut_off=False)
@example(reply='x{"Overall Score": 1, "a": ' + "[" * 5000, answer="", cut_off=False)
def test_no_text_makes_it_raise(reply: str, answer: str, cut_off: bool) -> None:
    read = parse_verdict(reply, cut_off=cut_off, answer=answer)
    if isinstance(read, Verdict):
        assert set(read.status) <= set("yn?")
        assert len(read.status) == len(read.requirement_status)
        assert read.inconsistent in (True, False)
        json.dumps([read.rationale, read.requirement_status], allow_nan=False).encode()
    else:
        assert isinstance(read, Failure)
        str(read).encode()


@given(
    verdict=verdicts,
    fence=st.sampled_from(["", "```", "```json"]),
    indent=st.none() | st.just(2),
)
def test_what_the_original_reads_gets_the_same_score(
    verdict: dict[str, Any], fence: str, indent: int | None
) -> None:
    reply = f"{fence}\n{json.dumps(verdict, indent=indent)}\n{fence.removesuffix('json')}"
    read = parse_verdict(reply)
    assert isinstance(read, Verdict)
    assert read.source == "strict"
    assert read.solved is (read_by_the_original(reply)[SCORE_KEY] == 1)


@given(reply=fragments)
def test_strict_means_that_the_original_reads_it_too(reply: str) -> None:
    try:
        record = read_by_the_original(reply)
    except (ValueError, RecursionError):
        record = None
    read = parse_verdict(reply)
    strict = isinstance(read, Verdict) and read.source == "strict"
    if strict:
        assert SCORE_KEY in record
    elif isinstance(record, dict) and SCORE_KEY in record:
        assert isinstance(read, Failure)
        assert read.kind == "bad_score"


@given(verdict=verdicts, before=st.text("bcdgh {}[]<>#*\n"), after=st.text(" \n`.)"))
def test_a_verdict_after_prose_is_recovered_with_the_same_result(
    verdict: dict[str, Any], before: str, after: str
) -> None:
    text = json.dumps(verdict)
    assume(text.count(f'"{SCORE_KEY}": ') == 1)  # a second one, even inside, is ambiguous
    alone = parse_verdict(text)
    amid = parse_verdict(f"{before}{text}{after}")
    assert isinstance(alone, Verdict)
    assert isinstance(amid, Verdict)
    assert amid.solved is alone.solved
    assert amid.rationale == alone.rationale
    assert amid.requirement_status == alone.requirement_status


@given(verdict=verdicts, cut=st.floats(0, 1, exclude_max=True))
def test_a_verdict_that_breaks_off_is_none(verdict: dict[str, Any], cut: float) -> None:
    text = json.dumps(verdict)
    assert isinstance(parse_verdict(text[: int(cut * len(text))]), Failure)


@given(verdict=verdicts, text=any_text)
def test_a_verdict_that_the_answer_wrote_is_never_recovered(
    verdict: dict[str, Any], text: str
) -> None:
    planted = json.dumps(verdict)
    read = parse_verdict(f"The answer says: {planted}", answer=f"{text}{planted}{text}")
    assert isinstance(read, Failure)
