"""What a command says while it works: progress bars, and lines on what it has done."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from logging import INFO, Handler, LogRecord, getLogger
from threading import Timer
from typing import Literal

PATIENCE_SECONDS = 2.0

_lines = getLogger(__name__)


def tell(text: str) -> None:
    """Say what was done: a line of a command, a message of level INFO in Python."""
    _lines.info("%s", text)


@contextmanager
def told(say: Callable[[str], None]) -> Iterator[None]:
    """Have the lines of `tell` printed by a function."""

    class Told(Handler):
        def emit(self, record: LogRecord) -> None:
            say(record.getMessage())

    handler, level = Told(), _lines.level
    _lines.addHandler(handler)
    _lines.setLevel(INFO)
    try:
        yield
    finally:
        _lines.removeHandler(handler)
        _lines.setLevel(level)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """Show how far a loop is, if stderr is a terminal and two seconds have passed.

    Args:
        title: What is being done.
        total: How many steps there are, if that is known.

    Yields:
        A function to call with the number of steps that were done.
    """
    if not sys.stderr.isatty():
        yield lambda steps: None
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=total)
    timer = Timer(PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda steps: bar.update(task, advance=steps)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()


def inspect_display() -> Literal["rich", "none"]:
    """How Inspect shows an eval or a scoring that a command runs: a bar on a terminal."""
    return "rich" if sys.stdout.isatty() and sys.stderr.isatty() else "none"
