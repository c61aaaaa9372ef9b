"""What Inspect finds under the prefix `inspect_clbench/`.

Every Inspect command imports it, so nothing here may import pandas, altair or datasets.
"""
# ruff: noqa: F401

from inspect_clbench.demo.provider import clbench_demo
from inspect_clbench.error_types.metrics import error_type_rates
from inspect_clbench.error_types.scorer import error_types
from inspect_clbench.exam.metrics import exam_figures
from inspect_clbench.exam.task import exam_verdict, judge_exam
from inspect_clbench.metrics.solving import judging, solving, solving_by
from inspect_clbench.replay import replay
from inspect_clbench.scoring.graded import graded_file
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench, clbench_graded, clbench_life
