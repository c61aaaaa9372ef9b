"""The one exception that users meet when their input is at fault."""

from inspect_ai._util.error import (
    PrerequisiteError,  # inspect-evals-lint: ignore[private_api_imports] -- the only error that Inspect prints without a traceback; it has no public name
)
from rich.markup import escape

from inspect_clbench.text import redacted, visible


class ClbenchError(PrerequisiteError, ValueError):
    """Something a user can mend: the message names it and says how."""

    def __init__(self, message: str) -> None:
        text = visible(redacted(message))
        super().__init__(escape(text))  # Inspect prints it as rich markup: brackets in paths and JSON
        self.args = (text,)

    def __str__(self) -> str:
        return str(self.args[0])
