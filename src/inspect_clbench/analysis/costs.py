"""What runs cost: tokens per role from the logs, and money where prices are known.

Tokens of a run are those of the log's statistics, where Inspect counts them by model and role,
with `total_cost` where it was told prices. Tokens of scores that were given after the run
(`inspect score`, `clbench regrade`) stand in the metadata of these scores.

For pictures and tables of one's own: `costs(...).spent` has one `Spent` per model (and effort,
dataset and draw), with `group` that names these, and `total`, `after_run`, `runs`, `per_run` and
`per_solved` in USD; `spent` is None where no price is known.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Literal, NamedTuple

import yaml
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost
from pydantic import BaseModel, TypeAdapter, ValidationError

from inspect_clbench.analysis.frames import Result
from inspect_clbench.benchmarks import (
    DEFAULT_JUDGE,
    GRADER,
    PRICE_EXAMPLE,
    VERDICT_SCORERS,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import checked, outcome_of, score_names
from inspect_clbench.logs.files import REPLAY, Log, Paths, find_logs, read_summaries
from inspect_clbench.logs.summaries import Summary

UNDER_TEST = "model"
LEAST_CACHED = 1024
"""Tokens: providers keep no shorter prefix."""

CHARS_PER_TOKEN = 4
_COUNTS = (
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read",
    "input_tokens_cache_write", "reasoning_tokens",
)  # fmt: skip

Prices = Mapping[str, ModelCost]
"""USD per million tokens, by model."""

Silence = Literal["imported", "replayed", "unreported"]
"""Why a log has no tokens of the model under test."""


class Group(NamedTuple):
    """What runs have in common whose tokens are added up."""

    dataset: str
    model: str
    effort: str
    drawn: int | None
    """So many contexts were drawn; none if all were meant."""


@dataclass(frozen=True)
class Use:
    """The tokens that one model used in one role, in all runs of a group."""

    group: Group
    run_of: str
    """The model under test, and what tells the group apart from others of the dataset."""

    role: str
    model: str
    usage: ModelUsage
    usd: float | None = None
    score: str = ""
    """The score for which the tokens were used after the run: of a second judge, of error
    types, or one that was given anew. Empty for tokens of the run."""

    possible: float | None = None
    """The share of the prompt tokens that a cache which forgets nothing would have held; none
    for judges, and where the log does not tell."""

    @property
    def cached(self) -> float | None:
        """The share of the prompt tokens that came from the provider's cache."""
        usage = self.usage
        if usage.input_tokens_cache_read is None:
            return None
        read = usage.input_tokens_cache_read
        whole = usage.input_tokens + read + (usage.input_tokens_cache_write or 0)
        return read / whole if whole else None


@dataclass(frozen=True)
class Spent:
    """The money for all runs of a group, in USD."""

    group: Group
    run_of: str
    total: float
    judging: float
    """Of it for judges, during the runs and after."""

    after_run: float
    """Of it for scores given after the runs."""

    runs: int
    solved: int
    judge: str

    @property
    def per_run(self) -> float:
        """Without what was spent after the runs."""
        return (self.total - self.after_run) / self.runs

    @property
    def per_solved(self) -> float | None:
        """Without what was spent after the runs; none if nothing is solved."""
        return (self.total - self.after_run) / self.solved if self.solved else None


@dataclass(frozen=True)
class Costs(Result):
    """Tokens by role, and money where prices are known."""

    uses: tuple[Use, ...]
    spent: tuple[Spent, ...] | None
    unpriced: Mapping[str, int] = field(default_factory=dict)
    """Tokens that models wrote to the provider's cache, where the prices say that is free."""

    silent: Mapping[str, Silence] = field(default_factory=dict)
    """The logs without tokens of the model under test, and why."""

    def records(self) -> Iterator[dict[str, Any]]:
        for use in self.uses:
            yield {
                "dataset": use.group.dataset,
                "run_of": use.run_of,
                "role": use.role,
                "model": use.model,
                "score": use.score,
                **{name: getattr(use.usage, name) for name in _COUNTS},
                "cached": use.cached,
                "cached_possible": use.possible,
                "usd": use.usd,
            }


@dataclass
class _Tokens:
    """Tokens and money, added up; no money where some of it is unknown."""

    usage: ModelUsage = field(default_factory=ModelUsage)
    usd: float | None = 0.0

    def add(self, usage: ModelUsage, usd: float | None) -> None:
        self.usage += usage
        self.usd = None if usd is None or self.usd is None else self.usd + usd


@dataclass
class _Sums:
    """What all logs of a group hold."""

    tokens: defaultdict[tuple[str, str, str], _Tokens]
    requests: list[tuple[float, float]]
    answers: Counter[str]
    """How many there are of each task."""

    judges: dict[str, None]
    solved: int = 0


def costs(paths: Paths, prices: str | PathLike[str] | Prices | None = None) -> Costs:
    """Tokens per role; where prices are known, also the money per run and per solved task.

    Args:
        paths: Log files, folders or URLs.
        prices: Inspect's `ModelCost` by model, or the YAML or JSON file that holds them,
            as `inspect eval --model-cost-config` takes it. For models that it does not name,
            and without it, the money is what Inspect wrote into the logs.
    """
    known = read_prices(prices) if isinstance(prices, str | PathLike) else prices or {}
    groups: dict[Group, _Sums] = {}
    silent: dict[str, Silence] = {}
    copies: defaultdict[str, list[Log]] = defaultdict(list)
    for log in find_logs(paths):
        # A log that is scored again carries the usage of its run with it.
        copies[log.eval_id].append(log)
    for logs in copies.values():
        log = logs[-1]
        group = _group(log)
        sums = groups.setdefault(group, _Sums(defaultdict(_Tokens), [], Counter(), {}))
        reported = list(usage_by_role(log.header))
        if not any(role == UNDER_TEST and usage.total_tokens for role, _, usage in reported):
            silent[str(log)] = _silence(log)
        for role, model, usage in reported:
            usd = _usd(known.get(model), usage, log)
            sums.tokens[role, model, ""].add(usage, usd)
        summaries = read_summaries(log)
        sums.requests += _requests(summaries)
        _count_answers(log, summaries, sums)
        others = [(copy, read_summaries(copy)) for copy in logs[:-1]]
        for score, model, usage in _after_run([(log, summaries), *others]):
            sums.tokens[GRADER, model, score].add(usage, _usd(known.get(model), usage, None))
    names = {group: _name(group, groups) for group in groups}
    uses = tuple(
        Use(
            group=group,
            run_of=names[group],
            role=role,
            model=model,
            usage=found.usage,
            usd=found.usd,
            score=score,
            possible=most_cached(sums.requests) if role == UNDER_TEST else None,
        )
        for group, sums in groups.items()
        for (role, model, score), found in sums.tokens.items()
    )
    if prices is not None:
        _check_priced(uses, prices)
    spent = tuple(_spent(groups, uses))
    unpriced: Counter[str] = Counter()
    for use in uses:
        if use.model in known and not known[use.model].input_cache_write:
            unpriced[use.model] += use.usage.input_tokens_cache_write or 0
    unpriced += Counter()  # without zeros
    return Costs(uses, spent or None, unpriced, silent)


def _group(log: Log) -> Group:
    drawn = log.draw.drawn_contexts if log.draw else None
    return Group(log.dataset_name, log.model, log.effort, drawn)


def _usd(price: ModelCost | None, usage: ModelUsage, log: Log | None) -> float | None:
    if price is None:
        return usage.total_cost
    # Anthropic's writes for an hour cost more than those for five minutes.
    lifetime = (log.header.eval.model_args if log else {}).get("cache_ttl")
    return compute_model_cost(price, usage, lifetime if isinstance(lifetime, str) else None)


def _silence(log: Log) -> Silence:
    if log.header.eval.task.endswith("clbench_graded"):
        return "imported"
    return "replayed" if log.header.eval.solver == REPLAY else "unreported"


def _requests(summaries: Iterable[Summary]) -> Iterator[tuple[float, float]]:
    """The tokens of each prompt, about, and how many of them had been sent before."""
    seen: set[int | str] = set()
    for summary in sorted(summaries, key=lambda one: one.epoch):
        chars, shared = (summary.metadata.get(key) for key in ("prompt_chars", "shared_chars"))
        if isinstance(chars, int) and isinstance(shared, int):
            before = chars if summary.id in seen else shared
            yield chars / CHARS_PER_TOKEN, before / CHARS_PER_TOKEN
        seen.add(summary.id)


def most_cached(requests: Sequence[tuple[float, float]]) -> float | None:
    """The share of all prompts that a cache which forgets nothing would hold.

    Args:
        requests: The tokens of each prompt, and how many of them had been sent before.
    """
    whole = math.fsum(tokens for tokens, _ in requests)
    found = math.fsum(seen for _, seen in requests if seen >= LEAST_CACHED)
    return found / whole if whole else None


def _count_answers(log: Log, summaries: Sequence[Summary], sums: _Sums) -> None:
    """Take the answers as the first judge found them, who is that of the run."""
    name = next(iter(score_names(log, summaries, VERDICT_SCORERS)), None)
    for summary in summaries:
        score = (summary.scores or {}).get(name or "")
        if score is None:
            continue
        sums.answers[str(summary.id)] += 1
        where = f"{log}: task {summary.id}, epoch {summary.epoch}"
        sums.solved += outcome_of(score.value, where) == "solved"
        if judge := (score.metadata or {}).get("judge"):
            sums.judges[str(judge)] = None


def _after_run(
    copies: Iterable[tuple[Log, Sequence[Summary]]],
) -> Iterator[tuple[str, str, ModelUsage]]:
    """Scores, models and tokens; what several copies of a log hold counts once."""
    seen = set()
    for log, summaries in copies:
        for summary in summaries:
            for name, score in (summary.scores or {}).items():
                where = f"{log}: task {summary.id}, epoch {summary.epoch}, {name}"
                found = checked(_AfterRun, score.metadata or {}, where).usage_after_run
                for model, usage in found.items():
                    key = (summary.id, summary.epoch, name, model, usage.model_dump_json())
                    if key not in seen:
                        seen.add(key)
                        yield name, model, usage


class _AfterRun(BaseModel):
    """What is read of the metadata of a score."""

    usage_after_run: dict[str, ModelUsage] = {}


def _spent(groups: Mapping[Group, _Sums], uses: Sequence[Use]) -> Iterator[Spent]:
    for group, sums in groups.items():
        own = [use for use in uses if use.group == group]
        if not own or not sums.answers or any(use.usd is None for use in own):
            continue
        yield Spent(
            group=group,
            run_of=own[0].run_of,
            total=math.fsum(use.usd or 0.0 for use in own),
            judging=math.fsum(use.usd or 0.0 for use in own if use.role != UNDER_TEST),
            after_run=math.fsum(use.usd or 0.0 for use in own if use.score),
            runs=max(sums.answers.values()),
            solved=sums.solved,
            judge=", ".join(sums.judges),
        )


def _name(group: Group, groups: Iterable[Group]) -> str:
    alike = [one for one in groups if one[:2] == group[:2]]
    parts = [group.effort or "default"] if len({one.effort for one in alike}) > 1 else []
    if len({one.drawn for one in alike}) > 1:
        parts.append(f"{group.drawn:,} contexts" if group.drawn else "all contexts")
    return f"{group.model} ({', '.join(parts)})" if parts else group.model


def _check_priced(uses: Iterable[Use], prices: str | PathLike[str] | Prices) -> None:
    missing = sorted({use.model for use in uses if use.usd is None})
    if missing:
        where = "prices" if isinstance(prices, Mapping) else prices
        raise ClbenchError(
            f"{where}: no price for {', '.join(missing)}. Add USD per million tokens: "
            f"{missing[0]}: {PRICE_EXAMPLE}"
        )


def usage_by_role(header: EvalLog) -> Iterator[tuple[str, str, ModelUsage]]:
    """Role, model and tokens of everybody who used some in a run.

    A log counts tokens by model and by role. Whatever a model other than the one
    under test used, it used in a role; where the same model is both, the role's
    share is what the other models leave of it.
    """
    own = header.eval.model
    by_model = dict(header.stats.model_usage)
    others = {name: usage for name, usage in by_model.items() if name != own}
    shared = _minus(_sum(header.stats.role_usage.values()), _sum(others.values()))
    if own in by_model:
        yield UNDER_TEST, own, _minus(by_model[own], shared)
        if shared.total_tokens:
            yield _role_of(header, own), own, shared
    for name, usage in others.items():
        yield _role_of(header, name), name, usage


def read_prices(path: str | PathLike[str]) -> dict[str, ModelCost]:
    """The prices of a YAML or JSON file."""
    try:
        data = yaml.safe_load(Path(path).read_text("utf-8"))  # JSON is YAML
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be read ({ex.strerror}).") from None
    except (UnicodeDecodeError, yaml.YAMLError) as ex:
        raise ClbenchError(f"{path}: not YAML or JSON ({' '.join(str(ex).split())}).") from None
    try:
        found = TypeAdapter(dict[str, ModelCost]).validate_python(data)
    except ValidationError as ex:
        error = ex.errors(include_url=False)[0]
        place = ".".join(str(part) for part in error["loc"]) or "the file"
        raise _bad_price(path, f"{place}: {error['msg']}") from None
    for model, cost in found.items():
        for name, price in cost:
            if not 0 <= price < math.inf:
                raise _bad_price(path, f"{model}.{name}: {price} is no price")
    return found


def _bad_price(path: object, what: str) -> ClbenchError:
    return ClbenchError(
        f"{path}: {what}. Give USD per million tokens for each model, as inspect eval "
        f"--model-cost-config takes them: {DEFAULT_JUDGE}: {PRICE_EXAMPLE}"
    )


def _role_of(header: EvalLog, model: str) -> str:
    """The role that a model was bound to; the judge's if that is not recorded."""
    for role, bound in (header.eval.model_roles or {}).items():
        if model in [one.model for one in (bound if isinstance(bound, list) else [bound])]:
            return role
    return GRADER


def _sum(usages: Iterable[ModelUsage]) -> ModelUsage:
    return sum(usages, ModelUsage())


def _minus(whole: ModelUsage, part: ModelUsage) -> ModelUsage:
    def left(name: str) -> int | None:
        total = getattr(whole, name)
        return None if total is None else max(total - (getattr(part, name) or 0), 0)

    spent = None if whole.total_cost is None else whole.total_cost - (part.total_cost or 0.0)
    return ModelUsage(**{name: left(name) for name in _COUNTS}, total_cost=spent)
