"""Why answers failed: the error types that a judge found in them, as in the paper's table."""

from typing import Any

import pandas as pd

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of
from inspect_clbench.results.estimates import Estimate, bootstrap
from inspect_clbench.results.report import methods_line, published_rows, published_table
from inspect_clbench.results.table import Column, Table, count, interval, short_names

FIGURES = ("mean", "low", "high")
COMMAND = (
    "inspect score LOG --scorer inspect_clbench/error_types --action append --overwrite "
    "--model-role grader=JUDGE"
)


def errors(answers: pd.DataFrame, published: bool = False) -> Table:
    """The share of failed answers that show each error type, over tasks and runs.

    A failed answer may show several types, so that the shares of a row may exceed 100 %.

    Args:
        answers: From `answers_df`, of one dataset, of logs that were scored with `error_types`.
        published: Whether to add the rows of the benchmark's paper.

    Returns:
        A row per model: the shares, and how many of its failed answers they rest on.
    """
    dataset = dataset_of(answers)
    failed = answers[(answers["solved"] == 0) & (answers["reason"] != "grader_failed")]
    if failed["error_types"].isna().all():
        sentences = ["No failed answer in these logs has error types.", *_notes(failed)]
        raise ClbenchError(f"{' '.join(sentences)} Let a judge name them: {COMMAND}")
    judges = failed.loc[failed["error_types"].notna(), "error_types_judge"].unique()
    source = published_table(dataset, "error_types") if published else {}
    rows = [_row(name, series) for name, series in failed.groupby("name", sort=False)]
    columns = [
        Column("Model", ["name"], names=short_names(failed["name"])),
        *(
            Column(title, [f"{title} {figure}" for figure in FIGURES], interval)
            for title in ERROR_TYPES.values()
        ),
        Column("Labelled", ["labelled", "failed"], _part),
    ]
    return Table(
        f"{dataset}: failed answers that show each error type in %, with 95 % intervals",
        pd.DataFrame([*rows, *published_rows(source)]),
        columns,
        [*_notes(failed), *([f"† Published: {source['source']}."] if source else [])],
        f"{methods_line(answers)} Error types named by {' and '.join(judges)}.",
    )


def _row(name: str, failed: pd.DataFrame) -> dict[str, Any]:
    labelled = failed.dropna(subset="error_types")
    row = {"name": name, "labelled": len(labelled), "failed": len(failed), "published": False}
    for key, title in ERROR_TYPES.items():
        shown = labelled["error_types"].map(lambda types, key=key: key in types)
        sums = shown.astype(float).groupby(labelled["context_id"]).agg(["sum", "size"])
        estimate = bootstrap(sums, lambda yes, total: yes / total) if len(sums) else Estimate(float("nan"))
        row |= {f"{title} {figure}": getattr(estimate, figure) for figure in FIGURES}
    return row


def _part(part: float, total: float) -> str:
    return "–" if pd.isna(total) else f"{count(part)} of {count(total)}"


def _notes(failed: pd.DataFrame) -> list[str]:
    without = failed[failed["error_types"].isna()]
    is_empty, is_tried = without["reason"] == "no_response", without["error_types_judge"] != ""
    numbers = {
        "empty": is_empty.sum(),
        "for which the judge gave no usable labels": (~is_empty & is_tried).sum(),
        "that no judge was asked about": (~is_empty & ~is_tried).sum(),
    }
    words = "; ".join(f"{number:,} {reason}" for reason, number in numbers.items() if number)
    return [f"Failed answers left out of the shares: {words}."] if words else []
