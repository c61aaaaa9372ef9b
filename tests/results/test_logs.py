"""Whole samples of logs; and `make_log`, from which the other tests have their logs, tells the truth."""

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ContentReasoning, ContentText

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.exchange import export_files
from inspect_clbench.results.logs import read_samples
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.logs import make_log
from tests.support.scripted import scripted_eval, scripted_judge, tasks

ROWS = tasks("a", "b", "c", "d")
PLAN = {"a": ["yyn", "yyn!"], "b": ["garbled", "y?y"], "c": ["", "yyy"], "d": ["yy", "error"]}
# What a run measures or chooses by chance, and the hashes of texts that `make_log` shortens.
CHANCE = ["uuid", "log", "created", "source", "fingerprint", "judge_prompt_sha256", "judge_error"]


@pytest.mark.parametrize("panel", [["mockllm/judge"], ["mockllm/one", "mockllm/two"]])
def test_a_made_log_says_what_that_of_a_real_eval_says(panel: list[str], tmp_path: Path) -> None:
    names = [judge.removeprefix("mockllm/") for judge in panel]
    real = scripted_eval(tmp_path / "real", ROWS, PLAN, judge=names, reasoning_effort="low")
    scored = score(
        read_eval_log(real.location),
        rubric_judge(),
        action="append",
        model_roles={"grader": scripted_judge("again")},
        display="none",
    )
    write_eval_log(scored, real.location)
    # An appended judge is asked of the answers, and says what the plan says; nobody has to say it is garbled.
    again = [("mockllm/again", PLAN)]
    made = make_log(tmp_path / "made", ROWS, PLAN, judge=panel, again=again, reasoning_effort="low")
    frames = [answers_df(path).drop(columns=CHANCE, errors="ignore") for path in (real.location, made)]
    pd.testing.assert_frame_equal(*frames)
    texts = [[sample for _, sample in read_samples(answers_df(path))] for path in (real.location, made)]
    for ours, theirs in zip(*reversed(texts), strict=True):
        assert ours.messages == theirs.messages
        assert (ours.answer, ours.rubrics, ours.rationales) == (
            theirs.answer,
            theirs.rubrics,
            theirs.rationales,
        )


@pytest.mark.parametrize("form", ["eval", "json"])
def test_the_texts_of_answers_are_read_of_both_kinds_of_logs(form: Any, tmp_path: Path) -> None:
    plan = {"a": ["yyn", "error"], "b": ["yyy~", "missing"], "c": ["yyy", "yyy"], "d": ["yyy", "yyy"]}
    again = [("mockllm/other", {"a": ["garbled", "missing"]})]
    for model in ("mockllm/x", "mockllm/y"):
        make_log(tmp_path, ROWS, plan, model=model, again=again, format=form)
    answers = answers_df(tmp_path).query("model == 'mockllm/y'")
    samples = dict(read_samples(answers))
    assert set(samples) == set(answers.index[answers["reached"]])
    rows = answers.assign(sample=pd.Series(samples)).set_index(["id", "epoch", "judge"])["sample"]
    first, again_first = rows["a", 1, "mockllm/judge"], rows["a", 1, "mockllm/other"]
    assert first.messages[0] == ("system", "Learn from the context.")
    assert first.messages[1][1].endswith("TASK=a")
    assert first.answer == again_first.answer == "Answer to a.\nSTATUS=yyn"
    assert (first.rationales, again_first.rationales) == (["Checked line by line."], [""])
    assert first.rubrics == ["Says one.", "Says two.", "Says three."]
    assert (first.score["value"], first.metadata["context_id"]) == ("I", "context-0")
    assert rows["b", 1, "mockllm/judge"].stop_reason == "max_tokens"
    failed = rows["a", 2, "mockllm/judge"]
    assert (failed.answer, failed.rationales, failed.score) == ("", [], {})
    assert failed.error == "RuntimeError('scripted failure')"


def test_texts_in_parts(tmp_path: Path) -> None:
    log = read_eval_log(make_log(tmp_path, ROWS[:1]))
    assert log.samples
    sample = log.samples[0]
    sample.input = "A plain question."
    thought = ContentReasoning(reasoning="Let me see.")
    sample.output.message.content = [thought, ContentText(text="One."), ContentText(text="Two.")]
    write_eval_log(log)
    ((_, texts),) = read_samples(answers_df(log.location))
    assert texts.messages == [("user", "A plain question.")]
    assert texts.answer == "One.\nTwo."


def test_a_log_that_was_changed_meanwhile_is_named(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, name="run.eval")
    answers = answers_df(log)
    make_log(tmp_path, ROWS[:1], name="run.eval")
    with pytest.raises(ClbenchError, match=r"run\.eval: cannot be read .*samples/b_epoch_1"):
        list(read_samples(answers))


@pytest.mark.parametrize(("key", "value"), [("rubrics", [1]), ("rationales", "words"), ("grades", 5)])
def test_texts_that_are_none_name_their_log(key: str, value: Any, tmp_path: Path) -> None:
    log = read_eval_log(make_log(tmp_path, ROWS, name="run.eval"))
    sample = (log.samples or [])[0]
    for metadata in (sample.metadata, (sample.scores or {})["rubric_judge"].metadata or {}):
        metadata[key] = value
    write_eval_log(log, tmp_path / "run.eval")
    with pytest.raises(ClbenchError, match=r"run\.eval: cannot be read .* or other software wrote it"):
        export_files(answers_df(tmp_path / "run.eval"), tmp_path)
