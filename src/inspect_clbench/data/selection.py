"""Which rows of a dataset are taken, and in which order: categories, drawn contexts, cache order.

All of it depends on names and a seed alone, so that the same arguments choose the same tasks anywhere.
"""

import math
from collections import defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest

from inspect_ai.dataset import Sample

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.data.rows import read_samples
from inspect_clbench.data.sources import read_rows
from inspect_clbench.errors import ClbenchError

# A prefix is in the provider's cache once the request that brought it has ended: one latency,
# that is as many starts as there are connections, after its start. Some latencies later it is
# forgotten. In simulations of the real contexts three latencies between siblings did best.
_LATENCIES = 3


def load_samples(
    dataset: str, benchmark: Benchmark, category: str | Sequence[str] | None = None
) -> list[Sample]:
    """The samples of a dataset in their order.

    Args:
        dataset: As the tasks take it.
        benchmark: Whose rows they are.
        category: Categories and sub-categories to keep; all if not given.
    """
    sub_categories = chosen_sub_categories(category, benchmark)
    samples = [
        sample
        for sample in read_samples(read_rows(dataset, benchmark), dataset, benchmark)
        if (sample.metadata or {})["sub_category"] in sub_categories
    ]
    if not samples:
        raise ClbenchError(f"{dataset}: no row is of category={category}. Name another one.")
    return samples


def chosen_sub_categories(category: str | Sequence[str] | None, benchmark: Benchmark) -> set[str]:
    """The sub-categories that somebody named, or whose category they named, regardless of case."""
    if category is None:
        return set(benchmark.sub_categories)
    choices = {name: category.sub_categories for name, category in benchmark.categories.items()}
    choices |= {name: (name,) for name in benchmark.sub_categories}
    by_fold = {name.casefold(): sub_categories for name, sub_categories in choices.items()}
    chosen: set[str] = set()
    for name in [category] if isinstance(category, str) else category:
        sub_categories = by_fold.get(str(name).strip().casefold())
        if sub_categories is None:
            raise ClbenchError(f"category={name}: no such category. Use one of: {'; '.join(choices)}.")
        chosen.update(sub_categories)
    return chosen


def draw_samples(samples: Sequence[Sample], count: int, seed: int) -> tuple[list[Sample], dict[str, int]]:
    """The samples of so many contexts drawn at random, and what logs say of the draw."""
    contexts = [_context(sample) for sample in samples]
    drawn = draw_contexts(contexts, count, seed)
    chosen = [sample for sample, context in zip(samples, contexts, strict=True) if context in drawn]
    return chosen, {"contexts": count, "seed": seed, "of": len(set(contexts))}


def in_cache_order(samples: Sequence[Sample], connections: int) -> list[Sample]:
    """The samples in the order of `cache_order`."""
    return [samples[position] for position in cache_order(list(map(_context, samples)), connections)]


def _context(sample: Sample) -> tuple[str, str]:
    """A sample's category and context; a task without a context is one of its own."""
    metadata = sample.metadata or {}
    return metadata["context_category"], str(metadata["context_id"] or sample.id)


def draw_contexts(contexts: Iterable[tuple[str, str]], count: int, seed: int = 0) -> set[tuple[str, str]]:
    """Draw so many contexts at random, from each category its share.

    With the same seed a smaller draw is a part of a larger one, whatever the order of the rows.

    Args:
        contexts: The category and the context of each task.
        count: How many contexts to draw.
        seed: Which ones.
    """
    by_category: defaultdict[str, set[str]] = defaultdict(set)
    for category, context in contexts:
        by_category[category].add(context)
    total = sum(map(len, by_category.values()))
    if type(count) is not int or not 1 <= count <= total:  # a bool is no number
        raise ClbenchError(f"contexts={count}: give a whole number from 1 to {total}.")
    if type(seed) is not int:
        raise ClbenchError(f"seed={seed}: give a whole number.")
    shares = _shares({category: len(by_category[category]) for category in sorted(by_category)}, count)
    return {
        (category, context)
        for category, share in shares.items()
        for context in sorted(
            by_category[category], key=lambda name: sha256(f"{seed}\n{name}".encode()).digest()
        )[:share]
    }


def _shares(sizes: Mapping[str, int], count: int) -> dict[str, int]:
    """Each category's share of a number (Webster's method: no share shrinks as the number grows)."""
    shares = dict.fromkeys(sizes, 0)
    for _ in range(count):
        shares[max(sizes, key=lambda name: sizes[name] / (2 * shares[name] + 1))] += 1
    return shares


def cache_order(contexts: Sequence[Hashable], connections: int) -> list[int]:
    """Positions of tasks, given their contexts, in an order in which siblings find their prefix.

    Tasks of one context share a long prefix. With `connections` requests under way, siblings
    that start close together all miss it in the provider's prompt cache, and siblings far apart
    find it expired. Here about 3 x `connections` contexts take turns: the first task of each,
    then the second of each that has one, and so on; then the next contexts.
    """
    if type(connections) is not int or connections < 1:  # a bool is no number
        raise ClbenchError(
            f"cache_order={connections}: give the number of connections that the run will use, such as "
            "20, and the same to --max-connections."
        )
    positions: dict[Hashable, list[int]] = {}
    for position, context in enumerate(contexts):
        positions.setdefault(context, []).append(position)
    siblings = list(positions.values())
    # About equal portions: in a small one at the end siblings would come close together.
    portions = max(1, round(len(siblings) / (_LATENCIES * connections)))
    size = math.ceil(len(siblings) / portions)
    return [
        position
        for start in range(0, len(siblings), size)
        for turn in zip_longest(*siblings[start : start + size])
        for position in turn
        if position is not None
    ]
