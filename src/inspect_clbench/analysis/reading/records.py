"""The only reader of logs: one record per sample, run and judge, streamed from summaries."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    read_eval_log,
    read_eval_log_sample,
    read_eval_log_samples_by_id,
)
from inspect_ai.scorer import CORRECT, NOANSWER, Score

from inspect_clbench.analysis.reading.logs import Log, find_logs, read_summaries, readable, why
from inspect_clbench.errors import ClbenchError

__all__ = [
    "SCORER",
    "Log",
    "Outcome",
    "Record",
    "find_logs",
    "names_in",
    "read_first",
    "read_record",
    "read_records",
    "read_sample",
    "read_samples",
    "read_task",
    "readable",
]

SCORER = "rubric_judge"
_HANDFUL = 32

Outcome = Literal["solved", "failed", "unscored", "errored"]


@dataclass(frozen=True, slots=True)
class Record:
    """One answer and what one judge, or panel, made of it."""

    task_id: str
    run: int
    context_id: str
    category: str
    sub_category: str
    turns: int
    prompt_chars: int
    outcome: Outcome
    reason: str
    scorer: str
    judge: str
    judge_prompt: str
    rubrics_met: int | None
    rubrics_total: int
    status: str
    inconsistent: bool
    votes: tuple[dict[str, Any], ...]
    uuid: str
    judge_prompt_sha256: str = ""
    judge_effort: str = ""
    votes_cut: bool = False
    """Whether a panel's votes were too long for the summary: the sample has them."""

    @property
    def solved(self) -> bool:
        return self.outcome == "solved"


def read_records(log: Log, scorer: str = SCORER) -> Iterator[Record]:
    """The records of a log; several per sample where judges were appended.

    Args:
        log: The log.
        scorer: Scores whose name starts so, numbered ones of `inspect score` included.
    """
    summaries = read_summaries(log)
    names = names_in(log, summaries, scorer)
    if not names and any(_is_unjudged(summary) for summary in summaries):
        raise ClbenchError(
            f"{log}: its answers have no score of {scorer}. Have them judged: "
            f"inspect score {log} --scorer inspect_clbench/{scorer} --action append --overwrite"
        )
    for summary in summaries:
        scores = summary.scores or {}
        for name in names or [scorer]:
            yield read_record(summary, name, scores.get(name))


def read_samples(log: Log, without: Iterable[str] = ()) -> Iterator[EvalSample]:
    """The samples of a log by task and run; whole, or without some of their fields.

    Only a few are in memory at a time. They are read by the handful because each call
    of Inspect's readers reads the log's list of contents anew.
    """
    if log.location.endswith(".json"):  # one text, which can only be read as a whole
        yield from read_eval_log(log.location).samples or []
        return
    order = {id: n for n, id in enumerate(log.header.eval.dataset.sample_ids or [])}
    keys = sorted(_present(log), key=lambda key: (order.get(key[0], len(order)), key[1]))
    yield from _read(log, keys, set(without) or None)


def read_sample(log: Log, task_id: str, run: int) -> EvalSample | None:
    """One sample of a log, without its events; none if it is not there."""
    try:
        return read_eval_log_sample(
            log.location, id=task_id, epoch=run, exclude_fields={"events", "store"}
        )
    except IndexError:
        return None
    except Exception as ex:
        raise ClbenchError(f"{log}: task {task_id} cannot be read ({why(ex)}).") from None


def read_first(log: Log, task_ids: Sequence[str]) -> Iterator[EvalSample]:
    """The first run's sample of tasks, or a later run's, with little beside its metadata."""
    left_out = {"events", "store", "messages", "attachments", "scores"}
    first = {
        str(id): (id, epoch) for id, epoch in sorted(_present(log), key=_epoch, reverse=True)
    }
    yield from _read(log, [first[task] for task in task_ids if task in first], left_out)


def read_task(log: Log, task_id: str) -> Iterator[EvalSample]:
    """The samples of a task in the order of the runs, without their events."""
    keys = sorted((key for key in _present(log) if str(key[0]) == task_id), key=_epoch)
    yield from _read(log, keys, {"events", "store"})


_Key = tuple[int | str, int]
"""A sample's id and epoch."""


def _epoch(key: _Key) -> int:
    return key[1]


def _present(log: Log) -> list[_Key]:
    """The samples that a log has: not all, if its run was stopped."""
    return [(summary.id, summary.epoch) for summary in read_summaries(log)]


def _read(log: Log, keys: Sequence[_Key], left_out: set[str] | None) -> Iterator[EvalSample]:
    for start in range(0, len(keys), _HANDFUL):
        some = keys[start : start + _HANDFUL]
        try:
            yield from read_eval_log_samples_by_id(log.location, some, exclude_fields=left_out)
        except Exception as ex:
            raise ClbenchError(f"{log}: its samples cannot be read ({why(ex)}).") from None


def names_in(
    log: Log, samples: Iterable[EvalSampleSummary | EvalSample], scorer: str = SCORER
) -> list[str]:
    """The names under which samples have scores of a scorer, those of the header first.

    A run that ended in an error has no results in its header. And where some samples
    ended in errors, Inspect names a scorer that was appended wrongly there.
    """
    on_samples = (name for sample in samples for name in sample.scores or ())
    return _fitting([*_names_of(log.header), *on_samples], scorer)


def _names_of(header: EvalLog) -> list[str]:
    return [score.name for score in header.results.scores] if header.results else []


def _fitting(names: Iterable[str], scorer: str) -> list[str]:
    return [name for name in dict.fromkeys(names) if _is_numbered(name, scorer)]


def _is_numbered(name: str, scorer: str) -> bool:
    return name.startswith(scorer) and name[len(scorer) :].strip("-_0123456789") == ""


def _is_unjudged(summary: EvalSampleSummary) -> bool:
    return summary.error is None and summary.completed


def read_record(
    sample: EvalSampleSummary | EvalSample, scorer: str, score: Score | None
) -> Record:
    """What one score of a sample says."""
    told = sample.metadata
    metadata = (score.metadata if score else None) or {}
    met = metadata.get("rubrics_met")
    votes = metadata.get("votes")
    return Record(
        task_id=str(sample.id),
        run=sample.epoch,
        context_id=str(told.get("context_id") or sample.id),
        category=str(told.get("context_category", "")),
        sub_category=str(told.get("sub_category", "")),
        turns=int(told.get("turns", 1)),
        prompt_chars=int(told.get("prompt_chars", 0)),
        outcome=_outcome(score),
        reason=(score.reason or "") if score else "",
        scorer=scorer,
        judge=str(metadata.get("judge", "")),
        judge_prompt=str(metadata.get("judge_prompt", "")),
        rubrics_met=met if isinstance(met, int) else None,
        rubrics_total=int(metadata.get("rubrics_total", 0)),
        status=str(metadata.get("status", "")),
        inconsistent=bool(metadata.get("inconsistent")),
        votes=tuple(votes) if isinstance(votes, list) else (),
        uuid=sample.uuid or "",
        judge_prompt_sha256=str(metadata.get("judge_prompt_sha256", "")),
        judge_effort=str(metadata.get("judge_effort", "")),
        votes_cut=isinstance(votes, str),
    )


def _outcome(score: Score | None) -> Outcome:
    if score is None:
        return "errored"
    if score.value == NOANSWER:
        return "unscored"
    return "solved" if score.value == CORRECT else "failed"
