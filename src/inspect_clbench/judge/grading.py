"""Ask a model for a verdict: bounded attempts, bounded time, every failure named."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
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
)
from inspect_ai.util import LimitExceededError
from tenacity import RetryError

from inspect_clbench.judge.replies import Failure
from inspect_clbench.judge.verdict import Verdict, parse_verdict

# One request may take this long: reasoning judges need minutes for long rubric lists.
ATTEMPT_SECONDS = 600
# Unless it goes into a batch, which providers promise within a day.
BATCH_SECONDS = 26 * 3600

# Providers' clients retry by themselves (OpenAI's twice), so Inspect need not; between
# two attempts the judge gets time to recover, enough for a rate limit per minute.
_RETRIES = 0
PAUSES = (10.0, 60.0)


@dataclass(frozen=True)
class Judge:
    """A judging model and the limits it is called with."""

    model: Model
    limits: GenerateConfig

    @property
    def name(self) -> str:
        return str(self.model)


def judge_limits(*wishes: GenerateConfig) -> GenerateConfig:
    """Bounds for one attempt to get a verdict; the first wish for each of them wins.

    Inspect retries without end by default and never gives up a request that hangs.
    With three attempts and a client that retries twice, these bounds allow nine
    requests for a row, and a judge that hangs ends after one time limit per attempt:
    `timeout` ends the retries of an attempt once a request has used the limit up.
    """
    usual = BATCH_SECONDS if any(w.batch for w in wishes) else ATTEMPT_SECONDS
    attempt_timeout = _first((w.attempt_timeout for w in wishes), usual)
    return GenerateConfig(
        max_retries=_first((w.max_retries for w in wishes), _RETRIES),
        attempt_timeout=attempt_timeout,
        timeout=_first((w.timeout for w in wishes), attempt_timeout),
    )


def _first(wishes: Iterable[int | None], default: int) -> int:
    return next((wish for wish in wishes if wish is not None), default)


# The request was understood and turned down for a reason that another try, of this
# row or of any other, will not change.
_PERMANENT_STATUS = {401, 402, 403, 404}


T = TypeVar("T")


@dataclass(frozen=True)
class Asked(Generic[T]):
    """What came of asking one judge about one answer."""

    judge: str
    result: T | Failure
    attempts: int
    permanent: bool = False
    """Whether the failure says that this judge cannot work at all."""

    @property
    def found(self) -> T | None:
        return None if isinstance(self.result, Failure) else self.result

    @property
    def failure(self) -> Failure | None:
        return self.result if isinstance(self.result, Failure) else None


class Judgement(Asked[Verdict]):
    """One judge's work on one answer."""

    @property
    def verdict(self) -> Verdict | None:
        return self.found


async def judge_answer(
    judge: Judge, prompt: str, *, answer: str, attempts: int = 3
) -> Judgement:
    """Ask until there is a verdict, at most `attempts` times.

    Args:
        judge: Who is asked, and within which limits.
        prompt: The whole message for the judge.
        answer: The graded answer, to tell a verdict from a quotation of it.
        attempts: How often to ask in all.
    """

    def read(reply: str, cut_off: bool) -> Verdict | Failure:
        return parse_verdict(reply, cut_off=cut_off, answer=answer)

    asked = await ask(judge, prompt, read, attempts=attempts)
    return Judgement(asked.judge, asked.result, asked.attempts, asked.permanent)


async def ask(
    judge: Judge,
    prompt: str,
    read: Callable[[str, bool], T | Failure],
    *,
    attempts: int = 3,
) -> Asked[T]:
    """Ask until there is a reply that can be used, at most `attempts` times.

    Args:
        judge: Who is asked, and within which limits.
        prompt: The whole message for the judge.
        read: Makes of a reply's text, and of whether it ended at a length limit,
            what was asked for or a failure.
        attempts: How often to ask in all.
    """
    result: Failure = Failure("empty_reply", "never asked")
    prompt = _sendable(prompt)
    for attempt in range(1, attempts + 1):
        config = judge.limits
        if cache := _fresh_cache(attempt):
            config = config.merge(GenerateConfig(cache=cache))
        try:
            output = await judge.model.generate(
                [ChatMessageUser(content=prompt)], config=config
            )
        except LimitExceededError:
            raise  # the user's own limit on the sample, not the judge's failure
        except Exception as ex:
            result = _call_failure(ex)
            if _http_status(ex) in _PERMANENT_STATUS:
                return Asked(judge.name, result, attempt, permanent=True)
            if result.kind == "call_failed" and attempt < attempts:
                await anyio.sleep(PAUSES[min(attempt, len(PAUSES)) - 1])
            continue
        found = _read(output, read)
        if not isinstance(found, Failure):
            return Asked(judge.name, found, attempt)
        result = found
    return Asked(judge.name, result, attempts)


def _sendable(text: str) -> str:
    """The text with a mark in place of each lone surrogate, which no request can carry."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _read(output: ModelOutput, read: Callable[[str, bool], T | Failure]) -> T | Failure:
    stop = output.stop_reason
    found = read(output.completion, stop in ("max_tokens", "model_length"))
    if isinstance(found, Failure) and (stop == "content_filter" or _is_refusal(output)):
        return Failure("refused", found.detail)
    return found


def _is_refusal(output: ModelOutput) -> bool:
    if output.empty or isinstance(output.message.content, str):
        return False
    return any(part.type == "text" and part.refusal for part in output.message.content)


def _fresh_cache(attempt: int) -> CachePolicy | None:
    """A cache policy under which an unusable reply is not handed out again.

    The user's own policy is known only from what Inspect resolved for the call
    before, which stands in the transcript.
    """
    if attempt == 1:
        return None
    for event in reversed(transcript().events):
        if isinstance(event, ModelEvent):
            policy = event.config.cache
            if not policy:
                return None
            base = policy if isinstance(policy, CachePolicy) else CachePolicy()
            scopes = {**base.scopes, "attempt": str(attempt)}
            return base.model_copy(update={"scopes": scopes})
    return None


def _call_failure(ex: Exception) -> Failure:
    cause = _cause(ex)
    name = type(cause).__name__
    if "Timeout" in name:
        return Failure("timeout", f"no reply in time ({name})")
    # Inspect's own error holds the whole request; the provider's words are enough.
    message = getattr(cause, "provider_message", None) or str(cause)
    return Failure("call_failed", f"{name}: {' '.join(str(message).split())}"[:500])


def _cause(ex: BaseException) -> BaseException:
    """The provider's own error behind Inspect's retries."""
    if isinstance(ex, RetryError):
        last = ex.last_attempt.exception()
        return _cause(last) if last is not None else ex
    return ex


def _http_status(ex: Exception) -> int | None:
    # The attribute's name is common to the clients of OpenAI, Anthropic, Mistral and Inspect's own errors; Google calls it code.
    cause = _cause(ex)
    status = getattr(cause, "status_code", None) or getattr(cause, "code", None)
    return status if isinstance(status, int) else None


async def probe(judge: Judge) -> Failure | None:
    """Find out with one small request whether a judge can work at all.

    Returns a failure only for a permanent reason: a refused key, an unknown model.
    A judge that is slow or overloaded now may still do its work later.
    """
    if judge.name.startswith("mockllm/"):  # scripted replies: none to spare
        return None
    try:
        await judge.model.generate(
            "Reply with the single word: ready",
            config=GenerateConfig(max_retries=0, attempt_timeout=60, timeout=60, batch=False),
        )
    except Exception as ex:
        if _http_status(ex) in _PERMANENT_STATUS:
            return _call_failure(ex)
    return None
