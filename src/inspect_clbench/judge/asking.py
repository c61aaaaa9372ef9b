"""Asking a judge: bounded attempts, bounded time, every failure named.

Inspect's own defaults retry for ever, and an exception in a scorer would leave the sample
without a score.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import anyio
from inspect_ai.model import (
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
    ModelUsage,
    get_model,
    model_roles,
)
from inspect_ai.util import LimitExceededError, sample_limits
from tenacity import RetryError

from inspect_clbench.benchmarks import DEFAULT_JUDGE, GRADER, Effort
from inspect_clbench.judge.verdict import Failure, Reason

ATTEMPTS = 3
# Seconds between two attempts: time to recover, enough for a rate limit per minute.
PAUSES = (10.0, 60.0)

# Reasoning judges need minutes for long lists of rubrics. A request in a batch may take the day
# that providers promise.
_ATTEMPT_SECONDS = 600
_BATCH_SECONDS = 26 * 3600

# The request was understood and turned down for a reason that another try, of this row or of
# any other, will not change: the key, the money, the model's name.
_PERMANENT_STATUS = {401, 402, 403, 404}

T = TypeVar("T")
Reader = Callable[[str, bool], T | Failure]
"""Makes of a reply's text, and of whether it ended at a length limit, what was asked for."""


@dataclass(frozen=True)
class Reply(Generic[T]):
    """What came of asking one judge about one answer."""

    judge: str
    result: T | Failure
    attempts: int
    usage: ModelUsage
    """Of all attempts together."""
    refused: bool = False
    """Whether the judge turned the request down for good: it cannot work at all."""

    @property
    def failure(self) -> Failure | None:
        return self.result if isinstance(self.result, Failure) else None


def bound_judges(effort: Effort) -> list[Model]:
    """The models of the role `grader`, or the default judge; never the model under test by accident.

    Args:
        effort: The reasoning effort of the default judge. Others keep the settings of their role.
    """
    models = model_roles().get(GRADER)
    if models is None:
        config = GenerateConfig(reasoning_effort=effort)
        return [get_model(role=GRADER, default=DEFAULT_JUDGE, config=config)]
    return models if isinstance(models, list) else [models]


def in_running_sample() -> bool:
    """Whether a run is going on, rather than the scoring of a log after it."""
    try:
        sample_limits()
    except RuntimeError:
        return False
    return True


async def ask(judge: Model, prompt: str, read: Reader[T]) -> Reply[T]:
    """Ask until there is a reply that can be read, at most three times.

    Args:
        judge: The model.
        prompt: Its one message.
        read: What makes of a reply what was asked for, or a failure.
    """
    name = str(judge)
    usage = ModelUsage()
    failure = Failure("empty_reply")
    for attempt in range(1, ATTEMPTS + 1):
        config = _limits(judge.config)
        if attempt > 1:
            config.cache = False  # an unreadable reply must not be handed out again
        try:
            output = await judge.generate([ChatMessageUser(content=_sendable(prompt))], config=config)
        except LimitExceededError:
            raise  # the user's own limit on the sample, not the judge's failure
        except Exception as ex:
            failure, refused = _failed_call(ex)
            if refused:
                return Reply(name, failure, attempt, usage, refused=True)
            if failure.reason == "call_failed" and attempt < ATTEMPTS:
                await anyio.sleep(PAUSES[attempt - 1])
            continue
        usage += output.usage or ModelUsage()
        result = _read_output(output, read)
        if not isinstance(result, Failure):
            return Reply(name, result, attempt, usage)
        failure = result
    return Reply(name, failure, ATTEMPTS, usage)


async def probe(judge: Model) -> Failure | None:
    """Find out with one small request whether a judge can work at all.

    Returns:
        A failure only for a permanent reason. A judge that is slow or overloaded now may still
        do its work later.
    """
    # No cache: a judge that worked yesterday is asked today.
    config = GenerateConfig(max_retries=0, attempt_timeout=60, batch=False, cache=False)
    try:
        await judge.generate("Reply with the single word: ready", config=config)
    except Exception as ex:
        failure, refused = _failed_call(ex)
        return failure if refused else None
    return None


def _limits(config: GenerateConfig) -> GenerateConfig:
    """Bounds for one attempt; the time is the judge's own setting where it has one.

    Providers' clients retry by themselves, OpenAI's twice, so Inspect need not, whatever the run's
    or the judge's settings say: with three attempts that makes nine requests for a row.
    """
    seconds = config.attempt_timeout or (_BATCH_SECONDS if config.batch else _ATTEMPT_SECONDS)
    return GenerateConfig(max_retries=0, attempt_timeout=seconds)


def _sendable(text: str) -> str:
    # With a mark in place of each half of a character, which no request can carry.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _read_output(output: ModelOutput, read: Reader[T]) -> T | Failure:
    """What a judge's output says, or why that cannot be told."""
    if output.empty:
        return Failure("empty_reply", "a reply without choices")
    # Where a provider turns a request down (HTTP 400 with a code such as content_filter, invalid_prompt
    # or context_length_exceeded) Inspect returns the error's text as the completion, and a refusal's text
    # likewise. They may quote the request, and with it a verdict that the answer planted: no reply.
    details = output.choices[0].stop_details
    is_refusal = details is not None and details.type in ("refusal", "content_filter")
    if is_refusal or output.stop_reason in ("content_filter", "model_length"):
        reason: Reason = "cut_off" if output.stop_reason == "model_length" else "refused"
        return Failure(reason, output.completion)
    return read(output.completion, output.stop_reason == "max_tokens")


def _failed_call(ex: BaseException) -> tuple[Failure, bool]:
    """Why a call failed, and whether the judge cannot work at all."""
    # The provider's own error stands behind Inspect's retries.
    while isinstance(ex, RetryError) and (last := ex.last_attempt.exception()):
        ex = last
    # The attribute's name is common to the clients of OpenAI, Anthropic, Mistral and Inspect's own
    # errors; Google calls it code.
    status = getattr(ex, "status_code", None) or getattr(ex, "code", None)
    name = type(ex).__name__
    if "Timeout" in name:
        return Failure("timeout", f"no reply in time ({name})"), False
    # Inspect's own error holds the whole request; the provider's words are enough.
    message = str(getattr(ex, "provider_message", None) or ex)
    return Failure("call_failed", f"{name}: {message}"), isinstance(
        status, int
    ) and status in _PERMANENT_STATUS
