"""Where rows come from, their order, and which are kept."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import fsspec
import pytest
from inspect_ai.dataset import Dataset
from inspect_ai.model import ChatMessageAssistant, ChatMessageSystem, ChatMessageUser

from inspect_clbench.benchmarks import CLBENCH
from inspect_clbench.data.dataset import load_samples
from inspect_clbench.errors import ClbenchError
from tests.support.builders import demo_eval
from tests.support.files import FileServer, Response
from tests.support.programs import inspect
from tests.support.rows import packed, row, rows, write_rows
from tests.support.server import LoopbackServer, Reply, Script

ENDINGS = [
    f"{kind}{compression}"
    for kind in (".jsonl", ".json", ".parquet")
    for compression in ("", ".gz", ".xz", ".zst")
]


def ids(dataset: Dataset) -> list[str | int | None]:
    return [sample.id for sample in dataset]


def test_a_row_becomes_a_sample(tmp_path: Path) -> None:
    messages = [
        {"role": "system", "content": " You keep the log.\r\n"},
        {"role": "user", "content": "When?\u2028\u0085\x00"},
        {"role": "assistant", "content": "<think>hm</think>\n At nine. "},
        {"role": "user", "content": ""},
    ]
    record = row(
        7,
        "Legal & Regulatory",
        messages=messages,
        rubrics=["a", "", {"rubric_criteria": " b "}, "a"],
    )
    (sample,) = load_samples(write_rows(tmp_path, [record]))
    assert sample.id == "task-7"
    assert not isinstance(sample.input, str)
    assert [type(m) for m in sample.input] == [
        ChatMessageSystem,
        ChatMessageUser,
        ChatMessageAssistant,
        ChatMessageUser,
    ]
    assert [{"role": m.role, "content": m.content} for m in sample.input] == messages
    assert sample.metadata == {
        "context_id": "context-4",
        "context_category": "Rule System Application",
        "sub_category": "Legal & Regulatory",
        "rubrics": ["a", "", " b ", "a"],
        "turns": 2,
        "prompt_chars": sum(len(m["content"]) for m in messages),
        "fingerprint": "2415723e878da681",
    }  # fmt: skip


@pytest.mark.parametrize("ending", ENDINGS)
def test_each_kind_of_file(ending: str, tmp_path: Path) -> None:
    records = rows(40)
    dataset = load_samples(write_rows(tmp_path, records, f"rows{ending}"))
    assert ids(dataset) == [f"task-{n}" for n in range(1, 41)]
    assert [s.metadata["rubrics"] for s in dataset if s.metadata] == [
        r["rubrics"] for r in records
    ]
    assert dataset.name == "CL-bench"


@pytest.mark.parametrize("ending", [".JSONL", ".jsonl.GZ", ".Parquet.Zst"])
def test_endings_in_capitals(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"ROWS{ending}"
    path.write_bytes(packed(rows(3), ending.lower()))
    assert len(load_samples(str(path))) == 3


def test_a_zstd_file_of_several_frames_is_read_to_its_end(tmp_path: Path) -> None:
    records = rows(30)
    path = tmp_path / "rows.jsonl.zst"
    path.write_bytes(packed(records[:10], ".jsonl.zst") + packed(records[10:], ".jsonl.zst"))
    assert len(load_samples(str(path))) == 30


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_file_that_fsspec_finds(ending: str) -> None:
    url = f"memory://somewhere/rows{ending}"
    with fsspec.open(url, "wb") as file:
        file.write(packed(rows(5), ending))
    assert len(load_samples(url)) == 5


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("query", ["", "?download=true"])
def test_a_file_on_the_web(ending: str, query: str) -> None:
    content = packed(rows(5), ending)
    with FileServer(lambda path: Response(content)) as server:
        assert len(load_samples(f"{server.url}/some/rows{ending}{query}")) == 5


def test_a_file_that_is_not_on_the_web() -> None:
    with (
        FileServer(lambda path: Response(status=404)) as server,
        pytest.raises(ClbenchError, match=r"dataset=http://127.*rows\.jsonl: no such file"),
    ):
        load_samples(f"{server.url}/rows.jsonl")


@pytest.mark.parametrize(
    "content", ["%s\n%s\n", "%s\r\n%s\r\n", "%s\n%s", "\n%s\n \n\r\n%s\n\n"]
)
def test_line_ends_and_blank_lines(content: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = tuple(json.dumps(record) for record in rows(2))
    path.write_bytes((content % lines).encode())
    assert ids(load_samples(str(path))) == ["task-1", "task-2"]


@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_a_byte_order_mark(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_bytes(b"\xef\xbb\xbf" + packed(rows(2), ending))
    assert len(load_samples(str(path))) == 2


def test_parquet_as_the_hub_library_writes_it(tmp_path: Path) -> None:
    from datasets import Dataset as HubDataset

    records = rows(6)
    records[0]["messages"].insert(1, {"role": "assistant", "content": "A\u2028B"})
    path = tmp_path / "rows.parquet"
    HubDataset.from_list(records).to_parquet(str(path))
    dataset = load_samples(str(path))
    assert [[m.text for m in s.input if not isinstance(m, str)] for s in dataset] == [
        [m["content"] for m in record["messages"]] for record in records
    ]


def test_nulls_that_a_table_fills_in_are_no_part_of_a_message(tmp_path: Path) -> None:
    record = row()
    record["messages"][0]["name"] = None
    assert len(load_samples(write_rows(tmp_path, [record]))) == 1


FINANCE, SCIENCE = "Finance", "Science"
DOMAIN, RULES = "Domain Knowledge Reasoning", "Rule System Application"


@pytest.mark.parametrize(
    ("category", "sub_category", "kept"),
    [
        (None, None, 36),
        (DOMAIN, None, 14),
        (DOMAIN.upper(), None, 14),
        (["domain  knowledge reasoning ", RULES], None, 24),
        ((DOMAIN, DOMAIN), None, 14),
        (None, FINANCE, 2),
        (None, ["science", "FINANCE", "Legal & Regulatory"], 6),
        (DOMAIN, [FINANCE, "Game Mechanics"], 2),
    ],
)
def test_filters(
    category: str | list[str] | None, sub_category: str | None, kept: int, tmp_path: Path
) -> None:
    path = write_rows(tmp_path, rows(36))
    dataset = load_samples(path, category=category, sub_category=sub_category)
    assert len(dataset) == kept
    numbers = [int(str(sample.id).removeprefix("task-")) for sample in dataset]
    assert numbers == sorted(numbers)


@pytest.mark.parametrize(
    ("parameter", "name", "known"),
    [
        ("category", "Finance", CLBENCH.categories),
        ("category", "", CLBENCH.categories),
        ("sub_category", "Alchemy", CLBENCH.sub_categories),
        ("sub_category", ["Science", "Alchemy"], CLBENCH.sub_categories),
    ],
)
def test_an_unknown_name_lists_the_known(
    parameter: str, name: str | list[str], known: tuple[str, ...]
) -> None:
    with pytest.raises(ClbenchError) as error:
        load_samples("demo", **{parameter: name})  # type: ignore[arg-type]  # the parameter is a parameter
    wrong = name if isinstance(name, str) else "Alchemy"
    assert str(error.value).startswith(f"{parameter}={wrong}: unknown.")
    for each in known:
        assert each in str(error.value)


def test_filters_that_leave_nothing(tmp_path: Path) -> None:
    with pytest.raises(ClbenchError, match=r"rows\.jsonl: no row is left for category=Rule"):
        load_samples(write_rows(tmp_path, [row()]), category=RULES)
    with pytest.raises(ClbenchError, match=r"no row is left .* belongs to one category"):
        load_samples("demo", category=RULES, sub_category=FINANCE)


@pytest.mark.long
def test_a_bad_row_is_told_by_the_command_line_without_a_traceback(tmp_path: Path) -> None:
    write_rows(tmp_path, [row(1), row(2, rubrics=[None])], "rows[1].jsonl")
    options = ("-T", "dataset=rows[1].jsonl", "--model", "clbench_demo/student")
    run = inspect(
        *("eval", "inspect_clbench/clbench", *options),
        cwd=tmp_path,
        env={k: v for k, v in os.environ.items() if k != "INSPECT_DISPLAY"},
    )
    output = " ".join((run.stdout + run.stderr).split())
    assert run.exit_code != 0
    assert "rows[1].jsonl, row 2, task task-2: rubrics.0: Input should be a valid" in output
    assert "Traceback" not in output


def test_a_limit_takes_the_first_rows_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = write_rows(tmp_path, [row(n) for n in (9, 2, 5, 1)])
    log = demo_eval(tmp_path, dataset=rows, limit=2)
    assert log.eval.dataset.sample_ids == ["task-9", "task-2"]


def test_not_one_byte_changes_on_the_way_to_the_model(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path
) -> None:
    messages = [
        {"role": "system", "content": " \r\nRules:\t{x} %s \\n\u2028 "},
        {"role": "user", "content": "Who?\u0085\u00a0\ufeff"},
        {"role": "assistant", "content": "<think>\nThe heron.\n</think>\n\nThe heron. "},
        {"role": "user", "content": "<think>And</think> then?\n"},
        {"role": "assistant", "content": "\n- Rest.\n"},
        {"role": "user", "content": "Why, \U0001f99a?\x7f"},
    ]
    server = serve(lambda call: Reply("Because."))
    rows = write_rows(tmp_path, [row(messages=messages)])
    demo_eval(tmp_path, dataset=rows, model="openai-api/loop/student")
    (call,) = server.calls_of("student")
    assert list(call.messages) == messages
