"""Asking a judge over real clients: bounded attempts, bounded time, every failure named."""

import re
import time
from typing import Any, NamedTuple

import anyio
import pytest
from inspect_ai.model import GenerateConfig, Model, ModelOutput, ModelUsage, get_model
from inspect_ai.util import LimitExceededError

from inspect_clbench.judge.asking import Reply as Judged
from inspect_clbench.judge.asking import ask, probe
from inspect_clbench.judge.verdict import Failure, Verdict, parse_verdict
from tests.support.builders import verdict
from tests.support.scripted import scripted_output
from tests.support.server import Call, LoopbackServer, Reply, Serve, hurry

GOOD = verdict(1, ["yes", "yes", "yes"])


class Fault(NamedTuple):
    """A fault, and what must become of a row that always meets it."""

    reply: Reply
    requests: int
    error: str
    """How the failure reads, or begins."""


# The client retries what may pass, twice in each of three attempts.
FAULTS = {
    "500": Fault(Reply(status=500), 9, "call_failed: InternalServerError"),
    "429": Fault(Reply(status=429, headers={"Retry-After-Ms": "20"}), 9, "call_failed: RateLimitError"),
    "reset": Fault(Reply(reset=True), 9, "call_failed: APIConnectionError"),
    "400": Fault(Reply(status=400, error="odd"), 3, "call_failed: ModelGenerateError: "),
    "key": Fault(Reply(status=401, error="wrong key"), 1, "call_failed: "),
    "money": Fault(Reply(status=402), 1, "call_failed: "),
    "access": Fault(Reply(status=403), 1, "call_failed: "),
    "model": Fault(Reply(status=404), 1, "call_failed: "),
    "empty": Fault(Reply(""), 3, "empty_reply"),
    "prose": Fault(Reply("A fine answer."), 3, "no_verdict: A fine answer."),
    "refusal": Fault(Reply(None, refusal="I cannot judge this."), 3, "refused: I cannot judge this."),
    "filter": Fault(Reply("", finish_reason="content_filter"), 3, "refused"),
    "cut": Fault(Reply(GOOD[:60], finish_reason="length"), 3, "cut_off: "),
    "no choices": Fault(Reply(changes={"choices": []}), 3, "empty_reply: a reply without choices"),
    "half character": Fault(Reply("So \ud83d"), 3, "no_verdict: So \ufffd"),
    # A failed request, or a refusal, whose text holds a verdict that the answer planted.
    "verdict filtered": Fault(Reply(status=400, code="content_filter", error=GOOD), 3, "refused: {"),
    "verdict invalid": Fault(Reply(status=400, code="invalid_prompt", error=GOOD), 3, "refused: {"),
    "verdict too long": Fault(Reply(status=400, code="context_length_exceeded", error=GOOD), 3, "cut_off: {"),
    "verdict refused": Fault(Reply(None, refusal=GOOD), 3, "refused: {"),
    "verdict stopped": Fault(Reply(GOOD, finish_reason="content_filter"), 3, "refused: {"),
    "verdict error": Fault(Reply(status=400, error=GOOD), 3, "call_failed: ModelGenerateError: "),
}
PERMANENT = {"key", "money", "access", "model"}
# What ends before anybody looks at a reply's form, or what only chat completions can hold.
CHAT_ONLY = PERMANENT | {"500", "429", "reset", "empty", "no choices"}
SCENARIOS = [(api, name) for api in ("chat", "responses") for name in FAULTS
             if api == "chat" or name not in CHAT_ONLY]  # fmt: skip


def judge(server: LoopbackServer, api: str = "chat", **config: Any) -> Model:
    return get_model(
        "openai/gpt-5.1",
        config=GenerateConfig(**config),
        memoize=False,
        base_url=server.url,
        api_key="loop-key",
        responses_api=api == "responses",
    )


@pytest.fixture(scope="module")
def scenarios() -> tuple[dict[str, Judged[Verdict]], dict[str, int]]:
    """What comes of rows that always meet a fault or meet it once, and how many requests each took."""
    requests: dict[str, int] = {}

    def script(call: Call) -> Reply:
        requests[call.prompt] = requests.get(call.prompt, 0) + 1
        _, name, when = call.prompt.split("|")
        return FAULTS[name].reply if when == "always" or requests[call.prompt] == 1 else Reply(GOOD)

    replies: dict[str, Judged[Verdict]] = {}

    async def ask_one(model: Model, prompt: str) -> None:
        replies[prompt] = await ask(model, prompt, parse_verdict)

    async def ask_all(server: LoopbackServer) -> None:
        async with anyio.create_task_group() as group:
            for api in ("chat", "responses"):
                model = judge(server, api, max_retries=100, max_connections=100)
                for name in (name for kind, name in SCENARIOS if kind == api):
                    for when in ("always", "once"):
                        group.start_soon(ask_one, model, f"{api}|{name}|{when}")

    with pytest.MonkeyPatch.context() as patch, LoopbackServer(script) as server:
        hurry(patch)
        anyio.run(ask_all, server)
    return replies, requests


@pytest.mark.parametrize(("api", "name"), SCENARIOS)
def test_each_fault_is_bounded_and_named(api: str, name: str, scenarios: Any) -> None:
    replies, requests = scenarios
    always, once = (f"{api}|{name}|{when}" for when in ("always", "once"))
    fault, reply = FAULTS[name], replies[always]
    assert isinstance(reply.result, Failure)
    assert str(reply.result).startswith(fault.error)
    assert requests[always] == fault.requests <= 9
    assert reply.refused is (name in PERMANENT)
    assert "Request:" not in str(reply.result)  # Inspect's own error would hold all that was asked
    if name not in PERMANENT:
        assert replies[once].result == Verdict(True, "Checked.", "yyy")
        assert requests[once] == 2


def test_a_hanging_judge_ends_in_time(serve: Serve) -> None:
    server = serve(lambda call: Reply(GOOD, delay=30))
    start = time.monotonic()
    reply = anyio.run(ask, judge(server, attempt_timeout=1, max_retries=100), "Judge.", parse_verdict)
    assert str(reply.failure).startswith("timeout: no reply in time")
    assert time.monotonic() - start < 10
    assert len(server.calls) == 3


def test_a_judge_has_ten_minutes_for_an_attempt_and_in_a_batch_a_day() -> None:
    bounds = []

    def output(*arguments: Any) -> ModelOutput:
        bounds.append((arguments[-1].max_retries, arguments[-1].attempt_timeout))
        return scripted_output("judge", GOOD, ModelUsage())

    for config in (
        GenerateConfig(),
        GenerateConfig(attempt_timeout=40, max_retries=100, timeout=9999),
        GenerateConfig(batch=True),
    ):
        model = get_model("mockllm/judge", custom_outputs=output, config=config, memoize=False)
        anyio.run(ask, model, "Judge.", parse_verdict)
    assert bounds == [(0, 600), (0, 40), (0, 26 * 3600)]


def test_no_cache_repeats_a_bad_reply(serve: Serve, monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path))
    server = serve(lambda call: Reply("Hm." if call.attempt == 1 else GOOD))
    model = judge(server, cache=True)
    assert anyio.run(ask, model, "Judge.", parse_verdict).attempts == 2
    assert anyio.run(ask, model, "Judge.", parse_verdict).attempts == 2  # the first reply came from the cache
    assert len(server.calls) == 3


def test_a_users_limit_passes_and_half_characters_are_sent_as_marks() -> None:
    prompts = []

    def stop(input: Any, *_: Any) -> ModelOutput:
        prompts.append(input[-1].text)
        raise LimitExceededError("token", value=2, limit=1)

    model = get_model("mockllm/judge", custom_outputs=stop, memoize=False)
    with pytest.raises(LimitExceededError):
        anyio.run(ask, model, "half \ud83d of \U0001f600", parse_verdict)
    assert prompts == ["half \ufffd of \U0001f600"]


def test_no_key_stands_in_a_failure(serve: Serve) -> None:
    server = serve(lambda call: Reply(status=400, error="header 'Authorization': 'Bearer abcdefgh12345'"))
    reply = anyio.run(ask, judge(server), "Judge.", parse_verdict)
    assert "[hidden]" in str(reply.failure)
    assert "12345" not in str(reply.failure)


@pytest.mark.parametrize(
    ("reply", "failure"),
    [
        (Reply("Hello."), ""),
        (Reply(status=401, error="wrong key"), "call_failed: .*wrong key"),
        (Reply(status=503), ""),  # it may be back when it is needed
        (Reply(status=400, error="no batch"), ""),
    ],
)
def test_the_probe_fails_only_for_good(reply: Reply, failure: str, serve: Serve) -> None:
    server = serve(lambda call: reply)
    result = anyio.run(probe, judge(server, max_retries=100))
    assert re.match(failure, str(result)) if failure else result is None
