"""The benchmarks' files on the Hugging Face hub: fetched once, at a pinned revision, checked."""

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from inspect_clbench.errors import ClbenchError
from inspect_clbench.taxonomy import Benchmark

_FULL_HASH = 40
_COMMIT = re.compile(rf"[0-9a-f]{{{_FULL_HASH}}}")
_A_FILE = "-T dataset=path/to/file.jsonl (to clbench: --dataset path/to/file.jsonl)"


def hub_rows(benchmark: Benchmark) -> Iterator[Any]:
    """The raw rows of a benchmark whose commit on the hub is wholly known."""
    from datasets import load_dataset  # slow to import, and not needed for files

    try:
        rows = load_dataset(benchmark.hub_id, split="train", revision=benchmark.revision)
    except Exception as ex:
        raise _not_loaded(benchmark, ex) from ex
    # Without a connection the library takes what it has, of whatever commit.
    kept = [file["filename"] for file in getattr(rows, "cache_files", [])]
    commits = {commit for name in kept for commit in _COMMIT.findall(name)}
    if commits and benchmark.revision not in commits:
        raise ClbenchError(
            f"{benchmark.hub_id}: the hub cannot be reached, and what was downloaded earlier "
            f"is of revision {', '.join(sorted(commits))}, not of {benchmark.revision}. "
            f"Connect once, or give the path of a file: {_A_FILE}"
        )
    return iter(rows)


def hub_file(benchmark: Benchmark) -> str:
    """The path of a benchmark's file of rows in the hub's local cache.

    The file is known by its content, whatever it is named: CL-bench Life's name is
    written in two ways.
    """
    import huggingface_hub  # slow to import, and not needed for files

    try:
        revision = _full_revision(benchmark)
        folder = huggingface_hub.snapshot_download(
            benchmark.hub_id,
            repo_type="dataset",
            revision=revision,
            allow_patterns="*.jsonl",
        )
    except Exception as ex:
        raise _not_loaded(benchmark, ex) from ex
    found = {path: _sha256(path) for path in sorted(Path(folder).rglob("*.jsonl"))}
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


def _not_loaded(benchmark: Benchmark, ex: Exception) -> ClbenchError:
    reason = " ".join(str(ex).split())
    return ClbenchError(
        f"{benchmark.hub_id}: the dataset could not be loaded from the hub "
        f"({type(ex).__name__}: {reason}). Check the connection, or download the file "
        f"elsewhere (revision {benchmark.revision}) and give its path: {_A_FILE}"
    )


def is_full_revision(revision: str) -> bool:
    """Whether a commit is named by its whole hash, as the hub wants it."""
    return len(revision) == _FULL_HASH


def _full_revision(benchmark: Benchmark) -> str | None:
    """The whole hash of the pinned commit; none if the hub's history does not have it.

    The hub takes whole hashes only. Without one the latest file must do, if its
    content is the right one.
    """
    from huggingface_hub import HfApi, constants

    pinned = benchmark.revision
    if is_full_revision(pinned):
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


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
