"""Tokens and money, added up by hand."""

import json
from pathlib import Path
from typing import Any

import pytest
from inspect_ai import score
from inspect_ai.log import read_eval_log, write_eval_log
from inspect_ai.model import ModelCost, ModelUsage

from inspect_clbench import error_types, rubric_judge
from inspect_clbench.analysis import costs
from inspect_clbench.analysis.costs import Costs, Group, Spent, Use, most_cached
from inspect_clbench.exchange.export import export
from inspect_clbench.exchange.imports import import_graded
from inspect_clbench.output import Table, render, tables_of
from inspect_clbench.output.costs import cost_tables
from tests.support.builders import run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, tasks
from tests.support.server import Call, Reply

PLAN = {"a": ["yyy", "yyy"], "b": ["yyn", EMPTY]}
PRICES = {
    "mockllm/student": ModelCost(input=2, output=10, input_cache_write=2, input_cache_read=0.5),
    "mockllm/judge": ModelCost(input=1, output=4, input_cache_write=1, input_cache_read=1),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("costs")
    make_log(path, tasks("a", "b"), PLAN)
    return path


def tables(path: Path, prices: Any = None) -> list[Table]:
    return tables_of(costs(str(path), prices))


def values(table: Table, start: int) -> list[list[object]]:
    return [[cell.value for cell in row[start:]] for row in table.rows]


def tokens(table: Table) -> list[list[object]]:
    """Input, cached input, output and reasoning of each row."""
    return [[*row[:2], *row[4:]] for row in values(table, 3)]


def roles(table: Table) -> list[tuple[str, str]]:
    return [(row[1].text, row[2].text) for row in table.rows]


def test_tokens_by_role(folder: Path) -> None:
    (table,) = tables(folder)
    assert table.title == "CL-bench: tokens by role"
    assert table.columns[3:] == (
        "Input", "Cached input", "Cached", "Possible", "Output", "Reasoning",
    )  # fmt: skip
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/judge")]
    # Four answers of 100 + 40 cached and 20 (5 of them reasoning); the empty one is not judged.
    cached, none = 160 / 560, None
    assert values(table, 3) == [
        [400, 160, cached, 0.0, 80, 20],
        [150, None, none, none, 30, None],
    ]


def test_money_per_run_and_per_solved_task(folder: Path) -> None:
    _, money = tables(folder, PRICES)
    student = (400 * 2 + 160 * 0.5 + 80 * 10) / 1e6
    judge = (150 * 1 + 30 * 4) / 1e6
    (row,) = values(money, 1)
    total = student + judge
    assert row == pytest.approx([total, judge, 2, total / 2, 2, total / 2])


def test_cache_writes_without_a_price_are_noted() -> None:
    usage = ModelUsage(input_tokens=1, output_tokens=1, input_tokens_cache_write=1_200)
    group = Group("CL-bench", "m", "", None)
    spent = Spent(group, "m", 1.0, 0.0, 0.0, 1, 1, "j")
    uses = (Use(group, "m", "model", "m", usage),)
    money = cost_tables(Costs(uses, (spent,), {"m": 1_200}))[1]
    (warning,) = (note.text for note in money.notes if note.is_warning)
    assert warning.startswith("m: 1,200 tokens were written to the provider's cache")


def test_runs_under_two_judges_are_all_counted(tmp_path: Path) -> None:
    for judge in ("judge", "other"):
        make_log(tmp_path, tasks("a", "b"), PLAN, judge=judge)
    prices = PRICES | {"mockllm/other": PRICES["mockllm/judge"]}
    (spent,) = costs(str(tmp_path), prices).spent or ()
    assert (spent.runs, spent.solved) == (4, 4)
    assert spent.judge == "mockllm/judge, mockllm/other"


def test_a_frame_has_a_row_per_role_and_model(folder: Path) -> None:
    frame = costs(str(folder)).to_pandas()
    assert list(frame["run_of"]) == ["mockllm/student"] * 2
    assert list(frame["role"]) == ["model", "grader"]
    assert list(frame["model"]) == ["mockllm/student", "mockllm/judge"]
    counts = ["input_tokens", "input_tokens_cache_read", "output_tokens", "reasoning_tokens"]
    assert frame.loc[0, [*counts, "total_tokens"]].tolist() == [400, 160, 80, 20, 640]
    assert frame.loc[1, ["input_tokens", "output_tokens", "total_tokens"]].tolist() == [
        150, 30, 180,
    ]  # fmt: skip
    assert frame.loc[1, ["input_tokens_cache_read", "reasoning_tokens"]].isna().all()


def test_the_money_that_inspect_wrote_into_the_log(folder: Path, tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a", "b"), PLAN).model_copy(deep=True)
    assert costs(log.location).spent is None
    for usages, usd in ((log.stats.model_usage, 3.0), (log.stats.role_usage, 1.0)):
        for name, usage in usages.items():
            usage.total_cost = usd if name != "mockllm/judge" else 1.0
    write_eval_log(log)
    found = costs(log.location)
    assert [use.usd for use in found.uses] == [3.0, 1.0]
    (spent,) = found.spent or ()
    assert (spent.total, spent.judging, spent.after_run, spent.per_run) == (4.0, 1.0, 0.0, 2.0)
    assert spent.per_solved == 2.0
    assert list(found.to_pandas()["usd"]) == [3.0, 1.0]
    # A file of prices comes first, for the models that it names.
    (priced,) = costs(log.location, {"mockllm/student": PRICES["mockllm/student"]}).spent or ()
    assert priced.total == pytest.approx(1.0 + (400 * 2 + 160 * 0.5 + 80 * 10) / 1e6)
    # Money that is known of some logs only is not the money of all.
    make_log(tmp_path, tasks("a", "b"), PLAN)
    assert costs(tmp_path).spent is None


def test_writes_for_an_hour_cost_more(tmp_path: Path) -> None:
    log = make_log(tmp_path, tasks("a"), {"a": ["yyy"]}).model_copy(deep=True)
    log.stats.model_usage["mockllm/student"].input_tokens_cache_write = 1_000_000
    write_eval_log(log)
    (usual,) = costs(log.location, PRICES).spent or ()
    log.eval.model_args["cache_ttl"] = "1h"
    write_eval_log(log)
    (hour,) = costs(log.location, PRICES).spent or ()
    # Inspect takes twice the input price where the usual write costs 1.25 of it.
    assert hour.total - usual.total == pytest.approx(2 * 0.6)


def test_what_was_used_after_the_run_counts(serve: Any, tmp_path: Path) -> None:
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    mended = False

    def script(call: Call) -> Reply:
        text = "An answer." if call.model == "student" else verdict(0, ["no"] * 3)
        if call.model == "judge" and not mended:
            text = "Hm."
        return Reply(text, changes={"usage": usage})

    serve(script)
    rows = write_rows(tmp_path / "rows.jsonl", tasks("a", "b"))
    log = run_eval(rows, tmp_path / "logs")
    file = log.location
    assert not any(use.score for use in costs(file).uses)

    assert "2 still have none" in clbench("regrade", file).stdout  # three replies for each
    mended = True
    assert clbench("regrade", file).exit_code == 0
    for scorer in (rubric_judge(), error_types(attempts=1)):
        again = score(
            read_eval_log(file), scorer, model_roles={"grader": "openai-api/loop/second"},
            action="append", display="none",
        )  # fmt: skip
        write_eval_log(again, file)
    # A copy with the same scores is not counted again.
    (tmp_path / "logs" / "copy.eval").write_bytes(Path(file).read_bytes())

    found = costs(tmp_path / "logs")
    used = {(use.model.rpartition("/")[2], use.score): use.usage for use in found.uses}
    replies = {key: usage.output_tokens / 10 for key, usage in used.items()}
    assert replies == {
        ("student", ""): 2,
        ("judge", ""): 2 * 3 + 1,  # the first request asks whether it works
        ("judge", "rubric_judge"): 2 * 3 + 2,
        ("second", "rubric_judge1"): 2,
        ("second", "error_types"): 2,
    }
    price = ModelCost(input=0, output=1e5, input_cache_write=0, input_cache_read=0)
    prices = {use.model: price for use in found.uses}
    (spent,) = costs(tmp_path / "logs", prices).spent or ()
    assert (spent.total, spent.judging, spent.after_run) == (21.0, 19.0, 12.0)
    assert spent.per_run == 9.0
    text = " ".join(render(costs(tmp_path / "logs", prices), "terminal").split())
    assert "error_types, after the run" in text
    assert "without what was spent after" in text


def test_what_a_cache_could_have_held(tmp_path: Path) -> None:
    long = "x" * 6_000
    rows = tasks("a", "b", "c")
    for one, ending in zip(rows, ("one", "two", "three"), strict=True):
        one["messages"][0]["content"] = long
        one["messages"][1]["content"] = f"TASK={one['metadata']['task_id']} {ending}"
    make_log(tmp_path, rows, epochs=2)
    use = costs(tmp_path).uses[0]
    chars = [6_000 + len(one["messages"][1]["content"]) for one in rows]
    # The second and third task find the system message, the second epoch finds everything.
    assert use.possible == pytest.approx((2 * 6_000 + sum(chars)) / (2 * sum(chars)))
    assert use.cached == pytest.approx(40 / 140)
    # Providers keep nothing that is shorter than 1,024 tokens.
    assert most_cached([(1_000, 0), (1_000, 1_000)]) == 0
    assert most_cached([]) is None


def test_datasets_and_draws_are_kept_apart(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), PLAN)
    make_log(tmp_path, "demo")
    make_log(tmp_path, "demo", task_args={"contexts": 8})
    titles = [table.title for table in tables(tmp_path)]
    assert titles == ["CL-bench: tokens by role", "CL-bench demo: tokens by role"]
    frame = costs(tmp_path).to_pandas()
    assert list(dict.fromkeys(frame["run_of"])) == [
        "mockllm/student",
        "mockllm/student (all contexts)",
        "mockllm/student (8 contexts)",
    ]


def test_imported_answers_have_no_tokens_and_the_table_says_so(
    demo_log: str, tmp_path: Path
) -> None:
    (one,) = export([demo_log], tmp_path / "files")
    imported = import_graded([str(path) for path in one.graded], log_dir=str(tmp_path / "logs"))
    found = costs(imported.log, PRICES)
    assert (found.uses, found.spent) == ((), None)
    assert list(found.silent.values()) == ["imported"]
    code, out, _ = clbench("costs", imported.log)
    assert code == 0
    assert "Imported answers have no tokens" in out


def test_a_model_that_judges_itself(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a", "b"), PLAN, judge="student")
    (table,) = tables(tmp_path)
    assert roles(table) == [("model", "mockllm/student"), ("grader", "mockllm/student")]
    assert tokens(table) == [[400, 160, 80, 20], [150, None, 30, None]]


def test_a_panel_with_the_model_itself_in_it(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["yyy"]}, judge=["student", "other"])
    (table,) = tables(tmp_path)
    assert dict(zip(roles(table), tokens(table), strict=True)) == {
        ("model", "mockllm/student"): [100, 40, 20, 5],
        ("grader", "mockllm/student"): [50, None, 10, None],
        ("grader", "mockllm/other"): [50, None, 10, None],
    }


def test_further_runs_are_added_and_copies_are_not(tmp_path: Path) -> None:
    one = make_log(tmp_path, tasks("a"), {"a": ["yyy"]})
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    (tmp_path / "copy.eval").write_bytes(Path(one.location).read_bytes())
    used, money = tables(tmp_path, PRICES)
    assert tokens(used) == [[200, 80, 40, 10], [100, None, 20, None]]
    assert [row[3].value for row in money.rows] == [2]


def test_nothing_solved_has_no_price(tmp_path: Path) -> None:
    make_log(tmp_path, tasks("a"), {"a": ["nnn"]})
    _, money = tables(tmp_path, PRICES)
    assert money.rows[0][-1].text == "–"


@pytest.mark.parametrize("ending", ["yaml", "json"])
def test_prices_from_a_file(folder: Path, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"prices.{ending}"
    if ending == "json":
        path.write_text(json.dumps({name: p.model_dump() for name, p in PRICES.items()}))
    else:
        path.write_text(
            "mockllm/student: {input: 2, output: 10, input_cache_write: 2, "
            "input_cache_read: 0.5}\n"
            "mockllm/judge:\n  input: 1\n  output: 4\n"
            "  input_cache_write: 1\n  input_cache_read: 1\n"
        )
    assert costs(str(folder), str(path)) == costs(str(folder), PRICES)


WHOLE = "{input: 2, output: 10, input_cache_write: 2, input_cache_read: 0.5}"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (f"mockllm/student: {WHOLE}", "no price for mockllm/judge. Add USD per"),
        (
            f"mockllm/student: {WHOLE.replace('input: 2', 'input: -2')}",
            "mockllm/student.input: -2.0 is no price. Give USD per million tokens",
        ),
        (
            f"mockllm/student: {WHOLE.replace('10', '.inf')}",
            "mockllm/student.output: inf is no price",
        ),
        (
            f"mockllm/student: {WHOLE.replace('10', 'ten')}",
            "mockllm/student.output: Input should be a valid number",
        ),
        (
            f"mockllm/student: {WHOLE.replace('output', 'out')}",
            "mockllm/student.output: Field required",
        ),
        (
            "mockllm/student: {input: 2, output: 10}",
            "mockllm/student.input_cache_write: Field required",
        ),
        ("mockllm/student: 2", "mockllm/student: Input should be a valid dictionary"),
        ("- a\n- b", "the file: Input should be a valid dictionary"),
        ("", "the file: Input should be a valid dictionary"),
        ("a: [", "not YAML or JSON"),
        (b"\xff\xfe", "not YAML or JSON"),
        (None, "cannot be read (No such file"),
    ],
)
@pytest.mark.parametrize("option", ["--model-cost-config", "--prices"])
def test_prices_that_will_not_do(
    folder: Path, tmp_path: Path, text: str | bytes | None, message: str, option: str
) -> None:
    path = tmp_path / "prices.yaml"
    if text is not None:
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    code, out, err = clbench("costs", str(folder), option, str(path))
    assert (code, out) == (2, "")
    assert err.startswith(f"clbench: {path}: {message}")
    assert err.count("\n") == 1
