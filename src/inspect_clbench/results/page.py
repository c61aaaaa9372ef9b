"""The one page: what the tables say, and each task, rubric and answer behind it.

The page holds figures, verdicts and rubrics, and opens from disk without a server. Answers and
rationales are many times larger: they stand in a second file beside it, which the page loads when
the first of them is opened. Text from logs is only ever shown as text: the page's policy lets
nothing run but its own script.
"""

import base64
import gzip
import hashlib
import json
from collections.abc import Callable, Collection, Hashable, Iterator
from contextlib import suppress
from dataclasses import replace
from html import escape
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from inspect_clbench.benchmarks import ERROR_TYPES, LENGTH_LIMITS
from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import replacing, write_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.results.answers import dataset_of, full_scores
from inspect_clbench.results.compare import compare
from inspect_clbench.results.costs import costs
from inspect_clbench.results.errors import errors
from inspect_clbench.results.logs import SampleTexts, read_samples
from inspect_clbench.results.plots import draw, svg
from inspect_clbench.results.report import OVERALL, notes_of, report
from inspect_clbench.results.table import Column, Table, interval, percent, short_names, text
from inspect_clbench.text import redacted, visible, without_keys

LEFT_OUT = ("answers", "rubrics")
MEAN = " mean"  # how a table's columns of rates end
WIDTHS = {"wide": 11.5, "narrow": 3.6}  # of the pictures, in inches: for a screen and a phone

Link = Callable[[Any, Column], dict[str, Any] | None]


def explore(
    answers: pd.DataFrame,
    path: str | Path,
    without: Collection[str] = (),
    published: bool = False,
    prices: Any = None,
) -> list[Path]:
    """Write tables, pictures and all tasks as a page that opens from disk.

    Args:
        answers: From `answers_df`, of one dataset.
        path: The page. Answers go to a file of the same name that ends in `-answers.js`.
        without: `answers` leaves out answers and rationales, and with them the second file;
            `rubrics` leaves out the rubrics' texts, which the dataset's licence covers, and the
            judge's words, which may quote them.
        published: Whether to add the rows of the benchmark's paper.
        prices: As `costs` takes them.

    Returns:
        The files that were written.
    """
    page = Path(path)
    if page.suffix.lower() not in (".html", ".htm"):
        raise ClbenchError(f"{path}: the page's name ends in .html.")
    if isinstance(without, str) or not {*without} <= {*LEFT_OUT}:
        raise ClbenchError(f"without {without}: only {' and '.join(LEFT_OUT)} can be left out.")
    answers = full_scores(answers).reset_index(drop=True)
    names = short_names(answers["name"])
    titles = {short: name for name, short in names.items()}
    answers["name"] = answers["name"].map(names)
    main = report(answers, ci=True, published=published)
    places = {name: place for place, name in enumerate(main.frame["name"][~main.frame["published"]])}
    answers["place"], answers["task"] = answers["name"].map(places), answers["id"].factorize()[0]
    runs = [sorted(map(int, rows["run"].unique())) for _, rows in answers.groupby("place")]
    models = [{"name": name, "title": titles[name], "runs": runs[place]} for name, place in places.items()]
    tasks = _tasks(answers, runs)
    results = {"models": models, "without": sorted(without), "types": ERROR_TYPES}
    results |= _results(answers, main, places, prices)
    written = [page]
    if "answers" in without:
        for index, texts in read_samples(answers[answers["reached"]].drop_duplicates("id")):
            tasks[answers.at[index, "task"]]["rubrics"] = _rubrics(texts, without)
    else:
        target = page.with_name(f"{page.stem}-answers.js")
        # Two pages may have the same verdicts on other answers.
        key = hashlib.sha256(json.dumps([tasks, *answers["uuid"]]).encode()).hexdigest()[:16]
        results["answers"] = {"file": target.name, "key": key}
        with replacing(target) as file:
            _write_answers(file, key, tasks, answers, without)
        written.append(target)
    write_text(page, _page(_safe(results), tasks))
    return written


def _results(answers: pd.DataFrame, main: Table, places: dict[str, int], prices: Any) -> dict[str, Any]:
    """All that stands above the tasks."""

    def to_model(row: Any, column: Column) -> dict[str, Any] | None:
        group, mean, _ = column.sources[0].rpartition(MEAN)
        return {"model": places[row["name"]], "group": group} if mean and row["name"] in places else None

    days = sorted({created[:10] for created in answers["created"]})
    results: dict[str, Any] = {
        "title": dataset_of(answers),
        "facts": [main.methods, f"Run on {' to '.join(dict.fromkeys([days[0], days[-1]]))}."],
        "warnings": notes_of(answers, with_counts=False),
        "rates": _table(main, to_model),
        "subs": _subs(answers, places) if answers["sub_category"].any() else [],
        "picture": _pictures(answers, "rates"),
    }
    try:
        results |= _comparison(answers, places)
    except ClbenchError as ex:  # one model, or one only with full runs
        best = main.frame.iloc[0]
        rate = interval(*(best[f"{OVERALL} {figure}"] for figure in ("mean", "low", "high")))
        results["answer"] = f"Tasks solved by {best['name']}: {rate.replace(chr(10), ' %, 95 % interval ')}"
        results["facts"] += [str(ex)] if len(places) > 1 else []
    with suppress(ClbenchError):  # no failed answer has error types
        results["errors"] = _table(errors(answers), to_model)
    used = costs(answers, prices)
    if used.frame["usd"].notna().any():
        results["costs"] = _table(used)
    return results


def _comparison(answers: pd.DataFrame, places: dict[str, int]) -> dict[str, Any]:
    """Which model is better, for more than two with their ranks."""

    def to_pair(row: Any, column: Column) -> dict[str, Any] | None:
        pair = [places.get(row["a"]), places.get(row["b"])]
        is_link = column.sources[0] == "difference" and None not in pair
        return {"pair": pair, "group": row.get("group", OVERALL)} if is_link else None

    table = compare(answers)
    # What `warnings` says above all is not said again.
    table = replace(table, notes=[note for note in table.notes if note not in notes_of(answers)])
    results: dict[str, Any] = {
        "answer": table.title.removeprefix(f"{dataset_of(answers)}. "),
        "compare": _table(table, to_pair),
        "forest": _pictures(answers, "forest"),
    }
    if "best_rank" in table.frame:
        ranks = table.frame.drop_duplicates("a")[["best_rank", "worst_rank", "a", "rate_a"]].astype(object)
        results["ranks"] = [
            [best, worst, places[a], percent(rate)] for best, worst, a, rate in ranks.to_numpy()
        ]
    return results


def _table(table: Table, link: Link = lambda row, column: None) -> dict[str, Any]:
    """A table as the page draws it: what its cells say, and to which tasks they lead."""
    cells = zip(*(column.cells(table.frame) for column in table.columns), strict=True)
    rows = [
        [[cell, link(row, column)] for cell, column in zip(texts, table.columns, strict=True)]
        for texts, (_, row) in zip(cells, table.frame.iterrows(), strict=True)
    ]
    return {
        "heads": [[column.head, column.show is text] for column in table.columns],
        "rows": rows,
        "published": [row.get("published") is True for _, row in table.frame.iterrows()],
        "notes": [*table.notes],
        "methods": table.methods,
    }


def _subs(answers: pd.DataFrame, places: dict[str, int]) -> list[list[Any]]:
    """Sub-categories: name, category, tasks, and the rate of each model."""
    categories = dict(zip(answers["sub_category"], answers["category"], strict=True))
    rows = report(answers, by="sub_category").frame.astype(object).replace(np.nan, None).to_dict("records")
    subs = [(row["sub_category"], row["tasks"], [row[name + MEAN] for name in places]) for row in rows]
    return [[name, categories[name], tasks, rates] for name, tasks, rates in subs]


def _pictures(answers: pd.DataFrame, kind: str) -> dict[str, str]:
    """A picture for wide and narrow screens, or a line that says how to get it."""
    try:
        return {name: svg(draw(answers, kind, width)) for name, width in WIDTHS.items()}
    except ClbenchError as ex:
        return {"missing": str(ex)}


def _tasks(answers: pd.DataFrame, runs: list[list[int]]) -> list[dict[str, Any]]:
    """What is known of each task, in the order of the logs, with a cell for each model and run."""
    tasks: dict[str, dict[str, Any]] = {}
    for row, outcome, flags in zip(answers.itertuples(), _outcomes(answers), _flags(answers), strict=True):
        if row.id not in tasks:
            tasks[row.id] = {
                "id": _safe(row.id),
                "category": _safe(row.category),
                "sub": _safe(row.sub_category),
                "chars": None if pd.isna(row.prompt_chars) else int(row.prompt_chars),
                "rubrics": [],
                "cells": [[""] * len(numbers) for numbers in runs],
            }
        cells = tasks[row.id]["cells"][row.place]
        cells[runs[row.place].index(row.run)] = f"{outcome}|{row.status}|{flags}"
    return [*tasks.values()]


def _outcomes(answers: pd.DataFrame) -> Any:
    """A letter for each answer: solved, failed, judge failed, error, or unscored."""
    conditions = {
        "s": answers["solved"] == 1,
        "j": (answers["solved"] == 0) & (answers["reason"] == "grader_failed"),
        "f": answers["solved"] == 0,
        "e": answers["error"].fillna("") != "",
        "u": answers["reached"],
    }
    return np.select([*conditions.values()], [*conditions], "")


def _flags(answers: pd.DataFrame) -> Iterator[str]:
    """What else is worth finding: error types, verdicts against their list, answers that were cut off."""
    cut_off = answers["stop_reason"].isin(LENGTH_LIMITS)
    for row, cut in zip(answers.itertuples(), cut_off, strict=True):
        labels = row.error_types if isinstance(row.error_types, list) else []
        yield ",".join([*labels, *["inconsistent"] * bool(row.inconsistent), *["cut"] * cut])


def _rubrics(texts: SampleTexts, without: Collection[str]) -> list[tuple[int, str]]:
    rubrics = numbered_rubrics(texts.rubrics)
    return [(number, "" if "rubrics" in without else _safe(rubric)) for number, rubric in rubrics]


def _write_answers(
    file: IO[bytes], key: str, tasks: list[dict[str, Any]], answers: pd.DataFrame, without: Collection[str]
) -> None:
    """Write answers and rationales, those of a task together, and take the rubrics' texts on the way."""
    answers = answers.sort_values(["log", "place", "task", "run"])
    rows = answers.to_dict("index")
    samples = ((rows[index], texts) for index, texts in read_samples(answers))
    file.write(b'clbenchAnswers("%s",[\n' % key.encode())
    for (task, place), group in groupby(samples, key=lambda sample: (sample[0]["task"], sample[0]["place"])):
        runs = {}
        for row, texts in group:
            tasks[task]["rubrics"] = tasks[task]["rubrics"] or _rubrics(texts, without)
            runs[int(row["run"])] = _answer(row, texts, without)
        file.write(json.dumps([int(task), int(place), _packed(runs)]).encode() + b",\n")
    file.write(b"]);\n")


def _answer(row: dict[Hashable, Any], texts: SampleTexts, without: Collection[str]) -> dict[str, Any]:
    is_counted = pd.notna(row["input_tokens"]) and pd.notna(row["output_tokens"])
    used = f"{row['input_tokens']:,.0f} tokens in, {row['output_tokens']:,.0f} out" if is_counted else ""
    answer = {"answer": _safe(texts.answer), "error": redacted(_safe(texts.error)), "used": used}
    if "rubrics" in without:  # what the judge wrote may quote them
        return answer
    judges = row["judge"].split(", ") if len(texts.rationales) > 1 else [row["stand_in"] or row["judge"]]
    rationales = list(zip(judges, map(_safe, texts.rationales), strict=False))
    return answer | {
        "error": answer["error"] or redacted(_safe(row["judge_error"])),
        "rationales": rationales,
    }


def _safe(value: Any) -> Any:
    """Without keys, and without characters that hide or turn text."""
    if isinstance(value, str):
        return visible(without_keys(value))
    if isinstance(value, dict):
        return {key: _safe(content) for key, content in value.items()}
    return [_safe(content) for content in value] if isinstance(value, list | tuple) else value


def _packed(value: Any) -> str:
    """JSON, compressed, in letters that can stand anywhere in a page or script."""
    content = json.dumps(value, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(content.encode("utf-8", "replace"), 3, mtime=0)).decode()


def _page(results: dict[str, Any], tasks: list[dict[str, Any]]) -> str:
    script, style = (
        files("inspect_clbench.results").joinpath(name).read_text("utf-8") for name in ("page.js", "page.css")
    )
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}' 'self'; style-src '{_hash(style)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(results["title"])}</title>
<style>{style}</style>
</head><body>
<script type="text/plain" id="results">{_packed(results)}</script>
<script type="text/plain" id="tasks-data">{_packed(tasks)}</script>
<script type="module">{script}</script>
</body></html>
"""


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"
