"""Everything after the log: one frame of answers, and the tables, pictures and files made of it."""

from inspect_clbench.results.agreement import agreement
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.checked import checked, draw
from inspect_clbench.results.compare import compare
from inspect_clbench.results.costs import costs
from inspect_clbench.results.errors import errors
from inspect_clbench.results.exchange import export_files, import_files
from inspect_clbench.results.page import explore
from inspect_clbench.results.plan import plan
from inspect_clbench.results.plots import plot
from inspect_clbench.results.report import report

__all__ = [
    "agreement",
    "answers_df",
    "checked",
    "compare",
    "costs",
    "draw",
    "errors",
    "explore",
    "export_files",
    "import_files",
    "plan",
    "plot",
    "report",
]
