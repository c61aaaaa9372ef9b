"""Error types: what the judge is asked, how its reply is read, what the scorer writes down."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score, task_with
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import Model, ModelCost, ModelOutput, get_model
from inspect_ai.scorer import Score
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.benchmarks import ERROR_TYPES
from inspect_clbench.error_types.metrics import error_type_rates
from inspect_clbench.error_types.prompt import (
    FailedAnswer,
    load_label_prompt,
    parse_labels,
    types_of,
    value_of,
)
from inspect_clbench.error_types.scorer import error_types
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.verdict import Failure
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.tasks import clbench
from tests.support.builders import row, verdict, write_rows
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, JUDGE_USAGE, PROBE, tasks


def labels_reply(**rubrics: Sequence[int]) -> str:
    """A reply as the contract asks for it: the types that apply, with their rubrics."""
    labels = {
        key: {"present": "yes" if key in rubrics else "no", "reason": f"On {key}.", "rubrics": list(rubrics.get(key, ()))}
        for key in ERROR_TYPES
    }  # fmt: skip
    return json.dumps(labels)


BOTH = labels_reply(context_ignored=[2], format_error=[1, 3])
IGNORED = labels_reply(context_ignored=[2])


# The prompt and its reply.

FAILED = FailedAnswer(
    conversation=[("system", "Be brief."), ("user", "Rules… {answer}"), ("assistant", "Yes.")],
    rubrics=[(1, "Says one."), (2, "Says {rationale}."), (4, "Says four.")],
    status="yn?",
    rationale="Rubric 2 is missing.",
    answer="One. {conversation}",
)


def test_the_prompt_holds_everything_literally_and_once() -> None:
    text = load_label_prompt().render(FAILED)
    assert "[system]\nBe brief.\n\n[user]\nRules… {answer}\n\n[assistant]\nYes.\n===" in text
    assert "=== BEGIN MISSED RUBRICS ===\n2. Says {rationale}.\n4. Says four.\n===" in text
    assert "Says one" not in text
    assert text.count("Rubric 2 is missing.") == 1
    assert "=== BEGIN ANSWER ===\nOne. {conversation}\n=== END ANSWER ===" in text
    assert all(f'"{key}":' in text for key in ERROR_TYPES)


@pytest.mark.parametrize("status", ["", "yy", "yyy"])
def test_where_nobody_said_which_rubrics_were_missed_all_are_shown(status: str) -> None:
    text = load_label_prompt().render(FailedAnswer(FAILED.conversation, FAILED.rubrics, status, "", "One."))
    assert "did not say which rubrics were missed" in text
    assert "1. Says one.\n2. Says {rationale}.\n4. Says four." in text
    assert "(none given)" in text


def test_another_wording_needs_another_version() -> None:
    prompt = load_label_prompt()
    hashes = {"error_types-1": "7e0ed696ff5e84101d306e85275f207effd55f06ee6b0951fac61d06b58badb3"}
    assert hashes[prompt.name] == prompt.sha256, "labels of two wordings are not comparable"


def changed(key: str, entry: Any) -> str:
    return json.dumps({**json.loads(BOTH), key: entry})


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (BOTH, "context_ignored+format_error"),
        (f"```json\n{BOTH}\n```", "context_ignored+format_error"),
        (labels_reply(refusal=[1], context_ignored=[2]), "context_ignored+refusal"),
        (labels_reply(), "none"),
        (changed("refusal", {"present": True}), "context_ignored+format_error+refusal"),
        (changed("refusal", {"present": " No "}), "context_ignored+format_error"),
        (
            changed("refusal", {"present": "no", "reason": [1], "rubrics": "1 and 2"}),
            "context_ignored+format_error",
        ),
    ],
)
def test_a_reply_is_read(reply: str, value: str) -> None:
    labels = parse_labels(reply, False)
    assert not isinstance(labels, Failure)
    assert value_of(labels) == value
    assert types_of(value) == [key for key in ERROR_TYPES if labels[key].present]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("  \n", "empty_reply"),
        ("It ignored the context.", "no_labels"),
        (f"I looked at them.\n{BOTH}\n", "no_labels"),
        (json.dumps({"labels": json.loads(BOTH)}), "no_labels"),
        (json.dumps({"context_ignored": {"present": "yes"}}), "no_labels"),
        (changed("refusal", {"present": "perhaps"}), "bad_label"),
        (changed("refusal", {"present": ["yes"]}), "bad_label"),
        (changed("refusal", {"present": 1}), "bad_label"),
        (changed("refusal", {"reason": "I wonder."}), "bad_label"),
        (changed("refusal", "yes"), "bad_label"),
        (changed("refusal", [[None]]), "bad_label"),
    ],
)
def test_what_cannot_be_read_is_a_failure_and_no_guess(reply: str, reason: str) -> None:
    failure = parse_labels(reply, False)
    assert isinstance(failure, Failure)
    assert failure.reason == reason


# The scorer.

PLAN = {
    "a": ["yyy", "yny"],
    "b": ["nyn", "yyy"],
    "c": [EMPTY, "yyn"],
    "d": [GARBLED, "nnn"],
    "e": [ERROR, "yy?"],
}


class Labeller:
    """A judge whose replies depend on the prompt; it remembers what it was sent."""

    def __init__(self, reply: Callable[[str], str] | str, name: str = "labeller") -> None:
        self.reply, self.name = reply, name
        self.prompts: list[str] = []

    def model(self) -> Model:
        def output(input: Sequence[Any], *_: Any) -> ModelOutput:
            prompt = input[-1].text
            if prompt != PROBE:
                self.prompts.append(prompt)
            text = self.reply if isinstance(self.reply, str) else self.reply(prompt)
            output = ModelOutput.from_content(f"mockllm/{self.name}", text)
            output.usage = JUDGE_USAGE.model_copy()  # Inspect notes the price in it
            return output

        return get_model(f"mockllm/{self.name}", custom_outputs=output, memoize=False)

    def labelled(self, log: EvalLog, action: Any = "append", **options: Any) -> EvalLog:
        """The log with error types appended."""
        roles: Any = {"grader": self.model()}
        return score(log, error_types(**options), model_roles=roles, action=action, display="none")


def score_of(log: EvalLog, task: str, epoch: int, scorer: str = "error_types") -> Score:
    (sample,) = (sample for sample in log.samples or [] if (sample.id, sample.epoch) == (task, epoch))
    return (sample.scores or {})[scorer]


def values(log: EvalLog, scorer: str = "error_types") -> dict[tuple[str | int, int], Any]:
    """The value of each task and epoch that has a score."""
    return {
        (sample.id, sample.epoch): sample.scores[scorer].value
        for sample in log.samples or []
        if sample.scores and scorer in sample.scores
    }


def metrics(log: EvalLog, scorer: str = "error_types") -> dict[str, float]:
    assert log.results is not None, log.error
    (result,) = (result for result in log.results.scores if result.name == scorer)
    return {name: metric.value for name, metric in result.metrics.items()}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return read_eval_log(make_log(tmp_path_factory.mktemp("logs"), tasks(*PLAN), PLAN))


def test_only_failed_answers_with_text_and_verdict_are_sent(log: EvalLog) -> None:
    judge = Labeller(IGNORED)
    labelled = judge.labelled(log)
    assert values(labelled) == {
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
    assert metrics(labelled) == {
        "context_ignored": 1.0,
        "context_misused": 0.0,
        "format_error": 0.0,
        "refusal": 0.0,
        "labelled": 5,
        "unlabelled": 0,
        "empty_answer": 1,
        "no_verdict": 1,
    }
    assert values(labelled, "rubric_judge") == values(log, "rubric_judge"), "what was there stays"
    (prompt,) = (prompt for prompt in judge.prompts if "Answer to b." in prompt)
    assert "[system]\nLearn from the context." in prompt
    assert "1. Says one.\n3. Says three.\n=== END MISSED" in prompt
    assert "Checked line by line." in prompt
    assert prompt.count("Answer to b.") == 1, "the answer is not part of the conversation"


def test_a_score_says_who_labelled_what_and_why(log: EvalLog) -> None:
    labelled = Labeller(labels_reply(context_ignored=[1], refusal=[3])).labelled(log)
    label = score_of(labelled, "b", 1)
    metadata = label.metadata or {}
    assert label.value == "context_ignored+refusal"
    assert metadata["labels"]["context_ignored"] == {
        "present": True,
        "reason": "On context_ignored.",
        "rubrics": [1],
    }
    assert metadata["labels"]["format_error"]["present"] is False
    assert (metadata["judge"], metadata["rubric_judge"]) == ("mockllm/labeller", "mockllm/judge")
    assert (metadata["judge_prompt"], metadata["judge_prompt_sha256"]) == (
        "error_types-1",
        load_label_prompt().sha256,
    )
    assert (metadata["epoch"], metadata["judge_attempts"], metadata["rubrics_missed"]) == (1, 1, [1, 3])
    assert metadata["judge_usage"] == {"mockllm/labeller": JUDGE_USAGE.model_dump(exclude_none=True)}
    (reference,) = metadata["scanner_references"]
    assert (
        reference["id"] == next(s for s in log.samples or [] if (s.id, s.epoch) == ("b", 1)).messages[-1].id
    )
    assert (label.explanation or "").startswith("**Context Ignored, Refusal** · the answer is [M3]")
    assert "**Refusal** (rubrics 3): On refusal" in (label.explanation or "")


def test_a_reply_without_labels_leaves_the_answer_unlabelled_and_counted(log: EvalLog) -> None:
    judge = Labeller(lambda prompt: "Refusal, I think." if "Answer to b." in prompt else IGNORED)
    labelled = judge.labelled(log)
    label = score_of(labelled, "b", 1)
    assert (label.value, label.reason) == ("unlabelled", "grader_failed")
    assert (label.metadata or {})["judge_error"] == "no_labels: Refusal, I think."
    assert (label.metadata or {})["judge_attempts"] == 3
    assert (metrics(labelled)["labelled"], metrics(labelled)["unlabelled"], metrics(labelled)["refusal"]) == (
        4,
        1,
        0,
    )


def test_a_share_of_the_answers_is_the_one_that_a_judge_gets(tmp_path: Path) -> None:
    names = [f"t{number}" for number in range(40)]
    log = read_eval_log(make_log(tmp_path, tasks(*names), {name: ["nyy"] for name in names}))
    judge = Labeller(IGNORED)
    labelled = judge.labelled(log, share=0.3)
    assert 4 <= len(judge.prompts) == len(values(labelled)) == metrics(labelled)["labelled"] <= 20
    assert {
        (score_of(labelled, str(task), epoch).metadata or {})["share"] for task, epoch in values(labelled)
    } == {0.3}
    roles: Any = {"grader": Labeller(verdict(0, ["no"] * 3)).model()}
    again = score(log, rubric_judge(share=0.3), model_roles=roles, action="append", display="none")
    assert values(again, "rubric_judge1").keys() == values(labelled).keys()


def test_without_the_rubric_judges_score_it_says_what_to_do(log: EvalLog) -> None:
    judge = Labeller(IGNORED)
    with pytest.raises(ClbenchError, match="--action append"):
        judge.labelled(log, action="overwrite")
    assert not judge.prompts


def test_a_second_judges_labels_stand_beside_the_first(log: EvalLog) -> None:
    twice = Labeller(labels_reply(refusal=[1]), "second").labelled(Labeller(IGNORED).labelled(log))
    assert metrics(twice)["context_ignored"] == 1
    assert metrics(twice, "error_types1")["refusal"] == 1


def test_it_can_be_listed_in_a_task_after_the_rubric_judge(tmp_path: Path) -> None:
    def reply(prompt: str) -> str:
        return IGNORED if "=== BEGIN MISSED" in prompt else verdict(0, ["no", "yes", "yes"])

    dollar = ModelCost(input=20_000, output=0, input_cache_write=0, input_cache_read=0)  # for 50 tokens
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a"), row("b")])
    (log,) = eval(
        task_with(clbench(dataset=dataset), scorer=[rubric_judge(), error_types()]),
        model=Labeller("An answer.", "gpt-4o").model(),
        model_roles={"grader": Labeller(reply, "gpt-4o-mini").model()},
        model_cost_config={f"mockllm/{name}": dollar for name in ("gpt-4o", "gpt-4o-mini")},
        log_dir=str(tmp_path),
        display="none",
    )
    assert log.status == "success", log.error
    # An answer, its verdict and its labels: the guard of a budget counts all three.
    assert (score_of(log, "a", 1).metadata or {})["cost"] == pytest.approx(3)
    assert values(log) == {("a", 1): "context_ignored", ("b", 1): "context_ignored"}
    assert metrics(log)["labelled"] == 2


@pytest.mark.usefixtures("without_tokenizer")
def test_rates_are_over_labelled_answers_whatever_the_reducer() -> None:
    # Two tasks, each with its values in two runs: four labels, of which two are refusals.
    values = [["refusal", "none"], ["context_ignored+refusal", "format_error"], ["solved", "unlabelled"]]
    epochs = [
        [Score(value=value, metadata={"epoch": n}) for n, value in enumerate(v, start=1)] for v in values
    ]
    for reducer in ("mode", None):
        rates = run_metrics([error_type_rates()], epochs, reducer=reducer)
        assert [rates[key] for key in ERROR_TYPES] == [1 / 4, 0, 1 / 4, 2 / 4]
        assert (rates["labelled"], rates["unlabelled"]) == (4, 1)
    compute: Any = error_type_rates()
    assert all(math.isnan(compute([])[key]) for key in ERROR_TYPES)
