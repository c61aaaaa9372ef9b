"""The scorer in whole evals: who judges, what a score says, and what answers cost."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log_sample_summaries
from inspect_ai.model import (
    ChatMessageUser,
    GenerateConfig,
    Model,
    ModelCost,
    ModelOutput,
    ModelUsage,
    get_model,
)
from inspect_ai.scorer import Score
from inspect_ai.solver import Generate, Solver, TaskState, solver

from inspect_clbench.benchmarks import CLBENCH_LIFE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge import asking
from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.scoring.scores import is_in_share
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.scripted import JUDGE_USAGE, STUDENT_USAGE, scripted_eval, scripted_judge, tasks
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
GOOD = verdict(1, ["yes"] * 3, "All met.")
BAD = verdict(0, ["yes", "no", "yes"], "Two is missing.")


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PAUSES", (0.01, 0.01))


def scores_of(log: EvalLog, name: str = "rubric_judge") -> dict[str, Score]:
    assert log.error is None, log.error
    return {str(s.id): s.scores[name] for s in log.samples or [] if s.scores and name in s.scores}


def metadata_of(log: EvalLog, task: str, name: str = "rubric_judge") -> dict[str, Any]:
    return scores_of(log, name)[task].metadata or {}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    plan = {
        "solved": ["yyy"], "failed": ["yny"], "odd": ["yyy!"], "short": ["yy!"],
        "silent": [""], "unjudged": ["garbled"], "dead": ["error"],
    }  # fmt: skip
    return scripted_eval(tmp_path_factory.mktemp("log"), tasks(*plan), plan)


@pytest.mark.parametrize(
    ("task", "value", "reason", "answer", "expected"),
    [
        ("solved", "C", None, "1.00, 3/3 met, solved", {"status": "yyy", "rubrics_met": 3}),
        ("failed", "I", None, "0.66, 2/3 met, not solved", {"status": "yny", "rubrics_met": 2}),
        ("odd", "I", None, "1.00, 3/3 met, not solved", {"status": "yyy", "rubrics_met": 3, "inconsistent": True}),
        # A status list of another length cannot be laid beside the rubrics.
        ("short", "I", None, "?/3 met, not solved", {"status": "", "rubrics_met": None, "inconsistent": True}),
        ("silent", "I", "no_response", "no answer",
         {"status": "nnn", "rubrics_met": 0, "judge_attempts": 0, "judge_usage": {}, "rationales": []}),
        ("unjudged", "I", "grader_failed", "no verdict",
         {"status": "", "rubrics_met": None, "judge_attempts": 3, "rationales": [""],
          "judge_error": "no_verdict: I would rather not say.",
          "judge_usage": {"mockllm/judge": (JUDGE_USAGE + JUDGE_USAGE + JUDGE_USAGE).model_dump(exclude_none=True)}}),
    ],
)  # fmt: skip
def test_every_score_tells_the_whole_truth(
    log: EvalLog, task: str, value: str, reason: str | None, answer: str, expected: dict[str, Any]
) -> None:
    judged = scores_of(log)[task]
    metadata = dict(judged.metadata or {})
    assert (judged.value, judged.reason, judged.answer) == (value, reason, answer)
    assert metadata.pop("scanner_references")
    assert metadata == {
        "epoch": 1,
        "judge": "mockllm/judge",
        "judge_effort": "",
        "judge_prompt": "builtin",
        "judge_prompt_sha256": load_judge_prompt().sha256,
        "judge_attempts": 1,
        "judge_error": "",
        "judge_refused": False,
        "rubrics_total": 3,
        "inconsistent": False,
        "stop_reason": "stop",
        "task_version": 2,
        "answer_usage": {"mockllm/student": STUDENT_USAGE.model_dump(exclude_none=True)},
        "judge_usage": {"mockllm/judge": JUDGE_USAGE.model_dump(exclude_none=True)},
        "rationales": ["Checked line by line."],
        "cost": None,
        **expected,
    }


def test_a_model_that_failed_is_an_error_and_no_zero(log: EvalLog) -> None:
    dead = next(sample for sample in log.samples or [] if sample.id == "dead")
    assert dead.error
    assert not dead.scores
    metrics = metrics_of(log)
    assert metrics["solving_rate"] == pytest.approx(1 / 6)
    assert (metrics["judge_failures"], metrics["no_response"], metrics["inconsistent_verdicts"]) == (1, 1, 2)


def test_scoring_a_log_says_the_same_and_leaves_errors_alone(log: EvalLog) -> None:
    judge = scripted_judge("second", turn=True)
    again = score(log, rubric_judge(), model_roles={"grader": judge}, action="append", display="none")
    assert "dead" not in scores_of(again, "rubric_judge1")
    metadata = metadata_of(again, "solved", "rubric_judge1")
    assert (metadata["judge"], metadata["status"]) == ("mockllm/second", "nnn")
    assert metadata["answer_usage"] == {"mockllm/student": STUDENT_USAGE.model_dump(exclude_none=True)}
    assert metadata_of(again, "silent", "rubric_judge1")["judge"] == "mockllm/second"


def test_a_share_of_the_answers_is_scored(tmp_path: Path) -> None:
    plan = {f"t{i}": ["yyy", "nnn"] for i in range(20)}
    log = scripted_eval(tmp_path, tasks(*plan), plan)
    roles: dict[str, str | Model] = {"grader": scripted_judge("second")}
    again = score(log, rubric_judge(share=0.3), model_roles=roles, action="append", display="none")
    for sample in again.samples or []:
        second = (sample.scores or {}).get("rubric_judge1")
        assert (second is not None) is is_in_share(0.3, sample.id, sample.epoch)
        if second:
            assert (second.metadata or {})["share"] == 0.3
            assert second.value == (sample.scores or {})["rubric_judge"].value
    assert again.results
    assert [result.name for result in again.results.scores] == ["rubric_judge", "rubric_judge1"]
    number = sum(is_in_share(0.3, task, epoch) for task in plan for epoch in (1, 2))
    assert again.results.scores[1].scored_samples == number
    assert "share" not in metadata_of(log, "t0")


def test_which_share_is_a_matter_of_id_and_epoch() -> None:
    answers = [(f"task-{i}", epoch) for i in range(2_000) for epoch in (1, 2)]
    tenth, third = ({a for a in answers if is_in_share(share, *a)} for share in (0.1, 0.33))
    assert tenth < third  # a larger share holds a smaller one
    assert abs(len(tenth) / 4_000 - 0.1) < 0.02
    assert {id for id, epoch in tenth if epoch == 1} != {id for id, epoch in tenth if epoch == 2}
    assert all(is_in_share(1.0, *answer) for answer in answers)
    for share in (0, -0.1, 1.1, float("nan"), "much"):
        with pytest.raises(ClbenchError, match=f"share={share}: give the share"):
            rubric_judge(share=share)  # type: ignore[arg-type]


def output(text: str, usage: ModelUsage = STUDENT_USAGE) -> ModelOutput:
    result = ModelOutput.from_content("mockllm/student", text)
    result.usage = usage
    return result


def foreign_eval(samples: list[Sample], method: Solver, scorer: Any, folder: Path) -> EvalLog:
    """An eval of another task than this package's."""
    student = get_model(
        "mockllm/student", custom_outputs=lambda *_: output("Answer to t.\nSTATUS=y"), memoize=False
    )
    (log,) = eval(
        Task(dataset=samples, solver=method, scorer=scorer, name="foreign"),
        model=student,
        model_roles={"grader": scripted_judge()},
        log_dir=str(folder),
        display="none",
        continue_on_fail=True,
    )
    return log


@solver
def twice() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await get_model().generate([ChatMessageUser(content="Plan.")])
        return await generate(state)

    return solve


def test_any_task_with_rubrics_can_use_it(tmp_path: Path) -> None:
    samples = [
        Sample(id="bare", input="Say one.", metadata={"rubrics": ["Says one."]}),
        Sample(id="none", input="Say one.", metadata={"rubrics": []}),
        Sample(id="odd", input="Say one.", metadata={"rubrics": [{"text": "Says one."}]}),
        Sample(id="without", input="Say one."),
    ]
    log = foreign_eval(samples, twice(), rubric_judge(), tmp_path)
    scores = scores_of(log)
    assert set(scores) == {"bare", "none"}
    assert scores["bare"].value == "C"
    assert (scores["bare"].metadata or {})["rubrics_met"] == 1
    # All calls that led to the answer, not only the last one.
    usage = (scores["bare"].metadata or {})["answer_usage"]["mockllm/student"]
    assert usage["output_tokens"] == 2 * STUDENT_USAGE.output_tokens
    errors = {sample.id: sample.error.message for sample in log.samples or [] if sample.error}
    for id in ("odd", "without"):
        assert f'sample {id}: metadata["rubrics"] must be a list of texts.' in errors[id]
    assert metrics_of(log)["solving_rate"] == 1.0
    assert "Finance" not in metrics_of(log)


def test_the_default_judge_is_gpt_5_1_at_the_authors_effort(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def script(call: Call) -> Reply:
        return Reply("Answer.") if call.model == "student" else Reply(f"```json\n{GOOD}```")

    server = serve(script)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "loop-key")
    life = next(iter(CLBENCH_LIFE.categories))
    samples = [
        Sample(id=category, input="Go.", metadata={"rubrics": ["a"] * 3, "context_category": category})
        for category in ("Rule System Application", life)
    ]
    (log,) = eval(
        Task(dataset=samples, scorer=rubric_judge()), model="openai-api/loop/student", max_samples=1,
        log_dir=str(tmp_path), display="none",
    )  # fmt: skip
    assert metrics_of(log)["solving_rate"] == 1.0
    assert len(server.calls_of("student")) == 2  # the model under test never judges by accident
    calls = server.calls_of("gpt-5.1")
    assert [call.body["reasoning"]["effort"] for call in calls] == ["low", "high"]
    assert [metadata_of(log, sample.id)["judge_effort"] for sample in samples if isinstance(sample.id, str)] == ["low", "high"]  # fmt: skip
    for call in calls:
        assert call.path.endswith("/responses")
        assert [message["role"] for message in call.messages] == ["user"]
        assert not {"max_output_tokens", "temperature"} & call.body.keys()
    assert (log.stats.role_usage or {})["grader"].output_tokens > 0


PANEL = {  # what three judges say of an answer, and what is decided
    "all": (GOOD, GOOD, GOOD, "C", None, "yyy"),
    "majority": (GOOD, BAD, GOOD, "C", None, "yyy"),
    "minority": (BAD, GOOD, BAD, "I", None, "yny"),
    "one-fails": (GOOD, "Hm.", GOOD, "C", None, "yyy"),
    "fail-tips-it": (GOOD, "Hm.", BAD, "I", "grader_failed", "yny"),
    "fail-without-effect": (BAD, "Hm.", BAD, "I", None, "yny"),
    "all-fail": ("Hm.", "Hm.", "Hm.", "I", "grader_failed", ""),
}


def panel_script(call: Call) -> Reply:
    if call.model == "student":
        return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
    task = call.prompt.partition("Answer to ")[2].split("\n")[0]
    return Reply(PANEL[task][int(call.model[-1]) - 1] if task else "ready")


def test_a_panel_decides_by_strict_majority_and_keeps_every_vote(serve: Serve, tmp_path: Path) -> None:
    serve(panel_script)
    judges = [f"openai-api/loop/judge{number}" for number in (1, 2, 3)]
    dataset = write_rows(tmp_path / "rows.jsonl", [row(task) for task in PANEL])
    log = run_eval(dataset, tmp_path, model_roles={"grader": judges})
    scores = scores_of(log)
    for task, (*_, value, reason, status) in PANEL.items():
        found = (scores[task].value, scores[task].reason, (scores[task].metadata or {})["status"])
        assert found == (value, reason, status), task
    metadata = metadata_of(log, "one-fails")
    assert metadata["judge"] == ", ".join(judges)
    assert metadata["votes"] == [
        {"solved": True, "status": "yyy"}, {"solved": None, "status": ""}, {"solved": True, "status": "yyy"},
    ]  # fmt: skip
    assert (metadata["judge_attempts"], metadata["judge_error"]) == (3, "no_verdict: Hm.")
    assert metadata["rationales"] == ["All met.", "", "All met."]
    assert list(metadata["judge_usage"]) == judges
    for words in ("judge1", "judge2", "All met", "No verdict"):
        assert words in (scores["one-fails"].explanation or "")
    assert metrics_of(log)["judge_failures"] == 2
    # A tie counts against the answer, and is no failure of the judges.
    log = run_eval(dataset, tmp_path, model_roles={"grader": judges[:2]}, sample_id="majority")
    assert (scores_of(log)["majority"].value, scores_of(log)["majority"].reason) == ("I", None)


def test_votes_of_five_judges_on_114_rubrics_stay_in_the_summaries(tmp_path: Path) -> None:
    rows = [row("t", rubrics=[f"Rubric {number}." for number in range(114)])]
    judges = [f"a-judge-with-a-name-of-many-words-{number}" for number in range(5)]
    log = scripted_eval(tmp_path, rows, {"t": ["yn" * 57]}, judge=judges)
    (summary,) = read_eval_log_sample_summaries(log.location)
    votes = ((summary.scores or {})["rubric_judge"].metadata or {})["votes"]
    assert votes == [{"solved": False, "status": "yn" * 57}] * 5


TOOL_CALLS = [{"id": "call_1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
ANSWERS = {  # what the model gives, its value and reason, and the answer's stop reason
    "fine": (Reply("An answer."), "C", None, "stop"),
    "cut": (Reply("Half an ans", finish_reason="length"), "C", None, "max_tokens"),
    "empty": (Reply(""), "I", "no_response", "stop"),
    "null": (Reply(None), "I", "no_response", "stop"),
    "think-only": (Reply("<think>All I do is think.</think>"), "I", "no_response", "stop"),
    "think-cut": (Reply("", "length", reasoning="Let me see"), "I", "no_response", "max_tokens"),
    "filter": (Reply("", finish_reason="content_filter"), "I", "no_response", "content_filter"),
    "call": (Reply(None, "tool_calls", message={"tool_calls": TOOL_CALLS}), "I", "no_response", "tool_calls"),
    "call-text": (Reply("An answer.", message={"tool_calls": TOOL_CALLS}), "C", None, "stop"),
    # What a provider says when it turns the request down is no answer.
    "long": (Reply(status=400, code="context_length_exceeded", error=GOOD), "I", "no_response", "model_length"),
    "banned": (Reply(status=400, code="content_filter", error=GOOD), "I", "no_response", "content_filter"),
    "invalid": (Reply(status=400, code="invalid_prompt", error=GOOD), "I", "no_response", "content_filter"),
}  # fmt: skip


def test_odd_answers(serve: Serve, tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        return Reply(GOOD) if call.model == "judge" else ANSWERS[call.prompt.rsplit("TASK=", 1)[-1]][0]

    server = serve(script)
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row(task) for task in ANSWERS]), tmp_path)
    scores = scores_of(log)
    for task, (_, value, reason, stop_reason) in ANSWERS.items():
        judged = scores[task]
        assert (judged.value, judged.reason, (judged.metadata or {})["stop_reason"]) == (value, reason, stop_reason), task  # fmt: skip
    assert len(server.calls_of("student")) == len(ANSWERS)
    assert metrics_of(log)["cut_off_answers"] == 3


DOLLAR = ModelCost(input=10_000, output=0, input_cache_write=0, input_cache_read=0)


def priced(name: str, text: str) -> Model:
    """A model that takes 100 tokens, a dollar, for each request."""
    usage = ModelUsage(input_tokens=100, total_tokens=100)
    return get_model(
        f"mockllm/{name}", custom_outputs=lambda *_: output(text, usage.model_copy()), memoize=False
    )


def test_the_cost_is_that_of_the_answer_and_of_all_verdicts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", [row("t"), row("u")])
    models: dict[str, Any] = {"model": priced("gpt-4o", "An answer."), "display": "none"}
    judges = [priced("gpt-4o-mini", GOOD), priced("gpt-4.1", "Hm.")]
    prices = {"mockllm/gpt-4o": DOLLAR, "mockllm/gpt-4o-mini": DOLLAR, "mockllm/gpt-4.1": DOLLAR}
    log = run_eval(dataset, tmp_path, **models, model_roles={"grader": judges}, model_cost_config=prices)
    for task in ("t", "u"):  # one answer, one verdict, and three asks in vain
        assert metadata_of(log, task)["cost"] == pytest.approx(5)
    again = score(log, rubric_judge(), model_roles={"grader": judges[:1]}, action="append", display="none")
    assert metadata_of(again, "t", "rubric_judge1")["cost"] == pytest.approx(2)
    roles: dict[str, str | Model] = {"grader": priced("without-a-price", GOOD)}
    unknown = score(log, rubric_judge(), model_roles=roles, action="append", display="none")
    assert metadata_of(unknown, "t", "rubric_judge1")["cost"] is None


def test_what_comes_from_a_cache_is_not_paid_again(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    server = serve(lambda call: Reply(GOOD if call.model == "judge" else "An answer."))
    dataset = write_rows(tmp_path / "rows.jsonl", [row("t")])
    first, second = (run_eval(dataset, tmp_path, cache=True) for _ in range(2))
    assert len(server.calls_of("student")) == 1
    assert metadata_of(first, "t")["answer_usage"]["openai-api/loop/student"]["total_tokens"] > 0
    assert metadata_of(second, "t")["answer_usage"] == {}


def test_the_viewer_opens_the_score_beside_the_answer(log: EvalLog) -> None:
    for sample in log.samples or []:
        for judged in (sample.scores or {}).values():
            (reference,) = (judged.metadata or {})["scanner_references"]
            assert reference["id"] == sample.output.message.id
            assert reference["cite"] == f"[M{len(sample.messages)}]"
    assert "scanner_result_view" in json.dumps(log.eval.model_dump(mode="json", fallback=str))


def test_a_judges_own_settings_are_kept(serve: Serve, tmp_path: Path) -> None:
    server = serve(lambda call: Reply(GOOD if call.model == "judge" else "An answer."))
    config = GenerateConfig(reasoning_effort="high", temperature=0.5)
    judge = get_model("openai-api/loop/judge", config=config, memoize=False)
    dataset = write_rows(tmp_path / "rows.jsonl", [row("t")])
    log = run_eval(dataset, tmp_path, model_roles={"grader": judge})
    assert metadata_of(log, "t")["judge_effort"] == "high"
    assert server.calls_of("judge")[-1].body["temperature"] == 0.5
