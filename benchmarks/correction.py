"""How often the intervals of corrected solving rates hold the truth.

    python -m benchmarks.correction [--simulations N]

Answers to the real contexts (or made-up ones, as `benchmarks.coverage` has them), judged by
judges of known sensitivity and specificity; some of the verdicts are checked by a person who
never errs, as many of the judge's yes as of its no. The judge errs alike everywhere, or by
contexts: then each context has its own chances of an error, from beta distributions, so that
errors come together. The truth is the mean of the distribution that a context's chance of
being solved comes from. The same seed gives the same figures.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage import ALIKE, LEAST, SEED, Context, structure
from inspect_clbench.analysis.correction import FEWEST, rate_figure, rogan_gladen
from inspect_clbench.analysis.sampled import Item, sampled
from inspect_clbench.analysis.statistics import Figure, rate_of
from inspect_clbench.metrics.solving import Trial

RATES = (0.05, 0.2, 0.5)
LABELS = (40, 100, 300)


@dataclass(frozen=True)
class Judge:
    name: str
    sensitivity: float
    specificity: float
    alike: float = 0.0
    """The correlation of errors on two answers of a context."""


JUDGES = (
    Judge("good", 0.95, 0.99),
    Judge("strict", 0.75, 0.995),
    Judge("lenient", 0.97, 0.90),
    Judge("lenient, by contexts", 0.97, 0.90, 0.3),
)


def made_up(
    contexts: Sequence[Context],
    rate: float,
    judge: Judge,
    labels: int,
    rng: np.random.Generator,
) -> list[tuple[str, Item]]:
    """The answers of one run with their categories; some are checked."""
    sizes = [context.tasks for context in contexts]
    chances = np.repeat(_beta(rng, rate, ALIKE, len(contexts)), sizes)
    right = [
        np.repeat(_beta(rng, mean, judge.alike, len(contexts)), sizes)
        for mean in (judge.specificity, judge.sensitivity)
    ]
    solved = rng.random(len(chances)) < chances
    judged = solved == (rng.random(len(chances)) < np.where(solved, right[1], right[0]))
    checked = np.zeros(len(chances), dtype=bool)
    for verdict in (True, False):
        of, others = np.flatnonzero(judged == verdict), (judged != verdict).sum()
        # What the one has too few of, the other gives, as in a sheet.
        number = min(len(of), max(labels // 2, labels - int(others)))
        checked[rng.choice(of, number, replace=False)] = True
    places = [context for context in contexts for _ in range(context.tasks)]
    return [
        (c.category, Item(Trial(1, c.name, bool(j)), True, bool(s) if seen else None))
        for c, j, s, seen in zip(places, judged, solved, checked, strict=True)
    ]


def _beta(rng: np.random.Generator, mean: float, alike: float, size: int) -> np.ndarray:
    if not alike:
        return np.full(size, mean)
    odds = (1 - alike) / alike
    return rng.beta(mean * odds, (1 - mean) * odds, size)


class Held:
    """How often intervals were given, held the truth, and how wide they were."""

    def __init__(self) -> None:
        self.asked = self.given = self.held = 0
        self.width = 0.0

    def add(self, figure: Figure | None, truth: float) -> None:
        self.asked += 1
        if figure and figure.low is not None and figure.high is not None:
            self.given += 1
            self.held += figure.low <= truth <= figure.high
            self.width += figure.high - figure.low

    @property
    def share(self) -> float:
        return self.held / self.given if self.given else float("nan")

    def __str__(self) -> str:
        if self.given < 0.05 * self.asked:
            return f"{'–':24}"
        of = "" if self.given == self.asked else f" of {self.given / self.asked:.0%}"
        return f"{f'{self.share:.3f} ({100 * self.width / self.given:4.1f}){of}':24}"


def simulate(
    contexts: Sequence[Context], rate: float, judge: Judge, labels: int, times: int
) -> dict[str, Held]:
    rng = np.random.default_rng(SEED)
    held = {name: Held() for name in COLUMNS}
    for _ in range(times):
        answers = made_up(contexts, rate, judge, labels, rng)
        whole = sampled([item for _, item in answers])
        raw = rate_of([item.trial for _, item in answers], ci=True)
        held["judge's own"].add(Figure(raw.mean, *(raw.interval or ())), rate)
        held["corrected"].add(rate_figure(whole) if whole.has(FEWEST) else None, rate)
        for category in dict.fromkeys(category for category, _ in answers):
            part = sampled([item for own, item in answers if own == category])
            enough = part.has(FEWEST) and whole.has(FEWEST)
            held["categories"].add(rate_figure(part) if enough else None, rate)
            held["Rogan-Gladen"].add(rogan_gladen(part, whole) if enough else None, rate)
    return held


COLUMNS = ("judge's own", "corrected", "categories", "Rogan-Gladen")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=500)
    times = parser.parse_args().simulations
    source, contexts = structure()
    start = time.perf_counter()
    print(f"Contexts: {source}. Seed {SEED}; tasks of a context correlate by {ALIKE}.")
    print(f"95 % intervals of one run's solving rate: share that held the truth, {times:,}")
    print("simulations a row; in brackets the mean width in points; `of n %`: share with an")
    print("interval. Categories: prediction-powered, then Rogan and Gladen's.\n")
    print(f"{'':57}" + "".join(f"{name:24}" for name in COLUMNS).rstrip())
    below, rows = [], 0
    for judge in JUDGES:
        for rate in RATES:
            for labels in LABELS:
                found = simulate(contexts, rate, judge, labels, times)
                told = f"{judge.name} ({judge.sensitivity}, {judge.specificity})"
                name = f"{told}, rate {rate:.0%}, {labels} labels"
                print(f"{name:57}" + "".join(map(str, found.values())).rstrip(), flush=True)
                for column in COLUMNS[1:]:
                    if found[column].given >= 0.05 * found[column].asked:
                        rows += 1
                        if found[column].share < LEAST:
                            below.append(f"{name}, {column}: {found[column].share:.3f}")
    print(f"\n{len(below)} of {rows} corrected figures below {LEAST}", *below, sep="\n  ")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
