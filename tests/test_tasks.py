"""The tasks as Inspect runs them: which samples in which order, and what is wrong at the start."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import Task
from inspect_ai.log import list_eval_logs
from inspect_ai.util import registry_info

from inspect_clbench import clbench, clbench_life
from inspect_clbench.benchmarks import CLBENCH_LIFE
from inspect_clbench.errors import ClbenchError
from tests.support.builders import row, run_eval, spread_rows, verdict, write_rows
from tests.support.files import FileServer, Response
from tests.support.server import Reply, Serve

LIFE_ROW = row(
    "life-1",
    metadata={
        "task_id": "life-1",
        "context_category": "Behavioral Records & Activity Trails",
        "context_subcategory": "Game Logs",
    },
)


def ids(task: Task) -> list[Any]:
    return [sample.id for sample in task.dataset]


@pytest.fixture
def rows(tmp_path: Path) -> str:
    return write_rows(tmp_path / "rows.jsonl", spread_rows(12))


def test_a_task_says_what_it_is_of(rows: str) -> None:
    with FileServer(lambda path: Response(Path(rows).read_bytes())) as server:
        task = clbench(dataset=f"{server.url}/rows.jsonl?signature=abc")
    # Secrets of a URL stay out of the log.
    assert (task.dataset.name, task.dataset.location) == ("CL-bench", f"{server.url}/rows.jsonl")
    assert task.version == 2
    assert task.headline_metric is not None
    assert (task.headline_metric.scorer, task.headline_metric.metric) == ("rubric_judge", "solving_rate")
    assert [registry_info(scorer).name for scorer in task.scorer or []] == ["inspect_clbench/rubric_judge"]
    assert (task.config.max_retries, task.continue_on_fail, task.model_roles) == (9, True, None)


def test_life_rows_have_no_contexts_and_another_name_for_sub_categories(tmp_path: Path) -> None:
    task = clbench_life(dataset=write_rows(tmp_path / "life.jsonl", [LIFE_ROW]), category="game logs")
    assert (task.dataset.name, ids(task)) == (CLBENCH_LIFE.title, ["life-1"])
    metadata = task.dataset[0].metadata or {}
    assert (metadata["context_id"], metadata["sub_category"]) == (None, "Game Logs")
    with pytest.raises(ClbenchError, match="unknown context_category; use one of: Communication"):
        clbench_life(dataset="demo")


def test_categories_a_draw_and_the_cache_order_go_together(rows: str) -> None:
    assert ids(clbench(dataset=rows)) == [f"t{n}" for n in range(1, 13)]
    assert ids(clbench(dataset=rows, category=["finance", "Humanities"])) == ["t1", "t2", "t5", "t6"]
    with pytest.raises(ClbenchError, match=r"rows.jsonl: no row is of category=Experimental"):
        clbench(dataset=rows, category="Experimental Data")
    drawn = clbench(dataset=rows, contexts=3, seed=1)
    assert (drawn.metadata or {})["draw"] == {"contexts": 3, "seed": 1, "of": 6}
    contexts = {(sample.metadata or {})["context_id"] for sample in drawn.dataset}
    assert len(contexts) == 3
    whole = [record["metadata"] for record in spread_rows(12) if record["metadata"]["context_id"] in contexts]
    assert ids(drawn) == [metadata["task_id"] for metadata in whole]
    ordered = clbench(dataset=rows, contexts=3, seed=1, cache_order=1)
    assert ids(ordered) == ids(drawn)[::2] + ids(drawn)[1::2]


def test_not_a_character_changes_and_a_limit_takes_the_first_rows(tmp_path: Path, serve: Serve) -> None:
    texts = [
        "<think>Hm.</think> At 7.",
        "a\u2028b\u0085c",
        " \r\n padded\t\n",
        "{rubrics_text} $x$ <b>",
        "é\U0001f40b",
    ]
    turns = [("system", texts[0]), ("user", texts[1]), ("assistant", texts[0]), ("user", texts[2])]
    messages = [{"role": role, "content": text} for role, text in turns]
    records = [row("t1", messages=messages), *(row(f"q{n}", question=text) for n, text in enumerate(texts))]
    server = serve(lambda call: Reply(verdict(0) if call.model == "judge" else "An answer."))
    path = write_rows(tmp_path / "rows.jsonl", [*records, row("t2")])
    log = run_eval(path, tmp_path, limit=len(records))
    assert log.status == "success", log.error
    prompts = [json.dumps(call.messages) for call in server.calls_of("student")]
    assert sorted(prompts) == sorted(json.dumps(record["messages"]) for record in records)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "The judge cannot work: role grader, model openai/gpt-5.1."),
        (("--model-role", "grader=clbench_demo/judge", "-T", "category=Finance,[x]"), "category=[x]: no such category. Use one of: Domain Knowledge"),
    ],
    ids=["no key", "wrong argument"],
)  # fmt: skip
def test_what_is_wrong_at_the_start_is_one_message_and_no_log(
    arguments: tuple[str, ...], words: str, rows: str, tmp_path: Path
) -> None:
    process = subprocess.run(
        [sys.executable, "-m", "inspect_ai", "eval", "inspect_clbench/clbench", "-T", f"dataset={rows}", *arguments,
         "--model", "clbench_demo/student", "--log-dir", "logs", "--display", "plain"],
        cwd=tmp_path, env={name: value for name, value in os.environ.items() if not name.endswith("_API_KEY")},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    printed = " ".join((process.stdout + process.stderr).split())
    assert process.returncode == 1
    assert words in printed
    assert "Traceback" not in printed
    assert not list_eval_logs(str(tmp_path / "logs"))
