"""What a run will use, cost and be able to show, before anything is paid.

Input tokens are counted on the rows that would be run. How long answers and verdicts will
be nobody knows before: that comes from logs of a pilot run, or from stated assumptions, and is
a range.
"""

import hashlib
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

from inspect_ai.dataset import Sample
from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost

from inspect_clbench.analysis.costs import (
    CHARS_PER_TOKEN,
    LEAST_CACHED,
    UNDER_TEST,
    Prices,
    most_cached,
    read_prices,
)
from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.power import Design, Spread, cheapest, designs, spread_of
from inspect_clbench.analysis.statistics import student_t
from inspect_clbench.benchmarks import (
    CLBENCH,
    CLBENCH_LIFE,
    DEFAULT_JUDGE,
    GRADER,
    Benchmark,
    benchmark_of,
)
from inspect_clbench.data.dataset import draw_samples, load_samples
from inspect_clbench.data.selection import cache_order
from inspect_clbench.data.sources import DEMO, read_file_rows
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.logs.files import Paths, find_logs
from inspect_clbench.logs.samples import read_usages
from inspect_clbench.logs.series import load_series, trials_of
from inspect_clbench.metrics.solving import Trial, clustered_stderr, mean_rate, run_rates

BATCH_PRICE = 0.5
"""Of the usual price: what providers ask for requests in batches."""

CACHE_SECONDS = 300
_GRID_CONTEXTS = (25, 50, 100, 200)
_GRID_EPOCHS = (1, 2, 3, 5)
_LEAST_RATE = 0.01
_CPU_SECONDS = 0.06  # of one core, for each sample: benchmarks/results/overhead.txt


@dataclass(frozen=True)
class Span:
    """A figure that is not known exactly."""

    low: float
    mid: float
    high: float

    def __add__(self, other: "Span") -> "Span":
        return Span(self.low + other.low, self.mid + other.mid, self.high + other.high)

    def __mul__(self, factor: float) -> "Span":
        return Span(self.low * factor, self.mid * factor, self.high * factor)


@dataclass(frozen=True)
class Lengths:
    """Tokens of one answer, of the reasoning before it, and of one verdict with its own."""

    answer: Span = Span(700, 1_500, 4_000)
    reasoning: Span = Span(0, 4_000, 15_000)
    verdict: Span = Span(600, 1_500, 4_000)
    from_pilot: bool = False


@dataclass(frozen=True)
class RoleUse:
    """What one role will use in the whole run."""

    role: str
    model: str
    requests: int
    input_tokens: float
    cached: float
    """The share of the input that likely comes from the provider's cache, in the file's order."""

    cached_in_order: float
    """The same with `cache_order`."""

    cached_at_most: float
    """The share that a cache would hold which forgets nothing until the run has ended."""

    output_tokens: Span
    usd: Span | None = None
    """None where no price is known."""


@dataclass(frozen=True)
class Plan(Result):
    """A run that has not been paid for yet."""

    dataset: str
    tasks: int
    contexts: int
    epochs: int
    roles: tuple[RoleUse, ...]
    lengths: Lengths
    spread: Spread
    rate: float
    tokenizer: str
    hours: float
    connections: int
    latency: float
    cpu_hours: float
    """What Inspect itself needs on one core."""

    designs: tuple[Design, ...]
    cheapest: Design | None
    """For the difference that is to be shown; none if none was named or none can show it."""

    detect: float | None
    batch: bool

    @property
    def usd(self) -> Span | None:
        known = [use.usd for use in self.roles]
        if not known or None in known:
            return None
        return sum((usd for usd in known if usd), Span(0, 0, 0))

    @property
    def unpriced(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(use.model for use in self.roles if use.usd is None))

    def records(self) -> Iterator[dict[str, Any]]:
        for use in self.roles:
            yield {"part": "role", **_flat(asdict(use))}
        for design in self.designs:
            yield {"part": "design", **asdict(design)}


def plan(
    model: str,
    *,
    judge: str = DEFAULT_JUDGE,
    epochs: int = 3,
    contexts: int | None = None,
    category: str | Sequence[str] | None = None,
    dataset: str = CLBENCH.hub_id,
    prices: str | PathLike[str] | Prices | None = None,
    pilot: Paths | None = None,
    connections: int = 20,
    latency: float = 40,
    answer_tokens: int | None = None,
    reasoning_tokens: int | None = None,
    judge_tokens: int | None = None,
    rate: float = 0.2,
    detect: float | None = None,
    batch: bool = False,
) -> Plan:
    """What a run will use and cost, how long it takes, and what it can show.

    Args:
        model: The model under test.
        judge: The model in the role `grader`.
        epochs: How many runs.
        contexts: How many contexts are drawn; all by default.
        category: One or several categories to keep.
        dataset: As the task takes it.
        prices: Inspect's `ModelCost` by model, or the file that `inspect eval
            --model-cost-config` takes.
        pilot: Logs of a small run, from which the lengths of answers and verdicts and, where
            there are enough contexts, the variances are taken.
        connections: How many requests are under way at a time.
        latency: Seconds that an answer takes, and a verdict.
        answer_tokens: Tokens of an answer without its reasoning, instead of a range. The judge
            reads them.
        reasoning_tokens: Tokens of reasoning before an answer, instead of a range.
        judge_tokens: Output tokens of a verdict, reasoning included, instead of a range.
        rate: The expected solving rate, where no pilot tells it.
        detect: A difference between two models, as a fraction, to find the cheapest design for.
        batch: Whether batch prices are asked for.
    """
    for name, value in {
        "epochs": epochs,
        "connections": connections,
        "latency": latency,
    }.items():
        if not 0 < value < math.inf:
            raise ClbenchError(f"{name}={value}: give a number above 0.")
    if not 0 < rate < 1:
        raise ClbenchError(
            f"rate={rate}: give a share between 0 and 1, such as 0.2 (to clbench: --rate 20, in %)."
        )
    known = read_prices(prices) if isinstance(prices, str | PathLike) else prices or {}
    lengths, spread, rate = _from_pilot(pilot, rate)
    if answer_tokens is not None:
        lengths = replace(lengths, answer=_exactly(answer_tokens))
    if reasoning_tokens is not None:
        lengths = replace(lengths, reasoning=_exactly(reasoning_tokens))
    if judge_tokens is not None:
        lengths = replace(lengths, verdict=_exactly(judge_tokens))
    everything = load_samples(dataset, _benchmark(dataset), category)
    chosen, _ = draw_samples(everything, contexts, 0)
    samples = list(chosen)
    requests = len(samples) * epochs

    def roles(some: Sequence[Sample]) -> tuple[RoleUse, ...]:
        uses = (
            _student(model, some, epochs, lengths, connections, latency),
            _grader(judge, some, epochs, lengths),
        )
        # The judge reads the answer, which may be short or long.
        read = (Span(0.0, 0.0, 0.0), lengths.answer * (len(some) * epochs))
        return tuple(
            _priced(use, known.get(use.model), batch, answers)
            for use, answers in zip(uses, read, strict=True)
        )

    priced = roles(samples)
    sizes = list(Counter(_context(sample) for sample in everything).values())
    # Designs are parts of the whole dataset, whatever part is planned.
    whole = priced if len(samples) == len(everything) else roles(list(everything))
    per_sample = _usd_per_sample(whole, len(everything) * epochs)
    numbers = [n for n in _GRID_CONTEXTS if n < len(sizes)] + [len(sizes)]
    grid = tuple(designs(sizes, spread, per_sample, numbers, _GRID_EPOCHS))
    return Plan(
        dataset=everything.name or dataset,
        tasks=len(samples),
        contexts=len({_context(sample) for sample in samples}),
        epochs=epochs,
        roles=priced,
        lengths=lengths,
        spread=spread,
        rate=rate,
        tokenizer=" and ".join(dict.fromkeys(_tokenizer(name)[1] for name in (model, judge))),
        # A sample keeps its place among those under way until its verdict is there.
        hours=requests * 2 * latency / connections / 3600,
        connections=connections,
        latency=latency,
        cpu_hours=requests * _CPU_SECONDS / 3600,
        designs=grid,
        cheapest=None if detect is None else cheapest(sizes, spread, per_sample, detect),
        detect=detect,
        batch=batch,
    )


def cached_share(
    prompts: Sequence[Sequence[tuple[str, float]]], starts: Sequence[float], latency: float
) -> float:
    """The share of prompt tokens that a provider's cache would hold.

    A prefix of whole messages can be read once the request that brought it has ended, and is
    forgotten `CACHE_SECONDS` after its last use.

    Args:
        prompts: For each request, in the order of their starts, the hash of each prefix of its
            messages and its tokens, the shortest first.
        starts: When each request starts, in seconds.
        latency: How long a request takes.
    """
    ready: dict[str, tuple[float, float]] = {}  # from when, until when
    read = whole = 0.0
    for prefixes, start in zip(prompts, starts, strict=True):
        whole += prefixes[-1][1]
        found = [
            tokens
            for name, tokens in prefixes
            if tokens >= LEAST_CACHED
            and name in ready
            and ready[name][0] <= start <= ready[name][1]
        ]
        read += max(found, default=0.0)
        end = start + latency
        for name, _ in prefixes:
            since, until = ready.get(name, (end, end))
            # What was forgotten is there again when this request has ended.
            ready[name] = (since if start <= until else end, end + CACHE_SECONDS)
    return read / whole if whole else math.nan


def _benchmark(dataset: str) -> Benchmark:
    """Whose rows these are; of a file, as its first row has it."""
    if dataset in (DEMO, CLBENCH.hub_id, CLBENCH_LIFE.hub_id):
        return CLBENCH_LIFE if dataset == CLBENCH_LIFE.hub_id else CLBENCH
    _, first = next(read_file_rows(dataset), (0, None))
    metadata = first.get("metadata") if isinstance(first, dict) else None
    category = metadata.get("context_category") if isinstance(metadata, dict) else None
    return benchmark_of(str(category)) or CLBENCH


def _from_pilot(pilot: Paths | None, rate: float) -> tuple[Lengths, Spread, float]:
    """Lengths, variances and rate from logs, or the stated assumptions where there are none."""
    if pilot is None:
        return Lengths(), Spread.usual(rate), rate
    logs = find_logs(pilot)
    if len(datasets := sorted({log.dataset_name for log in logs})) > 1:
        raise ClbenchError(
            f"--pilot: logs of several datasets ({', '.join(datasets)}). Name those of one."
        )
    used = [use for log in logs for use in read_usages(log)]
    if not used:
        names = ", ".join(map(str, logs))
        raise ClbenchError(f"{names}: no answer in it reports its tokens. Leave out --pilot.")
    lengths = Lengths(
        answer=_measured((use.context, use.answer) for use in used),
        reasoning=_measured((use.context, use.reasoning) for use in used),
        verdict=_measured((use.context, use.verdict) for use in used),
        from_pilot=True,
    )
    scored = [answer for one in load_series(logs) for answer in one.scored]
    if scored:
        rate = mean_rate(run_rates(trials_of(scored)))
        rate = min(max(rate, _LEAST_RATE), 1 - _LEAST_RATE)
    return lengths, spread_of(scored, rate) or Spread.usual(rate), rate


def _measured(pairs: Iterable[tuple[str, float]]) -> Span:
    """The mean of a figure over answers and its interval, clustered on contexts."""
    trials = [Trial(1, context, value) for context, value in pairs]
    mean, error = mean_rate(run_rates(trials)), clustered_stderr(trials)
    if math.isnan(error):
        return Span(mean / 2, mean, 2 * mean)
    reach = student_t(len({trial.cluster for trial in trials}) - 1) * error
    return Span(max(mean - reach, 0), mean, mean + reach)


def _exactly(value: float) -> Span:
    if not value >= 0:
        raise ClbenchError(f"{value} tokens: give a number of at least 0.")
    return Span(value, value, value)


Count = Callable[[str], float]
Prefixes = list[tuple[str, float]]
"""Of a prompt the hash and the tokens of each of its beginnings, by whole messages."""


def _tokenizer(model: str) -> tuple[Count, str]:
    """How the tokens of a text are counted, and the name of the way."""
    try:
        import tiktoken

        encoding = tiktoken.encoding_for_model(model.rpartition("/")[2])
    except Exception:  # not installed, another provider's model, or its file is out of reach
        return lambda text: len(text) / CHARS_PER_TOKEN, f"characters / {CHARS_PER_TOKEN}"
    return lambda text: len(encoding.encode(text, disallowed_special=())), encoding.name


def _student(
    model: str,
    samples: Sequence[Sample],
    epochs: int,
    lengths: Lengths,
    connections: int,
    latency: float,
) -> RoleUse:
    prompts = _prefixes(samples, _tokenizer(model)[0])
    # A sample keeps its place until its verdict is there.
    starts = [i * 2 * latency / connections for i in range(len(samples) * epochs)]
    ordered = [prompts[i] for i in cache_order([_context(s) for s in samples], connections)]
    tokens = math.fsum(prefixes[-1][1] for prefixes in prompts) * epochs
    again = [(prefixes[-1][1], prefixes[-1][1]) for prefixes in prompts] * (epochs - 1)
    return RoleUse(
        role=UNDER_TEST,
        model=model,
        requests=len(samples) * epochs,
        input_tokens=tokens,
        cached=cached_share(prompts * epochs, starts, latency),
        cached_in_order=cached_share(ordered * epochs, starts, latency),
        cached_at_most=most_cached([*_seen_before(prompts), *again]) or 0.0,
        output_tokens=(lengths.answer + lengths.reasoning) * (len(samples) * epochs),
    )


def _seen_before(prompts: Iterable[Prefixes]) -> Iterator[tuple[float, float]]:
    """The tokens of each prompt, and how many of them an earlier one begins with too."""
    seen: set[str] = set()
    for prefixes in prompts:
        yield prefixes[-1][1], max((n for name, n in prefixes if name in seen), default=0.0)
        seen.update(name for name, _ in prefixes)


def _prefixes(samples: Sequence[Sample], count: Count) -> list[Prefixes]:
    """Of each prompt the hash and the tokens of each of its beginnings, by whole messages."""
    counted: dict[str, float] = {}
    prompts = []
    for sample in samples:
        whole, tokens, prefixes = hashlib.sha256(), 0.0, []
        for message in sample.input:
            text = message.text if not isinstance(message, str) else message
            whole.update(f"{len(text)}:{text}".encode("utf-8", "replace"))
            name = whole.hexdigest()
            if name not in counted:  # siblings share most of their messages
                counted[name] = count(text)
            tokens += counted[name]
            prefixes.append((name, tokens))
        prompts.append(prefixes)
    return prompts


def _grader(judge: str, samples: Sequence[Sample], epochs: int, lengths: Lengths) -> RoleUse:
    prompt, count = load_judge_prompt(), _tokenizer(judge)[0]
    asked = math.fsum(count(prompt.render((s.metadata or {})["rubrics"], "")) for s in samples)
    requests = len(samples) * epochs
    return RoleUse(
        role=GRADER,
        model=judge,
        requests=requests,
        input_tokens=asked * epochs + lengths.answer.mid * requests,
        cached=0.0,
        cached_in_order=0.0,
        cached_at_most=0.0,
        output_tokens=lengths.verdict * requests,
    )


def _priced(use: RoleUse, price: ModelCost | None, batch: bool, answers: Span) -> RoleUse:
    """The use with its money: least with the most from the cache and short outputs.

    Args:
        use: What is used, with answers of the middle length in the input.
        price: The price of its model.
        batch: Whether batch prices are asked for.
        answers: The tokens of the answers in the input.
    """
    if price is None:
        return use

    def usd(cached: float, answer: float, output: float) -> float:
        read = use.input_tokens - answers.mid + answer
        usage = ModelUsage(
            input_tokens=round(read * (1 - cached)),
            input_tokens_cache_read=round(read * cached),
            output_tokens=round(output),
        )
        return compute_model_cost(price, usage) * (BATCH_PRICE if batch else 1)

    output = use.output_tokens
    span = Span(
        usd(use.cached_at_most, answers.low, output.low),
        usd(use.cached, answers.mid, output.mid),
        usd(0.0, answers.high, output.high),
    )
    return replace(use, usd=span)


def _usd_per_sample(roles: Sequence[RoleUse], samples: int) -> float | None:
    known = [use.usd.mid for use in roles if use.usd]
    return math.fsum(known) / samples if len(known) == len(roles) else None


def _context(sample: Sample) -> str:
    return str((sample.metadata or {})["context_id"] or sample.id)


def _flat(record: Mapping[str, Any]) -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in record.items():
        if isinstance(value, dict):
            flat |= {f"{name}_{key}": inner for key, inner in value.items()}
        else:
            flat[name] = value
    return flat
