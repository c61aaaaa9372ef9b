"""One record per answer and judge, read from the summaries of logs.

All of the analysis works on these records. What a log's metadata holds is checked here,
where it comes in, so that a damaged value cannot surprise the arithmetic.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

from inspect_ai.log import EvalSample
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, Score
from pydantic import AliasChoices, BaseModel, BeforeValidator, Field, ValidationError

from inspect_clbench.benchmarks import EXAM, EXAM_VERDICT, RUBRIC_JUDGE, VERDICT_SCORERS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.files import Log, Paths, find_logs, read_summaries
from inspect_clbench.logs.summaries import ScoreSummary, Summary
from inspect_clbench.metrics.error_types import Labelled, State, labelled, within_draw
from inspect_clbench.metrics.solving import weight_in
from inspect_clbench.progress import progress
from inspect_clbench.text import counted, shortened

if TYPE_CHECKING:
    import pandas as pd

ERROR_TYPES_SCORER = "error_types"
VERDICT_BY = "verdict_by_"
ERROR_TYPES_BY = "error_types_by_"
"""What the names of scores begin with that people gave; the person's name follows."""

AUDITED = f"{RUBRIC_JUDGE}_"
"""What the names of scores begin with that `clbench audit` had the judge give."""

BY_HAND = "by hand"
"""The judge's prompt of such a score."""

# Those of the judge exam say whether a verdict is right: it is solved if so.
_SCORERS = (*VERDICT_SCORERS, EXAM_VERDICT)

Outcome = Literal["solved", "failed", "unscored", "errored"]

_OUTCOMES: dict[State, Outcome] = {
    "solved": "solved",
    "no_verdict": "unscored",
    "not_run": "errored",
}
_NOT_RUN = Labelled(run=0, state="not_run")


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer to a task, and what one judge, or panel of judges, made of it."""

    log: Log
    task_id: str
    epoch: int
    run: int
    """The epoch, counted on through all logs of a series."""

    uuid: str
    context_id: str
    category: str
    sub_category: str
    turns: int
    prompt_chars: int
    scorer: str
    """The name of the score in the log."""

    outcome: Outcome
    reason: str
    """Inspect's reason of the score: `grader_failed`, `no_response` or empty."""

    judge: str
    judge_prompt: str
    judge_prompt_sha256: str
    judge_effort: str
    rubrics_met: int | None
    rubrics_total: int
    status: str
    """A letter per rubric: y, n, or ? for neither."""

    inconsistent: bool
    votes: tuple[dict[str, Any], ...]
    """The verdicts of the judges of a panel."""

    votes_cut: bool
    """Whether the votes were too long for the summary; the sample has them."""

    weight: float = 1.0
    """For how many tasks of the benchmark it stands: more than one in a draw."""

    label: Labelled = _NOT_RUN
    """The error types, for answers read by `read_labels`."""

    fingerprint: str = ""
    """Of the row's messages and rubrics; empty in logs that do not hold one."""

    missed: tuple[int, ...] = ()
    """Of a case of the judge exam, the numbers of the rubrics that are truly missed."""

    @property
    def solved(self) -> bool:
        return self.outcome == "solved"

    @property
    def scored(self) -> bool:
        return self.outcome in ("solved", "failed")


Reader = Callable[[Log], list[Answer]]


def read_answers(
    log: Log, *, summaries: Sequence[Summary] = (), people: bool = False
) -> list[Answer]:
    """The answers of a log; several records per sample where judges were appended.

    Args:
        log: The log.
        summaries: Those of its samples, if they have been read.
        people: Whether to add the verdicts of people, and those of an audit. They are of
            some answers only, so that no rate can be made of them.
    """
    summaries = summaries or read_summaries(log)
    names = score_names(log, summaries)
    usual = EXAM_VERDICT if log.benchmark is EXAM else RUBRIC_JUDGE
    if not names and any(s.error is None and s.completed for s in summaries):
        raise ClbenchError(
            f"{log}: its answers have no score of {usual}. Have them judged: inspect "
            f"score {log} --scorer inspect_clbench/{usual} --action append --overwrite"
        )
    return [
        answer_of(log, summary, name, (summary.scores or {}).get(name))
        for summary in summaries
        for name in (*(names or [usual]), *(people_names(summary) if people else ()))
    ]


def read_labels(
    log: Log, *, summaries: Sequence[Summary] = (), people: bool = False
) -> list[Answer]:
    """The answers of a log with the error types of each; none if it was never labelled."""
    summaries = summaries or read_summaries(log)
    answers = []
    names = score_names(log, summaries, (ERROR_TYPES_SCORER,))
    if people:
        by_hand = (people_names(summary, ERROR_TYPES_BY) for summary in summaries)
        names += dict.fromkeys(name for some in by_hand for name in some)
    for name in names:
        scores = [(summary.scores or {}).get(name) for summary in summaries]
        labels = within_draw(
            [
                labelled(score.value, score.metadata, summary.epoch) if score else _NOT_RUN
                for summary, score in zip(summaries, scores, strict=True)
            ]
        )
        for summary, score, label in zip(summaries, scores, labels, strict=True):
            outcome = _OUTCOMES.get(label.state, "failed")
            answer = answer_of(log, summary, name, score, outcome=outcome)
            # The reason is that of the labelling, which is no verdict.
            answers.append(replace(answer, reason="", label=label))
    return answers


def read_many(logs: Sequence[Log], read: Reader = read_answers) -> Iterator[list[Answer]]:
    """The answers of each log, several logs at a time."""
    with (
        progress("Reading samples", sum(log.samples for log in logs)) as advance,
        ThreadPoolExecutor(max_workers=min(4, os.cpu_count() or 1)) as pool,
    ):
        for log, answers in zip(logs, pool.map(read, logs), strict=True):
            advance(log.samples)
            yield answers


def check_same_rows(answers: Iterable[Answer]) -> dict[str, Answer]:
    """An answer to each task; an error if some task has other messages or rubrics elsewhere."""
    first: dict[str, Answer] = {}
    differing: dict[str, Answer] = {}
    for answer in answers:
        known = first.setdefault(answer.task_id, answer) if answer.fingerprint else answer
        if known.fingerprint != answer.fingerprint:
            differing.setdefault(answer.task_id, answer)
    for task, answer in differing.items():
        raise ClbenchError(
            f"{first[task].log} and {answer.log}: {counted(len(differing), 'task')} with other "
            f"messages or rubrics in one than in the other (for instance {task}), so that their "
            "answers cannot be put together or compared. Name the logs of one version of the "
            "dataset."
        )
    return first


def answers_df(logs: Paths) -> "pd.DataFrame":
    """The answers of logs as a data frame: a row per sample, epoch and judge.

    Args:
        logs: Log files, folders or URLs.
    """
    import pandas as pd

    rows = []
    for answers in read_many(find_logs(logs)):
        for answer in answers:
            row = {
                "eval_id": answer.log.eval_id,
                "log": str(answer.log),
                "model": answer.log.model,
                "effort": answer.log.effort,
                "dataset": answer.log.dataset_name,
                "id": answer.task_id,
                **{name: getattr(answer, name) for name in _FRAME},
                "solved": answer.solved if answer.scored else None,
            }
            rows.append(row)
    return pd.DataFrame(rows)


_FRAME = (
    "epoch", "uuid", "context_id", "category", "sub_category", "turns", "prompt_chars",
    "scorer", "outcome", "reason", "judge", "judge_prompt", "judge_prompt_sha256",
    "judge_effort", "rubrics_met", "rubrics_total", "status", "inconsistent", "weight",
)  # fmt: skip


def score_names(
    log: Log, samples: Iterable[Summary | EvalSample], scorers: Sequence[str] = _SCORERS
) -> list[str]:
    """The names under which samples have scores of some scorers, those of the header first.

    A run that ended in an error has no results in its header. And where some samples
    ended in errors, Inspect names a scorer that was appended wrongly there.
    """
    results = log.header.results
    names = [score.name for score in results.scores] if results else []
    names += [name for sample in samples for name in sample.scores or ()]
    return [name for name in dict.fromkeys(names) if _is_of(name, scorers)]


def people_names(
    sample: Summary | EvalSample, prefix: str | tuple[str, ...] = (VERDICT_BY, AUDITED)
) -> list[str]:
    """The names of the scores that people, or judges in an audit, gave a sample."""
    names = [name for name in sample.scores or () if name.startswith(prefix)]
    return [name for name in names if not _is_of(name, VERDICT_SCORERS)]


def _is_of(name: str, scorers: Sequence[str]) -> bool:
    """Whether a score is one of these scorers', `rubric_judge-1` of `inspect score` included."""
    return name.rstrip("0123456789").rstrip("-_") in scorers


def answer_of(
    log: Log,
    sample: Summary | EvalSample,
    scorer: str,
    score: ScoreSummary | Score | None,
    *,
    outcome: Outcome | None = None,
) -> Answer:
    """What one score of a sample says; the outcome is read from its value if not given."""
    where = f"{log}: task {sample.id}, epoch {sample.epoch}"
    of_sample = checked(_OfSample, sample.metadata, f"{where}, metadata")
    of_score = checked(
        _OfScore, (score.metadata if score else None) or {}, f"{where}, {scorer}"
    )
    fields = dict(of_score)
    votes = fields.pop("votes")
    return Answer(
        log=log,
        task_id=str(sample.id),
        epoch=sample.epoch,
        run=sample.epoch,
        uuid=sample.uuid or "",
        context_id=of_sample.context_id or str(sample.id),
        category=of_sample.context_category,
        sub_category=of_sample.sub_category,
        turns=of_sample.turns,
        prompt_chars=of_sample.prompt_chars,
        fingerprint=of_sample.fingerprint,
        missed=tuple(of_sample.missed),
        scorer=scorer,
        outcome=outcome
        or (outcome_of(score.value, f"{where}, {scorer}") if score else "errored"),
        reason=(score.reason or "") if score else "",
        **fields,
        votes=tuple(votes) if isinstance(votes, list) else (),
        votes_cut=isinstance(votes, str),
        # Logs of a draw that do not say the weights say how they were drawn.
        weight=weight_in(sample.metadata, log.weights.get(of_sample.context_category, 1.0)),
    )


_Text = Annotated[str, BeforeValidator(lambda value: "" if value is None else value)]
_Count = Annotated[int, Field(ge=0, le=10**12)]


class _OfSample(BaseModel, coerce_numbers_to_str=True):
    """What is read of a sample's metadata; some keys have other names in the judge exam."""

    context_id: _Text = ""
    context_category: _Text = Field(
        "", validation_alias=AliasChoices("context_category", "family")
    )
    sub_category: _Text = Field("", validation_alias=AliasChoices("sub_category", "kind"))
    missed: list[int] = []
    turns: _Count = 1
    prompt_chars: _Count = 0
    fingerprint: _Text = ""


class _OfScore(BaseModel, coerce_numbers_to_str=True):
    """What is read of a score's metadata: votes, and fields of an answer."""

    judge: _Text = ""
    judge_prompt: _Text = ""
    judge_prompt_sha256: _Text = ""
    judge_effort: _Text = ""
    rubrics_met: _Count | None = None
    rubrics_total: _Count = 0
    status: _Text = ""
    inconsistent: bool = False
    votes: list[dict[str, Any]] | str | None = None


_M = TypeVar("_M", bound=BaseModel)


def checked(kind: type[_M], metadata: Any, where: str) -> _M:
    """What a log's metadata say; an error that names the place if they are of other types."""
    try:
        return kind.model_validate(metadata)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        place = ".".join(map(str, error["loc"][:1]))
        found = shortened(repr(error["input"]), 60)
        raise ClbenchError(
            f"{where}: {place} is {found} ({error['msg']}). The log is damaged, or other "
            "software wrote it."
        ) from None


def outcome_of(value: Any, where: str) -> Outcome:
    """What the value of a verdict's score means, those of other writers included."""
    # A float and a bool equal their number, and nothing else does.
    known = value if isinstance(value, str | int | float) else None
    found = _VALUES.get(known)
    if found is None:
        raise ClbenchError(
            f"{where}: the score is {shortened(repr(value), 60)}, which is no verdict. A score "
            "is C, I or N, or 1 or 0. Have the answers judged again, or correct the score."
        )
    return found


_VALUES: dict[Any, Outcome] = {
    CORRECT: "solved", "CORRECT": "solved", 1: "solved",
    INCORRECT: "failed", "INCORRECT": "failed", 0: "failed",
    NOANSWER: "unscored", "NOANSWER": "unscored",
}  # fmt: skip
