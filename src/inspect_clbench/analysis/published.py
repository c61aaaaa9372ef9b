"""Figures that others published, each with its source; read when first asked for."""

import json
import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from math import nan
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BeforeValidator, TypeAdapter

from inspect_clbench.analysis.statistics import Rate
from inspect_clbench.benchmarks import OVERALL

if TYPE_CHECKING:
    from inspect_clbench.logs.series import Series

_ORIGINAL_PROMPT = "upstream"

Unlike = Literal["judge", "prompt", "draw", "runs"]
Block = Literal["main", "leaderboard", "sub_category", "length", "thresholds", "error_types"]


def _rate(printed: tuple[float, float | None]) -> Rate:
    mean, std = printed
    # A printed 23.7 is the fraction 0.237, not the nearest neighbour of 23.7 / 100.
    return Rate(round(mean / 100, 4), nan if std is None else round(std / 100, 4))


@dataclass(frozen=True)
class PublishedRow:
    """The published rates of one model, by the name of their column."""

    model: str
    rates: dict[str, Annotated[Rate, BeforeValidator(_rate)]]
    note: str = ""


@dataclass(frozen=True)
class Published:
    """A published table."""

    source: str
    rows: tuple[PublishedRow, ...]
    runs: int | None = None
    """Over how many runs its rates are means, where all rows have the same."""

    judge: str = ""
    """Who judged, with the original prompt; empty if nobody did or it is not known."""

    tasks: int | None = None

    def chosen(self, names: Collection[str]) -> "Published":
        """The rows of these models, in this order."""
        by_name = {row.model: row for row in self.rows}
        return replace(self, rows=tuple(by_name[name] for name in names if name in by_name))

    def differences(self, series: "Series") -> dict[Unlike, Any]:
        """What makes a series unlike the published runs, and what it has instead."""
        found: dict[Unlike, Any] = {}
        name = series.judge.rpartition("/")[2]
        if self.judge and not re.fullmatch(rf"{re.escape(self.judge)}(-\d[\d-]*)?", name):
            found["judge"] = series.judge or "none"
        if self.judge and series.judge_prompt != _ORIGINAL_PROMPT:
            found["prompt"] = series.judge_prompt or "unknown"
        if series.draw:
            found["draw"] = series.draw.drawn_contexts
        if self.runs and series.runs < self.runs:
            found["runs"] = series.runs
        return found


@cache
def published_table(benchmark: str, block: Block) -> Published | None:
    """A published table; none if there is no such one for the benchmark.

    Args:
        benchmark: The benchmark's title, for instance `CL-bench`.
        block: `main`, the paper's table; `leaderboard`; `sub_category`; `length`;
            `thresholds`; `error_types`.
    """
    found = _all().get(benchmark, {}).get(block)
    return TypeAdapter(Published).validate_python(found) if found else None


def published_tables(benchmark: str, blocks: Iterable[Block]) -> list[Published]:
    """The published tables that there are, with one selection of models in all of them.

    The paper's main table says which models and in which order; the leaderboard has its own.
    """
    main = published_table(benchmark, "main")
    names = [row.model for row in main.rows] if main else []
    found = [(block, table) for block in blocks if (table := published_table(benchmark, block))]
    return [table if block == "leaderboard" else table.chosen(names) for block, table in found]


def published_rate(benchmark: str, model: str) -> float:
    """A model's solving rate in the paper's main table; nan if it is not there."""
    main = published_table(benchmark, "main")
    found = (row.rates[OVERALL].mean for row in main.rows if row.model == model) if main else ()
    return next(iter(found), nan)


@cache
def _all() -> dict[str, Any]:
    text = (files("inspect_clbench.analysis") / "published.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
