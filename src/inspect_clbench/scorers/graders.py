"""The models that judge, and the watch that stops a run whose judge cannot work."""

from collections.abc import Sequence
from contextvars import ContextVar
from copy import copy
from logging import getLogger

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.model import GenerateConfig, Model, get_model, model_roles
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.grading import JUDGE_LIMITS, Judgement, probe

logger = getLogger(__name__)

ROLE = "grader"
DEFAULT_JUDGE = "openai/gpt-5.1"

# So many permanent failures in a row, without a verdict between them, and the
# judge counts as gone. One may be a provider's answer to one odd row.
_FAILURES_TO_STOP = 5

_LOUD_SHARE = 0.02


def graders(effort: str = "low") -> list[Model]:
    """The models bound to the role `grader`, or the benchmark's default judge.

    Never the model under test by accident. Limits of ours are defaults: what the
    user set on a role wins.

    Args:
        effort: Reasoning effort of the default judge; a judge that the user chose
            keeps the user's settings.
    """
    bound = model_roles().get(ROLE)
    if bound is None:
        config = JUDGE_LIMITS.merge(GenerateConfig(reasoning_effort=effort))
        return [get_model(role=ROLE, default=DEFAULT_JUDGE, config=config)]
    models = bound if isinstance(bound, list) else [bound]
    return [_with_limits(model) for model in models]


def _with_limits(model: Model) -> Model:
    limited = copy(model)
    limited.config = JUDGE_LIMITS.merge(model.config)
    return limited


class JudgeWatch:
    """Stops a run whose judge cannot work, before its failures pass for wrong answers.

    As an early-stopping manager Inspect calls it before the first sample, before
    and after each sample, and at the end. The scorer tells it how judging went.
    """

    def __init__(self) -> None:
        self._permanent: dict[str, int] = {}
        self._worked: set[str] = set()
        self._rows = 0
        self._failed_rows = 0

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        _current.set(self)
        for judge in _resolved_graders():
            if failure := await probe(judge):
                raise _unavailable(str(judge), str(failure))
        return "judge_watch"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        self._raise_if_gone()
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        self._rows += 1
        self._failed_rows += any(s.score.reason == "grader_failed" for s in scores.values())

    async def complete_task(self) -> dict[str, JsonValue]:
        self._raise_if_gone()
        if self._failed_rows > _LOUD_SHARE * self._rows:
            logger.warning(
                "JUDGE FAILURES: %d of %d rows (%.1f %%) have no verdict. They count as "
                "not solved, or were left out if you asked for that: this run's solving "
                "rate says as much about the judge as about the model. See judge_error in "
                "the scores, then ask again for these rows only: clbench regrade LOG",
                self._failed_rows,
                self._rows,
                100 * self._failed_rows / self._rows,
            )
        return {}

    def report(self, judgements: Sequence[Judgement]) -> None:
        """Take note of a row's judgements; raises once a judge is gone for good."""
        for judgement in judgements:
            if judgement.permanent:
                count = self._permanent.get(judgement.judge, 0) + 1
                self._permanent[judgement.judge] = count
                if judgement.judge not in self._worked or count >= _FAILURES_TO_STOP:
                    self._permanent[judgement.judge] = _FAILURES_TO_STOP
                    raise _unavailable(judgement.judge, str(judgement.failure))
            elif judgement.verdict is not None:
                self._worked.add(judgement.judge)
                self._permanent[judgement.judge] = 0

    def _raise_if_gone(self) -> None:
        for judge, failures in self._permanent.items():
            if failures >= _FAILURES_TO_STOP:
                raise _unavailable(judge, "it failed for the same reason again and again")


_current: ContextVar[JudgeWatch | None] = ContextVar("judge_watch", default=None)


def current_watch() -> JudgeWatch | None:
    """The watch of the running task; none when a log is scored after its run."""
    return _current.get()


def _resolved_graders() -> list[Model]:
    try:
        return graders()
    except Exception as ex:
        raise _unavailable(DEFAULT_JUDGE, str(getattr(ex, "message", ex))) from None


def _unavailable(judge: str, reason: str) -> ClbenchError:
    return ClbenchError(
        f"The judge cannot work: role {ROLE}, model {judge}. {reason}\n"
        "Nothing was scored as wrong because of it. Check the API key and the model's "
        f"name, or choose another judge with --model-role {ROLE}=provider/model; then "
        "start again, or go on with: inspect eval-retry LOG"
    )
