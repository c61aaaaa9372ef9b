"""What a run will use, cost and be able to show, before anything is paid.

Prompts and rubrics are counted on the rows. How long answers and verdicts will be nobody knows before: that
comes from the log of a pilot or is assumed, and is a range.

What a comparison of two models over the same tasks can show follows from the variance of their difference d,
with T tasks in C contexts and K epochs,

    2 (1 - COMMON) (v_context / C' + v_task / T) + (2 v_run + d (1 - 2 p - d)) / (T K)

where C' = T^2 / sum of squared context sizes. The weaker model solves a task with chance p on average, the
better one with d more, so that its answers vary more between runs where p is below a half.
`python -m benchmarks.intervals power` checks it.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import pandas as pd
from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE, DEFAULT_JUDGE
from inspect_clbench.data.rows import benchmark_of_rows, read_samples
from inspect_clbench.data.sources import dataset_name, read_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of
from inspect_clbench.results.costs import TOTAL, price_note, read_prices
from inspect_clbench.results.estimates import Array, smallest_difference
from inspect_clbench.results.table import Column, Table, count, points

CHARS_PER_TOKEN = 4
JUDGE_PROMPT_CHARS = 2_000  # beside the rubrics and the answer
COMMON_CHARS = 0.79  # of a prompt are those of an earlier task of its context, in CL-bench
MOST_EPOCHS = 5
FIGURES = ("low", "mid", "high")

# The variance of an answer, in shares of p (1 - p). That of runs lets full runs spread as published ones do;
# how the rest is divided, and that half of it is common to two models, is assumed.
RATE = 0.2
OF_CONTEXTS, OF_TASKS, OF_RUNS = 0.30, 0.15, 0.55
COMMON = 0.5


# Tokens of each: low, middle and high figures.
Lengths = Mapping[str, Array]
Prices = Mapping[str, ModelCost]
ASSUMED: Lengths = {
    "answer": np.array([700.0, 1_500, 4_000]),
    "reasoning": np.array([0.0, 4_000, 15_000]),
    "verdict": np.array([600.0, 1_500, 4_000]),
}


@dataclass(frozen=True)
class Rows:
    """What a plan needs of a dataset; characters are means over its tasks."""

    dataset: str
    sizes: Sequence[int]  # the tasks of each context
    prompt_chars: float
    rubric_chars: float


# Known beforehand, so that a first plan needs no download. So many contexts have so many tasks:
_CONTEXTS = {1: 22, 2: 123, 3: 193, 4: 42, 5: 13, 6: 16, 7: 62, 8: 6, 9: 7, 10: 4, 11: 6, 12: 6}
CLBENCH_ROWS = Rows(
    dataset=CLBENCH.title,
    sizes=[size for size, contexts in _CONTEXTS.items() for _ in range(contexts)],
    prompt_chars=42_493,
    rubric_chars=3_148,
)


def plan(
    model: str,
    judge: str | None = None,
    dataset: str | None = None,
    contexts: int | None = None,
    epochs: int = 3,
    prices: str | PathLike[str] | None = None,
    pilot: pd.DataFrame | None = None,
    detect: float | None = None,
) -> Table:
    """What a run will use and cost, and the smallest difference between two models that it can show.

    Args:
        model: The model under test.
        judge: The judge, or those of a panel with commas between them.
        dataset: As the task takes it.
        contexts: How many contexts are drawn; all if not given.
        epochs: How many runs.
        prices: The file that `inspect eval --model-cost-config` takes.
        pilot: From `answers_df`, the answers of a small run, for the tokens of answers and verdicts.
        detect: A difference in points, to find the cheapest design that can show it.

    Returns:
        A row for the model and one for each judge, and where all prices are known one for them together.
        Figures of a draw are those of contexts of the average size.
    """
    rows = _rows_of(dataset)
    contexts = contexts or len(rows.sizes)
    if contexts > len(rows.sizes):
        raise ClbenchError(f"--contexts {contexts}: {rows.dataset} has {len(rows.sizes)}.")
    tasks = round(sum(rows.sizes) * contexts / len(rows.sizes))
    lengths = ASSUMED if pilot is None else _measured(pilot)
    rate = RATE if pilot is None else float(pilot["solved"].mean().clip(0.01, 0.99))
    judges = (judge or DEFAULT_JUDGE).split(",")
    frame = _uses(rows, lengths, model, judges, tasks, epochs, read_prices(prices))
    difference = planned_difference(rows.sizes, contexts, epochs, rate)
    cheapest = cheapest_design(rows.sizes, detect / 100, rate) if detect else None
    design = {"detect_contexts": cheapest[0], "detect_epochs": cheapest[1]} if cheapest else {}
    has_price = frame["usd mid"].notna().any()
    about = "about " if contexts < len(rows.sizes) else ""
    return Table(
        f"{rows.dataset}: plan of {about}{tasks:,} tasks (contexts {contexts:,}, epochs {epochs}), tokens in millions",
        frame.assign(tasks=tasks, contexts=contexts, epochs=epochs, smallest_difference=difference, **design),
        [
            Column("Role", ["role"]),
            Column("Model", ["model"]),
            Column("Requests", ["requests"], count),
            Column("Input", [f"input {figure}" for figure in FIGURES], _millions),
            Column("Output", [f"output {figure}" for figure in FIGURES], _millions),
            *([Column("USD", [f"usd {figure}" for figure in FIGURES], _range)] if has_price else []),
        ],
        [
            _power_note(difference, rate, detect, cheapest),
            _length_note(lengths, pilot is not None),
            _money_note(frame),
        ],
    )


def planned_difference(sizes: Sequence[int], contexts: int, epochs: int, rate: float = RATE) -> float:
    """The smallest difference between two models that a comparison shows with a power of 80 %.

    Args:
        sizes: The tasks of each context there is.
        contexts: How many of them are drawn.
        epochs: The runs of each model.
        rate: The solving rate of the weaker one.

    Returns:
        A fraction; nan where there are too few contexts to show any.
    """
    drawn, tasks = contexts / len(sizes), sum(sizes)
    spread = rate * (1 - rate)
    of_contexts = OF_CONTEXTS * sum(size**2 for size in sizes) / tasks**2
    apart = 2 * (1 - COMMON) * spread * (of_contexts + OF_TASKS / tasks) / drawn
    difference = 0.0
    for _ in range(8):  # the error depends on the difference, but little
        runs = 2 * OF_RUNS * spread + difference * (1 - 2 * rate - difference)
        stderr = (apart + runs / (tasks * drawn * epochs)) ** 0.5
        difference = min(smallest_difference(stderr, contexts), 1 - rate)
    return difference if difference < 1 - rate else np.nan


def cheapest_design(sizes: Sequence[int], difference: float, rate: float = RATE) -> tuple[int, int] | None:
    """The contexts and epochs with the fewest answers that show a difference; None if none do."""
    designs = []
    for epochs in range(1, MOST_EPOCHS + 1):

        def shows(contexts: int, epochs: int = epochs) -> bool:
            return planned_difference(sizes, contexts, epochs, rate) <= difference

        contexts = bisect_left(range(len(sizes) + 1), True, key=shows)
        designs += [(contexts, epochs)] if contexts <= len(sizes) else []
    return min(designs, key=lambda design: (design[0] * design[1], design[0]), default=None)


def _rows_of(dataset: str | None) -> Rows:
    if dataset is None or dataset == CLBENCH.hub_id:
        return CLBENCH_ROWS
    records = list(read_rows(dataset, CLBENCH_LIFE if dataset == CLBENCH_LIFE.hub_id else CLBENCH))
    benchmark = benchmark_of_rows(records)
    samples = read_samples(records, dataset, benchmark)
    metadata = pd.DataFrame([sample.metadata for sample in samples])
    contexts = metadata["context_id"].fillna(pd.Series([str(sample.id) for sample in samples]))
    return Rows(
        dataset=dataset_name(dataset, benchmark),
        sizes=contexts.value_counts().to_list(),
        prompt_chars=metadata["prompt_chars"].mean(),
        rubric_chars=metadata["rubrics"].map(lambda rubrics: sum(map(len, rubrics))).mean(),
    )


def _measured(pilot: pd.DataFrame) -> Lengths:
    """The mean tokens of a pilot's answers and verdicts, with 95 % intervals by contexts."""
    dataset_of(pilot)
    answered = pilot[pilot["output_tokens"] > 0]
    reasoning = answered["reasoning_tokens"].fillna(0)
    usages = answered["judge_usage"]
    verdict = usages[usages.map(bool)].map(  # of one judge; of a panel the mean
        lambda usage: np.mean([tokens["output_tokens"] for tokens in usage.values()])
    )
    if verdict.empty:
        raise ClbenchError("--pilot: no answer in it says how many tokens it and its verdict took.")
    lengths = {}
    tokens = {"answer": answered["output_tokens"] - reasoning, "reasoning": reasoning, "verdict": verdict}
    for name, series in tokens.items():
        mean, error = series.mean(), series.groupby(answered["context_id"]).mean().sem()
        reach = mean / 2 if np.isnan(error) else min(2 * error, mean)  # half of it where all is one context
        lengths[name] = np.array([mean - reach, mean, mean + reach])
    return lengths


def _uses(
    rows: Rows, lengths: Lengths, model: str, judges: Sequence[str], tasks: int, epochs: int, prices: Prices
) -> pd.DataFrame:
    """A row for the model and one for each judge, and where all prices are known one for them together."""
    requests = tasks * epochs
    shared = COMMON_CHARS * (1 - len(rows.sizes) / sum(rows.sizes))
    prompt = np.full(len(FIGURES), rows.prompt_chars / CHARS_PER_TOKEN)
    answer = lengths["answer"] + lengths["reasoning"]
    uses = [_use("answering", model, requests, prompt, answer, prices, 1 - (1 - shared) / epochs)]
    prompt = (JUDGE_PROMPT_CHARS + rows.rubric_chars) / CHARS_PER_TOKEN + lengths["answer"]
    uses += [_use("judging", judge, requests, prompt, lengths["verdict"], prices) for judge in judges]
    frame = pd.DataFrame(uses)
    if frame["usd mid"].notna().all():
        total = frame[[f"usd {figure}" for figure in FIGURES]].sum()
        frame = pd.concat([frame, pd.DataFrame([{"role": TOTAL, **total}])], ignore_index=True)
    return frame


def _use(
    role: str, model: str, requests: int, reads: Array, writes: Array, prices: Prices, cached: float = 0
) -> dict[str, Any]:
    """What a model will use in all, and what that will cost; `cached` is the most that a cache can hold."""
    row = {"role": role, "model": model, "requests": requests, "cached_at_most": cached}
    for figure, read, written in zip(FIGURES, requests * reads, requests * writes, strict=True):
        from_cache = round(read * cached) if figure == "low" else 0
        usage = ModelUsage(
            input_tokens=round(read) - from_cache,
            input_tokens_cache_read=from_cache,
            output_tokens=round(written),
        )
        usd = compute_model_cost(prices[model], usage) if model in prices else np.nan
        row |= {f"input {figure}": read, f"output {figure}": written, f"usd {figure}": usd}
    return row


def _power_note(difference: float, rate: float, detect: float | None, design: tuple[int, int] | None) -> str:
    note = "Too few contexts to tell two models apart."
    if not np.isnan(difference):
        note = (
            f"Such runs of two models show a difference of {points(difference)} points with a power of 80 % "
            f"(solving rate {points(rate)} %; variances are assumed)."
        )
    if detect is None:
        return note
    if design is None:
        return f"{note} No design of up to {MOST_EPOCHS} epochs shows {detect:g} points."
    contexts, epochs = design
    return f"{note} The cheapest design for {detect:g} points: --contexts {contexts} --epochs {epochs}."


def _length_note(lengths: Lengths, is_measured: bool) -> str:
    source = "of the pilot" if is_measured else "assumed (--pilot LOG of a small run tells)"
    ranges = (f"{name} {mid:,.0f} ({low:,.0f}–{high:,.0f})" for name, (low, mid, high) in lengths.items())
    return f"Tokens {source}: {', '.join(ranges)}; prompts: characters / {CHARS_PER_TOKEN}."


def _money_note(frame: pd.DataFrame) -> str:
    unpriced = frame.loc[frame["usd mid"].isna(), "model"]
    if len(unpriced):
        return price_note(unpriced)
    cached = frame["cached_at_most"].iloc[0]
    return (
        f"The least USD: short outputs, and {100 * cached:.0f} % of the prompts out of the provider's cache."
    )


def _millions(low: float, mid: float, high: float) -> str:
    return _range(low / 1e6, mid / 1e6, high / 1e6)


def _range(low: float, mid: float, high: float) -> str:
    if pd.isna(mid):
        return "–"
    least, middle, most = (f"{n:,.0f}" if n >= 10 else f"{n:,.2f}" for n in (low, mid, high))
    return middle if low == high else f"{middle}\n[{least}–{most}]"
