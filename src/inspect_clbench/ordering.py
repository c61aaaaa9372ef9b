"""An order of tasks that providers' prompt caches like. Pure functions of context names."""

import math
from collections import deque
from collections.abc import Hashable, Sequence

# A prefix is in the cache once the request that brought it has ended: one latency, that
# is as many starts as there are connections, after its start. Some latencies later the
# provider forgets it. In simulations of the real contexts three latencies between
# siblings did best over all numbers of connections and spreads of latencies.
_LATENCIES = 3


def cache_order(contexts: Sequence[Hashable], connections: int) -> list[int]:
    """Positions of tasks in an order in which siblings find their prefix cached.

    Tasks of one context share a long prefix. With `connections` requests under way,
    siblings that start close together all miss it, and siblings far apart find it
    expired. Here each task starts about 3 x `connections` starts after its sibling:
    contexts are begun one after the other until the first one's next task is due, and
    wherever none is due.

    Args:
        contexts: The context of each task, in the order of the file.
        connections: How many requests are under way at a time.

    Returns:
        A permutation of the positions. Siblings keep their order, and stand side by
        side only where no other context is left.
    """
    if connections < 1:
        raise ValueError(f"connections={connections}: at least one is needed")
    spacing = _spacing(len(set(contexts)), connections)
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


def _spacing(contexts: int, connections: int) -> int:
    """How many starts to put between siblings.

    The contexts are taken in about equal portions: a small one at the end would have
    its siblings close together.
    """
    portions = max(1, round(contexts / (_LATENCIES * connections)))
    return math.ceil(contexts / portions)


def _chains(contexts: Sequence[Hashable], spacing: int) -> list[deque[int]]:
    """Each context's tasks, in the order in which the contexts are to be begun.

    That is the file's order, but a long context comes early enough to end with the
    others: left to the end, its tasks would have nothing to be spaced with.
    """
    chains: dict[Hashable, deque[int]] = {}
    for position, context in enumerate(contexts):
        chains.setdefault(context, deque()).append(position)
    begins: list[int] = []
    tasks_before = 0
    for chain in chains.values():
        latest = len(contexts) - len(chain) * spacing
        begins.append(min(tasks_before, latest))
        tasks_before += len(chain)
    ranked = sorted(zip(begins, chains.values(), strict=True), key=lambda pair: pair[0])
    return [chain for _, chain in ranked]
