"""Which tasks are taken, and in which order: categories, drawn contexts, cache order."""

from collections import Counter, defaultdict
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.data.selection import cache_order, chosen_sub_categories, draw_contexts
from inspect_clbench.errors import ClbenchError
from tests.support.builders import SUB_CATEGORIES

RULES = "Rule System Application"


@pytest.mark.parametrize(
    ("category", "expected"),
    [
        (None, set(SUB_CATEGORIES)),
        (RULES, set(CLBENCH.categories[RULES].sub_categories)),
        ([RULES.upper(), " finance "], {*CLBENCH.categories[RULES].sub_categories, "Finance"}),
        (["Science", "Science", "Experimental Data"], {"Science", "Experimental Data"}),
    ],
)
def test_categories_and_sub_categories_are_named_alike(category: Any, expected: set[str]) -> None:
    assert chosen_sub_categories(category, CLBENCH) == expected


@pytest.mark.parametrize(("benchmark", "counts"), [(CLBENCH, (1899, 4, 18)), (CLBENCH_LIFE, (405, 3, 9))])
def test_the_benchmarks_add_up_and_no_two_names_are_alike(benchmark: Any, counts: tuple[int, ...]) -> None:
    assert (benchmark.tasks, len(benchmark.categories), len(benchmark.sub_categories)) == counts
    names = [name.casefold() for name in (*benchmark.categories, *benchmark.sub_categories)]
    assert len(set(names)) == len(names)


def contexts_of(sizes: dict[str, int]) -> list[tuple[str, str]]:
    """So many contexts of each category, of one to four tasks."""
    return [
        (name, f"{name}{n}") for name, size in sizes.items() for n in range(size) for _ in range(n % 4 + 1)
    ]


REAL = {"A": 190, "B": 140, "C": 100, "D": 70}


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        # By hand: the seat goes to the largest of size / (2 x seats + 1), 190, 140, 100, 70, 63.3 (A), ...
        (1, {"A": 1}),
        (5, {"A": 2, "B": 1, "C": 1, "D": 1}),
        (7, {"A": 3, "B": 2, "C": 1, "D": 1}),
        (50, {"A": 19, "B": 14, "C": 10, "D": 7}),
    ],
)
def test_each_category_gives_its_share(count: int, expected: dict[str, int]) -> None:
    assert Counter(category for category, _ in draw_contexts(contexts_of(REAL), count)) == expected


SIZES = st.dictionaries(st.sampled_from("ABCD"), st.integers(1, 40), min_size=1)


@given(SIZES, st.integers(0, 5), st.data())
def test_a_smaller_draw_is_in_a_larger_one(sizes: dict[str, int], seed: int, data: st.DataObject) -> None:
    larger = data.draw(st.integers(1, sum(sizes.values())))
    smaller = data.draw(st.integers(1, larger))
    contexts = contexts_of(sizes)
    drawn = draw_contexts(contexts, larger, seed)
    assert len(drawn) == larger
    assert draw_contexts(contexts[::-1], smaller, seed) <= drawn


def test_the_draw_depends_on_the_seed_and_every_context_has_the_same_chance() -> None:
    contexts = contexts_of({"A": 30})
    hits = Counter(context for seed in range(400) for context in draw_contexts(contexts, 10, seed))
    # 133 expected of 400; five standard deviations are 47.
    assert all(86 <= hits[context] <= 180 for context in contexts)
    # What was drawn once is drawn for ever: logs of years ago must be told apart.
    drawn = draw_contexts([("A", f"context-{n}") for n in range(30) if n % 3], 3, seed=4)
    assert drawn == {("A", "context-20"), ("A", "context-26"), ("A", "context-16")}


def test_numbers_are_whole_numbers() -> None:
    values: list[Any] = [0, -1, True, 2.5, "ten"]
    for value in (*values, 21):
        with pytest.raises(ClbenchError, match=f"contexts={value}: give a whole number from 1 to 20"):
            draw_contexts(contexts_of({"A": 20}), value)
    for value in values:
        with pytest.raises(ClbenchError, match=f"cache_order={value}: give the number of connections"):
            cache_order(["A"], value)
    for value in values[2:]:
        with pytest.raises(ClbenchError, match=f"seed={value}: give a whole number"):
            draw_contexts(contexts_of({"A": 20}), 2, value)


@given(st.lists(st.integers(0, 30), min_size=1, max_size=300), st.integers(1, 60))
def test_every_task_comes_once_and_siblings_keep_their_order(contexts: list[int], connections: int) -> None:
    order = cache_order(contexts, connections)
    assert sorted(order) == list(range(len(contexts)))
    places = defaultdict(list)
    for position in order:
        places[contexts[position]].append(position)
    assert all(positions == sorted(positions) for positions in places.values())


def test_siblings_are_three_latencies_apart() -> None:
    # Four contexts are about three latencies of one connection; of six, D, E and F wait until A, B and C are done.
    assert cache_order("AABBCD", 1) == [0, 2, 4, 5, 1, 3]
    assert cache_order("AABBCCDDEEFF", 1) == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]
    assert cache_order("AABBCCDDEEFF", 2) == [0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11]
