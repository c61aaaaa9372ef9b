"""Judging again the answers of a log whose judge failed; all other scores stay as they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from inspect_ai import score
from inspect_ai.log import EvalLog, EvalSample, read_eval_log, recompute_metrics, write_eval_log

from inspect_clbench.benchmarks import GRADER, RUBRIC_JUDGE, VERDICT_SCORERS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.progress import inspect_display
from inspect_clbench.scoring.rubric_judge import rubric_judge

_ERROR_TYPES = "error_types"


@dataclass(frozen=True)
class Regraded:
    """What came of asking again."""

    location: str
    asked: int
    still_failed: int
    labelled_before: int = 0  # with a verdict now, and error types from before


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
        for place, sample in zip(places, _judge_again(part, judge), strict=True):
            samples[place] = sample
        recompute_metrics(log)
    if places or output:
        _write(log, output or log_file)
    judged_now = [samples[place] for place in places if not _failed(samples[place])]
    return Regraded(
        location=output or log_file,
        asked=len(places),
        still_failed=len(places) - len(judged_now),
        labelled_before=sum(_ERROR_TYPES in (sample.scores or {}) for sample in judged_now),
    )


def _failed(sample: EvalSample) -> str | None:
    """The name of the score that has no verdict because its judge failed."""
    scores = sample.scores or {}
    own = next((name for name in VERDICT_SCORERS if name in scores), None)
    return own if own and scores[own].reason == "grader_failed" else None


def _judge_again(part: EvalLog, judge: str | None) -> Sequence[EvalSample]:
    """The samples with a new score in the place of the failed one."""
    scorers = part.eval.scorers or []
    options = next((s.options for s in scorers if s.name.endswith(RUBRIC_JUDGE)), None)
    done = score(
        part,
        rubric_judge(**(options or {})),
        model_roles={GRADER: judge} if judge else None,
        action="overwrite",
        display=inspect_display(),
    )
    for old, new in zip(part.samples or [], done.samples or [], strict=True):
        judged = (new.scores or {})[RUBRIC_JUDGE]
        new.scores = {**(old.scores or {}), _failed(old) or RUBRIC_JUDGE: judged}
    return done.samples or []


def _write(log: EvalLog, location: str) -> None:
    if "://" in location:
        write_eval_log(log, location)
        return
    # A local log is replaced only by a complete one.
    beside = Path(location).with_name(f".{Path(location).name}")
    write_eval_log(log, str(beside))
    beside.replace(location)
