"""The judge exam: its cases are what they say, and known errors of a judge give the known figures."""

import hashlib
import json
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval
from inspect_ai.log import EvalLog
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import Score
from pytest_inspect_evals.metrics import run_metrics

from inspect_clbench.exam.cases import FAMILIES, ExamCase, load_cases
from inspect_clbench.exam.metrics import exam_figures
from inspect_clbench.judge.prompt import load_judge_prompt
from tests.support.builders import metrics_of, verdict
from tests.support.scripted import JUDGE_USAGE, scripted_output
from tests.support.server import Call, Reply, Serve

CASES = load_cases()
PROMPT = load_judge_prompt()
BY_PROMPT = {PROMPT.render(case.rubrics, case.answer): case for case in CASES}
LABELS = Path(__file__).parents[1] / "benchmarks" / "results" / "exam_labels.json"

EXAM = "inspect_clbench/judge_exam"
Judge = Callable[[ExamCase, int], str]
"""What a judge replies on a case when it is asked for the n-th time."""


# The cases.


def test_there_are_enough_cases_of_every_kind_and_each_was_labelled_blind() -> None:
    assert (len(CASES), len(BY_PROMPT), len({case.context_id for case in CASES})) == (282, 282, 24)
    # Figures of judges are comparable as long as they sit the same exam, edits of its answers included.
    texts = "".join(
        case.name + case.context + case.task + "".join(case.rubrics) + case.answer for case in CASES
    )
    digest = hashlib.sha256(texts.encode()).hexdigest()
    assert digest == "ab370f56eea2bf2b11039a6a2fb34b37c582b47af92e8b60be2da805a5e4e97d"
    kinds = Counter(case.kind for case in CASES)
    assert kinds.keys() == {kind for kinds in FAMILIES.values() for kind in kinds.split()}
    assert min(kinds.values()) >= 6
    labels = json.loads(LABELS.read_text("utf-8"))
    assert {case.name: case.missed for case in CASES} == {
        name: label["missed"] for name, label in labels.items()
    }


# The judge.


def reply(case: ExamCase, score: int | None = None, wrong: Sequence[int] = ()) -> str:
    """The true verdict on a case, or another score, or a list with errors in it."""
    status = [
        "yes" if (number in case.missed) == (number in wrong) else "no"
        for number in range(1, len(case.rubrics) + 1)
    ]
    return verdict(int(not case.missed) if score is None else score, status)


def sit_exam(log_dir: Path, judge: Judge, *kinds: str, **options: Any) -> EvalLog:
    """The log of a judge that says what it is told to, on the cases of these kinds."""
    counts: Counter[str] = Counter()

    def output(input: Sequence[Any], *_: Any) -> ModelOutput:
        case = BY_PROMPT[input[-1].text]
        counts[case.name] += 1
        return scripted_output("judge", judge(case, counts[case.name]), JUDGE_USAGE)

    model = get_model("mockllm/judge", custom_outputs=output, memoize=False)
    names: Any = [case.name for case in CASES if case.kind in kinds]
    (log,) = eval(EXAM, model=model, sample_id=names, log_dir=str(log_dir), **options)
    assert log.status == "success", log.error
    return log


def faulty(case: ExamCase, count: int) -> str:
    """A judge with a known weakness for each of some kinds."""
    match case.kind:
        case "plain" if count == 1:
            return "The answer is quite good."  # asked again, it has a verdict
        case "long":
            return reply(case, 0, wrong=[1])  # fails a good answer for one rubric
        case "hedge":
            return verdict(1, ["yes"] * len(case.rubrics))  # takes a hedge for an answer
        case "orders":
            return reply(case, 1)  # obeys, and contradicts its own list where that is bad
        case "padding":
            return "I cannot read so long a text."  # never usable
        case "several":
            return verdict(0, ["no"])  # right, with a list that does not fit
    return reply(case)


KINDS = ("plain", "long", "hedge", "orders", "padding", "several")
"""The kinds it is asked about: one on which it is right, and those of its faults."""


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return sit_exam(tmp_path_factory.mktemp("exam"), faulty, *KINDS)


def test_known_errors_give_the_known_figures(log: EvalLog) -> None:
    def share(cases: list[ExamCase], *kinds: str) -> float:
        return sum(case.kind in kinds for case in cases) / len(cases)

    figures = metrics_of(log)
    cases = [case for case in CASES if case.kind in KINDS]
    good, bad = ([case for case in cases if bool(case.missed) is is_bad] for is_bad in (False, True))
    listed = [case for case in cases if case.kind not in ("padding", "several")]
    errors = sum(case.kind in ("long", "hedge") for case in listed)
    obeyed = sum(case.kind == "orders" for case in bad)
    expected = {
        "accuracy": 1 - share(cases, "long", "hedge", "padding") - obeyed / len(cases),
        "sensitivity": 1 - share(good, "long", "padding"),
        "specificity": 1 - share(bad, "hedge", "orders", "padding"),
        "rubric_accuracy": 1 - errors / sum(len(case.rubrics) for case in listed),
        "attack_success": share([case for case in bad if case.family == "attack"], "orders"),
        "contradictions": obeyed / len(cases),
        "unusable": share(cases, "padding"),
        "several": 1.0,
        "one_missed": 0.0,
        "good": 1 - share([case for case in cases if case.family == "good"], "long"),
    }
    assert {name: figures[name] for name in expected} == pytest.approx(expected)
    assert figures.keys() == expected.keys() | {"stderr", "attack"}
    assert 0 < figures["stderr"] < 0.1
    assert log.results is not None
    assert log.results.headline is not None
    assert log.results.headline.metric == "accuracy"


def score_of(log: EvalLog, kind: str) -> tuple[list[int], Score]:
    """The rubrics that the first case of a kind misses, and its score; of attacks on bad answers."""
    samples = [sample for sample in log.samples or [] if sample.metadata["kind"] == kind]
    sample = next(s for s in samples if s.metadata["missed"] or s.metadata["family"] != "attack")
    return sample.metadata["missed"], (sample.scores or {})["exam_verdict"]


def test_a_score_says_what_is_true_and_what_the_judge_said(log: EvalLog) -> None:
    _, long = score_of(log, "long")
    assert (long.explanation or "").startswith(
        "**Wrong: verdict 0; the answer meets every rubric**\n\ngood, long, "
    )
    missed, hedge = score_of(log, "hedge")
    assert f"verdict 1; the answer misses {missed[0]}**" in (hedge.explanation or "")
    assert f"**The judge is wrong on**\n\n- **{missed[0]}** (missed) " in (hedge.explanation or "")
    assert (hedge.value, hedge.answer, hedge.reason) == ("I", "verdict 1", None)
    _, padding = score_of(log, "padding")
    assert (padding.value, padding.answer, padding.reason) == ("I", "no verdict", "invalid_response_format")
    assert "no\\_verdict\\: I cannot read so long a text" in (padding.explanation or "")
    assert (padding.metadata or {})["judge_attempts"] == 3
    _, several = score_of(log, "several")
    assert (several.value, (several.metadata or {})["status"]) == ("C", "")
    assert (score_of(log, "plain")[1].metadata or {})["judge_attempts"] == 2


def test_epochs_give_steadiness(tmp_path: Path) -> None:
    def moody(case: ExamCase, count: int) -> str:
        # In the second epoch it passes what it failed before.
        return reply(case, 1 if count == 2 and case.kind == "hedge" else None)

    figures = metrics_of(sit_exam(tmp_path, moody, "hedge", "plain", epochs=3))
    hedges, plain = (sum(case.kind == kind for case in CASES) for kind in ("hedge", "plain"))
    assert figures["steadiness"] == pytest.approx(plain / (hedges + plain))
    assert figures["accuracy"] == pytest.approx((plain + hedges * 2 / 3) / (hedges + plain))
    assert figures["specificity"] == pytest.approx(2 / 3)
    assert math.isnan(figures["attack_success"])


def test_a_judge_that_is_out_of_reach_is_not_wrong(serve: Serve, tmp_path: Path) -> None:
    def script(call: Call) -> Reply:
        case = BY_PROMPT[call.prompt]
        return Reply(status=500) if case is CASES[0] else Reply(reply(case))

    serve(script)
    (log,) = eval(EXAM, model="openai-api/loop/judge", limit=15, log_dir=str(tmp_path))
    assert log.status == "success"
    errors = {sample.id: sample.error.message for sample in log.samples or [] if sample.error}
    assert errors.keys() == {CASES[0].name}
    assert "The judge gave no reply. call_failed: " in errors[CASES[0].name]
    assert metrics_of(log)["accuracy"] == 1


@pytest.mark.usefixtures("without_tokenizer")
def test_the_metrics_are_total_whatever_the_reducer() -> None:
    figures: Any = exam_figures()
    assert all(math.isnan(value) for value in figures([]).values())
    epochs = [[Score(value=letter, metadata={"epoch": n}) for n, letter in enumerate("CI", start=1)]]
    for reducer in ("mean", None):
        assert run_metrics([exam_figures()], epochs, reducer=reducer)["accuracy"] == 0.5
