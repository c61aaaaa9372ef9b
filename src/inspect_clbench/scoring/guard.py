"""The guard of a run: its judge must work, its budget must hold.

Otherwise a refused key or a misspelt model would be noticed only after all answers are paid
for, and its failures would pass for wrong answers.
"""

import math
import os
from collections.abc import Mapping
from logging import getLogger
from pathlib import Path
from typing import Any

import yaml
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.model import Model, ModelCost, get_model, get_model_info, model_roles, set_model_cost
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from inspect_clbench.benchmarks import DEFAULT_JUDGE, GRADER, VERDICT_SCORERS, Benchmark
from inspect_clbench.errors import ClbenchError, message_of
from inspect_clbench.judge.asking import bound_judges, probe
from inspect_clbench.replay import check_replay
from inspect_clbench.text import one_line

logger = getLogger(__name__)

# So many permanent failures in a row, without a verdict between them, and the judge counts as
# gone. One may be a provider's answer to one odd row.
REFUSALS_TO_STOP = 5

# A judge that has given no verdict by then would be paid three times a row for nothing.
ROWS_WITHOUT_VERDICT_TO_STOP = 10

# Where Inspect looks for --model-cost-config. `eval-set` does so after it has built its tasks, and
# `eval-retry`, which has no such option, not at all.
_PRICES_VARIABLE = "INSPECT_EVAL_MODEL_COST_CONFIG"

# Names that users and other benchmarks give to the role of the judge, in the singular.
_WORDS_FOR_JUDGE = {"judge", "scorer", "grader", "evaluator", "rater", "assessor"}


class Guard:
    """Checks the judge before the first sample, and judge and budget after each one.

    An early-stopping manager, because that is whom Inspect tells of the samples of a run. What
    it must know of a sample stands in the metadata of its scores.
    """

    def __init__(self, benchmark: Benchmark, budget: float | None = None) -> None:
        if budget is not None and not (type(budget) in (int, float) and 0 < budget < math.inf):
            raise ClbenchError(f"budget={budget}: give US dollars, a number above 0.")
        self.benchmark = benchmark
        self.budget = budget
        self._start()

    def _start(self) -> None:
        self.started: set[tuple[str | int, int]] = set()
        self.spent = 0.0
        self.judged = self.verdicts = self.refusals_in_a_row = 0
        self.rows = self.rows_without_verdict = self.not_started = 0

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        """Check what the run needs, and ask each judge once before any answer is paid for."""
        self._start()  # a task can be run more than once
        check_replay(task, epochs)
        check_models(self.benchmark, self.budget)
        for judge in bound_judges(self.benchmark.judge_effort):
            if failure := await probe(judge):
                raise _unusable_judge(str(judge), str(failure))
        return "clbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        """Let a sample start unless the budget is spent."""
        if self.budget is not None and self.spent >= self.budget:
            self.not_started += 1
            return EarlyStop(id=id, epoch=epoch, reason="the budget is spent")
        self.started.add((id, epoch))
        return None

    async def complete_sample(self, id: str | int, epoch: int, scores: dict[str, SampleScore]) -> None:
        """Count what a sample cost and whether it has a verdict."""
        verdict_scores = [scores[name].score for name in scores if name.startswith(VERDICT_SCORERS)]
        self.rows += 1
        self.rows_without_verdict += any(score.reason == "grader_failed" for score in verdict_scores)
        if (id, epoch) not in self.started:
            return  # taken over from the log that this run retries: paid for and judged before
        # A scorer writes down what the sample has cost when it is done; the last one says it all.
        costs = [(score.score.metadata or {}).get("cost") for score in scores.values()]
        self.spent += max((cost for cost in costs if isinstance(cost, int | float)), default=0.0)
        for score in verdict_scores:
            self._note_judge(score.metadata or {}, score.reason == "grader_failed")

    def _note_judge(self, metadata: Mapping[str, Any], is_failure: bool) -> None:
        if not metadata.get("judge_attempts"):
            return  # of an empty answer it was not asked
        self.judged += 1
        self.verdicts += not is_failure
        self.refusals_in_a_row = self.refusals_in_a_row + 1 if metadata.get("judge_refused") else 0
        is_gone = self.refusals_in_a_row >= REFUSALS_TO_STOP
        is_useless = not self.verdicts and self.judged >= ROWS_WITHOUT_VERDICT_TO_STOP
        if is_gone or is_useless:
            rows = self.refusals_in_a_row if is_gone else self.judged
            problem = f"{metadata.get('judge_error')} ({rows} rows in a row)"
            raise _unusable_judge(str(metadata.get("judge")), problem, then=_AFTER_A_STOP)

    async def complete_task(self) -> dict[str, JsonValue]:
        """Say what is missing, and what mends it."""
        if self.rows_without_verdict:
            logger.warning(
                "JUDGE FAILURES: %d of %d rows have no verdict and count as not solved; judge_error in their "
                "scores says why. To ask again for these rows only: clbench regrade LOG",
                self.rows_without_verdict,
                self.rows,
            )
        if self.budget is None:
            return {}
        if self.not_started:
            logger.warning(
                "BUDGET: $%.2f of $%.2f are spent, %d samples were not started. To go on with the same sum "
                "anew: inspect eval-retry LOG",
                self.spent,
                self.budget,
                self.not_started,
            )
        return {"budget_usd": self.budget, "spent_usd": round(self.spent, 4)}


def check_models(benchmark: Benchmark, budget: float | None) -> None:
    """Refuse a run whose judge cannot be built, or whose budget cannot be kept for lack of prices.

    While Inspect builds a task from its name, model and roles are bound: what is wrong then
    ends the command in one message. Python code may build a task before; then the run does it.
    """
    if not _is_model_bound():
        return
    roles = model_roles()
    for role in roles:
        if GRADER not in roles and role.lower().removesuffix("s") in _WORDS_FOR_JUDGE:
            raise ClbenchError(
                f"Nothing asks for the model role {role}: the judge's role is called {GRADER}. Use --model-role "
                f"{GRADER}=provider/model"
            )
    try:
        judges = bound_judges(benchmark.judge_effort)
    except Exception as ex:
        raise _unusable_judge(DEFAULT_JUDGE, message_of(ex)) from None
    if budget is not None:
        _read_prices()
        _check_prices([get_model(), *judges, *_models(roles)])


def _is_model_bound() -> bool:
    """Whether Inspect is at work: then it hands out the run's model, where it would else build a new one."""
    try:
        return get_model(memoize=False) is get_model(memoize=False)
    except Exception:  # no model is named at all, or the one in the environment cannot be built
        return False


def _models(roles: Mapping[str, Model | list[Model]]) -> list[Model]:
    return [model for bound in roles.values() for model in (bound if isinstance(bound, list) else [bound])]


def _read_prices() -> None:
    if path := os.environ.get(_PRICES_VARIABLE):
        try:
            for model, cost in yaml.safe_load(Path(path).read_text("utf-8")).items():
                set_model_cost(model, ModelCost(**cost))
        except Exception as ex:  # of a file, of YAML, or of a model that Inspect does not know
            raise ClbenchError(f"{_PRICES_VARIABLE}={path}: no prices can be read ({ex}).") from None


def _check_prices(models: list[Model]) -> None:
    for model in models:
        if str(model).startswith("none/"):
            continue  # replayed answers cost nothing
        info = get_model_info(model)
        if info is None or info.cost is None:
            raise ClbenchError(
                f"budget: no price is known for {model}. Give US dollars per million tokens in a file, "
                f"and its path as {_PRICES_VARIABLE}, with a line such as {model}: "
                "{input: 1.25, output: 10, input_cache_write: 1.25, input_cache_read: 0.125}"
            )


_AFTER_A_STOP = (
    " Then go on with: inspect eval-retry LOG. For the rows that have no verdict by now: clbench regrade LOG"
)


def _unusable_judge(judge: str, problem: str, then: str = "") -> ClbenchError:
    return ClbenchError(
        f"The judge cannot work: role {GRADER}, model {judge}. {one_line(problem)} Check the API key and the "
        f"model's name, or choose another judge with --model-role {GRADER}=provider/model.{then}"
    )
