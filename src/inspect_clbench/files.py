"""Writing files whole or not at all."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` once it is complete.

    Until then, and if writing fails, what stood at `path` stays as it was.
    """
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
        Path(name).chmod(0o644)  # mkstemp makes files that only their owner may read
        Path(name).replace(target)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors="replace"))
