"""How often a comparison shows the difference that `clbench plan` says it shows with a power of 80 %.

    python -m benchmarks.power [--simulations N]

Two made-up models answer drawn contexts of the sizes of CL-bench's. Contexts and tasks are harder or easier by
as much as the plan assumes, half of it for both models alike, and one model is better by the planned difference.
Counted is how often `compare` shows it, and what `compare` says that such data show. The same seed gives the
same figures.
"""

import argparse
import sys
import time

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from inspect_clbench.results.estimates import POWER, SEED, Array, paired_difference, smallest_difference
from inspect_clbench.results.plan import CLBENCH_ROWS, COMMON, OF_CONTEXTS, OF_TASKS, RATE, planned_difference

Counts = NDArray[np.int_]

DESIGNS = ((25, 1), (50, 1), (50, 3), (100, 1), (100, 3), (200, 1), (500, 1), (500, 3))
NEAR = 0.04
"""How far from 80 % a figure may be."""


def chances(sizes: Counts, rng: np.random.Generator) -> Array:
    """A model's chance on each task: beta distributed over contexts, and in them over tasks."""
    of_context = np.repeat(beta(np.full(len(sizes), RATE), OF_CONTEXTS, rng), sizes)
    return beta(of_context, OF_TASKS / (1 - OF_CONTEXTS), rng)


def beta(means: Array, alike: float, rng: np.random.Generator) -> Array:
    """Draws with a variance of `alike` x mean x (1 - mean)."""
    means = np.clip(means, 1e-9, 1 - 1e-9)
    return rng.beta(means * (1 / alike - 1), (1 - means) * (1 / alike - 1))


def answers(chance: Array, context_ids: Counts, epochs: int, rng: np.random.Generator) -> pd.DataFrame:
    runs = [
        pd.DataFrame({"run": run, "context_id": context_ids, "id": np.arange(len(chance)), "solved": solved})
        for run, solved in enumerate(rng.random((epochs, len(chance))) < chance)
    ]
    return pd.concat(runs).astype({"solved": float})


def comparison(contexts: int, epochs: int, difference: float, rng: np.random.Generator) -> tuple[bool, float]:
    """Whether a comparison shows the better model, and the difference that it says it could show."""
    sizes = rng.choice(CLBENCH_ROWS.sizes, contexts, replace=False)
    weaker, independent = chances(sizes, rng), chances(sizes, rng)
    context_ids = np.repeat(np.arange(contexts), sizes)
    is_common = (rng.random(contexts) < COMMON)[context_ids]
    better = np.where(is_common, weaker, independent)
    better += difference * (1 - better) / (1 - RATE)  # on average the difference, and never above 1
    a, b = (answers(chance, context_ids, epochs, rng) for chance in (better, weaker))
    estimate = paired_difference(a, b)
    return estimate.low > 0, smallest_difference(estimate.stderr, contexts)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2_000)
    simulations = parser.parse_args().simulations
    rng = np.random.default_rng(SEED)
    began = time.monotonic()
    print(f"{simulations:,} comparisons each, at a solving rate of {RATE:.0%}; differences in points.\n")
    print("contexts  epochs  planned  shown  compare says")
    worst = 0.0
    for contexts, epochs in DESIGNS:
        planned = planned_difference(CLBENCH_ROWS.sizes, contexts, epochs)
        shown, smallest = zip(
            *(comparison(contexts, epochs, planned, rng) for _ in range(simulations)), strict=True
        )
        share = float(np.mean(shown))
        worst = max(worst, abs(share - POWER))
        print(
            f"{contexts:8}  {epochs:6}  {100 * planned:7.2f}  {share:5.3f}  {100 * np.mean(smallest):12.2f}",
            flush=True,
        )
    holds = worst <= NEAR
    print(f"\nClaim (each within {NEAR} of {POWER}): {'holds' if holds else 'DOES NOT HOLD'}")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
