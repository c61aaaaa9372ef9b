"""The explorer: one page on which rubrics, models and runs can be looked at side by side.

The page holds all verdicts and rubrics, compressed, and opens from disk without a server.
Answers and rationales are many times larger; they stand in a second file beside it, which the
page loads when the first of them is opened. Text from logs is only ever shown as text: the
page's policy lets nothing run but its own script.
"""

import base64
import gzip
import hashlib
import json
import math
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path, PurePath
from typing import IO, Any

from inspect_ai.log import EvalSample
from inspect_ai.model import ModelUsage

from inspect_clbench.analysis.compare import Comparison, Ranking
from inspect_clbench.analysis.report import RateTable, group_table, main_table
from inspect_clbench.benchmarks import ERROR_TYPES, GRADER, OVERALL
from inspect_clbench.choices import By, LeftOut
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target, replacing, write_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.logs.answers import Answer, check_same_rows, read_labels
from inspect_clbench.logs.files import Log, Paths, check_one_dataset
from inspect_clbench.logs.samples import read_samples
from inspect_clbench.logs.series import Series, as_series, by_dataset, series_names
from inspect_clbench.output.html import html_page
from inspect_clbench.output.notes import rate_notes
from inspect_clbench.output.tables import Note, Table
from inspect_clbench.progress import progress
from inspect_clbench.text import counted, visible

_OUTCOMES = {"solved": "s", "failed": "f", "unscored": "u", "errored": "e"}


def explore(
    paths: Paths | Sequence[Series], output: str | Path, *, without: Collection[str] = ()
) -> list[Path]:
    """Write the explorer of logs as an HTML page; returns the files that were written.

    Args:
        paths: Log files, folders or URLs, or series that are read already.
        output: The page. Answers go to a file of the same name that ends in `-answers.js`.
        without: `answers` leaves out answers and rationales, and with them the second file;
            `rubrics` leaves out the rubrics' texts, which the dataset's licence covers, and
            the judge's words, which may quote them.
    """
    page = _checked(output)
    if isinstance(without, str) or not {*without} <= {*LeftOut}:
        raise ClbenchError(f"without={without!r}: give a list of {' and '.join(LeftOut)}.")
    found = as_series(paths)
    check_one_dataset([log for one in found for log in one.logs])
    (series,) = by_dataset(found)
    check_same_rows(answer for one in series for answer in one.answers)
    return _write(_Data(series, without), page)


def explore_comparison(
    compared: Comparison | Ranking, tables: Iterable[Table], output: str | Path
) -> list[Path]:
    """Write the explorer of compared models, with the tables and the tasks that flipped.

    Args:
        compared: What `compare` returned.
        tables: The comparison as tables, for the overview.
        output: The page, as for `explore`.
    """
    page = _checked(output)
    data = _Data(compared.series)
    data.payload["tables"] = [_shown(table, compared.series) for table in tables]
    if isinstance(compared, Comparison):
        data.payload["flipped"] = [
            data.places(task.task_id for task in compared.tasks_by_outcome(won))
            for won in (True, False)
        ]
    return _write(data, page)


def _checked(output: str | Path) -> Path:
    page = Path(output)
    check_target(page)
    if page.suffix.lower() not in (".html", ".htm"):
        raise ClbenchError(f"{output}: the explorer is a page. Give a name that ends in .html.")
    return page


def _write(data: "_Data", page: Path) -> list[Path]:
    written = [page]
    if "answers" in data.payload["without"]:
        data.add_rubrics()
    else:
        answers = page.with_name(f"{page.stem}-answers.js")
        with replacing(answers) as file:
            data.write_answers(file)
        data.payload["answers"] = {"file": answers.name, "key": data.key}
        written.append(answers)
    write_text(page, _page(data.payload))
    return written


class _Data:
    """What the page knows, by task, series and run."""

    def __init__(self, series: Sequence[Series], without: Collection[str] = ()) -> None:
        self._series = series
        task_ids = dict.fromkeys(a.task_id for one in series for a in one.answers)
        self._order = {id: n for n, id in enumerate(task_ids)}
        self._with_rubrics = "rubrics" not in without
        self.payload: dict[str, Any] = {
            **_overview(series),
            "without": sorted(without),
            "tasks": _tasks(series, self._order),
        }
        # Two pages may have the same verdicts on other answers.
        whole = [self.payload, *((log.eval_id, log.modified) for log in self._logs())]
        self.key = hashlib.sha256(json.dumps(whole).encode()).hexdigest()[:16]

    def places(self, task_ids: Iterable[str]) -> list[int]:
        return [self._order[id] for id in task_ids]

    def add_rubrics(self) -> None:
        """The rubrics' texts, without reading more samples than needed."""
        missing = set(self._order) if self._with_rubrics else set()
        for log in self._logs():
            if missing & (log.task_ids or missing):
                for sample in self._read(log):
                    missing.discard(str(sample.id))
            if not missing:
                return

    def write_answers(self, file: IO[bytes]) -> None:
        """Write answers and rationales, and take the rubrics' texts on the way."""
        places = self._places()
        file.write(b'clbenchAnswers("%s",[\n' % self.key.encode())
        for log in self._logs():
            for id, samples in groupby(self._read(log), key=lambda sample: str(sample.id)):
                found: defaultdict[int, dict[int, Any]] = defaultdict(dict)
                for sample in samples:
                    for series, run, scorer in places[log.location, id, sample.epoch]:
                        found[series][run] = _answer(sample, scorer, self._with_rubrics)
                for series, runs in found.items():
                    chunk = [self._order[id], series, _packed(runs)]
                    file.write(json.dumps(chunk).encode() + b",\n")
        file.write(b"]);\n")

    def _logs(self) -> list[Log]:
        return list({log.location: log for one in self._series for log in one.logs}.values())

    def _read(self, log: Log) -> Iterator[EvalSample]:
        tasks = self.payload["tasks"]
        with progress("Reading answers", log.samples) as advance:
            for sample in read_samples(log):
                if (place := self._order.get(str(sample.id))) is not None:
                    rubrics = numbered_rubrics(sample.metadata.get("rubrics", []))
                    tasks[place]["rubrics"] = [
                        (number, text if self._with_rubrics else "") for number, text in rubrics
                    ]
                    yield sample
                advance(1)

    def _places(self) -> Mapping[tuple[str, str, int], list[tuple[int, int, str]]]:
        """Series, run and score by log, task and epoch."""
        places: defaultdict[tuple[str, str, int], list[tuple[int, int, str]]]
        places = defaultdict(list)
        for index, one in enumerate(self._series):
            for a in one.answers:
                places[a.log.location, a.task_id, a.epoch].append((index, a.run, a.scorer))
        return places


def _overview(series: Sequence[Series]) -> dict[str, Any]:
    table = main_table(series, ci=True)
    notes = (note for note in rate_notes(table) if isinstance(note, Note))
    return {
        "title": series[0].dataset_name,
        "facts": counted(len(series), "model"),
        "models": [
            {"name": visible(name), "runs": sorted({a.run for a in one.answers})}
            for one, name in zip(series, series_names(series), strict=True)
        ],
        "groups": _groups(table, "c "),
        "subs": _groups(group_table(series, By.SUB_CATEGORY, ci=True), "s "),
        "tables": [],
        "warnings": [_sendable(note.text, series) for note in notes if note.is_warning],
        "types": ERROR_TYPES,
    }


def _groups(table: RateTable, key: str) -> list[dict[str, Any]]:
    """Groups of tasks that have any, their rates by series, and how the page filters them."""
    return [
        {
            "name": group,
            "key": key if group != OVERALL else "",
            "rates": [rate.as_row() if rate else None for rate in rates],
        }
        for group in table.groups
        if group == OVERALL or table.tasks.get(group)
        if (rates := [row.rates.get(group) for row in table.rows])
    ]


def _shown(table: Table, series: Sequence[Series]) -> dict[str, Any]:
    return {
        "title": table.title,
        "columns": table.columns,
        "rows": [[cell.text for cell in row] for row in table.rows],
        "left": table.left,
        "notes": [_sendable(str(note), series) for note in table.notes],
    }


def _sendable(text: str, series: Sequence[Series]) -> str:
    """Without the folders of logs: the page is sent to others."""
    for log in (log for one in series for log in one.logs):
        text = text.replace(str(log), PurePath(str(log)).name)
    return visible(text)


def _tasks(series: Sequence[Series], order: Mapping[str, int]) -> list[dict[str, Any]]:
    tasks: list[dict[str, Any]] = [{} for _ in order]
    labels = _labels(series)
    for index, one in enumerate(series):
        runs = {run: place for place, run in enumerate(sorted({a.run for a in one.answers}))}
        for answer in one.answers:
            task = tasks[order[answer.task_id]]
            if not task:
                task.update(
                    id=answer.task_id,
                    category=answer.category,
                    sub=answer.sub_category,
                    chars=answer.prompt_chars,
                    rubrics=[[n + 1, ""] for n in range(answer.rubrics_total)],
                    cells=[[""] * len({a.run for a in s.answers}) for s in series],
                )
            types = labels.get((answer.log.location, answer.task_id, answer.epoch), ())
            task["cells"][index][runs[answer.run]] = _cell(answer, types)
    return tasks


def _cell(answer: Answer, types: Iterable[str]) -> str:
    """An answer in short: outcome, a letter per rubric, and what else is worth finding."""
    outcome = _OUTCOMES[answer.outcome]
    if outcome == "f" and answer.reason == "grader_failed":
        outcome = "j"
    fits = len(answer.status) == answer.rubrics_total
    flags = [*sorted(types), *(["!"] if answer.inconsistent else [])]
    return f"{outcome}|{answer.status if fits else ''}|{','.join(flags)}"


def _labels(series: Sequence[Series]) -> dict[tuple[str, str, int], frozenset[str]]:
    logs = {log.location: log for one in series for log in one.logs}
    found: dict[tuple[str, str, int], frozenset[str]] = {}
    for location, log in logs.items():
        for answer in read_labels(log):
            place = location, answer.task_id, answer.epoch
            # Of several labels the first counts that found something.
            found[place] = found.get(place) or answer.label.types
    return found


def _answer(sample: EvalSample, scorer: str, with_rubrics: bool) -> dict[str, Any]:
    score = (sample.scores or {}).get(scorer)
    metadata = (score.metadata if score else None) or {}
    told: dict[str, Any] = {
        "answer": sample.output.completion,
        "error": sample.error.message if sample.error else "",
        "use": [_use(sample.output.usage), _use(sample.role_usage.get(GRADER))],
    }
    if with_rubrics:  # what the judge wrote may quote them
        told["rationale"] = "\n\n".join(map(str, metadata.get("rationales", [])))
        told["error"] = told["error"] or str(metadata.get("judge_error", ""))
    return told


def _use(usage: ModelUsage | None) -> tuple[int, int, float | None] | None:
    """Tokens read and written, and what they cost where the run knew prices."""
    if usage is None:
        return None
    cost = usage.total_cost
    known = cost is not None and math.isfinite(cost)
    return usage.input_tokens, usage.output_tokens, cost if known else None


def _packed(value: Any) -> str:
    """JSON, compressed, in letters that can stand anywhere in a page or script."""
    text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode("utf-8", "replace"), mtime=0)).decode()


def _page(payload: Mapping[str, Any]) -> str:
    script, style = _resource("explorer.js"), _resource("explorer.css")
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' 'self'; "
        f"style-src '{_hash(style)}'; base-uri 'none'; form-action 'none'"
    )
    body = (
        f'<script type="text/plain" id="data">{_packed(payload)}</script>\n<div id="app"></div>'
    )
    return html_page(
        f"{payload['title']}: explorer", body, policy=policy, style=style, script=script
    )


def _resource(name: str) -> str:
    return (files("inspect_clbench.output") / name).read_text("utf-8")


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
