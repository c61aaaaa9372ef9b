"""Drawing whole contexts for an estimate."""

import json
import random
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from inspect_ai.analysis import evals_df
from inspect_ai.log import EvalLog, write_eval_log

from inspect_clbench.analysis import answers_df, report
from inspect_clbench.data.dataset import draw_samples, load_samples
from inspect_clbench.data.selection import ContextDraw, allocate, draw_contexts
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.export import export
from inspect_clbench.output import render, tables_of
from inspect_clbench.tasks import clbench, clbench_life
from tests.support.builders import demo_eval, metrics_of
from tests.support.rows import row, write_rows

sizes = st.dictionaries(st.sampled_from("ABCD"), st.integers(1, 200), min_size=1)


@given(sizes, st.data())
def test_categories_give_their_share(available: dict[str, int], data: st.DataObject) -> None:
    everything = sum(available.values())
    wanted = data.draw(st.integers(len(available), everything))
    counts = allocate(available, wanted)
    assert sum(counts.values()) == wanted
    enough = wanted >= sum(min(2, size) for size in available.values())
    for name, size in available.items():
        assert (min(2, size) if enough else 1) <= counts[name] <= size
        share = wanted * size / everything
        # Small categories are lifted to two, at the cost of the others.
        assert share - 2 * len(available) < counts[name] < max(2, share) + 1


@pytest.mark.parametrize(
    ("wanted", "counts"),
    [
        (4, {"A": 1, "B": 1, "C": 1, "D": 1}),
        (7, {"A": 3, "B": 2, "C": 1, "D": 1}),  # too few for two from each
        (8, {"A": 2, "B": 2, "C": 2, "D": 2}),
        (50, {"A": 19, "B": 14, "C": 10, "D": 7}),
        (500, {"A": 190, "B": 140, "C": 100, "D": 70}),
    ],
)
def test_shares_of_the_real_sizes(wanted: int, counts: dict[str, int]) -> None:
    assert allocate({"A": 190, "B": 140, "C": 100, "D": 70}, wanted) == counts


@pytest.mark.parametrize("wanted", [0, 1, -5, True, 2.5, "ten"])
def test_each_category_wants_a_context(wanted: object) -> None:
    with pytest.raises(ClbenchError, match=r"contexts=.*at least 2.*\(A, B\)"):
        allocate({"A": 5, "B": 5}, wanted)  # type: ignore[arg-type]  # what a command line may bring


def test_more_than_there_are_is_an_error() -> None:
    with pytest.raises(ClbenchError, match="contexts=11: there are only 10 contexts"):
        allocate({"A": 5, "B": 5}, 11)


def tasks(count: int = 30) -> list[tuple[str, str]]:
    return [("AB"[n % 3 == 0], f"context-{n}") for n in range(count) for _ in range(n % 4 + 1)]


def test_the_draw_depends_on_the_seed_and_not_on_the_order() -> None:
    shuffled = random.Random(1).sample(tasks(), len(tasks()))
    draw = draw_contexts(tasks(), 10, seed=4)
    assert draw_contexts(shuffled, 10, seed=4) == draw
    assert draw_contexts(tasks(), 10, seed=5).drawn != draw.drawn
    # What was drawn once is drawn for ever: logs of years ago must be told apart.
    assert draw.drawn["A"][:3] == ("context-20", "context-26", "context-16")


def test_a_larger_draw_holds_the_smaller_one() -> None:
    small, large = draw_contexts(tasks(), 10), draw_contexts(tasks(), 15)
    for name, drawn in small.drawn.items():
        assert large.drawn[name][: len(drawn)] == drawn


def test_every_context_has_the_same_chance() -> None:
    hits = dict.fromkeys({context for _, context in tasks()}, 0)
    for seed in range(600):
        for drawn in draw_contexts(tasks(), 10, seed).drawn.values():
            for context in drawn:
                hits[context] += 1
    # 200 expected of 600; five standard deviations are 58.
    assert all(142 <= count <= 258 for count in hits.values())


def test_a_draw_counts_what_there_is_and_what_was_drawn() -> None:
    draw = draw_contexts(tasks(), 10)
    for name, stratum in draw.strata.items():
        found = [context for category, context in tasks() if category == name]
        assert stratum.contexts == len(set(found))
        assert stratum.tasks == len(found)
        assert stratum.drawn_contexts == len(draw.drawn[name])
        assert stratum.drawn_tasks == sum(context in draw.drawn[name] for context in found)
    assert (draw.contexts, draw.drawn_contexts, draw.tasks) == (30, 10, len(tasks()))
    assert draw.drawn_tasks < draw.tasks


def test_whole_contexts_are_run_in_the_order_of_the_file(tmp_path: Path) -> None:
    path = write_rows(tmp_path, [row(n) for n in range(40)])
    loaded = load_samples(path)
    chosen, draw = draw_samples(loaded, 4, seed=2)
    assert draw is not None
    contexts = {context for found in draw.drawn.values() for context in found}
    assert len(contexts) == 4
    expected = [s.id for s in loaded if (s.metadata or {})["context_id"] in contexts]
    assert [s.id for s in chosen] == expected
    assert draw_samples(loaded, None, seed=0) == (loaded, None)
    with pytest.raises(ClbenchError, match="seed=2: there is nothing to draw"):
        draw_samples(loaded, None, seed=2)


def drawn_run(
    folder: Path, *, limit: int | None = None, epochs: int = 1, **arguments: object
) -> EvalLog:
    return demo_eval(folder, task_args=arguments, limit=limit, epochs=epochs)


def test_the_log_keeps_the_draw(tmp_path: Path) -> None:
    log = drawn_run(tmp_path, contexts=9, seed=3)
    draw = ContextDraw.model_validate((log.eval.metadata or {})["draw"])
    assert draw.seed == 3
    assert draw.drawn_contexts == 9
    assert draw.drawn_tasks == log.eval.dataset.samples
    assert draw.strata["Rule System Application"].contexts == 5


def test_a_draw_within_categories_knows_only_these() -> None:
    task = clbench(dataset="demo", category="Rule System Application", contexts=2)
    draw = ContextDraw.model_validate((task.metadata or {})["draw"])
    assert list(draw.strata) == ["Rule System Application"]


def test_tasks_without_contexts_are_drawn_one_by_one() -> None:
    task = clbench_life(dataset="demo", contexts=6)
    draw = ContextDraw.model_validate((task.metadata or {})["draw"])
    assert [s.drawn_contexts for s in draw.strata.values()] == [2, 2, 2]
    assert len(task.dataset) == 6


def test_without_a_draw_the_log_says_nothing_of_one() -> None:
    assert "draw" not in (clbench(dataset="demo").metadata or {})


def report_on(log: str) -> str:
    return render(report(log), "markdown")


def test_the_weighted_rate_is_the_one_number_everywhere(tmp_path: Path) -> None:
    log = drawn_run(tmp_path / "logs", contexts=9, seed=3, epochs=2)
    # By category 1/3, 1/2, 1/2 and 1/3 of 9, 7, 4 and 4 tasks; 5/12 without weights.
    expected = (9 / 3 + 7 / 2 + 4 / 2 + 4 / 3) / 24
    weights = {s.metadata["context_category"]: s.metadata["weight"] for s in log.samples or []}
    draw = ContextDraw.model_validate((log.eval.metadata or {})["draw"])
    assert weights == draw.weights
    assert metrics_of(log)["solving_rate"] == pytest.approx(expected)
    (numbers,) = report(log.location).tables
    assert numbers.rows[0].rates["Overall"].mean == pytest.approx(expected)  # type: ignore[union-attr]
    assert numbers.rows[0].solving_rate == pytest.approx(expected)
    (at_100,) = (
        row.rates["100 %"] for row in report(log.location, thresholds=True).tables[0].rows
    )
    assert at_100 is not None
    assert at_100.mean == pytest.approx(expected)
    (exported,) = export(log.location, tmp_path / "out")
    assert exported.leaderboard["overall"] == round(expected, 3)
    frame = evals_df(str(tmp_path / "logs"))
    assert frame["score_rubric_judge_solving_rate"][0] == pytest.approx(expected)
    answers = answers_df(log.location)
    by_run = (answers.solved * answers.weight).groupby(answers.epoch).sum()
    assert (by_run / answers.weight.groupby(answers.epoch).sum()).mean() == pytest.approx(
        expected
    )


def test_logs_of_a_draw_without_weights_get_them_from_the_draw(tmp_path: Path) -> None:
    log = drawn_run(tmp_path, contexts=9, seed=3)
    expected = report(log.location).to_pandas()
    for sample in log.samples or []:
        del sample.metadata["weight"]
    write_eval_log(log, log.location)
    assert report(log.location).to_pandas().equals(expected)


def test_the_report_says_that_a_row_is_an_estimate(tmp_path: Path) -> None:
    log = drawn_run(tmp_path, contexts=9, seed=3, epochs=2)
    (table,) = tables_of(report(log.location))
    text = render([table], "markdown")
    # Another kind of interval than a full run's, in columns of its own.
    overall = table.rows[0][table.columns.index("Overall")].value
    assert 0 < overall["draw_low"] < overall["mean"] < overall["draw_high"] < 1
    assert "low" not in overall
    assert r"\~\[" in text
    assert json.loads(render([table], "json"))[0]["rows"][0]["estimate"] is True
    assert r"clbench\_demo/student \~" in text
    assert "an estimate from 9 of 18 contexts" in text
    assert "(12 of 24 tasks, seed 3)" in text


def test_a_draw_with_single_contexts_has_no_interval(tmp_path: Path) -> None:
    log = drawn_run(tmp_path, contexts=4)
    assert "draw two or more contexts from each category" in report_on(log.location)


def test_a_part_of_a_draw_is_incomplete(tmp_path: Path) -> None:
    log = drawn_run(tmp_path, contexts=9, seed=3, limit=5)
    assert "incomplete, 5 of the 12 tasks that were drawn" in report_on(log.location)


def test_different_draws_are_not_mixed(tmp_path: Path) -> None:
    rules = "Rule System Application"
    drawn_run(tmp_path, contexts=2, category=rules)
    drawn_run(tmp_path, contexts=2, category="Procedural Task Execution")
    (table,) = report(str(tmp_path)).tables
    assert [row.is_estimate for row in table.rows] == [True, True]
    assert len({row.name for row in table.rows}) == 2


def test_a_draw_of_the_real_benchmark(real_data: str) -> None:
    task = clbench(dataset=real_data, contexts=50, seed=1)
    draw = ContextDraw.model_validate((task.metadata or {})["draw"])
    assert (draw.contexts, draw.tasks, draw.drawn_contexts) == (500, 1899, 50)
    assert [s.drawn_contexts for s in draw.strata.values()] == [19, 7, 10, 14]
    assert len(task.dataset) == draw.drawn_tasks
