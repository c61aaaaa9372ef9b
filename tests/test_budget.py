"""A budget in US dollars: real clients, a server that reports usage, known prices."""

import logging
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, eval_retry, task_with
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model, ModelCost, get_model, set_model_cost
from inspect_ai.scorer import Score, Scorer, Target, mean, scorer
from inspect_ai.solver import TaskState

from inspect_clbench import clbench, error_types, rubric_judge
from tests.support.builders import row, run_eval, verdict, write_rows
from tests.support.server import Call, LoopbackServer, Reply

STUDENT, JUDGE, SECOND = "gpt-4o", "gpt-4o-mini", "gpt-4.1"
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
# A request of this usage costs one dollar: 1,000 tokens at 900 and 100 at 1,000 per million.
DOLLAR = ModelCost(input=900, output=1_000, input_cache_write=900, input_cache_read=900)
PRICES = {f"openai/{name}": DOLLAR for name in (STUDENT, JUDGE, SECOND)}
ROWS = 12


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def script(call: Call) -> Reply:
    text = "An answer." if call.model == STUDENT else verdict(1, ["yes"] * 3)
    # Long enough that as many samples are under way as there are connections.
    return Reply(text, changes={"usage": USAGE}, delay=0.05)


def model(server: LoopbackServer, name: str) -> Model:
    config = GenerateConfig(max_retries=1)
    return get_model(
        f"openai/{name}", base_url=server.url, responses_api=False,
        memoize=False, config=config,
    )  # fmt: skip


def run(
    server: LoopbackServer, folder: Path, budget: Any, number: int = ROWS, **options: Any
) -> EvalLog:
    rows = write_rows(
        folder / "rows.jsonl", [row(f"t{i}", context=f"c{i}") for i in range(number)]
    )
    return run_eval(
        rows,
        folder / "logs",
        **{
            "model": model(server, STUDENT),
            "model_roles": {"grader": model(server, JUDGE)},
            "model_cost_config": PRICES,
            "task_args": {"budget": budget},
            **options,
        },
    )


def finished(log: EvalLog) -> int:
    return len([sample for sample in log.samples or [] if sample.scores])


@pytest.mark.parametrize(("connections", "number", "most"), [(1, 12, 3), (50, 110, 3 + 50)])
def test_no_sample_starts_once_it_is_spent(
    serve: Any,
    tmp_path: Path,
    connections: int,
    number: int,
    most: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = serve(script)
    with caplog.at_level(logging.WARNING):
        log = run(
            server, tmp_path, 5, number, max_connections=connections, max_samples=connections
        )
    assert log.status == "success", log.error
    # Two dollars a sample: the third one passes five.
    assert 3 <= finished(log) <= most
    assert all(sample.scores for sample in log.samples or [])
    stopped = log.results.early_stopping if log.results else None
    assert stopped is not None
    assert len(stopped.early_stops) == number - finished(log)
    assert stopped.metadata["budget_usd"] == 5
    assert stopped.metadata["spent_usd"] == pytest.approx(2 * finished(log))
    assert f"BUDGET: ${2 * finished(log):.2f} are spent, the budget is $5.00" in caplog.text
    assert f"{number - finished(log)} samples not started" in caplog.text
    assert "eval-retry" in caplog.text


def test_a_retry_goes_on_with_the_same_sum(serve: Any, tmp_path: Path) -> None:
    server = serve(script)
    log = run(server, tmp_path, 9, max_samples=1, max_connections=1)
    assert finished(log) == 5
    (again,) = eval_retry(
        log.location, log_dir=str(tmp_path / "logs"), display="none", max_samples=1
    )
    assert again.status == "success", again.error
    assert finished(again) == 10
    assert len({sample.id for sample in again.samples or []}) == 10


def test_all_judges_of_a_panel_count(serve: Any, tmp_path: Path) -> None:
    server = serve(script)
    roles = {"grader": [model(server, JUDGE), model(server, SECOND)]}
    log = run(server, tmp_path, 5, max_samples=1, max_connections=1, model_roles=roles)
    assert finished(log) == 2  # three dollars a sample


def test_asking_again_counts(serve: Any, tmp_path: Path) -> None:
    def unusable_first(call: Call) -> Reply:
        reply = script(call)
        bad = call.model == JUDGE and call.attempt == 1
        return Reply("No verdict.", changes={"usage": USAGE}) if bad else reply

    log = run(serve(unusable_first), tmp_path, 5, max_samples=1, max_connections=1)
    assert finished(log) == 2  # an answer and two replies of the judge: three dollars


def test_a_budget_that_the_last_sample_spends_leaves_nothing_to_retry(
    serve: Any, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        log = run(serve(script), tmp_path, 2 * ROWS, max_samples=1, max_connections=1)
    assert finished(log) == ROWS
    assert "BUDGET: $24.00 are spent, the budget is $24.00. Nothing was left" in caplog.text
    assert "eval-retry" not in caplog.text


def test_failed_requests_cost_nothing(serve: Any, tmp_path: Path) -> None:
    def overloaded_first(call: Call) -> Reply:
        return Reply(status=503) if call.attempt == 1 else script(call)

    server = serve(overloaded_first)
    log = run(server, tmp_path, 5, max_samples=1, max_connections=1)
    assert finished(log) == 3
    assert len(server.calls_of(STUDENT)) == 6


def test_cached_replies_cost_nothing(
    serve: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    server = serve(script)
    options = {"max_samples": 1, "max_connections": 1, "cache": True}
    first = run(server, tmp_path, 9, **options)
    # Answers and rubrics are alike, so that there is one verdict to pay beside eight answers.
    assert finished(first) == 8
    assert finished(run(server, tmp_path, 9, **options)) == ROWS
    assert len(server.calls_of(STUDENT)) == ROWS


def test_a_model_that_costs_nothing_leaves_the_sum_to_its_judge(
    serve: Any, tmp_path: Path
) -> None:
    free = ModelCost(input=0, output=0, input_cache_write=0, input_cache_read=0)
    prices = PRICES | {f"openai/{STUDENT}": free}
    log = run(
        serve(script), tmp_path, 5, model_cost_config=prices, max_samples=1, max_connections=1
    )
    assert finished(log) == 5


def test_error_types_count(serve: Any, tmp_path: Path) -> None:
    def failed(call: Call) -> Reply:
        text = verdict(0, ["no"] * 3) if call.model == JUDGE else "An answer."
        return Reply(text, changes={"usage": USAGE}, delay=0.05)

    rows = write_rows(
        tmp_path / "rows.jsonl", [row(f"t{i}", context=f"c{i}") for i in range(6)]
    )
    server = serve(failed)
    task = task_with(
        clbench(dataset=rows, budget=5), scorer=[rubric_judge(), error_types(attempts=1)]
    )
    (log,) = eval(
        task, model=model(server, STUDENT), model_roles={"grader": model(server, JUDGE)},
        model_cost_config=PRICES, max_samples=1, max_connections=1, display="none",
        log_dir=str(tmp_path / "logs"),
    )  # fmt: skip
    assert log.status == "success", log.error
    assert finished(log) == 2  # an answer, a verdict and labels: three dollars


def test_a_sample_that_is_tried_again_after_an_error_is_paid_twice(
    serve: Any, tmp_path: Path
) -> None:
    @scorer(metrics=[mean()])
    def fragile() -> Scorer:
        seen: set[Any] = set()

        async def score(state: TaskState, target: Target) -> Score:
            if state.sample_id not in seen:
                seen.add(state.sample_id)
                raise ValueError("the first time")
            return Score(value=1)

        return score

    rows = write_rows(
        tmp_path / "rows.jsonl", [row(f"t{i}", context=f"c{i}") for i in range(6)]
    )
    server = serve(script)
    task = task_with(clbench(dataset=rows, budget=100), scorer=[rubric_judge(), fragile()])
    (log,) = eval(
        task, model=model(server, STUDENT), model_roles={"grader": model(server, JUDGE)},
        model_cost_config=PRICES, max_samples=1, max_connections=1, display="none",
        retry_on_error=1, log_dir=str(tmp_path / "logs"),
    )  # fmt: skip
    assert log.results
    assert log.results.early_stopping
    assert log.results.early_stopping.metadata["spent_usd"] == pytest.approx(24)
    assert finished(log) == 6


def test_a_budget_that_is_not_reached_changes_nothing(serve: Any, tmp_path: Path) -> None:
    log = run(serve(script), tmp_path, 100)
    assert finished(log) == ROWS
    assert log.results
    assert log.results.early_stopping
    assert log.results.early_stopping.metadata == {"budget_usd": 100, "spent_usd": 24.0}


def test_without_prices_the_run_is_refused(serve: Any, tmp_path: Path) -> None:
    server = serve(script)
    log = run(
        server, tmp_path, 5, model="openai-api/loop/student", model_cost_config=None,
        model_roles={"grader": "openai-api/loop/judge"},
    )  # fmt: skip
    assert log.status == "error"
    assert log.error
    assert "no price is known for openai-api/loop/student" in log.error.message
    assert "--model-cost-config" in log.error.message
    assert not server.calls_of("student")


def test_every_judge_needs_a_price(serve: Any, tmp_path: Path) -> None:
    server = serve(script)
    known = {f"openai/{name}": DOLLAR for name in (STUDENT, JUDGE)}
    set_model_cost(f"openai/{SECOND}", None)  # type: ignore[arg-type]  # of the tests before
    roles = {"grader": [model(server, JUDGE), model(server, SECOND)]}
    log = run(server, tmp_path, 5, model_cost_config=known, model_roles=roles)
    assert log.error
    assert f"no price is known for openai/{SECOND}, so" in log.error.message


@pytest.mark.parametrize("budget", [0, -1, True, "much"])
def test_a_budget_is_a_sum_of_money(serve: Any, tmp_path: Path, budget: Any) -> None:
    with pytest.raises(Exception, match=f"budget={budget}: give US dollars"):
        run(serve(script), tmp_path, budget)
