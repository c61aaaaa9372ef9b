"""Groups of tasks: ways to divide the tasks of a benchmark: by sub-category, length, turns, rubrics."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from inspect_clbench.benchmarks import EXAM, Benchmark
from inspect_clbench.choices import By
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer

K = 1024  # nearer to the task counts of the paper's bins than 1,000
_LENGTHS = ((0, "0-4K"), (4 * K, "4-8K"), (8 * K, "8-16K"), (16 * K, "16-32K"), (32 * K, "32K+"))  # fmt: skip
_TURNS = ((1, "1 turn"), (2, "2 turns"), (3, "3 turns"), (4, "4+ turns"))
_RUBRICS = ((0, "1-5"), (6, "6-10"), (11, "11-15"), (16, "16-20"), (21, "21-30"), (31, "31+"))

T = TypeVar("T")
G = TypeVar("G")


@dataclass(frozen=True)
class TokenRule:
    """How the length of a prompt in tokens is estimated; its name goes into the table."""

    name: str
    count: Callable[[Answer], float]

    @staticmethod
    def chars_per_token(chars: float = 4) -> "TokenRule":
        """Prompt characters divided by so many."""
        if not chars > 0:
            raise ClbenchError(f"{chars} characters per token: use a number above 0.")
        return TokenRule(f"characters / {chars:g}", lambda answer: answer.prompt_chars / chars)


@dataclass(frozen=True)
class Grouping:
    """A division of tasks into named groups."""

    title: str
    names: tuple[str, ...]
    group_of: Callable[[Answer], str]
    token_rule: str = ""
    """How prompt tokens are estimated, for groups by length."""

    spans: tuple[tuple[str, int], ...] = ()
    """Names for so many of the groups each, where there are too many for one table."""


def grouping(by: By, benchmark: Benchmark, tokens: TokenRule | None = None) -> Grouping:
    """The groups that tasks fall into.

    Args:
        by: What tasks are divided by.
        benchmark: Where categories and their order come from.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
    """
    match by:
        case By.CATEGORY:
            title = "family" if benchmark is EXAM else "category"
            return Grouping(title, benchmark.categories, lambda a: a.category)
        case By.SUB_CATEGORY:
            spans = tuple((name, len(subs)) for name, subs in benchmark.groups.items())
            names = benchmark.sub_categories
            title = "kind" if benchmark is EXAM else "sub-category"
            return Grouping(title, names, lambda a: a.sub_category, spans=spans)
        case By.LENGTH:
            rule = tokens or TokenRule.chars_per_token()
            return _binned("prompt length", _LENGTHS, rule.count, rule.name)
        case By.TURNS:
            return _binned("user turns in the prompt", _TURNS, lambda a: a.turns)
        case By.RUBRIC_COUNT:
            bins = _RUBRICS[:-1] if benchmark is EXAM else _RUBRICS  # it has 25 at most
            return _binned("number of rubrics", bins, lambda a: a.rubrics_total)


def divide(things: Iterable[T], group_of: Callable[[T], G]) -> defaultdict[G, list[T]]:
    """The answers or tasks of each group."""
    divided: defaultdict[G, list[T]] = defaultdict(list)
    for one in things:
        divided[group_of(one)].append(one)
    return divided


def _binned(
    title: str,
    bins: Sequence[tuple[int, str]],
    measure: Callable[[Answer], float],
    token_rule: str = "",
) -> Grouping:
    starts = [start for start, _ in bins]
    names = tuple(name for _, name in bins)

    def group_of(answer: Answer) -> str:
        return names[max(bisect_right(starts, measure(answer)) - 1, 0)]

    return Grouping(title, names, group_of, token_rule)
