"""Whole samples, for those who need the text of answers, rubrics or rationales."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from inspect_ai.log import (
    EvalSample,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples_by_id,
)
from pydantic import BaseModel

from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer, checked, score_names
from inspect_clbench.logs.files import Log, in_short, read_summaries

_BULKY = frozenset({"events", "store", "attachments", "messages"})
"""What a sample holds beside its input, its answer, its metadata and its scores."""

# Each call of Inspect's readers reads the log's list of contents anew.
_AT_A_TIME = 32

_Key = tuple[int | str, int]
"""A sample's id and epoch."""


@dataclass(frozen=True)
class Usage:
    """The output tokens that one sample reports."""

    context: str
    answer: int
    """Without its reasoning."""

    reasoning: int
    verdict: int
    """Of all judges, reasoning included."""


def read_usages(log: Log) -> Iterator[Usage]:
    """The tokens of the samples of a log that report any."""
    own = log.header.eval.model
    for sample in read_eval_log_sample_summaries(log.location):
        judging = sum(usage.output_tokens for usage in (sample.role_usage or {}).values())
        whole = sum(usage.output_tokens for usage in sample.model_usage.values())
        reasoning = sample.model_usage[own].reasoning_tokens if own in sample.model_usage else 0
        if whole:
            context = str((sample.metadata or {}).get("context_id") or sample.id)
            thought = reasoning or 0
            yield Usage(context, whole - judging - thought, thought, judging)


def read_samples(log: Log) -> Iterator[EvalSample]:
    """All samples of a log by task and epoch, a few of them in memory at a time."""
    if log.location.endswith(".json"):  # one text, which can only be read as a whole
        for sample in read_eval_log(log.location).samples or []:
            yield _checked(log, sample)
        return
    order = {id: n for n, id in enumerate(log.header.eval.dataset.sample_ids or [])}
    keys = sorted(_keys(log), key=lambda key: (order.get(key[0], len(order)), key[1]))
    yield from _read(log, keys, set(_BULKY))


def read_task_samples(
    log: Log, task_ids: Sequence[str], *, first: bool = False, without: Iterable[str] = ()
) -> Iterator[EvalSample]:
    """The samples of some tasks, in the order of the tasks and epochs.

    Args:
        log: The log.
        task_ids: The tasks; those that the log does not have are left out.
        first: Whether the first epoch of each task is enough.
        without: Fields that are not needed, beside the events.
    """
    by_task: dict[str, list[_Key]] = {}
    for key in sorted(_keys(log), key=lambda key: key[1]):
        by_task.setdefault(str(key[0]), []).append(key)
    keys = [key for id in task_ids for key in by_task.get(id, [])[: 1 if first else None]]
    yield from _read(log, keys, {"events", "store", *without})


def read_sample(answer: Answer) -> EvalSample:
    """The sample that an answer was read from, without its events."""
    return next(_read(answer.log, [(answer.task_id, answer.epoch)], {"events", "store"}))


def _keys(log: Log) -> list[_Key]:
    """The samples that a log has: not all, if its run was stopped."""
    return [(summary.id, summary.epoch) for summary in read_summaries(log)]


def _read(log: Log, keys: Sequence[_Key], without: set[str]) -> Iterator[EvalSample]:
    for start in range(0, len(keys), _AT_A_TIME):
        some = keys[start : start + _AT_A_TIME]
        try:
            found = list(
                read_eval_log_samples_by_id(log.location, some, exclude_fields=without)
            )
        except IndexError:
            task, epoch = some[0]
            raise ClbenchError(
                f"{log}: task {task}, epoch {epoch} is not in it any more. Was the log written "
                "anew meanwhile? Start again."
            ) from None
        except Exception as ex:
            raise ClbenchError(f"{log}: its samples cannot be read ({in_short(ex)}).") from None
        for sample in found:
            yield _checked(log, sample)


class _Rubrics(BaseModel):
    """What is read of a whole sample's metadata, beside what its summary has too."""

    rubrics: list[str]


class _Vote(BaseModel):
    solved: bool | None


class _Texts(BaseModel):
    """What is read of the metadata of a verdict's score, beside what its summary has too."""

    rationales: list[str] = []
    requirement_status: list[Any] = []
    votes: list[_Vote] = []
    rubrics_total: int = 0
    status: str = ""


def _checked(log: Log, sample: EvalSample) -> EvalSample:
    """The same sample; an error if what is read of it is of other types."""
    where = f"{log}: task {sample.id}, epoch {sample.epoch}"
    checked(_Rubrics, sample.metadata, f"{where}, metadata")
    for name in score_names(log, [sample]):
        if score := (sample.scores or {}).get(name):
            checked(_Texts, score.metadata or {}, f"{where}, {name}")
    return sample
