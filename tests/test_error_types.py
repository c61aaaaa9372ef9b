"""Error types: what the judge is asked, how its reply is read, what the scorer writes down."""

import json
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score, task_with
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelCost, ModelOutput, get_model
from inspect_ai.scorer import Score
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.benchmarks import ERROR_TYPES, error_types_of
from inspect_clbench.error_types.metrics import error_type_rates
from inspect_clbench.error_types.prompt import (
    FailedAnswer,
    load_label_prompt,
    parse_labels,
    value_of,
)
from inspect_clbench.error_types.scorer import error_types
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.verdict import Failure
from inspect_clbench.scoring.rubric_judge import rubric_judge
from inspect_clbench.scoring.scores import is_in_share
from inspect_clbench.tasks import clbench
from tests.support.builders import row, verdict, write_rows
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, JUDGE_USAGE, PROBE, scripted_output, tasks


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
    prompt = load_label_prompt()
    text = prompt.render(FAILED)
    assert "[system]\nBe brief.\n\n[user]\nRules… {answer}\n\n[assistant]\nYes.\n===" in text
    assert "=== BEGIN MISSED RUBRICS ===\n2. Says {rationale}.\n4. Says four.\n===" in text
    assert "Says one" not in text
    assert text.count("Rubric 2 is missing.") == 1
    assert "=== BEGIN ANSWER ===\nOne. {conversation}\n=== END ANSWER ===" in text
    assert all(f'"{key}":' in text for key in ERROR_TYPES)
    for status in ("", "yy", "yyy"):  # nobody said which ones were missed
        text = prompt.render(FailedAnswer(FAILED.conversation, FAILED.rubrics, status, "", "One."))
        assert "did not say which rubrics were missed" in text
        assert "1. Says one.\n2. Says {rationale}.\n4. Says four." in text
    hashes = {"error_types-1": "7e0ed696ff5e84101d306e85275f207effd55f06ee6b0951fac61d06b58badb3"}
    assert hashes[prompt.name] == prompt.sha256, "another wording needs another version"


def changed(key: str, entry: Any) -> str:
    return json.dumps({**json.loads(BOTH), key: entry})


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        (BOTH, "context_ignored+format_error"),
        (f"```json\n{BOTH}\n```", "context_ignored+format_error"),
        (labels_reply(), "none"),
        (changed("refusal", {"present": True}), "context_ignored+format_error+refusal"),
        (changed("refusal", {"present": " No ", "rubrics": "1"}), "context_ignored+format_error"),
    ],
)
def test_a_reply_is_read(reply: str, value: str) -> None:
    labels = parse_labels(reply, False)
    assert not isinstance(labels, Failure)
    assert value_of(labels) == value
    assert error_types_of(value) == [key for key in ERROR_TYPES if labels[key].present]


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("  \n", "empty_reply"),
        ("It ignored the context.", "no_labels"),
        (f"I looked at them.\n{BOTH}\n", "no_labels"),
        (json.dumps({"labels": json.loads(BOTH)}), "no_labels"),
        (changed("refusal", {"present": "perhaps"}), "bad_label"),
        (changed("refusal", {"present": 1}), "bad_label"),
        (changed("refusal", "yes"), "bad_label"),
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

    def __init__(self, reply: Callable[[str], str], name: str = "labeller") -> None:
        self.prompts: list[str] = []

        def output(input: Sequence[Any], *_: Any) -> ModelOutput:
            prompt = input[-1].text
            if prompt != PROBE:
                self.prompts.append(prompt)
            # Inspect notes the price in the usage.
            return scripted_output(name, reply(prompt), JUDGE_USAGE.model_copy())

        self.model = get_model(f"mockllm/{name}", custom_outputs=output, memoize=False)

    def labelled(self, log: EvalLog, action: Any = "append", **options: Any) -> EvalLog:
        """The log with error types appended."""
        roles: Any = {"grader": self.model}
        return score(log, error_types(**options), model_roles=roles, action=action, display="none")


def always(reply: str, name: str = "labeller") -> Labeller:
    return Labeller(lambda prompt: reply, name)


def score_of(log: EvalLog, task: str, epoch: int, scorer: str = "error_types") -> Score:
    (sample,) = (sample for sample in log.samples or [] if (sample.id, sample.epoch) == (task, epoch))
    return (sample.scores or {})[scorer]


def values(log: EvalLog, scorer: str = "error_types") -> dict[tuple[str | int, int], Any]:
    """The value of each task and epoch that has a score."""
    scores = {(sample.id, sample.epoch): (sample.scores or {}).get(scorer) for sample in log.samples or []}
    return {key: score.value for key, score in scores.items() if score}


def metrics(log: EvalLog, scorer: str = "error_types") -> dict[str, float]:
    assert log.results is not None, log.error
    (result,) = (result for result in log.results.scores if result.name == scorer)
    return {name: metric.value for name, metric in result.metrics.items()}


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return read_eval_log(make_log(tmp_path_factory.mktemp("logs"), tasks(*PLAN), PLAN))


def test_only_failed_answers_with_text_and_verdict_are_sent(log: EvalLog) -> None:
    judge = always(IGNORED)
    labelled = judge.labelled(log)
    first = {"a": "solved", "b": "context_ignored", "c": "empty_answer", "d": "no_verdict", "e": "not_run"}
    second = dict.fromkeys("acde", "context_ignored") | {"b": "solved"}
    assert values(labelled) == {
        (task, epoch): value for epoch, run in ((1, first), (2, second)) for task, value in run.items()
    }
    assert len(judge.prompts) == 5
    counts = {"labelled": 5, "unlabelled": 0, "empty_answer": 1, "no_verdict": 1}
    assert metrics(labelled) == dict.fromkeys(ERROR_TYPES, 0) | {"context_ignored": 1} | counts
    assert values(labelled, "rubric_judge") == values(log, "rubric_judge"), "what was there stays"
    (prompt,) = (prompt for prompt in judge.prompts if "Answer to b." in prompt)
    assert "[system]\nLearn from the context." in prompt
    assert "1. Says one.\n3. Says three.\n=== END MISSED" in prompt
    assert "Checked line by line." in prompt
    assert prompt.count("Answer to b.") == 1, "the answer is not part of the conversation"


def test_a_score_says_who_labelled_what_and_why(log: EvalLog) -> None:
    first = always(IGNORED).labelled(log)
    labelled = always(labels_reply(context_ignored=[1], refusal=[3]), "second").labelled(first)
    assert (metrics(labelled)["refusal"], metrics(labelled, "error_types1")["refusal"]) == (0, 1)
    label = score_of(labelled, "b", 1, "error_types1")
    metadata = label.metadata or {}
    assert label.value == "context_ignored+refusal"
    labels = metadata.pop("labels")
    assert labels["context_ignored"] == {"present": True, "reason": "On context_ignored.", "rubrics": [1]}
    assert labels["format_error"]["present"] is False
    (sample,) = (sample for sample in log.samples or [] if (sample.id, sample.epoch) == ("b", 1))
    assert [reference["id"] for reference in metadata.pop("scanner_references")] == [sample.messages[-1].id]
    names = ["judge", "rubric_judge", "judge_prompt", "judge_prompt_sha256", "epoch", "judge_attempts"]
    expected = ["mockllm/second", "mockllm/judge", "error_types-1", load_label_prompt().sha256, 1, 1]
    assert [metadata[name] for name in names] == expected
    assert metadata["rubrics_missed"] == [1, 3]
    assert metadata["judge_usage"] == {"mockllm/second": JUDGE_USAGE.model_dump(exclude_none=True)}
    assert (label.explanation or "").startswith("**Context Ignored, Refusal** · the answer is [M3]")
    assert "**Refusal** (rubrics 3): On refusal" in (label.explanation or "")


def test_a_reply_without_labels_leaves_the_answer_unlabelled_and_counted(log: EvalLog) -> None:
    judge = Labeller(lambda prompt: "Refusal, I think." if "Answer to b." in prompt else IGNORED)
    labelled = judge.labelled(log)
    label = score_of(labelled, "b", 1)
    assert (label.value, label.reason) == ("unlabelled", "grader_failed")
    assert (label.metadata or {})["judge_error"] == "no_labels: Refusal, I think."
    assert (label.metadata or {})["judge_attempts"] == 3
    assert (metrics(labelled)["labelled"], metrics(labelled)["unlabelled"]) == (4, 1)


def test_a_share_of_the_answers_is_the_one_that_a_judge_gets(log: EvalLog) -> None:
    labelled = always(IGNORED).labelled(log, share=0.3)
    sent = {(task, epoch) for task in PLAN for epoch in (1, 2) if is_in_share(0.3, task, epoch)}
    assert values(labelled).keys() == sent
    scores = [score_of(labelled, task, epoch) for task, epoch in sent]
    shares = [(score.metadata or {})["share"] for score in scores if score.value == "context_ignored"]
    assert set(shares) == {0.3}


def test_without_the_rubric_judges_score_it_says_what_to_do(log: EvalLog) -> None:
    judge = always(IGNORED)
    with pytest.raises(ClbenchError, match="--action append"):
        judge.labelled(log, action="overwrite")
    assert not judge.prompts


def test_it_can_be_listed_in_a_task_after_the_rubric_judge(tmp_path: Path) -> None:
    def reply(prompt: str) -> str:
        return IGNORED if "=== BEGIN MISSED" in prompt else verdict(0, ["no", "yes", "yes"])

    dollar = ModelCost(input=20_000, output=0, input_cache_write=0, input_cache_read=0)  # for 50 tokens
    dataset = write_rows(tmp_path / "rows.jsonl", [row("a"), row("b")])
    (log,) = eval(
        task_with(clbench(dataset=dataset), scorer=[rubric_judge(), error_types()]),
        model=always("An answer.", "gpt-4o").model,
        model_roles={"grader": Labeller(reply, "gpt-4o-mini").model},
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
@pytest.mark.parametrize("reducer", ["mode", None])
def test_rates_are_over_labelled_answers_whatever_the_reducer(reducer: str | None) -> None:
    # Three tasks, each with its values in two runs: four labels, of which two are refusals.
    tasks = [["refusal", "none"], ["context_ignored+refusal", "format_error"], ["solved", "unlabelled"]]
    epochs = [
        [Score(value=value, metadata={"epoch": n}) for n, value in enumerate(runs, 1)] for runs in tasks
    ]
    rates = run_metrics([error_type_rates()], epochs, reducer=reducer)
    assert [rates[key] for key in ERROR_TYPES] == [1 / 4, 0, 1 / 4, 2 / 4]
    assert (rates["labelled"], rates["unlabelled"]) == (4, 1)
    compute: Any = error_type_rates()
    assert all(math.isnan(compute([])[key]) for key in ERROR_TYPES)
