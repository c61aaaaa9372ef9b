"""Samples worth a look, linked to the log viewer."""

import html
from collections import defaultdict
from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.pages.viewer_links import ViewerBundle
from inspect_clbench.analysis.reading.located import LocatedRecord
from inspect_clbench.analysis.reading.records import Record
from inspect_clbench.analysis.reading.series import Series
from inspect_clbench.analysis.reporting.labels import labels
from inspect_clbench.analysis.reporting.near_misses import find_near_misses
from inspect_clbench.analysis.text import counted, one_line

_MOST = 10


def samples_section(series: Sequence[Series], bundle: ViewerBundle) -> str:
    """Links to whole logs, near misses and rows without a verdict.

    Args:
        series: The series; their records know their logs.
        bundle: The viewer to link to.
    """
    parts = ["<section class=samples><h2>Samples</h2>"]
    for one, label in zip(series, labels(series), strict=True):
        parts.append(f"<h3>{_text(label)}</h3>")
        parts.append(f"<p>{', '.join(_log_links(one, bundle))}</p>")
        by_task: defaultdict[str, list[Record]] = defaultdict(list)
        for record in one.records:
            by_task[record.task_id].append(record)
        near = dict.fromkeys(miss.task_id for miss in find_near_misses(one))
        silent = dict.fromkeys(r.task_id for r in one.records if r.reason == "grader_failed")
        parts += _listed("failed by one rubric", list(near), by_task, bundle)
        parts += _listed("without a verdict of the judge", list(silent), by_task, bundle)
    return "\n".join([*parts, "</section>"])


def _log_links(series: Series, bundle: ViewerBundle) -> Iterator[str]:
    for number, log in enumerate(series.logs, start=1):
        words = "All samples" if len(series.logs) == 1 else f"All samples of log {number}"
        yield _link(bundle.log_link(log), words)


def _listed(
    what: str,
    tasks: Sequence[str],
    by_task: dict[str, list[Record]],
    bundle: ViewerBundle,
) -> Iterator[str]:
    if not tasks:
        return
    shown = tasks[:_MOST]
    more = f", the first {len(shown)}" if len(shown) < len(tasks) else ""
    rows = "\n".join(
        f"<tr><td>{_text(task)}</td><td>{_text(by_task[task][0].sub_category)}</td>"
        f"<td>{', '.join(_run(record, bundle) for record in by_task[task])}</td></tr>"
        for task in shown
    )
    yield (
        f"<figure><figcaption>{counted(len(tasks), 'task')} {what}{more}</figcaption>\n<table>\n"
        "<thead><tr><th>Task</th><th>Sub-category</th><th>Runs</th></tr></thead>\n"
        f"<tbody>\n{rows}\n</tbody>\n</table></figure>"
    )


def _run(record: Record, bundle: ViewerBundle) -> str:
    link = bundle.sample_link(record) if isinstance(record, LocatedRecord) else None
    return f"{_link(link, f'run {record.run}')} {_outcome(record)}"


def _outcome(record: Record) -> str:
    if record.outcome == "errored":
        return "missing"
    if record.reason == "grader_failed":
        return "no verdict"
    if record.solved:
        return "solved"
    met = "?" if record.rubrics_met is None else record.rubrics_met
    return f"{met}/{record.rubrics_total}"


def _link(address: str | None, words: str) -> str:
    if address is None:
        return _text(words)
    return f'<a href="{html.escape(address)}">{_text(words)}</a>'


def _text(text: str) -> str:
    return html.escape(one_line(text))
