"""CL-bench for Inspect: context-learning tasks with an all-or-nothing rubric judge."""

from inspect_clbench.errors import ClbenchError
from inspect_clbench.metrics import judging, solving, solving_by
from inspect_clbench.scorers.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench

__all__ = ["ClbenchError", "clbench", "judging", "rubric_judge", "solving", "solving_by"]
