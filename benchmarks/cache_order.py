"""What `-T cache_order=N` saves: cached prompt tokens and wall time against the file's order.

    python -m benchmarks.cache_order [--connections 20 100] [--pace 0.1] [--contexts 100]

The real rows go through the real eval to a server on loopback that caches prefixes as
providers do: blocks of 128 tokens, at least 1,024, visible once the request that brought
them has ended, forgotten 7.5 latencies after their last use. Evals and server have a
process each. Ratios are taken within one run of this program, which wants a machine that
does nothing else: where Inspect cannot keep up with the pace, latencies grow and prefixes
expire. It then says so.
"""

import argparse
import math
import os
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from heapq import heappop, heappush
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from inspect_ai import eval
from inspect_ai.model import ChatMessage, GenerateConfig, ModelOutput, ModelUsage, get_model
from inspect_ai.tool import ToolChoice, ToolInfo
from tests.support.prefix_cache import (
    CHARACTERS_PER_TOKEN,
    PrefixCache,
    blocks_of,
    ceiling,
)
from tests.support.server import Call, LoopbackServer, Reply

from inspect_clbench.tasks import clbench

REAL_DATA = Path(__file__).parents[2] / "shared" / "data" / "CL-bench.jsonl.xz"

Rows = dict[str, Any]
"""The task arguments that say which rows are run."""

LIFETIME = 7.5  # in latencies
LEAST_SHARE = 0.99  # of the ceiling
MOST_TIME = 1.05  # of the time in the file's order

# Inspect needs about 60 ms of one core for a sample; the latency is such that it has
# this time, in seconds, between one start and the next.
PACE = 0.1
MOST_BEHIND = 1.15  # of the ideal time: latency x samples / connections


@dataclass(frozen=True)
class Run:
    """One eval over all rows."""

    connections: int
    order: str
    cached: float
    """The share of prompt tokens that were cached."""

    seconds: float
    ideal: float
    """How long it would take if nothing but the provider took time."""


class CachingProvider:
    """The server's script: answers after one latency, and caches like a provider."""

    def __init__(self, latency: float) -> None:
        self.latency = latency
        self.tokens = 0
        self.cached = 0
        self._cache = PrefixCache(LIFETIME * latency)
        self._running: list[tuple[float, int, list[int]]] = []

    def __call__(self, call: Call) -> Reply:
        now = time.monotonic()
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


def measure(connections: int, rows: Rows, pace: float, *, ordered: bool) -> Run:
    """Run the rows and look at what the provider had in its cache."""
    provider = CachingProvider(pace * connections)
    arguments = dict(rows)
    if ordered:
        arguments["cache_order"] = connections
    with (
        LoopbackServer(provider) as server,
        ProcessPoolExecutor(1, get_context("spawn")) as process,
    ):
        told = process.submit(run_eval, server.url, arguments, connections).result()
        seconds = _seconds(server.times, provider.latency)
    assert told == provider.cached, "the log tells another story"
    order = f"cache_order={connections}" if ordered else "file"
    ideal = provider.latency * math.ceil(len(server.times) / connections)
    return Run(connections, order, provider.cached / provider.tokens, seconds, ideal)


def run_eval(url: str, arguments: Rows, connections: int) -> int:
    """One eval in this process; how many cached tokens its log tells of."""
    os.environ["LOOP_BASE_URL"], os.environ["LOOP_API_KEY"] = url, "none"
    with tempfile.TemporaryDirectory() as folder:
        (log,) = eval(
            "inspect_clbench/clbench",
            task_args=arguments,
            model="openai-api/loop/student",
            model_roles={"grader": get_model("mockllm/judge", custom_outputs=_judge)},
            max_connections=connections,
            adaptive_connections=False,
            log_dir=folder,
            log_realtime=False,
            display="none",
        )
    assert log.status == "success", log.error
    return log.stats.model_usage["openai-api/loop/student"].input_tokens_cache_read or 0


def _seconds(times: list[float], latency: float) -> float:
    """From the first request to the last reply: loading the rows is not the order's work."""
    return times[-1] + latency - times[0]


def highest_share(rows: Rows) -> float:
    """The share of prompt tokens that a sibling sent before: no order can save more."""
    prompts = [
        _text([(message.role, message.text) for message in sample.input])
        for sample in clbench(**rows).dataset
        if not isinstance(sample.input, str)
    ]
    tokens = sum(len(prompt) // CHARACTERS_PER_TOKEN for prompt in prompts)
    return ceiling([blocks_of(prompt) for prompt in prompts]) / tokens


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
    """Print the table; exit with 1 where a claim does not hold."""
    parser = argparse.ArgumentParser(description="What -T cache_order=N saves.")
    parser.add_argument("--connections", type=int, nargs="+", default=[20, 100])
    parser.add_argument("--pace", type=float, default=PACE, help="seconds between starts")
    parser.add_argument("--contexts", type=int, help="draw so many; all 500 if not given")
    options = parser.parse_args()
    if not REAL_DATA.exists():
        sys.exit(f"{REAL_DATA}: the real dataset is not on this machine.")
    rows: Rows = {"dataset": str(REAL_DATA), "contexts": options.contexts}
    most = highest_share(rows)
    print(f"Ceiling: {most:.4f} of all prompt tokens. Lifetime: {LIFETIME} latencies.\n")
    print("connections  order             cached  of ceiling  seconds  of ideal  of file order")
    holds = True
    for connections in options.connections:
        by_file = measure(connections, rows, options.pace, ordered=False)
        ordered = measure(connections, rows, options.pace, ordered=True)
        for run in (by_file, ordered):
            print(
                f"{run.connections:>11}  {run.order:<16}  {run.cached:.4f}  "
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
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
