"""A bar for whatever takes longer than two seconds, where somebody watches."""

from collections.abc import Iterable, Iterator
from threading import Timer
from typing import TypeVar

T = TypeVar("T")

PATIENCE_SECONDS = 2.0


def progress(items: Iterable[T], title: str, total: int | None = None) -> Iterator[T]:
    """The items, with a bar on stderr that says how many of them are done."""
    from rich.console import Console  # slow to import, and `clbench --help` needs no bar
    from rich.progress import Progress

    console = Console(stderr=True)
    bar = Progress(console=console, transient=True, disable=not console.is_terminal)
    task = bar.add_task(title, total=total)
    timer = Timer(PATIENCE_SECONDS, bar.start)
    timer.daemon = True
    timer.start()
    try:
        for item in items:
            yield item
            bar.advance(task)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
