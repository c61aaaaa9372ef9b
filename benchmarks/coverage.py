"""How often the 95 % intervals that `report` prints hold the truth.

    python -m benchmarks.coverage [--simulations N]

Made-up answers to the real dataset's tasks: each context has a chance of being solved, from a beta
distribution, so that its tasks are alike; each task has one around it, so that runs of a task are alike.
Of a full run the truth is the mean of the first distribution: other contexts of this kind. Of a draw of
contexts it is the rate of all tasks in the same runs. The same seed gives the same figures.
"""

import argparse
import json
import lzma
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from inspect_clbench.data.selection import draw_contexts
from inspect_clbench.results.estimates import solving_rate
from inspect_clbench.results.report import OVERALL

REAL_DATA = Path("../shared/data/CL-bench.jsonl.xz")
SEED = 20260203
RATES = (0.05, 0.2, 0.6)
RUNS = (1, 3)
DRAWS = (25, 50, 150)
DRAWS_OF_A_RUN = 5  # the same made-up runs are drawn from so many times
ALIKE_TASKS, ALIKE_RUNS = 0.3, 0.5  # correlations: of tasks of a context, of runs of a task; assumptions
LEAST = 0.935  # the aim

Tally = defaultdict[str, list[bool]]


def tasks_and_contexts() -> pd.DataFrame:
    """The real dataset's tasks with their contexts and categories."""
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: not there, and the contexts are those of the real dataset.")
    with lzma.open(REAL_DATA, "rt", encoding="utf-8") as lines:
        metadata = [json.loads(line)["metadata"] for line in lines]
    contexts, _ = pd.factorize(
        pd.Series([row["context_id"] for row in metadata])
    )  # numbers: quicker to group
    return pd.DataFrame({"context_id": contexts, "category": [row["context_category"] for row in metadata]})


def made_up(tasks: pd.DataFrame, rate: float, runs: int, rng: np.random.Generator) -> pd.DataFrame:
    """The answers of one model, a row per task and run."""
    of_contexts = _beta(np.full(tasks["context_id"].nunique(), rate), ALIKE_TASKS, rng)
    chances = _beta(of_contexts[tasks["context_id"]], ALIKE_RUNS, rng)
    answers = [tasks.assign(run=run, solved=rng.random(len(tasks)) < chances) for run in range(1, runs + 1)]
    return pd.concat(answers).astype({"solved": float})


def _beta(means: NDArray[np.float64], alike: float, rng: np.random.Generator) -> NDArray[np.float64]:
    """Chances around these means; two tries with the same chance correlate so much."""
    odds = (1 - alike) / alike
    inner = np.clip(means, 1e-6, 1 - 1e-6)  # the distribution has no form at its ends
    return rng.beta(inner * odds, (1 - inner) * odds)


def groups(answers: pd.DataFrame) -> Iterator[tuple[str, pd.DataFrame]]:
    yield OVERALL, answers
    yield from answers.groupby("category")


def full_runs(tasks: pd.DataFrame, rate: float, runs: int, times: int) -> Tally:
    rng, tally = np.random.default_rng(SEED), Tally(list)
    for _ in range(times):
        for group, answers in groups(made_up(tasks, rate, runs, rng)):
            estimate = solving_rate(answers)
            tally[group].append(estimate.low <= rate <= estimate.high)
    return tally


def draws(tasks: pd.DataFrame, rate: float, size: int, times: int) -> Tally:
    rng, tally = np.random.default_rng(SEED), Tally(list)
    pairs = list(zip(tasks["category"], tasks["context_id"].astype(str), strict=True))
    for seed in range(times):
        if seed % DRAWS_OF_A_RUN == 0:
            answers = made_up(tasks, rate, 1, rng)
            truths = {group: solving_rate(rows).mean for group, rows in groups(answers)}
        contexts = {int(context) for _, context in draw_contexts(pairs, size, seed)}
        drawn = answers[answers["context_id"].isin(contexts)]
        for group, rows in groups(drawn):
            estimate = solving_rate(rows)
            if not np.isnan(estimate.low):
                tally[group].append(estimate.low <= truths[group] <= estimate.high)
    return tally


def line(title: str, tally: Tally) -> tuple[str, float]:
    """How a setting is printed, and its lowest figure."""
    ordered = sorted(tally, key=lambda name: name != OVERALL)
    overall, *categories = [float(np.mean(tally[group])) for group in ordered]
    least, most = min(categories), max(categories)
    text = f"{title:34}{overall:8.3f}{np.mean(categories):13.3f}   ({least:.3f} to {most:.3f})"
    return text, min(overall, least)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--simulations", type=int, default=4_000)
    times = parser.parse_args().simulations
    tasks, start = tasks_and_contexts(), time.perf_counter()
    print(
        f"{len(tasks):,} tasks in {tasks['context_id'].nunique()} real contexts, seed {SEED}. Tasks of a context"
    )
    print(
        f"correlate by {ALIKE_TASKS}, runs of a task beyond that by {ALIKE_RUNS}. {times:,} simulations a line.\n"
    )
    print(f"{'share that held the truth':34}{'overall':>8}{'categories':>13}   (least to most)")
    lowest = 1.0
    for rate in RATES:
        settings = [(f"{runs} run{'s' * (runs > 1)}", full_runs(tasks, rate, runs, times)) for runs in RUNS]
        settings += [(f"draw of {size} contexts", draws(tasks, rate, size, times)) for size in DRAWS]
        for title, tally in settings:
            text, least = line(f"rate {rate:.0%}, {title}", tally)
            lowest = min(lowest, least)
            print(text, flush=True)
    print(
        f"\nThe lowest figure is {lowest:.3f}; the aim is {LEAST} and more, and chance moves a figure by 0.007."
    )
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
