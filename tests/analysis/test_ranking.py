"""Three models or more: all pairs, intervals that hold together, and the ranks they allow."""

import json
import math
from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path

import numpy as np
import pytest

from inspect_clbench.analysis import Comparison, Ranking, compare, find_logs, report
from inspect_clbench.analysis.paired import (
    Difference,
    PairedTask,
    all_pairs,
    bootstrap_interval,
    difference_of,
    rank_sets,
)
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import render, sentence, tables_of
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log

# Four contexts; what each of three models solves of their tasks.
CONTEXTS = [
    [(1, 0, 0), (1, 1, 0)],
    [(1, 0, 1), (0, 0, 0)],
    [(1, 1, 0)],
    [(0, 1, 0), (1, 0, 0), (1, 1, 1)],
]


def tasks(contexts: Sequence[Sequence[tuple[float, ...]]]) -> list[PairedTask]:
    return [
        PairedTask(f"t{i}.{j}", f"c{i}", "x", rates)
        for i, rows in enumerate(contexts)
        for j, rates in enumerate(rows)
    ]


def largest_t(
    drawn: Sequence[Sequence[tuple[float, ...]]], whole: Sequence[Difference]
) -> float:
    """The largest |t| of the pairs in a draw of contexts, in plain steps."""
    largest = 0.0
    for (a, b), one in zip(combinations(range(3), 2), whole, strict=True):
        sums = [sum(rates[a] - rates[b] for rates in rows) for rows in drawn]
        sizes = [len(rows) for rows in drawn]
        mean = sum(sums) / sum(sizes)
        squares = sum((s - mean * n) ** 2 for s, n in zip(sums, sizes, strict=True))
        stderr = math.sqrt(squares * len(drawn) / (len(drawn) - 1)) / sum(sizes)
        error = stderr if stderr > 1e-9 else one.stderr or 1
        largest = max(largest, abs(mean - one.difference) / error)
    return largest


def test_the_pairs_by_hand() -> None:
    first, second, third = all_pairs(tasks(CONTEXTS), seed=1)
    # Of eight tasks the models solve 6, 4 and 2.
    assert [one.difference for one in (first, second, third)] == [0.25, 0.5, 0.25]
    # First pair: sums 1, 1, 0, 0 less a quarter of 2, 2, 1, 3: 1/2, 1/2, -1/4, -3/4.
    assert first.stderr == pytest.approx(math.sqrt(1.125 * 4 / 3) / 8)
    # Second pair: sums 2, 0, 1, 1 less half of the sizes: 1, -1, 1/2, -1/2.
    assert second.stderr == pytest.approx(math.sqrt(2.5 * 4 / 3) / 8)
    assert (first.won, first.lost, second.won, second.lost) == (3, 1, 4, 0)


def test_the_intervals_are_those_of_all_possible_draws() -> None:
    found = all_pairs(tasks(CONTEXTS), seed=1)
    draws = sorted(largest_t(drawn, found) for drawn in product(CONTEXTS, repeat=4))
    t = [one.difference / (one.stderr or 1) for one in found]
    for one, value in zip(found, t, strict=True):
        exact = sum(draw >= value - 1e-9 for draw in draws) / len(draws)
        assert one.p == pytest.approx(exact, abs=0.015)  # three standard errors of 9,999 draws
    critical = draws[math.ceil(0.95 * len(draws)) - 1]
    assert found[0].low == pytest.approx(max(-1, 0.25 - critical * (found[0].stderr or 0)))


def test_two_models_have_nearly_the_interval_of_student() -> None:
    # With one pair the largest t is that pair's, and its bootstrap is close to Student's t.
    pairs = [((i * 7 % 3) / 3, (i * 5 % 4) / 4) for i in range(400)]
    paired = tasks([pairs[i : i + 2] for i in range(0, 400, 2)])
    (together,), alone = all_pairs(paired, seed=1), difference_of(paired)
    assert together.low == pytest.approx(alone.low, abs=0.005)
    assert together.high == pytest.approx(alone.high, abs=0.005)


def test_weights_count_a_task_several_times() -> None:
    # A task that stands for three is worth three like it in the same context.
    thrice = [[rows[0], *rows] if i else [*rows, rows[0], rows[0]] for i, rows in enumerate(CONTEXTS)]  # fmt: skip
    weighted = [
        PairedTask(one.task_id, one.context_id, "x", one.rates, weight)
        for one, weight in zip(tasks(CONTEXTS), (3, 1, 2, 1, 2, 2, 1, 1), strict=True)
    ]
    for by_weight, by_copies in zip(
        all_pairs(weighted, 1), all_pairs(tasks(thrice), 1), strict=True
    ):
        assert by_weight.difference == pytest.approx(by_copies.difference)
        assert by_weight.stderr == pytest.approx(by_copies.stderr)
        assert by_weight.low == pytest.approx(by_copies.low)
    assert bootstrap_interval(weighted, 1) == pytest.approx(
        bootstrap_interval(tasks(thrice), 1)
    )


def test_ranks_of_a_clear_and_of_an_unclear_case() -> None:
    # Forty contexts: the first model solves what the others do not, those two differ by chance.
    clear = [[(1, i % 2, (i // 2) % 2), (i % 3 > 0, 0, 0)] for i in range(40)]
    assert rank_sets(3, all_pairs(tasks(clear), seed=1)) == [(1, 1), (2, 3), (2, 3)]
    unclear = [[(i % 2, i // 2 % 2, i // 4 % 2)] for i in range(40)]
    assert rank_sets(3, all_pairs(tasks(unclear), seed=1)) == [(1, 3)] * 3
    # In the same order everywhere, one step a third.
    steps = [[((i % 5 > 0), (i % 5 > 2), 0)] for i in range(60)]
    assert rank_sets(3, all_pairs(tasks(steps), seed=1)) == [(1, 1), (2, 2), (3, 3)]


def test_pairs_without_an_error_go_by_the_sign_test() -> None:
    # In all eight contexts alike: 2 / 2^8 for the sign test, times three pairs.
    alike = all_pairs(tasks([[(1, 0, 0)]] * 8), seed=1)
    assert [one.p for one in alike] == pytest.approx([6 / 256, 6 / 256, 1])
    assert [one.low for one in alike] == [None] * 3
    assert rank_sets(3, alike) == [(1, 1), (2, 3), (2, 3)]
    single = all_pairs(tasks([[(1, 0, 0)]]), seed=1)
    assert rank_sets(3, single) == [(1, 3)] * 3


SOLVED = {"alpha": 11, "beta": 5, "beta-mini": 4}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Logs of three models: 12 contexts of two tasks, of which each solves its first ones."""
    folder = tmp_path_factory.mktemp("ranking")
    subs = ("Finance", "Game Mechanics")
    rows = [
        row(f"t{i}.{j}", context=f"c{i}", sub_category=subs[i % 2])
        for i in range(12)
        for j in range(2)
    ]
    for model, solved in SOLVED.items():
        plan = {f"t{i}.{j}": ["yyy" if i < solved else "yny"] * 2 for i in range(12) for j in range(2)}  # fmt: skip
        make_log(folder / "logs", rows, plan, provider="openai-api/loop", model=model)
    return folder / "logs"


@pytest.fixture(scope="module")
def found(folder: Path) -> Ranking:
    found = compare(folder)
    assert isinstance(found, Ranking)
    return found


def test_a_folder_of_three_models(found: Ranking) -> None:
    assert [one.model for one in found.series] == [
        "openai-api/loop/alpha", "openai-api/loop/beta", "openai-api/loop/beta-mini",
    ]  # fmt: skip
    overall = found.groups[0]
    assert overall.rates == pytest.approx((11 / 12, 5 / 12, 4 / 12))
    assert overall.ranks == ((1, 1), (2, 3), (2, 3))
    assert [group.name for group in found.groups] == [
        "Overall", "Domain Knowledge Reasoning", "Rule System Application",
    ]  # fmt: skip
    assert sentence(found) == (
        "These data tell 2 of 3 pairs of 3 models apart, over 24 tasks in 12 contexts; "
        "openai-api/loop/alpha ranks first."
    )


def test_the_frame_has_a_row_per_group_and_pair(found: Ranking) -> None:
    frame = found.to_pandas()
    assert len(frame) == 9
    first = frame.iloc[0]
    assert (first["group"], first["a"], first["b"]) == ("Overall", *found.names[:2])
    assert first["difference"] == pytest.approx(0.5)
    assert (first["best_rank_a"], first["worst_rank_a"]) == (1, 1)
    assert (first["best_rank_b"], first["worst_rank_b"]) == (2, 3)


def test_what_people_and_programs_read(found: Ranking, folder: Path) -> None:
    text = render(found, "terminal", width=80)
    assert max(map(len, text.split("\n"))) <= 80
    for part in ("A − B", "50.0", "2–3", "Fewer than 15 contexts", "hold together for all 3"):
        assert part in text
    code, out, _ = clbench("compare", str(folder), "--format", "json")
    ranks, pairs, categories = json.loads(out)
    assert code == 0
    assert ranks["rows"][1]["Ranks"] == [2, 3]
    assert ranks["rows"][1]["Solved"] == pytest.approx(5 / 12)
    assert pairs["rows"][0]["Difference"] == pytest.approx(0.5)
    assert categories["rows"][0]["A"] == {"rate": 1.0, "ranks": [1, 2]}


def test_models_are_picked_by_name(folder: Path) -> None:
    both = compare(folder, model=["mini", "alpha"])
    assert isinstance(both, Comparison)
    assert [one.model for one in both.series] == [
        "openai-api/loop/beta-mini", "openai-api/loop/alpha",
    ]  # fmt: skip
    # A whole name is that model's, even where it is a part of another's.
    named = ("--model", "openai-api/loop/beta", "--model", "ALPHA")
    code, out, _ = clbench("compare", str(folder), *named, "--format", "json")
    assert code == 0
    assert json.loads(out)[0]["rows"][0]["A − B"] == pytest.approx(-0.5)


@pytest.mark.parametrize(
    ("models", "message"),
    [
        (["gamma"], r"--model gamma: no such model\. There are: .*alpha, .*beta, .*beta-mini"),
        (["bet", "alpha"], "--model bet: several models .*beta, .*beta-mini"),
        (["alpha"], "one model only .openai-api/loop/alpha"),
        (["alpha", "loop/alpha"], "one model only"),
    ],
)
def test_names_that_pick_nothing_or_too_much(
    folder: Path, models: list[str], message: str
) -> None:
    with pytest.raises(ClbenchError, match=message):
        compare(folder, model=models)


def test_tasks_are_listed_of_two_models_only(found: Ranking, folder: Path) -> None:
    with pytest.raises(ClbenchError, match="Choose two with --model: openai-api/loop/alpha;"):
        tables_of(found, list_tasks=True)
    assert clbench("compare", str(folder), "--tasks").exit_code == 2


def test_a_log_and_a_folder_are_taken_together(folder: Path) -> None:
    paths = sorted(folder.glob("*.eval"))
    assert isinstance(compare(*paths), Ranking)
    assert isinstance(compare(paths[0], folder), Ranking)
    assert isinstance(compare(paths[0], paths[1]), Comparison)
    with pytest.raises(ClbenchError, match="one model only"):
        compare(paths[0])


def test_a_draw_has_the_rates_of_the_report(tmp_path: Path) -> None:
    # Twelve contexts of Finance with one task, three of Game Mechanics with four: six
    # contexts are drawn, four and two. Weights 12 / 4 and 12 / 8.
    rows = [row(f"f{i}", context=f"f{i}") for i in range(12)]
    rows += [
        row(f"g{i}.{j}", context=f"g{i}", sub_category="Game Mechanics")
        for i in range(3)
        for j in range(4)
    ]
    args = {"contexts": 6}
    for model, solved in (("a", "f"), ("b", "g"), ("c", "")):
        ids = [one["metadata"]["task_id"] for one in rows]
        plan = {id: ["yyy" if solved and id.startswith(solved) else "yny"] for id in ids}
        make_log(tmp_path / "draw", rows, plan, model=model, task_args=args)
        make_log(tmp_path / "full", rows, plan, model=model)
    found = compare(tmp_path / "draw")
    assert isinstance(found, Ranking)
    assert {task.weight for task in found.tasks} == {3.0, 1.5}
    assert found.groups[0].rates == pytest.approx((0.5, 0.5, 0))  # unweighed: 1/3 and 2/3
    table = report(tmp_path / "draw").tables[0]
    reported = [rate.mean for one in table.rows if (rate := one.rates["Overall"])]
    assert sorted(reported, reverse=True) == pytest.approx(found.groups[0].rates)
    # Of a draw and a full run, the tasks of the draw are compared, with its weights.
    logs = [find_logs(tmp_path / name, model="a")[0] for name in ("draw", "full")]
    mixed = compare(*logs)
    assert isinstance(mixed, Comparison)
    assert (mixed.overall.rate_a, mixed.overall.rate_b) == pytest.approx((0.5, 0.5))
    assert "Contexts were drawn" in render(mixed)


def test_intervals_and_ranks_hold_in_simulations() -> None:
    # A small form of benchmarks.comparisons: 40 contexts, so often that 0.95 has a standard
    # deviation of 0.02.
    rng, held, ranked = np.random.default_rng(1), 0, 0
    for seed in range(120):
        easy = rng.normal(0, 0.15, (40, 1, 1)) + rng.normal(0, 0.1, (40, 3, 1))
        chances = np.clip(0.3 + easy + np.array([0.15, 0.0, 0.0]), 0, 1)
        solved = (rng.random(chances.shape) < chances).astype(float)
        pairs = all_pairs(
            tasks([[tuple(t) for t in rows] for rows in solved.tolist()]), seed, 499
        )
        true = [
            chances[..., a].mean() - chances[..., b].mean() for a, b in ((0, 1), (0, 2), (1, 2))
        ]
        held += all(
            (p.low or -1) <= t <= (p.high or 1) for p, t in zip(pairs, true, strict=True)
        )
        best_of_first, second, third = rank_sets(3, pairs)
        ranked += best_of_first[0] == 1 and second[1] == third[1] == 3
    assert held / 120 >= 0.9
    assert ranked / 120 >= 0.95
