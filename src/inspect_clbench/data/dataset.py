"""The dataset of a task: where its rows come from, which are kept, in which order."""

from collections.abc import Sequence

from inspect_ai.dataset import MemoryDataset, Sample

from inspect_clbench.benchmarks import CLBENCH, Benchmark
from inspect_clbench.data.rows import Row, validated_rows
from inspect_clbench.data.selection import (
    ContextDraw,
    cache_order,
    draw_contexts,
    known_names,
    shared_chars,
)
from inspect_clbench.data.sources import DEMO, read_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.text import public_url


def load_samples(
    source: str,
    benchmark: Benchmark = CLBENCH,
    category: str | Sequence[str] | None = None,
    sub_category: str | Sequence[str] | None = None,
) -> MemoryDataset:
    """The validated rows of a dataset in their order, of all categories or of those named."""
    categories = known_names(category, benchmark.categories, "category")
    sub_categories = known_names(sub_category, benchmark.sub_categories, "sub_category")
    samples = [
        row.as_sample()
        for row in validated_rows(read_rows(source, benchmark), source, benchmark, Row)
        if row.metadata.context_category in categories
        and row.metadata.sub_category in sub_categories
    ]
    if not samples:
        raise ClbenchError(
            f"{source}: no row is left for category={category} and "
            f"sub_category={sub_category}. A sub-category belongs to one category."
        )
    name = f"{benchmark.title} demo" if source == DEMO else benchmark.title
    return MemoryDataset(samples, name=name, location=public_url(source))


def draw_samples(
    dataset: MemoryDataset, contexts: int | None, seed: int
) -> tuple[MemoryDataset, ContextDraw | None]:
    """The samples of contexts drawn at random, and the draw; all if no number is given."""
    if type(seed) is not int:  # a bool is no number
        raise ClbenchError(f"seed={seed}: give a whole number.")
    if contexts is None:
        if seed:
            raise ClbenchError(f"seed={seed}: there is nothing to draw without contexts=N.")
        return dataset, None
    draw = draw_contexts([_stratum(sample) for sample in dataset], contexts, seed)
    drawn = {(category, name) for category, found in draw.drawn.items() for name in found}
    weights = draw.weights
    samples = [
        sample.model_copy(
            update={"metadata": {**(sample.metadata or {}), "weight": weights[category]}}
        )
        for sample in dataset
        for category, context in [_stratum(sample)]
        if (category, context) in drawn
    ]
    return MemoryDataset(samples, name=dataset.name, location=dataset.location), draw


def in_cache_order(dataset: MemoryDataset, connections: int | None) -> MemoryDataset:
    """The samples in an order for prompt caches and so many connections, if that is given."""
    if connections is None:
        return dataset
    order = cache_order([_stratum(sample)[1] for sample in dataset], connections)
    samples = [dataset[position] for position in order]
    return MemoryDataset(samples, name=dataset.name, location=dataset.location)


def note_shared_chars(dataset: MemoryDataset) -> MemoryDataset:
    """The same dataset, with what each sample's prompt shares with those before it.

    For the share of prompt tokens that a provider's cache could hold: in a log, a prompt is
    found only in its whole samples, which take long to read.
    """
    for sample, shared in zip(dataset, shared_chars(map(_messages, dataset)), strict=True):
        sample.metadata = {**(sample.metadata or {}), "shared_chars": shared}
    return dataset


def _messages(sample: Sample) -> list[tuple[str, str]]:
    return [("user", m) if isinstance(m, str) else (m.role, m.text) for m in sample.input]


def _stratum(sample: Sample) -> tuple[str, str]:
    """A sample's category and context; a task without a context is one of its own."""
    metadata = sample.metadata or {}
    return metadata["context_category"], str(metadata["context_id"] or sample.id)
