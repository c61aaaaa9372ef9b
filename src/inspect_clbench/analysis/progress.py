"""Signs of life on the terminal for what takes longer than a moment."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Timer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.progress import Progress

PATIENCE_SECONDS = 2.0

_shown: ContextVar["Progress | None"] = ContextVar("progress", default=None)


@contextmanager
def progress(title: str, total: int | None = None) -> Iterator[Callable[[str], None]]:
    """Show how far a loop is, on stderr, if that is a terminal and two seconds have passed.

    A loop within a loop gets a line of its own below.

    Args:
        title: What is being done.
        total: How many steps there are, if that is known.

    Yields:
        A function to call after each step, with a word on it.
    """
    if not sys.stderr.isatty():
        yield lambda word: None
        return
    if (outer := _shown.get()) is not None:
        task = outer.add_task(title, total=total, word="")
        try:
            yield lambda word: outer.update(task, advance=1, word=word)
        finally:
            outer.remove_task(task)
        return
    from rich.console import Console
    from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn

    bar = Progress(
        SpinnerColumn(),
        TextColumn("{task.description}", markup=False),
        MofNCompleteColumn(),
        TextColumn("{task.fields[word]}", markup=False),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(title, total=total, word="")
    timer = Timer(PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    token = _shown.set(bar)
    try:
        yield lambda word: bar.update(task, advance=1, word=word)
    finally:
        _shown.reset(token)
        timer.cancel()
        timer.join()
        bar.stop()
