"""How often printed intervals hold the truth, and how often a comparison shows a planned difference.

    python -m benchmarks.intervals [--simulations N] [report] [compare] [agreement] [checked] [power]

Made-up answers to tasks in contexts, which for `report` are those of the real dataset. Tasks of a context are
alike: what it adds to the log odds of being solved, and of a judge's error, is normally distributed, or its
chance comes from a beta distribution, and so may that of a task in it. The truth is the mean of all such
contexts and tasks, and of a draw of contexts the rate of all tasks in the same runs. `power` takes contexts of
CL-bench's sizes, two models that differ as `clbench plan` assumes, and the difference that it says a comparison
shows four times out of five. The same seed gives the same figures.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import count, islice, product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import expit, logit
from tests.support.builders import row
from tests.support.logs import make_log

from inspect_clbench.data.selection import draw_contexts
from inspect_clbench.data.sources import read_file
from inspect_clbench.results import estimates
from inspect_clbench.results.agreement import agreement
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.checked import checked
from inspect_clbench.results.compare import compare
from inspect_clbench.results.plan import CLBENCH_ROWS, COMMON, OF_CONTEXTS, OF_TASKS, RATE, planned_difference

REAL_DATA = "../shared/data/CL-bench.jsonl.xz"
SEED = 20260203
# How many simulations of a case there are, and between which shares its figures should be.
AIMS = dict.fromkeys(("compare", "agreement", "checked"), (400, 0.935, 1.0))
AIMS |= {"report": (4_000, 0.935, 1.0), "power": (2_000, 0.76, 0.84)}
WITHOUT_AIM = ("judge", "points that compare says")
ALIKE, ALIKE_RUNS = 0.3, 0.5  # correlations: of tasks of a context, of runs of a task; assumptions

REPORTED_RATES = (0.05, 0.2, 0.6)
DRAWS = {"1 run": (1, 0), "3 runs": (3, 0)}  # the runs, and how many contexts are drawn if not all
DRAWS |= {f"draw of {contexts} contexts": (1, contexts) for contexts in (25, 50, 150)}
DRAWS_OF_A_RUN = 5  # the same made-up runs are drawn from so many times

TASKS_PER_CONTEXT = 3.8
CATEGORIES = np.array(["A", "B", "C", "D"])
MODEL_CONTEXTS, RUNS = 120, 2
# The spread of log odds between contexts, and between tasks: for all models, and for each.
ALL_SPREAD, EACH_SPREAD = 1.2, 0.7

# How much better each model is on the scale of log odds.
MODELS = {
    "two models, no difference": (0.0, 0.0),
    "two models, a difference": (0.5, 0.0),
    "four models, all alike": (0.0, 0.0, 0.0, 0.0),
    "four models, two alike": (0.8, 0.3, 0.0, 0.0),
}

# Of three judges: their contexts, the share solved, how often they err, and how much both spread between
# contexts on the scale of log odds.
PANELS = {
    "12 contexts": (12, 0.25, 0.10, 0.5),
    "60 contexts, few solved": (60, 0.10, 0.05, 0.5),
    "300 contexts, judges far apart": (300, 0.20, 0.25, 1.0),
}
MANY = 300_000  # contexts that stand for all

# Sensitivity, specificity, and the correlation of errors on two answers of a context.
JUDGES = {
    "good": (0.95, 0.99, 0.0),
    "strict": (0.75, 0.995, 0.0),
    "lenient, by contexts": (0.97, 0.90, 0.3),
}
CHECKED_CONTEXTS = 500
CHECKED_RATES = (0.05, 0.2, 0.5)
LABELS = (40, 200)

POWER_SEED = 2602
DESIGNS = ((25, 1), (50, 1), (50, 3), (100, 1), (100, 3), (200, 1), (500, 1), (500, 3))  # contexts, epochs

HEADER = f"""\
Share of nominal 95 % intervals that held the truth; `power`: that showed the difference. Seed {SEED}.
Tasks of a context correlate by {ALIKE} in `report` and `checked`, runs of a task beyond that by {ALIKE_RUNS}.
In brackets: least to most of the categories, or how many simulations had no interval. `judge`: how often the
interval of the rate as judged held the true rate, which it need not where the judge errs.
"""

Random = np.random.Generator
Simulations = Iterator[dict[str, Any]]
"""Without end: by figure whether its interval holds the truth, nan without one; or a list by category."""


def beta(means: estimates.Array, alike: float, rng: Random) -> estimates.Array:
    """Chances around these means; two tries with the same chance correlate so much."""
    if not alike:
        return means
    odds = (1 - alike) / alike
    inner = np.clip(means, 1e-6, 1 - 1e-6)  # the distribution has no form at its ends
    return rng.beta(inner * odds, (1 - inner) * odds)


def by_context(mean: float, alike: float, context: Any, rng: Random) -> Any:
    """The chance of each task, which is that of its context."""
    return beta(np.full(context.max() + 1, mean), alike, rng)[context]


def with_runs(tasks: pd.DataFrame, chances: estimates.Array, runs: int, rng: Random) -> pd.DataFrame:
    """A model's answers to tasks that it solves with these chances."""
    parts = [tasks.assign(run=run, solved=rng.random(len(tasks)) < chances) for run in range(1, runs + 1)]
    return pd.concat(parts, ignore_index=True).astype({"solved": float})


def held(row: Mapping[str, float], truths: Mapping[str, float]) -> dict[str, float]:
    """Whether these intervals of a row hold the truths."""
    bounds = [(name, row[f"{name}_low"], row[f"{name}_high"]) for name in truths]
    return {name: np.nan if np.isnan(low) else low <= truths[name] <= high for name, low, high in bounds}


@cache
def real_tasks() -> pd.DataFrame:
    """The real dataset's tasks with their contexts, as numbers, and categories."""
    rows = [record["metadata"] for _, record in read_file(REAL_DATA)]
    contexts, _ = pd.factorize(pd.Series([record["context_id"] for record in rows]))
    return pd.DataFrame({"context_id": contexts, "category": [record["context_category"] for record in rows]})


def reported(rate: float, runs: int, size: int) -> Simulations:
    """The solving rate overall and by category, of full runs or of drawn contexts."""
    rng, tasks = np.random.default_rng(SEED), real_tasks()
    pairs = list(zip(tasks["category"], tasks["context_id"].astype(str), strict=True))
    for seed in count():
        if not size or seed % DRAWS_OF_A_RUN == 0:
            chances = beta(by_context(rate, ALIKE, tasks["context_id"], rng), ALIKE_RUNS, rng)
            answers = drawn = with_runs(tasks, chances, runs, rng)
            truths = [estimate.mean if size else rate for estimate in by_group(answers)]
        if size:
            contexts = {int(context) for _, context in draw_contexts(pairs, size, seed)}
            drawn = answers[answers["context_id"].isin(contexts)]
        intervals = zip(by_group(drawn), truths, strict=True)
        overall, *categories = (estimate.low <= truth <= estimate.high for estimate, truth in intervals)
        yield {"overall": overall, "categories": categories}


def by_group(answers: pd.DataFrame) -> list[estimates.Estimate]:
    """Solving rates: of all answers, and of those of each category."""
    groups = [answers, *(rows for _, rows in answers.groupby("category"))]
    return [estimates.solving_rate(rows) for rows in groups]


def contexts_of_tasks(contexts: int, rng: Random) -> Any:
    return np.repeat(np.arange(contexts), 1 + rng.poisson(TASKS_PER_CONTEXT - 1, contexts))


@cache
def finished_answer() -> pd.DataFrame:
    with TemporaryDirectory() as folder:
        return answers_df(make_log(Path(folder), [row("t")]))


def frame_of(context: Any, **columns: Any) -> pd.DataFrame:
    """Answers as `answers_df` gives them, a row for each task."""
    frame = finished_answer().take(np.zeros(len(context), int)).reset_index(drop=True)
    frame = frame.assign(id=frame.index, uuid=frame.index.astype(str), context_id=context)
    return frame.assign(category=CATEGORIES[context % len(CATEGORIES)], **columns)


def models(better: Sequence[float]) -> Simulations:
    """The differences of models: each, and all that are printed together."""
    rng = np.random.default_rng(SEED)
    names = [f"m{place}" for place in range(len(better))]
    truth = dict(zip(names, map(true_rate, better), strict=True))
    while True:
        context = contexts_of_tasks(MODEL_CONTEXTS, rng)
        common = effect(context, ALL_SPREAD, rng) - 2
        parts = []
        for name, more in zip(names, better, strict=True):
            chances = expit(common + more + effect(context, EACH_SPREAD, rng))
            parts.append(with_runs(frame_of(context, name=name, model=name), chances, RUNS, rng))
        rows = compare(pd.concat(parts, ignore_index=True)).frame
        pairs = rows.dropna(subset="b")
        differences = pairs["a"].map(truth) - pairs["b"].map(truth)
        inside = (pairs["low"] <= differences) & (differences <= pairs["high"])
        if len(better) == 2:
            yield {"all tasks": inside.iloc[0], "four categories together": inside.iloc[1:].all()}
        else:
            ranks = rows.drop_duplicates("a")
            rates = ranks["a"].map(truth).to_numpy()
            # Models that are alike may take any of the ranks that they share.
            best = 1 + (rates > rates[:, None]).sum(axis=1)
            worst = (rates >= rates[:, None]).sum(axis=1)
            within = (ranks["best_rank"] <= best) & (worst <= ranks["worst_rank"])
            yield {"six pairs together": inside.all(), "four ranks together": within.all()}


def effect(context: Any, spread: float, rng: Random) -> Any:
    """What contexts and tasks add to the log odds of being solved."""
    return rng.normal(0, spread, MODEL_CONTEXTS)[context] + rng.normal(0, spread, len(context))


def true_rate(better: float) -> float:
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(2 * ALL_SPREAD**2 + 2 * EACH_SPREAD**2)
    return float(weights @ expit(better - 2 + spread * points) / weights.sum())


def verdicts(contexts: int, solved: float, errs: float, spread: float, rng: Random) -> tuple[Any, Any]:
    """The context of each answer, and what three judges say of it."""
    context = contexts_of_tasks(contexts, rng)

    def drawn(mean: float, *shape: int) -> Any:
        odds = logit(mean) + spread * rng.normal(size=contexts)
        return rng.random((*shape, len(context))) < expit(odds)[context]

    return context, drawn(solved) != drawn(errs, 3)


def true_agreement(solved: float, errs: float, spread: float) -> dict[str, float]:
    _, judged = verdicts(MANY, solved, errs, spread, np.random.default_rng(SEED))
    first, second, _ = judged
    yes = judged.sum(axis=0)
    cells = [first & second, first & ~second, ~first & second, ~first & ~second]
    return {
        "agreement": float((first == second).mean()),
        "kappa": float(estimates.kappa(*(cell.sum() for cell in cells))),
        "alpha": float(estimates.alpha((yes * (3 - yes) / 2).sum(), yes.sum(), (3 - yes).sum())),
    }


def judges(contexts: int, solved: float, errs: float, spread: float) -> Simulations:
    """The agreement of three judges: that of the first two, and alpha of all."""
    rng, truth = np.random.default_rng(SEED), true_agreement(solved, errs, spread)
    while True:
        context, judged = verdicts(contexts, solved, errs, spread, rng)
        parts = [frame_of(context, judge=f"j{place}", solved=yes * 1.0) for place, yes in enumerate(judged)]
        rows = agreement(pd.concat(parts, ignore_index=True)).frame.query("level == 'verdicts'")
        two, three = rows.iloc[0], rows.iloc[-1]
        yield held({**two, "alpha_low": three["alpha_low"], "alpha_high": three["alpha_high"]}, truth)


def by_hand(yes: float, no: float, alike: float, rate: float, labels: int) -> Simulations:
    """The solving rate and the judge, checked by a person who never errs."""
    rng = np.random.default_rng(SEED)
    right = rate * yes + (1 - rate) * no
    truths = {"corrected": rate, "agreement": right, "sensitivity": yes, "specificity": no, "judge": rate}
    with TemporaryDirectory() as folder:
        sheet = Path(folder) / "sheet.csv"
        while True:
            context = contexts_of_tasks(CHECKED_CONTEXTS, rng)
            solved = rng.random(len(context)) < by_context(rate, ALIKE, context, rng)
            of_solved, of_others = (by_context(mean, alike, context, rng) for mean in (yes, no))
            judged = solved == (rng.random(len(context)) < np.where(solved, of_solved, of_others))
            answers = frame_of(context, solved=judged * 1.0)
            shuffled = answers.assign(person=np.where(solved, "yes", "no")).sample(frac=1, random_state=rng)
            turn = shuffled.groupby("solved").cumcount().sort_values(kind="stable")
            shuffled.loc[turn.index[:labels], ["uuid", "scorer", "person"]].to_csv(sheet, index=False)
            yield held(checked(sheet, answers).frame.iloc[0], truths)


def differences(contexts: int, epochs: int, planned: float, rng: Random) -> Simulations:
    """Whether a comparison shows the better of two models, and the difference that it says it could show."""
    alike_runs = OF_TASKS / (1 - OF_CONTEXTS)
    while True:
        sizes = rng.choice(CLBENCH_ROWS.sizes, contexts, replace=False)
        context = np.repeat(np.arange(contexts), sizes)
        weaker, independent = (
            beta(by_context(RATE, OF_CONTEXTS, context, rng), alike_runs, rng) for _ in range(2)
        )
        better = np.where((rng.random(contexts) < COMMON)[context], weaker, independent)
        better += planned * (1 - better) / (1 - RATE)  # on average the difference, and never above 1
        tasks = pd.DataFrame({"context_id": context, "id": np.arange(len(context))})
        a, b = (with_runs(tasks, chances, epochs, rng) for chances in (better, weaker))
        difference = estimates.paired_difference(a, b)
        detectable = estimates.smallest_difference(difference.stderr, contexts)
        yield {"shown": difference.low > 0, "points that compare says": 100 * detectable}


def cases() -> Iterator[tuple[str, Simulations]]:
    for rate, (name, setting) in product(REPORTED_RATES, DRAWS.items()):
        yield f"report: rate {rate:.0%}, {name}", reported(rate, *setting)
    for name, better in MODELS.items():
        yield f"compare: {name}", models(better)
    for name, panel in PANELS.items():
        yield f"agreement: {name}", judges(*panel)
    for (name, judge), rate, labels in product(JUDGES.items(), CHECKED_RATES, LABELS):
        yield f"checked: {name} judge, rate {rate:.0%}, {labels} rows", by_hand(*judge, rate, labels)
    rng = np.random.default_rng(POWER_SEED)
    for contexts, epochs in DESIGNS:
        planned = planned_difference(CLBENCH_ROWS.sizes, contexts, epochs)
        name = f"power: contexts {contexts}, epochs {epochs}, planned {100 * planned:.2f} points"
        yield name, differences(contexts, epochs, planned, rng)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("cases", nargs="*", choices=AIMS, default=list(AIMS))
    parser.add_argument("--simulations", type=int)
    arguments = parser.parse_args()
    start = time.perf_counter()
    print(HEADER)
    outside = []
    for name, simulations in cases():
        command = name.split(":")[0]
        if command not in arguments.cases:
            continue
        times, least, most = AIMS[command]
        figures = list(islice(simulations, arguments.simulations or times))
        print(f"{name}; {len(figures):,} simulations")
        for figure in figures[0]:
            inside = np.array([holds[figure] for holds in figures], float).reshape(len(figures), -1)
            shares, none = np.nanmean(inside, axis=0), np.isnan(inside).sum()
            spread = f" ({shares.min():.3f} to {shares.max():.3f})" * (len(shares) > 1)
            print(f"    {figure:30} {shares.mean():.3f}{spread}" + f" ({none})" * bool(none), flush=True)
            if not least <= shares.min() <= most and figure not in WITHOUT_AIM:
                outside.append(f"{name}, {figure}: {shares.min():.3f}, not {least:.3f} to {most:.3f}")
    print(f"\nOutside of the aims: {len(outside)} figures", *outside, sep="\n  ")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
