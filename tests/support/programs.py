"""Programs in processes of their own that start at once.

They are forked from a server that has imported Inspect already, which takes a new
interpreter two seconds of CPU.
"""

import multiprocessing
import os
import sys
import tempfile
from collections.abc import Mapping
from multiprocessing import forkserver
from pathlib import Path
from unittest.mock import patch

from tests.support.command import Result

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(["inspect_ai._cli.main", "inspect_clbench._registry"])
_ROOT = str(Path(__file__).parents[2])


def inspect(
    *arguments: str, cwd: Path | None = None, env: Mapping[str, str] | None = None, timeout: float = 120
) -> Result:
    """Run `inspect` with these arguments.

    Args:
        arguments: The command line.
        cwd: The working directory; this process's own if not given.
        env: The whole environment; this process's own if not given.
        timeout: After how many seconds the process is ended and the test fails.
    """
    return _run("from inspect_ai._cli.main import main; main()", arguments, cwd, env, timeout)


def python(code: str, *, env: Mapping[str, str] | None = None, timeout: float = 120) -> Result:
    """Run a program as `python -c` does, but for the modules that are there already.

    Args:
        code: The program.
        env: The whole environment; this process's own if not given.
        timeout: After how many seconds the process is ended and the test fails.
    """
    return _run(code, (), None, env, timeout)


def _run(
    code: str, arguments: tuple[str, ...], cwd: Path | None, env: Mapping[str, str] | None, timeout: float
) -> Result:
    with tempfile.TemporaryDirectory() as folder:
        outputs = [str(Path(folder) / name) for name in ("stdout", "stderr")]
        environment = dict(os.environ if env is None else env)
        process = _context.Process(
            target=_child, args=(code, arguments, str(cwd or Path.cwd()), environment, outputs)
        )
        with patch.dict(os.environ, PYTHONPATH=_ROOT):  # where the server finds its preload
            forkserver.ensure_running()
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            process.join()
        texts = [Path(path).read_text("utf-8") for path in outputs]
        exit_code = process.exitcode
        process.close()
    assert exit_code is not None
    return Result(exit_code, *texts)  # negative: the signal that ended it


def _child(code: str, arguments: tuple[str, ...], cwd: str, env: dict[str, str], outputs: list[str]) -> None:
    for number, path in enumerate(outputs, start=1):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), number)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", encoding="utf-8", closefd=False, buffering=1)
    os.environ.clear()
    os.environ.update(env)
    os.chdir(cwd)
    sys.argv = ["inspect", *arguments]
    try:
        exec(compile(code, "<program>", "exec"), {"__name__": "__main__"})
    except Exception:
        # As an interpreter does it; multiprocessing would not ask the hook.
        sys.excepthook(*sys.exc_info())
        sys.exit(1)
