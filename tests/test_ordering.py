"""The order of tasks for providers' prompt caches."""

import random
from collections import defaultdict
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, get_model

from inspect_clbench.data.dataset import in_cache_order, load_samples
from inspect_clbench.data.selection import cache_order
from inspect_clbench.errors import ClbenchError
from inspect_clbench.solvers import generate_by_context
from tests.support.builders import row, run_eval, write_rows
from tests.support.prefix_cache import Blocks, PrefixCache, ceiling, simulate
from tests.support.server import Reply

LIFETIME = 7.5

contexts_of_tasks = st.lists(st.integers(0, 30), max_size=300)
connections = st.integers(1, 60)


@given(contexts_of_tasks, connections)
def test_every_task_comes_once(contexts: list[int], connections: int) -> None:
    assert sorted(cache_order(contexts, connections)) == list(range(len(contexts)))


@given(contexts_of_tasks, connections)
def test_siblings_keep_their_order(contexts: list[int], connections: int) -> None:
    places = defaultdict(list)
    for position in cache_order(contexts, connections):
        places[contexts[position]].append(position)
    assert all(found == sorted(found) for found in places.values())


@given(contexts_of_tasks, connections)
def test_siblings_meet_only_where_no_other_context_is_left(
    contexts: list[int], connections: int
) -> None:
    order = [contexts[position] for position in cache_order(contexts, connections)]
    for place, (task, following) in enumerate(pairwise(order)):
        if task == following:
            assert set(order[place:]) == {task}
            break


@given(st.integers(1, 8), st.integers(1, 30), st.randoms(use_true_random=False))
def test_siblings_are_three_latencies_apart_where_contexts_are_many_and_alike(
    tasks: int, connections: int, rng: random.Random
) -> None:
    contexts = [name for name in range(3 * connections) for _ in range(tasks)]
    rng.shuffle(contexts)
    last: dict[int, int] = {}
    for place, position in enumerate(cache_order(contexts, connections)):
        context = contexts[position]
        assert place - last.get(context, -1000) >= 3 * connections
        last[context] = place


@given(st.integers(5, 40), st.integers(5, 12))
def test_a_long_context_at_the_end_of_the_file_is_begun_in_time(
    connections: int, tasks: int
) -> None:
    short = [name for name in range(20 * connections) for _ in range(2)]
    contexts = [*short, *(["long"] * tasks)]
    places = [
        place
        for place, position in enumerate(cache_order(contexts, connections))
        if contexts[position] == "long"
    ]
    assert all(b - a >= 2 * connections for a, b in pairwise(places))


@given(st.integers(5, 30), st.floats(2, 7))
def test_a_few_contexts_more_than_fit_are_not_left_to_the_end(
    connections: int, latencies: float
) -> None:
    contexts = int(connections * latencies)
    order = cache_order([name for name in range(contexts) for _ in range(2)], connections)
    places = {position: place for place, position in enumerate(order)}
    gaps = [places[2 * name + 1] - places[2 * name] for name in range(contexts)]
    assert min(gaps) >= min(contexts, 2 * connections)


def test_an_order_by_hand() -> None:
    # Four contexts are about three latencies of one connection: one portion, begun in
    # turn, and then again.
    assert cache_order(["A", "A", "B", "B", "C", "D"], 1) == [0, 2, 4, 5, 1, 3]
    # Six contexts are two portions: D, E and F wait until A, B and C are done.
    assert cache_order([*"AABBCCDDEEFF"], 1) == [0, 2, 4, 1, 3, 5, 6, 8, 10, 7, 9, 11]


def _prompts(seed: int) -> tuple[list[int], list[Blocks]]:
    """Contexts about as many and as large as the benchmark's, with their prompts."""
    rng = random.Random(seed)
    prompts: dict[int, list[Blocks]] = {}
    for context in range(500):
        count = rng.choices(range(1, 13), [22, 123, 193, 42, 13, 16, 62, 6, 7, 4, 6, 6])[0]
        shared = [rng.getrandbits(60) for _ in range(rng.randint(4, 120))]
        grows = rng.random() < 0.1  # each prompt goes on where the one before ended
        for _ in range(count):
            own = [rng.getrandbits(60) for _ in range(rng.randint(10, 60))]
            prompts.setdefault(context, []).append([*shared, *own])
            shared = [*shared, *own] if grows else shared
    contexts = [context for context, found in prompts.items() for _ in found]
    rng.shuffle(contexts)
    return contexts, [prompts[context].pop(0) for context in contexts]


@pytest.mark.parametrize("connections", [5, 8, 13, 20, 35, 60, 100, 140, 200])
def test_siblings_find_their_prefix_cached(connections: int) -> None:
    contexts, prompts = _prompts(connections)
    ordered = [prompts[position] for position in cache_order(contexts, connections)]
    most = ceiling(ordered)
    cached, duration = simulate(ordered, connections, PrefixCache(LIFETIME))
    by_file, file_duration = simulate(prompts, connections, PrefixCache(LIFETIME))
    assert cached >= 0.99 * most
    assert by_file < 0.97 * most  # or there would be nothing to gain
    assert duration <= 1.05 * file_duration


@pytest.mark.parametrize("connections", [5, 20, 100, 200])
def test_latencies_may_differ(connections: int) -> None:
    contexts, prompts = _prompts(connections)
    ordered = [prompts[position] for position in cache_order(contexts, connections)]
    rng = random.Random(connections)
    cached, _ = simulate(
        ordered, connections, PrefixCache(LIFETIME), lambda: rng.lognormvariate(-0.045, 0.3)
    )
    assert cached >= 0.98 * ceiling(ordered)


def _demo(**arguments: object) -> EvalLog:
    (log,) = eval(
        "inspect_clbench/clbench",
        task_args={"dataset": "demo", **arguments},
        # A student of its own: it gives another answer when it is asked again.
        model=get_model("clbench_demo/student", memoize=False),
        model_roles={"grader": "clbench_demo/judge"},
        display="none",
        log_format="json",
        log_samples=False,
    )
    assert log.status == "success", log.error
    return log


def test_results_do_not_depend_on_the_order(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(str(tmp_path))
    plain, ordered = _demo(), _demo(cache_order=5)
    assert plain.eval.dataset.sample_ids == [s.id for s in load_samples("demo")]
    assert ordered.eval.dataset.sample_ids != plain.eval.dataset.sample_ids
    assert sorted(map(str, ordered.eval.dataset.sample_ids or [])) == sorted(
        map(str, plain.eval.dataset.sample_ids or [])
    )
    assert ordered.results
    assert plain.results
    assert ordered.results.scores[0].metrics == plain.results.scores[0].metrics


def test_the_order_is_that_of_the_contexts() -> None:
    plain = load_samples("demo")
    ordered = in_cache_order(plain, 5)
    contexts = [str((s.metadata or {})["context_id"]) for s in plain]
    expected = [plain[position].id for position in cache_order(contexts, 5)]
    assert [sample.id for sample in ordered] == expected
    assert (ordered.name, ordered.location) == (plain.name, plain.location)


@pytest.mark.parametrize("value", [0, -3, True, 2.5, "20 or so"])
def test_a_number_of_connections_is_wanted(value: object) -> None:
    with pytest.raises(ClbenchError, match=r"cache_order=.*--max-connections"):
        in_cache_order(load_samples("demo"), value)  # type: ignore[arg-type]  # what a command line may bring


@pytest.mark.parametrize(
    ("name", "header"), [("openrouter", "x-session-id"), ("fireworks", "x-session-affinity")]
)
def test_siblings_have_the_same_key_for_the_cache(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, header: str
) -> None:
    server = serve(lambda call: Reply("An answer."))
    monkeypatch.setenv(f"{name.upper()}_API_KEY", "key")
    rows = [row(f"t{i}", context=f"c{i // 2}") for i in range(4)]
    log = run_eval(
        write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "logs", task_args={"cache_order": 1},
        model=get_model(
            f"{name}/some/student", base_url=server.url, memoize=False,
            config=GenerateConfig(extra_headers={"x-own": "mine"}),
        ),
        model_roles={"grader": "clbench_demo/judge"}, epochs=2, max_connections=1,
    )  # fmt: skip
    assert log.status == "success", log.error
    calls = [call for call in server.calls if "student" in call.model]
    keys = [call.headers[header] for call in calls]
    assert sorted(keys) == ["c0"] * 4 + ["c1"] * 4
    assert {call.headers["x-own"] for call in calls} == {"mine"}


def test_siblings_have_the_same_key_in_the_body(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = serve(lambda call: Reply("An answer."))
    rows = [row(f"t{i}", context=f"c{i // 2}") for i in range(4)]
    monkeypatch.setenv("META_API_KEY", "key")
    run_eval(
        write_rows(tmp_path / "rows.jsonl", rows), tmp_path / "logs", solver=generate_by_context(),
        model=get_model("meta/student", base_url=server.url, memoize=False),
        model_roles={"grader": "clbench_demo/judge"}, max_connections=1, max_retries=0,
    )  # fmt: skip
    assert {call.body["prompt_cache_key"] for call in server.calls} == {"c0", "c1"}
