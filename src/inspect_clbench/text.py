"""Text from outside made fit to be shown."""

import os
import re

# Characters that hide, reorder or cut text, or that a terminal would obey.
INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)

_HIDDEN = "[hidden]"
_SECRET_NAMES = ("_API_KEY", "_TOKEN", "_SECRET", "_PASSWORD", "_ACCESS_KEY")
_KEY_NAME = r"(?:[\w.]+-)*(?:api|subscription|access)[-_ ]?(?:key|token)"
_END = r"""\s"',;}\])"""  # what a key cannot hold
# Patterns with words of which a text has one if they match: a page takes keys out of a hundred
# megabytes of answers. A key has a digit or is long: "API key: required" and "skin-to-skin" are prose.
_SECRETS = (
    # Headers and fields by their names, as JSON, as a Python dict or as HTTP writes them.
    (
        ("authorization", "key", "token"),
        re.compile(
            rf"""(\b(?:proxy-)?authorization\b|\b{_KEY_NAME}\b)(["']?\s*[:=]\s*["']?)"""
            rf"""(?:(?:bearer|basic|token|apikey)\s+|(?=[^{_END}]*\d|[^{_END}]{{20}}))[^{_END}]+""",
            re.IGNORECASE,
        ),
    ),
    (("bearer",), re.compile(r"(\bbearer)(\s+)(?=[\w.~+/=-]*\d)[\w.~+/=-]{8,}", re.IGNORECASE)),
    (
        ("-", "_", "aiza"),
        re.compile(r"(\b(?:sk|pk|rk|hf|gsk|xai|ghp)(?=[-_])|\bAIza)([-_]?)(?=[\w-]*[\d*])[\w*-]{12,}"),
    ),
)
# Of a URL: the name and password before its host, and its query.
_URL_SECRETS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{1,20}://)(?:[^/\s'"<>@?]*@)?([^\s'"<>?]*)(?:\?[^\s'"<>)]*)?""", re.IGNORECASE
)


def visible(text: str) -> str:
    """Text with its lines, and with nothing in it that a terminal would obey."""
    return INVISIBLE.sub("\ufffd", text.replace("\r\n", "\n").replace("\r", "\n"))


def one_line(text: str) -> str:
    """Text on one line, with nothing in it that a terminal would obey."""
    return visible(" ".join(text.split()))


def shortened(text: str, length: int) -> str:
    """The beginning of a text on one line of at most so many characters."""
    line = one_line(text)
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def public_url(url: str) -> str:
    """A URL, or a text with URLs in it, without user names, passwords and queries."""
    return _URL_SECRETS.sub(r"\1\2", url) if "://" in url else url


def without_keys(text: str) -> str:
    """A text without what looks like a key, and without the values of variables named like one."""
    for name in os.environ:
        if name.upper().endswith(_SECRET_NAMES) and len(value := os.environ.get(name, "")) >= 6:
            text = text.replace(value, _HIDDEN)
    lowered = text.lower()
    for words, pattern in _SECRETS:
        if any(word in lowered for word in words):
            text = pattern.sub(rf"\1\2{_HIDDEN}", text)
    return text


def redacted(message: str) -> str:
    """A message of a server or a library, which may send back a request, without credentials."""
    return public_url(without_keys(message))
