"""What Inspect finds under the prefix `inspect_clbench/`. Light: imported by every Inspect command."""

from inspect_clbench.demo.provider import clbench_demo
from inspect_clbench.metrics import judging, solving, solving_by
from inspect_clbench.scorers.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench

__all__ = ["clbench", "clbench_demo", "judging", "rubric_judge", "solving", "solving_by"]
