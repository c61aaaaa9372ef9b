"""The watch that stops a run whose judge cannot work."""

from collections.abc import Sequence
from contextvars import ContextVar
from logging import getLogger
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue
from rich.text import Text

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.grading import Asked, Judge, probe
from inspect_clbench.scorers.graders import DEFAULT_JUDGE, ROLE, check_batch, graders

logger = getLogger(__name__)

# So many permanent failures in a row, without a verdict between them, and the
# judge counts as gone. One may be a provider's answer to one odd row.
_FAILURES_TO_STOP = 5

_LOUD_SHARE = 0.02


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
        if not samples:
            raise ClbenchError(
                "No sample was chosen for this run. Inspect counts --limit from 1: the first "
                "500 samples are --limit 1-500, the next ones --limit 501-1000."
            )
        check_batch()
        for judge in _resolved_graders():
            if failure := await probe(judge):
                raise _unavailable(judge.name, str(failure))
            self._worked.add(judge.name)
        return "judge_watch"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        self._raise_if_gone()
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        self._rows += 1
        self._failed_rows += any(
            s.score.reason == "grader_failed"
            for s in scores.values()
            if s.scorer == "rubric_judge"  # error types without a label are no verdicts
        )

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

    def report(self, asked: Sequence[Asked[Any]]) -> None:
        """Take note of how judges did on a row; raises once one is gone for good."""
        for one in asked:
            if one.permanent:
                count = self._permanent.get(one.judge, 0) + 1
                self._permanent[one.judge] = count
                if one.judge not in self._worked or count >= _FAILURES_TO_STOP:
                    self._permanent[one.judge] = _FAILURES_TO_STOP
                    raise _unavailable(one.judge, str(one.failure))
            elif one.failure is None:
                self._worked.add(one.judge)
                self._permanent[one.judge] = 0

    def _raise_if_gone(self) -> None:
        for judge, failures in self._permanent.items():
            if failures >= _FAILURES_TO_STOP:
                raise _unavailable(judge, "it failed for the same reason again and again")


_current: ContextVar[JudgeWatch | None] = ContextVar("judge_watch", default=None)


def current_watch() -> JudgeWatch | None:
    """The watch of the running task; none when a log is scored after its run."""
    return _current.get()


def _resolved_graders() -> list[Judge]:
    try:
        return graders()
    except Exception as ex:
        # Inspect's own message about a missing key is rich markup.
        reason = Text.from_markup(str(getattr(ex, "message", ex))).plain
        raise _unavailable(DEFAULT_JUDGE, " ".join(reason.split())) from None


def _unavailable(judge: str, reason: str) -> ClbenchError:
    return ClbenchError(
        f"The judge cannot work: role {ROLE}, model {judge}. {reason}\n"
        "Nothing was scored as wrong because of it. Check the API key and the model's "
        f"name, or choose another judge with --model-role {ROLE}=provider/model; then "
        "start again, or go on with: inspect eval-retry LOG"
    )
