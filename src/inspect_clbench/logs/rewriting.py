"""Changing a log: nothing that others wrote meanwhile is lost, and no result either."""

import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from inspect_ai.log import EvalLog, WriteConflictError, read_eval_log, write_eval_log

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target, new_file
from inspect_clbench.logs.files import in_short, readable, unreadable
from inspect_clbench.progress import tell

try:
    import fcntl
except ImportError:  # not a POSIX system: changes are noticed, but nothing is locked
    fcntl = None  # type: ignore[assignment]  # a module or nothing

_ENDINGS = (".eval", ".json")
# A file as it was found; none if there was no such file.
_State = tuple[int, int, int] | None


def rewrite_log(
    log_file: str, change: Callable[[EvalLog], bool], *, output: str | None = None
) -> str:
    """Read a log, have it changed, and write it where it was or to a new file.

    The file is checked before anything is done, and replaced only by a complete log, of the
    format that its name's ending says. A log that somebody else has written to meanwhile is
    left alone: the result then goes to a file beside it, or to the folder for temporary
    files if it cannot be written there.

    Args:
        log_file: The log: a file, or an object on S3 or the like.
        change: Changes the log; says whether there is anything to write.
        output: A new file to write instead of replacing the log.

    Returns:
        Where the log is.

    Raises:
        ClbenchError: The log could not be read or written; if there is a result, the
            message names the file that holds it.
    """
    place, target = readable(log_file), readable(output or log_file)
    if Path(place).is_dir():
        raise ClbenchError(f"{place}: a folder. Name one log file in it.")
    if not target.endswith(_ENDINGS):
        raise ClbenchError(f"{target}: a log's name ends in {' or '.join(_ENDINGS)}.")
    remote = "://" in target
    if not remote and (output or Path(place).exists()):
        check_target(target, new=output is not None)
    with _locked(place, wanted=output is None):
        before = _state(target)
        try:
            log = read_eval_log(place)
        except FileNotFoundError:
            raise ClbenchError(f"{place}: no such file.") from None
        except Exception as ex:
            raise unreadable(place, ex, "not a readable log") from None
        if log.status == "started":
            raise ClbenchError(
                f"{place}: its run has not ended. Wait for it, or if it died: "
                f"inspect eval-retry {place}"
            )
        if remote and output is None:
            noticed = "a change is noticed" if log.etag else "see that nobody else writes to it"
            tell(f"{target}: cannot be locked there; {noticed}")
        if change(log) or output:
            if remote:
                _upload(log, target, None if output else log.etag)
            else:
                _replace(log, Path(target), before)
            tell(f"Wrote {target}")
    return target


def _replace(log: EvalLog, target: Path, before: _State) -> None:
    real = target.resolve()
    try:
        complete = new_file(real)
        try:
            write_eval_log(log, complete, "json" if real.suffix == ".json" else "eval")
            if _state(target) == before:
                complete.replace(real)
                return
            why = "was written by somebody else meanwhile"
        finally:
            complete.unlink(missing_ok=True)
    except Exception as ex:
        why = f"could not be written ({in_short(ex)})"
    raise _kept(log, str(target), why, target.parent)


def _upload(log: EvalLog, target: str, etag: str | None) -> None:
    try:
        write_eval_log(log, target, if_match_etag=etag)
    except WriteConflictError:
        raise _kept(log, target, "was written by somebody else meanwhile") from None
    except Exception as ex:
        raise _kept(log, target, f"could not be written ({in_short(ex)})") from None


def _kept(log: EvalLog, target: str, why: str, *folders: Path) -> ClbenchError:
    """Write the log where that is possible; the error that says where it is."""
    name = Path(target)
    for folder in (*folders, Path(tempfile.gettempdir()), Path.cwd()):
        with suppress(Exception):
            handle, path = tempfile.mkstemp(name.suffix, f"{name.stem[:150]}-kept-", folder)
            os.close(handle)
            try:
                write_eval_log(log, path)
            except BaseException:
                Path(path).unlink()
                raise
            return ClbenchError(f"{target}: {why}, and is left as it is. The result: {path}")
    return ClbenchError(f"{target}: {why}, and the result could not be written anywhere.")


def _state(path: str | Path) -> _State:
    try:
        found = Path(path).stat()
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


@contextmanager
def _locked(path: str, *, wanted: bool) -> Iterator[None]:
    """Keep others who ask from working on the same log, where the file system can."""
    if not wanted or fcntl is None or not Path(path).is_file():
        yield
        return
    with Path(path).open("rb") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ClbenchError(
                f"{path}: another process is changing it. Wait for it to end, or write "
                "another file with --output."
            ) from None
        except OSError:
            pass  # a network's file system may have no locks; a change is noticed all the same
        yield
