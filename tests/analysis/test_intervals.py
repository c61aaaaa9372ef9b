"""The one interval of all rates, full runs and draws: by hand, and by simulation."""

import math
import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

import pytest
from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSpec

from inspect_clbench.analysis import Answer
from inspect_clbench.analysis.statistics import Rate, design_of, rate_of
from inspect_clbench.data.selection import ContextDraw, Stratum, draw_contexts
from inspect_clbench.logs.files import Log
from inspect_clbench.logs.series import trials_of
from inspect_clbench.metrics.solving import Trial, clustered_stderr

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


def estimate(
    found: Iterable[Answer],
    chosen: ContextDraw,
    group: Callable[[Answer], bool] = lambda _: True,
) -> Rate:
    """The rate of a draw, or of the tasks of a group, with the weights that its tasks have."""
    listed = list(found)
    sizes = Counter(answer.category for answer in listed)
    runs = len({answer.run for answer in listed})
    weighed = [
        replace(a, weight=chosen.strata[a.category].tasks * runs / sizes[a.category])
        for a in listed
    ]
    trials = trials_of(answer for answer in weighed if group(answer))
    return rate_of(trials, True, design_of(weighed, chosen))


def ends(rate: float, stderr: float, freedom: float) -> tuple[float, float]:
    """The interval, written out."""
    stdtrit = pytest.importorskip("scipy.special").stdtrit
    reach = stdtrit(freedom, 0.975) * stderr / (rate * (1 - rate))
    odds = math.log(rate / (1 - rate))
    return 1 / (1 + math.exp(-(odds - reach))), 1 / (1 + math.exp(-(odds + reach)))


def test_a_full_run_by_hand() -> None:
    # Contexts 1 of 2, 2 of 4, 3 of 3, 0 of 2, 2 of 3: rate 8/14; what each is above it.
    rate = 8 / 14
    above = [1 - 2 * rate, 2 - 4 * rate, 3 - 3 * rate, -2 * rate, 2 - 3 * rate]
    stderr = math.sqrt(sum(x * x for x in above) * 5 / 4) / 14
    found = rate_of(trials_of(HAND), ci=True)
    assert found.stderr == pytest.approx(stderr)
    assert found.stderr == pytest.approx(clustered_stderr(trials_of(HAND)))
    assert found.interval == pytest.approx(ends(rate, stderr, 4))
    assert (found.contexts, found.estimate) == (5, False)
    assert rate_of(trials_of(HAND)).interval is None


def test_the_same_form_for_shares() -> None:
    # Two contexts with 1/4 and 3/4 of the rubrics met: rate 1/2, residuals 1/8 each way.
    found = rate_of([Trial(1, "a", 0.25), Trial(1, "b", 0.75)], ci=True)
    assert found.stderr == pytest.approx(math.sqrt(2 * (1 / 8) ** 2 * 2))
    assert found.interval == pytest.approx(ends(0.5, 0.25, 1))


def test_by_hand() -> None:
    found = estimate(HAND, HAND_DRAW)
    # A: 6 of 9; B: 2 of 5; A has 40 of the 50 tasks.
    rate = 0.8 * 2 / 3 + 0.2 * 2 / 5
    assert found.mean == pytest.approx(rate)
    # A: residuals -1/3, -2/3, 1, squares 14/9 over 2; mean size 3; 7 of 10 not drawn.
    in_a = 0.7 * (14 / 9 / 2) / (3 * 3**2)
    # B: residuals -0.8, 0.8, squares 1.28 over 1; mean size 2.5; 2 of 4 not drawn.
    in_b = 0.5 * 1.28 / (2 * 2.5**2)
    variance = 0.8**2 * in_a + 0.2**2 * in_b
    assert found.stderr == pytest.approx(math.sqrt(variance))
    assert (found.contexts, found.estimate) == (5, True)
    freedom = variance**2 / ((0.8**2 * in_a) ** 2 / 2 + (0.2**2 * in_b) ** 2 / 1)
    assert found.interval == pytest.approx(ends(rate, math.sqrt(variance), freedom))


def test_one_category() -> None:
    found = estimate(HAND, HAND_DRAW, lambda answer: answer.category == "B")
    assert found.mean == pytest.approx(2 / 5)
    assert found.stderr == pytest.approx(math.sqrt(0.0512))
    assert found.interval == pytest.approx(ends(2 / 5, math.sqrt(0.0512), 1))
    assert found.contexts == 2


def test_a_group_of_tasks_across_categories() -> None:
    """Of each context the tasks that are short; how many there are in all is not known."""
    # A: contexts with 1 short of 2 tasks (solved), 1 of 2 (not), 0 of 2; weight 12 / 6 = 2.
    # B: 2 short of 2 (both solved), 0 of 2; weight 8 / 4 = 2.
    plan = {"A": ["Sx", "fx", "xx"], "B": ["SS", "xx"]}
    found = [
        replace(
            SOLVED if letter == "S" else FAILED,
            category=category,
            context_id=f"{category}-{number}",
            turns=1 if letter in "Sf" else 2,
        )
        for category, contexts in plan.items()
        for number, letters in enumerate(contexts)
        for letter in letters
    ]
    chosen = draw(A=(6, 3, 12), B=(4, 2, 8))
    short = estimate(found, chosen, lambda answer: answer.turns == 1)
    # 3 of 4 short ones, all of the same weight. What each context moves: A 1/16, -3/16;
    # B 2/16. By answer: A -2/16 over 6, B 2/16 over 4. Two of A and one of B have any.
    assert short.mean == pytest.approx(3 / 4)
    a = [1 / 16 + 2 / 48, -3 / 16 + 2 / 48, 2 / 48]
    b = [2 / 16 - 2 / 32, -2 / 32]
    variance = 0.5 * 2 * sum(x * x for x in a) + 0.5 * 2 * sum(x * x for x in b)
    assert short.stderr == pytest.approx(math.sqrt(variance))
    assert short.contexts == 3


def test_several_runs_of_a_task_are_one_cluster() -> None:
    twice = [*HAND, *(replace(answer, run=2) for answer in HAND)]
    found, once = estimate(twice, HAND_DRAW), estimate(HAND, HAND_DRAW)
    assert found.interval == pytest.approx(once.interval)
    assert (found.mean, found.std) == pytest.approx((once.mean, 0))


def test_where_every_context_was_run_nothing_is_left_to_chance() -> None:
    found = estimate(HAND, draw(A=(3, 3, 9), B=(2, 2, 5)))
    assert found.interval == pytest.approx((8 / 14, 8 / 14))
    assert found.stderr == 0


def test_one_context_of_several_says_nothing_about_the_spread() -> None:
    found = estimate(HAND[:2], draw(A=(10, 1, 40)))
    assert found.mean == pytest.approx(1 / 2)
    assert found.interval is not None
    assert math.isnan(found.interval[0])


def test_a_category_without_answers_leaves_no_interval() -> None:
    found = estimate(HAND[:9], HAND_DRAW)
    assert found.interval is not None
    assert math.isnan(found.interval[0])
    assert math.isnan(estimate([], HAND_DRAW).mean)


@pytest.mark.parametrize(("solved", "low", "high"), [(0, 0, 0.3085), (2, 0.6915, 1)])
def test_nothing_or_everything_solved_is_not_certainty(
    solved: int, low: float, high: float
) -> None:
    # Ten contexts, none of them solved: 1 - 0.025 ** (1 / 10) = 0.3085
    found = [*answers("A", [(solved, 2)] * 10)]
    for rate in (
        estimate(found, draw(A=(100, 10, 300))),
        rate_of(trials_of(found), ci=True),
        # What is left of 3 x 0.1 - 0.3 is no spread either.
        rate_of([t._replace(weight=0.1) for t in trials_of(found)], ci=True),
    ):
        assert rate.interval == pytest.approx((low, high), abs=1e-4)


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


def estimated(benchmark: Sequence[Answer], contexts: int, seed: int) -> Rate:
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
        low, high = found.interval or (0, 0)
        covered += low <= truth <= high
        errors.append(found.mean - truth)
        variances.append(found.stderr**2)
    # Measured by benchmarks.coverage; the standard deviation of 400 is 0.011.
    assert 0.915 <= covered / draws <= 0.975
    spread = math.sqrt(math.fsum(e * e for e in errors) / draws)
    assert abs(math.fsum(errors) / draws) < 3 * spread / math.sqrt(draws)  # no bias
    assert math.sqrt(math.fsum(variances) / draws) == pytest.approx(spread, rel=0.1)
