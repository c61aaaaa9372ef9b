"""The estimate from drawn contexts: by hand, and over and over on made-up benchmarks."""

import math
import random
from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec

from inspect_clbench.analysis import Answer
from inspect_clbench.analysis.estimate import Estimate, estimate
from inspect_clbench.data.selection import ContextDraw, Stratum, draw_contexts
from inspect_clbench.logs.files import Log

SPEC = EvalSpec(
    created="2026-02-03T00:00:00+00:00", task="", dataset=EvalDataset(), model="",
    config=EvalConfig(),
)  # fmt: skip
FAILED = Answer(
    log=Log("", EvalLog(eval=SPEC)), task_id="", epoch=1, run=1, uuid="", context_id="",
    category="", sub_category="", turns=1, prompt_chars=0, scorer="rubric_judge",
    outcome="failed", reason="", judge="", judge_prompt="", judge_prompt_sha256="",
    judge_effort="", rubrics_met=None, rubrics_total=1, status="", inconsistent=False,
    votes=(), votes_cut=False,
)  # fmt: skip
SOLVED = replace(FAILED, outcome="solved")


def answers(category: str, contexts: Sequence[tuple[int, int]]) -> Iterator[Answer]:
    """Answers in contexts that are given as tasks solved and tasks in all."""
    for number, (solved, tasks) in enumerate(contexts):
        for task in range(tasks):
            answer = SOLVED if task < solved else FAILED
            yield replace(answer, category=category, context_id=f"{category}-{number}")


def draw(**strata: tuple[int, int, int]) -> ContextDraw:
    """A draw by contexts there are, contexts drawn and tasks there are."""
    return ContextDraw(
        seed=0,
        strata={
            name: Stratum(contexts=all, drawn_contexts=drawn, tasks=tasks, drawn_tasks=0)
            for name, (all, drawn, tasks) in strata.items()
        },
        drawn={},
    )


HAND = [*answers("A", [(1, 2), (2, 4), (3, 3)]), *answers("B", [(0, 2), (2, 3)])]
HAND_DRAW = draw(A=(10, 3, 40), B=(4, 2, 10))


def test_by_hand() -> None:
    stdtrit = pytest.importorskip("scipy.special").stdtrit
    found = estimate(HAND, HAND_DRAW)
    # A: 6 of 9; B: 2 of 5; A has 40 of the 50 tasks.
    assert found.rate == pytest.approx(0.8 * 2 / 3 + 0.2 * 2 / 5)
    # A: residuals -1/3, -2/3, 1, squares 14/9 over 2; mean size 3; 7 of 10 not drawn.
    in_a = 0.7 * (14 / 9 / 2) / (3 * 3**2)
    # B: residuals -0.8, 0.8, squares 1.28 over 1; mean size 2.5; 2 of 4 not drawn.
    in_b = 0.5 * 1.28 / (2 * 2.5**2)
    variance = 0.8**2 * in_a + 0.2**2 * in_b
    assert found.stderr == pytest.approx(math.sqrt(variance))
    assert (found.contexts, found.of_contexts) == (5, 14)
    df = variance**2 / ((0.8**2 * in_a) ** 2 / 2 + (0.2**2 * in_b) ** 2 / 1)
    reach = stdtrit(df, 0.975) * found.stderr / (found.rate * (1 - found.rate))
    odds = math.log(found.rate / (1 - found.rate))
    assert found.low == pytest.approx(1 / (1 + math.exp(-(odds - reach))))
    assert found.high == pytest.approx(1 / (1 + math.exp(-(odds + reach))))


def test_one_category() -> None:
    found = estimate(HAND, HAND_DRAW, ["B"])
    assert found.rate == pytest.approx(2 / 5)
    assert found.stderr == pytest.approx(math.sqrt(0.0512))
    assert (found.contexts, found.of_contexts) == (2, 4)


def test_several_runs_of_a_task_are_one_cluster() -> None:
    twice = [*HAND, *(replace(answer, run=2) for answer in HAND)]
    assert estimate(twice, HAND_DRAW) == estimate(HAND, HAND_DRAW)


def test_where_every_context_was_run_nothing_is_left_to_chance() -> None:
    found = estimate(HAND, draw(A=(3, 3, 9), B=(2, 2, 5)))
    assert (found.rate, found.low, found.high) == pytest.approx((8 / 14, 8 / 14, 8 / 14))
    assert found.stderr == 0


def test_one_context_of_several_says_nothing_about_the_spread() -> None:
    found = estimate(HAND[:2], draw(A=(10, 1, 40)))
    assert found.rate == pytest.approx(1 / 2)
    assert math.isnan(found.stderr)
    assert math.isnan(found.low)
    assert math.isnan(found.high)


def test_a_category_without_answers_leaves_no_rate() -> None:
    assert math.isnan(estimate(HAND[:9], HAND_DRAW).rate)
    assert math.isnan(estimate([], HAND_DRAW, []).rate)


@pytest.mark.parametrize(("solved", "low", "high"), [(0, 0, 0.3085), (2, 0.6915, 1)])
def test_nothing_or_everything_solved_is_not_certainty(
    solved: int, low: float, high: float
) -> None:
    # Ten contexts, none of them solved: 1 - 0.025 ** (1 / 10) = 0.3085
    found = estimate(answers("A", [(solved, 2)] * 10), draw(A=(100, 10, 300)))
    assert (found.low, found.high) == pytest.approx((low, high), abs=1e-4)


def made_up(rng: random.Random, rate: float, alike: float) -> list[Answer]:
    """A benchmark about as large as the real one; tasks of a context are alike."""
    a, b = rate * (1 - alike) / alike, (1 - rate) * (1 - alike) / alike
    weights = [22, 123, 193, 42, 13, 16, 62, 6, 7, 4, 6, 6]
    found: list[Answer] = []
    for category, contexts in {"A": 190, "B": 140, "C": 100, "D": 70}.items():
        units = []
        for size in rng.choices(range(1, 13), weights, k=contexts):
            chance = rng.betavariate(a, b)
            units.append((sum(rng.random() < chance for _ in range(size)), size))
        found += answers(category, units)
    return found


def estimated(benchmark: Sequence[Answer], contexts: int, seed: int) -> Estimate:
    chosen = draw_contexts([(a.category, a.context_id) for a in benchmark], contexts, seed)
    names = {name for drawn in chosen.drawn.values() for name in drawn}
    return estimate([a for a in benchmark if a.context_id in names], chosen)


@pytest.mark.long
@pytest.mark.parametrize(
    ("rate", "alike", "contexts"),
    [(0.2, 0.4, 50), (0.5, 0.3, 25)],
)
def test_the_interval_covers_the_truth_as_often_as_it_says(
    rate: float, alike: float, contexts: int
) -> None:
    rng = random.Random(contexts)
    draws, covered, errors, variances = 400, 0, [], []
    for seed in range(draws):
        if seed % 25 == 0:
            benchmark = made_up(rng, rate, alike)
            truth = sum(answer.solved for answer in benchmark) / len(benchmark)
        found = estimated(benchmark, contexts, seed)
        covered += found.low <= truth <= found.high
        errors.append(found.rate - truth)
        variances.append(found.stderr**2)
    # Measured over 3,000 draws: 0.939 to 0.952. The standard deviation of 400 is 0.011.
    assert 0.915 <= covered / draws <= 0.975
    spread = math.sqrt(math.fsum(e * e for e in errors) / draws)
    assert abs(math.fsum(errors) / draws) < 3 * spread / math.sqrt(draws)  # no bias
    assert math.sqrt(math.fsum(variances) / draws) == pytest.approx(spread, rel=0.1)
