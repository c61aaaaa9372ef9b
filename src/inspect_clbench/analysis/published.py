"""Figures that others published, each with its source; read when first asked for."""

import json
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from math import nan
from typing import Any, Literal

from inspect_clbench.analysis.statistics import Rate

Block = Literal["main", "leaderboard", "sub_category", "length", "thresholds", "error_types"]


@dataclass(frozen=True)
class PublishedRow:
    """The published rates of one model, by the name of their column."""

    model: str
    rates: dict[str, Rate]
    note: str = ""


@dataclass(frozen=True)
class Published:
    """A published table."""

    source: str
    rows: tuple[PublishedRow, ...]
    runs: int | None = None
    """Over how many runs its rates are means, where all rows have the same."""


@cache
def published_table(benchmark: str, block: Block) -> Published | None:
    """A published table; none if there is no such one for the benchmark.

    Args:
        benchmark: The benchmark's title, for instance `CL-bench`.
        block: `main`, the paper's table; `leaderboard`; `sub_category`; `length`;
            `thresholds`; `error_types`.
    """
    found = _all().get(benchmark, {}).get(block)
    if found is None:
        return None
    rows = tuple(
        PublishedRow(
            row["model"],
            {name: _rate(*figures) for name, figures in row["rates"].items()},
            row.get("note", ""),
        )
        for row in found["rows"]
    )
    return Published(found["source"], rows, found.get("runs"))


def _rate(mean: float, std: float | None) -> Rate:
    # A printed 23.7 is the fraction 0.237, not the nearest neighbour of 23.7 / 100.
    return Rate(round(mean / 100, 4), nan if std is None else round(std / 100, 4))


@cache
def _all() -> dict[str, Any]:
    text = (files("inspect_clbench.analysis") / "published.json").read_text("utf-8")
    tables: dict[str, Any] = json.loads(text)
    return tables
