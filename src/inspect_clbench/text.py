"""Text for people: what comes from outside made fit to be shown, lists and numbers in words."""

import re
from collections.abc import Sequence

# Characters that hide, reorder or cut text, or that a terminal would obey.
INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)


def one_line(text: str) -> str:
    """Text on one line, with nothing in it that a terminal would obey."""
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    """Text with its lines, and with nothing in it that a terminal would obey."""
    return INVISIBLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def shortened(text: str, most: int, *, tail: bool = False) -> str:
    """The beginning of a text, or its end, on one line of at most so many characters."""
    line = one_line(text)
    if len(line) <= most:
        return line
    return "…" + line[-most + 1 :].lstrip() if tail else line[: most - 1].rstrip() + "…"


def some(things: Sequence[str], shown: int = 3) -> str:
    """The first few of many: `a, b, c and 4 more`."""
    more = f" and {len(things) - shown:,} more" if len(things) > shown else ""
    return ", ".join(things[:shown]) + more


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
