"""Writing files: whole or not at all, where the user meant, with the modes that the user set."""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from inspect_clbench.errors import ClbenchError


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` once it is complete.

    Until then, and if writing fails, what stood at `path` stays as it was. A symbolic link stays
    one. What is no regular file, such as a pipe or /dev/stdout, is written to as it is.

    Raises:
        ClbenchError: The file cannot be written.
    """
    target = Path(path).resolve()
    try:
        # A stream that the shell sent to a file is resolved to that file, which holds other output.
        if str(path).startswith("/dev/") or (
            target.exists() and not target.is_file() and not target.is_dir()
        ):
            with Path(path).open("ab") as file:
                yield file
            return
        # No log and no file of rows: a process that is killed leaves nothing that passes for one.
        unfinished = target.with_name(f".clbench-{secrets.token_hex(6)}.tmp")
        try:
            with unfinished.open("xb") as file:
                with suppress(FileNotFoundError):
                    unfinished.chmod(target.stat().st_mode & 0o7777)
                yield file
                file.flush()
                os.fsync(file.fileno())
            unfinished.replace(target)
        finally:
            unfinished.unlink(missing_ok=True)
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be written ({ex.strerror or ex}). Name another file.") from ex


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors="replace"))
