"""How often intervals hold the truth, on made-up answers to the real contexts.

    python -m benchmarks.coverage [--simulations N] [--part NAME]

Contexts have the categories and sizes of the real dataset where it is there, else made-up ones
(the first line says which). A context's chance of being solved comes from a beta
distribution, so that its tasks are alike. For a full run the truth is the mean of that
distribution; for a draw it is the rate of all tasks in the same made-up run.

The same seed gives the same figures. Further parts are functions of `PARTS`.
"""

import argparse
import json
import lzma
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from inspect_clbench.analysis.noise import COMPONENTS, variance_components
from inspect_clbench.analysis.statistics import Design, Rate, rate_of
from inspect_clbench.data.selection import draw_contexts
from inspect_clbench.metrics.solving import Trial

REAL_DATA = Path("../shared/data/CL-bench.jsonl.xz")
SEED = 20260203
RATES = (0.05, 0.2, 0.5)
DRAWS = (25, 50, 150)
ALIKE = 0.3
"""The correlation of two tasks of a context: an assumption."""

LEAST = 0.93
"""The aim; above 0.98 an interval is wider than it need be."""


@dataclass(frozen=True)
class Context:
    name: str
    category: str
    sub_category: str
    tasks: int


def structure() -> tuple[str, list[Context]]:
    """Where the contexts come from, and the contexts."""
    if REAL_DATA.exists():
        with lzma.open(REAL_DATA, "rt", encoding="utf-8") as lines:
            told = [json.loads(line)["metadata"] for line in lines]
        found = Counter(
            (str(one["context_id"]), str(one["context_category"]), str(one["sub_category"]))
            for one in told
        )
        source = f"the real dataset, {len(told):,} tasks in {len(found)} contexts"
        return source, [Context(*key, tasks) for key, tasks in sorted(found.items())]
    rng = np.random.default_rng(SEED)
    contexts = [
        Context(f"{category}-{sub}-{n}", category, f"{category}-{sub}", int(rng.integers(1, 8)))
        for category, subs in {"A": 7, "B": 5, "C": 3, "D": 3}.items()
        for sub in range(subs)
        for n in range((15, 20, 40)[sub % 3])
    ]
    return "made-up contexts, because the real dataset is not there", contexts


def made_up(
    contexts: Sequence[Context], rate: float, rng: np.random.Generator, runs: int = 1
) -> Iterator[tuple[Context, Trial]]:
    """One model's answers: tasks of a context are alike, runs of a task are independent."""
    odds = (1 - ALIKE) / ALIKE
    chances = rng.beta(rate * odds, (1 - rate) * odds, len(contexts))
    for context, chance in zip(contexts, chances, strict=True):
        for run in range(1, runs + 1):
            for solved in rng.random(context.tasks) < chance:
                yield context, Trial(run, context.name, bool(solved))


class Tally:
    """How often the truth was inside, per group of tasks."""

    def __init__(self) -> None:
        self.inside: Counter[tuple[str, str]] = Counter()
        self.given: Counter[tuple[str, str]] = Counter()
        self.asked: Counter[tuple[str, str]] = Counter()

    def add(self, kind: str, group: str, rate: Rate, truth: float) -> None:
        assert rate.interval is not None
        low, high = rate.interval
        self.asked[kind, group] += 1
        self.given[kind, group] += low == low
        self.inside[kind, group] += low <= truth <= high

    def shares(self, kind: str) -> dict[str, float]:
        found = {key: n for key, n in self.given.items() if key[0] == kind and n}
        return {key[1]: self.inside[key] / n for key, n in found.items()}

    def row(self, name: str) -> str:
        cells = []
        for kind in ("overall", "category", "sub-category"):
            shares = self.shares(kind).values()
            given = sum(n for key, n in self.given.items() if key[0] == kind)
            asked = sum(n for key, n in self.asked.items() if key[0] == kind)
            text = "–"
            if shares:
                held = sum(n for key, n in self.inside.items() if key[0] == kind)
                text = f"{held / given:.3f} ({min(shares):.3f} to {max(shares):.3f})"
                text += "" if given == asked else f" of {given / asked:.0%}"
            cells.append(f"{text:30}")
        return f"{name:31}" + "".join(cells).rstrip()


def by_group(
    answers: Sequence[tuple[Context, Trial]],
) -> dict[tuple[str, str], list[Trial]]:
    groups: defaultdict[tuple[str, str], list[Trial]] = defaultdict(list)
    for context, trial in answers:
        groups["overall", ""].append(trial)
        groups["category", context.category].append(trial)
        groups["sub-category", context.sub_category].append(trial)
    return groups


def full_run(contexts: Sequence[Context], rate: float, times: int) -> Tally:
    rng, tally = np.random.default_rng(SEED), Tally()
    for _ in range(times):
        for (kind, group), trials in by_group([*made_up(contexts, rate, rng)]).items():
            tally.add(kind, group, rate_of(trials, ci=True), rate)
    return tally


def few_contexts(contexts: Sequence[Context], times: int) -> list[str]:
    """Coverage where a group has few contexts: those of the real sizes, in random choice."""
    sizes = (3, 5, 8, 12, 20, 30)
    print("The same for groups of few contexts, full runs")
    print(f"{'contexts':12}" + "".join(f"{size:8}" for size in sizes))
    outside = []
    for rate in RATES:
        cells = []
        for size in sizes:
            rng, held = np.random.default_rng(SEED), 0
            for _ in range(times):
                some = [contexts[i] for i in rng.choice(len(contexts), size, replace=False)]
                trials = [trial for _, trial in made_up(some, rate, rng)]
                low, high = rate_of(trials, ci=True).interval or (0.0, 0.0)
                held += low <= rate <= high
            cells.append(held / times)
            if held / times < LEAST:
                outside.append(f"{size} contexts at {rate:.0%}: {held / times:.3f}")
        print(f"rate {rate:<7.0%}" + "".join(f"{cell:8.3f}" for cell in cells), flush=True)
    return outside


def drawn_run(contexts: Sequence[Context], rate: float, size: int, times: int) -> Tally:
    rng, tally = np.random.default_rng(SEED), Tally()
    tasks = [(c.category, c.name) for c in contexts for _ in range(c.tasks)]
    for seed in range(times):
        if seed % 20 == 0:  # the same benchmark is drawn from some times
            answers = list(made_up(contexts, rate, rng))
            truths = {
                key: sum(trial.solved for trial in trials) / len(trials)
                for key, trials in by_group(answers).items()
            }
        draw = draw_contexts(tasks, size, seed)
        weights = {name: s.tasks / s.drawn_tasks for name, s in draw.strata.items()}
        names = {name for some in draw.drawn.values() for name in some}
        chosen = [
            (context, trial._replace(weight=weights[context.category]))
            for context, trial in answers
            if context.name in names
        ]
        design = Design(
            {context.name: context.category for context, _ in chosen},
            Counter(context.name for context, _ in chosen),
            {name: s.drawn_contexts / s.contexts for name, s in draw.strata.items()},
        )
        for key, trials in by_group(chosen).items():
            tally.add(*key, rate_of(trials, ci=True, design=design), truths[key])
    return tally


def intervals(contexts: Sequence[Context], times: int) -> list[str]:
    """Coverage of the intervals of rates; returns what is below the aim."""
    print(f"95 % intervals of rates: share that held the truth, {times:,} simulations a row;")
    print("in brackets the least and the most of the groups; `of n %`: share with an interval")
    print(f"{'':31}{'overall':30}{'categories':30}sub-categories")
    outside = []
    for rate in RATES:
        rows = {"full run": full_run(contexts, rate, times)}
        for size in DRAWS:
            rows[f"draw of {size} contexts"] = drawn_run(contexts, rate, size, times)
        for name, tally in rows.items():
            print(tally.row(f"{name}, rate {rate:.0%}"), flush=True)
            for kind in ("overall", "category", "sub-category"):
                for group, share in tally.shares(kind).items():
                    if share < LEAST:
                        outside.append(f"{name} at {rate:.0%}, {kind} {group}: {share:.3f}")
    return outside


def noise(contexts: Sequence[Context], times: int) -> list[str]:
    """Variance components that are known: are their estimates right on average?"""
    rate, of_contexts, of_tasks, wrong, runs = 0.25, 0.25, 0.3, 0.05, 3
    left = rate * (1 - rate) * (1 - 2 * wrong) ** 2  # a judge that errs blurs the rest
    truth = {
        "context": left * of_contexts,
        "task": left * (1 - of_contexts) * of_tasks,
        "run": left * (1 - of_contexts) * (1 - of_tasks),
        "judge": wrong * (1 - wrong),
    }
    rng = np.random.default_rng(SEED)
    found = []
    for _ in range(max(times // 10, 2)):
        chances = _beta(rng, np.full(len(contexts), rate), of_contexts)
        values = []
        for context, chance in zip(contexts, chances, strict=True):
            tasks = _beta(rng, np.full(context.tasks, chance), of_tasks)
            solved = rng.random((context.tasks, runs)) < tasks[:, None]
            verdicts = solved[:, :, None] ^ (rng.random((context.tasks, runs, 2)) < wrong)
            values.append(verdicts.astype(float).tolist())
        found.append(variance_components(values))
    print(
        f"Variance components of verdicts, {len(found)} simulations of {runs} runs, judged twice"
    )
    print(f"{'':12}{'true':>9}{'estimated':>11}{'off by standard errors':>25}")
    outside = []
    for part in COMPONENTS:
        values_of = np.array([one[part] for one in found], dtype=float)
        off = (values_of.mean() - truth[part]) / (values_of.std(ddof=1) / len(found) ** 0.5)
        print(f"{part:12}{truth[part]:9.4f}{values_of.mean():11.4f}{off:25.1f}")
        if abs(off) > 4:
            outside.append(f"variance component {part}: off by {off:.1f} standard errors")
    return outside


def _beta(rng: np.random.Generator, means: np.ndarray, alike: float) -> np.ndarray:
    odds = (1 - alike) / alike
    means = np.clip(means, 1e-9, 1 - 1e-9)
    return rng.beta(means * odds, (1 - means) * odds)


Part = Callable[[Sequence[Context], int], list[str]]
PARTS: dict[str, Part] = {"intervals": intervals, "few": few_contexts, "noise": noise}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=1_000)
    parser.add_argument("--part", choices=PARTS, action="append")
    options = parser.parse_args()
    source, contexts = structure()
    print(f"Contexts: {source}. Seed {SEED}; tasks of a context correlate by {ALIKE}.")
    start = time.perf_counter()
    outside = []
    for name in options.part or PARTS:
        print()
        outside += PARTS[name](contexts, options.simulations)
    print(f"\n{len(outside)} figures below {LEAST} or off", *outside, sep="\n  ")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
