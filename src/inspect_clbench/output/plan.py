"""A plan as tables: what a run will use and cost, and what it can show."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import groupby

from inspect_clbench.analysis.plan import Plan, Span
from inspect_clbench.analysis.power import Design
from inspect_clbench.benchmarks import PRICE_EXAMPLE
from inspect_clbench.output.tables import Cell, Note, Table, table
from inspect_clbench.text import counted


def plan_tables(plan: Plan) -> list[Table]:
    used = table(
        f"{plan.dataset}: what {counted(plan.tasks, 'task')} of "
        f"{counted(plan.contexts, 'context')} in {counted(plan.epochs, 'epoch')} will use",
        (
            {
                "Role": use.role,
                "Model": use.model,
                "Requests": use.requests,
                "Input": Cell(_tokens(use.input_tokens), use.input_tokens),
                "Cached": _share(use.cached),
                "Ordered": _share(use.cached_in_order),
                "Output": _span(use.output_tokens, _tokens),
                "USD": _span(use.usd, _usd),
            }
            for use in plan.roles
        ),
        _use_notes(plan),
        left=2,
        name="use",
    )
    rows = groupby(plan.designs, key=lambda design: (design.contexts, design.tasks))
    shown = table(
        "The difference between two models that can be shown, in points",
        (
            {
                "Contexts": contexts,
                "Tasks": tasks,
                **{counted(one.epochs, "epoch"): _design(one) for one in some},
            }
            for (contexts, tasks), some in rows
        ),
        _power_notes(plan),
        left=0,
        name="power",
    )
    return [used, shown]


def _use_notes(plan: Plan) -> Iterator[Note | str]:
    lengths = plan.lengths
    source = "the pilot's, with 95 % intervals" if lengths.from_pilot else "assumed"
    yield (
        f"Input is counted as {plan.tokenizer}. Output per answer, {source}: "
        f"{_words(lengths.answer)} tokens and {_words(lengths.reasoning)} of reasoning; per "
        f"verdict {_words(lengths.verdict)}."
    )
    yield (
        "Cached: the share of the input that a provider's cache likely holds with five minutes "
        "of memory, in the file's order; ordered: with -T cache_order="
        f"{plan.connections} --max-connections {plan.connections}. A provider that keeps prefixes "
        f"until the run has ended would hold {100 * plan.roles[0].cached_at_most:.0f} %."
    )
    if plan.usd:
        batch = ", at half price for a batch" if plan.batch else ""
        yield (
            f"In all about {_usd(plan.usd.mid)} USD{batch}; between {_usd(plan.usd.low)} (short "
            f"outputs, prefixes kept) and {_usd(plan.usd.high)} (long outputs, nothing cached)."
        )
    elif plan.unpriced:
        yield Note(
            "warning",
            f"No price is known for {', '.join(plan.unpriced)}. Give a file of prices, USD per "
            "million tokens, with --model-cost-config, as inspect eval takes it: "
            f"{plan.unpriced[0]}: {PRICE_EXAMPLE}",
        )
    if plan.batch:
        yield "Providers promise a batch within a day: one for the answers, one for the verdicts."
        return
    bottleneck = "the connections" if plan.hours >= plan.cpu_hours else "Inspect's own work"
    yield (
        f"About {_time(max(plan.hours, plan.cpu_hours))} with {plan.connections} connections "
        f"and {plan.latency:g} s for an answer and for a verdict; the bottleneck is {bottleneck}."
    )


def _power_notes(plan: Plan) -> Iterator[Note | str]:
    spread = plan.spread
    whole = spread.context + spread.task + spread.run
    shares = [f"{100 * part / whole:.0f}" for part in (spread.context, spread.task, spread.run)]
    source = "of the pilot" if spread.from_pilot else "assumed"
    costs = "; each model costs the sum below the difference" if plan.usd else ""
    yield f"With 80 % power at the 5 % level, over the same tasks for both models{costs}."
    yield (
        f"At a solving rate of {100 * plan.rate:.0f} %, with variances {source}: "
        f"{shares[0]} % between contexts, {shares[1]} % between tasks of a context, {shares[2]} % "
        f"between runs; half of the first two is common to both models."
    )
    if plan.detect is None:
        return
    points = f"{100 * plan.detect:g} points"
    if (best := plan.cheapest) is None:
        yield Note("warning", f"No design up to five epochs of all contexts can show {points}.")
    else:
        cost = f", {_usd(best.usd)} USD per model" if best.usd is not None else ""
        yield (
            f"Cheapest for {points}: {best.contexts} contexts ({best.tasks:,} tasks) in "
            f"{counted(best.epochs, 'epoch')}{cost}."
        )


def _design(design: Design) -> Cell:
    text = f"{100 * design.detectable:.1f}"
    if design.usd is not None:
        text += f"\n${_usd(design.usd)}"
    return Cell(text, {"detectable": design.detectable, "usd": design.usd})


def _share(share: float) -> Cell:
    return Cell(f"{100 * share:.0f} %", share)


def _span(span: Span | None, text: Callable[[float], str]) -> Cell | None:
    if span is None:
        return None
    low, mid, high = map(text, (span.low, span.mid, span.high))
    return Cell(f"{mid}\n[{low}, {high}]", asdict(span))


def _tokens(count: float) -> str:
    return f"{count / 1e6:.1f}M" if count >= 1e6 else f"{count / 1e3:.1f}K"


def _usd(money: float) -> str:
    return f"{money:,.0f}" if money >= 10 else f"{money:.2f}"


def _time(hours: float) -> str:
    return f"{hours:.1f} hours" if hours >= 1 else f"{max(1, round(60 * hours))} min"


def _words(span: Span) -> str:
    if span.low == span.high:
        return f"{span.mid:,.0f}"
    return f"{span.mid:,.0f} ({span.low:,.0f} to {span.high:,.0f})"
