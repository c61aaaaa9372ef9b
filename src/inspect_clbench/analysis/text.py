"""Text from outside, made fit to be shown."""

import re

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


def shortened(text: str, most: int) -> str:
    """Text on one line, cut at so many characters."""
    line = one_line(text)
    return line if len(line) <= most else line[: most - 1].rstrip() + "…"


def counted(number: int, noun: str) -> str:
    """A number with its noun: 1 row, 2 rows."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
