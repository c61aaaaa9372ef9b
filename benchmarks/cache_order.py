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

For several epochs a second table simulates other recipes on the same prompts: a lifetime of
an hour, and runs in parts.
"""

import argparse
import math
import os
import random
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple

from inspect_ai import eval
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolChoice, ToolInfo
from tests.support.prefix_cache import (
    CHARACTERS_PER_TOKEN,
    PrefixCache,
    blocks_of,
    ceiling,
    simulate,
)
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.data.selection import cache_order
from inspect_clbench.tasks import clbench

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"

Rows = dict[str, Any]
"""The task arguments that say which rows are run."""

# Lifetimes of prefixes in latencies of 40 s.
MINUTES, HOUR, DAY = 7.5, 90, 2160
LEAST_SHARE = 0.99  # of the ceiling
SEED = 20260203
MOST_TIME = 1.05  # of the time in the file's order

# Inspect needs about 60 ms of one core for a sample; the latency is such that it has
# this time, in seconds, between one start and the next.
PACE = 0.1
MOST_BEHIND = 1.15  # of the ideal time: latency x samples / connections


@dataclass(frozen=True)
class Run:
    """One eval over all rows."""

    connections: int
    recipe: str
    cached: float
    """The share of prompt tokens that were cached."""

    seconds: float
    ideal: float
    """How long it would take if nothing but the provider took time."""


class Prompt(NamedTuple):
    """A prompt as the cache sees it, and where it belongs."""

    blocks: list[int]
    tokens: int
    context: str
    category: str


class CachingProvider:
    """The server's script: answers after one latency, and caches like a provider."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.tokens = 0
        self.cached = 0
        self._cache: PrefixCache | None = None
        self._running: list[tuple[float, int, list[int]]] = []

    def __call__(self, call: Call) -> Reply:
        now = time.monotonic()
        if self._cache is None:
            lifetime = DAY if call.body.get("prompt_cache_retention") == "24h" else MINUTES
            self._cache = PrefixCache(lifetime * self.latency)
        while self._running and self._running[0][0] <= now:
            ended, _, blocks = heappop(self._running)
            self._cache.complete(blocks, ended)
        prompt = _text([(str(m["role"]), str(m["content"])) for m in call.messages])
        blocks = blocks_of(prompt)
        cached = self._cache.cached_tokens(blocks, now)
        self.tokens += len(prompt) // CHARACTERS_PER_TOKEN
        self.cached += cached
        heappush(self._running, (now + self.latency, self.tokens, blocks))
        return Reply("An answer.", delay=self.latency, cached_tokens=cached)


def measure(
    connections: int, rows: Rows, pace: float, epochs: int, *, ordered: bool, kept: bool
) -> Run:
    """Run the rows and look at what the provider had in its cache."""
    provider = CachingProvider(pace * connections)
    arguments = dict(rows)
    if ordered:
        arguments["cache_order"] = connections
    with (
        LoopbackServer(provider) as server,
        ProcessPoolExecutor(1, get_context("spawn")) as process,
    ):
        settings = {"prompt_cache_retention": "24h"} if kept else {}
        options = (server.url, arguments, settings, connections, epochs)
        told = process.submit(run_eval, *options).result()
        seconds = _seconds(server.times, provider.latency)
    assert told == provider.cached, "the log tells another story"
    recipe = (f"cache_order={connections}" if ordered else "file") + (", 24h" if kept else "")
    ideal = provider.latency * math.ceil(len(server.times) / connections)
    return Run(connections, recipe, provider.cached / provider.tokens, seconds, ideal)


def run_eval(
    url: str, arguments: Rows, settings: dict[str, Any], connections: int, epochs: int
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


def _seconds(times: list[float], latency: float) -> float:
    """From the first request to the last reply: loading the rows is not the order's work."""
    return times[-1] + latency - times[0]


def prompts_of(rows: Rows) -> list[Prompt]:
    """The prompts of the rows in the file's order."""
    return [
        Prompt(blocks_of(text), len(text) // CHARACTERS_PER_TOKEN, str(sample.metadata["context_id"]),
               sample.metadata["context_category"])
        for sample in clbench(**rows).dataset
        if not isinstance(sample.input, str) and sample.metadata
        for text in [_text([(message.role, message.text) for message in sample.input])]
    ]  # fmt: skip


def highest_share(prompts: Sequence[Prompt], epochs: int) -> float:
    """The share of prompt tokens that came before: no recipe can save more."""
    several = [prompt.blocks for prompt in prompts] * epochs
    return ceiling(several) / (epochs * sum(prompt.tokens for prompt in prompts))


def in_order(prompts: Sequence[Prompt], connections: int) -> list[Prompt]:
    return [prompts[i] for i in cache_order([p.context for p in prompts], connections)]


def simulated(
    prompts: Sequence[Prompt], connections: int, epochs: int
) -> Iterator[tuple[str, float, float]]:
    """Recipes, the share of prompt tokens that each finds cached, and its time in latencies."""
    ordered = in_order(prompts, connections)
    categories = [
        in_order([p for p in prompts if p.category == name], connections)
        for name in dict.fromkeys(p.category for p in prompts)
    ]
    few = 3 * connections
    parts = [ordered[i : i + few] for i in range(0, len(ordered), few)]
    whole = epochs * sum(prompt.tokens for prompt in prompts)
    for name, pieces, lifetime in (
        ("file, 5m", [prompts], MINUTES),
        ("cache_order, 5m", [ordered], MINUTES),
        ("cache_order, 1h", [ordered], HOUR),
        ("cache_order, 24h", [ordered], DAY),
        ("file, 24h", [prompts], DAY),
        ("cache_order, 1h, a category at a time", categories, HOUR),
        (f"cache_order, 5m, --limit of {few} at a time", parts, MINUTES),
    ):
        cache, now, cached = PrefixCache(lifetime), 0.0, 0
        latency = partial(random.Random(SEED).lognormvariate, -0.045, 0.3)
        for piece in pieces:
            blocks = [prompt.blocks for prompt in piece] * epochs
            found, now = simulate(blocks, connections, cache, latency, now)
            cached += found
        yield name, cached / whole, now


def _text(messages: list[tuple[str, str]]) -> str:
    return "".join(f"<{role}>{content}" for role, content in messages)


def _judge(
    input: list[ChatMessage],
    tools: list[ToolInfo],
    tool_choice: ToolChoice,
    config: GenerateConfig,
) -> ModelOutput:
    reply = (
        '{"Grading Rationale": "No.", "List of Requirement Satisfaction Status": ["no"], '
        '"Overall Score": 0}'
    )
    output = ModelOutput.from_content("mockllm/judge", reply)
    output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
    return output


def main() -> None:
    """Print the tables; exit with 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(description="What recipes for prompt caches save.")
    parser.add_argument("--connections", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--epochs", type=int, default=1)
    parser.add_argument("--pace", type=float, default=PACE, help="seconds between starts")
    parser.add_argument("--contexts", type=int, help="draw so many; all 500 if not given")
    options = parser.parse_args()
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: the real dataset is not on this machine.")
    rows: Rows = {"dataset": str(REAL_DATA), "contexts": options.contexts}
    prompts = prompts_of(rows)
    most = highest_share(prompts, options.epochs)
    several = options.epochs > 1
    print(
        f"Ceiling: {most:.4f} of all prompt tokens of {len(prompts):,} tasks, epochs: "
        f"{options.epochs}.\n"
    )
    print(
        "connections  recipe                cached  of ceiling  seconds  of ideal  of file order"
    )
    holds = True
    for connections in options.connections:
        by_file, ordered = (
            measure(connections, rows, options.pace, options.epochs, ordered=chosen, kept=chosen and several)
            for chosen in (False, True)
        )  # fmt: skip
        for run in (by_file, ordered):
            print(
                f"{run.connections:>11}  {run.recipe:<20}  {run.cached:.4f}  "
                f"{run.cached / most:>10.4f}  {run.seconds:>7.1f}  "
                f"{run.seconds / run.ideal:>8.3f}  {run.seconds / by_file.seconds:>13.3f}",
                flush=True,
            )
            if run.seconds > MOST_BEHIND * run.ideal:
                print("The machine did not keep up: try again with a larger --pace.")
        holds &= ordered.cached / most >= LEAST_SHARE
        holds &= ordered.seconds / by_file.seconds <= MOST_TIME
    print(
        f"\nClaims (cached >= {LEAST_SHARE} of the ceiling, time <= {MOST_TIME} of file "
        f"order): {'hold' if holds else 'DO NOT HOLD'}"
    )
    if several:
        prompts = prompts_of({"dataset": str(REAL_DATA)})
        print(
            f"\nSimulated, all {len(prompts):,} tasks, latencies spread by 30 %; ceiling "
            f"{highest_share(prompts, options.epochs):.4f}"
        )
        print("connections  recipe                                      cached  of file order")
        for connections in options.connections:
            base = 0.0
            for name, share, time_needed in simulated(prompts, connections, options.epochs):
                base = base or time_needed
                print(
                    f"{connections:>11}  {name:<42}  {share:.4f}  {time_needed / base:>13.3f}"
                )
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
