"""What runs cost: tokens per role from the logs' headers, and money where prices are given."""

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from inspect_ai.log import EvalLog
from inspect_ai.model import ModelUsage

from inspect_clbench.analysis.reading.logs import Paths
from inspect_clbench.analysis.reading.records import Log, find_logs
from inspect_clbench.analysis.reading.series import load_series
from inspect_clbench.analysis.reporting.prices import Price, check_priced, read_prices
from inspect_clbench.analysis.tables import Cell, Table

UNDER_TEST = "model"
GRADER = "grader"
_COUNTS = (
    "input_tokens", "output_tokens", "total_tokens", "input_tokens_cache_read",
    "input_tokens_cache_write", "reasoning_tokens",
)  # fmt: skip


@dataclass(frozen=True)
class Use:
    """The tokens that one model used in one role."""

    role: str
    model: str
    usage: ModelUsage


def costs(paths: Paths, prices: str | dict[str, Price] | None = None) -> list[Table]:
    """Tokens per role; with prices, also the money per run and per solved task.

    Args:
        paths: Log files, folders or URLs.
        prices: USD per million tokens by model, or the YAML or JSON file that holds them.
    """
    known = read_prices(prices) if isinstance(prices, str) else prices
    used = _used(_distinct(find_logs(paths)))
    tables = [_token_table(used)]
    if known is not None:
        models = [use.model for several in used.values() for use in several]
        check_priced(models, known, prices if isinstance(prices, str) else "prices")
        tables.append(_money_table(paths, used, known))
    return tables


def uses(header: EvalLog) -> Iterator[Use]:
    """Who used how many tokens in a run.

    A log counts tokens by model and by role. Whatever a model other than the one
    under test used, it used in a role; where the same model is both, the role's
    share is what the other models leave of it.
    """
    own = header.eval.model
    roles = dict(header.stats.role_usage)
    by_model = dict(header.stats.model_usage)
    others = {name: usage for name, usage in by_model.items() if name != own}
    shared = _minus(_sum(roles.values()), _sum(others.values()))
    if own in by_model:
        yield Use(UNDER_TEST, own, _minus(by_model[own], shared))
        if shared.total_tokens:
            yield Use(_role_of(header, own), own, shared)
    for name, usage in others.items():
        yield Use(_role_of(header, name), name, usage)


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


def _distinct(logs: Sequence[Log]) -> list[Log]:
    """Leave out copies: a log scored again carries the usage of its run with it."""
    return list({log.header.eval.eval_id: log for log in logs}.values())


_Used = dict[tuple[str, str], list[Use]]


def _used(logs: Sequence[Log]) -> _Used:
    """Uses by model under test and effort, those of the same role and model added up."""
    found: defaultdict[tuple[str, str], defaultdict[tuple[str, str], ModelUsage]]
    found = defaultdict(lambda: defaultdict(ModelUsage))
    for log in sorted(logs, key=lambda log: log.header.eval.created):
        for use in uses(log.header):
            found[log.model, log.effort][use.role, use.model] += use.usage
    return {
        key: [Use(role, model, usage) for (role, model), usage in by_role.items()]
        for key, by_role in found.items()
    }


def _token_table(used: _Used) -> Table:
    rows = []
    for key, several in used.items():
        for use in several:
            counts = (
                use.usage.input_tokens + (use.usage.input_tokens_cache_write or 0),
                use.usage.input_tokens_cache_read,
                use.usage.output_tokens,
                use.usage.reasoning_tokens,
            )
            rows.append(
                (Cell(_name(key, used)), Cell(use.role), Cell(use.model), *map(_count, counts))
            )
    return Table(
        title="Tokens by role",
        columns=("Run of", "Role", "Model", "Input", "Cached input", "Output", "Reasoning"),
        rows=tuple(rows),
        notes=(
            "Input is without what was read from the provider's cache; reasoning is part of "
            "the output. A dash: not reported.",
            "Retries carry the tokens of the logs before them. What inspect score or clbench "
            "regrade used after a run is not in its log.",
        ),
        left=3,
    )


def _money_table(paths: Paths, used: _Used, prices: dict[str, Price]) -> Table:
    rows = []
    judges: dict[tuple[str, str], str] = {}
    for series in load_series(paths):
        key = (series.model, series.effort)
        if key in judges or key not in used:  # the first judge is the one of the run
            continue
        judges[key] = series.judge
        spent = [(use.role, prices[use.model].of(use.usage)) for use in used[key]]
        total = math.fsum(money for _, money in spent)
        judging = math.fsum(money for role, money in spent if role != UNDER_TEST)
        solved = sum(record.solved for record in series.scored)
        rows.append(
            (
                Cell(_name(key, used)),
                _usd(total),
                _usd(judging),
                Cell(str(series.runs), series.runs),
                _usd(total / series.runs),
                Cell(f"{solved:,}", solved),
                _usd(total / solved if solved else math.nan),
            )
        )
    return Table(
        title="Costs in USD",
        columns=(
            "Run of", "Total", "Of it judging", "Runs", "Per run", "Solved", "Per solved task",
        ),
        rows=tuple(rows),
        notes=(
            "Per solved task: the total divided by the answers that were judged as solved, "
            f"all runs taken together; judge: {', '.join(sorted(set(judges.values())))}.",
        ),
    )  # fmt: skip


def _name(key: tuple[str, str], used: _Used) -> str:
    model, effort = key
    several = sum(other == model for other, _ in used) > 1
    return f"{model} ({effort or 'default'})" if several else model


def _count(tokens: int | None) -> Cell:
    return Cell("–", None) if tokens is None else Cell(f"{tokens:,}", tokens)


def _usd(money: float) -> Cell:
    if math.isnan(money):
        return Cell("–", None)
    return Cell(f"{money:,.2f}" if money >= 1 else f"{money:.4f}", money)
