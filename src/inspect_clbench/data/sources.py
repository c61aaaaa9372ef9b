"""Where rows come from: the Hugging Face hub, files and URLs, and the embedded demo.

Files are JSON lines, JSON or Parquet, also compressed. What comes from the hub is fetched
once, at a pinned revision, and checked, so that every user runs the same tasks.
"""

import hashlib
import io
import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.resources import files
from logging import LogRecord, getLogger
from pathlib import Path
from typing import IO, Any

import fsspec
from pydantic_core import from_json

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.errors import ClbenchError
from inspect_clbench.text import public_url

DEMO = "demo"

_FULL_HASH = 40
_A_FILE = "-T dataset=path/to/file.jsonl (to clbench: --dataset path/to/file.jsonl)"

_COMPRESSION = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}
_FORMATS = (".jsonl", ".json", ".parquet")
_ENDINGS = f"ends in {', '.join(_FORMATS)}, as it is or compressed ({', '.join(_COMPRESSION)})"
# How the files of several runs are told apart: gpt_run1, gpt-run-2_graded, gpt-3.
_RUN_ENDING = re.compile(r"([-_. ]run[-_. ]?\d+)?([-_. ]graded)?$", re.IGNORECASE)
_COUNT_ENDING = re.compile(r"[-_. ]*(run)?[-_. ]*$", re.IGNORECASE)

_Parser = Callable[[bytes], Any]

_BUFFER_BYTES = 1024 * 1024
# Bounds on what is read, unpacked: the whole benchmark has 1,899 lines and 90 MB, and a
# packed file of a few kilobytes can hold terabytes.
_MOST_LINE_BYTES = 64 * 1024 * 1024
_MOST_FILE_BYTES = 512 * 1024 * 1024
_MOST_LINES = 1_000_000


def read_rows(source: str, benchmark: Benchmark) -> Iterator[tuple[int, Any]]:
    """Raw rows with their row numbers, counted from 1."""
    if source == DEMO:
        resource = files("inspect_clbench.demo") / f"{benchmark.demo}rows.jsonl"
        return read_file_rows(str(resource))
    if source == benchmark.hub_id:
        return read_file_rows(_hub_file(benchmark), benchmark.hub_id)
    # A command line makes null, a number or a list of some values.
    if not isinstance(source, str) or _format(source)[0] not in _FORMATS:
        raise ClbenchError(
            f"dataset={source}: not a dataset this task knows. Use {benchmark.hub_id}, "
            f"demo, or a path or URL that {_ENDINGS}."
        )
    return read_file_rows(source, f"dataset={source}")


def read_file_rows(
    source: str, shown_as: str | None = None, *, unique: bool = False
) -> Iterator[tuple[int, Any]]:
    """Raw rows of a file or URL with their row numbers.

    Args:
        source: The file or URL.
        shown_as: Another name of it for errors.
        unique: Whether a key that an object has twice is an error; it takes longer.
    """
    parse = _parsed_unique if unique else parsed_json
    name = shown_as or source
    suffix, compression = _format(source)
    if suffix not in _FORMATS:
        raise ClbenchError(f"{name}: not a file of rows. Use a path or URL that {_ENDINGS}.")
    try:
        with _opened(source, compression) as file:
            match suffix:
                case ".jsonl":
                    yield from _jsonl_rows(file, source, parse)
                case ".json":
                    yield from _json_rows(file, source, parse)
                case _:
                    yield from _parquet_rows(file, source)
    except ClbenchError:
        raise
    except FileNotFoundError as ex:
        # For fsspec, a file on a server that does not answer is not found either.
        why = f" ({type(ex.__cause__).__name__}: {ex.__cause__})" if ex.__cause__ else ""
        raise ClbenchError(f"{name}: no such file{why}.") from None
    except Exception as ex:
        raise ClbenchError(
            f"{name}: cannot be read ({type(ex).__name__}: {ex}). "
            "Is the file complete, and is its name's ending right?"
        ) from None


@contextmanager
def _opened(source: str, compression: str | None) -> Iterator[IO[bytes]]:
    # fsspec's reader of zstd takes a file that is cut off, or the first part of one that
    # has several, for the whole.
    zstd = compression == "zstd"
    with fsspec.open(source, "rb", compression=None if zstd else compression) as file:
        if zstd:
            import pyarrow  # slow to import

            file = pyarrow.CompressedInputStream(file, "zstd")
        # Not every file system can read a line with a bound.
        yield io.BufferedReader(file, _BUFFER_BYTES)


def file_stem(source: str) -> str:
    """The name of a file of rows, without folders and the endings that say its format."""
    name = public_url(source).replace("\\", "/").rstrip("/").rsplit("/", 1)[-1]
    for suffix in (*_COMPRESSION, *_FORMATS):
        if name.lower().endswith(suffix):
            name = name[: -len(suffix)]
    return name


def replayed_model(paths: Sequence[str], model: str, model_name: str | None = None) -> str:
    """Whose answers files hold: who is named, or `--model none/NAME`, or the files' names."""
    provider, _, name = model.partition("/")
    named = name if provider == "none" and name != "none" else ""
    return str(model_name or named or model_name_of(paths))


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
        path = re.split("[?#]", source, maxsplit=1)[0]
    for suffix, name in _COMPRESSION.items():
        if path.lower().endswith(suffix):
            path, compression = path[: -len(suffix)], name
    return Path(path).suffix.lower(), compression


def _jsonl_rows(file: IO[bytes], source: str, parse: _Parser) -> Iterator[tuple[int, Any]]:
    # Split on line feeds only: rows hold characters that str.splitlines() cuts at.
    total = 0
    lines = iter(lambda: file.readline(_MOST_LINE_BYTES), b"")
    for number, line in enumerate(lines, start=1):
        total += len(line)
        if len(line) >= _MOST_LINE_BYTES:
            raise ClbenchError(f"{source}, row {number}: too large to be a row.")
        if total > _MOST_FILE_BYTES or number > _MOST_LINES:
            raise _too_large(source)
        if line.isspace():
            continue
        try:
            yield number, parse(line)
        except (ValueError, RecursionError) as ex:
            raise ClbenchError(
                f"{source}, row {number}: not valid JSON ({ex}). "
                "Is the file cut off or edited by hand?"
            ) from None


def parsed_json(text: bytes) -> Any:
    """What `json.loads` gives; for the benchmark's rows in two thirds of its time."""
    try:
        return from_json(text)
    except ValueError as ex:  # half a character and the like, or nothing that could be read
        if "recursion limit" in str(ex):  # no row is nested like that, and no log takes it
            raise
        return json.loads(text)


def _parsed_unique(text: bytes) -> Any:
    parsed_json(text)
    return json.loads(text, object_pairs_hook=unique_keys)


def unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of JSON, for `json.loads`; a key that stands there twice is an error."""
    found = dict(pairs)
    if len(found) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"the key `{twice}` stands there twice")
    return found


def _json_rows(file: IO[bytes], source: str, parse: _Parser) -> Iterator[tuple[int, Any]]:
    content = _bounded(file, source)
    # Empty lists and numbers take up ten times as much as objects.
    if sum(map(content.count, (b",", b"[", b"{"))) > 30 * _MOST_LINES:
        raise _too_large(source)
    try:
        rows = parse(content)
    except (ValueError, RecursionError) as ex:
        raise ClbenchError(
            f"{source}: not valid JSON ({ex}). A file with one row per line is named .jsonl."
        ) from None
    if not isinstance(rows, list):
        raise ClbenchError(f"{source}: expected a JSON array of rows.")
    return enumerate(rows, start=1)


def _parquet_rows(file: IO[bytes], source: str) -> Iterator[tuple[int, Any]]:
    import pyarrow.parquet as parquet  # slow to import

    # Parquet is read from its end; streams from the network or out of a compressed file
    # have none to jump to.
    table = parquet.ParquetFile(io.BytesIO(_bounded(file, source)))
    total = 0
    rows = (row for batch in table.iter_batches(batch_size=16) for row in batch.to_pylist())
    for number, row in enumerate(rows, start=1):
        total += len(repr(row))  # a table can say a text once and mean it a million times
        if total > _MOST_FILE_BYTES or number > _MOST_LINES:
            raise _too_large(source)
        yield number, row


def _bounded(file: IO[bytes], source: str) -> bytes:
    content = file.read(_MOST_FILE_BYTES + 1)
    if len(content) > _MOST_FILE_BYTES:
        raise _too_large(source)
    return content


def _too_large(source: str) -> ClbenchError:
    return ClbenchError(
        f"{source}: more than {_MOST_FILE_BYTES // 1024**2} MB or {_MOST_LINES:,} lines, "
        "unpacked. Is it a file of rows? If so, split it."
    )


def _hub_file(benchmark: Benchmark) -> str:
    import huggingface_hub  # slow to import, and not needed for files

    try:
        with _without_retries_told():
            revision = _full_revision(benchmark)
            folder = huggingface_hub.snapshot_download(
                benchmark.hub_id,
                repo_type="dataset",
                revision=revision,
                allow_patterns="*.jsonl",
            )
    except Exception as ex:
        raise ClbenchError(
            f"{benchmark.hub_id}: the dataset could not be loaded from the hub "
            f"({type(ex).__name__}: {' '.join(str(ex).split())}). Check the connection, or "
            f"download the file elsewhere (revision {benchmark.revision}) and give its path: "
            f"{_A_FILE}"
        ) from None
    # Known by its content, because CL-bench Life's file is named in two ways.
    found = {
        path: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(Path(folder).rglob("*.jsonl"))
    }
    for path, digest in found.items():
        if digest == benchmark.sha256:
            return str(path)
    names = ", ".join(f"{path.name} (sha256 {digest[:12]}…)" for path, digest in found.items())
    raise ClbenchError(
        f"{benchmark.hub_id}: at revision {revision or 'main'} the hub has "
        f"{names or 'no .jsonl file'}, not the rows that this version was made for (sha256 "
        f"{benchmark.sha256[:12]}…). To use what is there all the same, download it and "
        f"give its path: {_A_FILE}"
    )


@contextmanager
def _without_retries_told() -> Iterator[None]:
    """Keep the hub's client from printing two lines for each of its retries.

    The error after the last one says as much in one message.
    """
    logger = getLogger("huggingface_hub.utils._http")

    def others(record: LogRecord) -> bool:
        return "Retrying in" not in record.msg and "thrown while" not in record.msg

    logger.addFilter(others)
    try:
        yield
    finally:
        logger.removeFilter(others)


def _full_revision(benchmark: Benchmark) -> str | None:
    # The hub takes whole hashes only. Without one the latest file must do, if its content
    # is the right one.
    from huggingface_hub import HfApi, constants

    pinned = benchmark.revision
    if len(pinned) == _FULL_HASH:
        return pinned
    repository = "datasets--" + benchmark.hub_id.replace("/", "--")
    snapshots = Path(constants.HF_HUB_CACHE) / repository / "snapshots"
    for folder in snapshots.glob(f"{pinned}*"):  # found once, found without the network
        return folder.name
    try:
        commits = HfApi().list_repo_commits(benchmark.hub_id, repo_type="dataset")
    except Exception:  # mirrors of the hub have no history
        return None
    return next((c.commit_id for c in commits if c.commit_id.startswith(pinned)), None)
