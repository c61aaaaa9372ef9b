"""What runs used and cost: tokens of answering and judging, and money where prices are known."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml
from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost
from pydantic import TypeAdapter, ValidationError

from inspect_clbench.benchmarks import DEFAULT_JUDGE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of
from inspect_clbench.results.report import methods_line
from inspect_clbench.results.table import Column, Table, count, short_names

PRICE = "{input: 1.25, output: 10, input_cache_write: 1.25, input_cache_read: 0.125}"
USAGES = {"answering": "answer_usage", "judging": "judge_usage", "error types": "error_types_usage"}
TOTAL = "together"
TOKENS = {
    "input_tokens": "Input",
    "input_tokens_cache_read": "Read from cache",
    "input_tokens_cache_write": "Written to cache",
    "output_tokens": "Output",
    "reasoning_tokens": "Of it reasoning",
}
UNPRICED = "unpriced"


def costs(answers: pd.DataFrame, prices: str | PathLike[str] | None = None) -> Table:
    """Tokens and money by model and role, of all runs, per run and per solved task.

    Args:
        answers: From `answers_df`, of one dataset.
        prices: US dollars per million tokens by model: the YAML or JSON file that `inspect eval
            --model-cost-config` takes. For a model that it does not name, what the log says.

    Returns:
        A row for each model that answered or judged; where all prices are known, also one for
        them together. What is solved counts over all runs: a task may be solved in each.
    """
    dataset = dataset_of(answers)
    rows = _rows(answers, read_prices(prices))
    frame = pd.DataFrame(
        rows, columns=["name", "role", "model", *TOKENS, "usd", "usd_per_run", "usd_per_solved"]
    )
    has_price = frame["usd"].notna().any()
    tokens = [Column(head, [key], count) for key, head in TOKENS.items() if frame[key].any()]
    money = {"usd": "USD", "usd_per_run": "USD a run", "usd_per_solved": "USD per solved task"}
    columns = [
        Column("Run of", ["name"], once="name", names=short_names(frame["name"])),
        Column("Role", ["role"]),
        Column("Model", ["model"], names=short_names(frame["model"].dropna())),
        *tokens,
        *(Column(head, [key], dollars) for key, head in money.items() if has_price),
    ]
    return Table(
        f"{dataset}: tokens{' and US dollars' if has_price else ''} of answers and verdicts",
        frame,
        columns,
        _notes(answers, frame),
        methods_line(answers),
    )


def dollars_per_run(answers: pd.DataFrame, prices: str | PathLike[str] | None = None) -> dict[str, float]:
    """What a run costs, answers and verdicts, by the name of the series; only where it is known."""
    rows = _rows(answers, read_prices(prices))
    return {row["name"]: row["usd_per_run"] for row in rows if row["role"] == TOTAL}


def dollars(value: float) -> str:
    return "–" if pd.isna(value) else f"{value:,.2f}" if value >= 1 else f"{value:.4f}"


def price_note(models: Iterable[str]) -> str:
    """What to add where the prices of models are not known."""
    names = list(dict.fromkeys(models))
    return (
        f"No price is known for {', '.join(names)}. Give US dollars per million tokens in a file, "
        f"--model-cost-config FILE, with a line such as {names[0]}: {PRICE}"
    )


def read_prices(path: str | PathLike[str] | None) -> dict[str, ModelCost]:
    """US dollars per million tokens, by model; none without a file."""
    if path is None:
        return {}
    try:
        data = yaml.safe_load(Path(path).read_text("utf-8"))  # JSON is YAML
        return TypeAdapter(dict[str, ModelCost]).validate_python(data)
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be read ({ex.strerror}).") from ex
    except ValidationError as ex:
        error = ex.errors()[0]
        problem = f"{'.'.join(map(str, error['loc']))}: {error['msg']}"
    except Exception as ex:  # of the text, or of whatever a YAML tag constructs
        problem = str(ex)
    raise ClbenchError(
        f"{path}: not prices as inspect eval --model-cost-config takes them ({problem}). Write a line for each "
        f"model, in US dollars per million tokens: {DEFAULT_JUDGE}: {PRICE}"
    )


def _rows(answers: pd.DataFrame, prices: Mapping[str, ModelCost]) -> list[dict[str, Any]]:
    """For each series a row for each role and model that used tokens, and one for all of them."""
    # An answer that several judges read was paid for once: it counts with the first of them.
    is_first = ~answers.sort_values("scorer", kind="stable")["uuid"].duplicated()
    answers = answers.assign(answer_usage=answers["answer_usage"].where(is_first))
    rows: list[dict[str, Any]] = []
    for name, series in answers.groupby("name", sort=False):
        uses: list[dict[str, Any]] = [
            {"role": role, "model": model, **tokens, "usd": _usd(tokens, prices.get(model))}
            for role, column in USAGES.items()
            for model, tokens in _tokens(series[column]).items()
        ]
        total = sum(use["usd"] for use in uses)
        if uses and uses[0]["role"] == "answering" and pd.notna(total):
            uses.append({"role": TOTAL, "usd": total})
        runs, solved = series["run"].nunique(), series["solved"].sum()
        for use in uses:
            per_solved = use["usd"] / solved if solved else np.nan
            rows.append({"name": name, **use, "usd_per_run": use["usd"] / runs, "usd_per_solved": per_solved})
    return rows


def _tokens(usages: pd.Series) -> dict[str, Counter[str]]:
    """The tokens of each model, added up over answers, in the terms of Inspect's `ModelUsage`."""
    totals: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for usage in usages.dropna():
        for model, tokens in usage.items():
            totals[model].update({key: number for key, number in tokens.items() if number is not None})
            totals[model][UNPRICED] += tokens.get("total_cost") is None
    return {model: tokens for model, tokens in totals.items() if tokens["total_tokens"]}


def _usd(tokens: Mapping[str, float], price: ModelCost | None) -> float:
    """What the tokens of a model cost; nan where nobody knows."""
    if price is None:
        return float("nan") if tokens[UNPRICED] else tokens["total_cost"]
    return compute_model_cost(price, ModelUsage(**{key: tokens[key] for key in TOKENS if key in tokens}))


def _notes(answers: pd.DataFrame, frame: pd.DataFrame) -> list[str]:
    notes = []
    has_tokens = answers["answer_usage"].map(bool).groupby(answers["name"], sort=False).any()
    if silent := [name for name in has_tokens.index if not has_tokens[name]]:
        notes.append(
            f"No tokens of the model itself: {', '.join(silent)}. Imported and replayed answers have none, nor "
            "have scores of version 0.2.0."
        )
    unpriced = frame.loc[frame["usd"].isna(), "model"]
    return [*notes, price_note(unpriced)] if len(unpriced) else notes
