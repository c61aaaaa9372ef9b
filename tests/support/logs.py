"""`make_log`: finished logs of a plan, written without running anything.

For tests of what comes after the log. Scores, samples, metadata and metrics come from the
product's own functions; `tests/test_make_log.py` compares the logs with those of real evals.
Only what a run measures (times, events) is missing.
"""

import base64
import hashlib
import inspect
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal

from inspect_ai import Task
from inspect_ai._eval.task.log import resolve_eval_scorers
from inspect_ai.dataset import Sample
from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalResults,
    EvalSample,
    EvalSpec,
    EvalStats,
    recompute_metrics,
    write_eval_log,
)
from inspect_ai.model import (
    ChatMessage,
    GenerateConfig,
    ModelConfig,
    ModelOutput,
    ModelUsage,
)
from inspect_ai.scorer import Score
from inspect_ai.scorer._scorer import as_scorer_spec
from inspect_ai.util import EarlyStoppingSummary

from inspect_clbench import clbench, clbench_life, rubric_judge
from inspect_clbench.judge.asking import Judgement
from inspect_clbench.judge.prompt import graded_text, load_judge_prompt, numbered_rubrics
from inspect_clbench.judge.verdict import parse_verdict
from inspect_clbench.scoring.graders import with_usage
from inspect_clbench.scoring.scores import (
    Case,
    JudgeFailure,
    answer_reference,
    empty_answer_score,
    judged_score,
)
from tests.support.scripted import (
    ERROR,
    GARBLED,
    JUDGE_USAGE,
    STUDENT_USAGE,
    Plan,
    Says,
    answer_text,
    judge_reply,
    rows_file,
    runs_of,
)

MISSING = "missing"
"""An outcome beside those of `Plan`: the run was stopped before this sample."""

_TASKS = {"clbench": clbench, "clbench_life": clbench_life}
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
# Each log of a process is a minute later than the one before it, and has ids of its own.
_numbers = itertools.count(1)


def make_log(
    folder: Path,
    rows: Sequence[dict[str, Any]] | str,
    plan: Plan | None = None,
    *,
    task: Literal["clbench", "clbench_life"] = "clbench",
    provider: str = "mockllm",
    model: str = "student",
    judge: str | Sequence[str] = "judge",
    says: Says | None = None,
    again: Sequence[tuple[str, Plan]] = (),
    answers: Mapping[str, Sequence[str]] | None = None,
    task_args: Mapping[str, Any] | None = None,
    epochs: int = 1,
    limit: int | tuple[int, int] | None = None,
    sample_id: Sequence[str] | None = None,
    status: Literal["success", "cancelled", "error"] | None = None,
    score: bool = True,
    metrics: bool = True,
    name: str | None = None,
    **config: Any,
) -> EvalLog:
    """Write the log that `scripted_eval` gets for the same arguments, in milliseconds.

    Args:
        folder: Where the log is written, and beside it the file of rows.
        rows: The rows of the dataset, or the `dataset` argument of the task.
        plan: The outcomes; tasks that it does not name are solved.
        task: The benchmark.
        provider: The provider of the model and of its judges.
        model: The model under test.
        judge: One judge, or those of a panel.
        says: What judges say that do not go by the plan.
        again: Judges by which `inspect score` had the answers judged once more, and what
            they said; their scores are appended.
        answers: Task to the model's answer in each run, where it matters.
        task_args: Further arguments of the task, such as `contexts`.
        epochs: How many runs there are, if no plan says it.
        limit: As Inspect's `eval()` has it: the first samples, or a range of them.
        sample_id: The samples to run.
        status: How the run ended; if not given, as its samples have it.
        score: Whether the run was scored.
        metrics: Whether the header has the results.
        name: The file's name; one like Inspect's own if not given.
        config: Options of `GenerateConfig`, such as `reasoning_effort`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    dataset = rows if isinstance(rows, str) else rows_file(folder, rows)
    passed = {"dataset": dataset, **(task_args or {})}
    made = _TASKS[task](**passed)
    chosen = _chosen(list(made.dataset), limit, sample_id)
    runs = runs_of(plan) if plan else epochs
    solved = {str(sample.id): ["y" * len(_rubrics(sample))] * runs for sample in chosen}
    plan = {**solved, **(plan or {})}
    run = _Run(
        number=next(_numbers),
        plan=plan,
        model=f"{provider}/{model}",
        panel=[
            _Voice(f"{provider}/{name}", {**plan, **(says or {}).get(name, {})})
            for name in ([judge] if isinstance(judge, str) else judge)
        ],
        again=[_Voice(f"{provider}/{name}", said) for name, said in again],
        answers=answers or {},
        task_args={**_defaults(task), **passed},
    )
    samples = [
        run.sample(sample, epoch, scored=score)
        for epoch in range(1, runs + 1)
        for sample in chosen
        if plan[str(sample.id)][epoch - 1] != MISSING
    ]
    errors = sum(sample.error is not None for sample in samples)
    log = EvalLog(
        status=status or ("error" if errors else "success"),
        eval=_spec(run, task, provider, made, passed, chosen, _config(runs, limit, sample_id)),
        plan=_plan(made, config),
        stats=_stats(samples, run),
        samples=samples,
    )
    if metrics and errors < len(samples):
        log.results = EvalResults(
            total_samples=len(samples),
            completed_samples=len(samples) - errors,
            early_stopping=EarlyStoppingSummary(manager="clbench", early_stops=[], metadata={}),
        )
        if score:
            recompute_metrics(log)
    stamp = run.created.replace(":", "-")
    log.location = str(folder / (name or f"{stamp}_{task}_{log.eval.task_id}.eval"))
    write_eval_log(log, log.location)
    return log


@dataclass(frozen=True)
class _Voice:
    """A judge and what it says."""

    judge: str
    plan: Plan

    def judgement(self, sample: EvalSample) -> Judgement:
        said = self.plan[str(sample.id)][sample.epoch - 1]
        answer = graded_text(sample.output)
        verdict = parse_verdict(judge_reply(said), cut_off=False, answer=answer)
        # A judge without a verdict was asked three times.
        return Judgement(self.judge, verdict, 3 if said == GARBLED else 1)


@dataclass(frozen=True)
class _Run:
    """What the samples of a log have in common."""

    number: int
    plan: Plan
    model: str
    panel: Sequence[_Voice]
    again: Sequence[_Voice]
    answers: Mapping[str, Sequence[str]]
    task_args: Mapping[str, Any]

    @property
    def created(self) -> str:
        return (_FIRST + timedelta(minutes=self.number)).isoformat(timespec="seconds")

    def id(self, *names: object) -> str:
        """An id like Inspect's, the same for the same names in the same log."""
        text = "/".join(map(str, (self.number, *names)))
        return base64.b32encode(hashlib.sha256(text.encode()).digest())[:22].decode()

    def sample(self, source: Sample, epoch: int, *, scored: bool) -> EvalSample:
        task = str(source.id)
        assert not isinstance(source.input, str)
        messages: list[ChatMessage] = [
            message.model_copy(update={"id": self.id(task, "input", place), "source": "input"})
            for place, message in enumerate(source.input)
        ]
        sample = EvalSample(
            id=task,
            epoch=epoch,
            input=[message.model_copy(update={"source": None}) for message in messages],
            target="",
            metadata=source.metadata or {},
            messages=messages,
            output=ModelOutput(model=self.model, choices=[]),
            scores={},
            uuid=self.id(task, epoch),
            started_at=self.created,
            completed_at=self.created,
            total_time=1.0,
            working_time=1.0,
            error_retries=[],
            turn_count=0,
        )
        outcome = self.plan[task][epoch - 1]
        if outcome == ERROR:
            message = "RuntimeError('scripted failure')"
            sample.error = EvalError(message=message, traceback=message, traceback_ansi=message)
            return sample
        text = self.answers[task][epoch - 1] if task in self.answers else None
        self._answer(sample, answer_text(task, outcome) if text is None else text)
        if scored:
            self._score(sample)
        return sample

    def _answer(self, sample: EvalSample, text: str) -> None:
        output = ModelOutput.from_content(self.model, text)
        output.usage = STUDENT_USAGE
        output.message.id = self.id(sample.id, sample.epoch, "answer")
        output.message.source = "generate"
        output.message.model = self.model
        output.time = 1.0
        output.input_context_tokens = 140
        sample.output = output
        sample.messages.append(output.message)
        sample.model_usage = {self.model: STUDENT_USAGE}
        sample.turn_count = 1

    def _score(self, sample: EvalSample) -> None:
        judgements = [voice.judgement(sample) for voice in self.panel]
        failure = self.task_args["judge_failure"]
        sample.scores = {"rubric_judge": self._verdict(sample, judgements, failure)}
        for number, voice in enumerate(self.again, start=1):
            one = voice.judgement(sample)
            score = self._verdict(sample, [one], "zero")
            if sample.output.completion:
                used = sum([JUDGE_USAGE] * one.attempts, ModelUsage())
                score = with_usage(score, [replace(one, usage=used)])
            sample.scores[f"rubric_judge{number}"] = score
        if sample.output.completion:
            for one in judgements:
                for _ in range(one.attempts):
                    _add(sample.model_usage, one.judge, JUDGE_USAGE)
                    _add(sample.role_usage, "grader", JUDGE_USAGE)

    def _verdict(
        self, sample: EvalSample, judgements: Sequence[Judgement], failure: JudgeFailure
    ) -> Score:
        prompt = load_judge_prompt(str(self.task_args["judge_prompt"]))
        answered = bool(sample.output.completion)
        case = Case(
            epoch=sample.epoch,
            rubrics=numbered_rubrics(sample.metadata["rubrics"]),
            judge_prompt=prompt.name,
            judge_prompt_sha256=prompt.sha256,
            answer=answer_reference(sample.messages, sample.output),
            stop_reason=sample.output.stop_reason,
            judge_effort=", ".join("" for _ in judgements) if answered else "",
        )
        return judged_score(case, judgements, failure) if answered else empty_answer_score(case)


def _add(total: dict[str, ModelUsage], name: str, usage: ModelUsage) -> None:
    total[name] = total[name] + usage if name in total else usage


def _chosen(
    samples: Sequence[Sample],
    limit: int | tuple[int, int] | None,
    sample_id: Sequence[str] | None,
) -> list[Sample]:
    if sample_id is not None:
        return [sample for sample in samples if sample.id in sample_id]
    if isinstance(limit, tuple):
        return list(samples[slice(*limit)])
    return list(samples[:limit])


def _rubrics(sample: Sample) -> list[str]:
    return list((sample.metadata or {})["rubrics"])


def _defaults(task: str) -> dict[str, Any]:
    parameters = inspect.signature(_TASKS[task]).parameters.values()
    return {parameter.name: parameter.default for parameter in parameters}


def _spec(
    run: _Run,
    task: str,
    provider: str,
    made: Task,
    passed: Mapping[str, Any],
    chosen: Sequence[Sample],
    config: EvalConfig,
) -> EvalSpec:
    registered = f"inspect_clbench/{task}"
    args: dict[str, Any] = {"custom_outputs": None} if provider == "mockllm" else {}
    scorers = [*(made.scorer or []), *(rubric_judge() for _ in run.again)]
    roles = [ModelConfig(model=voice.judge, args=args) for voice in run.panel]
    return EvalSpec(
        eval_id=run.id("eval"),
        run_id=run.id("run"),
        task_id=run.id("task"),
        created=run.created,
        task=registered,
        task_version=made.version,
        task_display_name=task,
        task_registry_name=registered,
        task_args=dict(run.task_args),
        task_args_passed=dict(passed),
        solver_args_passed={},
        dataset=EvalDataset(
            name=made.dataset.name,
            location=made.dataset.location,
            samples=len(made.dataset),
            sample_ids=[str(sample.id) for sample in chosen],
            shuffled=False,
        ),
        model=run.model,
        model_args=args,
        model_roles={"grader": roles if len(roles) > 1 else roles[0]},
        config=config,
        packages={name: version(name) for name in ("inspect_ai", "inspect-clbench")},
        metadata=made.metadata,
        viewer=made.viewer,
        scorers=resolve_eval_scorers([as_scorer_spec(one) for one in scorers]),
        headline_metric=made.headline_metric,
    )


def _config(
    epochs: int, limit: int | tuple[int, int] | None, sample_id: Sequence[str] | None
) -> EvalConfig:
    return EvalConfig(
        epochs=epochs,
        limit=limit,
        sample_id=list(sample_id) if sample_id is not None else None,
        fail_on_error=True,
        continue_on_fail=True,
        score_on_error=False,
        max_samples=1,
        sandbox_cleanup=True,
        sandbox_prebuilt=False,
        log_samples=True,
        log_realtime=True,
        log_images=True,
        score_display=True,
    )


GENERATE = {"tool_calls": "none"}


def _plan(made: Task, config: Mapping[str, Any]) -> EvalPlan:
    step = EvalPlanStep(solver="generate", params=GENERATE, params_passed=GENERATE)
    return EvalPlan(
        steps=[step], config=made.config.merge(GenerateConfig(**{"max_retries": 1, **config}))
    )


def _stats(samples: Sequence[EvalSample], run: _Run) -> EvalStats:
    # Each judge was asked before the run whether it is ready, which scripted ones do for nothing.
    models = {voice.judge: ModelUsage() for voice in run.panel}
    roles = {"grader": ModelUsage()}
    for sample in samples:
        for total, part in ((models, sample.model_usage), (roles, sample.role_usage)):
            for name, usage in part.items():
                _add(total, name, usage)
    return EvalStats(
        started_at=run.created,
        completed_at=run.created,
        model_usage=models,
        role_usage=roles,
    )
