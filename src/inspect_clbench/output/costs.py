"""Tokens and money as tables."""

from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.costs import Costs, Silence, Spent, Use
from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, table
from inspect_clbench.text import counted, some

_WHY: dict[Silence, str] = {
    "imported": "Imported answers have no tokens, because the original scripts' files have none",
    "replayed": "Answers out of files have no tokens of the model that gave them",
    "unreported": "The provider reported no tokens of the model under test",
}


def cost_tables(costs: Costs) -> list[Table]:
    datasets = list(dict.fromkeys(use.group.dataset for use in costs.uses))
    tables = [_tokens(costs, name) for name in datasets or [""]]
    for name in datasets:
        if spent := [one for one in costs.spent or () if one.group.dataset == name]:
            tables.append(_money(costs, spent))
    return tables


def _tokens(costs: Costs, dataset: str) -> Table:
    uses = [use for use in costs.uses if use.group.dataset == dataset]
    return table(
        f"{dataset}: tokens by role" if dataset else "Tokens by role",
        (
            {
                "Run of": use.run_of,
                "Role": f"{use.role} ({use.score}, after the run)" if use.score else use.role,
                "Model": use.model,
                "Input": use.usage.input_tokens + (use.usage.input_tokens_cache_write or 0),
                "Cached input": use.usage.input_tokens_cache_read,
                "Cached": _share(use.cached),
                "Possible": _share(use.possible),
                "Output": use.usage.output_tokens,
                "Reasoning": use.usage.reasoning_tokens,
            }
            for use in uses
        ),
        _token_notes(costs, uses),
        left=3,
        name="tokens",
    )


def _token_notes(costs: Costs, uses: Sequence[Use]) -> Iterator[Note | str]:
    if uses:
        yield (
            "Input is without what was read from the provider's cache; reasoning is part of "
            "the output. A dash: not reported."
        )
        yield (
            "Cached: the share of the prompts that came from the cache; possible: the share that "
            "a cache which forgets nothing would have held, over the tasks and epochs of each log."
        )
        yield (
            "Retries carry the tokens of the logs before them. Scores that inspect score "
            "--action overwrite replaced are not counted."
        )
    for why in dict.fromkeys(costs.silent.values()):
        logs = [log for log, reason in costs.silent.items() if reason == why]
        yield Note("warning", f"{_WHY[why]} ({counted(len(logs), 'log')}: {some(logs)}).")


def _money(costs: Costs, spent: Sequence[Spent]) -> Table:
    later = any(one.after_run for one in spent)
    without = " Per run and per solved task are without what was spent after." if later else ""
    judges = ", ".join(dict.fromkeys(one.judge for one in spent))
    return table(
        f"{spent[0].group.dataset}: costs in USD",
        (
            {
                "Run of": one.run_of,
                "Total": _usd(one.total),
                "Of it judging": _usd(one.judging),
                **({"After the runs": _usd(one.after_run)} if later else {}),
                "Runs": one.runs,
                "Per run": _usd(one.per_run),
                "Solved": one.solved,
                "Per solved task": _usd(one.per_solved),
            }
            for one in spent
        ),
        [
            "Per solved task: divided by the answers that were judged as solved, all runs taken "
            f"together; judge: {judges}.{without}",
            *(
                Note(
                    "warning",
                    f"{model}: {number:,} tokens were written to the provider's cache, for which "
                    "the price (input_cache_write) is 0: the total may be too low.",
                )
                for model, number in costs.unpriced.items()
            ),
        ],
        name="costs",
    )


def _share(share: float | None) -> Cell:
    return NOTHING if share is None else Cell(f"{100 * share:.1f} %", share)


def _usd(money: float | None) -> Cell:
    if money is None:
        return NOTHING
    return Cell(f"{money:,.2f}" if money >= 1 else f"{money:.4f}", money)
