"""Context manager for progress bars on stderr, for everything that takes longer than two seconds."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Literal

PATIENCE_SECONDS = 2.0


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
