"""Judge replies to read, and what they must be read as."""

import json
from typing import Any

from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import (
    RATIONALE_KEY,
    SCORE_KEY,
    STATUS_KEY,
    Verdict,
    parse_verdict,
)


def reply_with(
    score: Any = 1, status: Any = ("yes", "yes"), rationale: Any = "All there."
) -> str:
    record = {RATIONALE_KEY: rationale, STATUS_KEY: status, SCORE_KEY: score}
    return json.dumps(record, ensure_ascii=False)


PLAIN = reply_with()
PRETTY = json.dumps(json.loads(PLAIN), indent=2)


def verdict_of(reply: str, **known: Any) -> Verdict:
    read = parse_verdict(reply, **known)
    assert isinstance(read, Verdict), read
    return read


def failure_of(reply: str, **known: Any) -> Failure:
    read = parse_verdict(reply, **known)
    assert isinstance(read, Failure), read
    return read
