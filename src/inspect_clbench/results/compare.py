"""Which models are better: differences over the tasks that all of them have answered."""

from collections.abc import Mapping
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import dataset_of, full_scores
from inspect_clbench.results.estimates import (
    holm,
    paired_difference,
    smallest_difference,
    solving_rate,
)
from inspect_clbench.results.report import OVERALL, methods_line, notes_of, ordered
from inspect_clbench.results.table import Column, Table, count, interval, percent, points, short_names

ALPHA = 0.05

# What makes verdicts unlike, so that a part of a difference may be the judges'.
MANNERS = {"judge": "judge", "judge_effort": "effort", "judge_prompt_sha256": "prompt", "version": "version"}

Models = Mapping[str, pd.DataFrame]  # the answers of each model, the best one first
Names = Mapping[str, str]  # what each model is called in tables


def compare(answers: pd.DataFrame) -> Table:
    """Which model is better: the answer as a sentence, and the differences behind it.

    Args:
        answers: From `answers_df`, of one dataset and of two models or more.

    Returns:
        Of two models a row for all tasks and one per category. Of more a row per pair, with the
        ranks that the data allow, and a last row for the model that none is behind.
    """
    dataset = dataset_of(answers)
    counted = full_scores(answers)
    scored = counted.dropna(subset="solved")
    names = short_names(scored["name"])
    if len(names) < 2:
        raise ClbenchError(f"Full runs of {', '.join(names) or 'no model'} only: add a log of another model.")
    common = scored[scored.groupby("id")["name"].transform("nunique") == len(names)]
    if common.empty:
        raise ClbenchError(f"No task was answered by all of {', '.join(names)}. Leave one out with --model.")
    models = {str(name): rows for name, rows in common.groupby("name", sort=False)}
    models = dict(sorted(models.items(), key=lambda model: -solving_rate(model[1]).mean))
    table = _two(models, names) if len(models) == 2 else _many(models, names)
    noted = pd.concat([common, counted[counted["solved"].isna()]])
    return replace(
        table,
        title=f"{dataset}. {table.title}",
        methods=f"{methods_line(counted)} {table.methods}",
        notes=[note for note in (_unlike(scored, common, names), *notes_of(noted)) if note],
    )


def _two(models: Models, names: Names) -> Table:
    """All tasks, and each category."""
    a, b = models
    overall = _difference(models, a, b, 1)
    rows = [{"group": OVERALL, **overall}]
    categories = ordered(models[a]["category"])
    for category in categories:
        part = {name: answers[answers["category"] == category] for name, answers in models.items()}
        rows.append({"group": category, **_difference(part, a, b, len(categories))})
    frame = pd.DataFrame(rows)
    frame["p_holm"] = [overall["p"], *holm(frame["p"][1:])]
    columns = [
        Column("Tasks of", ["group"]),
        Column(names[a], ["rate_a"], percent),
        Column(names[b], ["rate_b"], percent),
        *_difference_columns(),
        Column("Tasks", ["tasks"], count),
    ]
    levels = "95 % intervals for all tasks"
    if len(categories) > 1:
        levels += f" and {_level(len(categories))} for each category"
    return Table(_sentence(overall, names), frame, columns, methods=_methods(levels, "categories"))


def _many(models: Models, names: Names) -> Table:
    """Each pair of models, and the rank of each model."""
    pairs = [*combinations(models, 2)]
    frame = pd.DataFrame([_difference(models, a, b, len(pairs)) for a, b in pairs])
    frame["p_holm"] = holm(frame["p"])
    apart = frame[frame["p_holm"] < ALPHA]
    best = {name: 1 + (apart["b"] == name).sum() for name in models}
    worst = {name: len(models) - (apart["a"] == name).sum() for name in models}
    last = [*models][-1]
    end = pd.DataFrame([{"a": last, "rate_a": solving_rate(models[last]).mean}])
    frame = pd.concat([frame, end], ignore_index=True)
    frame["best_rank"], frame["worst_rank"] = frame["a"].map(best), frame["a"].map(worst)
    columns = [
        Column("Rank", ["best_rank", "worst_rank"], _rank, once="a"),
        Column("Model", ["a"], once="a", names=names),
        Column("Solves", ["rate_a"], percent, once="a"),
        Column("against", ["b"], names=names),
        *_difference_columns(),
    ]
    methods = _methods(f"{_level(len(pairs))} intervals for each of the {len(pairs)} pairs", "pairs")
    return Table(_sentence_of_many(frame, names), frame, columns, methods=methods)


def _difference(models: Models, a: str, b: str, comparisons: int) -> dict[str, Any]:
    """How much more `a` solves than `b`, as one of so many comparisons that are to hold together."""
    level = 1 - ALPHA / comparisons
    estimate = paired_difference(models[a], models[b], level)
    contexts = models[a]["context_id"].nunique()
    shown = smallest_difference(estimate.stderr, contexts, level)
    return {
        "a": a,
        "b": b,
        "rate_a": solving_rate(models[a]).mean,
        "rate_b": solving_rate(models[b]).mean,
        "difference": estimate.mean,
        **{key: getattr(estimate, key) for key in ("stderr", "low", "high", "p")},
        "level": level,
        "detectable": shown if shown <= 1 else np.nan,
        "tasks": models[a]["id"].nunique(),
        "contexts": contexts,
    }


def _difference_columns() -> list[Column]:
    return [
        Column("Difference", ["difference", "low", "high"], interval),
        Column("p (Holm)", ["p_holm"], p_value),
        Column("Detectable", ["detectable"], percent),
    ]


def _sentence(row: Mapping[str, Any], names: Names) -> str:
    a, b = names[row["a"]], names[row["b"]]
    more = f"{a} solves {points(row['difference'])} points more"
    if points(row["difference"]) == "0.0":
        more = "both solve the same share"
    p = "p < 0.001" if row["p"] < 0.001 else f"p = {row['p']:.3f}"
    basis = "sign test over contexts"
    if pd.notna(row["low"]):
        basis = f"95 % interval {points(row['low'])} to {points(row['high'])}"
    more += f" ({basis}, {p}) {_extent(row)}"
    if row["p"] < ALPHA:
        return f"{a} is better than {b}: {more}."
    return f"These data do not tell {a} and {b} apart: {more}."


def _sentence_of_many(frame: pd.DataFrame, names: Names) -> str:
    best = frame.iloc[0]
    pairs = frame[frame["a"] == best["a"]]
    near = [names[name] for name in pairs["b"][pairs["p_holm"] >= ALPHA]]
    number = {0: "none", len(pairs): "all"}.get(len(pairs) - len(near), f"{len(pairs) - len(near)}")
    beaten = f"{number} of the other {len(pairs)} models"
    beaten += f", not from {', '.join(near)}," if 0 < len(near) < len(pairs) else ""
    return f"{names[best['a']]} solves most, and these data tell it from {beaten} {_extent(best)}."


def _extent(row: Mapping[str, Any]) -> str:
    tasks, contexts = int(row["tasks"]), int(row["contexts"])
    return f"over {tasks:,} task{'s' * (tasks > 1)} in {contexts:,} context{'s' * (contexts > 1)}"


def _rank(best: int, worst: int) -> str:
    return f"{best}" if best == worst else f"{best}–{worst}"


def p_value(p: float) -> str:
    return "–" if pd.isna(p) else "<0.001" if p < 0.001 else f"{p:.3f}"


def _level(comparisons: int) -> str:
    return f"{100 - 100 * ALPHA / comparisons:.4g} %"


def _methods(levels: str, family: str) -> str:
    return (
        f"Rates are means of runs; differences, in points, are paired by task, with {levels}, clustered on "
        f"contexts. The {family}' p is Holm's. Detectable: the difference shown with a power of 80 %."
    )


def _unlike(scored: pd.DataFrame, common: pd.DataFrame, names: Names) -> str:
    """What the models do not have in common: tasks, or how they were judged."""
    sentences = []
    answered, tasks = scored.groupby("name", sort=False)["id"].nunique(), common["id"].nunique()
    if (answered > tasks).any():
        numbers = ", ".join(f"{names[str(name)]} {number:,}" for name, number in answered.items())
        sentences.append(f"Only the {tasks:,} tasks in common count; answered were: {numbers}.")
    manners = scored.groupby("name")[[*MANNERS]].first().nunique()
    if unlike := [word for key, word in MANNERS.items() if manners[key] > 1]:
        sentences.append(
            f"Not judged alike ({', '.join(unlike)}): a part of a difference may be the judge's."
        )
    return " ".join(sentences)
