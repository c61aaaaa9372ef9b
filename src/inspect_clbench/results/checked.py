"""Checking the judge by hand: verdicts drawn into a sheet, and what a person says of them."""

from collections.abc import Callable, Iterator, Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import write_text
from inspect_clbench.judge.prompt import numbered_rubrics
from inspect_clbench.results.answers import dataset_of
from inspect_clbench.results.estimates import Estimate, solving_rate, weights
from inspect_clbench.results.logs import read_samples
from inspect_clbench.results.report import methods_line
from inspect_clbench.results.table import Column, Table, count, defused, interval, short_names
from inspect_clbench.text import visible

WORDS = {"yes": 1.0, "no": 0.0}
FEWEST = 10  # checked rows of a kind: below it an interval says next to nothing
KEY = ["uuid", "scorer"]

METHODS = (
    "Corrected: the solving rate that the person would have found, weighted back to the judge's shares of yes "
    "and no, with a 95 % interval (MOVER). Sensitivity: of the answers that solve their task, the share that "
    f"the judge passes; specificity: of the others, the share that it fails. They take {FEWEST} checked rows of "
    "the judge's yes and as many of its no."
)


def draw(answers: pd.DataFrame, number: int, path: str | Path, seed: int = 0) -> int:
    """Draw verdicts into a new CSV file, evenly from the judge's yes and no of each series.

    Args:
        answers: From `answers_df`.
        number: How many to draw.
        path: The file. A person writes yes or no into its column `person`.
        seed: Another seed draws others; more of the same seed begin with the same.

    Returns:
        How many were drawn: fewer where there are no more.
    """
    if number < 1:
        raise ClbenchError(f"--draw {number}: draw one verdict at least.")
    if Path(path).exists():
        raise ClbenchError(f"{path}: exists, and may hold a person's work. Name a new file.")
    judged = answers[answers["solved"].notna() & (answers["reason"] == "")]
    if judged.empty:
        raise ClbenchError("No verdicts to draw from: no answer in these logs was judged.")
    shuffled = judged.sort_values(KEY).sample(frac=1, random_state=seed)
    # In turn from each stratum, so that a short one leaves its places to the others.
    turn = shuffled.groupby(["name", "solved"]).cumcount()
    chosen = shuffled.loc[turn.sort_values(kind="stable").index[:number]]
    # These line ends, so that a lone \r in an answer is quoted too; before them Excel's mark of UTF-8.
    write_text(path, "\ufeff" + pd.DataFrame(_rows(chosen)).to_csv(index=False, lineterminator="\r\n"))
    return len(chosen)


def _rows(answers: pd.DataFrame) -> Iterator[dict[str, str]]:
    texts = dict(read_samples(answers))
    for row in answers.itertuples():
        sample = texts[row.Index]
        rubrics = [f"{number}. {text}" for number, text in numbered_rubrics(sample.rubrics)]
        cells = {
            "person": "",
            "judge": "yes" if row.solved else "no",
            "model": row.name,
            "category": row.category,
            "task": row.id,
            "run": str(row.run),
            # The key stands before the long texts, of which a spreadsheet cuts off what it cannot hold.
            "uuid": row.uuid,
            "scorer": row.scorer,
            "rationale": "\n\n".join(sample.rationales),
            "rubrics": "\n".join(rubrics),
            "answer": sample.answer,
            "conversation": "\n\n".join(f"[{role}] {text}" for role, text in sample.messages),
        }
        yield {key: defused(visible(text)) for key, text in cells.items()}


def read_sheet(path: str | Path, answers: pd.DataFrame) -> pd.DataFrame:
    """The answers, with what a person said of some of them in the column `person`: 1, 0 or nan.

    Args:
        path: A sheet of `draw`, filled in; rows without a word of the person are left out.
        answers: Those that it was drawn from.
    """
    try:
        content = Path(path).read_bytes().decode("utf-8-sig", errors="replace")
        # Spreadsheets of some countries save semicolons or tabs.
        delimiter = max(",;\t", key=content.partition("\n")[0].count)
        sheet = pd.read_csv(StringIO(content), sep=delimiter, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as ex:
        raise ClbenchError(f"{path}: not a sheet that can be read ({ex}). Save it as CSV.") from ex
    if missing := {"person", *KEY} - {*sheet}:
        raise ClbenchError(f"{path}: no column {', '.join(sorted(missing))}. Name a sheet of --draw.")
    sheet = sheet.reset_index(drop=True)  # rows longer than their heads have made one of cells
    words = sheet["person"].str.strip().str.casefold()
    for place, word in words[~words.isin([*WORDS, ""])].items():
        raise ClbenchError(f"{path}, row {int(str(place)) + 2}: {word!r} under person. Write yes or no.")
    marks = sheet.assign(person=words.map(WORDS))[[*KEY, "person"]].dropna().drop_duplicates(KEY)
    marked = answers.merge(marks, "left", KEY)
    if marked["person"].isna().all():
        raise ClbenchError(
            f"{path}: no row with yes or no under person is of these logs. Fill it in, and name the logs that "
            "it was drawn from."
        )
    return marked


def checked(path: str | Path, answers: pd.DataFrame) -> Table:
    """The judge against a person, and the solving rate that the person would have found.

    Args:
        path: A sheet of `draw`, filled in.
        answers: From `answers_df`, of the logs that it was drawn from.

    Returns:
        A row per series; without figures where too few verdicts of either kind are checked.
    """
    dataset = dataset_of(answers)
    marked = read_sheet(path, answers)
    names = short_names(marked["name"])
    rows = [{"name": name, **_row(series)} for name, series in marked.groupby("name", sort=False)]
    columns = [Column("Model", ["name"], names=names)]
    for head in ("Judge", "Corrected", "Agreement", "Sensitivity", "Specificity"):
        key = head.lower()
        columns.append(Column(head, [key, f"{key}_low", f"{key}_high"], interval))
    columns += [Column(f"Checked {word}", [f"checked_{word}"], count) for word in WORDS]
    title = f"{dataset}: the judge checked by a person, in %"
    return Table(title, pd.DataFrame(rows), columns, methods=f"{methods_line(answers)} {METHODS}")


def _row(series: pd.DataFrame) -> dict[str, Any]:
    scored = series.dropna(subset="solved")
    # An empty answer, or one without a verdict, has nothing to be checked and stays 0.
    verdict = scored["solved"].where(scored["reason"] == "")
    marked = [scored[scored["person"].notna() & (verdict == word)] for word in WORDS.values()]
    is_enough = min(map(len, marked)) >= FEWEST
    # How often the judge says yes, and where it says yes or no, how often the person says yes.
    yes = solving_rate(scored)
    means = [yes, *(solving_rate(rows.assign(run=1), "person") for rows in marked)]
    judged = weights(scored)[verdict.notna()].sum()
    figures: dict[str, Callable[[float, float, float], float]] = {
        "corrected": lambda y, right, missed: y * right + (judged - y) * missed,
        "agreement": lambda y, right, missed: (y * right + (judged - y) * (1 - missed)) / judged,
        "sensitivity": lambda y, right, missed: y * right / (y * right + (judged - y) * missed),
        "specificity": lambda y, right, missed: (
            (judged - y) * (1 - missed) / ((judged - y) * (1 - missed) + y * (1 - right))
        ),
    }
    row: dict[str, Any] = yes.columns("judge")
    for key, figure in figures.items():
        estimate = _combined(figure, means) if is_enough else Estimate(np.nan)
        row |= estimate.columns(key)
    return row | {"checked_yes": len(marked[0]), "checked_no": len(marked[1])}


def _combined(figure: Callable[..., float], estimates: Sequence[Estimate]) -> Estimate:
    """A figure of several means, its interval combined of theirs (MOVER, Zou and Donner 2008).

    The squares of the distances to either side are added, so that an interval that is long
    to one side stays so: usually the person agrees with nearly all of one kind.
    """
    means = [estimate.mean for estimate in estimates]
    with np.errstate(invalid="ignore"):  # a person who says yes throughout leaves no specificity
        value = figure(*means)
        ends = [
            [figure(*means[:place], end, *means[place + 1 :]) for end in (estimate.low, estimate.high)]
            for place, estimate in enumerate(estimates)
        ]
    below = np.sqrt(sum((value - min(*pair, value)) ** 2 for pair in ends))
    above = np.sqrt(sum((max(*pair, value) - value) ** 2 for pair in ends))
    return Estimate(value, low=max(value - below, 0), high=min(value + above, 1))
