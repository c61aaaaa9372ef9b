"""The one exception users meet when their input is at fault."""

from inspect_ai._util.error import (
    PrerequisiteError,  # inspect-evals-lint: ignore[private_api_imports] -- the only error Inspect's command line prints without a traceback; it has no public name
)
from rich.markup import escape


class ClbenchError(PrerequisiteError, ValueError):
    """Something a user can mend: the message names it and says how.

    Names and messages of others in it are made harmless here, whoever prints it: nothing
    that a terminal would obey, no credentials.

    Inspect prints the message of a `PrerequisiteError` as rich markup and without
    a traceback, so what stands in brackets (paths, JSON) is escaped here.
    """

    def __init__(self, message: str) -> None:
        from inspect_clbench.text import printable  # needed only once there is an error

        message = printable(message)
        super().__init__(escape(message))
        self.args = (message,)

    def __str__(self) -> str:
        return str(self.args[0])
