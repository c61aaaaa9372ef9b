"""A malformed row or file is an error that names the place and the fault."""

import json
import lzma
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench.data import sources
from inspect_clbench.data.dataset import load_samples
from inspect_clbench.data.sources import read_file_rows
from inspect_clbench.errors import ClbenchError
from tests.support.files import FileServer, Response
from tests.support.rows import Row, packed, row, rows, write_rows


def complaint(source: Any) -> str:
    with pytest.raises(ClbenchError) as error:
        load_samples(str(source) if isinstance(source, Path) else source)
    return str(error.value)


def without(key: str, *, metadata: bool = False) -> Row:
    record = row(2)
    del (record["metadata"] if metadata else record)[key]
    return record


SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "When?"}
TASK = "task task-2: "


@pytest.mark.parametrize(
    ("bad", "fault"),
    [
        (without("messages"), TASK + "messages: Field required"),
        (without("rubrics"), TASK + "rubrics: Field required"),
        (without("metadata"), "task unknown: metadata: Field required"),
        (without("task_id", metadata=True), "task unknown: metadata.task_id: Field required"),
        (without("context_id", metadata=True), TASK + "metadata.context_id is missing"),
        (without("context_category", metadata=True), TASK + "metadata.context_category: Field required"),
        (without("sub_category", metadata=True), TASK + "metadata.sub_category: Field required"),
        (row(2, messages=[]), TASK + "messages: List should have at least 1 item"),
        (row(2, messages="When?"), TASK + "messages: Input should be a valid list (found 'When?')"),
        (row(2, messages=None), TASK + "messages: Input should be a valid list"),
        (row(2, messages=["When?"]), TASK + "messages.0: Input should be a valid dictionary"),
        (row(2, messages=[SYSTEM, {"role": "user"}]), TASK + "messages.1.content: Field required"),
        (row(2, messages=[{"content": "a"}]), TASK + "messages.0.role: Field required"),
        (row(2, messages=[{"role": "tool", "content": "a"}]), TASK + "messages.0.role: Input should be 'system', 'user' or 'assistant' (found 'tool')"),
        (row(2, messages=[{"role": "user", "content": None}]), TASK + "messages.0.content: Input should be a valid string (found None)"),
        (row(2, messages=[{"role": "user", "content": [{"type": "text", "text": "a"}]}]), TASK + "messages.0.content: Input should be a valid string"),
        (row(2, messages=[USER | {"name": "Bo"}]), TASK + "messages.0.name: Extra inputs are not permitted (found 'Bo')"),
        (row(2, messages=[SYSTEM]), TASK + "the last message must be the user's, this one is the system's"),
        (row(2, messages=[USER, {"role": "assistant", "content": "a"}]), TASK + "the last message must be the user's, this one is the assistant's"),
        (row(2, messages=[{"role": "user", "content": "\ud800"}]), TASK + "messages.0.content: Value error, 'utf-8' codec can't encode character '\\ud800'"),
        (row(2, rubrics=["a\udfff"]), TASK + "rubrics.0: Value error, 'utf-8' codec can't encode"),
        (row(2, rubrics=[]), TASK + "rubrics: List should have at least 1 item"),
        (row(2, rubrics="a"), TASK + "rubrics: Input should be a valid list (found 'a')"),
        (row(2, rubrics={"1": "a"}), TASK + "rubrics: Input should be a valid list"),
        (row(2, rubrics=["a", None]), TASK + "rubrics.1: Input should be a valid string (found None)"),
        (row(2, rubrics=["a", 5]), TASK + "rubrics.1: Input should be a valid string (found 5)"),
        (row(2, rubrics=[{"criteria": "a"}]), TASK + "rubrics.0: Input should be a valid string (found {'criteria': 'a'})"),
        (row(2, rubrics=[{"rubric_criteria": None}]), TASK + "rubrics.0: Input should be a valid string"),
        (row(2, task_id=""), "task unknown: metadata.task_id: String should have at least 1 character"),
        (row(2, task_id=7), "task unknown: metadata.task_id: Input should be a valid string (found 7)"),
        (row(2, task_id="a\x00b"), "task a\ufffdb: metadata.task_id: Value error, no log can keep a sample under an id with a NUL character"),
        (row(2, task_id="a" * 1001), f"task {'a' * 1001}: metadata.task_id: Value error, no log can keep"),
        (row(2, task_id="a\ud800"), "task a\ufffd: metadata.task_id: Input should be a valid string"),
        (row(2, context_id=""), TASK + "metadata.context_id: String should have at least 1 character"),
        (row(2, context_id=None), TASK + "metadata.context_id is missing"),
        (row(2, task_id="task-1"), "task task-1: the task id already stands in row 1"),
        (row(2, context_category="Alchemy"), TASK + "unknown context_category 'Alchemy'. CL-bench knows: Domain Knowledge Reasoning, "),
        (row(2, context_category="finance"), TASK + "unknown context_category 'finance'"),
        (row(2, sub_category="Alchemy"), TASK + "unknown sub_category 'Alchemy' in Domain Knowledge Reasoning, which has: Finance, "),
        (row(2, "Science", context_category="Rule System Application"), TASK + "unknown sub_category 'Science' in Rule System Application, which has: Game Mechanics, "),
        ([], "task unknown: row: Input should be a valid dictionary"),
        (None, "task unknown: row: Input should be a valid dictionary"),
        ("text", "task unknown: row: Input should be a valid dictionary"),
        ({}, "task unknown: messages: Field required"),
        (row(2, metadata=[]), "task unknown: metadata: Input should be a valid dictionary"),
        (row(2, rubrics=[{"a": "b" * 500}]), TASK + "rubrics.0: Input should be a valid string (found {'a': 'bbbbbbbbbbbb..."),
    ],
)  # fmt: skip
@pytest.mark.parametrize("ending", [".jsonl", ".json"])
def test_a_row_that_is_wrong(bad: Any, fault: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    separator = "\n" if ending == ".jsonl" else ",\n"
    content = separator.join(json.dumps(record) for record in [row(1), bad, row(3)])
    path.write_text(content if ending == ".jsonl" else f"[{content}]")
    assert complaint(path).startswith(f"{path}, row 2, {fault}")


@pytest.mark.parametrize("ending", [".parquet", ".parquet.zst"])
def test_a_row_that_is_wrong_in_a_table(ending: str, tmp_path: Path) -> None:
    path = write_rows(tmp_path, [row(1), row(2, rubrics=["a", None])], f"rows{ending}")
    assert complaint(path).startswith(
        f"{path}, row 2, {TASK}rubrics.1: Input should be a valid"
    )


@pytest.mark.parametrize(
    "line",
    [
        *(b'{"messages": ', b"x", b'{"a": 1} {"b": 2}', b"{'a': 1}", b'{"a": "\x01"}'),
        *(b'\xff\xfe{"a"', b'{"a": "\xe9"}', b"[" * 100_000, b'{"a": ' + b"9" * 9_999 + b"}"),
    ],
)
def test_a_line_that_is_not_json(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(packed([row(1)], ".jsonl") + b"\n" + line + b"\n")
    assert complaint(path).startswith(f"{path}, row 3: not valid JSON (")


def test_row_numbers_are_line_numbers(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(f"\n\n{json.dumps(row(1))}\n\n{json.dumps(row(1))}\n")
    assert complaint(path).startswith(
        f"{path}, row 5, task task-1: the task id already stands in row 3"
    )


@pytest.mark.parametrize("text", ["", "\n\n", "[]", "\ufeff"])
def test_a_file_without_rows(text: str, tmp_path: Path) -> None:
    path = tmp_path / ("rows.json" if text == "[]" else "rows.jsonl")
    path.write_text(text, "utf-8")
    message = complaint(path)
    assert message == f"{path}: the dataset has no rows." or "not valid JSON" in message


def test_json_that_is_not_an_array(tmp_path: Path) -> None:
    path = tmp_path / "rows.json"
    path.write_text(json.dumps(row()))
    assert complaint(path) == f"{path}: expected a JSON array of rows."
    path.write_bytes(packed(rows(2), ".jsonl"))
    assert "not valid JSON (Extra data" in complaint(path)
    assert "one row per line is named .jsonl" in complaint(path)


@pytest.mark.parametrize(
    "ending",
    [f"{k}{c}" for k in (".jsonl", ".json", ".parquet") for c in (".gz", ".xz", ".zst")] + [".parquet"],
)  # fmt: skip
@pytest.mark.parametrize("left", [0.5, 0.99])
def test_a_file_that_is_cut_off(ending: str, left: float, tmp_path: Path) -> None:
    content = packed(rows(200), ending)
    path = tmp_path / f"rows{ending}"
    path.write_bytes(content[: int(len(content) * left)])
    message = complaint(path)
    assert message.startswith(f"dataset={path}: cannot be read (")
    assert "Is the file complete" in message


@pytest.mark.parametrize("ending", [".jsonl.gz", ".jsonl.xz", ".jsonl.zst", ".parquet"])
def test_an_ending_that_does_not_fit(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_bytes(packed(rows(3), ".jsonl"))
    assert "is its name's ending right?" in complaint(path)


@pytest.mark.parametrize(
    "source",
    ["rows.csv", "rows", "rows.jsonl.zip", "rows.jsonl.gz.xz", "tencent/cl-bench", "", " ", ".",
     None, 7, ["a.jsonl", "b.jsonl"]],
)  # fmt: skip
def test_a_dataset_of_an_unknown_kind(source: Any) -> None:
    message = complaint(source)
    assert message.startswith(
        f"dataset={source}: not a dataset this task knows. Use tencent/CL-bench, demo, or"
    )
    assert ".jsonl, .json, .parquet" in message
    assert ".gz, .xz, .zst" in message


def test_files_that_are_not_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert complaint(path) == f"dataset={path}: no such file."
    assert (
        complaint("memory://nowhere/rows.json")
        == "dataset=memory://nowhere/rows.json: no such file."
    )
    path.mkdir()
    assert complaint(path).startswith(f"dataset={path}: cannot be read (IsADirectoryError")
    assert "cannot be read (ValueError: Protocol not known: gopher" in complaint(
        "gopher://a/rows.jsonl"
    )
    with FileServer(lambda path: Response()) as server:
        closed = f"{server.url}/rows.jsonl"
    assert complaint(closed).startswith(f"dataset={closed}: no such file (ClientConnectorError")


@pytest.mark.parametrize(
    ("ending", "pattern", "fault"),
    [
        (".json", b" ", "more than 2 MB or 100,000 lines, unpacked"),
        (".json", b"[]," * 500_000, "more than 2 MB or 100,000 lines, unpacked"),
        (".json", b"[[]" + b",[]" * 600_000 + b"]", "more than 2 MB or 5 lines, unpacked"),
        (".jsonl", b"\n", "more than 2 MB or 100,000 lines, unpacked"),
        (".jsonl", b" ", "row 1: too large to be a row"),
        (".jsonl", b" " * 1000 + b"\n", "more than 2 MB or 100,000 lines, unpacked"),
        (".parquet", b"\x00", "more than 2 MB or 100,000 lines, unpacked"),
    ],
)
def test_a_small_file_that_unpacks_without_end(
    ending: str, pattern: bytes, fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sources, "_MOST_LINE_BYTES", 1024**2)
    monkeypatch.setattr(sources, "_MOST_FILE_BYTES", 2 * 1024**2)
    monkeypatch.setattr(sources, "_MOST_LINES", 5 if "5 lines" in fault else 100_000)
    path = tmp_path / f"rows{ending}.xz"
    path.write_bytes(lzma.compress(pattern * (1 + 3_000_000 // len(pattern)), preset=0))
    if "5 lines" in fault:
        path.write_bytes(lzma.compress(pattern, preset=0))
    assert path.stat().st_size < 10_000
    assert fault in complaint(path)


def test_a_table_whose_rows_are_all_one_large_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pyarrow
    import pyarrow.parquet

    monkeypatch.setattr(sources, "_MOST_FILE_BYTES", 20 * 1024**2)
    text = pyarrow.DictionaryArray.from_arrays([0] * 200, ["x" * 1_000_000])
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"rubrics": text}), path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(ClbenchError, match="more than 20 MB"):
        for _ in read_file_rows(str(path)):
            pass
