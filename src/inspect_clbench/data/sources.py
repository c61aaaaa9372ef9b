"""Where rows come from: the Hugging Face hub, files and URLs, and the embedded demo."""

import gzip
import hashlib
import io
import json
import lzma
import re
from collections.abc import Callable, Iterator
from importlib.resources import files
from itertools import product
from pathlib import Path
from typing import IO, Any

import fsspec

from inspect_clbench.benchmarks import Benchmark
from inspect_clbench.errors import ClbenchError

DEMO = "demo"

_HUB_DATASET = re.compile(r"([\w.-]+/[\w.-]+)@([\w.-]+)")
_PARQUET = ".parquet"


def dataset_name(source: str, benchmark: Benchmark) -> str:
    """What logs and tables call a dataset.

    A local file of rows is taken for the benchmark's; another dataset of the hub is not.
    """
    if source == DEMO:
        return f"{benchmark.title} demo"
    return source if _hub_dataset(source) else benchmark.title


def read_rows(source: str, benchmark: Benchmark) -> Iterator[tuple[int, Any]]:
    """Raw rows with their row numbers, counted from 1.

    Args:
        source: The benchmark's id on the hub, another one as `org/name@revision`, `demo`, the path
            or URL of a file, or a folder that `datasets` saved.
        benchmark: Whose rows they are.
    """
    if source == DEMO:
        return read_file(str(files("inspect_clbench.demo") / "rows.jsonl"))
    if source == benchmark.hub_id:
        return read_file(str(_hub_file(benchmark)))
    if _hub_dataset(source) or Path(source).is_dir() or _endings(source) == (_PARQUET, ""):
        return _read_with_datasets(source)
    return read_file(source)


def _hub_dataset(source: str) -> tuple[str, str] | None:
    """The id and the revision, where a source names a dataset of the hub."""
    match = _HUB_DATASET.fullmatch(source)
    if match is None or _endings(source)[0] in {*_READERS, _PARQUET} or Path(source).exists():
        return None
    return match[1], match[2]


def read_file(path: str) -> Iterator[tuple[int, Any]]:
    """Raw rows of a .jsonl or .json file or URL with their row numbers, counted from 1.

    Rows are read one by one with `json`: an error names the row, and nothing is converted on
    the way. (`datasets` reads texts like 2024-01-01 as dates, and where rubrics are texts in
    the first 10 MB and objects later it silently puts JSON in place of texts.)
    """
    suffix, compression = _endings(path)
    if suffix not in _READERS:
        raise ClbenchError(
            f"{path}: not a dataset or a file of rows. Name a path or URL that ends in .jsonl or .json, also "
            f"compressed ({', '.join(_COMPRESSIONS)}), or in .parquet, a folder saved by `datasets`, or "
            "org/name@revision on the Hugging Face hub."
        )
    number = 0
    try:
        with fsspec.open(path, "rb") as file:
            stream = _COMPRESSIONS[compression](file) if compression else file
            for number, record in _READERS[suffix](io.BufferedReader(stream)):
                yield number, record
    except (ValueError, RecursionError) as ex:  # not JSON, not UTF-8, nested without end
        raise ClbenchError(
            f"{path}, row {number + 1}: not valid JSON ({ex}). Is the file cut off or edited by hand?"
        ) from None
    except Exception as ex:  # of a disk, a decompressor, a server or its client
        raise _unreadable(path, ex) from None


def _endings(path: str) -> tuple[str, str]:
    """The format and the compression that a path or URL names."""
    name = re.split("[?#]", path, maxsplit=1)[0] if "://" in path else path
    compression = Path(name).suffix.lower()
    if compression in _COMPRESSIONS:
        return Path(name).with_suffix("").suffix.lower(), compression
    return compression, ""


def _json_lines(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    # Bytes are split on line feeds only: rows hold characters at which str.splitlines() cuts.
    for number, line in enumerate(file, start=1):
        if not line.isspace():
            yield number, json.loads(line)


def _json_array(file: IO[bytes]) -> Iterator[tuple[int, Any]]:
    yield from enumerate(json.load(file), start=1)


_READERS = {".jsonl": _json_lines, ".json": _json_array}


def _unreadable(source: str, ex: Exception) -> ClbenchError:
    return ClbenchError(
        f"{source}: cannot be read ({type(ex).__name__}: {' '.join(str(ex).split())}). Is it there and "
        "complete, and is its name's ending right?"
    )


def _zstd(file: Any) -> Any:
    # Unlike fsspec's own reader it notices a file that is cut off, and reads one of several parts.
    from pyarrow import CompressedInputStream  # slow to import

    return CompressedInputStream(file, "zstd")


_COMPRESSIONS: dict[str, Callable[[Any], Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": _zstd}


def _read_with_datasets(source: str) -> Iterator[tuple[int, Any]]:
    """The rows of the split `train`, or of the only one."""
    import datasets  # slow to import

    try:
        # Streaming reads the files themselves, not what an earlier run made of them.
        if hub_dataset := _hub_dataset(source):
            from huggingface_hub import snapshot_download

            # `load_dataset` does not hold a revision: without the hub it takes what is in its cache.
            hub_id, revision = hub_dataset
            folder = snapshot_download(hub_id, repo_type="dataset", revision=revision)
            data = datasets.load_dataset(folder, streaming=True)
        elif Path(source).is_dir():
            data = datasets.load_from_disk(source)
        else:
            data = datasets.load_dataset("parquet", data_files=source, streaming=True)
        if isinstance(data, dict):
            if "train" not in data and len(data) != 1:
                raise ValueError(f"expected the split train or only one, not {', '.join(data)}")
            data = data["train"] if "train" in data else next(iter(data.values()))
        yield from enumerate(data, start=1)
    except Exception as ex:  # of a disk, the hub, its client or pyarrow
        raise _unreadable(source, ex) from None


def _hub_file(benchmark: Benchmark) -> Path:
    """The benchmark's file, fetched once at its revision and known by its hash."""
    from huggingface_hub import hf_hub_download  # slow to import, and not needed for files

    problem = ""
    # Its content is known, so that a file in the cache will do: the hub need not be asked.
    for cached, name in product((True, False), benchmark.files):
        try:
            path = Path(
                hf_hub_download(
                    benchmark.hub_id,
                    name,
                    repo_type="dataset",
                    revision=benchmark.revision,
                    local_files_only=cached,
                )
            )
        except Exception as ex:  # whatever its client, a proxy or a full disk may raise
            problem = f"{type(ex).__name__}: {ex}"
            continue
        with path.open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() == benchmark.sha256:
                return path
        problem = "other rows than those this version was made for"
    raise ClbenchError(
        f"{benchmark.hub_id}: the dataset could not be loaded from the hub ({' '.join(problem.split())}). "
        f"Check the connection, or download the file elsewhere (revision {benchmark.revision or 'main'}, "
        f"sha256 {benchmark.sha256[:12]}…) and give its path: -T dataset=path/to/file.jsonl"
    )
