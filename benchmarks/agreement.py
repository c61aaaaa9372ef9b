"""How often the intervals of agreement, kappa, alpha and error types hold the truth.

    python -m benchmarks.agreement [--simulations N]

Made-up judges of made-up answers: each context has its own chance that an answer is solved and
its own chance that a judge errs, both spread on the scale of log odds. The truth is what a very
large number of contexts gives. The same seed gives the same figures.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np

from inspect_clbench.analysis.statistics import Figure, kappa_figure, share_figure
from inspect_clbench.metrics.agreement import Array, Words, alpha, kappa, mean_share

SEED = 20260203
MANY = 300_000
JUDGES = 3
TRIPLES: list[Words] = list(product((True, False), repeat=JUDGES))

Statistic = Callable[[Array], Array]


@dataclass(frozen=True)
class Case:
    """Answers of some contexts, and how good their judges are."""

    name: str
    contexts: int
    mean_size: float  # answers of a context, at least one
    solved: float
    errs: float
    spread: float  # of both chances between contexts, on the scale of log odds


CASES = (
    Case("sheet of 12 rows", 12, 1.0, 0.25, 0.10, 0.5),
    Case("sheet of 60 rows", 55, 1.1, 0.25, 0.07, 0.5),
    Case("sheet of 60 rows, few solved", 55, 1.1, 0.10, 0.05, 0.5),
    Case("small group", 30, 3.8, 0.25, 0.10, 1.0),
    Case("one full run", 500, 3.8, 0.20, 0.05, 1.0),
    Case("one full run, judges far apart", 500, 3.8, 0.20, 0.25, 1.0),
)
FIGURES: dict[str, tuple[Callable[[Statistic, Array], Figure], Statistic]] = {
    "agreement": (share_figure, partial(mean_share, TRIPLES)),
    "kappa": (kappa_figure, partial(kappa, TRIPLES)),
    "alpha": (kappa_figure, partial(alpha, TRIPLES)),
    # The share of answers of which the first judge says yes stands for an error type.
    "error type": (share_figure, lambda c: c[..., :4].sum(-1) / c.sum(-1)),
}


def counts_of(case: Case, contexts: int, draw: np.random.Generator) -> Array:
    """How often each combination of three judges' words occurs in each context."""
    sizes = 1 + draw.poisson(case.mean_size - 1, contexts)
    solved, errs = (
        1
        / (1 + np.exp(-(math.log(p / (1 - p)) + case.spread * draw.standard_normal(contexts))))
        for p in (case.solved, case.errs)
    )
    chances = np.zeros((contexts, len(TRIPLES)))
    for place, words in enumerate(TRIPLES):
        for truth, chance in ((True, solved), (False, 1 - solved)):
            said = [np.where(word == truth, 1 - errs, errs) for word in words]
            chances[:, place] += chance * np.prod(said, axis=0)
    return draw.multinomial(sizes, chances / chances.sum(-1, keepdims=True)).astype(float)


def coverage(case: Case, simulations: int) -> Iterator[str]:
    draw = np.random.default_rng(SEED)
    whole = counts_of(case, MANY, draw).sum(0)
    truths = {name: float(figure(whole)) for name, (_, figure) in FIGURES.items()}
    held = dict.fromkeys(FIGURES, 0)
    given = dict.fromkeys(FIGURES, 0)
    for _ in range(simulations):
        counts = counts_of(case, case.contexts, draw)
        for name, (interval, figure) in FIGURES.items():
            _, low, high = interval(figure, counts)
            if low is not None and high is not None:
                given[name] += 1
                held[name] += low <= truths[name] <= high
    for name, truth in truths.items():
        share = held[name] / given[name] if given[name] else math.nan
        none = simulations - given[name]
        yield f"{case.name:32} {name:12} {truth:7.3f} {share:10.3f} {none:8}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, default=250)
    simulations = parser.parse_args().simulations
    start = time.perf_counter()
    print(f"Coverage of nominal 95 % intervals, {simulations} simulations each, seed {SEED}")
    print(f"{'case':32} {'figure':12} {'truth':>7} {'coverage':>10} {'none':>8}")
    for case in CASES:
        for line in coverage(case, simulations):
            print(line, flush=True)
    print(f"{time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
