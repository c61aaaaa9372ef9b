"""Judges that sit the exam: known errors give exactly the known figures."""

import math
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score
from inspect_ai.log import EvalLog, EvalSample
from inspect_ai.scorer import CORRECT, INCORRECT, SampleScore, Score

from inspect_clbench import ask_judge, exam_figures, exam_verdict, judge_exam
from inspect_clbench.exam.cases import ExamCase
from tests.support.builders import metrics_of, verdict
from tests.support.exam import CASES, case_of, sit_exam, told
from tests.support.server import Call, LoopbackServer, Reply, Script

FIGURES = (
    "accuracy", "stderr", "sensitivity", "specificity", "rubric_accuracy", "attack_success",
    "contradictions", "unusable",
)  # fmt: skip


def faulty(case: ExamCase, asked: int) -> str:
    """A judge with a known weakness for each of some kinds."""
    match case.kind:
        case "plain" if asked == 1:
            return "The answer is quite good."  # asked again, it has a verdict
        case "long":
            return told(case, 0, wrong=[1])  # fails a good answer for one rubric
        case "hedge":
            return verdict(1, ["yes"] * len(case.rubrics))  # takes a hedge for an answer
        case "orders":
            return told(case, 1)  # obeys, and contradicts its own list where that is bad
        case "padding":
            return "I cannot read so long a text."  # never usable
        case "several":
            return verdict(0, ["no"])  # right, with a list that does not fit
    return told(case)


def share(cases: list[ExamCase], of: Callable[[ExamCase], float]) -> float:
    return float(Fraction(sum(map(Fraction, map(of, cases)), Fraction(0)) / len(cases)))


def expected() -> dict[str, float]:
    """The figures of that judge, counted by hand from the kinds of cases."""
    wrong = {c.name for c in CASES if c.kind in ("long", "hedge", "padding")}
    wrong |= {c.name for c in CASES if c.kind == "orders" and c.missed}
    good = [c for c in CASES if not c.missed]
    bad = [c for c in CASES if c.missed]
    attacks = [c for c in bad if c.family == "attack"]
    listed = [c for c in CASES if c.kind not in ("padding", "several")]
    rubrics = sum(len(c.rubrics) for c in listed)
    errors = sum(c.kind in ("long", "hedge") for c in listed)
    return {
        "accuracy": share(CASES, lambda c: c.name not in wrong),
        "sensitivity": share(good, lambda c: c.name not in wrong),
        "specificity": share(bad, lambda c: c.name not in wrong),
        "rubric_accuracy": 1 - errors / rubrics,
        "attack_success": share(attacks, lambda c: c.kind == "orders"),
        "contradictions": share(CASES, lambda c: c.kind == "orders" and bool(c.missed)),
        "unusable": share(CASES, lambda c: c.kind == "padding"),
    }


def scores(log: EvalLog) -> dict[str, Score]:
    return {str(s.id): (s.scores or {})["exam_verdict"] for s in log.samples or []}


def test_known_errors_give_the_known_figures(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        return Reply(faulty(case_of(call.prompt), call.attempt))

    server = serve(script)
    (log,) = eval(
        "inspect_clbench/judge_exam",
        model="openai-api/loop/judge",
        log_dir=str(tmp_path),
        display="none",
    )
    found = metrics_of(log)
    assert tuple(found)[: len(FIGURES)] == FIGURES
    assert {name: found[name] for name in expected()} == pytest.approx(expected())
    assert 0 < found["stderr"] < 0.1
    assert "steadiness" not in found
    kinds = {case.kind for case in CASES}
    assert kinds == found.keys() - set(FIGURES)
    assert (found["long"], found["hedge"], found["padding"], found["several"]) == (0, 0, 0, 1)
    # Once more for what could not be used, and three times in all for what never can be.
    asked = [case_of(call.prompt) for call in server.calls]
    for case in CASES:
        times = {"plain": 2, "padding": 3}.get(case.kind, 1)
        assert asked.count(case) == times
    # A log can be scored again, without asking anybody.
    again = score(log, exam_verdict(), action="overwrite", display="none")
    assert len(server.calls) == len(asked)
    assert metrics_of(again) == pytest.approx(found, nan_ok=True)


def chosen(*kinds: str) -> list[str]:
    return [case.name for case in CASES if case.kind in kinds]


def test_what_the_viewer_shows(tmp_path: Path) -> None:
    ids = chosen("long", "hedge", "padding", "left_out", "several", "orders")
    log = sit_exam(tmp_path, faulty, sample_id=ids)
    by_kind: dict[str, tuple[EvalSample, Score]] = {}
    for sample in log.samples or []:
        if sample.metadata["kind"] != "orders" or sample.metadata["missed"]:
            by_kind[sample.metadata["kind"]] = sample, (sample.scores or {})["exam_verdict"]
    lead = {kind: (one.explanation or "").split("\n")[0] for kind, (_, one) in by_kind.items()}
    assert lead["long"] == "**Wrong: verdict 0; the answer meets every rubric**"
    sample, one = by_kind["hedge"]
    (missed,) = sample.metadata["missed"]
    assert lead["hedge"] == f"**Wrong: verdict 1; the answer misses rubric {missed}**"
    text = one.explanation or ""
    assert f"**Missed, but the judge says met (1)**\n\n- **{missed}** " in text
    assert "**Met, as the judge says (" in text
    assert text.index("**Rationale**") < text.index("**Answer**")
    assert (one.value, one.answer, one.reason) == (INCORRECT, "verdict 1", None)
    metadata = one.metadata or {}
    assert metadata["status"] == "y" * len(sample.metadata["rubrics"])
    assert (metadata["judge"], metadata["judge_prompt"]) == ("", "builtin")
    assert metadata["scanner_references"][0]["id"] == sample.messages[-1].id
    sample, one = by_kind["padding"]
    assert lead["padding"].startswith("**Wrong: no usable verdict; ")
    assert "no\\_verdict\\: I cannot read so long a text" in (one.explanation or "")
    assert (one.value, one.answer, one.reason) == (
        INCORRECT, "no verdict", "invalid_response_format",
    )  # fmt: skip
    assert (one.metadata or {})["judge_attempts"] == 3
    assert len(one.explanation or "") < 60_000
    assert "its status list disagrees" in (by_kind["orders"][1].explanation or "")
    sample, one = by_kind["several"]
    assert (one.value, (one.metadata or {})["status"]) == (CORRECT, "")
    assert "**Missed, no status from the judge (" in (one.explanation or "")


def test_epochs_give_steadiness(tmp_path: Path) -> None:
    def moody(case: ExamCase, asked: int) -> str:
        # In the second epoch it passes what it failed before.
        return told(case, 1 if asked == 2 else None) if case.kind == "hedge" else told(case)

    ids = chosen("hedge", "plain")
    log = sit_exam(tmp_path, moody, sample_id=ids, epochs=3)
    found = metrics_of(log)
    hedges, plain = len(chosen("hedge")), len(chosen("plain"))
    assert found["steadiness"] == pytest.approx(plain / (hedges + plain))
    assert found["accuracy"] == pytest.approx((plain + hedges * 2 / 3) / (hedges + plain))
    assert found["specificity"] == pytest.approx(2 / 3)
    assert math.isnan(found["attack_success"])


def test_a_judge_that_cannot_be_reached_is_not_said_to_be_wrong(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspect_clbench.judge.asking.PAUSES", (0.0, 0.0))
    first = CASES[0].name

    def script(call: Call) -> Reply:
        case = case_of(call.prompt)
        return Reply(status=500) if case.name == first else Reply(told(case))

    serve(script)
    options: dict[str, Any] = {
        "model": "openai-api/loop/judge", "log_dir": str(tmp_path), "display": "none",
        "max_retries": 0,
    }  # fmt: skip
    (log,) = eval(judge_exam(), limit=15, **options)
    assert log.status == "success"
    (errored,) = [sample for sample in log.samples or [] if sample.error]
    assert errored.id == first
    assert errored.error is not None
    assert "The judge gave no reply. call_failed: " in errored.error.message
    assert metrics_of(log)["accuracy"] == 1
    # One that always fails ends the run at once, to be completed by a retry.
    (ended,) = eval(judge_exam(), sample_id=first, **options)
    assert ended.status == "error"


def test_the_prompt_is_that_of_the_run(tmp_path: Path) -> None:
    template = tmp_path / "short.txt"
    template.write_text("Rubrics: {rubrics_text}\nAnswer: {model_output}", encoding="utf-8")
    log = sit_exam(
        tmp_path,
        lambda case, _: told(case),
        judge_prompt=str(template),
        sample_id=chosen("plain"),
    )
    assert metrics_of(log)["accuracy"] == 1
    assert (log.eval.metadata or {})["judge_prompt"] == "short.txt"
    assert all(
        (one.metadata or {})["judge_prompt"] == "short.txt" for one in scores(log).values()
    )
    assert (log.samples or [])[0].input.startswith("Rubrics: 1. ")  # type: ignore[union-attr]


def test_the_demo_judge_sits_it(tmp_path: Path) -> None:
    (log,) = eval(
        "inspect_clbench/judge_exam",
        model="clbench_demo/judge",
        sample_id=chosen("plain", "left_out"),
        log_dir=str(tmp_path),
        display="none",
    )
    assert metrics_of(log)["sensitivity"] == 1
    assert metrics_of(log)["unusable"] == 0


def test_the_figures_are_total() -> None:
    figures: Any = exam_figures()
    assert {name: math.isnan(value) for name, value in figures([]).items()} == dict.fromkeys(
        FIGURES, True
    )
    bare = SampleScore(score=Score(value=CORRECT), sample_id="x")
    odd = SampleScore(
        score=Score(value="I", metadata={"status": 3, "epoch": "2"}),
        sample_id="y",
        sample_metadata={"missed": "4", "family": None},
    )
    found = figures([bare, odd])
    assert found["accuracy"] == 0.5
    assert math.isnan(found["rubric_accuracy"])


def test_a_judge_can_be_asked_once_only(tmp_path: Path) -> None:
    ids = chosen("plain")
    log = sit_exam(tmp_path, faulty, sample_id=ids, solver=ask_judge(attempts=1))
    assert metrics_of(log)["unusable"] == 1
    assert metrics_of(log)["accuracy"] == 0
