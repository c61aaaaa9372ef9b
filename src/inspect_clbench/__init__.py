"""CL-bench for Inspect: context-learning tasks with an all-or-nothing rubric judge.

Each name is imported when it is first used, because importing Inspect takes seconds that
`clbench --help` need not spend.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from inspect_clbench.errors import ClbenchError
    from inspect_clbench.exam.task import judge_exam
    from inspect_clbench.scoring.rubric_judge import rubric_judge
    from inspect_clbench.tasks import clbench, clbench_graded, clbench_life

__all__ = [
    "ClbenchError",
    "clbench",
    "clbench_graded",
    "clbench_life",
    "judge_exam",
    "rubric_judge",
]


def __getattr__(name: str) -> Any:
    if name in __all__:
        module = "errors" if name == "ClbenchError" else "_registry"
        return getattr(import_module(f"inspect_clbench.{module}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
