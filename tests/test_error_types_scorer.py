"""The scorer of error types: what it sends, what it leaves out, what it writes down."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score, task_with
from inspect_ai.log import EvalLog
from inspect_ai.model import ChatMessageAssistant

from inspect_clbench import ClbenchError, clbench, error_types, rubric_judge
from inspect_clbench.judge.error_types import label_prompt
from tests.support.builders import row, verdict, write_rows
from tests.support.error_types import Labeller, labels_reply, metrics, values
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, tasks

IGNORED = labels_reply(context_ignored=[2])
PLAN = {
    "a": ["yyy", "yny"],
    "b": ["nyn", "yyy"],
    "c": [EMPTY, "yyn"],
    "d": [GARBLED, "nnn"],
    "e": [ERROR, "yy?"],
}


def labelled(log: EvalLog, says: Callable[[str], str] | str, **options: Any) -> EvalLog:
    """The log with error types appended."""
    judge = Labeller(says if callable(says) else lambda _: str(says))
    return score(
        log,
        error_types(**options),
        model_roles={"grader": judge.model()},
        action="append",
        display="none",
    )


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    folder = tmp_path_factory.mktemp("runs")
    return make_log(folder, tasks(*PLAN), PLAN)


def test_only_failed_answers_with_text_and_verdict_are_sent(log: EvalLog) -> None:
    judge = Labeller(lambda _: IGNORED)
    done = score(
        log, error_types(), model_roles={"grader": judge.model()}, action="append", display="none"
    )  # fmt: skip
    assert values(done) == {
        ("a", 1): "solved",
        ("a", 2): "context_ignored",
        ("b", 1): "context_ignored",
        ("b", 2): "solved",
        ("c", 1): "empty_answer",
        ("c", 2): "context_ignored",
        ("d", 1): "no_verdict",
        ("d", 2): "context_ignored",
        ("e", 1): "not_run",
        ("e", 2): "context_ignored",
    }
    assert len(judge.prompts) == 5
    assert metrics(done) == {
        "context_ignored": 1.0,
        "context_misused": 0.0,
        "format_error": 0.0,
        "refusal": 0.0,
        "labelled_share": 1.0,
        "failed": 6,
        "labelled": 5,
        "unlabelled": 0,
        "not_drawn": 0,
        "empty_answers": 1,
    }
    # what was there stays as it was
    before = [
        s for s in (log.results.scores if log.results else []) if s.name == "rubric_judge"
    ]
    after = [
        s for s in (done.results.scores if done.results else []) if s.name == "rubric_judge"
    ]
    assert before == after


def test_the_judge_gets_conversation_rubrics_rationale_and_answer(log: EvalLog) -> None:
    judge = Labeller(lambda _: IGNORED)
    score(log, error_types(), model_roles={"grader": judge.model()}, action="append", display="none")  # fmt: skip
    (prompt,) = (p for p in judge.prompts if "Answer to b." in p)
    assert "[system]\nLearn from the context." in prompt
    assert "TASK=b" in prompt
    assert "1. Says one.\n3. Says three.\n=== END MISSED" in prompt
    assert "2. Says two." not in prompt
    assert "Checked line by line." in prompt
    assert prompt.count("Answer to b.") == 1, "the answer is not part of the conversation"


def test_rates_are_over_answers_not_over_tasks(log: EvalLog) -> None:
    def says(prompt: str) -> str:
        if "Answer to a." in prompt:
            return labels_reply(refusal=[2], format_error=[2])
        return labels_reply(refusal=[1]) if "Answer to b." in prompt else labels_reply()

    found = metrics(labelled(log, says))
    # a and b failed once each, as did c, d and e: five failed answers
    assert found["refusal"] == pytest.approx(2 / 5)
    assert found["format_error"] == pytest.approx(1 / 5)
    assert found["context_ignored"] == 0.0


def test_details_stand_in_the_metadata_and_point_at_the_answer(log: EvalLog) -> None:
    done = labelled(log, labels_reply(context_ignored=[1, 9], refusal=[3]))
    (sample,) = (s for s in done.samples or [] if (s.id, s.epoch) == ("b", 1))
    found = (sample.scores or {})["error_types"]
    metadata = found.metadata or {}
    assert found.value == "context_ignored+refusal"
    assert metadata["labels"]["context_ignored"] == {
        "present": True, "reason": "Why context_ignored.", "rubrics": [1],
    }  # fmt: skip
    assert metadata["labels"]["format_error"]["present"] is False
    assert metadata["judge_prompt"] == "error_types-1"
    assert metadata["judge_prompt_sha256"] == label_prompt().sha256
    assert (metadata["judge"], metadata["epoch"]) == ("mockllm/labeller", 1)
    assert metadata["rubrics_missed"] == [1, 3]
    answer = sample.messages[-1]
    assert isinstance(answer, ChatMessageAssistant)
    assert metadata["scanner_references"][0]["id"] == answer.id
    explanation = found.explanation or ""
    assert explanation.startswith("**Context Ignored, Refusal**")
    assert "**Refusal** (rubric 3): Why refusal" in explanation


def test_an_unusable_reply_leaves_the_answer_unlabelled_and_counted(log: EvalLog) -> None:
    calls: dict[str, int] = {}

    def says(prompt: str) -> str:
        calls[prompt] = calls.get(prompt, 0) + 1
        if "Answer to b." in prompt:
            return "Refusal, I think."
        return IGNORED if calls[prompt] == 2 or "Answer to a." in prompt else "Hm."

    done = labelled(log, says, attempts=2)
    assert values(done)["b", 1] == "unlabelled"
    assert set(calls.values()) == {1, 2}
    found = metrics(done)
    assert (found["labelled"], found["unlabelled"], found["refusal"]) == (4, 1, 0.0)
    assert found["labelled_share"] == pytest.approx(4 / 5)
    (sample,) = (s for s in done.samples or [] if (s.id, s.epoch) == ("b", 1))
    unlabelled = (sample.scores or {})["error_types"]
    assert unlabelled.reason == "grader_failed"
    assert (unlabelled.metadata or {})["judge_error"].startswith("no_labels: Refusal")
    assert (unlabelled.metadata or {})["judge_attempts"] == 2


def test_of_several_graders_the_first_is_asked_and_that_is_said(
    log: EvalLog, caplog: pytest.LogCaptureFixture
) -> None:
    first, second = Labeller(lambda _: IGNORED, "one"), Labeller(lambda _: IGNORED, "two")
    roles = {"grader": [first.model(), second.model()]}
    done = score(log, error_types(), model_roles=roles, action="append", display="none")
    assert (len(first.prompts), len(second.prompts)) == (5, 0)
    assert caplog.text.count("the first of the 2 bound to the role grader") == 1
    (sample,) = (s for s in done.samples or [] if (s.id, s.epoch) == ("b", 1))
    assert "the first of 2 judges" in ((sample.scores or {})["error_types"].explanation or "")


def test_without_the_rubric_judges_score_it_says_what_to_do(log: EvalLog) -> None:
    judge = Labeller(lambda _: IGNORED)
    with pytest.raises(ClbenchError, match="--action append"):
        score(
            log, error_types(), model_roles={"grader": judge.model()},
            action="overwrite", display="none",
        )  # fmt: skip
    assert not judge.prompts


@pytest.mark.parametrize(
    "options", [{"max_failures": 0}, {"max_failures": "5"}, {"attempts": 0}]
)
def test_bad_parameters_are_refused(options: Any) -> None:
    with pytest.raises(ClbenchError, match=next(iter(options))):
        error_types(**options)


def test_it_can_be_listed_in_a_task_after_the_rubric_judge(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def says(prompt: str) -> str:
        if not prompt.startswith(label_prompt().template[:40]):
            return verdict(0, ["no", "yes", "yes"])
        return IGNORED if "TASK=t07" in prompt else "Hm."

    judge, student = Labeller(says), Labeller(lambda _: "An answer.", "student")
    dataset = write_rows(tmp_path / "rows.jsonl", [row(f"t{i:02}") for i in range(10)])
    (done,) = eval(
        task_with(clbench(dataset=dataset), scorer=[rubric_judge(), error_types()]),
        model=student.model(),
        model_roles={"grader": judge.model()},
        log_dir=str(tmp_path),
        display="none",
    )
    assert done.status == "success", done.error
    assert metrics(done)["labelled_share"] == pytest.approx(1 / 10)
    assert metrics(done, "rubric_judge")["judge_failures"] == 0
    assert "JUDGE FAILURES" not in caplog.text, "no labels are not the same as no verdict"


def test_a_second_judges_labels_stand_beside_the_first(log: EvalLog) -> None:
    twice = labelled(labelled(log, IGNORED), labels_reply(refusal=[1]))
    assert metrics(twice)["context_ignored"] == 1.0
    assert metrics(twice, "error_types1")["refusal"] == 1.0
    assert values(twice, "error_types1")["e", 1] == "not_run"
