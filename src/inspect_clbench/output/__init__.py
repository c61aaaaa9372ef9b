"""Numbers become tables, pictures and pages: the only place with widths, colours and words."""

from inspect_clbench.output.compare import sentence
from inspect_clbench.output.explorer import explore
from inspect_clbench.output.page import report_page
from inspect_clbench.output.plots import error_heatmap, plot
from inspect_clbench.output.results import render, save, tables_of
from inspect_clbench.output.tables import Cell, Note, Table
from inspect_clbench.output.tasks import task_text

__all__ = [
    "Cell",
    "Note",
    "Table",
    "error_heatmap",
    "explore",
    "plot",
    "render",
    "report_page",
    "save",
    "sentence",
    "tables_of",
    "task_text",
]
