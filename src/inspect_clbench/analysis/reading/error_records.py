"""The error types that logs hold: one record per answer, sorted into series."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from inspect_clbench.analysis.reading.located import LocatedRecord, fields_of
from inspect_clbench.analysis.reading.logs import Paths, read_summaries
from inspect_clbench.analysis.reading.records import Log, Outcome, names_in, read_record
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.error_metrics import Labelled, State, labelled, within_draw
from inspect_clbench.errors import ClbenchError

SCORER = "error_types"

_OUTCOMES: dict[State, Outcome] = {
    "solved": "solved",
    "no_verdict": "unscored",
    "not_run": "errored",
}
_NOT_RUN = Labelled(run=0, state="not_run")


@dataclass(frozen=True, slots=True)
class LabelRecord(LocatedRecord):
    """One answer and the error types that a judge found in it."""

    label: Labelled = _NOT_RUN


def read_labels(log: Log) -> Iterator[LabelRecord]:
    """The records of a log's error types; none if it was never labelled."""
    summaries = read_summaries(log)
    for name in names_in(log, summaries, SCORER):
        scores = [(summary.scores or {}).get(name) for summary in summaries]
        labels = within_draw(
            [
                labelled(score, summary.epoch) if score else _NOT_RUN
                for summary, score in zip(summaries, scores, strict=True)
            ]
        )
        for summary, score, label in zip(summaries, scores, labels, strict=True):
            record = replace(
                read_record(summary, name, score),
                outcome=_OUTCOMES.get(label.state, "failed"),
                reason="",  # of the labelling, which is no verdict
            )
            yield LabelRecord(**fields_of(record), log=log, epoch=summary.epoch, label=label)


@dataclass(frozen=True)
class LabelledSeries:
    """The logs that have error types, as series, and those that have none."""

    series: tuple[Series, ...]
    without: tuple[Log, ...]


def load_labelled(paths: Paths) -> LabelledSeries:
    """Read the error types of logs.

    Args:
        paths: Log files, folders or URLs. Logs without error types are passed over.
    """
    having: set[str] = set()
    lacking: list[Log] = []

    def read(log: Log) -> Sequence[LabelRecord]:
        records = list(read_labels(log))
        if records:
            having.add(log.header.eval.eval_id)
        else:
            lacking.append(log)
        return records

    try:
        series = load_series(paths, read)
    except ClbenchError:
        if lacking and not having:
            raise _never_labelled(lacking[0]) from None
        raise
    # A log's copy from before it was labelled says nothing more.
    without = tuple(log for log in lacking if log.header.eval.eval_id not in having)
    return LabelledSeries(tuple(series), without)


def labels_of(series: Series) -> list[LabelRecord]:
    """The series' records, which all have labels."""
    return [record for record in series.records if isinstance(record, LabelRecord)]


def _never_labelled(log: Log) -> ClbenchError:
    return ClbenchError(
        f"{log}: its failed answers have no error types yet. Have them labelled: inspect score "
        f"{log} --scorer inspect_clbench/{SCORER} --action append --overwrite "
        "--model-role grader=JUDGE"
    )
