"""`make_log`: finished logs of a plan, written without running anything.

For tests of what comes after the log. No code of the product takes part, so that a mistake there
shows; `tests/results/test_logs.py` compares a log with that of a real eval of the same plan.
Only what a run measures (times, events) and long texts of the viewer are missing.
"""

import hashlib
import itertools
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal, NamedTuple

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalPlan,
    EvalPlanStep,
    EvalSample,
    EvalSpec,
    EvalStats,
    write_eval_log,
)
from inspect_ai.model import GenerateConfig, ModelConfig, ModelOutput, ModelUsage
from inspect_ai.scorer import Score

from tests.support.scripted import (
    ERROR,
    GARBLED,
    JUDGE_USAGE,
    STUDENT_USAGE,
    Plan,
    Says,
    answer_text,
    runs_of,
)

MISSING = "missing"
"""An outcome beside those of `Plan`: the run was stopped before this sample."""

CUT = "~"
"""After the letters of an outcome: the answer ended at the length limit."""

_ADDED_BY_VERSION_2 = ("stop_reason", "task_version", "answer_usage", "cost")
_FIRST = datetime(2026, 1, 1, tzinfo=UTC)
# Each log of a process is a minute later than the one before it, and has ids of its own.
_numbers = itertools.count(1)


def make_log(
    folder: Path,
    rows: Sequence[dict[str, Any]],
    plan: Plan | None = None,
    *,
    model: str = "mockllm/student",
    judge: str | Sequence[str] = "mockllm/judge",
    says: Says | None = None,
    again: Sequence[tuple[str, Plan]] = (),
    error_types: Plan | None = None,
    epochs: int = 1,
    answers: Mapping[str, Sequence[str]] | None = None,
    cost: float | None = None,
    status: Literal["started", "success", "cancelled", "error"] | None = None,
    scored: bool = True,
    scorer: str = "rubric_judge",
    task: str = "inspect_clbench/clbench",
    dataset: str = "CL-bench",
    metadata: Mapping[str, Any] | None = None,
    solver: str | None = None,
    sample_ids: Sequence[str] | None = None,
    prompt: str = "builtin",
    effort: str = "",
    version: int = 2,
    created: str | None = None,
    task_id: str | None = None,
    name: str | None = None,
    format: Literal["eval", "json"] = "eval",
    **config: Any,
) -> str:
    """Write a log in milliseconds and return its path.

    Args:
        rows: The rows of the dataset, as `builders.row` makes them.
        plan: The outcomes by task and epoch; tasks that it does not name are solved.
        says: What judges of a panel say that do not go by the plan.
        again: Judges that were appended to the log, and what they say; answers that their plan
            does not name are outside their share and have no score.
        error_types: The values of the scorer `error_types`; without a score where none is named.
        epochs: How many runs there are, if no plan says it.
        answers: Task to the model's answer in each run, where it matters.
        status: How the run ended; if not given, as its samples have it.
        metadata: Of the log, such as `draw`, `model_name` or `imported_sha256`.
        sample_ids: The ids that were planned, if they are more than those of the rows.
        prompt: The name of the judge's prompt, which stands for its text.
        version: Of the task; 1 is how version 0.2.0 of the package wrote.
        task_id: Of the run that a retry goes on with.
        config: Options of `GenerateConfig`, such as `reasoning_effort`.
    """
    number = next(_numbers)
    runs = runs_of(plan) if plan else epochs
    plan, says, answers, error_types = plan or {}, says or {}, answers or {}, error_types or {}
    created = created or (_FIRST + timedelta(minutes=number)).isoformat(timespec="seconds")
    scoring = _Scoring(prompt, effort, version, model, cost)
    panel = [judge] if isinstance(judge, str) else list(judge)
    samples = []
    for epoch, row in itertools.product(range(1, runs + 1), rows):
        id = row["metadata"]["task_id"]
        outcome = plan.get(id, ["y" * len(row["rubrics"])] * runs)[epoch - 1]
        if outcome == MISSING:
            continue
        sample = _sample(row, epoch, number, model, created)
        samples.append(sample)
        if outcome == ERROR:
            message = "RuntimeError('scripted failure')"
            sample.error = EvalError(message=message, traceback=message, traceback_ansi=message)
            continue
        text = answers[id][epoch - 1] if id in answers else answer_text(id, outcome.rstrip(CUT))
        _answer(sample, model, text, "max_tokens" if outcome.endswith(CUT) else "stop")
        if not scored:
            continue
        words = [says.get(member, {}).get(id, [outcome] * runs)[epoch - 1] for member in panel]
        sample.scores = {scorer: scoring.score(sample, panel, words)}
        for place, (member, opinions) in enumerate(again, start=1):
            if (opinion := opinions.get(id, [MISSING] * runs)[epoch - 1]) != MISSING:
                share = {} if len(opinions) == len(rows) else {"share": 0.5}
                sample.scores[f"{scorer}{place}"] = scoring.score(sample, [member], [opinion], **share)
        if text:
            judging = {member: _tokens(word) for member, word in zip(panel, words, strict=True)}
            sample.model_usage |= judging
        if id in error_types:
            labelling = {"epoch": epoch, "judge": panel[0], "judge_usage": {panel[0]: _usage("")}}
            sample.scores["error_types"] = Score(value=error_types[id][epoch - 1], metadata=labelling)
    errors = sum(sample.error is not None for sample in samples)
    planned = list(sample_ids or [row["metadata"]["task_id"] for row in rows])
    log = EvalLog(
        status=status or ("error" if errors else "success"),
        eval=EvalSpec(
            eval_id=_id(number, "eval"),
            run_id=_id(number, "run"),
            task_id=task_id or _id(number, "task"),
            created=created,
            task=task,
            task_version=version,
            scorers=[{"name": scorer}] if scored else None,
            dataset=EvalDataset(name=dataset, samples=len(planned), sample_ids=planned, shuffled=False),
            solver=solver,
            model=model,
            model_roles={"grader": [ModelConfig(model=member) for member in panel]},
            config=EvalConfig(epochs=runs),
            metadata=dict(metadata or {}),
        ),
        plan=EvalPlan(
            steps=[EvalPlanStep(solver=solver or "generate")], config=GenerateConfig(max_retries=9, **config)
        ),
        stats=EvalStats(started_at=created, completed_at=created),
        samples=samples,
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = str(folder / (name or f"{created.replace(':', '-')}_clbench_{log.eval.task_id}.{format}"))
    write_eval_log(log, path)
    return path


class _Scoring(NamedTuple):
    """How the answers of a log are judged."""

    prompt: str
    effort: str
    version: int
    model: str
    cost: float | None

    def score(
        self, sample: EvalSample, judges: Sequence[str], outcomes: Sequence[str], **share: float
    ) -> Score:
        total = len(sample.metadata["rubrics"])
        metadata: dict[str, Any] = {
            "epoch": sample.epoch,
            "judge": ", ".join(judges),
            "judge_effort": ", ".join([self.effort] * len(judges)) if self.effort or self.version < 2 else "",
            "judge_prompt": self.prompt,
            "judge_prompt_sha256": _digest(self.prompt),
            "judge_error": "",
            "rubrics_total": total,
            "inconsistent": False,
            "stop_reason": sample.output.stop_reason,
            "task_version": self.version,
            "answer_usage": {self.model: STUDENT_USAGE.model_dump(exclude_none=True)},
            "cost": self.cost,
            **share,
        }
        if self.version < 2:
            metadata = {key: value for key, value in metadata.items() if key not in _ADDED_BY_VERSION_2}
        if not sample.output.completion:
            metadata |= {"judge_attempts": 0, "rubrics_met": 0, "status": "n" * total, "judge_usage": {}}
            if self.version < 2:
                metadata["judge"] = ""
            return Score(value="I", reason="no_response", metadata=metadata)
        votes = [_vote(outcome.rstrip(CUT)) for outcome in outcomes]
        yes, failed = (sum(vote["solved"] is value for vote in votes) for value in (True, None))
        solved = 2 * yes > len(votes)
        undecided = not solved and 2 * (yes + failed) > len(votes)
        lists = [vote["status"] for vote in votes if len(vote["status"]) == total]
        letters = ["y" if 2 * column.count("y") > len(lists) else "n" for column in zip(*lists, strict=True)]
        status = lists[0] if len(lists) == 1 else "".join(letters)
        metadata |= {
            "judge_attempts": 3 if GARBLED in outcomes else 1,
            "judge_error": "no_verdict" if failed else "",
            "rubrics_met": status.count("y") if status else total if solved else None,
            "status": status,
            "inconsistent": any(outcome.endswith("!") for outcome in outcomes),
            "judge_usage": dict(zip(judges, map(_usage, outcomes), strict=True)),
            "rationales": ["" if outcome == GARBLED else "Checked line by line." for outcome in outcomes],
        }
        if len(votes) > 1:
            names = [{"judge": judge} if self.version < 2 else {} for judge in judges]
            metadata["votes"] = [name | vote for name, vote in zip(names, votes, strict=True)]
        reason = "grader_failed" if undecided else None
        return Score(value="C" if solved else "I", reason=reason, metadata=metadata)


def _vote(outcome: str) -> dict[str, Any]:
    if outcome == GARBLED:
        return {"solved": None, "status": ""}
    letters = outcome.rstrip("!")
    solved = (set(letters) == {"y"}) != outcome.endswith("!")
    return {"solved": solved, "status": letters.strip("-")}


def _tokens(outcome: str) -> ModelUsage:
    return sum([JUDGE_USAGE] * (3 if outcome == GARBLED else 1), ModelUsage())


def _usage(outcome: str) -> dict[str, Any]:
    return _tokens(outcome).model_dump(exclude_none=True)


def _sample(row: Mapping[str, Any], epoch: int, number: int, model: str, created: str) -> EvalSample:
    fields = {key: value for key, value in row["metadata"].items() if key != "task_id"}
    id = row["metadata"]["task_id"]
    messages = [message | {"id": _id(number, id, place)} for place, message in enumerate(row["messages"])]
    return EvalSample(
        id=id,
        epoch=epoch,
        input=messages,
        target="",
        metadata={
            "context_id": None,
            **fields,
            "prompt_chars": sum(len(message["content"]) for message in messages),
            "fingerprint": _digest(json.dumps([row["messages"], row["rubrics"]]))[:16],
            "rubrics": row["rubrics"],
        },
        messages=messages,
        output=ModelOutput(model=model, choices=[]),
        scores={},
        uuid=_id(number, id, epoch),
        started_at=created,
        completed_at=created,
    )


def _answer(sample: EvalSample, model: str, text: str, stop_reason: Literal["stop", "max_tokens"]) -> None:
    sample.output = ModelOutput.from_content(model, text, stop_reason=stop_reason)
    sample.output.usage = STUDENT_USAGE
    sample.output.message.id = f"{sample.uuid}-answer"
    sample.messages.append(sample.output.message)
    sample.model_usage = {model: STUDENT_USAGE}


def _id(*names: object) -> str:
    """An id like Inspect's, the same for the same names."""
    return _digest("/".join(map(str, names)))[:22]


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
