"""Rows come from files, URLs and the hub as they are there, or an error says what is wrong."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import datasets
import pytest

from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE
from inspect_clbench.data.sources import dataset_name, read_file, read_rows
from inspect_clbench.errors import ClbenchError
from tests.support.builders import packed, spread_rows
from tests.support.files import FileServer, Response
from tests.support.hub import Hub

ROWS = spread_rows(40)
ENDINGS = [f"{kind}{pack}" for kind in (".jsonl", ".json") for pack in ("", ".gz", ".xz", ".zst")]
REVISION = "0123456789abcdef0123456789abcdef01234567"


def rows_of(source: str | Path) -> list[Any]:
    numbers, records = zip(*read_rows(str(source), CLBENCH), strict=True)
    assert numbers == tuple(range(1, len(records) + 1))
    return list(records)


def complaint(source: Any) -> str:
    with pytest.raises(ClbenchError) as caught:
        list(read_rows(str(source), CLBENCH))
    return str(caught.value)


@pytest.mark.parametrize("ending", [*ENDINGS, ".parquet", ".JSONL.GZ"])
def test_each_kind_of_file(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    path.write_bytes(packed(ROWS, ending.lower()))
    assert rows_of(path) == ROWS
    if ending == ".jsonl.zst":  # of several parts
        path.write_bytes(packed(ROWS[:20], ending) + packed(ROWS[20:], ending))
        assert rows_of(path) == ROWS


@pytest.mark.parametrize("ending", [".jsonl.gz", ".parquet"])
def test_a_file_on_the_web(ending: str) -> None:
    content = packed(ROWS, ending)

    def respond(path: str) -> Response:
        return Response(content) if path.startswith(f"/rows{ending}") else Response(status=404)

    with FileServer(respond) as server:
        assert rows_of(f"{server.url}/rows{ending}?signature=abc") == ROWS
        assert complaint(f"{server.url}/none{ending}").startswith(f"{server.url}/none{ending}: ")


@pytest.mark.parametrize("separator", ["\n", "\r\n", "\n\n  \n"])
def test_lines_end_at_line_feeds_only_and_number_the_rows(separator: str, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    texts = ["a\u2028b", "a\u0085b", "a\x1cb"]
    lines = separator.join(json.dumps(text, ensure_ascii=False) for text in texts)
    path.write_bytes(f"\ufeff{lines}".encode())
    numbers = range(1, 10, separator.count("\n"))
    assert list(read_file(str(path))) == list(zip(numbers, texts, strict=False))


def test_a_folder_that_datasets_saved(tmp_path: Path) -> None:
    data = datasets.Dataset.from_list(ROWS)
    data.save_to_disk(tmp_path / "table")
    datasets.DatasetDict(train=data).save_to_disk(tmp_path / "train")
    datasets.DatasetDict(dev=data, test=data).save_to_disk(tmp_path / "splits")
    assert rows_of(tmp_path / "table") == rows_of(tmp_path / "train") == ROWS
    assert "expected the split train or only one, not dev, test" in complaint(tmp_path / "splits")


@pytest.mark.parametrize(
    "line", [b"x", b'{"a": 1} {"b": 2}', b'{"a": "\x01"}', b'{"a": "\xe9"}', b"[" * 100_000, b"9" * 9_999]
)
def test_a_line_that_is_not_json(line: bytes, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"{}\n" + line + b"\n")
    assert complaint(path).startswith(f"{path}, row 2: not valid JSON (")


@pytest.mark.parametrize("ending", [".jsonl.gz", ".json.xz", ".jsonl.zst", ".parquet"])
def test_a_file_that_is_cut_off(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"rows{ending}"
    for part in (0.5, 0.99):
        content = packed(ROWS, ending)
        path.write_bytes(content[: int(len(content) * part)])
        message = complaint(path)
        assert message.startswith(f"{path}: cannot be read (")
        assert "Is it there and complete, and is its name's ending right?" in message


@pytest.mark.parametrize("source", ["rows.csv", "rows", "rows.jsonl.zip", "tencent/cl-bench", "a/b@c/d"])
def test_a_dataset_of_an_unknown_kind(source: str) -> None:
    message = complaint(source)
    assert message.startswith(f"{source}: not a dataset or a file of rows. Name a path or URL that ends in")
    assert "org/name@revision" in message


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    assert complaint(path).startswith(f"{path}: cannot be read (FileNotFoundError: ")
    assert "Unable to find" in complaint(tmp_path / "rows.parquet")
    assert "Protocol not known: gopher" in complaint("gopher://a/rows.jsonl")


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("tencent/CL-bench", "CL-bench"),
        ("demo", "CL-bench demo"),
        ("https://somewhere.org/rows@2.json?x", "CL-bench"),
        (f"org/name@{REVISION}", f"org/name@{REVISION}"),
    ],
)
def test_what_logs_call_a_dataset(source: str, name: str) -> None:
    assert dataset_name(source, CLBENCH) == name


LINES = packed(ROWS[:2], ".jsonl")
OTHER = packed(ROWS[2:4], ".jsonl")


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """The environment of a process that knows nothing of the hub yet."""
    return {**os.environ, "HF_HOME": str(tmp_path / "home")}


def from_hub(environment: dict[str, str], *sources: str) -> list[str]:
    """The tasks of each of these sources, or what is wrong with it, in a process of its own."""
    program = (
        "from dataclasses import replace\n"
        "from inspect_clbench.benchmarks import CLBENCH, CLBENCH_LIFE\n"
        "from inspect_clbench.data.sources import read_rows\n"
        f"for source in {sources}:\n"
        "    name, _, sha256 = source.partition(' ')\n"
        "    benchmark = CLBENCH_LIFE if 'Life' in name else CLBENCH\n"
        "    benchmark = replace(benchmark, **({'sha256': sha256} if sha256 else {}))\n"
        "    try:\n"
        "        print(*[row['metadata']['task_id'] for _, row in read_rows(name, benchmark)])\n"
        "    except Exception as ex:\n"
        "        print(repr(str(ex)))"
    )
    command = [sys.executable, "-c", program]
    process = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return process.stdout.splitlines()


@pytest.mark.parametrize(
    ("benchmark", "file"), [(CLBENCH, "CL-bench.jsonl"), (CLBENCH_LIFE, "CL-bench Life.jsonl")]
)
def test_the_benchmarks_file_is_fetched_once(benchmark: Any, file: str, home: dict[str, str]) -> None:
    commit = benchmark.revision or "f" * 40
    known = f"{benchmark.hub_id} {hashlib.sha256(LINES).hexdigest()}"
    newer = {"e" * 40: {file: OTHER}} if benchmark.revision else {}
    with Hub(benchmark.hub_id, newer | {commit: {file: LINES}}) as hub:
        home["HF_ENDPOINT"] = hub.url
        first, wrong = from_hub(home, known, benchmark.hub_id)
    assert first == "t1 t2"
    assert "other rows than those this version was made for" in wrong
    assert "give its path: -T dataset=path/to/file.jsonl" in wrong
    assert from_hub(home, known) == ["t1 t2"]  # the hub is gone, and nobody waits for it
    home |= {"HF_HUB_OFFLINE": "1", "HF_HOME": "nowhere"}
    (unknown,) = from_hub(home, known)
    assert f"{benchmark.hub_id}: the dataset could not be loaded from the hub" in unknown


def test_another_dataset_of_the_hub_is_held_at_its_revision(home: dict[str, str]) -> None:
    history = {"f" * 40: {"train.jsonl": OTHER}, REVISION: {"train.jsonl": LINES}}
    sources = f"org/name@{REVISION}", "other/name@v1"
    with Hub("org/name", history) as hub:
        home["HF_ENDPOINT"] = hub.url
        first, missing = from_hub(home, *sources)
    home["HF_HUB_OFFLINE"] = "1"
    again, latest = from_hub(home, sources[0], f"org/name@{'f' * 40}")
    assert first == again == "t1 t2"
    assert "other/name@v1: cannot be read (" in missing
    assert f"org/name@{'f' * 40}: cannot be read (" in latest
