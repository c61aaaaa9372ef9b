"""A bar where somebody watches."""

from collections.abc import Iterable
from typing import TypeVar

from rich.console import Console
from rich.progress import track

T = TypeVar("T")


def progress(items: Iterable[T], title: str, total: int) -> Iterable[T]:
    """The items, with a bar on stderr that says how many of them are done."""
    console = Console(stderr=True)
    return track(items, title, total, console=console, transient=True, disable=not console.is_terminal)
