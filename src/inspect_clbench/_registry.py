"""What Inspect finds under the prefix `inspect_clbench/`.

Every Inspect command imports it, so nothing here may import pandas, altair or datasets.
"""
# ruff: noqa: F401

from inspect_clbench.demo.provider import clbench_demo
from inspect_clbench.exam.sitting import ask_judge, exam_verdict
from inspect_clbench.exchange.imports import clbench_graded, graded_file
from inspect_clbench.metrics.agreement import judge_agreement
from inspect_clbench.metrics.error_types import error_type_coverage, error_type_rates
from inspect_clbench.metrics.exam import exam_figures
from inspect_clbench.metrics.solving import judging, solving, solving_by
from inspect_clbench.scoring.error_types import error_types
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.solvers import replay
from inspect_clbench.tasks import clbench, clbench_life, judge_exam
