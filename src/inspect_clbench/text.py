"""Text from outside made fit to be shown."""

import os
import re

# Characters that hide, reorder or cut text, or that a terminal would obey.
INVISIBLE = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f"
    r"\u3164\ufeff\ufff9-\ufffb\ufffe\uffff\ud800-\udfff\U000e0000-\U000e007f]"
)

_HIDDEN = "[hidden]"
_SECRET_NAMES = ("KEY", "TOKEN", "SECRET", "PASSWORD")
# How keys of providers and hosts begin. All lengths are bounded, so that no text takes long.
_BEGINNINGS = (
    "sk-", "sk_", "pk-", "rk-", "hf_", "gsk_", "xai-", "ghp_", "gho_", "ghs_", "github_pat_", "glpat-", "nvapi-", "pplx-",
    "AIza", "AKIA", "ASIA", "eyJ",
)  # fmt: skip
# With a digit, masked, or in mixed case, as keys of Hugging Face have no digits; those of AWS are shorter.
_KEY = re.compile(
    rf"\b({'|'.join(_BEGINNINGS)})(?:(?=[\w*.-]{{0,40}}(?:[\d*]|[a-z][A-Z]))[\w*.-]{{19,}}[\w*-]|(?<=IA)[A-Z\d]{{16}}\b)"
)
# In messages also what follows a word for a key: with a digit, masked, or very long.
_NAMED = (
    re.compile(
        r"""(authorization[\s"':=,\\]{1,5}+(?:(?:bearer|basic|token|key)\s+)?+)(?!\[)[^\s"',;}\])]+""",
        re.IGNORECASE,
    ),
    re.compile(
        r"((?:key|token|secret|password|credential|signature|bearer)[^\n]{0,30}?(?<![\w*+]))"
        r"(?:(?=[\w*+]{0,40}[\d*])[\w*+]{12}|[\w*+]{32})[\w*+=.~-]*",
        re.IGNORECASE,
    ),
    re.compile(r"""(secret\w{0,30}[\s"'=:]{1,5}+)[\w+/]{30,}=*""", re.IGNORECASE),  # of AWS, with slashes
)
# Of a URL: the name and password before its host, and its query.
_URL_SECRETS = re.compile(
    r"""(\b[a-z][a-z0-9+.-]{1,20}://)(?:[^/\s'"<>?]*@)?([^\s'"<>?]*)(?:\?[^\s'"<>)]*)?""", re.IGNORECASE
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
    """A text without what begins as keys do, and without the values of variables named like one."""
    for name in os.environ:
        # One that is a word, such as `ollama` for a server that wants no key, is no secret.
        if name.upper().endswith(_SECRET_NAMES) and re.search(r"^(?=.*\d).{8}|^.{16}", os.environ[name]):
            text = text.replace(os.environ[name], _HIDDEN)
    if any(
        beginning in text for beginning in _BEGINNINGS
    ):  # most of a hundred megabytes of answers have none
        text = _KEY.sub(rf"\1{_HIDDEN}", text)
    return text


def redacted(message: str) -> str:
    """A message of a server or a library, which may send back a request, without credentials."""
    message = without_keys(message)
    for pattern in _NAMED:
        message = pattern.sub(rf"\1{_HIDDEN}", message)
    return public_url(message)
