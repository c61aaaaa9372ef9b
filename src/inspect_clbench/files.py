"""Writing files: whole or not at all, where the user meant, with the modes that the user set.

All files that this package writes are written here; logs are by `logs.rewriting`.
"""

import os
import re
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from inspect_clbench.errors import ClbenchError
from inspect_clbench.progress import tell

# Opening one of these anew would cut off what the file behind it holds already.
_STREAM = re.compile(r"/dev/(?P<name>stdout|stderr)|/(dev|proc/self)/fd/(?P<number>\d+)")
_NUMBERS = {"stdout": 1, "stderr": 2}


@contextmanager
def replacing(path: str | Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path` once it is complete.

    Until then, and if writing fails, what stood at `path` stays as it was. Symbolic links
    are followed. What is no regular file (a pipe, a terminal) is written to as it is.

    Raises:
        ClbenchError: The file cannot be written.
    """
    with _translated(path):
        if (stream := _stream(path)) is not None:
            with os.fdopen(os.dup(stream), "wb") as file:
                yield file
            return
        target = _target(path)
        if target.exists() and not target.is_file():
            with target.open("wb") as file:
                yield file
            return
        unfinished = new_file(target)
        try:
            with unfinished.open("wb") as file:
                yield file
            unfinished.replace(target)
        except BaseException:
            unfinished.unlink(missing_ok=True)
            raise
    tell(f"Wrote {path}")


def write_text(path: str | Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as file:
        file.write(text.encode("utf-8", errors="replace"))


def check_target(path: str | Path, *, new: bool = False) -> None:
    """Refuse a file that could not be written, before any work is done for it.

    Args:
        path: The file.
        new: Whether a file that exists is refused too.
    """
    if _stream(path) is not None:
        return
    with _translated(path):
        target = _target(path)
        if new and target.exists():
            raise ClbenchError(f"{path}: exists already. Name another file, or remove it.")
        if not target.exists() or target.is_file():
            new_file(target).unlink()


def make_folder(path: str | Path) -> None:
    """Make a folder, but not those above it: they are more likely a typing mistake."""
    with _translated(path):
        try:
            Path(path).mkdir(exist_ok=True)
        except FileNotFoundError:
            raise _no_folder(path) from None
        except FileExistsError:
            raise ClbenchError(f"{path}: a file, not a folder. Name another one.") from None


def new_file(target: Path) -> Path:
    """An empty file beside another, with that one's mode or the mode of a new file.

    Its name is nobody else's, and nothing takes it for a file of rows or a log, should the
    process be killed before it is complete.
    """
    path = target.with_name(f".clbench-{secrets.token_hex(6)}.tmp")
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    with suppress(FileNotFoundError):
        path.chmod(stat.S_IMODE(target.stat().st_mode))
    return path


def _stream(path: str | Path) -> int | None:
    found = _STREAM.fullmatch(str(path))
    return int(found["number"] or _NUMBERS[found["name"]]) if found else None


def _target(path: str | Path) -> Path:
    """The file that is meant, if it can be one."""
    target = Path(path).resolve()
    if target.is_dir():
        raise ClbenchError(f"{path}: a folder. Name a file in it.")
    if not target.parent.is_dir():
        raise _no_folder(path)
    if target.exists() and not os.access(target, os.W_OK):
        raise ClbenchError(f"{path}: cannot be written, it is write-protected.")
    return target


def _no_folder(path: str | Path) -> ClbenchError:
    return ClbenchError(f"{path}: there is no folder {Path(path).parent}. Make it first.")


@contextmanager
def _translated(path: str | Path) -> Iterator[None]:
    try:
        yield
    except OSError as ex:
        raise ClbenchError(f"{path}: cannot be written ({ex.strerror or ex}).") from ex
