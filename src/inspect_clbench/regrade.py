"""Ask again for the rows of a log that have no verdict, and for no others."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai import score
from inspect_ai.log import (
    EvalLog,
    EvalSample,
    read_eval_log,
    recompute_metrics,
    write_eval_log,
)

from inspect_clbench.errors import ClbenchError
from inspect_clbench.scorers.rubric_judge import rubric_judge

_SCORER = "rubric_judge"
_ERROR_TYPES = "error_types"


@dataclass(frozen=True)
class Regraded:
    """What came of asking again."""

    location: str
    asked: int
    still_failed: int
    labelled_before: int = 0
    """Rows with a verdict now whose error types were found when there was none."""


def regrade(log_file: str, *, judge: str | None = None, output: str | None = None) -> Regraded:
    """Judge again the answers whose verdict failed; all other samples stay as they are.

    Args:
        log_file: The log, which is replaced once everything is done.
        judge: The model to ask; the log's own judge when not given.
        output: A file to write instead of replacing the log.
    """
    try:
        log = read_eval_log(log_file)
    except Exception as ex:
        raise ClbenchError(f"{log_file}: not a readable log ({ex}).") from None
    if log.eval.task_registry_name is None or not log.eval.task.startswith("inspect_clbench/"):
        raise ClbenchError(f"{log_file}: a log of {log.eval.task}, not of this benchmark.")
    samples = log.samples or []
    places = [i for i, sample in enumerate(samples) if _failed(sample)]
    if places:
        part = log.model_copy(update={"samples": [samples[i] for i in places]})
        judged = _judge_again(part, judge)
        for place, sample in zip(places, judged, strict=True):
            samples[place] = sample
        recompute_metrics(log)
    if places or output:
        _write(log, output or log_file)
    still_failed = [place for place in places if _failed(samples[place])]
    judged_now = [samples[place] for place in places if place not in still_failed]
    return Regraded(
        location=output or log_file,
        asked=len(places),
        still_failed=len(still_failed),
        labelled_before=sum(_ERROR_TYPES in (sample.scores or {}) for sample in judged_now),
    )


def _failed(sample: EvalSample) -> bool:
    own = (sample.scores or {}).get(_SCORER)
    return own is not None and own.reason == "grader_failed"


def _write(log: EvalLog, location: str) -> None:
    """Write a log; a local one is replaced only by a complete one."""
    if "://" in location:
        write_eval_log(log, location)
        return
    beside = Path(location).with_name(f".{Path(location).name}")
    write_eval_log(log, str(beside), format="eval")
    beside.replace(location)


def _judge_again(part: EvalLog, judge: str | None) -> Sequence[EvalSample]:
    """The samples with new scores of ours beside the scores of others they had."""
    options = next(
        (s.options for s in part.eval.scorers or [] if s.name.endswith(_SCORER)), None
    )
    done = score(
        part,
        rubric_judge(**(options or {})),
        model_roles={"grader": judge} if judge else None,
        action="overwrite",
        display="plain",
    )
    for old, new in zip(part.samples or [], done.samples or [], strict=True):
        new.scores = {**(old.scores or {}), **(new.scores or {})}
    return done.samples or []
