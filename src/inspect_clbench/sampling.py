"""Drawing whole contexts for a cheap estimate. Pure functions of names and a seed."""

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence

from pydantic import BaseModel, ConfigDict

from inspect_clbench.errors import ClbenchError


class Stratum(BaseModel):
    """One category: what there is of it and what was drawn."""

    model_config = ConfigDict(frozen=True)

    contexts: int
    drawn_contexts: int
    tasks: int
    drawn_tasks: int


class Draw(BaseModel):
    """A draw of contexts, as the log of its run keeps it."""

    model_config = ConfigDict(frozen=True)

    seed: int
    strata: dict[str, Stratum]
    """Category name to what was drawn of it."""

    drawn: dict[str, tuple[str, ...]]
    """Category name to the contexts drawn, in the order of drawing."""

    @property
    def contexts(self) -> int:
        return sum(stratum.contexts for stratum in self.strata.values())

    @property
    def drawn_contexts(self) -> int:
        return sum(stratum.drawn_contexts for stratum in self.strata.values())

    @property
    def tasks(self) -> int:
        return sum(stratum.tasks for stratum in self.strata.values())

    @property
    def drawn_tasks(self) -> int:
        return sum(stratum.drawn_tasks for stratum in self.strata.values())


def draw_contexts(tasks: Sequence[tuple[str, str]], contexts: int, seed: int = 0) -> Draw:
    """Draw contexts at random, from each category in proportion to its contexts.

    The draw depends on names and seed only, not on the order of the tasks. With the
    same seed a category's smaller draw is the beginning of its larger one.

    Args:
        tasks: Category and context of every task there is.
        contexts: How many contexts to draw in all.
        seed: Another seed makes another draw.
    """
    sizes: dict[str, Counter[str]] = {}
    for category, context in tasks:
        sizes.setdefault(category, Counter())[context] += 1
    counts = allocate({name: len(sizes[name]) for name in sorted(sizes)}, contexts)
    drawn = {
        name: tuple(sorted(sizes[name], key=lambda context: _rank(seed, context))[:count])
        for name, count in counts.items()
    }
    strata = {
        name: Stratum(
            contexts=len(sizes[name]),
            drawn_contexts=count,
            tasks=sizes[name].total(),
            drawn_tasks=sum(sizes[name][context] for context in drawn[name]),
        )
        for name, count in counts.items()
    }
    return Draw(seed=seed, strata=strata, drawn=drawn)


def allocate(available: Mapping[str, int], wanted: int) -> dict[str, int]:
    """How many contexts each category gives: in proportion, and at least one.

    Two where `wanted` allows it, since one context alone tells nothing about the
    spread in its category.
    """
    everything = sum(available.values())
    if isinstance(wanted, bool) or not isinstance(wanted, int) or wanted < len(available):
        raise ClbenchError(
            f"contexts={wanted}: give a whole number of at least {len(available)}, one "
            f"context for each category ({', '.join(available)})."
        )
    if wanted > everything:
        raise ClbenchError(
            f"contexts={wanted}: there are only {everything} contexts. Leave the parameter "
            "out to run them all."
        )
    pairs = {name: min(2, size) for name, size in available.items()}
    counts = pairs if sum(pairs.values()) <= wanted else dict.fromkeys(available, 1)
    while sum(counts.values()) < wanted:
        open_names = [name for name in available if counts[name] < available[name]]
        shares = {name: wanted * available[name] / everything for name in open_names}
        counts[max(open_names, key=lambda name: shares[name] - counts[name])] += 1
    return counts


def _rank(seed: int, context: str) -> str:
    return hashlib.sha256(f"{seed}\n{context}".encode()).hexdigest()
