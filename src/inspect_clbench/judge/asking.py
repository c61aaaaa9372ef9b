"""Asking a judge: bounded attempts, bounded time, every failure named.

Inspect's own defaults retry for ever, and an exception in a scorer would leave the sample
without a score.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

import anyio
from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    CachePolicy,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.util import LimitExceededError, sample_limits
from tenacity import RetryError

from inspect_clbench.judge.prompt import CUT_OFF
from inspect_clbench.judge.reply import Failure
from inspect_clbench.judge.verdict import Verdict
from inspect_clbench.text import one_line, redacted

# One request may take this long: reasoning judges need minutes for long rubric lists.
ATTEMPT_SECONDS = 600
# Unless it goes into a batch, which providers promise within a day.
BATCH_SECONDS = 26 * 3600

# Providers' clients retry by themselves (OpenAI's twice), so Inspect need not; between
# two attempts the judge gets time to recover, enough for a rate limit per minute.
_RETRIES = 0
PAUSES = (10.0, 60.0)

# The request was understood and turned down for a reason that another try, of this
# row or of any other, will not change.
_PERMANENT_STATUS = {401, 402, 403, 404}

_MOST_MESSAGE = 10_000

T = TypeVar("T")


@dataclass(frozen=True)
class Judge:
    """A judging model and the limits it is called with."""

    model: Model
    limits: GenerateConfig

    @property
    def name(self) -> str:
        return str(self.model)


def in_running_sample() -> bool:
    """Whether a run is going on, rather than the scoring of a log after it."""
    try:
        sample_limits()
    except RuntimeError:
        return False
    return True


def judge_limits(own: GenerateConfig, run: GenerateConfig = GenerateConfig()) -> GenerateConfig:
    """Bounds for one attempt: the judge's own settings, then those of the run, then ours.

    Inspect retries without end by default and never gives up a request that hangs.
    With three attempts and a client that retries twice, these bounds allow nine
    requests for a row, and a judge that hangs ends after one time limit per attempt:
    `timeout` ends the retries of an attempt once a request has used the limit up.
    """
    seconds = BATCH_SECONDS if own.batch else ATTEMPT_SECONDS
    attempt_timeout = _first(own.attempt_timeout, run.attempt_timeout, seconds)
    return GenerateConfig(
        max_retries=_first(own.max_retries, run.max_retries, _RETRIES),
        attempt_timeout=attempt_timeout,
        timeout=_first(own.timeout, run.timeout, attempt_timeout),
    )


def _first(*wishes: int | None) -> int | None:
    return next(wish for wish in wishes if wish is not None)


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What came of asking one judge about one answer."""

    judge: str
    result: T | Failure
    attempts: int
    permanent: bool = False  # the failure says that this judge cannot work at all
    usage: ModelUsage = field(default_factory=ModelUsage)  # of all its replies
    output: ModelOutput | None = None  # the last reply; none if the last request failed

    @property
    def found(self) -> T | None:
        return None if isinstance(self.result, Failure) else self.result

    @property
    def failure(self) -> Failure | None:
        return self.result if isinstance(self.result, Failure) else None


Judgement = Asked[Verdict]


async def ask(
    judge: Judge, prompt: str, read: Callable[[str, bool], T | Failure], attempts: int = 3
) -> Asked[T]:
    """Ask until there is a reply that can be used, at most `attempts` times.

    `read` makes of a reply's text, and of whether it ended at a length limit, what was
    asked for or a failure.
    """
    result: Failure = Failure("empty_reply", "never asked")
    prompt = _sendable(prompt)
    usage = ModelUsage()
    output = None
    for attempt in range(1, attempts + 1):
        try:
            output = await judge.model.generate(
                [ChatMessageUser(content=prompt)],
                config=judge.limits.merge(GenerateConfig(cache=_fresh_cache(attempt))),
            )
            usage += output.usage or ModelUsage()
            found = read_output(output, read)
        except LimitExceededError:
            raise  # the user's own limit on the sample, not the judge's failure
        except Exception as ex:
            output = None
            result, permanent = _call_failure(ex)
            if permanent:
                return Asked(judge.name, result, attempt, permanent, usage)
            if result.kind == "call_failed" and attempt < attempts:
                await anyio.sleep(PAUSES[min(attempt, len(PAUSES)) - 1])
            continue
        if not isinstance(found, Failure):
            return Asked(judge.name, found, attempt, usage=usage, output=output)
        result = found
    return Asked(judge.name, result, attempts, usage=usage, output=output)


def _sendable(text: str) -> str:
    # With a mark in place of each lone surrogate, which no request can carry.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def read_output(output: ModelOutput, read: Callable[[str, bool], T | Failure]) -> T | Failure:
    """What a judge's output says, or why that cannot be told."""
    if output.empty:
        return Failure("empty_reply", "a reply without choices")
    stop = output.stop_reason
    found = read(output.completion, stop in CUT_OFF)
    if isinstance(found, Failure) and (stop == "content_filter" or _is_refusal(output)):
        return Failure("refused", found.detail)
    return found


def _is_refusal(output: ModelOutput) -> bool:
    content = output.message.content
    return not isinstance(content, str) and any(
        part.type == "text" and part.refusal for part in content
    )


def _fresh_cache(attempt: int) -> CachePolicy | None:
    """A cache policy under which an unusable reply is not handed out again.

    The user's own policy is known only from what Inspect resolved for the call
    before, which stands in the transcript.
    """
    if attempt == 1:
        return None
    calls = (e for e in reversed(transcript().events) if isinstance(e, ModelEvent))
    policy = next((call.config.cache for call in calls), None)
    if not policy:
        return None
    base = policy if isinstance(policy, CachePolicy) else CachePolicy()
    return base.model_copy(update={"scopes": {**base.scopes, "attempt": str(attempt)}})


def _call_failure(ex: BaseException) -> tuple[Failure, bool]:
    """Why a call failed, and whether the judge cannot work at all."""
    # The provider's own error stands behind Inspect's retries.
    while isinstance(ex, RetryError) and (last := ex.last_attempt.exception()):
        ex = last
    # The attribute's name is common to the clients of OpenAI, Anthropic, Mistral and
    # Inspect's own errors; Google calls it code.
    status = getattr(ex, "status_code", None) or getattr(ex, "code", None)
    permanent = isinstance(status, int) and status in _PERMANENT_STATUS
    name = type(ex).__name__
    if "Timeout" in name:
        return Failure("timeout", f"no reply in time ({name})"), permanent
    # Inspect's own error holds the whole request; the provider's words are enough.
    message = str(getattr(ex, "provider_message", None) or ex)[:_MOST_MESSAGE]
    return Failure("call_failed", f"{name}: {one_line(redacted(message))}"[:500]), permanent


async def probe(judge: Judge) -> Failure | None:
    """Find out with one small request whether a judge can work at all.

    Returns a failure only for a permanent reason: a refused key, an unknown model.
    A judge that is slow or overloaded now may still do its work later.
    """
    try:
        await judge.model.generate(
            "Reply with the single word: ready",
            config=GenerateConfig(max_retries=0, attempt_timeout=60, timeout=60, batch=False),
        )
    except Exception as ex:
        failure, permanent = _call_failure(ex)
        return failure if permanent else None
    return None
