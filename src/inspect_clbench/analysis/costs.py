"""What runs cost: tokens per role from the logs' headers, and money where prices are given.

Prices are those of Inspect: its `ModelCost`, and the file that its `--model-cost-config`
takes.
"""

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any

import yaml
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelCost, ModelUsage, compute_model_cost
from pydantic import TypeAdapter, ValidationError

from inspect_clbench.analysis.frames import Result
from inspect_clbench.benchmarks import DEFAULT_JUDGE, GRADER, PRICE_EXAMPLE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer
from inspect_clbench.logs.files import Log, Paths, find_logs
from inspect_clbench.logs.series import Series, load_series

UNDER_TEST = "model"
_COUNTS = (
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read",
    "input_tokens_cache_write", "reasoning_tokens",
)  # fmt: skip

Prices = Mapping[str, ModelCost]
"""USD per million tokens, by model."""

_Run = tuple[str, str, str]
"""The model under test, its reasoning effort and the dataset."""


@dataclass(frozen=True)
class Use:
    """The tokens that one model used in one role, in all runs of one model under test."""

    run_of: str
    role: str
    model: str
    usage: ModelUsage


@dataclass(frozen=True)
class Spent:
    """The money for all runs of one model under test, in USD."""

    run_of: str
    total: float
    judging: float
    runs: int
    solved: int
    judge: str


@dataclass(frozen=True)
class Costs(Result):
    """Tokens by role, and money where prices were given."""

    uses: tuple[Use, ...]
    spent: tuple[Spent, ...] | None
    unpriced: Mapping[str, int] = field(default_factory=dict)
    """Tokens that models wrote to the provider's cache, where the prices say that is free."""

    def records(self) -> Iterator[dict[str, Any]]:
        for use in self.uses:
            tokens = {name: getattr(use.usage, name) for name in _COUNTS}
            yield {"run_of": use.run_of, "role": use.role, "model": use.model, **tokens}


def costs(paths: Paths, prices: str | PathLike[str] | Prices | None = None) -> Costs:
    """Tokens per role; with prices, also the money per run and per solved task.

    Args:
        paths: Log files, folders or URLs.
        prices: Inspect's `ModelCost` by model, or the YAML or JSON file that holds them,
            as `inspect eval --model-cost-config` takes it.
    """
    known = prices if prices is None or isinstance(prices, Mapping) else read_prices(prices)
    # A log scored again carries the usage of its run with it.
    logs = list({log.eval_id: log for log in find_logs(paths)}.values())
    names = {run: _name(run, {_run(log) for log in logs}) for run in map(_run, logs)}
    uses = _uses(logs, names)
    if known is None:
        return Costs(uses, None)
    _check_priced({use.model for use in uses}, known, prices)
    unpriced: Counter[str] = Counter()
    for use in uses:
        if not known[use.model].input_cache_write:
            unpriced[use.model] += use.usage.input_tokens_cache_write or 0
    spent = tuple(_spent(load_series(logs), names, known))
    return Costs(uses, spent, {model: n for model, n in unpriced.items() if n})


def _run(log: Log) -> _Run:
    return log.model, log.effort, log.dataset_name


def _uses(logs: Iterable[Log], names: Mapping[_Run, str]) -> tuple[Use, ...]:
    found: defaultdict[tuple[str, str, str], ModelUsage] = defaultdict(ModelUsage)
    for name in names.values():
        for log in logs:
            if names[_run(log)] == name:
                for role, model, usage in usage_by_role(log.header):
                    found[name, role, model] += usage
    return tuple(Use(*key, usage) for key, usage in found.items())


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


def _check_priced(
    models: Iterable[str], known: Prices, prices: str | PathLike[str] | Prices | None
) -> None:
    missing = sorted(set(models) - known.keys())
    if missing:
        where = "prices" if isinstance(prices, Mapping) else prices
        raise ClbenchError(
            f"{where}: no price for {', '.join(missing)}. Add USD per million tokens: "
            f"{missing[0]}: {PRICE_EXAMPLE}"
        )


def _spent(
    series: Iterable[Series], names: Mapping[_Run, str], prices: Prices
) -> Iterator[Spent]:
    # A log that several judges scored counts under the first, who is that of the run.
    counted: dict[str, Log] = {}
    judged: defaultdict[str, list[Answer]] = defaultdict(list)
    for one in series:
        new = {log.eval_id: log for log in one.logs if log.eval_id not in counted}
        counted |= new
        name = names[_run(one.logs[0])]
        judged[name] += [a for a in one.answers if a.log.eval_id in new]
    money: defaultdict[str, list[tuple[str, float]]] = defaultdict(list)
    for use in _uses(counted.values(), names):
        money[use.run_of].append((use.role, compute_model_cost(prices[use.model], use.usage)))
    for name, answers in judged.items():
        if not (spent := money.get(name)) or not answers:
            continue
        yield Spent(
            run_of=name,
            total=math.fsum(amount for _, amount in spent),
            judging=math.fsum(amount for role, amount in spent if role != UNDER_TEST),
            runs=_runs(answers),
            solved=sum(answer.solved for answer in answers if answer.scored),
            judge=", ".join(dict.fromkeys(answer.judge for answer in answers if answer.judge)),
        )


def _runs(answers: Iterable[Answer]) -> int:
    """How many runs there are: as many as the task has answers that has most."""
    return max(Counter(answer.task_id for answer in answers).values())


def _name(run: _Run, runs: Collection[_Run]) -> str:
    model, effort, dataset = run
    alike = [other for other in runs if other[0] == model]
    told = [effort or "default"] if len({other[1] for other in alike}) > 1 else []
    told += [dataset] if len({other[2] for other in alike}) > 1 else []
    return f"{model} ({', '.join(told)})" if told else model


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

    return ModelUsage(**{name: left(name) for name in _COUNTS})
