"""How often comparisons of models hold, on made-up answers to the real contexts.

    python -m benchmarks.comparisons [--simulations N]

Contexts have the categories and sizes of the real dataset where it is there, else made-up ones
(the first line says which). Contexts and tasks are harder or easier for all models, and for
each of them, by normal effects on the log odds; runs of a task are independent. The truth is
the models' mean over such contexts and tasks.

Two models: how often the interval of the difference holds the truth, and how often a
difference is claimed where there is none. Four models: how often the intervals of all six pairs
hold together, and how often the ranks of all models hold. The same seed gives the same figures.
"""

import argparse
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.coverage import LEAST, SEED, Context, structure
from inspect_clbench.analysis.paired import PairedTask, all_pairs, difference_of, rank_sets

LEVEL_OF_ODDS = -2.0
SPREADS = {"context": 1.2, "task": 1.2, "context, own": 0.7, "task, own": 0.7}
RUNS = 3
DRAWS = 499
MOST_CLAIMED = 0.07
"""The aim is 0.05."""

TWO = {"no difference": (0.0, 0.0), "a difference": (0.0, 0.4)}
FOUR = {
    "all alike": (0.0, 0.0, 0.0, 0.0),
    "two alike": (0.0, 0.0, 0.3, 0.8),
    "all unlike": (0.0, 0.1, 0.4, 0.8),
}
KINDS = ("overall", "category", "sub-category")


def true_rates(better: Sequence[float]) -> list[float]:
    """The mean of each model over contexts and tasks of the kind."""
    spread = sum(value**2 for value in SPREADS.values()) ** 0.5
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    weights = weights / weights.sum()
    return [
        float(weights @ (1 / (1 + np.exp(-(LEVEL_OF_ODDS + b + spread * points)))))
        for b in better
    ]


def made_up(
    contexts: Sequence[Context], better: Sequence[float], rng: np.random.Generator
) -> list[tuple[Context, PairedTask]]:
    """The answers of models, so much better each on the scale of log odds."""
    sizes = [context.tasks for context in contexts]
    models, tasks = len(better), sum(sizes)
    odds = LEVEL_OF_ODDS + np.array(better)[:, None] + np.zeros((models, tasks))
    for name, spread in SPREADS.items():
        each = models if name.endswith("own") else 1
        if name.startswith("context"):
            odds = odds + np.repeat(rng.normal(0, spread, (each, len(sizes))), sizes, axis=1)
        else:
            odds = odds + rng.normal(0, spread, (each, tasks))
    rates = (rng.binomial(RUNS, 1 / (1 + np.exp(-odds))) / RUNS).T.tolist()
    of = [context for context in contexts for _ in range(context.tasks)]
    return [
        (context, PairedTask(str(i), context.name, context.category, tuple(rate)))
        for i, (context, rate) in enumerate(zip(of, rates, strict=True))
    ]


def by_group(
    tasks: Sequence[tuple[Context, PairedTask]],
) -> Iterator[tuple[tuple[str, str], list[PairedTask]]]:
    groups: defaultdict[tuple[str, str], list[PairedTask]] = defaultdict(list)
    for context, task in tasks:
        groups["overall", "all tasks"].append(task)
        groups["category", context.category].append(task)
        groups["sub-category", context.sub_category].append(task)
    yield from groups.items()


def two_models(contexts: Sequence[Context], times: int) -> list[str]:
    """Coverage and claims of the paired difference; returns what misses the aim."""
    print(
        f"Two models, {times:,} simulations a row: share of 95 % intervals that held the true"
    )
    print("difference, or of differences claimed; in brackets the least and most of the groups")
    outside = []
    for name, better in TWO.items():
        rng = np.random.default_rng(SEED)
        a, b = true_rates(better)
        held: Counter[tuple[str, str]] = Counter()
        claimed: Counter[tuple[str, str]] = Counter()
        for _ in range(times):
            for key, tasks in by_group(made_up(contexts, better, rng)):
                one = difference_of(tasks)
                low, high = one.low, one.high
                held[key] += low is None or high is None or low <= a - b <= high
                claimed[key] += one.told_apart
        print(f"{name}, {100 * a:.1f} and {100 * b:.1f} %")
        for what, counts in (("held", held), ("claimed", claimed)):
            shares = {key: counts[key] / times for key in held}
            print(
                f"  {what:8}" + "".join(f"{_cell(shares, kind):36}" for kind in KINDS).rstrip()
            )
            for key, share in shares.items():
                missed = share < LEAST if what == "held" else a == b and share > MOST_CLAIMED
                if missed:
                    outside.append(f"two models, {name}, {key[1]}: {what} {share:.3f}")
    return outside


def _cell(shares: dict[tuple[str, str], float], kind: str) -> str:
    found = [share for key, share in shares.items() if key[0] == kind]
    between = f" ({min(found):.3f} to {max(found):.3f})" if len(found) > 1 else ""
    return f"{kind} {sum(found) / len(found):.3f}{between}"


def four_models(contexts: Sequence[Context], times: int) -> list[str]:
    """Coverage of all pairs together and of all ranks; returns what misses the aim."""
    print(
        f"Four models, {times:,} simulations, {DRAWS} draws each: share in which the intervals"
    )
    print("of all six pairs held, and in which the ranks of all models held")
    print(f"{'':46}{'pairs':>8}{'ranks':>8}{'ranks left':>12}")
    outside = []
    for name, better in FOUR.items():
        rng = np.random.default_rng(SEED)
        truth = true_rates(better)
        true_pairs = [a - b for i, a in enumerate(truth) for b in truth[i + 1 :]]
        counts: Counter[tuple[str, str]] = Counter()
        groups: list[str] = []
        for seed in range(times):
            for (kind, group), tasks in by_group(made_up(contexts, better, rng)):
                if kind == "sub-category":
                    continue
                groups = [*dict.fromkeys([*groups, group])]
                pairs = all_pairs(tasks, seed, DRAWS)
                ranks = rank_sets(4, pairs)
                counts[group, "pairs"] += all(
                    one.low is None or one.high is None or one.low <= true <= one.high
                    for one, true in zip(pairs, true_pairs, strict=True)
                )
                # Models that are alike may take any of the ranks that they share.
                counts[group, "ranks"] += all(
                    best <= 1 + sum(other > own for other in truth)
                    and sum(other >= own for other in truth) <= worst
                    for own, (best, worst) in zip(truth, ranks, strict=True)
                )
                counts[group, "left"] += sum(worst - best + 1 for best, worst in ranks)
        for group in groups:
            shares = [counts[group, what] / times for what in ("pairs", "ranks")]
            left = counts[group, "left"] / times / 4
            print(f"{f'{name}, {group}':48.48}{shares[0]:6.3f}{shares[1]:8.3f}{left:12.1f}")
            outside += [f"{name}, {group}: {share:.3f}" for share in shares if share < LEAST]
    return outside


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1_000)
    options = parser.parse_args()
    source, contexts = structure()
    print(f"Contexts: {source}. Seed {SEED}; {RUNS} runs.")
    start = time.perf_counter()
    print()
    outside = two_models(contexts, options.simulations)
    print()
    outside += four_models(contexts, max(options.simulations // 2, 1))
    print(
        f"\n{len(outside)} figures below {LEAST} or claims above {MOST_CLAIMED}",
        *outside,
        sep="\n  ",
    )
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
