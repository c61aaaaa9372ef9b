"""The frame: which answers of which logs count, and what a row says of them."""

import logging
import math
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log
from inspect_ai.scorer import Score

from inspect_clbench.errors import ClbenchError
from inspect_clbench.results.answers import answers_df
from inspect_clbench.results.report import methods_line
from tests.support.builders import row
from tests.support.logs import make_log
from tests.support.scripted import tasks

ROWS = tasks("a", "b", "c", "d")
YES, NO = ["yyy"], ["nnn"]


def runs(answers: pd.DataFrame) -> dict[int, str]:
    """The runs of a frame of one series: tasks that are solved in capitals, unanswered ones in brackets."""
    assert answers["name"].nunique() == 1, set(answers["name"])

    words: dict[int, str] = {}
    for task, run, solved in answers.sort_values("id")[["id", "run", "solved"]].itertuples(index=False):
        word = f"({task})" if math.isnan(solved) else task.upper() if solved else task
        words[run] = words.get(run, "") + word
    return words


def edited(path: str, edit: Callable[[EvalLog], Any]) -> str:
    """A log with a change in it."""
    log = read_eval_log(path)
    edit(log)
    write_eval_log(log, path)
    return path


def scores_of(log: EvalLog) -> list[Score]:
    return [(sample.scores or {})["rubric_judge"] for sample in log.samples or ()]


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


# What a row says.


def test_each_outcome(tmp_path: Path) -> None:
    plan = {"a": ["yyn", "yyy"], "b": ["yyn!", "garbled"], "c": ["", "error"], "d": ["yy?~", "missing"]}
    answers = answers_df(make_log(tmp_path, ROWS, plan))
    columns = ["id", "run", "solved", "reason", "rubrics_met",
               "status", "inconsistent", "stop_reason", "error"]  # fmt: skip
    failure = "RuntimeError('scripted failure')"
    expected = [
        ("a", 1, 0.0, "", 2.0, "yyn", False, "stop", ""),
        ("a", 2, 1.0, "", 3.0, "yyy", False, "stop", ""),
        ("b", 1, 1.0, "", 2.0, "yyn", True, "stop", ""),
        ("b", 2, 0.0, "grader_failed", None, "", False, "stop", ""),
        ("c", 1, 0.0, "no_response", 0.0, "nnn", False, "stop", ""),
        ("c", 2, None, "", None, "", False, "", failure),
        ("d", 1, 0.0, "", 2.0, "yy?", False, "max_tokens", ""),
        ("d", 2, None, "", None, "", False, "", ""),
    ]
    rows = answers.sort_values(["id", "run"])[columns].astype(object)
    assert [*rows.where(rows.notna(), None).itertuples(index=False, name=None)] == expected
    assert answers[["judge", "judge_prompt", "version", "again"]].drop_duplicates().values.tolist() == [
        ["mockllm/judge", "builtin", "2", "0"]
    ]
    assert list(answers["reached"]).count(False) == 1


def test_what_is_known_of_a_task_that_was_not_reached(tmp_path: Path) -> None:
    rows = [row("a", context="one"), row("b", context="two", sub_category="Simulation Environment")]
    plan = {"a": ["yyy", "yyy"], "b": ["yyy", "missing"]}
    answers = answers_df(make_log(tmp_path, rows, plan)).query("id == 'b'")
    known = answers[["context_id", "category", "sub_category", "prompt_chars", "fingerprint"]]
    assert len(known) == 2
    assert known.drop_duplicates().iloc[0]["category"] == "Empirical Discovery & Simulation"
    stopped = answers_df(make_log(tmp_path / "one", rows[:1], sample_ids=["a", "b"]))
    never = stopped.query("id == 'b'")
    assert never[["context_id", "category"]].values.tolist() == [["b", ""]]
    assert "1 tasks in 1 contexts" in methods_line(stopped)


def test_tokens_are_those_of_the_answer(tmp_path: Path) -> None:
    columns = ["input_tokens", "output_tokens", "reasoning_tokens"]
    plan = {"a": YES, "b": [""], "c": ["garbled"], "d": ["error"]}
    answers = answers_df(make_log(tmp_path, ROWS, plan)).set_index("id")
    assert answers.loc[[*"abc"], columns].drop_duplicates().values.tolist() == [[100, 20, 5]]
    assert answers.loc["d", columns].isna().all()
    assert answers.at["a", "judge_usage"]["mockllm/judge"]["input_tokens"] == 50
    assert answers.at["c", "judge_usage"]["mockllm/judge"]["input_tokens"] == 150
    assert not answers.at["b", "judge_usage"]


def test_cost_is_what_the_scores_say(tmp_path: Path) -> None:
    assert answers_df(make_log(tmp_path / "priced", ROWS, cost=0.25))["cost"].tolist() == [0.25] * 4
    assert answers_df(make_log(tmp_path / "not", ROWS))["cost"].isna().all()


def test_a_panel_is_one_judge_whose_votes_are_there(tmp_path: Path) -> None:
    panel = ["mockllm/one", "mockllm/two", "mockllm/three"]
    says = {"mockllm/one": {"a": ["nnn"]}, "mockllm/two": {"a": ["garbled"]}}
    for version in (1, 2):
        folder = tmp_path / str(version)
        answers = answers_df(make_log(folder, ROWS, {"a": YES}, judge=panel, says=says, version=version))
        assert set(answers["judge"]) == {"mockllm/one, mockllm/two, mockllm/three"}
        first = answers.set_index("id").loc["a"]
        assert (first["solved"], first["reason"]) == (0, "grader_failed")
        votes = [(vote["solved"], vote["status"]) for vote in first["votes"]]
        assert votes == [(False, "nnn"), (None, ""), (True, "yyy")]
        assert set(first["judge_usage"]) == set(panel)


def test_what_is_too_long_for_a_summary_is_read_from_the_sample(tmp_path: Path) -> None:
    agents = {f"lab/model-{number}" * 10: {"output_tokens": number, "total_tokens": 9} for number in range(9)}

    def add(log: EvalLog) -> None:
        (scores_of(log)[0].metadata or {})["answer_usage"] = agents

    assert answers_df(edited(make_log(tmp_path, ROWS), add)).at[0, "answer_usage"] == agents
    rows = [row("a", rubrics=[f"Rubric {number}." for number in range(400)])]
    panel = [f"mockllm/judge-{number}" for number in range(3)]
    answers = answers_df(make_log(tmp_path / "panel", rows, judge=panel, version=1))
    assert [vote["status"] for vote in answers.at[0, "votes"]] == ["y" * 400] * 3


# Which answers count.


@pytest.mark.parametrize(
    ("parts", "expected", "warned"),
    [
        (["ab", "cd"], {1: "abcd"}, 0),
        (["abc", "d", "abcd"], {1: "abcd", 2: "abcd"}, 0),
        (["a", "abcd"], {1: "abcd"}, 1),
        (["abc", "bcd"], {1: "abcd"}, 1),
        (["ab", "cd", "ab", "cd"], {1: "abcd", 2: "abcd"}, 0),
    ],
)
def test_parts_of_a_run(
    parts: list[str], expected: Any, warned: int, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    for part in parts:
        make_log(
            tmp_path, [task for task in ROWS if task["metadata"]["task_id"] in part], dict.fromkeys(part, NO)
        )
    assert runs(answers_df(tmp_path)) == expected
    assert len(warnings(caplog)) == warned
    assert all("is left out, " in message for message in warnings(caplog))


def test_a_run_that_was_stopped_early_is_no_run(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    later = ["yyy", "missing", "missing"]
    log = make_log(tmp_path, ROWS, {"a": ["nnn", "yyy", "missing"]} | dict.fromkeys("bcd", later))
    assert runs(answers_df(log)) == {1: "aBCD"}
    told = f"{log}: a part of a run of mockllm/student is left out, 1 of 8 samples with an answer: other runs"
    assert warnings(caplog)[0].startswith(told)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ({"a": YES, "b": ["error"]}, {"a": YES, "b": NO}, {1: "Ab"}),
        ({"a": YES, "b": ["error"]}, {"a": ["missing"], "b": ["missing"]}, {1: "A(b)"}),  # died at once
        ({"a": YES, "b": ["missing"]}, {"a": ["missing"], "b": YES}, {1: "AB"}),  # died on its way
        ({"a": NO, "b": YES}, {"a": YES, "b": ["error"]}, {1: "AB"}),
        # Epochs keep their order.
        ({"a": ["error", "nnn"], "b": ["yyy", "nnn"]}, {"a": ["yyy", "missing"], "b": ["yyy", "missing"]},
         {1: "AB", 2: "ab"}),
    ],
)  # fmt: skip
def test_of_a_log_and_its_retry_the_last_answer_counts(
    before: Any, after: Any, expected: dict[int, str], tmp_path: Path
) -> None:
    make_log(tmp_path, ROWS[:2], before, task_id="same")
    make_log(tmp_path, ROWS[:2], after, task_id="same", status="cancelled")
    assert runs(answers_df(tmp_path)) == expected


def test_a_copy_counts_once_also_where_it_was_judged_once_more(tmp_path: Path) -> None:
    log = make_log(tmp_path, ROWS, {"a": NO})
    shutil.copy(log, tmp_path / "copy.eval")
    assert runs(answers_df(tmp_path)) == {1: "aBCD"}

    def append(log: EvalLog) -> None:
        for sample in log.samples or ():
            assert sample.scores
            score = sample.scores["rubric_judge"].model_copy(deep=True)
            (score.metadata or {})["judge"] = "mockllm/second"
            sample.scores["rubric_judge1"] = score

    edited(str(tmp_path / "copy.eval"), append)
    answers = answers_df(tmp_path)
    assert answers.groupby("judge").size().to_dict() == {"mockllm/judge": 4, "mockllm/second": 4}
    assert runs(answers_df(tmp_path, judge="second")) == {1: "aBCD"}


def test_judges_that_were_appended_are_series_of_their_own(tmp_path: Path) -> None:
    again = [("mockllm/other", dict.fromkeys("abcd", NO)), ("mockllm/judge", dict.fromkeys("abcd", YES))]
    answers = answers_df(make_log(tmp_path, ROWS, {"a": NO}, again=again))
    rates = answers.groupby(["judge", "again"])["solved"].mean().to_dict()
    assert rates == {("mockllm/judge", "0"): 0.75, ("mockllm/judge", "1"): 1.0, ("mockllm/other", "0"): 0.0}
    assert set(answers["name"]) == {f"mockllm/student{more}" for more in
                                    ("", " (judge mockllm/other)", " (judged again 1)")}  # fmt: skip
    assert answers["uuid"].nunique() == 4


def test_a_judge_after_one_of_a_share_is_one_series(tmp_path: Path) -> None:
    """Inspect gives the next name that a sample has free: what the later judge said stands under two."""
    again = [("mockllm/part", {"a": NO, "b": NO}), ("mockllm/late", dict.fromkeys("abcd", NO))]

    def rename(log: EvalLog) -> None:
        for sample in log.samples or ():
            if sample.scores and "rubric_judge1" not in sample.scores:
                sample.scores["rubric_judge1"] = sample.scores.pop("rubric_judge2")

    answers = answers_df(edited(make_log(tmp_path, ROWS, {"d": ["error"]}, again=again), rename))
    solved = {name: rows["solved"].fillna(2).tolist() for name, rows in answers.groupby("name")}
    assert solved == {
        "mockllm/student (judge mockllm/judge)": [1, 1, 1, 2],
        "mockllm/student (judge mockllm/late)": [0, 0, 0, 2],
        "mockllm/student (share 0.5)": [0, 0],
    }


def test_what_is_outside_a_share_is_not_missing(tmp_path: Path) -> None:
    opinions = {"a": ["missing", "nnn"], "b": ["yyy", "missing"]}
    log = make_log(tmp_path, ROWS, epochs=2, again=[("mockllm/second", opinions)])
    answers = answers_df(log, judge="second")
    assert answers[["id", "run", "solved", "share"]].values.tolist() == [["b", 1, 1, 0.5], ["a", 2, 0, 0.5]]
    assert runs(answers_df(log, judge="mockllm/judge")) == {1: "ABCD", 2: "ABCD"}
    assert len(answers_df(log)) == 10


def test_an_imported_file_counts_once_whatever_epoch_it_is(tmp_path: Path) -> None:
    options: dict[str, Any] = {"scorer": "graded_file", "task": "inspect_clbench/clbench_graded"}
    for plan, hashes in (({"a": ["yyy", "nnn"]}, ["x", "y"]), ({"a": ["nnn", "nnn"]}, ["y", "z"])):
        metadata = {"model_name": "org/imported", "imported_sha256": hashes}
        make_log(tmp_path, ROWS[:1], plan, metadata=metadata, **options)
    answers = answers_df(tmp_path)
    assert runs(answers) == {1: "A", 2: "a", 3: "a"}
    assert set(answers["model"]) == {"org/imported"}


def test_shards_count_once_beside_the_log_that_they_were_merged_into(tmp_path: Path) -> None:
    for number, part in enumerate([ROWS[:2], ROWS[2:]]):
        make_log(tmp_path / "run.shards" / str(number), part, {"a": NO, "c": NO}, sample_ids=[*"abcd"])
    assert runs(answers_df(tmp_path)) == {1: "aBcD"}
    make_log(tmp_path, ROWS, {"a": NO, "c": NO}, name="run.eval")
    assert runs(answers_df(tmp_path)) == {1: "aBcD"}


# Which logs are read.


def test_a_log_that_is_still_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    running = make_log(tmp_path, ROWS, status="started")
    message = "its run has not ended; wait for it, or if it died: inspect eval-retry"
    with pytest.raises(ClbenchError, match=message):
        answers_df(running)
    with pytest.raises(ClbenchError, match="no finished log with verdicts of rubric_judge is there"):
        answers_df(tmp_path)
    caplog.clear()
    make_log(tmp_path, ROWS)
    assert runs(answers_df(tmp_path)) == {1: "ABCD"}
    assert warnings(caplog) == [f"{running} is passed over: {message}."]
    caplog.clear()
    make_log(tmp_path, ROWS, task_id=read_eval_log(running).eval.task_id)  # went on with it
    answers_df(tmp_path)
    assert not warnings(caplog)


def test_logs_of_others_are_passed_over(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    other = make_log(tmp_path, ROWS, task="inspect_evals/other", scorer="match")
    make_log(tmp_path, ROWS)
    assert runs(answers_df(tmp_path)) == {1: "ABCD"}
    assert not warnings(caplog)
    with pytest.raises(ClbenchError, match="it has no verdicts of rubric_judge"):
        answers_df(other)


def test_damaged_and_unjudged_logs(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    make_log(tmp_path, ROWS)
    unjudged = make_log(tmp_path, ROWS, scored=False)
    errors = make_log(tmp_path, ROWS, {id: ["error"] for id in "abcd"})
    damaged = tmp_path / "cut.eval"
    damaged.write_bytes(Path(unjudged).read_bytes()[:500])
    assert runs(answers_df(tmp_path)) == {1: "ABCD"}
    of_damaged, of_errors = sorted(warnings(caplog), key=lambda message: "verdict" in message)
    assert "cut.eval is passed over: it cannot be read" in of_damaged
    assert of_errors == f"{errors}: none of its answers has a verdict."
    with pytest.raises(ClbenchError, match=r"cut\.eval: it cannot be read"):
        answers_df(damaged)
    with pytest.raises(ClbenchError, match=r"no verdicts of rubric_judge; .* judged: inspect score LOG"):
        answers_df(unjudged)
    with pytest.raises(ClbenchError, match=r"no answer with a verdict.*inspect eval-retry"):
        answers_df(errors)


@pytest.mark.parametrize("path", ["nowhere", "empty", "nowhere.eval"])
def test_a_place_without_logs(path: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with pytest.raises(ClbenchError, match=path):
        answers_df(tmp_path / path)


# Series, and choosing among them.


@pytest.mark.parametrize(
    ("options", "detail"),
    [
        ({"reasoning_effort": "high"}, "reasoning effort high"),
        ({"temperature": 0.5, "max_tokens": 99}, "max tokens 99, temperature 0.5"),
        ({"solver": "my/agent"}, "my/agent"),
        ({"metadata": {"draw": {"contexts": 2, "seed": 3, "of": 500}}}, "2 of 500 contexts, seed 3"),
        ({"metadata": {"draw": {"seed": 1, "strata": {}}}}, "? of ? contexts, seed 1"),
        ({"version": 1}, "version 1"),
        ({"judge": "mockllm/other"}, "judge mockllm/other"),
        ({"effort": "low"}, "judge effort low"),
        ({"prompt": "mine.txt"}, "prompt mine.txt"),
    ],
)
def test_what_differs_in_its_settings_is_never_pooled(
    options: dict[str, Any], detail: str, tmp_path: Path
) -> None:
    make_log(tmp_path, ROWS)
    make_log(tmp_path, ROWS, dict.fromkeys("abcd", NO), **options)
    rates = answers_df(tmp_path).groupby("name")["solved"].mean()
    assert sorted(rates) == [0, 1]
    assert detail in rates.idxmin()


def test_epochs_and_logs_of_another_seed_are_further_runs(tmp_path: Path) -> None:
    make_log(tmp_path, ROWS[:2], {"a": ["yyy", "nnn"], "b": ["nnn", "nnn"]}, seed=1)
    make_log(tmp_path, ROWS[:2], {"a": NO, "b": YES}, seed=2, max_connections=5)
    assert runs(answers_df(tmp_path)) == {1: "Ab", 2: "ab", 3: "aB"}


def test_prompts_of_one_name_are_told_apart_by_their_hash(tmp_path: Path) -> None:
    make_log(tmp_path, ROWS, prompt="mine.txt")

    def change(log: EvalLog) -> None:
        for score in scores_of(log):
            (score.metadata or {})["judge_prompt_sha256"] = "0123456789"

    edited(make_log(tmp_path, ROWS, prompt="mine.txt"), change)
    assert "mockllm/student (prompt 0123456)" in set(answers_df(tmp_path)["name"])


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("several")
    for model in ("org/gpt-5", "org/gpt-5-mini", "lab/claude"):
        make_log(folder, ROWS[:1], model=model)
    make_log(folder, ROWS[:1], model="org/gpt-5", judge="mockllm/other", reasoning_effort="high")
    make_log(folder, ROWS[:1], model="org/gpt-5", judge=["mockllm/other", "mockllm/judge"])
    make_log(folder, ROWS[:1], model="lab/claude", dataset="CL-bench Life")
    return folder


@pytest.mark.parametrize(
    ("choice", "rows"),
    [
        ({}, 6),
        ({"model": "gpt-5"}, 3),
        ({"model": "org/gpt-5"}, 2),  # which is the name of a row
        ({"model": ["MINI", "claude"]}, 3),
        ({"model": "org/gpt-5 (reasoning effort high)"}, 1),
        ({"judge": "mockllm/judge"}, 4),
        ({"judge": ["mockllm/judge", "other, mockllm/judge"]}, 5),
        ({"dataset": "life", "model": "claude"}, 1),
    ],
)
def test_choosing(choice: dict[str, Any], rows: int, several: Path) -> None:
    assert len(answers_df(several, **choice)) == rows


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"model": "gpt"}, r"gpt: several models .*\. There are: org/gpt-5, org/gpt-5-mini\."),
        ({"model": "grok"}, r"grok: no such model\. There are: lab/claude, org/gpt-5.*"),
        ({"judge": "nobody"}, "nobody: no such judge"),
        ({"dataset": "MMLU"}, r"MMLU: no such dataset\. There are: CL-bench, CL-bench Life\."),
        ({"labels": {"grok": "Grok"}}, "grok: no such model"),
        ({"labels": {"mini": "M", "claude": "M"}}, "Two models would have the same name"),
    ],
)
def test_names_that_nobody_has(choice: dict[str, Any], message: str, several: Path) -> None:
    with pytest.raises(ClbenchError, match=message):
        answers_df(several, **choice)


def test_labels_are_what_models_are_called(several: Path) -> None:
    labels = {"mini": "Mini", "lab/claude": "Claude", "other, mockllm/judge": "By two"}
    answers = answers_df(several, labels=labels, dataset="CL-bench")
    assert {"Mini", "Claude", "By two"} < set(answers["name"])
    assert "org/gpt-5 (reasoning effort high, judge mockllm/other)" in set(answers["name"])


# What makes no sense.


def test_tasks_that_differ_between_logs_are_refused(tmp_path: Path) -> None:
    first = make_log(tmp_path, ROWS)
    second = make_log(tmp_path, [*ROWS[:3], row("d", rubrics=["Says another."])], model="mockllm/other")
    with pytest.raises(ClbenchError, match=r"as for task d\. Name logs of one version") as refused:
        answers_df(tmp_path)
    assert str(refused.value).startswith(f"{first} and {second}: ")


@pytest.mark.parametrize(
    ("of", "key", "value"),
    [
        ("sample", "context_category", ["a list"]),
        ("score", "judge_usage", "much"),
        ("score", "answer_usage", {"model": {"input_tokens": "many"}}),
        ("score", "answer_usage", {"model": {"output_tokens": 1e308}}),
        ("score", "status", "ABC"),
        ("score", "votes", [{"status": "yyy"}]),
    ],
)
def test_damaged_metadata_name_log_and_sample(of: str, key: str, value: Any, tmp_path: Path) -> None:
    def damage(log: EvalLog) -> None:
        metadata = scores_of(log)[1].metadata if of == "score" else (log.samples or [])[1].metadata
        (metadata or {})[key] = value

    log = edited(make_log(tmp_path, ROWS), damage)
    with pytest.raises(ClbenchError) as refused:
        answers_df(log)
    assert str(refused.value).startswith(f"{log}, sample b, epoch 1")
    assert "The log is damaged, or other software wrote it." in str(refused.value)


@pytest.mark.parametrize(
    ("value", "word"),
    [("C", "A"), ("I", "a"), ("N", "(a)"), (1, "A"), (0, "a"), ("yes", ""), (0.5, ""), ([1], "")],
)
def test_values_of_scores(value: Any, word: str, tmp_path: Path) -> None:
    def edit(log: EvalLog) -> None:
        scores_of(log)[0].value = value

    log = edited(make_log(tmp_path, ROWS), edit)
    if word:
        assert runs(answers_df(log)) == {1: f"{word}BCD"}
        return
    message = r"sample a, epoch 1, rubric_judge: .* is no verdict\. It is C, I, N, 1 or 0"
    with pytest.raises(ClbenchError, match=message):
        answers_df(log)


def test_a_log_that_other_software_wrote_is_one_message(tmp_path: Path) -> None:
    def change(log: EvalLog) -> None:
        log.eval.metadata = {"draw": ["much"]}

    with pytest.raises(
        ClbenchError, match=r"cannot be read .* The log is damaged, or other software wrote it"
    ):
        answers_df(edited(make_log(tmp_path, ROWS), change))


def test_other_scores_in_a_log_are_left_alone(tmp_path: Path) -> None:
    def add(log: EvalLog) -> None:
        for sample in log.samples or ():
            assert sample.scores
            score = sample.scores["rubric_judge"].model_copy(deep=True)
            score.metadata = {"status": 3, "judge": ["x"]}
            sample.scores |= {"match": score, "rubric_judge_by_ann": score}

    assert runs(answers_df(edited(make_log(tmp_path, ROWS), add))) == {1: "ABCD"}
