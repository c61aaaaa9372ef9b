"""Ask a model for a verdict: bounded attempts, bounded time, every failure named."""

from dataclasses import dataclass

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import (
    CachePolicy,
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelOutput,
)
from tenacity import RetryError

from inspect_clbench.judge.verdict import Failure, Verdict, parse_verdict

ATTEMPT_SECONDS = 600

# Inspect retries without end by default and never gives up a request that hangs.
# With three attempts these bounds allow nine requests for a row, and a judge that
# hangs ends after one time limit per attempt: `timeout` stops the retries of an
# attempt once a request has used the limit up. What the user sets on the role, or
# with --max-retries and --timeout, wins.
JUDGE_LIMITS = GenerateConfig(
    max_retries=2, attempt_timeout=ATTEMPT_SECONDS, timeout=ATTEMPT_SECONDS
)

# The request was understood and turned down for a reason that another try, of this
# row or of any other, will not change.
_PERMANENT_STATUS = {401, 402, 403, 404}

# This row's request was turned down; asking again with the same text is useless.
_REJECTED_STATUS = {400, 413, 422}


@dataclass(frozen=True)
class Judgement:
    """One judge's work on one answer."""

    judge: str
    result: Verdict | Failure
    attempts: int
    permanent: bool = False
    """Whether the failure says that this judge cannot work at all."""

    @property
    def verdict(self) -> Verdict | None:
        return self.result if isinstance(self.result, Verdict) else None

    @property
    def failure(self) -> Failure | None:
        return self.result if isinstance(self.result, Failure) else None


async def judge_answer(
    judge: Model, prompt: str, *, answer: str, attempts: int = 3
) -> Judgement:
    """Ask until there is a verdict, at most `attempts` times.

    Args:
        judge: The judging model.
        prompt: The whole message for the judge.
        answer: The graded answer, to tell a verdict from a quotation of it.
        attempts: How often to ask in all.
    """
    name = str(judge)
    result: Failure = Failure("no_verdict", "never asked")
    for attempt in range(1, attempts + 1):
        try:
            output = await judge.generate(
                [ChatMessageUser(content=prompt)],
                config=GenerateConfig(cache=_fresh_cache(attempt)),
            )
        except Exception as ex:
            result = _call_failure(ex)
            status = _http_status(ex)
            if status in _PERMANENT_STATUS:
                return Judgement(name, result, attempt, permanent=True)
            if status in _REJECTED_STATUS:
                return Judgement(name, result, attempt)
            continue
        verdict = _read(output, answer)
        if isinstance(verdict, Verdict):
            return Judgement(name, verdict, attempt)
        result = verdict
    return Judgement(name, result, attempts)


def _read(output: ModelOutput, answer: str) -> Verdict | Failure:
    stop = output.stop_reason
    read = parse_verdict(
        output.completion,
        cut_off=stop in ("max_tokens", "model_length"),
        answer=answer,
    )
    if isinstance(read, Failure) and (stop == "content_filter" or _is_refusal(output)):
        return Failure("refused", read.detail)
    return read


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
    return Failure("call_failed", f"{name}: {cause}"[:500])


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


async def probe(judge: Model) -> Failure | None:
    """Find out with one small request whether a judge can work at all.

    Returns a failure only for a permanent reason: a refused key, an unknown model.
    A judge that is slow or overloaded now may still do its work later.
    """
    if str(judge).startswith("mockllm/"):  # scripted replies: none to spare
        return None
    try:
        await judge.generate(
            "Reply with the single word: ready",
            config=GenerateConfig(max_retries=0, attempt_timeout=60, timeout=60),
        )
    except Exception as ex:
        if _http_status(ex) in _PERMANENT_STATUS:
            return _call_failure(ex)
    return None
