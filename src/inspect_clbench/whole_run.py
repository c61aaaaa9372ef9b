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


class WholeRun:
    """Refuses a run that could not succeed, and stops one whose judge is gone.

    An early-stopping manager, because that is whom Inspect tells of the samples and
    epochs of a run, just before anything runs, and of each sample that is done.
    """

    def __init__(self) -> None:
        self._watch = JudgeWatch()

    async def start_task(self, task: EvalSpec, samples: list[Sample], epochs: int) -> str:
        if not samples:
            raise ClbenchError(
                "No sample was chosen for this run. Inspect counts --limit from 1: the first "
                "500 samples are --limit 1-500, the next ones --limit 501-1000."
            )
        check_replay(task, samples, epochs)
        await self._watch.start()
        # Python looks through everything that is loaded for garbage again and again, for
        # some tenths of a second each time in which no reply is received. What is there
        # before the first sample stays for the run, so it is left out until its end.
        gc.collect(1)  # the young garbage; a full pass would take its time here too
        gc.freeze()
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
        self._watch.end()
        return {}
