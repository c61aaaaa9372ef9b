"""Numbers from logs: each function returns a frozen result that has `to_pandas()`.

`inspect_clbench.output` makes tables, pictures and pages of the results.
"""

from inspect_clbench.analysis.agreement import Agreement, agreement
from inspect_clbench.analysis.audit import Audit, read_audit
from inspect_clbench.analysis.compare import AgainstPublished, Comparison, Ranking, compare
from inspect_clbench.analysis.correction import Correction, correct
from inspect_clbench.analysis.costs import Costs, costs
from inspect_clbench.analysis.errors import ErrorReport, errors
from inspect_clbench.analysis.groups import TokenRule
from inspect_clbench.analysis.plan import Plan, plan
from inspect_clbench.analysis.report import Report, report
from inspect_clbench.analysis.tasks import (
    TaskLists,
    TaskView,
    list_rubrics,
    list_tasks,
    near_misses,
    show_task,
)
from inspect_clbench.logs.answers import Answer, answers_df
from inspect_clbench.logs.files import Log, find_logs
from inspect_clbench.logs.series import Series, load_series

__all__ = [
    "AgainstPublished",
    "Agreement",
    "Answer",
    "Audit",
    "Comparison",
    "Correction",
    "Costs",
    "ErrorReport",
    "Log",
    "Plan",
    "Ranking",
    "Report",
    "Series",
    "TaskLists",
    "TaskView",
    "TokenRule",
    "agreement",
    "answers_df",
    "compare",
    "correct",
    "costs",
    "errors",
    "find_logs",
    "list_rubrics",
    "list_tasks",
    "load_series",
    "near_misses",
    "plan",
    "read_audit",
    "report",
    "show_task",
]
