"""Any result of the analysis as tables, as text or as a file."""

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from inspect_clbench.analysis.agreement import Agreement
from inspect_clbench.analysis.audit import Audit
from inspect_clbench.analysis.compare import AgainstPublished, Comparison, Ranking
from inspect_clbench.analysis.correction import Correction
from inspect_clbench.analysis.costs import Costs
from inspect_clbench.analysis.errors import ErrorReport
from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.plan import Plan
from inspect_clbench.analysis.report import Report
from inspect_clbench.analysis.tasks import TaskLists
from inspect_clbench.choices import Format
from inspect_clbench.files import write_text
from inspect_clbench.output.agreement import agreement_tables
from inspect_clbench.output.audit import audit_tables
from inspect_clbench.output.compare import against_tables, comparison_tables, ranking_tables
from inspect_clbench.output.correction import correction_tables
from inspect_clbench.output.costs import cost_tables
from inspect_clbench.output.explorer import explore_comparison
from inspect_clbench.output.formats import csv_names, format_for, render_tables
from inspect_clbench.output.plan import plan_tables
from inspect_clbench.output.report import error_tables, report_tables
from inspect_clbench.output.tables import Table
from inspect_clbench.output.tasks import list_tables


def tables_of(result: Result | Sequence[Table], **options: Any) -> list[Table]:
    """The tables of a result.

    Args:
        result: What a function of `inspect_clbench.analysis` returned.
        options: `list_tasks=True` adds the tasks won and lost to a comparison, and the
            answers on which verdicts differ to an agreement.
    """
    match result:
        case Report():
            return report_tables(result)
        case Comparison():
            return comparison_tables(result, **options)
        case AgainstPublished():
            return against_tables(result, **options)
        case Ranking():
            return ranking_tables(result, **options)
        case Agreement():
            return agreement_tables(result, **options)
        case Audit():
            return audit_tables(result)
        case Correction():
            return correction_tables(result)
        case ErrorReport():
            return error_tables(result)
        case Costs():
            return cost_tables(result)
        case Plan():
            return plan_tables(result)
        case TaskLists():
            return list_tables(result)
        case Result():
            raise TypeError(f"{type(result).__name__} has no tables")
    return list(result)


def render(
    result: Result | Sequence[Table],
    format: Format = "terminal",
    width: int | None = None,
    *,
    styled: bool = False,
    **options: Any,
) -> str:
    """A result as text.

    Args:
        result: What a function of `inspect_clbench.analysis` returned, or tables.
        format: `terminal`, `markdown`, `csv`, `json`, `latex` or `html` (a whole page).
        width: The columns of the terminal that tables must fit into; without it they
            keep their usual form, however wide that is.
        styled: Whether a terminal gets codes for bold, dim and coloured text.
        options: Those of `tables_of`.
    """
    return render_tables(tables_of(result, **options), format, width, styled=styled)


def save(
    result: Result | Sequence[Table], output: str, format: str | None = None, **options: Any
) -> None:
    """Write a result to a file, whole or not at all.

    A CSV file holds one table: several get a file each, `output-TABLE.csv`. A comparison
    becomes an explorer of its models: a page, and beside it a file of answers.

    Args:
        result: What a function of `inspect_clbench.analysis` returned, or tables.
        output: The path; its ending says the format when none is given.
        format: One of the formats of `render`.
        options: Those of `tables_of`.
    """
    chosen = format_for(output, format)
    tables = tables_of(result, **options)
    if chosen == "html" and isinstance(result, Comparison | Ranking):
        explore_comparison(result, tables, output)
        return
    files = {output: tables}
    if chosen == "csv" and len(tables) > 1:
        path = PurePath(output)
        files = {
            str(path.with_name(f"{path.stem}-{name}{path.suffix}")): [table]
            for name, table in zip(csv_names(tables), tables, strict=True)
        }
    for name, some in files.items():
        write_text(name, render_tables(some, chosen))
