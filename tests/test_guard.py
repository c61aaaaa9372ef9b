"""A run whose judge cannot work, or whose budget is spent, stops; it never turns into a page of zeros."""

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, eval_retry, eval_set
from inspect_ai.log import EvalLog
from inspect_ai.model import GenerateConfig, Model, ModelCost, get_model
from inspect_ai.scorer import SampleScore, Score

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.errors import ClbenchError
from inspect_clbench.scoring.guard import Guard
from inspect_clbench.tasks import clbench
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.server import Call, LoopbackServer, Reply, Script, Serve

GOOD = verdict(1, ["yes"] * 3)


@pytest.fixture
def dataset(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", [row(f"t{i:02}") for i in range(14)])


def script_with(judge: Callable[[str], Reply]) -> Script:
    """A student that names its task, and a judge who says something about each task."""

    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}.")
        task = call.prompt.partition("Answer to ")[2].partition(".")[0]
        return judge(task) if task else Reply("ready")

    return script


def failures_of(log: EvalLog) -> int:
    scores = [(sample.scores or {}).get("rubric_judge") for sample in log.samples or []]
    return sum(score is not None and score.reason == "grader_failed" for score in scores)


def retried(log: EvalLog, folder: Path) -> EvalLog:
    (again,) = eval_retry(log, log_dir=str(folder / "retry"), display="none", max_samples=1)
    assert again.status == "success", again.error
    return again


def test_a_refused_judge_stops_the_run_at_its_start(serve: Serve, dataset: str, tmp_path: Path) -> None:
    # Each judge of a panel is asked once.
    server = serve(lambda call: Reply(status=401, error="no key") if call.model == "second" else Reply("Hm."))
    judges = [f"openai-api/loop/{name}" for name in ("first", "second", "third")]
    log = run_eval(dataset, tmp_path, model_roles={"grader": judges})
    assert log.status == "error"
    refusal = "The judge cannot work: role grader, model openai-api/loop/second."
    for part in (refusal, "no key", "--model-role grader="):
        assert part in str(log.error)
    assert [call.model for call in server.calls] == ["first", "second"]


def test_a_judge_refused_midway_stops_the_run_until_a_retry(
    serve: Serve, dataset: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    is_gone = True
    serve(script_with(lambda task: Reply(status=401) if is_gone and task >= "t04" else Reply(GOOD)))
    log = run_eval(dataset, tmp_path, max_samples=1)
    assert log.status == "error"
    assert "(5 rows in a row)" in str(log.error)
    assert "inspect eval-retry LOG" in str(log.error)
    assert failures_of(log) == 5
    is_gone = False
    again = retried(log, tmp_path)
    # The rows of the old run are handed over, and are no reason to stop this one.
    assert (len(again.samples or []), metrics_of(again)["judge_failures"]) == (14, 5)
    assert "JUDGE FAILURES: 5 of 14 rows" in caplog.text


def test_a_judge_that_chats_stops_the_run_after_ten_rows(serve: Serve, dataset: str, tmp_path: Path) -> None:
    can_judge = False
    server = serve(script_with(lambda task: Reply(GOOD if can_judge else "A fine answer.")))
    log = run_eval(dataset, tmp_path, max_samples=1)
    assert log.status == "error"
    assert "no_verdict: A fine answer. (10 rows in a row)" in str(log.error)
    assert len(server.calls_of("student")) == 10
    can_judge = True
    assert metrics_of(retried(log, tmp_path))["judge_failures"] == 10


def test_failures_among_verdicts_do_not_stop_a_run(
    serve: Serve, dataset: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    # Nine rows without a verdict, the tenth has one; four refused, a verdict, and another one refused.
    def judge(task: str) -> Reply:
        if task in ("t00", "t01", "t02", "t03", "t13"):
            return Reply(status=403)
        return Reply("Hm." if task < "t09" else GOOD)

    serve(script_with(judge))
    log = run_eval(dataset, tmp_path, max_samples=1)
    assert log.status == "success", log.error
    assert metrics_of(log)["judge_failures"] == 10
    assert metrics_of(log)["solving_rate"] == pytest.approx(4 / 14)
    assert caplog.text.count("JUDGE FAILURES: 10 of 14 rows have no verdict and count as not solved") == 1
    assert "clbench regrade LOG" in caplog.text


def test_empty_answers_say_nothing_of_the_judge(serve: Serve, dataset: str, tmp_path: Path) -> None:
    serve(lambda call: Reply("" if call.model == "student" else "Hm."))
    assert run_eval(dataset, tmp_path).status == "success"


def test_a_task_runs_again_once_its_judge_is_back(serve: Serve, dataset: str, tmp_path: Path) -> None:
    is_gone = True
    serve(script_with(lambda task: Reply(status=401) if is_gone else Reply(GOOD)))
    task = clbench(dataset=dataset)
    # Beside a grader, roles of a method's own are the user's affair, whatever they are called.
    roles = {"grader": "openai-api/loop/judge", "judge": "mockllm/critic"}
    for status in ("error", "success"):
        (log,) = eval(task, model="openai-api/loop/student", model_roles=roles, log_dir=str(tmp_path))
        assert log.status == status, log.error
        is_gone = False


STUDENT, JUDGE = "gpt-4o", "gpt-4o-mini"
USAGE = {"prompt_tokens": 1_000, "completion_tokens": 100, "total_tokens": 1_100}
# A request of this usage costs one dollar: 1,000 tokens at 900 and 100 at 1,000 per million.
DOLLAR = ModelCost(input=900, output=1_000, input_cache_write=900, input_cache_read=900)
PRICES = {f"openai/{name}": DOLLAR for name in (STUDENT, JUDGE)}


def paid(call: Call) -> Reply:
    # Long enough that as many samples are under way as there are connections.
    text = "An answer." if call.model == STUDENT else GOOD
    return Reply(text, changes={"usage": USAGE}, delay=0.03)


def model(server: LoopbackServer, name: str) -> Model:
    config = GenerateConfig(max_retries=1)
    address: dict[str, Any] = {"base_url": server.url, "api_key": "key", "responses_api": False}
    return get_model(f"openai/{name}", config=config, memoize=False, **address)


def paid_run(server: LoopbackServer, dataset: str, folder: Path, budget: Any, **options: Any) -> EvalLog:
    settings: dict[str, Any] = {
        "model": model(server, STUDENT),
        "model_roles": {"grader": model(server, JUDGE)},
        "model_cost_config": PRICES,
        "task_args": {"budget": budget},
        "max_samples": 1,
    }
    return run_eval(dataset, folder / "logs", **settings | options)


def finished(log: EvalLog) -> int:
    assert log.status == "success", log.error
    return len([sample for sample in log.samples or [] if sample.scores])


@pytest.mark.parametrize(("connections", "most"), [(1, 3), (5, 3 + 5)])
def test_no_sample_starts_once_the_budget_is_spent(
    serve: Serve, dataset: str, tmp_path: Path, connections: int, most: int, caplog: pytest.LogCaptureFixture
) -> None:
    log = paid_run(serve(paid), dataset, tmp_path, 5, max_samples=connections, max_connections=connections)
    count = finished(log)
    assert 3 <= count <= most  # two dollars a sample: the third one passes five
    assert log.results
    assert log.results.early_stopping
    assert log.results.early_stopping.metadata == {"budget_usd": 5, "spent_usd": pytest.approx(2 * count)}
    words = f"BUDGET: ${2 * count}.00 of $5.00 are spent, {14 - count} samples were not started."
    assert words in caplog.text
    assert "inspect eval-retry LOG" in caplog.text


def test_a_retry_goes_on_with_the_same_sum(
    serve: Serve, dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    log = paid_run(serve(paid), dataset, tmp_path, 9)
    assert finished(log) == 5
    assert finished(retried(log, tmp_path)) == 10


def test_every_model_needs_a_price(serve: Serve, dataset: str, tmp_path: Path) -> None:
    server = serve(paid)
    roles = {"grader": model(server, JUDGE), "critic": "mockllm/critic"}
    with pytest.raises(ClbenchError, match=r"budget: no price is known for mockllm/critic\. Give US dollars"):
        paid_run(server, dataset, tmp_path, 5, model_roles=roles)
    assert not server.calls


def test_an_eval_set_has_its_prices_in_time(
    serve: Serve, dataset: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    judge = model(serve(paid), "gpt-4.1-nano")  # which no other test gives a price
    prices = tmp_path / "prices.json"
    monkeypatch.setenv("INSPECT_EVAL_MODEL_COST_CONFIG", str(prices))
    settings: dict[str, Any] = {
        "model": judge,
        "model_roles": {"grader": judge},
        "limit": 1,
        "display": "none",
    }
    settings["task_args"] = {"dataset": dataset, "budget": 5}
    with pytest.raises(ClbenchError, match=r"prices\.json: no prices can be read"):
        eval_set("inspect_clbench/clbench", log_dir=str(tmp_path / "logs"), **settings)
    prices.write_text(json.dumps({str(judge): DOLLAR.model_dump()}), "utf-8")
    done, _ = eval_set("inspect_clbench/clbench", log_dir=str(tmp_path / "logs"), **settings)
    assert done


@pytest.mark.parametrize("role", ["judge", "Scorer", "graders"])
def test_a_role_like_the_judges_is_refused(role: str, dataset: str, tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=f"Nothing asks for the model role {role}: the judge's role is"):
        run_eval(dataset, tmp_path, model="mockllm/model", model_roles={role: "mockllm/judge"})
    # A task that Python code builds before anything is bound: the guard refuses it.
    task, roles = clbench(dataset=dataset), {role: "mockllm/judge"}
    (log,) = eval(task, model="mockllm/model", model_roles=roles, log_dir=str(tmp_path))
    assert f"Nothing asks for the model role {role}" in str(log.error)


@pytest.mark.parametrize("budget", [0, -1, True, "much", float("nan"), float("inf")])
def test_a_budget_is_a_sum_of_money(budget: Any) -> None:
    with pytest.raises(ClbenchError, match=f"budget={budget}: give US dollars, a number above 0"):
        Guard(CLBENCH, budget)


def test_a_cost_that_is_no_money_is_left_aside() -> None:
    guard = Guard(CLBENCH, 1)
    scores = [SampleScore(score=Score(value=1, metadata={"cost": cost})) for cost in (0.5, "much", None)]
    asyncio.run(guard.schedule_sample("a", 1))
    asyncio.run(guard.complete_sample("a", 1, dict(zip("xyz", scores, strict=True))))
    assert guard.spent == 0.5
