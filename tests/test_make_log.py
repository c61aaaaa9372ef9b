"""`make_log` tells the truth: its logs are those of real evals of the same plans."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import (
    EvalLog,
    read_eval_log,
    read_eval_log_sample_summaries,
    write_eval_log,
)

from inspect_clbench import rubric_judge
from inspect_clbench.benchmarks import CLBENCH_LIFE
from tests.support.builders import row
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, ERROR, GARBLED, scripted_eval, scripted_judge, tasks

FOUR = tasks("a", "b", "c", "d")
OUTCOMES = {
    "a": ["yyn", "yyn!"],
    "b": [GARBLED, "y?y"],
    "c": [EMPTY, "yyy"],
    "d": ["yy", "-"],
}
SHAPES: dict[str, dict[str, Any]] = {
    "every outcome in two runs": {"plan": OUTCOMES},
    "an error": {"plan": OUTCOMES | {"a": ["yyy", ERROR]}},
    "errors only": {"plan": {task: [ERROR] for task in "abcd"}},
    "a panel": {"plan": OUTCOMES, "judge": ["one", "two", "three"]},
    "a panel of opinions": {
        "plan": OUTCOMES,
        "judge": ["strict", "mild"],
        "says": {"strict": {t: ["nnn", GARBLED] for t in "abcd"}},
    },
    "failures left out": {"plan": OUTCOMES, "task_args": {"judge_failure": "unscored"}},
    "drawn contexts": {"plan": OUTCOMES, "task_args": {"contexts": 1, "seed": 3}},
    "a range": {"plan": OUTCOMES, "limit": (1, 3)},
    "the first two": {"plan": OUTCOMES, "limit": 2},
    "named samples": {"plan": OUTCOMES, "sample_id": ["a", "c"]},
    "settings": {"plan": OUTCOMES, "reasoning_effort": "low", "temperature": 0.5},
    "not scored": {"plan": OUTCOMES, "score": False},
}

# What a run measures or chooses by chance, and what `make_log` leaves out.
CHANCE = {
    "eval_id", "run_id", "task_id", "created", "revision", "started_at", "completed_at",
    "total_time", "working_time", "uuid", "time", "events", "attachments", "traceback",
    "traceback_ansi", "location", "dataset_file", "connection_limit_history",
}  # fmt: skip


def comparable(value: Any, ids: dict[str, str]) -> Any:
    """The value without chance, and with ids of messages numbered as they come."""
    if isinstance(value, dict):
        return {
            key: ids.setdefault(str(found), f"id-{len(ids)}")
            if key == "id" and isinstance(found, str) and "-" not in found and len(found) == 22
            else comparable(found, ids)
            for key, found in value.items()
            if key not in CHANCE
        }
    if isinstance(value, list):
        return [comparable(one, ids) for one in value]
    return "nan" if value != value else value


def content(log: EvalLog) -> Any:
    """A log as it is read from its file: header, samples and summaries."""
    whole = read_eval_log(log.location)
    summaries = read_eval_log_sample_summaries(log.location)
    parts = {
        "log": json.loads(whole.model_dump_json()),
        "summaries": [json.loads(one.model_dump_json()) for one in summaries],
    }
    text = json.dumps(comparable(parts, {})).replace(str(Path(log.location).parent), "FOLDER")
    return json.loads(text)


LIFE = [
    row(id) | {"metadata": {"task_id": id, "context_category": category, "sub_category": sub}}
    for id, (category, subs) in zip("abcd", CLBENCH_LIFE.groups.items(), strict=False)
    for sub in subs[:1]
]


def same(made: EvalLog, real: EvalLog) -> None:
    """Nothing but chance distinguishes the logs; a difference is shown where it is small."""
    one, other = content(made), content(real)
    assert one["summaries"] == other["summaries"]
    for ours, theirs in zip(one["log"]["samples"], other["log"]["samples"], strict=True):
        assert ours == theirs
    assert one == other


@pytest.mark.parametrize("shape", SHAPES)
def test_the_log_is_that_of_a_real_eval(shape: str, tmp_path: Path) -> None:
    options = SHAPES[shape]
    same(
        make_log(tmp_path / "made", FOUR, **options),
        scripted_eval(tmp_path / "real", FOUR, **options),
    )


def test_the_log_of_the_other_benchmark(tmp_path: Path) -> None:
    plan = {id: ["yyn"] for id in "abc"}
    same(
        make_log(tmp_path / "made", LIFE, plan, task="clbench_life"),
        scripted_eval(tmp_path / "real", LIFE, plan, task="clbench_life"),
    )


def test_scores_of_further_judges_are_appended(tmp_path: Path) -> None:
    plan = {"a": ["yyn"], "b": [EMPTY], "c": [ERROR], "d": ["yyy"]}
    again = {"a": ["yyy"], "d": [GARBLED]}
    options: dict[str, Any] = {"task_args": {"judge_failure": "unscored"}}
    real = scripted_eval(tmp_path / "real", FOUR, plan, **options)
    for name, said in (("other", again), ("judge", plan)):
        scored = score(
            read_eval_log(real.location),
            rubric_judge(),
            action="append",
            model_roles={"grader": scripted_judge(name, plan=said)},
            display="none",
        )
        write_eval_log(scored, real.location)
    appended = [("other", again | {"b": [EMPTY]}), ("judge", plan)]
    same(make_log(tmp_path / "made", FOUR, plan, again=appended, **options), real)
