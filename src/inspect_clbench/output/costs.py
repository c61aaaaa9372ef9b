"""Tokens and money as tables."""

from inspect_clbench.analysis.costs import Costs
from inspect_clbench.output.tables import NOTHING, Cell, Note, Table, table


def cost_tables(costs: Costs) -> list[Table]:
    tokens = table(
        "Tokens by role",
        (
            {
                "Run of": use.run_of,
                "Role": use.role,
                "Model": use.model,
                "Input": use.usage.input_tokens + (use.usage.input_tokens_cache_write or 0),
                "Cached input": use.usage.input_tokens_cache_read,
                "Output": use.usage.output_tokens,
                "Reasoning": use.usage.reasoning_tokens,
            }
            for use in costs.uses
        ),
        [
            "Input is without what was read from the provider's cache; reasoning is part of "
            "the output. A dash: not reported.",
            "Retries carry the tokens of the logs before them. What inspect score or clbench "
            "regrade used after a run is not in its log.",
        ],
        left=3,
        name="tokens",
    )
    if costs.spent is None:
        return [tokens]
    judges = ", ".join(sorted({one.judge for one in costs.spent}))
    money = table(
        "Costs in USD",
        (
            {
                "Run of": one.run_of,
                "Total": _usd(one.total),
                "Of it judging": _usd(one.judging),
                "Runs": one.runs,
                "Per run": _usd(one.total / one.runs),
                "Solved": one.solved,
                "Per solved task": _usd(one.total / one.solved) if one.solved else NOTHING,
            }
            for one in costs.spent
        ),
        [
            "Per solved task: the total divided by the answers that were judged as solved, "
            f"all runs taken together; judge: {judges}.",
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
    return [tokens, money]


def _usd(money: float) -> Cell:
    return Cell(f"{money:,.2f}" if money >= 1 else f"{money:.4f}", money)
