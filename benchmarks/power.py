"""How often a planned comparison shows its difference: the plan's figure against simulation.

    python -m benchmarks.power [--simulations N]

Two made-up models answer drawn contexts of the real dataset (of made-up sizes where it is not
there). Contexts and tasks are harder or easier for both and for each of them; runs of a task are
independent. One model is better by the difference that `clbench plan` says can be shown with
80 % power; counted is how often a test of the paired difference, clustered on contexts, shows
it. The same seed gives the same figures.
"""

import argparse
import sys
import time

import numpy as np
from scipy.stats import t as student

from benchmarks.coverage import SEED, structure
from inspect_clbench.analysis.power import Spread, detectable
from inspect_clbench.analysis.statistics import POWER

RATE = 0.3
CONTEXT, TASK = (
    0.12,
    0.08,
)  # standard deviations of what is common, and of what is a model's own
DESIGNS = ((50, 1), (50, 3), (100, 1), (100, 3), (200, 1), (500, 1), (500, 3))
NEAR = 0.03
"""How far from 80 % a figure may be."""


def chances(sizes: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """The chances of two equally good models on each task."""

    def effects(deviation: float, number: int) -> np.ndarray:
        return rng.normal(0, deviation, (3, number))

    of_context = np.repeat(effects(CONTEXT, len(sizes)), sizes, axis=1)
    both, first, second = of_context + effects(TASK, int(sizes.sum()))
    return np.clip(RATE + both + first, 0, 1), np.clip(RATE + both + second, 0, 1)


def spread_of(sizes: np.ndarray, rng: np.random.Generator) -> Spread:
    """The true variances, from many contexts."""
    many = np.tile(sizes, 200)
    one, other = chances(many, rng)
    ends = np.cumsum(many)[:-1]
    pairs = [part for part in np.split(one, ends) if len(part) > 1]
    task = float(np.concatenate([part - part.mean() for part in pairs]).var())
    task *= sum(map(len, pairs)) / sum(len(part) - 1 for part in pairs)
    whole = float(one.var())
    own = float((one - other).var()) / 2
    run = float((one * (1 - one)).mean())
    return Spread(whole - task, task, run, float(one.mean()), shared=1 - own / whole)


def shown(
    sizes: np.ndarray, contexts: int, epochs: int, difference: float, rng: np.random.Generator
) -> bool:
    """Whether one comparison shows that the second model is better."""
    drawn = rng.choice(sizes, contexts, replace=False)
    one, other = chances(drawn, rng)
    other = np.clip(other + difference, 0, 1)
    solved = rng.binomial(epochs, other) - rng.binomial(epochs, one)
    sums = np.add.reduceat(solved / epochs, np.r_[0, np.cumsum(drawn)[:-1]])
    mean = sums.sum() / drawn.sum()
    left = sums - mean * drawn
    error = np.sqrt((left**2).sum() * contexts / (contexts - 1)) / drawn.sum()
    return bool(mean / error > student.isf(0.025, contexts - 1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=2_000)
    simulations = parser.parse_args().simulations
    rng = np.random.default_rng(SEED)
    began = time.monotonic()
    source, found = structure()
    sizes = np.array([context.tasks for context in found])
    spread = spread_of(sizes, rng)
    print(f"Contexts: {source}. {simulations:,} comparisons each, at a rate of {RATE:.0%}.\n")
    print("contexts  epochs  difference in points  shown")
    worst = 0.0
    for contexts, epochs in DESIGNS:
        number = min(contexts, len(sizes))
        difference = detectable(sizes.tolist(), spread, epochs, number)
        share = float(
            np.mean([shown(sizes, number, epochs, difference, rng) for _ in range(simulations)])
        )
        worst = max(worst, abs(share - POWER))
        print(f"{number:8}  {epochs:6}  {100 * difference:20.2f}  {share:5.3f}")
    holds = worst <= NEAR
    print(f"\nClaim (each within {NEAR} of {POWER}): {'holds' if holds else 'DOES NOT HOLD'}")
    print(f"{time.monotonic() - began:.0f} s", file=sys.stderr)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
