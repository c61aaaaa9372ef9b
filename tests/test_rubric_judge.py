"""The scorer in whole evals: who judges, what a score says, and what answers cost."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task, eval, score
from inspect_ai.dataset import Sample
from inspect_ai.log import EvalLog, read_eval_log, read_eval_log_sample_summaries
from inspect_ai.model import ChatMessageUser, GenerateConfig, Model, ModelCost, ModelUsage, get_model
from inspect_ai.scorer import Score, match
from inspect_ai.solver import Generate, Solver, TaskState, solver

from inspect_clbench.benchmarks import CLBENCH_LIFE
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.prompt import load_judge_prompt
from inspect_clbench.results.answers import answers_df
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.scoring.scores import is_in_share
from tests.support.builders import metrics_of, row, run_eval, verdict, write_rows
from tests.support.logs import make_log
from tests.support.scripted import (
    JUDGE_USAGE,
    STUDENT_USAGE,
    scripted_eval,
    scripted_judge,
    scripted_output,
    tasks,
)
from tests.support.server import Call, Reply, Serve

GOOD = verdict(1, ["yes"] * 3, "All met.")
BAD = verdict(0, ["yes", "no", "yes"], "Two is missing.")


def scores_of(log: EvalLog, name: str = "rubric_judge") -> dict[str, Score]:
    assert log.error is None, log.error
    return {str(s.id): s.scores[name] for s in log.samples or [] if s.scores and name in s.scores}


def metadata_of(log: EvalLog, task: str, name: str = "rubric_judge") -> dict[str, Any]:
    return scores_of(log, name)[task].metadata or {}


def judged_again(log: EvalLog, judge: Model, **options: Any) -> EvalLog:
    """The log with the scores of a second judge appended."""
    roles: dict[str, str | Model] = {"grader": judge}
    return score(log, rubric_judge(**options), model_roles=roles, action="append", display="none")


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
    sample = next(sample for sample in log.samples or [] if sample.id == task)
    (reference,) = metadata.pop("scanner_references")  # the viewer opens the score beside the answer
    assert (reference["id"], reference["cite"]) == (sample.output.message.id, f"[M{len(sample.messages)}]")
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
    assert "scanner_result_view" in json.dumps(log.eval.model_dump(mode="json", fallback=str))


def test_a_share_of_the_answers_is_scored(tmp_path: Path) -> None:
    plan = {f"t{i}": ["yyy", "nnn"] for i in range(10)}
    log = read_eval_log(make_log(tmp_path, tasks(*plan), plan))
    again = judged_again(log, scripted_judge("second"), share=0.3)
    for sample in again.samples or []:
        second = (sample.scores or {}).get("rubric_judge1")
        assert (second is not None) is is_in_share(0.3, sample.id, sample.epoch)
        if second:
            assert (second.metadata or {})["share"] == 0.3
            assert second.value == (sample.scores or {})["rubric_judge"].value
    assert again.results
    number = sum(is_in_share(0.3, task, epoch) for task in plan for epoch in (1, 2))
    assert again.results.scores[-1].scored_samples == number > 0

    # Which ones, is a matter of id and epoch.
    answers = [(f"task-{i}", epoch) for i in range(2_000) for epoch in (1, 2)]
    tenth, third = ({a for a in answers if is_in_share(share, *a)} for share in (0.1, 0.33))
    assert tenth < third  # a larger share holds a smaller one
    assert abs(len(tenth) / 4_000 - 0.1) < 0.02
    assert {id for id, epoch in tenth if epoch == 1} != {id for id, epoch in tenth if epoch == 2}
    assert all(is_in_share(1.0, *answer) for answer in answers)
    for share in (0, 1.1, float("nan"), "much"):
        with pytest.raises(ClbenchError, match=f"share={share}: give the share"):
            rubric_judge(share=share)  # type: ignore[arg-type]


@solver
def twice() -> Solver:
    async def solve(state: TaskState, generate: Generate) -> TaskState:
        await get_model().generate([ChatMessageUser(content="Plan.")])
        return await generate(state)

    return solve


def test_any_task_with_rubrics_can_use_it(tmp_path: Path) -> None:
    rubrics: dict[str, Any] = {
        "bare": ["Says one."],
        "none": [],
        "odd": [{"text": "Says one."}],
        "without": None,
    }
    samples = [Sample(id=id, input="Say one.", metadata={"rubrics": texts}) for id, texts in rubrics.items()]
    answer = scripted_output("student", "Answer to t.\nSTATUS=y", STUDENT_USAGE)
    (log,) = eval(
        Task(
            dataset=samples, solver=twice(), scorer=[match(), rubric_judge()], name="foreign", version="7-A"
        ),
        model=get_model("mockllm/student", custom_outputs=lambda *_: answer.model_copy(), memoize=False),
        model_roles={"grader": scripted_judge()},
        log_dir=str(tmp_path),
        continue_on_fail=True,
    )
    scores = scores_of(log)
    assert set(scores) == {"bare", "none"}
    assert scores["bare"].value == "C"
    assert metadata_of(log, "bare")["rubrics_met"] == 1
    # All calls that led to the answer, not only the last one.
    usage = metadata_of(log, "bare")["answer_usage"]["mockllm/student"]
    assert usage["output_tokens"] == 2 * STUDENT_USAGE.output_tokens
    errors = {sample.id: sample.error.message for sample in log.samples or [] if sample.error}
    for id in ("odd", "without"):
        assert f'sample {id}: metadata["rubrics"] must be a list of texts.' in errors[id]
    answers = answers_df(log.location).set_index("id")  # a log counts by its scorer
    assert answers["solved"].dropna().to_dict() == {"bare": 1, "none": 1}
    assert (set(answers["category"]), set(answers["version"])) == ({""}, {"2 (task 7-A)"})


def test_the_default_judge_is_gpt_5_1(serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    server = serve(lambda call: Reply("Answer." if call.model == "student" else GOOD))
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "loop-key")
    categories = ["Rule System Application", next(iter(CLBENCH_LIFE.categories))]
    samples = [
        Sample(id=name, input="Go.", metadata={"rubrics": ["a"] * 3, "context_category": name})
        for name in categories
    ]
    task = Task(dataset=samples, scorer=rubric_judge())
    (log,) = eval(task, model="openai-api/loop/student", max_samples=1, log_dir=str(tmp_path))
    assert metrics_of(log)["solving_rate"] == 1.0
    assert len(server.calls_of("student")) == 2  # the model under test never judges by accident
    calls = server.calls_of("gpt-5.1")
    assert [call.body["reasoning"]["effort"] for call in calls] == ["low", "high"]
    assert [metadata_of(log, name)["judge_effort"] for name in categories] == ["low", "high"]
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


def test_a_panel_decides_by_strict_majority_and_keeps_every_vote(serve: Serve, tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"Answer to {call.prompt.rsplit('TASK=', 1)[-1]}")
        task = call.prompt.partition("Answer to ")[2].split("\n")[0]
        return Reply(PANEL[task][int(call.model[-1]) - 1] if task else "ready")

    serve(script)
    judges = [f"openai-api/loop/judge{number}" for number in (1, 2, 3)]
    dataset = write_rows(tmp_path / "rows.jsonl", [row(task) for task in PANEL])
    log = run_eval(dataset, tmp_path, model_roles={"grader": judges})
    scores = scores_of(log)
    for task, (*_, value, reason, status) in PANEL.items():
        decision = (scores[task].value, scores[task].reason, metadata_of(log, task)["status"])
        assert decision == (value, reason, status), task
    metadata, vote = metadata_of(log, "one-fails"), {"solved": True, "status": "yyy"}
    assert metadata["judge"] == ", ".join(judges)
    assert metadata["votes"] == [vote, {"solved": None, "status": ""}, vote]
    assert (metadata["judge_attempts"], metadata["judge_error"]) == (3, "no_verdict: Hm.")
    assert metadata["rationales"] == ["All met.", "", "All met."]
    assert list(metadata["judge_usage"]) == judges
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
    "think-only": (Reply("<think>All I do is think.</think>"), "I", "no_response", "stop"),
    "think-cut": (Reply("", "length", message={"reasoning_content": "Let me see"}), "I", "no_response", "max_tokens"),
    "filter": (Reply("", finish_reason="content_filter"), "I", "no_response", "content_filter"),
    "call": (Reply(None, "tool_calls", message={"tool_calls": TOOL_CALLS}), "I", "no_response", "tool_calls"),
    # What a provider says when it turns the request down is no answer.
    "long": (Reply(status=400, code="context_length_exceeded", error=GOOD), "I", "no_response", "model_length"),
    "banned": (Reply(status=400, code="content_filter", error=GOOD), "I", "no_response", "content_filter"),
}  # fmt: skip


def test_odd_answers(serve: Serve, tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        return Reply(GOOD) if call.model == "judge" else ANSWERS[call.prompt.rsplit("TASK=", 1)[-1]][0]

    server = serve(script)
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row(task) for task in ANSWERS]), tmp_path)
    for task, (_, *expected) in ANSWERS.items():
        judged = scores_of(log)[task]
        assert [judged.value, judged.reason, (judged.metadata or {})["stop_reason"]] == expected, task
    assert len(server.calls_of("student")) == len(ANSWERS)
    assert metrics_of(log)["cut_off_answers"] == 3


DOLLAR = ModelCost(input=10_000, output=0, input_cache_write=0, input_cache_read=0)


def priced(name: str, text: str) -> Model:
    """A model that takes 100 tokens, a dollar, for each request."""
    usage = ModelUsage(input_tokens=100, total_tokens=100)
    return get_model(
        f"mockllm/{name}",
        custom_outputs=lambda *_: scripted_output(name, text, usage.model_copy()),
        memoize=False,
    )


def test_the_cost_is_that_of_the_answer_and_of_all_verdicts(tmp_path: Path) -> None:
    dataset = write_rows(tmp_path / "rows.jsonl", [row("t"), row("u")])
    judges = [priced("gpt-4o-mini", GOOD), priced("gpt-4.1", "Hm.")]
    models: dict[str, Any] = {"model": priced("gpt-4o", "An answer."), "model_roles": {"grader": judges}}
    prices = {f"mockllm/{name}": DOLLAR for name in ("gpt-4o", "gpt-4o-mini", "gpt-4.1")}
    log = run_eval(dataset, tmp_path, **models, model_cost_config=prices)
    for task in ("t", "u"):  # one answer, one verdict, and three asks in vain
        assert metadata_of(log, task)["cost"] == pytest.approx(5)
    for judge, cost in ((judges[0], 2), (priced("without-a-price", GOOD), None)):
        again = judged_again(log, judge)
        assert metadata_of(again, "t", "rubric_judge1")["cost"] == (cost and pytest.approx(cost))


def test_cached_answers_cost_nothing_and_judges_keep_settings(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    server = serve(lambda call: Reply(GOOD if call.model == "judge" else "An answer."))
    dataset = write_rows(tmp_path / "rows.jsonl", [row("t")])
    config = GenerateConfig(reasoning_effort="high", temperature=0.5)
    roles = {"grader": get_model("openai-api/loop/judge", config=config, memoize=False)}
    first, second = (run_eval(dataset, tmp_path, model_roles=roles, cache=True) for _ in range(2))
    assert len(server.calls_of("student")) == 1
    assert metadata_of(first, "t")["answer_usage"]["openai-api/loop/student"]["total_tokens"] > 0
    assert metadata_of(second, "t")["answer_usage"] == {}
    assert metadata_of(first, "t")["judge_effort"] == "high"
    assert server.calls_of("judge")[-1].body["temperature"] == 0.5
