"""What a scorer can tell from the state it is given."""

from inspect_ai.solver import TaskState
from inspect_ai.util import sample_limits

from inspect_clbench.taxonomy import CLBENCH, benchmark_of


def in_running_sample() -> bool:
    """Whether a run is going on, rather than the scoring of a log after it."""
    try:
        sample_limits()
    except RuntimeError:
        return False
    return True


def never_answered(state: TaskState) -> bool:
    """Whether this is a log's sample that ended in an error: there is nothing to judge."""
    return not state.output.choices and not in_running_sample()


def usual_effort(state: TaskState) -> str:
    """The reasoning effort at which the benchmark's authors run the default judge."""
    # Known from the sample alone, so that `inspect score` finds it too.
    benchmark = benchmark_of(str(state.metadata.get("context_category"))) or CLBENCH
    return benchmark.judge_effort


def answer_id(state: TaskState) -> str | None:
    """The message that holds the answer, for the viewer to point at."""
    return state.output.message.id if state.output.choices else None
