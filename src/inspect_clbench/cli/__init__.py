"""The command `clbench`: arguments to one call, nothing else."""

import typer

from inspect_clbench.cli import analysis, judging, originals
from inspect_clbench.cli.app import app
from inspect_clbench.errors import ClbenchError

__all__ = ["analysis", "app", "judging", "main", "originals"]


def main() -> None:
    """Run the command; what a user can mend ends in one line and exit code 2."""
    try:
        app()
    except ClbenchError as ex:
        typer.echo(f"clbench: {ex}", err=True)
        raise SystemExit(2) from None
