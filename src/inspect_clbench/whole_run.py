"""What concerns a run as a whole, before its first sample and after its last."""

import gc

from inspect_ai.dataset import Sample
from inspect_ai.log import EvalSpec
from inspect_ai.scorer import SampleScore
from inspect_ai.util import EarlyStop
from pydantic import JsonValue

from inspect_clbench.errors import ClbenchError
from inspect_clbench.replay import check_replay
from inspect_clbench.scorers.judge_watch import JudgeWatch

# Python's own 700 are reached more than once in each sample.
_OBJECTS_BETWEEN_PASSES = 10_000


class WholeRun:
    """Refuses a run that could not succeed, and stops one whose judge is gone.

    In between it has Python look for garbage less often.

    An early-stopping manager, because that is whom Inspect tells of the samples and
    epochs of a run, just before anything runs, and of each sample that is done.
    """

    def __init__(self) -> None:
        self._watch = JudgeWatch()
        self._usual_threshold: tuple[int, int, int] | None = None

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        if not samples:
            raise ClbenchError(
                "No sample was chosen for this run. Inspect counts --limit from 1: the first "
                "500 samples are --limit 1-500, the next ones --limit 501-1000."
            )
        check_replay(task, samples, epochs)
        await self._watch.start()
        self._spare_garbage_collection()
        return "clbench"

    async def schedule_sample(self, id: str | int, epoch: int) -> EarlyStop | None:
        self._watch.check()
        return None

    async def complete_sample(
        self, id: str | int, epoch: int, scores: dict[str, SampleScore]
    ) -> None:
        self._watch.count(scores)

    async def complete_task(self) -> dict[str, JsonValue]:
        gc.unfreeze()
        if self._usual_threshold:
            gc.set_threshold(*self._usual_threshold)
            self._usual_threshold = None
        self._watch.end()
        return {}

    def _spare_garbage_collection(self) -> None:
        """Have Python look for garbage less often, and not in what stays for the run.

        It takes about an eighth of the CPU otherwise, and while it goes through everything
        that is loaded no reply is received.
        """
        gc.freeze()
        usual = gc.get_threshold()
        if 0 < usual[0] < _OBJECTS_BETWEEN_PASSES:  # 0: the user turned it off
            gc.set_threshold(_OBJECTS_BETWEEN_PASSES, *usual[1:])
            self._usual_threshold = usual
