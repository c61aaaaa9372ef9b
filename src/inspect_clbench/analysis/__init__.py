"""Logs in, tables out: the functions for users, gathered from the rooms."""

from inspect_clbench.analysis.checking.check_sheets import error_sheet, verdict_sheet
from inspect_clbench.analysis.checking.checked import checked_errors, checked_verdicts
from inspect_clbench.analysis.comparing.agreement import Agreement, agreement
from inspect_clbench.analysis.comparing.agreement_tables import agreement_tables
from inspect_clbench.analysis.comparing.compare import compare
from inspect_clbench.analysis.comparing.comparison import Comparison
from inspect_clbench.analysis.comparing.comparison_tables import comparison_tables
from inspect_clbench.analysis.drawing.plots import plot
from inspect_clbench.analysis.error_types.errors import errors
from inspect_clbench.analysis.originals.export import Exported, export
from inspect_clbench.analysis.originals.graded import Imported, import_graded
from inspect_clbench.analysis.originals.verify import verify
from inspect_clbench.analysis.pages.page import report_page
from inspect_clbench.analysis.reading.groups import TokenRule
from inspect_clbench.analysis.reading.series import Series, load_series
from inspect_clbench.analysis.reporting.costs import costs
from inspect_clbench.analysis.reporting.near_misses import near_misses
from inspect_clbench.analysis.reporting.report import report
from inspect_clbench.analysis.reporting.show import show_task
from inspect_clbench.analysis.tables import Table, render, save

__all__ = [
    "Agreement",
    "Comparison",
    "Exported",
    "Imported",
    "Series",
    "Table",
    "TokenRule",
    "agreement",
    "agreement_tables",
    "checked_errors",
    "checked_verdicts",
    "compare",
    "comparison_tables",
    "costs",
    "error_sheet",
    "errors",
    "export",
    "import_graded",
    "load_series",
    "near_misses",
    "plot",
    "render",
    "report",
    "report_page",
    "save",
    "show_task",
    "verdict_sheet",
    "verify",
]
