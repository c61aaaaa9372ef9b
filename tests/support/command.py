"""The command `clbench`, called in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple, TextIO
from unittest.mock import patch

from inspect_clbench.cli import main


class Result(NamedTuple):
    """How a command ended and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


def clbench(*arguments: str, stderr: TextIO | None = None) -> Result:
    """Call the command's entry point with these arguments.

    Args:
        arguments: The command line.
        stderr: Where errors go instead of the result, such as a terminal.
    """
    streams = [io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2)]
    with (
        patch.object(sys, "argv", ["clbench", *arguments]),
        redirect_stdout(streams[0]),
        redirect_stderr(stderr or streams[1]),
    ):
        try:
            main()
            code = 0
        except SystemExit as ex:
            code = ex.code if isinstance(ex.code, int) else int(ex.code is not None)
    return Result(code, *(_content(stream) for stream in streams))


def _content(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")
