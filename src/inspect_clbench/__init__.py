"""CL-bench for Inspect: context-learning tasks with an all-or-nothing rubric judge.

Each name is imported when it is first used, because importing Inspect takes seconds that
`clbench --help` need not spend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_clbench.errors import ClbenchError
    from inspect_clbench.exam.sitting import ask_judge, exam_verdict
    from inspect_clbench.exchange.imports import clbench_graded
    from inspect_clbench.metrics.error_types import error_type_coverage, error_type_rates
    from inspect_clbench.metrics.exam import exam_figures
    from inspect_clbench.metrics.solving import judging, solving, solving_by
    from inspect_clbench.scoring.error_types import error_types
    from inspect_clbench.scoring.rubric_judge import rubric_judge
    from inspect_clbench.solvers import replay
    from inspect_clbench.tasks import clbench, clbench_life, judge_exam

    __version__: str

__all__ = [
    "ClbenchError",
    "__version__",
    "ask_judge",
    "clbench",
    "clbench_graded",
    "clbench_life",
    "error_type_coverage",
    "error_type_rates",
    "error_types",
    "exam_figures",
    "exam_verdict",
    "judge_exam",
    "judging",
    "replay",
    "rubric_judge",
    "solving",
    "solving_by",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("inspect-clbench")
    if name in __all__:
        module = "errors" if name == "ClbenchError" else "_registry"
        return getattr(import_module(f"inspect_clbench.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
