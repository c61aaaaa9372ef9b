"""The judges of a run: which models they are, within which limits, and whether they work.

A run that cannot succeed is refused, and one whose judge is gone is stopped. Otherwise a
refused key or a misspelt model would be noticed only after all answers are paid for, and its
failures would pass for wrong answers.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence, Sized
from contextvars import ContextVar
from logging import getLogger
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.model import (
    GenerateConfig,
    Model,
    ModelUsage,
    get_model,
    get_model_info,
    model_roles,
)
from inspect_ai.scorer import SampleScore, Score
from inspect_ai.solver import TaskState
from inspect_ai.util import EarlyStop, display_counter
from pydantic import JsonValue
from rich.text import Text

from inspect_clbench.benchmarks import (
    AFTER_RUN,
    CLBENCH,
    DEFAULT_JUDGE,
    GRADER,
    PRICE_EXAMPLE,
    RUBRIC_JUDGE,
    benchmark_of,
    bound_graders,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.asking import (
    BATCH_SECONDS,
    Asked,
    Judge,
    in_running_sample,
    judge_limits,
    probe,
)
from inspect_clbench.solvers import check_replay
from inspect_clbench.text import counted

logger = getLogger(__name__)

# Bounds for the model under test, unless the user sets others: Inspect retries for
# ever, and a run must end. Nine retries wait about 25 minutes in all; what fails
# then is a sample error, which `inspect eval-retry` takes up again.
MODEL_LIMITS = GenerateConfig(max_retries=9, attempt_timeout=3600)

# So many permanent failures in a row, without a verdict between them, and the
# judge counts as gone. One may be a provider's answer to one odd row.
_FAILURES_TO_STOP = 5

_LOUD_SHARE = 0.02

_OF_JUDGES = re.compile(r"judg|grad|scor|evaluat|rater|assess", re.IGNORECASE)


def graders(effort: str = "low", task_roles: Mapping[str, Any] | None = None) -> list[Judge]:
    """The models bound to the role `grader`, or the benchmark's default judge.

    Never the model under test by accident. What the user set wins, on the role before on
    the command line of the run; `effort` is for the default judge, and our own limits come
    last. `task_roles` are a task's own, which Inspect adds to those of the run once it starts.
    """
    roles = {**(task_roles or {}), **model_roles()}
    if other := next(
        (role for role in roles if role != GRADER and _OF_JUDGES.search(role)), ""
    ):
        raise ClbenchError(
            f"Nothing asks for the model role {other}: the judge's role is called {GRADER}. "
            f"Use: --model-role {GRADER}=provider/model"
        )
    models = bound_graders(roles)
    if not models:
        config = GenerateConfig(reasoning_effort=effort)
        default = get_model(
            role=GRADER, default=DEFAULT_JUDGE, config=config
        )  # inspect-evals-lint: ignore[get_model_location] -- called by the scorers only, while they score
        models = [default]
    return [Judge(model, judge_limits(model.config, _run_settings())) for model in models]


def check_start(
    samples: Sized, task_roles: Mapping[str, Any] | None = None, budget: float | None = None
) -> None:
    """Refuse a run that cannot succeed, as far as that is known before it starts."""
    if not samples:
        raise ClbenchError(
            "No sample was chosen for this run. Inspect counts --limit from 1: the first "
            "500 samples are --limit 1-500, the next ones --limit 501-1000."
        )
    check_batch()
    try:
        judges = graders(task_roles=task_roles)
    except ClbenchError:
        raise
    except Exception as ex:
        # Inspect's own message about a missing key is rich markup.
        reason = Text.from_markup(str(getattr(ex, "message", ex))).plain
        raise _unavailable(DEFAULT_JUDGE, " ".join(reason.split())) from None
    if budget is not None:
        _check_prices([_model_under_test(), *(judge.model for judge in judges)])


def check_batch() -> None:
    """Refuse a batch run that would give up its answers and pay for them again.

    What the model's own config says is all that can be seen here: settings of the
    command line are in it, those of a Python call only if it names the model by a string.
    """
    config = _model_under_test().config
    if config.batch and config.attempt_timeout is None:
        raise ClbenchError(
            "--batch: an answer may take a day, but without another limit this task asks "
            f"again after {MODEL_LIMITS.attempt_timeout} seconds, and pays again. Add: "
            f"--attempt-timeout {BATCH_SECONDS} (in Python also to the model's config)"
        )


def _run_settings() -> GenerateConfig:
    """The limits that the user gave for the whole run; none when a log is scored after it.

    Inspect hands some of them down to a role and others not. The model under test has
    them all, and during a run only them: the task's own `MODEL_LIMITS` are kept apart. For
    the scoring of a log Inspect rebuilds the model with both in one, and `inspect score`
    has no such options, so there the role's settings alone count.
    """
    if not in_running_sample():
        return GenerateConfig()
    return _model_under_test().config


def _model_under_test() -> Model:
    return get_model()  # inspect-evals-lint: ignore[get_model_location] -- called by the scorers only, while they score


def never_answered(state: TaskState) -> bool:
    """Whether this is a log's sample that ended in an error: there is nothing to judge."""
    return not state.output.choices and not in_running_sample()


def usual_effort(state: TaskState) -> str:
    """The reasoning effort at which the benchmark's authors run the default judge."""
    # Known from the sample alone, so that `inspect score` finds it too.
    benchmark = benchmark_of(str(state.metadata.get("context_category"))) or CLBENCH
    return benchmark.judge_effort


class JudgeMonitor:
    """How one run goes: which judges work, how many rows have no verdict, what is spent."""

    def __init__(self, budget: float | None = None) -> None:
        self._budget = budget
        self._usd = 0.0
        self._not_started = 0
        self._failures: Counter[str] = Counter()
        self._worked: set[str] = set()
        self._rows = 0
        self._failed_rows = 0

    def report(self, asked: Sequence[Asked[Any]], usd: float) -> None:
        """Take note of how judges did on a row, and of money; raises once one is gone for good."""
        self.spend(usd)
        for one in asked:
            if one.failure is None:
                self.add_working(one.judge)
            elif one.permanent:
                once = 1 if one.judge in self._worked else _FAILURES_TO_STOP
                self._failures[one.judge] += once
                if self._failures[one.judge] >= _FAILURES_TO_STOP:
                    raise _unavailable(one.judge, str(one.failure))

    def spend(self, usd: float) -> None:
        """Take note of money that was spent, in USD."""
        self._usd += usd
        if self._budget is not None and usd:
            display_counter("Spent", f"${self._usd:,.2f} of ${self._budget:,.2f}")

    @property
    def spent(self) -> dict[str, JsonValue]:
        """The budget and what of it is spent, for the log; nothing without a budget."""
        if self._budget is None:
            return {}
        return {"budget_usd": self._budget, "spent_usd": round(self._usd, 4)}

    def stops(self) -> bool:
        """Whether the budget is spent, so that a sample that is due must not start."""
        if self._budget is None or self._usd < self._budget:
            return False
        self._not_started += 1
        return True

    def add_working(self, judge: str) -> None:
        self._worked.add(judge)
        self._failures[judge] = 0

    def check(self) -> None:
        """Raises if a judge is gone."""
        for judge, failures in self._failures.items():
            if failures >= _FAILURES_TO_STOP:
                raise _unavailable(judge, "it failed for the same reason again and again")

    def count(self, scores: Mapping[str, SampleScore]) -> None:
        """Take note of the scores of a row that is done."""
        self._rows += 1
        self._failed_rows += any(
            s.score.reason == "grader_failed"
            for s in scores.values()
            if s.scorer == RUBRIC_JUDGE  # error types without a label are no verdicts
        )

    def warn(self) -> None:
        """Warn of a run that its budget ended, and of one with many rows without a verdict."""
        if self._budget is not None and self._usd >= self._budget:
            if self._not_started:
                what = (
                    f"{counted(self._not_started, 'sample')} not started; those under way were "
                    "finished. To go on with the same sum anew: inspect eval-retry, with the "
                    "log that is named below."
                )
            else:
                what = "Nothing was left to start: the run is complete."
            logger.warning(
                "BUDGET: $%.2f are spent, the budget is $%.2f. %s",
                self._usd,
                self._budget,
                what,
            )
        if self._failed_rows > _LOUD_SHARE * self._rows:
            logger.warning(
                "JUDGE FAILURES: %d of %d rows (%.1f %%) have no verdict. They count as "
                "not solved, or were left out if you asked for that: this run's solving "
                "rate says as much about the judge as about the model. See judge_error in "
                "the scores. To ask again for these rows only: clbench regrade, with the log "
                "that is named below.",
                self._failed_rows, self._rows, 100 * self._failed_rows / self._rows,
            )  # fmt: skip


# A scorer and its task's early-stopping manager cannot be handed a common object: the
# scorer's arguments are written to the log, and a user may name the scorer anew. What a
# task sets here before its samples start, all of its samples see, and no other task does.
_current: ContextVar[JudgeMonitor] = ContextVar("judge_monitor")


def current_monitor(otherwise: JudgeMonitor) -> JudgeMonitor:
    """The monitor of the running task; another when a log is scored after its run."""
    return _current.get(otherwise)


def with_usage(score: Score, asked: Sequence[Asked[Any]]) -> Score:
    """The same score with the tokens of its judges, if it is given after the run.

    During a run Inspect counts them in the log's statistics; those of a later scoring it counts
    nowhere.
    """
    if in_running_sample():
        return score
    return _add_usage(score, [(one.judge, one.usage) for one in asked])


def with_usage_of(score: Score, replaced: Score) -> Score:
    """The same score with the tokens of one that it takes the place of, given after the run."""
    return _add_usage(score, usages_in(replaced.metadata))


def usages_in(metadata: Mapping[str, Any] | None) -> list[tuple[str, ModelUsage]]:
    """Models and the tokens that they used for a score after the run."""
    told = (metadata or {}).get(AFTER_RUN, {})
    return [(str(model), ModelUsage.model_validate(usage)) for model, usage in told.items()]


def _add_usage(score: Score, more: Iterable[tuple[str, ModelUsage]]) -> Score:
    used: dict[str, ModelUsage] = {}
    for model, usage in (*usages_in(score.metadata), *more):
        if usage.total_tokens:
            used[model] = used.get(model, ModelUsage()) + usage
    if used:
        told = {model: usage.model_dump(exclude_none=True) for model, usage in used.items()}
        score.metadata = {**(score.metadata or {}), AFTER_RUN: told}
    return score


class Guard:
    """Checks a run before its first sample, and its judge and budget before each one.

    An early-stopping manager, because that is whom Inspect tells of the samples and
    epochs of a run, just before anything runs, and of each sample that is done.
    """

    def __init__(self, budget: float | None = None) -> None:
        if budget is not None and not (type(budget) in (int, float) and 0 < budget < math.inf):
            raise ClbenchError(f"budget={budget}: give US dollars, a number above 0.")
        self._budget = budget

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        check_start(samples, budget=self._budget)
        check_replay(task, samples, epochs)
        monitor = JudgeMonitor(self._budget)
        for judge in graders():
            if failure := await probe(judge):
                raise _unavailable(judge.name, str(failure))
            monitor.add_working(judge.name)
        _current.set(monitor)
        return "clbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        _current.get().check()
        if _current.get().stops():
            return EarlyStop(id=id, epoch=epoch, reason="the budget is spent")
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        _current.get().count(scores)

    async def complete_task(self) -> dict[str, JsonValue]:
        _current.get().check()
        _current.get().warn()
        return _current.get().spent


def _check_prices(models: Sequence[Model]) -> None:
    """A budget can be kept only where the price of every model is known."""
    infos = {str(model): get_model_info(model) for model in models}
    unknown = [name for name, info in infos.items() if info is None or info.cost is None]
    if unknown:
        raise ClbenchError(
            f"budget: no price is known for {', '.join(unknown)}, so what they cost cannot be "
            "counted. Give US dollars per million tokens in a file: --model-cost-config FILE, "
            f"with a line such as {unknown[0]}: {PRICE_EXAMPLE}"
        )


def _unavailable(judge: str, reason: str) -> ClbenchError:
    return ClbenchError(
        f"The judge cannot work: role {GRADER}, model {judge}. {reason}\n"
        "Nothing was scored as wrong because of it. Check the API key and the model's "
        f"name, or choose another judge with --model-role {GRADER}=provider/model; then "
        "start again, or go on with: inspect eval-retry LOG"
    )
