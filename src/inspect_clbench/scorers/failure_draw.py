"""A random draw of exactly N failures a run, made while the failures are still coming in."""

import hashlib
from bisect import insort

import anyio
from anyio.lowlevel import RunVar
from inspect_ai.solver import TaskState

from inspect_clbench.scorers.states import in_running_sample

# When a log is scored all its samples come at once, or as fast as they are read. So
# long without a new one and those that will come together are there.
QUIET_SECONDS = 0.5


class FailureDraw:
    """Draws the N failures of each run that come first in a random order.

    A scorer sees one sample at a time and never learns how many failures a run has.
    So every failure has a rank, a hash of seed, task and run; the draw of a run is its
    N lowest ranks, whatever the order in which they come. A failure is taken if it is
    among the lowest so far. Scoring a log, which hands over all samples together,
    takes exactly N. Where they come in parts (during a run, or with --stream) some are
    taken that later ones push out; the metrics leave those out again.
    """

    def __init__(self, most: int, seed: int) -> None:
        self._most = most
        self._seed = seed
        # One scorer may serve several logs, one event loop after the other.
        self._runs: RunVar[dict[tuple[str, int], _Run]] = RunVar(f"failure_draw_{id(self)}")

    def rank(self, state: TaskState) -> str:
        """A failure's place in the random order."""
        name = f"{self._seed}\n{state.sample_id}\n{state.epoch}"
        return hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:16]

    async def takes(self, state: TaskState) -> bool:
        """Whether a failure belongs to the draw, as far as can be known now."""
        rank = self.rank(state)
        run = self._run(str(state.model), state.epoch)
        run.arrived += 1
        if rank not in run.lowest:
            insort(run.lowest, rank)
            del run.lowest[self._most :]
        if not in_running_sample():
            arrived = -1
            while rank in run.lowest and arrived != run.arrived:
                arrived = run.arrived
                await anyio.sleep(QUIET_SECONDS)
        return rank in run.lowest

    def _run(self, model: str, epoch: int) -> "_Run":
        runs = self._runs.get(None)
        if runs is None:
            runs = {}
            self._runs.set(runs)
        return runs.setdefault((model, epoch), _Run())


class _Run:
    def __init__(self) -> None:
        self.lowest: list[str] = []
        self.arrived = 0
