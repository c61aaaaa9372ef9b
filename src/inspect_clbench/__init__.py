"""CL-bench for Inspect: context-learning tasks with an all-or-nothing rubric judge."""

from inspect_clbench.error_metrics import error_type_coverage, error_type_rates
from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import judging, solving, solving_by
from inspect_clbench.replay import replay
from inspect_clbench.scorers.error_types import error_types
from inspect_clbench.scorers.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench, clbench_life

__all__ = [
    "ClbenchError",
    "clbench",
    "clbench_life",
    "error_type_coverage",
    "error_type_rates",
    "error_types",
    "judging",
    "replay",
    "rubric_judge",
    "solving",
    "solving_by",
]
