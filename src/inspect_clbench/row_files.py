"""Reading the files that rows come in: JSON lines, JSON or Parquet, also compressed."""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from typing import IO, Any, TypeVar

import fsspec
from pydantic_core import from_json

from inspect_clbench.errors import ClbenchError
from inspect_clbench.hub import hub_file, hub_rows, is_full_revision
from inspect_clbench.taxonomy import Benchmark

DEMO = "demo"

_COMPRESSION = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
_FORMATS = (".jsonl", ".json", ".parquet")
_ENDINGS = f"ends in {', '.join(_FORMATS)}, as it is or compressed ({', '.join(_COMPRESSION)})"
# How the files of several runs are told apart: gpt_run1, gpt-run-2_graded, gpt-3.
_RUN_ENDING = re.compile(r"([-_. ]run[-_. ]?\d+)?([-_. ]graded)?$", re.IGNORECASE)
_COUNT_ENDING = re.compile(r"[-_. ]*(run)?[-_. ]*$", re.IGNORECASE)

_BUFFER_BYTES = 1024 * 1024
_MOST_LINE_BYTES = 64 * 1024 * 1024
_MOST_FILE_BYTES = 4 * 1024 * 1024 * 1024

T = TypeVar("T")


def read_records(source: str, benchmark: Benchmark) -> Iterator[tuple[int, Any]]:
    """Raw records with their row numbers, counted from 1."""
    if source == DEMO:
        resource = files("inspect_clbench.demo") / f"{benchmark.demo}rows.jsonl"
        text = resource.read_text("utf-8")
        return _numbered(json.loads(line) for line in text.split("\n") if line)
    if source == benchmark.hub_id:
        if is_full_revision(benchmark.revision):
            return _numbered(hub_rows(benchmark))
        return file_records(hub_file(benchmark), benchmark.hub_id)
    if _format(source)[0] not in _FORMATS:
        raise ClbenchError(
            f"dataset={source}: not a dataset this task knows. Use {benchmark.hub_id}, "
            f"demo, or a path or URL that {_ENDINGS}."
        )
    return file_records(source, f"dataset={source}")


def _numbered(items: Iterable[T]) -> Iterator[tuple[int, T]]:
    return enumerate(items, start=1)


def file_records(source: str, label: str | None = None) -> Iterator[tuple[int, Any]]:
    """Raw records of a file with their row numbers, one at a time.

    Args:
        source: Path or URL of the file.
        label: What error messages call it; its path when not given.
    """
    label = label or source
    suffix, compression = _format(source)
    if suffix not in _FORMATS:
        raise ClbenchError(f"{label}: not a file of rows. Use a path or URL that {_ENDINGS}.")
    try:
        with _opened(source, compression) as file:
            match suffix:
                case ".jsonl":
                    yield from _jsonl_records(file, source)
                case ".json":
                    yield from _json_records(file, source)
                case _:
                    yield from _parquet_records(file, source)
    except ClbenchError:
        raise
    except FileNotFoundError as ex:
        # For fsspec, a file on a server that does not answer is not found either.
        why = f" ({type(ex.__cause__).__name__}: {ex.__cause__})" if ex.__cause__ else ""
        raise ClbenchError(f"{label}: no such file{why}.") from None
    except Exception as ex:
        raise ClbenchError(
            f"{label}: cannot be read ({type(ex).__name__}: {ex}). "
            "Is the file complete, and is its name's ending right?"
        ) from ex


@contextmanager
def _opened(source: str, compression: str | None) -> Iterator[IO[bytes]]:
    # fsspec's reader of zstd takes a file that is cut off, or the first part of one that
    # has several, for the whole.
    zstd = compression == "zstd"
    with fsspec.open(source, "rb", compression=None if zstd else compression) as file:
        # Not every file system can read a line with a bound.
        yield io.BufferedReader(_zstd_stream(file) if zstd else file, _BUFFER_BYTES)


def _zstd_stream(file: IO[bytes]) -> Any:
    import pyarrow  # comes with `datasets`, slow to import

    return pyarrow.CompressedInputStream(file, "zstd")


def file_stem(source: str) -> str:
    """The name of a file of rows, without folders and the endings that say its format."""
    name = source.replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    for endings in (_COMPRESSION, _FORMATS):
        for suffix in endings:
            if name.lower().endswith(suffix):
                name = name[: -len(suffix)]
    return name


def model_name_of(sources: Sequence[str]) -> str:
    """The model's name, as far as the names of its runs' files tell it.

    `gpt-5.1_run1.jsonl` and `gpt-5.1_run2.jsonl` are runs of `gpt-5.1`.
    """
    stems = [file_stem(source) for source in sources]
    names = {_RUN_ENDING.sub("", stem) for stem in stems}
    if len(names) == 1:
        return names.pop() or stems[0]
    shared = stems[0]
    while not all(stem.startswith(shared) for stem in stems):
        shared = shared[:-1]
    return _COUNT_ENDING.sub("", shared) or stems[0]


def _format(source: str) -> tuple[str, str | None]:
    path, compression = source, None
    if source.startswith(("http://", "https://")):  # .../rows.jsonl?download=true
        path = re.split(r"[?#]", source, maxsplit=1)[0]
    for suffix, name in _COMPRESSION.items():
        if path.lower().endswith(suffix):
            path, compression = path[: -len(suffix)], name
    return Path(path).suffix.lower(), compression


def _jsonl_records(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    # Split on line feeds only: rows hold characters that str.splitlines() cuts at.
    total = 0
    for number, line in _numbered(iter(lambda: file.readline(_MOST_LINE_BYTES), b"")):
        total += len(line)
        if len(line) >= _MOST_LINE_BYTES or total > _MOST_FILE_BYTES:
            raise ClbenchError(f"{source}, row {number}: too large to be a row.")
        if line.isspace():
            continue
        try:
            yield number, parsed_json(line)
        except (ValueError, RecursionError) as ex:
            raise ClbenchError(
                f"{source}, row {number}: not valid JSON ({ex}). "
                "Is the file cut off or edited by hand?"
            ) from None


def parsed_json(text: bytes) -> Any:
    """What `json.loads` gives; for the benchmark's rows in two thirds of its time."""
    try:
        return from_json(text)
    except ValueError:  # half a character and the like, or nothing that could be read
        return json.loads(text)


def _json_records(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    try:
        records = parsed_json(_bounded(file, source))
    except (ValueError, RecursionError) as ex:
        raise ClbenchError(
            f"{source}: not valid JSON ({ex}). A file with one row per line is named .jsonl."
        ) from None
    if not isinstance(records, list):
        raise ClbenchError(f"{source}: expected a JSON array of rows.")
    return _numbered(records)


def _parquet_records(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    import pyarrow.parquet as parquet  # comes with `datasets`, slow to import

    # Parquet is read from its end; streams from the network or out of a compressed file
    # have none to jump to.
    table = parquet.ParquetFile(io.BytesIO(_bounded(file, source)))
    return _numbered(row for batch in table.iter_batches() for row in batch.to_pylist())


def _bounded(file: IO[bytes], source: str) -> bytes:
    content = file.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise ClbenchError(f"{source}: larger than {_MOST_FILE_BYTES} bytes.")
    return content
