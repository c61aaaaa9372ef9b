import json
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from inspect_ai import eval
from inspect_ai.log import read_eval_log

from inspect_clbench.judge.verdict import (
    RATIONALE_KEY,
    SCORE_KEY,
    STATUS_KEY,
    Verdict,
    parse_verdict,
)
from tests.support.server import LoopbackServer, Reply, Script
from tests.support.verdicts import failure_of, verdict_of


def test_what_no_log_can_hold_becomes_text() -> None:
    """Half characters, NaN and deep nesting cost a sample its place in the log."""
    nested = "[" * 400 + "]" * 400
    status = (
        f'["yes\\ud800", NaN, 1e999, {nested}, {{"status\\udfff": {nested}}}, 7, 0.5, null]'
    )
    read = verdict_of(
        f'{{"{SCORE_KEY}": 1, "{STATUS_KEY}": {status}, "{RATIONALE_KEY}": "a\\ud800"}}'
    )
    assert read.rationale == "a\ufffd"
    assert read.requirement_status == (
        "yes\ufffd", "NaN", "Infinity", nested, {"status\ufffd": nested}, 7, 0.5, None,
    )  # fmt: skip
    assert failure_of("\ud800").detail == "\ufffd"


def test_a_reply_nested_too_deeply_for_the_log_keeps_its_sample(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path
) -> None:
    reply = f'{{"{SCORE_KEY}": 1, "{STATUS_KEY}": [{"[" * 400}{"]" * 400}]}}'
    serve(lambda call: Reply(reply))
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": "demo"},
        model="clbench_demo/student",
        model_roles={"grader": "openai-api/loop/judge"},
        limit=1,
        log_dir=str(tmp_path),
        display="none",
    )
    (sample,) = read_eval_log(log.location).samples or []
    assert sample.error is None
    assert sample.scores is not None
    assert sample.scores["rubric_judge"].value == "C"


@pytest.mark.parametrize(
    "reply",
    [
        "[" * 1_000_000,
        '{"a":' * 200_000,
        '{"' * 450_000 + f', "{SCORE_KEY}": 1',
        "{" * 900_000 + f'{{"{SCORE_KEY}": 1',
        '{"a":' * 900 + "[" + "0," * 450_000 + f', "{SCORE_KEY}": 1',
        f'{{"a":{{"{SCORE_KEY}": 1,' + '"b":{' * 900 + '"' + "x" * 900_000,
        '{"a":' * 150_000 + f'{{"{SCORE_KEY}": 1}}' + "]" * 150_000,
        '{"a": 1}, ' * 90_000 + f'"{SCORE_KEY}": 1}}',
        ("{" + " " * 999) * 1_000 + f'"{SCORE_KEY}" ' + " " * 1000,
        f'{{"{SCORE_KEY}": ' * 50_000,
        f'"{SCORE_KEY}", ' * 60_000,
        f'{{"{SCORE_KEY}": {"9" * 1_000_000}}}',
        '{"a": "\\' * 100_000 + f', "{SCORE_KEY}": 1',
        "`" * 1_000_000,
        '"' * 1_000_000,
        json.dumps({SCORE_KEY: 1, STATUS_KEY: ["!" * 500_000 + "yes" + "." * 400_000 + "x"]}),
        json.dumps({SCORE_KEY: 1, STATUS_KEY: [": yes" * 200_000]}),
        *(
            (words * 1_000_000)[:1_000_000] + f'{{"{SCORE_KEY}": 1}}'
            for words in (
                *("score ", "give it ", "not ", "rubric ", "didn't ", "not all ", "0", ":"),
                *("a\u0301\u0316", "<a", "&#", "\\u", "\\", "&amp;", "not met ", "\ufdfa"),
                "\u0301\u0316",
            )
        ),
    ],
    ids=range(34),
)
def test_a_megabyte_of_malice_is_read_in_a_second(reply: str) -> None:
    begin = time.process_time()
    read = parse_verdict(reply, answer=reply)
    if isinstance(read, Verdict):
        assert read.inconsistent in (True, False)
    assert time.process_time() - begin < 1.5
