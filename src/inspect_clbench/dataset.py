"""The dataset of a task: where its rows come from, which are kept, in which order."""

import re
from collections.abc import Sequence

from inspect_ai.dataset import MemoryDataset, Sample

from inspect_clbench.errors import ClbenchError
from inspect_clbench.ordering import cache_order
from inspect_clbench.row_files import DEMO, read_records
from inspect_clbench.rows import Row, validated
from inspect_clbench.sampling import Draw, draw_contexts
from inspect_clbench.taxonomy import CLBENCH, Benchmark

__all__ = ["DEMO", "draw_samples", "in_cache_order", "load_samples"]


def load_samples(
    source: str,
    benchmark: Benchmark = CLBENCH,
    *,
    category: str | Sequence[str] | None = None,
    sub_category: str | Sequence[str] | None = None,
) -> MemoryDataset:
    """Read, validate and filter the rows of a dataset, in their order.

    Args:
        source: The benchmark's hub id, a path or URL of a file, or `demo`.
        benchmark: The benchmark that the rows belong to.
        category: Categories to keep; all when not given.
        sub_category: Sub-categories to keep; all when not given.
    """
    categories = _known_names(category, benchmark.categories, "category")
    sub_categories = _known_names(sub_category, benchmark.sub_categories, "sub_category")
    rows = validated(read_records(source, benchmark), source, benchmark, Row)
    samples = [
        row.as_sample()
        for row in rows
        if row.metadata.context_category in categories
        and row.metadata.sub_category in sub_categories
    ]
    if not samples:
        raise ClbenchError(
            f"{source}: no row is left for category={category} and "
            f"sub_category={sub_category}. A sub-category belongs to one category."
        )
    return MemoryDataset(samples, name=benchmark.title, location=source)


def draw_samples(
    dataset: MemoryDataset, contexts: int | None, seed: int
) -> tuple[MemoryDataset, Draw | None]:
    """The samples of contexts drawn at random, and the draw; all if no number is given.

    Args:
        dataset: The samples to draw from.
        contexts: How many contexts to draw.
        seed: Another seed makes another draw.
    """
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise ClbenchError(f"seed={seed}: give a whole number.")
    if contexts is None:
        return dataset, None
    names = [(_category(sample), _context(sample)) for sample in dataset]
    draw = draw_contexts(names, contexts, seed)
    drawn = {(category, name) for category, found in draw.drawn.items() for name in found}
    chosen = [s for s, name in zip(dataset, names, strict=True) if name in drawn]
    return MemoryDataset(chosen, name=dataset.name, location=dataset.location), draw


def in_cache_order(dataset: MemoryDataset, connections: int | None) -> MemoryDataset:
    """The samples in an order for providers' prompt caches; unchanged if not asked for.

    Args:
        dataset: The samples.
        connections: How many requests will be under way at a time.
    """
    if connections is None:
        return dataset
    if isinstance(connections, bool) or not isinstance(connections, int) or connections < 1:
        raise ClbenchError(
            f"cache_order={connections}: give the number of connections that the run will "
            "use, a whole number such as 20, and the same to --max-connections."
        )
    order = cache_order([_context(sample) for sample in dataset], connections)
    samples = [dataset[position] for position in order]
    return MemoryDataset(samples, name=dataset.name, location=dataset.location)


def _context(sample: Sample) -> str:
    """What a task has in common with its siblings: its context, or just itself."""
    return str((sample.metadata or {}).get("context_id") or sample.id)


def _category(sample: Sample) -> str:
    return str((sample.metadata or {})["context_category"])


def _known_names(
    wanted: str | Sequence[str] | None, known: Sequence[str], parameter: str
) -> set[str]:
    """The known names that a user meant, regardless of case; all when none is given."""
    if wanted is None:
        return set(known)
    by_fold = {name.casefold(): name for name in known}
    names = [wanted] if isinstance(wanted, str) else list(wanted)
    chosen = set()
    for name in names:
        match = by_fold.get(re.sub(r"\s+", " ", str(name)).strip().casefold())
        if match is None:
            raise ClbenchError(f"{parameter}={name}: unknown. Known are: {'; '.join(known)}.")
        chosen.add(match)
    return chosen
