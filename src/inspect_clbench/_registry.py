"""What Inspect finds under the prefix `inspect_clbench/`. Light: imported by every Inspect command."""

from inspect_clbench.demo.provider import clbench_demo
from inspect_clbench.error_metrics import error_type_coverage, error_type_rates
from inspect_clbench.metrics import judging, solving, solving_by
from inspect_clbench.panel_metrics import judge_agreement
from inspect_clbench.replay import replay
from inspect_clbench.scorers.error_types import error_types
from inspect_clbench.scorers.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench, clbench_life

__all__ = [
    "clbench",
    "clbench_demo",
    "clbench_life",
    "error_type_coverage",
    "error_type_rates",
    "error_types",
    "judge_agreement",
    "judging",
    "replay",
    "rubric_judge",
    "solving",
    "solving_by",
]
