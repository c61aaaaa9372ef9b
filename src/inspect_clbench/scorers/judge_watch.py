"""The watch that stops a run whose judge cannot work."""

from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from logging import getLogger
from typing import Any

from inspect_ai.scorer import SampleScore
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

    The run asks it before the first sample and before each one, and tells it of those
    that are done; the scorer tells it how judging went.
    """

    def __init__(self) -> None:
        self._permanent: dict[str, int] = {}
        self._worked: set[str] = set()
        self._rows = 0
        self._failed_rows = 0

    async def start(self) -> None:
        """Ask each judge something small; raises if one cannot work at all."""
        _current.set(self)
        check_batch()
        for judge in _resolved_graders():
            if failure := await probe(judge):
                raise _unavailable(judge.name, str(failure))
            self._worked.add(judge.name)

    def count(self, scores: Mapping[str, SampleScore]) -> None:
        """Take note of the scores of a row that is done."""
        self._rows += 1
        self._failed_rows += any(
            s.score.reason == "grader_failed"
            for s in scores.values()
            if s.scorer == "rubric_judge"  # error types without a label are no verdicts
        )

    def end(self) -> None:
        """Warn of a run in which many rows have no verdict."""
        self.check()
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

    def check(self) -> None:
        """Raises if a judge is gone."""
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
