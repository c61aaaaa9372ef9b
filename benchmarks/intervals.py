"""How often the intervals that `compare`, `agreement` and `checked` print hold the truth.

    python -m benchmarks.intervals [--simulations N]

Made-up answers to tasks in contexts. Tasks of a context are alike: what it adds to the log odds of being
solved, and of a judge's error, is normally distributed, or its chance comes from a beta distribution. The
truth is the mean of all such contexts and tasks. The same seed gives the same figures.
"""

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.special import expit, logit

from inspect_clbench.results.agreement import agreement
from inspect_clbench.results.checked import checked
from inspect_clbench.results.compare import compare
from inspect_clbench.results.estimates import alpha, kappa

SEED = 20260203
LEAST = 0.93  # the aim
MANY = 300_000  # contexts that stand for all
TASKS_PER_CONTEXT = 3.8
CATEGORIES = ("A", "B", "C", "D")
MODEL_CONTEXTS, RUNS = 120, 2
COMMON, APART = 1.2, 0.7  # spread of log odds between contexts, and tasks, for all models and for each

# How much better each model is on the scale of log odds.
MODELS = {
    "two models, no difference": (0.0, 0.0),
    "two models, a difference": (0.5, 0.0),
    "four models, all alike": (0.0, 0.0, 0.0, 0.0),
    "four models, two alike": (0.8, 0.3, 0.0, 0.0),
    "four models, all unlike": (0.8, 0.4, 0.1, 0.0),
}


class Panel(NamedTuple):
    """Answers of some contexts, and how often three judges of them err."""

    contexts: int
    solved: float
    errs: float
    spread: float  # of both between contexts, on the scale of log odds


PANELS = {
    "12 contexts": Panel(12, 0.25, 0.10, 0.5),
    "60 contexts": Panel(60, 0.25, 0.07, 0.5),
    "60 contexts, few solved": Panel(60, 0.10, 0.05, 0.5),
    "300 contexts": Panel(300, 0.20, 0.05, 1.0),
    "300 contexts, judges far apart": Panel(300, 0.20, 0.25, 1.0),
}


class Judge(NamedTuple):
    sensitivity: float
    specificity: float
    alike: float = 0.0  # the correlation of errors on two answers of a context


JUDGES = {
    "good": Judge(0.95, 0.99),
    "strict": Judge(0.75, 0.995),
    "lenient": Judge(0.97, 0.90),
    "lenient, by contexts": Judge(0.97, 0.90, 0.3),
}
CHECKED_CONTEXTS, ALIKE = 500, 0.3
RATES = (0.05, 0.2, 0.5)
LABELS = (40, 200)

Random = np.random.Generator
Holds = Iterator[tuple[str, bool | None]]  # a figure, and whether its interval holds; None without one


def contexts_of_tasks(contexts: int, draw: Random) -> Any:
    return np.repeat(np.arange(contexts), 1 + draw.poisson(TASKS_PER_CONTEXT - 1, contexts))


def frame_of(context: Any, **columns: Any) -> pd.DataFrame:
    """Answers as `answers_df` gives them, a row for each task."""
    tasks = np.arange(len(context))
    empty = ("draw", "source", "solver", "settings", "effort", "judge_effort", "judge_prompt_sha256", "status",
             "stand_in", "reason")  # fmt: skip
    usual = dict.fromkeys(empty, "") | {
        "dataset": "CL-bench", "log": "l", "model": "m", "name": "m", "run": 1, "epoch": 1, "version": "2",
        "judge": "j", "judge_prompt": "builtin", "scorer": "rubric_judge", "again": "0", "share": 1.0,
        "votes": None, "stop_reason": "stop", "rubrics_total": 1, "id": tasks, "uuid": tasks.astype(str),
        "context_id": context, "category": np.array(CATEGORIES)[context % len(CATEGORIES)],
    }  # fmt: skip
    return pd.DataFrame(usual | columns)


def models(better: Sequence[float], draw: Random) -> Holds:
    """The differences of models: each, and all that are printed together."""
    context = contexts_of_tasks(MODEL_CONTEXTS, draw)
    names = [f"m{place}" for place in range(len(better))]

    def effect(spread: float) -> Any:
        normal = draw.normal(0, spread, MODEL_CONTEXTS)[context]
        return normal + draw.normal(0, spread, len(context))

    common = effect(COMMON) - 2
    parts = []
    for name, more in zip(names, better, strict=True):
        chances = expit(common + more + effect(APART))
        for run in range(1, RUNS + 1):
            solved = (draw.random(len(context)) < chances) * 1.0
            parts.append(frame_of(context, name=name, model=name, run=run, solved=solved))
    rows = compare(pd.concat(parts, ignore_index=True)).frame
    truth = dict(zip(names, map(true_rate, better), strict=True))
    pairs = rows.dropna(subset="b")
    differences = pairs["a"].map(truth) - pairs["b"].map(truth)
    holds = (pairs["low"] <= differences) & (differences <= pairs["high"])
    if len(better) == 2:
        yield "all tasks", holds.iloc[0]
        yield "four categories together", holds.iloc[1:].all()
        if not differences.iloc[0]:
            yield "nothing claimed of all tasks", pairs["p"].iloc[0] >= 0.05
            yield "nothing claimed of a category", (pairs["p_holm"].iloc[1:] >= 0.05).all()
    else:
        yield "six pairs together", holds.all()
        ranks = rows.drop_duplicates("a")
        rates = ranks["a"].map(truth).to_numpy()
        # Models that are alike may take any of the ranks that they share.
        best = 1 + (rates > rates[:, None]).sum(axis=1)
        worst = (rates >= rates[:, None]).sum(axis=1)
        yield "four ranks together", ((ranks["best_rank"] <= best) & (worst <= ranks["worst_rank"])).all()


def true_rate(better: float) -> float:
    points, weights = np.polynomial.hermite_e.hermegauss(60)
    spread = np.sqrt(2 * COMMON**2 + 2 * APART**2)
    return float(weights @ expit(better - 2 + spread * points) / weights.sum())


def verdicts(panel: Panel, contexts: int, draw: Random) -> tuple[Any, Any]:
    """The context of each answer, and what three judges say of it."""
    context = contexts_of_tasks(contexts, draw)

    def drawn(mean: float, *shape: int) -> Any:
        odds = logit(mean) + panel.spread * draw.normal(size=contexts)
        return draw.random((*shape, len(context))) < expit(odds)[context]

    return context, drawn(panel.solved) != drawn(panel.errs, 3)


def true_agreement(panel: Panel, draw: Random) -> dict[str, float]:
    _, judged = verdicts(panel, MANY, draw)
    first, second, _ = judged
    yes = judged.sum(axis=0)
    cells = [first & second, first & ~second, ~first & second, ~first & ~second]
    return {
        "agreement": float((first == second).mean()),
        "kappa": float(kappa(*(cell.sum() for cell in cells))),
        "alpha": float(alpha((yes * (3 - yes) / 2).sum(), yes.sum(), (3 - yes).sum())),
    }


def judges(panel: Panel, truth: Mapping[str, float], draw: Random) -> Holds:
    """The agreement of three judges: that of the first two, and alpha of all."""
    context, judged = verdicts(panel, panel.contexts, draw)
    parts = [frame_of(context, judge=f"j{place}", solved=yes * 1.0) for place, yes in enumerate(judged)]
    rows = agreement(pd.concat(parts, ignore_index=True)).frame.query("level == 'verdicts'")
    yield from held(rows.iloc[0], {name: truth[name] for name in ("agreement", "kappa")})
    yield from held(rows.iloc[-1], {"alpha": truth["alpha"]})


def held(row: pd.Series, truths: Mapping[str, float]) -> Holds:
    for name, truth in truths.items():
        low, high = row[f"{name}_low"], row[f"{name}_high"]
        yield name, None if np.isnan(low) else low <= truth <= high


def by_hand(judge: Judge, rate: float, labels: int, sheet: Path, draw: Random) -> Holds:
    """The solving rate and the judge, checked by a person who never errs."""
    context = contexts_of_tasks(CHECKED_CONTEXTS, draw)

    def chances(mean: float, alike: float) -> Any:
        odds = (1 - alike) / alike if alike else np.inf
        each = draw.beta(mean * odds, (1 - mean) * odds, CHECKED_CONTEXTS) if alike else mean
        return np.broadcast_to(each, CHECKED_CONTEXTS)[context]

    solved = draw.random(len(context)) < chances(rate, ALIKE)
    right = np.where(solved, chances(judge.sensitivity, judge.alike), chances(judge.specificity, judge.alike))
    judged = solved == (draw.random(len(context)) < right)
    answers = frame_of(context, solved=judged * 1.0)
    shuffled = answers.assign(person=np.where(solved, "yes", "no")).sample(frac=1, random_state=draw)
    turn = shuffled.groupby("solved").cumcount().sort_values(kind="stable")
    shuffled.loc[turn.index[:labels], ["uuid", "scorer", "person"]].to_csv(sheet, index=False)
    row = checked(sheet, answers).frame.iloc[0]
    alike = rate * judge.sensitivity + (1 - rate) * judge.specificity
    truths = {"corrected": rate, "agreement": alike, **judge._asdict()}
    yield from held(row, {name: truths[name] for name in truths if name != "alike"})
    yield from held(
        row.rename(lambda key: key.replace("judge", "judge's own rate")), {"judge's own rate": rate}
    )


def cases(folder: Path) -> Iterator[tuple[str, Callable[[Random], Holds]]]:
    for name, better in MODELS.items():
        yield f"compare: {name}", partial(models, better)
    for name, panel in PANELS.items():
        truth = true_agreement(panel, np.random.default_rng(SEED))
        yield f"agreement: {name}", partial(judges, panel, truth)
    for name, judge in JUDGES.items():
        for rate in RATES:
            for labels in LABELS:
                case = partial(by_hand, judge, rate, labels, folder / "sheet.csv")
                yield f"checked: {name} judge, rate {rate:.0%}, {labels} rows", case


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--simulations", type=int, default=400)
    times = parser.parse_args().simulations
    start = time.perf_counter()
    print(f"Share of nominal 95 % intervals that held the truth, {times:,} simulations each, seed {SEED}.")
    print("In brackets: in how many simulations there was no interval.\n")
    below = []
    with TemporaryDirectory() as folder:
        for name, simulate in cases(Path(folder)):
            draw = np.random.default_rng(SEED)
            asked, none, inside = Counter[str](), Counter[str](), Counter[str]()
            for _ in range(times):
                for figure, holds in simulate(draw):
                    asked[figure] += 1
                    none[figure] += holds is None
                    inside[figure] += bool(holds)
            print(name)
            for figure, number in asked.items():
                share = inside[figure] / max(number - none[figure], 1)
                print(f"    {figure:30} {share:.3f}" + f" ({none[figure]})" * bool(none[figure]), flush=True)
                if share < LEAST and not figure.startswith("judge's"):
                    below.append(f"{name}, {figure}: {share:.3f}")
    print(f"\n{len(below)} figures below {LEAST}", *below, sep="\n  ")
    print(f"{time.perf_counter() - start:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main()
