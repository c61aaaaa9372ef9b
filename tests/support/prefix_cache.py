"""A provider's prompt cache: blocks of tokens, a shortest prefix, a lifetime."""

from collections.abc import Callable, Iterator, Sequence
from heapq import heappop, heappush

BLOCK_TOKENS = 128
FEWEST_TOKENS = 1024
CHARACTERS_PER_TOKEN = 4

Blocks = Sequence[int]
"""A prompt cut into blocks; each stands for itself and all that comes before it."""


class PrefixCache:
    """Knows the prefixes of requests that have ended, until nobody asks for them."""

    def __init__(self, lifetime: float) -> None:
        self._lifetime = lifetime
        self._used: dict[int, float] = {}

    def cached_tokens(self, blocks: Blocks, now: float) -> int:
        """How many tokens of a prompt that arrives now need not be computed."""
        found = []
        for block in blocks:
            used = self._used.get(block)
            if used is None or now - used > self._lifetime:
                break
            found.append(block)
        if len(found) * BLOCK_TOKENS < FEWEST_TOKENS:
            return 0
        self._used.update(dict.fromkeys(found, now))
        return len(found) * BLOCK_TOKENS

    def complete(self, blocks: Blocks, now: float) -> None:
        """Make the prefixes of a request that ends now visible to others."""
        self._used.update(dict.fromkeys(blocks, now))


def blocks_of(prompt: str) -> list[int]:
    """The whole blocks of a prompt, at four characters a token."""

    def chain() -> Iterator[int]:
        size = BLOCK_TOKENS * CHARACTERS_PER_TOKEN
        link = 0
        for start in range(0, len(prompt) - size + 1, size):
            link = hash((link, prompt[start : start + size]))
            yield link

    return list(chain())


def ceiling(prompts: Sequence[Blocks]) -> int:
    """Cached tokens if requests came one at a time and nothing was ever forgotten."""
    cache = PrefixCache(float("inf"))
    total = 0
    for blocks in prompts:
        total += cache.cached_tokens(blocks, 0)
        cache.complete(blocks, 0)
    return total


def simulate(
    prompts: Sequence[Blocks],
    connections: int,
    cache: PrefixCache,
    latency: Callable[[], float] = lambda: 1.0,
    now: float = 0.0,
) -> tuple[int, float]:
    """Cached tokens, and the end, of a run whose slots start the next request at once.

    Args:
        prompts: The prompts in the order in which they are started.
        connections: How many requests are under way at a time.
        cache: What the provider has from earlier runs, if anything.
        latency: How long the next request takes.
        now: When the run starts.
    """
    running: list[tuple[float, int]] = []
    total = 0

    def end_next() -> float:
        ended, index = heappop(running)
        cache.complete(prompts[index], ended)
        return ended

    for index, blocks in enumerate(prompts):
        if len(running) == connections:
            now = end_next()
            while running and running[0][0] <= now:
                end_next()
        total += cache.cached_tokens(blocks, now)
        heappush(running, (now + latency(), index))
    while running:
        now = end_next()
    return total, now
