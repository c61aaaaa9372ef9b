"""The command `clbench`, called in this process."""

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from typing import NamedTuple
from unittest.mock import patch

from inspect_clbench.cli import main


class Result(NamedTuple):
    """How a command ended and what it printed."""

    exit_code: int
    stdout: str
    stderr: str


def clbench(*arguments: str) -> Result:
    """Call the command's entry point with these arguments."""
    stdout, stderr = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="") for _ in range(2))
    with patch.object(sys, "argv", ["clbench", *arguments]), redirect_stdout(stdout), redirect_stderr(stderr):
        try:
            main()
            code = 0
        except SystemExit as ex:
            code = ex.code if isinstance(ex.code, int) else int(ex.code is not None)
    for stream in (stdout, stderr):
        stream.seek(0)
    return Result(code, stdout.read(), stderr.read())
