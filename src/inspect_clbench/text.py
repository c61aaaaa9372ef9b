"""Text for people: what comes from outside made fit to be shown, lists and numbers in words."""

import os
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


# Of a URL: the name and password before its host, and its query.
_URL_SECRETS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{1,20}://)(?:[^/\s'"<>@?]*@)?([^\s'"<>?]*)(?:\?[^\s'"<>)]*?(?=[:.,;]*(?:[\s'"<>)]|$)))?""",
    re.IGNORECASE,
)
_KEY_NAME = r"(?:[\w.]+-)*(?:api|subscription|access)[-_ ]?(?:key|token)"
_SECRETS = (
    # Headers and fields by their names, as JSON, as a Python dict or as HTTP writes them.
    re.compile(
        rf"""(\b(?:proxy-)?authorization\b|\b{_KEY_NAME}\b)(["']?\s*[:=]\s*["']?)"""
        r"""(?:(?:bearer|basic|token|apikey)\s+)?[^\s"',;}\])]+""",
        re.IGNORECASE,
    ),
    re.compile(r"(\b(?:bearer|basic))(\s+)[\w.~+/=-]{8,}", re.IGNORECASE),
    re.compile(r"(\b(?:sk|pk|rk|hf|gsk|xai|ghp|AIza))([-_]?)[\w*-]*[\w-]{12,}"),
)
_SECRET_NAMES = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY")
_HIDDEN = "[hidden]"


def public_url(url: str) -> str:
    """A URL, or a text with URLs in it, without user names, passwords and queries."""
    return _URL_SECRETS.sub(r"\1\2", url)


def redacted(message: str) -> str:
    """A message of a server or a library without what may be a credential.

    A server may send back the headers of a request; what looks like a key goes, and so do
    the values of environment variables that are named like one.
    """
    for name, value in os.environ.items():
        if name.upper().endswith(_SECRET_NAMES) and len(value) >= 6:
            message = message.replace(value, _HIDDEN)
    for pattern in _SECRETS:
        message = pattern.sub(rf"\1\2{_HIDDEN}", message)
    return public_url(message)


def printable(message: str) -> str:
    """A message with names and words of others in it, fit for a terminal and a log."""
    return visible(redacted(message))


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


def install_command(extra: str) -> str:
    """How to install an optional part of this package; from its folder, until it is released."""
    return f"pip install '.[{extra}]'"
