"""What recipes for prompt caches save: cached prompt tokens and wall time.

    python -m benchmarks.cache_order [--epochs 3] [--connections 20 100] [--pace 0.1] [--contexts 100]

The real rows go through the real eval to a server on loopback that caches prefixes as
providers do: blocks of 128 tokens, at least 1,024, visible once the request that brought
them has ended, forgotten 7.5 latencies after their last use (five minutes at 40 s), or 2,160
(24 hours) if the request says `prompt_cache_retention`. For one epoch `-T cache_order=N` is
compared with the file's order; for several, the recipe of the documentation, which adds
`-M prompt_cache_retention=24h`. Evals and server have a process each. Ratios are taken within
one run of this program, which wants a machine that does nothing else: where Inspect cannot
keep up with the pace, latencies grow and prefixes expire. It then says so.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from heapq import heappop, heappush
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import eval
from inspect_ai.model import ModelOutput, ModelUsage, get_model
from tests.support.builders import verdict
from tests.support.server import Call, LoopbackServer, Reply

from benchmarks.prefix_cache import CHARACTERS_PER_TOKEN, PrefixCache, blocks_of, ceiling
from inspect_clbench.tasks import clbench

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"

# Lifetimes of prefixes in latencies of 40 s.
MINUTES, DAY = 7.5, 2160
LEAST_SHARE = 0.99  # of the ceiling
MOST_TIME = 1.05  # of the time in the file's order

# Inspect needs about 60 ms of one core for a sample; the latency is such that it has
# this time, in seconds, between one start and the next.
PACE = 0.1
MOST_BEHIND = 1.15  # of the ideal time: latency x samples / connections


class Run(NamedTuple):
    """One eval over all rows."""

    recipe: str
    cached: float
    """The share of prompt tokens that were cached."""
    seconds: float
    ideal: float  # if nothing but the provider took time


class CachingProvider:
    """The server's script: answers after one latency, and caches like a provider."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.tokens = 0
        self.cached = 0
        self.times: list[float] = []
        self._cache: PrefixCache | None = None
        self._running: list[tuple[float, int, list[int]]] = []

    def __call__(self, call: Call) -> Reply:
        now = time.monotonic()
        self.times.append(now)
        if self._cache is None:
            lifetime = DAY if call.body.get("prompt_cache_retention") == "24h" else MINUTES
            self._cache = PrefixCache(lifetime * self.latency)
        while self._running and self._running[0][0] <= now:
            end, _, blocks = heappop(self._running)
            self._cache.complete(blocks, end)
        prompt = joined([(str(message["role"]), str(message["content"])) for message in call.messages])
        blocks = blocks_of(prompt)
        cached = self._cache.cached_tokens(blocks, now)
        self.tokens += len(prompt) // CHARACTERS_PER_TOKEN
        self.cached += cached
        heappush(self._running, (now + self.latency, self.tokens, blocks))
        return Reply("An answer.", delay=self.latency, cached_tokens=cached)


def joined(messages: list[tuple[str, str]]) -> str:
    """A conversation as one text, as the cache sees it."""
    return "".join(f"<{role}>{content}" for role, content in messages)


def measure(arguments: dict[str, Any], connections: int, pace: float, epochs: int, recipe: str) -> Run:
    """Run the rows and look at what the provider had in its cache."""
    provider = CachingProvider(pace * connections)
    with LoopbackServer(provider) as server, ProcessPoolExecutor(1, get_context("spawn")) as process:
        settings = {"prompt_cache_retention": "24h"} if recipe.endswith("24h") else {}
        cached = process.submit(run_eval, server.url, arguments, settings, connections, epochs).result()
        # From the first request to the last reply: loading the rows is not the order's work.
        seconds = provider.times[-1] + provider.latency - provider.times[0]
    assert cached == provider.cached, "the log tells another story"
    ideal = provider.latency * math.ceil(len(provider.times) / connections)
    return Run(recipe, provider.cached / provider.tokens, seconds, ideal)


def run_eval(
    url: str, arguments: dict[str, Any], settings: dict[str, Any], connections: int, epochs: int
) -> int:
    """One eval in this process; how many cached tokens its log tells of."""
    os.environ["OPENAI_API_KEY"] = "none"
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            "inspect_clbench/clbench",
            task_args=arguments,
            model="openai/gpt-5.1",
            model_base_url=url,
            model_args=settings,
            model_roles={"grader": get_model("mockllm/judge", custom_outputs=_judge)},
            epochs=epochs,
            max_connections=connections,
            adaptive_connections=False,
            log_dir=folder,
            log_realtime=False,
            display="none",
        )
    assert log.status == "success", log.error
    return log.stats.model_usage["openai/gpt-5.1"].input_tokens_cache_read or 0


def _judge(*_: Any) -> ModelOutput:
    output = ModelOutput.from_content("mockllm/judge", verdict(0, ["no"]))
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def highest_share(rows: dict[str, Any], epochs: int) -> float:
    """The share of prompt tokens that came before: no recipe can save more."""
    prompts = [
        joined([(message.role, message.text) for message in sample.input])
        for sample in clbench(**rows).dataset
        if not isinstance(sample.input, str)
    ]
    tokens = sum(len(prompt) // CHARACTERS_PER_TOKEN for prompt in prompts)
    return ceiling([blocks_of(prompt) for prompt in prompts] * epochs) / (epochs * tokens)


def main() -> None:
    """Print the table; exit with 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(description="What recipes for prompt caches save.")
    parser.add_argument("--connections", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--pace", type=float, default=PACE, help="seconds between starts")
    parser.add_argument("--contexts", type=int, help="draw so many; all 500 if not given")
    options = parser.parse_args()
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: the real dataset is not on this machine.")
    rows = {"dataset": str(REAL_DATA), "contexts": options.contexts}
    most = highest_share(rows, options.epochs)
    print(f"Ceiling: {most:.4f} of all prompt tokens, epochs: {options.epochs}.\n")
    print("connections  recipe                cached  of ceiling  seconds  of ideal  of file order")
    holds = True
    for connections in options.connections:
        kept = ", 24h" if options.epochs > 1 else ""
        by_file = measure(rows, connections, options.pace, options.epochs, "file")
        ordered_rows = {**rows, "cache_order": connections}
        ordered = measure(
            ordered_rows, connections, options.pace, options.epochs, f"cache_order={connections}{kept}"
        )
        for run in (by_file, ordered):
            print(
                f"{connections:>11}  {run.recipe:<20}  {run.cached:.4f}  {run.cached / most:>10.4f}  "
                f"{run.seconds:>7.1f}  {run.seconds / run.ideal:>8.3f}  {run.seconds / by_file.seconds:>13.3f}",
                flush=True,
            )
            if run.seconds > MOST_BEHIND * run.ideal:
                print("The machine did not keep up: try again with a larger --pace.")
        holds &= ordered.cached / most >= LEAST_SHARE
        holds &= ordered.seconds / by_file.seconds <= MOST_TIME
    print(f"\nClaims (cached >= {LEAST_SHARE} of the ceiling, time <= {MOST_TIME} of file order):", holds)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
