"""What `-T cache_order` saves with a provider's prompt cache: cached prompt tokens, and wall time.

    python -m benchmarks.cache_order

The real rows go through the real eval to a server on loopback that caches prefixes as providers do:
blocks of 128 tokens, at least 1,024, visible once the request that brought them has ended, forgotten 7.5
latencies after their last use (five minutes at 40 s). Eval and server have a process each. Ratios are
taken within one run of this program, which wants a machine that does nothing else.
"""

import math
import os
import sys
import tempfile
import time
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from itertools import takewhile
from multiprocessing import get_context
from pathlib import Path

from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from tests.support.builders import verdict
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.selection import load_samples

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"
CONNECTIONS = (20, 100)

BLOCK_TOKENS, FEWEST_TOKENS, CHARACTERS_PER_TOKEN = 128, 1024, 4
LIFETIME = 7.5  # of a prefix, in latencies
# Inspect needs up to 60 ms of one core for a sample; the latency is such that it has this time, in
# seconds, between one start and the next.
PACE = 0.1

LEAST_SHARE = 0.99  # of the ceiling
MOST_TIME = 1.05  # of the time in the file's order


class CachingProvider:
    """The server's script: answers after one latency, and caches like a provider."""

    def __init__(self, latency: float, lifetime: float) -> None:
        self.latency, self.lifetime = latency, lifetime
        self.times: list[float] = []
        self.tokens = self.cached = 0
        self._used: dict[int, float] = {}
        self._running: deque[tuple[float, list[int]]] = deque()

    def __call__(self, call: Call) -> Reply:
        prompt = joined([(str(message["role"]), str(message["content"])) for message in call.messages])
        cached = self.answer(prompt, time.monotonic())
        return Reply("An answer.", delay=self.latency, cached_tokens=cached)

    def answer(self, prompt: str, now: float) -> int:
        """How many tokens of a prompt that arrives now need not be computed."""
        while self._running and self._running[0][0] <= now:
            end, ended = self._running.popleft()
            self._used.update(dict.fromkeys(ended, end))
        blocks = blocks_of(prompt)
        oldest = now - self.lifetime
        kept = list(takewhile(lambda block: self._used.get(block, -math.inf) > oldest, blocks))
        cached = len(kept) * BLOCK_TOKENS if len(kept) * BLOCK_TOKENS >= FEWEST_TOKENS else 0
        if cached:
            self._used.update(dict.fromkeys(kept, now))
        self._running.append((now + self.latency, blocks))
        self.times.append(now)
        self.tokens += len(prompt) // CHARACTERS_PER_TOKEN
        self.cached += cached
        return cached


def joined(messages: Sequence[tuple[str, str]]) -> str:
    """A conversation as one text, as the cache sees it."""
    return "".join(f"<{role}>{content}" for role, content in messages)


def blocks_of(prompt: str) -> list[int]:
    """The full blocks of a prompt; each stands for itself and all that comes before it."""
    size, links = BLOCK_TOKENS * CHARACTERS_PER_TOKEN, [0]
    for start in range(0, len(prompt) - size + 1, size):
        links.append(hash((links[-1], prompt[start : start + size])))
    return links[1:]


def highest_share() -> float:
    """The share of prompt tokens that came before: no order can save more."""
    provider = CachingProvider(latency=0, lifetime=math.inf)
    for number, sample in enumerate(load_samples(str(REAL_DATA), CLBENCH)):
        assert not isinstance(sample.input, str)
        provider.answer(joined([(message.role, message.text) for message in sample.input]), number)
    return provider.cached / provider.tokens


def measured(connections: int, cache_order: int | None) -> tuple[float, float, float]:
    """Of a run of all rows: the share of prompt tokens that were cached, its seconds, and the fewest possible."""
    latency = PACE * connections
    provider = CachingProvider(latency, LIFETIME * latency)
    with LoopbackServer(provider) as server, ProcessPoolExecutor(1, get_context("spawn")) as process:
        cached = process.submit(run_eval, server.url, connections, cache_order).result()
    assert cached == provider.cached, "the log tells another story"
    # From the first request to the last reply: loading the rows is not the order's work.
    seconds = provider.times[-1] + latency - provider.times[0]
    return cached / provider.tokens, seconds, latency * math.ceil(len(provider.times) / connections)


def run_eval(url: str, connections: int, cache_order: int | None) -> int:
    """One eval in this process; how many cached tokens its log tells of."""
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            "inspect_clbench/clbench", task_args={"dataset": str(REAL_DATA), "cache_order": cache_order},
            model="openai/gpt-5.1", model_base_url=url,
            model_roles={"grader": get_model("mockllm/judge", custom_outputs=_judge)},
            max_connections=connections, adaptive_connections=False,
            log_dir=folder, log_realtime=False, display="none",
        )  # fmt: skip
    assert log.status == "success", log.error
    return log.stats.model_usage["openai/gpt-5.1"].input_tokens_cache_read or 0


def _judge(*_: object) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/judge", verdict(0, ["no"]))
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def main() -> None:
    most, holds = highest_share(), True
    print(f"Ceiling: {most:.4f} of all prompt tokens.\n")
    print("connections  order            cached  of ceiling  seconds  of ideal  of file order")
    for connections in CONNECTIONS:
        in_file_order = 0.0
        for cache_order in (None, connections):
            share, seconds, ideal = measured(connections, cache_order)
            in_file_order = in_file_order or seconds
            print(
                f"{connections:>11}  {f'cache_order={cache_order}' if cache_order else 'file':<15}  {share:.4f}  "
                f"{share / most:>10.4f}  {seconds:>7.1f}  {seconds / ideal:>8.3f}  {seconds / in_file_order:>13.3f}",
                flush=True,
            )
        holds &= share / most >= LEAST_SHARE and seconds / in_file_order <= MOST_TIME
    print(f"\nClaims (cached >= {LEAST_SHARE} of the ceiling, time <= {MOST_TIME} of file order):", holds)
    sys.exit(not holds)


if __name__ == "__main__":
    main()
