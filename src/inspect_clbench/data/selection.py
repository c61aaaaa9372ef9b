"""Which tasks are taken and in which order: categories, drawn contexts, cache order.

Pure functions of names and a seed, so that the same arguments choose the same tasks anywhere.
"""

import hashlib
import math
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TypeVar

from pydantic import BaseModel, ConfigDict

from inspect_clbench.errors import ClbenchError

K = TypeVar("K")
T = TypeVar("T")

# A prefix is in the cache once the request that brought it has ended: one latency, that
# is as many starts as there are connections, after its start. Some latencies later the
# provider forgets it. In simulations of the real contexts three latencies between
# siblings did best over all numbers of connections and spreads of latencies.
_LATENCIES = 3


def known_names(
    wanted: str | Sequence[str] | None, known: Sequence[str], parameter: str
) -> set[str]:
    """The known names that a user meant, regardless of case; all when none is given."""
    if wanted is None:
        return set(known)
    by_fold = {name.casefold(): name for name in known}
    chosen = set()
    for name in [wanted] if isinstance(wanted, str) else wanted:
        match = by_fold.get(" ".join(str(name).split()).casefold())
        if match is None:
            raise ClbenchError(f"{parameter}={name}: unknown. Known are: {'; '.join(known)}.")
        chosen.add(match)
    return chosen


class Stratum(BaseModel):
    """One category: what there is of it and what was drawn."""

    model_config = ConfigDict(frozen=True)

    contexts: int
    drawn_contexts: int
    tasks: int
    drawn_tasks: int


class ContextDraw(BaseModel):
    """A draw of contexts, as the log of its run keeps it."""

    model_config = ConfigDict(frozen=True)

    seed: int
    strata: dict[str, Stratum]
    drawn: dict[str, tuple[str, ...]]  # by category, in the order of drawing

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

    @property
    def weights(self) -> dict[str, float]:
        """For how many tasks of its category each one stands that was drawn."""
        return {
            name: stratum.tasks / stratum.drawn_tasks
            for name, stratum in self.strata.items()
            if stratum.drawn_tasks
        }


def draw_contexts(
    tasks: Sequence[tuple[str, str]], contexts: int, seed: int = 0
) -> ContextDraw:
    """Draw contexts at random, from each category in proportion to its contexts.

    `tasks` names the category and context of each. With the same seed a category's smaller
    draw is the beginning of its larger one, whatever the order of the tasks.
    """
    sizes: dict[str, Counter[str]] = {}
    for category, context in tasks:
        sizes.setdefault(category, Counter())[context] += 1
    counts = allocate({name: len(sizes[name]) for name in sorted(sizes)}, contexts)
    drawn = {
        name: tuple(sorted(sizes[name], key=lambda context: seeded_rank(seed, context))[:count])
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
    return ContextDraw(seed=seed, strata=strata, drawn=drawn)


def allocate(available: Mapping[str, int], wanted: int) -> dict[str, int]:
    """How many contexts each category gives: in proportion, and at least one."""
    everything = sum(available.values())
    if type(wanted) is not int or wanted < len(available):  # a bool is no number
        raise ClbenchError(
            f"contexts={wanted}: give a whole number of at least {len(available)}, one "
            f"context for each category ({', '.join(available)})."
        )
    if wanted > everything:
        raise ClbenchError(
            f"contexts={wanted}: there are only {everything} contexts. Leave the parameter "
            "out to run them all."
        )
    # Two where it can be: one context tells nothing about the spread in its category.
    pairs = {name: min(2, size) for name, size in available.items()}
    counts = pairs if sum(pairs.values()) <= wanted else dict.fromkeys(available, 1)
    while sum(counts.values()) < wanted:
        open_names = [name for name in available if counts[name] < available[name]]
        shares = {name: wanted * available[name] / everything for name in open_names}
        counts[max(open_names, key=lambda name: shares[name] - counts[name])] += 1
    return counts


def seeded_rank(seed: int, *names: object) -> str:
    """The place of something in a random order that depends on its names and a seed alone."""
    text = "\n".join(map(str, (seed, *names)))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def draw_evenly(
    strata: Mapping[K, Iterable[T]], count: int, rank: Callable[[T], str]
) -> list[tuple[K, T]]:
    """Draw from each stratum in turn, as long as it has something, until there are so many.

    Within a stratum it is a random order that decides, so that what was drawn of one is a
    simple random sample of it. A smaller draw is the beginning of a larger one.
    """
    turns = [
        (turn, place, stratum, item)
        for place, (stratum, items) in enumerate(strata.items())
        for turn, item in enumerate(sorted(items, key=rank))
    ]
    turns.sort(key=lambda one: one[:2])
    return [(stratum, item) for _, _, stratum, item in turns[:count]]


def cache_order(contexts: Sequence[Hashable], connections: int) -> list[int]:
    """Positions of tasks, given their contexts, in an order in which siblings find their prefix.

    Tasks of one context share a long prefix. With `connections` requests under way,
    siblings that start close together all miss it in the provider's prompt cache, and
    siblings far apart find it expired. Here each task starts about 3 x `connections` starts
    after its sibling: contexts are begun one after the other until the first one's next
    task is due, and wherever none is due. Siblings keep their order, and stand side by side
    only where no other context is left.
    """
    if type(connections) is not int or connections < 1:  # a bool is no number
        raise ClbenchError(
            f"cache_order={connections}: give the number of connections that the run will "
            "use, a whole number such as 20, and the same to --max-connections."
        )
    # The contexts are taken in about equal portions: a small one at the end would have
    # its siblings close together.
    count = len(set(contexts))
    portions = max(1, round(count / (_LATENCIES * connections)))
    spacing = math.ceil(count / portions)
    fresh = deque(_chains(contexts, spacing))
    begun: deque[tuple[int, deque[int]]] = deque()  # last start and tasks left, oldest first
    order: list[int] = []
    while fresh or begun:
        is_due = begun and (len(order) - begun[0][0] >= spacing or not fresh)
        chain = begun.popleft()[1] if is_due else fresh.popleft()
        order.append(chain.popleft())
        if chain:
            begun.append((len(order) - 1, chain))
    return order


def shared_chars(prompts: Iterable[Sequence[tuple[str, str]]]) -> list[int]:
    """Of each prompt the characters of the messages with which an earlier one begins too.

    Each prompt is the roles and texts of its messages. Over all prompts together the sum is
    what a cache that forgets nothing could save, in whatever order they are sent.
    """
    nodes: dict[tuple[int, str, str], int] = {}  # a message after what came before it
    found = []
    for messages in prompts:
        node, shared, known = 0, 0, True
        for role, text in messages:
            key = (node, role, text)
            known = known and key in nodes
            shared += len(text) if known else 0
            node = nodes.setdefault(key, len(nodes) + 1)
        found.append(shared)
    return found


def _chains(contexts: Sequence[Hashable], spacing: int) -> list[deque[int]]:
    """Each context's tasks, in the order in which the contexts are to be begun.

    That is the file's order, but a long context comes early enough to end with the
    others: left to the end, its tasks would have nothing to be spaced with.
    """
    chains: dict[Hashable, deque[int]] = {}
    for position, context in enumerate(contexts):
        chains.setdefault(context, deque()).append(position)
    begins: dict[Hashable, int] = {}
    tasks_before = 0
    for context, chain in chains.items():
        begins[context] = min(tasks_before, len(contexts) - len(chain) * spacing)
        tasks_before += len(chain)
    return [chains[context] for context in sorted(chains, key=begins.__getitem__)]
