"""Drawing failures to be labelled, and the command line that does it."""

import shutil
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai import eval, score, task_with
from inspect_ai.log import EvalLog, read_eval_log, recompute_metrics, write_eval_log

from inspect_clbench import ClbenchError, clbench, error_types, rubric_judge
from inspect_clbench.metrics.error_types import Labelled, coverage, within_draw
from tests.support.builders import row, verdict, write_rows
from tests.support.command import Result
from tests.support.error_types import Labeller, labels_reply, metrics, values
from tests.support.logs import make_log
from tests.support.programs import inspect
from tests.support.scripted import tasks
from tests.support.server import LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
LABELS = labels_reply(context_misused=[1])
NAMES = [f"t{i:02}" for i in range(12)]
# In each run ten tasks fail and two are solved.
PLAN = {name: ["yyy" if i in (0, 5) else "nyy"] * 2 for i, name in enumerate(NAMES)}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return make_log(tmp_path_factory.mktemp("runs"), tasks(*NAMES), PLAN)


def drawn_of(log: EvalLog) -> set[tuple[str, int]]:
    return {answer for answer, value in values(log).items() if value == "context_misused"}


def draw(log: EvalLog, scorer: Any) -> tuple[set[tuple[str, int]], int]:
    """What was drawn, and how often the judge was asked."""
    judge = Labeller(lambda _: LABELS)
    done = score(
        log, scorer, model_roles={"grader": judge.model()}, action="append", display="none"
    )  # fmt: skip
    per_run = metrics(done)["labelled"] / 2
    assert metrics(done)["labelled_share"] == pytest.approx(per_run / 10)
    assert metrics(done)["not_drawn"] == 2 * (10 - per_run)
    return drawn_of(done), len(judge.prompts)


def test_exactly_so_many_failures_of_each_run_are_labelled(log: EvalLog) -> None:
    drawn, asked = draw(log, error_types(max_failures=3, seed=7))
    assert Counter(epoch for _, epoch in drawn) == {1: 3, 2: 3}
    assert asked == 6, "nobody pays for more than was asked for"
    assert {task for task, epoch in drawn if epoch == 1} != {
        task for task, epoch in drawn if epoch == 2
    }, "each run has a draw of its own"


def test_a_large_log_costs_no_more_either(log: EvalLog) -> None:
    copies = [
        sample.model_copy(update={"id": f"{sample.id}-{copy}"})
        for copy in range(15)
        for sample in log.samples or []
    ]
    judge = Labeller(lambda _: LABELS)
    done = score(
        log.model_copy(update={"samples": copies}), error_types(max_failures=3, seed=7),
        model_roles={"grader": judge.model()}, action="append", display="none",
    )  # fmt: skip
    assert len(judge.prompts) == metrics(done)["labelled"] == 6
    assert metrics(done)["not_drawn"] == 2 * (150 - 3)


def test_a_draw_depends_on_the_seed_alone(log: EvalLog) -> None:
    first, _ = draw(log, error_types(max_failures=3, seed=7))
    turned = log.model_copy(update={"samples": list(reversed(log.samples or []))})
    assert draw(turned, error_types(max_failures=3, seed=7))[0] == first
    assert draw(log, error_types(max_failures=3, seed=8))[0] != first
    assert draw(log, error_types(max_failures=6, seed=7))[0] > first, "smaller ones are parts"


def test_one_scorer_draws_anew_for_another_log(log: EvalLog) -> None:
    scorer = error_types(max_failures=2)
    first, _ = draw(log, scorer)
    others = [s.model_copy(deep=True) for s in log.samples or []]
    for sample in others:
        sample.id = f"other-{sample.id}"
    second, asked = draw(log.model_copy(update={"samples": others}), scorer)
    assert asked == 4
    assert not first & second


def test_more_than_there_are_means_all(log: EvalLog) -> None:
    drawn, asked = draw(log, error_types(max_failures=50))
    assert len(drawn) == asked == 20


@pytest.mark.long
def test_every_failure_has_the_same_chance(log: EvalLog) -> None:
    judge = Labeller(lambda _: LABELS)
    (part,) = [
        log.model_copy(update={"samples": [s for s in log.samples or [] if s.epoch == 1]})
    ]
    seen: Counter[str] = Counter()
    for seed in range(30):
        done = score(
            part, error_types(max_failures=5, seed=seed), display="none", action="append",
            model_roles={"grader": judge.model()},
        )  # fmt: skip
        seen.update(task for task, _ in drawn_of(done))
    # 30 draws of 5 out of 10: 15 each, with a standard deviation of 2.7
    assert len(seen) == 10
    assert all(5 <= count <= 25 for count in seen.values()), seen


@pytest.mark.parametrize("connections", [1, 4])
def test_during_a_run_exactly_so_many_are_counted(tmp_path: Path, connections: int) -> None:
    def says(prompt: str) -> str:
        return LABELS if "=== BEGIN MISSED" in prompt else verdict(0, ["no", "yes", "yes"])

    judge, student = Labeller(says), Labeller(lambda _: "An answer.", "student")
    dataset = write_rows(tmp_path / "rows.jsonl", [row(f"t{i:02}") for i in range(20)])
    scorers = [rubric_judge(), error_types(max_failures=4, seed=1)]
    (done,) = eval(
        task_with(clbench(dataset=dataset), scorer=scorers),
        model=student.model(),
        model_roles={"grader": judge.model()},
        max_samples=connections,
        log_dir=str(tmp_path),
        display="none",
    )
    asked = sum("=== BEGIN MISSED" in prompt for prompt in judge.prompts)
    assert 4 <= asked < 20
    assert (metrics(done)["labelled"], metrics(done)["not_drawn"]) == (4, 16)


@given(st.permutations(range(9)), st.integers(1, 12))
def test_what_is_counted_does_not_depend_on_the_order(order: Sequence[int], most: int) -> None:
    def answer(i: int, lowest: Sequence[int]) -> Labelled:
        taken = i in sorted(lowest)[:most]  # as the scorer decides with those so far
        return Labelled(1, "labelled" if taken else "not_drawn", rank=f"{i}", most=most)

    answers = [answer(i, order[: place + 1]) for place, i in enumerate(order)]
    counted = within_draw(answers)
    kept = {one.rank for one in counted if one.state == "labelled"}
    assert kept == {str(i) for i in range(min(most, 9))}
    assert coverage(counted).failed == 9


def inspect_score(log: Path, *arguments: str) -> Result:
    scorer = ("--scorer", "inspect_clbench/error_types", "--display", "plain")
    return inspect("score", str(log), *scorer, *arguments)


@pytest.mark.long
def test_inspect_score_labels_a_log_whole_or_streamed(demo_log: str, tmp_path: Path) -> None:
    log, out = tmp_path / "demo.eval", tmp_path / "streamed.eval"
    run = read_eval_log(demo_log)
    run.samples = [sample for sample in run.samples or [] if sample.epoch == 1]
    run.eval.config.epochs = 1
    recompute_metrics(run)
    write_eval_log(run, str(log))
    judge = ("--action", "append", "--model-role", "grader=clbench_demo/judge")
    some = ("-S", "max_failures=4", "-S", "seed=7")
    streamed = inspect_score(log, *judge, *some, "--stream", "6", "--output-file", str(out))
    assert streamed.exit_code == 0, streamed.stderr
    done = inspect_score(log, *judge, *some, "--overwrite")
    assert done.exit_code == 0, done.stderr
    assert "context_misused" in done.stdout
    whole, parts = read_eval_log(str(log)), read_eval_log(str(out))
    assert metrics(whole) == metrics(parts)
    assert metrics(whole)["labelled"] == 4
    names = [s.name for s in (whole.results.scores if whole.results else [])]
    assert names == ["rubric_judge", "error_types"]


@pytest.mark.long
def test_inspect_score_with_overwrite_says_what_is_missing(
    demo_log: str, tmp_path: Path
) -> None:
    log = tmp_path / "demo.eval"
    shutil.copy(demo_log, log)
    before = log.read_bytes()
    done = inspect_score(
        log, "--action", "overwrite", "--overwrite", "--model-role", "grader=clbench_demo/judge"
    )
    said = " ".join((done.stdout + done.stderr).split())
    assert done.exit_code != 0
    assert "has no score of rubric_judge" in said
    assert "--action append" in said
    assert "Traceback" not in said
    assert log.read_bytes() == before


def test_a_judge_that_cannot_work_stops_the_labelling(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda call: Reply(status=401, error="invalid key"))
    names = [f"t{i}" for i in range(4)]
    log = make_log(tmp_path, [row(name) for name in names], {name: ["nnn"] for name in names})
    roles = {"grader": "openai-api/loop/other"}
    with pytest.raises(ClbenchError, match="openai-api/loop/other"):
        score(log, error_types(), model_roles=roles, action="append", display="none")
    assert 1 <= len(server.calls_of("other")) <= 4, "a refused key is not tried again"
