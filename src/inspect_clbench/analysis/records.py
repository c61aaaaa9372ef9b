"""The only reader of logs: one record per sample, run and judge, streamed from summaries."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from inspect_ai.log import (
    EvalLog,
    EvalSample,
    EvalSampleSummary,
    list_eval_logs,
    read_eval_log,
    read_eval_log_sample_summaries,
    read_eval_log_samples,
)
from inspect_ai.scorer import CORRECT, NOANSWER, Score

from inspect_clbench.errors import ClbenchError

SCORER = "rubric_judge"
_TASKS = ("inspect_clbench/clbench", "inspect_clbench/clbench_life")

Outcome = Literal["solved", "failed", "unscored", "errored"]


@dataclass(frozen=True)
class Log:
    """The header of a log of ours."""

    location: str
    header: EvalLog

    @property
    def model(self) -> str:
        named = (self.header.eval.metadata or {}).get("model_name")
        return str(named or self.header.eval.model)

    @property
    def effort(self) -> str:
        return str(self.header.eval.model_generate_config.reasoning_effort or "")

    @property
    def benchmark(self) -> str:
        return str((self.header.eval.metadata or {}).get("benchmark", ""))

    @property
    def epochs(self) -> int:
        return self.header.eval.config.epochs or 1

    @property
    def rows(self) -> int:
        """How many samples a full run of this log's selection has."""
        return len(self.header.eval.dataset.sample_ids or [])


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

    @property
    def solved(self) -> bool:
        return self.outcome == "solved"


def find_logs(paths: Sequence[str]) -> list[Log]:
    """The logs of this benchmark among files, folders and URLs.

    A folder may hold logs of other benchmarks, which are passed over; a file that is
    named must be one of ours. A log that a later retry replaced is passed over too.
    """
    logs: list[Log] = []
    for path in paths:
        try:
            infos = list_eval_logs(path, recursive=True)
        except Exception as ex:
            raise ClbenchError(f"{path}: cannot be listed ({_why(ex)}).") from None
        if not infos:
            raise ClbenchError(f"{path}: no log there. Give a .eval file or a folder of them.")
        named = len(infos) == 1 and path.endswith((".eval", ".json"))
        found = [log for info in infos if (log := _read_header(info.name, must=named))]
        if not found:
            raise ClbenchError(f"{path}: no log of {' or '.join(_TASKS)} among {len(infos)}.")
        logs += found
    unique = {log.location: log for log in logs}
    return _without_replaced(list(unique.values()))


def _read_header(location: str, *, must: bool) -> Log | None:
    try:
        header = read_eval_log(location, header_only=True)
    except Exception as ex:
        raise ClbenchError(
            f"{location}: not a readable log ({_why(ex)}). Is it cut off? "
            "inspect log recover may save it."
        ) from None
    if header.eval.task not in _TASKS:
        if must:
            raise ClbenchError(f"{location}: a log of {header.eval.task}, not of {_TASKS[0]}.")
        return None
    if header.status == "started" and must:
        raise ClbenchError(
            f"{location}: the run has not ended. Wait for it, or if it died: "
            "inspect eval-retry LOG"
        )
    return None if header.status == "started" else Log(location, header)


def _without_replaced(logs: list[Log]) -> list[Log]:
    """Leave out logs that a retry of the same task has taken over."""
    latest: dict[str, str] = {}
    for log in sorted(logs, key=lambda log: log.header.eval.created):
        latest[log.header.eval.task_id] = log.header.eval.eval_id
    return [log for log in logs if latest[log.header.eval.task_id] == log.header.eval.eval_id]


def read_records(log: Log, scorer: str = SCORER) -> Iterator[Record]:
    """The records of a log; several per sample where judges were appended.

    Args:
        log: The log.
        scorer: Scores whose name starts so, numbered ones of `inspect score` included.
    """
    names = _score_names(log.header, scorer)
    for summary in _summaries(log):
        scores = {n: s for n, s in (summary.scores or {}).items() if n in names}
        for name in names:
            yield _record(summary, name, scores.get(name))


def read_samples(log: Log) -> Iterator[EvalSample]:
    """The whole samples of a log, one at a time."""
    return read_eval_log_samples(log.location, all_samples_required=False)


def _score_names(header: EvalLog, scorer: str) -> list[str]:
    names = [s.name for s in header.results.scores] if header.results else []
    return [n for n in dict.fromkeys(names) if _is_numbered(n, scorer)] or [scorer]


def _is_numbered(name: str, scorer: str) -> bool:
    return name.startswith(scorer) and name[len(scorer) :].strip("-_0123456789") == ""


def _summaries(log: Log) -> Iterable[EvalSampleSummary]:
    try:
        return read_eval_log_sample_summaries(log.location)
    except Exception as ex:
        raise ClbenchError(
            f"{log.location}: its samples cannot be read ({_why(ex)})."
        ) from None


def _record(summary: EvalSampleSummary, scorer: str, score: Score | None) -> Record:
    sample = summary.metadata
    metadata = (score.metadata if score else None) or {}
    met = metadata.get("rubrics_met")
    votes = metadata.get("votes")
    return Record(
        task_id=str(summary.id),
        run=summary.epoch,
        context_id=str(sample.get("context_id") or summary.id),
        category=str(sample.get("context_category", "")),
        sub_category=str(sample.get("sub_category", "")),
        turns=int(sample.get("turns", 1)),
        prompt_chars=int(sample.get("prompt_chars", 0)),
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
        uuid=summary.uuid or "",
    )


def _outcome(score: Score | None) -> Outcome:
    if score is None:
        return "errored"
    if score.value == NOANSWER:
        return "unscored"
    return "solved" if score.value == CORRECT else "failed"


def _why(ex: Exception) -> str:
    text = " ".join(str(ex).split())
    return f"{type(ex).__name__}: {text[:200]}"
