"""The one exception that users meet when their input is at fault."""

from contextlib import suppress

from inspect_ai._util.error import (
    PrerequisiteError,  # inspect-evals-lint: ignore[private_api_imports] -- the only error that Inspect prints without a traceback; it has no public name
)
from rich.errors import MarkupError
from rich.markup import escape
from rich.text import Text

from inspect_clbench.text import one_line, redacted, visible


def message_of(ex: Exception) -> str:
    """What an exception says, on one line; Inspect's own messages about a missing key are rich markup."""
    message = str(getattr(ex, "message", ex))
    with suppress(MarkupError):  # others hold names with brackets
        message = Text.from_markup(message).plain
    return one_line(message)


class ClbenchError(PrerequisiteError, ValueError):
    """Something a user can mend: the message names it and says how."""

    def __init__(self, message: str) -> None:
        text = visible(redacted(message))
        if len(text) > 4000:  # a value of a damaged file can be a megabyte
            text = f"{text[:2000]} … {text[-2000:]}"
        super().__init__(escape(text))  # Inspect prints it as rich markup: brackets in paths and JSON
        self.args = (text,)

    def __str__(self) -> str:
        return str(self.args[0])
