"""CL-bench Life: its rows, its judge's effort, its tables."""

import json
import os
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import eval, score
from inspect_ai.log import EvalLog, read_eval_log

from inspect_clbench.analysis import compare, load_series, report
from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.data.dataset import load_samples
from inspect_clbench.demo.provider import is_met
from inspect_clbench.errors import ClbenchError
from inspect_clbench.exchange.export import leaderboard
from inspect_clbench.output import tables_of
from inspect_clbench.scoring.rubric_judge import rubric_judge
from tests.support.builders import demo_eval, metrics_of, verdict
from tests.support.command import clbench
from tests.support.programs import inspect
from tests.support.server import Call, LoopbackServer, Reply

Serve = Callable[[Callable[[Call], Reply]], LoopbackServer]

ROW = {
    "messages": [{"role": "user", "content": "Who brings the soup?"}],
    "rubrics": ["Names Otto."],
    "metadata": {
        "task_id": "life-1",
        "context_category": "Behavioral Records & Activity Trails",
        "context_subcategory": "Game Logs",
    },
}


@pytest.fixture(scope="module")
def life_log(tmp_path_factory: pytest.TempPathFactory) -> EvalLog:
    return demo_eval(tmp_path_factory.mktemp("life"), task="clbench_life", epochs=3)


def test_the_demo_has_a_row_of_each_sub_category() -> None:
    samples = list(load_samples("demo", CLBENCH_LIFE))
    found = Counter((s.metadata or {})["sub_category"] for s in samples)
    assert found.keys() == set(CLBENCH_LIFE.sub_categories)
    assert len(CLBENCH_LIFE.categories) == 3
    roles = [[m.role for m in s.input if not isinstance(m, str)] for s in samples]
    assert all(set(turns) <= {"user", "assistant"} for turns in roles)
    assert {len(turns) for turns in roles} == {1, 3, 5}


def test_the_demo_can_be_solved_and_failed() -> None:
    folder = Path(__file__).parents[1] / "src" / "inspect_clbench" / "demo"
    scripts = json.loads((folder / "life_answers.json").read_text("utf-8"))
    for sample in load_samples("demo", CLBENCH_LIFE):
        rubrics = (sample.metadata or {})["rubrics"]
        answers = scripts[sample.id]["answers"]
        solved = [all(is_met(rubric, answer) for rubric in rubrics) for answer in answers]
        assert any(solved), sample.id
        assert not all(solved), sample.id


def test_a_demo_run_has_metrics_for_its_own_groups(life_log: EvalLog) -> None:
    metadata = life_log.eval.metadata or {}
    assert (metadata["benchmark"], metadata["demo"]) == ("CL-bench Life", True)
    metrics = metrics_of(life_log)
    # Five, six and seven of ten tasks are solved in the three runs.
    assert metrics["solving_rate"] == pytest.approx(0.6)
    assert metrics["std"] == pytest.approx(0.1)
    assert set(CLBENCH_LIFE.categories) | set(CLBENCH_LIFE.sub_categories) <= metrics.keys()
    # Without contexts each task is a cluster of its own. Solved of three runs:
    solved = [2, 2, 2, 1, 2, 1, 2, 2, 2, 2]
    squares = sum((count / 3 - 0.6) ** 2 for count in solved)
    assert metrics["stderr"] == pytest.approx((squares * 10 / 9) ** 0.5 / 10)


def test_tables_and_the_leaderboard_know_its_categories(life_log: EvalLog) -> None:
    (table,) = tables_of(report(life_log.location))
    assert set(CLBENCH_LIFE.categories) <= set(table.columns)
    (by_sub_category,) = tables_of(report(life_log.location, by="sub_category"))
    assert set(CLBENCH_LIFE.sub_categories) <= set(by_sub_category.columns)
    (series,) = load_series([life_log.location])
    board = leaderboard(series, "Somebody")
    keys = ("overall", "interpersonal", "thought", "behavior")
    expected = {"model", "org", *keys, *(f"{key}_std" for key in keys)}
    assert board.keys() == expected
    assert (board["overall"], board["overall_std"]) == (0.6, 0.1)


def test_the_two_benchmarks_do_not_share_a_table(life_log: EvalLog, demo_log: str) -> None:
    tables = report([life_log.location, demo_log]).tables
    assert [table.series[0].dataset_name for table in tables] == [
        "CL-bench demo",
        "CL-bench Life demo",
    ]
    frame = report([life_log.location, demo_log]).to_pandas()
    assert set(frame["dataset"]) == {"CL-bench demo", "CL-bench Life demo"}


def test_a_comparison_in_a_folder_of_both_asks_for_the_dataset(
    life_log: EvalLog, demo_log: str, tmp_path: Path
) -> None:
    for path in (life_log.location, demo_log):
        shutil.copy(path, tmp_path)
    with pytest.raises(ClbenchError, match=r"different datasets .* Choose one: --dataset"):
        compare(str(tmp_path))


@pytest.mark.parametrize("name", ["CL-bench Life.jsonl", "CL-bench-Life.jsonl"])
def test_a_file_is_read_under_both_of_its_names(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text(json.dumps(ROW) + "\n", "utf-8")
    (sample,) = load_samples(str(path), CLBENCH_LIFE)
    assert sample.id == "life-1"
    assert (sample.metadata or {})["sub_category"] == "Game Logs"
    assert (sample.metadata or {})["context_id"] is None


def test_rows_of_the_other_benchmark_are_told(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(ROW) + "\n", "utf-8")
    with pytest.raises(ClbenchError, match=r"rows\.jsonl, row 1, task life-1"):
        load_samples(str(path), CLBENCH)


def _judge(call: Call) -> Reply:
    return Reply("Otto." if call.model == "student" else verdict(1, ["yes"]))


def _efforts(server: LoopbackServer) -> list[str]:
    """The efforts at which answers were judged, in the order of the requests."""
    asked = [c for c in server.calls_of("gpt-5.1") if "Names Otto." in c.prompt]
    return [call.body["reasoning"]["effort"] for call in asked]


@pytest.fixture
def default_judge(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> LoopbackServer:
    server = serve(_judge)
    monkeypatch.setenv("OPENAI_BASE_URL", server.url)
    monkeypatch.setenv("OPENAI_API_KEY", "loop-key")
    return server


def _run(task: str, row: dict[str, Any], folder: Path) -> EvalLog:
    path = folder / "rows.jsonl"
    path.write_text(json.dumps(row) + "\n", "utf-8")
    (log,) = eval(
        f"inspect_clbench/{task}",
        task_args={"dataset": str(path)},
        model="openai-api/loop/student",
        log_dir=str(folder),
        display="none",
    )
    assert log.status == "success", log.error
    return log


def _judge_effort(log: EvalLog) -> str:
    (sample,) = log.samples or []
    return str((list((sample.scores or {}).values())[-1].metadata or {})["judge_effort"])


def test_the_default_judge_works_at_high_effort(
    default_judge: LoopbackServer, tmp_path: Path
) -> None:
    log = _run("clbench_life", ROW, tmp_path)
    assert _efforts(default_judge) == ["high"]
    assert _judge_effort(log) == "high"
    # Scored again, with nothing said about the effort, and then with.
    read = read_eval_log(log.location)
    again = score(read, rubric_judge(), action="append", display="none")
    assert _efforts(default_judge) == ["high", "high"]
    assert _judge_effort(again) == "high"
    other = score(read, rubric_judge(judge_effort="medium"), action="append", display="none")
    assert _efforts(default_judge) == ["high", "high", "medium"]
    assert _judge_effort(other) == "medium"


def test_the_other_benchmark_keeps_low_effort(
    default_judge: LoopbackServer, tmp_path: Path
) -> None:
    metadata = {
        "task_id": "a",
        "context_id": "c",
        "context_category": "Rule System Application",
        "sub_category": "Game Mechanics",
    }
    log = _run("clbench", {**ROW, "metadata": metadata}, tmp_path)
    assert _efforts(default_judge) == ["low"]
    assert _judge_effort(log) == "low"


@pytest.mark.long
@pytest.mark.parametrize(
    ("name", "task", "effort", "order"),
    [("paper", "clbench", "low", 20), ("paper-life", "clbench_life", "high", None)],
)
def test_run_configs(
    name: str,
    task: str,
    effort: str,
    order: int | None,
    serve: Serve,
    tmp_path: Path,
) -> None:
    found = clbench("run-config", name)
    run = inspect(
        *("eval", "--run-config", found.stdout.strip()),
        *("-T", "dataset=demo", "-T", "judge_prompt=builtin", "--limit", "1"),
        *("--model", "clbench_demo/student", "--no-score", "--display", "none"),
        cwd=tmp_path,
        env={
            **os.environ,
            "OPENAI_API_KEY": "none",
            "OPENAI_BASE_URL": serve(lambda _: Reply("ready")).url,
            "INSPECT_LOG_DIR": str(tmp_path / "logs"),
        },
    )
    (path,) = (tmp_path / "logs").glob("*.eval")
    header = read_eval_log(str(path), header_only=True).eval
    assert header.task == f"inspect_clbench/{task}", run.stderr
    assert header.config.epochs == 3
    roles = header.model_roles or {}
    grader = roles["grader"]
    assert not isinstance(grader, list)
    assert (grader.model, grader.config.reasoning_effort) == ("openai/gpt-5.1", effort)
    assert header.task_args["cache_order"] == order
    assert header.model_generate_config.max_connections == order
