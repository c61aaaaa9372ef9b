"""Logs in, tables out.

The functions stand here, not the modules of the same name; those are found under
their full path.
"""

from inspect_clbench.analysis.agreement import Agreement, agreement
from inspect_clbench.analysis.agreement_tables import agreement_tables
from inspect_clbench.analysis.check_sheets import error_sheet, verdict_sheet
from inspect_clbench.analysis.checked import checked_errors, checked_verdicts
from inspect_clbench.analysis.compare import compare
from inspect_clbench.analysis.comparison import Comparison
from inspect_clbench.analysis.comparison_tables import comparison_tables
from inspect_clbench.analysis.costs import costs
from inspect_clbench.analysis.errors import errors
from inspect_clbench.analysis.export import Exported, export
from inspect_clbench.analysis.graded import Imported, import_graded
from inspect_clbench.analysis.groups import TokenRule
from inspect_clbench.analysis.near_misses import near_misses
from inspect_clbench.analysis.page import report_page
from inspect_clbench.analysis.plots import plot
from inspect_clbench.analysis.report import report
from inspect_clbench.analysis.series import Series, load_series
from inspect_clbench.analysis.show import show_task
from inspect_clbench.analysis.tables import Table, render, save
from inspect_clbench.analysis.verify import verify

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
