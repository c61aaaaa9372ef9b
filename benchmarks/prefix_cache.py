"""A provider's prompt cache: blocks of tokens, a shortest prefix, a lifetime."""

from collections.abc import Sequence

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
    size, links = BLOCK_TOKENS * CHARACTERS_PER_TOKEN, [0]
    for start in range(0, len(prompt) - size + 1, size):
        links.append(hash((links[-1], prompt[start : start + size])))
    return links[1:]


def ceiling(prompts: Sequence[Blocks]) -> int:
    """Cached tokens if requests came one at a time and nothing was ever forgotten."""
    cache = PrefixCache(float("inf"))
    total = 0
    for blocks in prompts:
        total += cache.cached_tokens(blocks, 0)
        cache.complete(blocks, 0)
    return total
