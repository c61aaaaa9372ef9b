"""The demo: its rows, its offline student and judge, and each way in which a row can end."""

from collections import Counter
from pathlib import Path
from typing import Any

from inspect_ai import score
from inspect_ai.log import EvalLog
from inspect_ai.model import get_model

from inspect_clbench.benchmarks import CLBENCH, ERROR_TYPES, error_types_of
from inspect_clbench.demo.provider import is_met, load_scripts
from inspect_clbench.error_types.scorer import error_types
from inspect_clbench.judge.prompt import ANSWER, RUBRICS
from tests.support.builders import metrics_of, run_eval


def test_each_way_a_row_can_end_is_seen(demo_run: EvalLog) -> None:
    samples = demo_run.samples or []
    rows = [sample.metadata for sample in samples if sample.epoch == 1]
    assert len(rows) == len(load_scripts()) == 24
    assert {row["sub_category"] for row in rows} == set(CLBENCH.sub_categories)
    # A rubric that quotes nothing would be met by anything.
    assert all('"' in rubric for row in rows for rubric in row["rubrics"])
    scores = [sample.scores["rubric_judge"] for sample in samples if sample.scores]
    endings = Counter((score.value, score.reason) for score in scores)
    assert endings == {("C", None): 30, ("I", None): 38, ("I", "no_response"): 1, ("I", "grader_failed"): 3}
    metadata = [score.metadata or {} for score in scores]
    assert sum(score["inconsistent"] for score in metadata) == 1
    assert [score["status"] for score in metadata if score["stop_reason"] == "max_tokens"] == ["yyynnn"]
    assert Counter(score["judge_attempts"] for score in metadata) == {0: 1, 1: 62, 2: 6, 3: 3}
    assert metrics_of(demo_run)["std"] > 0


def test_its_failures_have_error_types(demo_run: EvalLog) -> None:
    roles: Any = {"grader": get_model("clbench_demo/judge", memoize=False)}
    labelled = score(demo_run, error_types(), model_roles=roles, action="append", display="none")
    values = Counter((sample.scores or {})["error_types"].value for sample in labelled.samples or [])
    assert values["solved"] == 30
    assert values["unlabelled"] == values["none"] == 0
    assert {name for value in values for name in error_types_of(str(value)) or ()} == set(ERROR_TYPES)


def test_a_rubric_is_met_by_the_words_that_it_quotes() -> None:
    rubrics = ['Names the pier: "pier 4".', 'Does not say "pier 14".', 'Says "at *nine*" and "sharp".']
    assert all(is_met(rubric, "From **pier 4**, at nine `sharp`!") for rubric in rubrics)
    assert not any(is_met(rubric, "From pier 14, at nine, sharpish.") for rubric in rubrics)


def test_an_eval_depends_neither_on_those_before_it_nor_on_the_template(tmp_path: Path) -> None:
    template = tmp_path / "template.txt"
    template.write_text(f"Grade this:\n{ANSWER}\nby this:\n{RUBRICS}\nReply with JSON.", encoding="utf-8")
    # Inspect keeps the model; if it counted its calls, the second eval would get the second answers.
    models: Any = {"model": get_model("clbench_demo/student"), "model_roles": None}
    logs = [
        run_eval("demo", tmp_path / "logs", task_args={"judge_prompt": prompt}, **models)
        for prompt in ("builtin", str(template))
    ]
    assert metrics_of(logs[0])["solving_rate"] == metrics_of(logs[1])["solving_rate"] > 0
