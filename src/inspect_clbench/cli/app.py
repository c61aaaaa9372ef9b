"""The command's root, and what its sub-commands share."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from inspect_clbench.analysis.tables import Table

app = typer.Typer(
    name="clbench",
    help="Tables and more from Inspect logs of CL-bench.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)

Logs = Annotated[
    list[str],
    typer.Argument(help="Log files, folders or URLs.", metavar="LOG...", show_default=False),
]


FormatOption = Annotated[
    str | None,
    typer.Option(
        "--format",
        help="terminal, markdown, csv, json, latex or html; else as the output's ending says.",
        show_default=False,
    ),
]
OutputOption = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="A file to write instead of the screen.", show_default=False
    ),
]


def deliver(tables: Sequence["Table"], format: str | None, output: str | None) -> None:
    """Print tables, or write them to a file."""
    from inspect_clbench.analysis.tables import format_for, render, save

    if output is None:
        typer.echo(render(tables, format_for(None, format)), nl=False)
    else:
        save(tables, output, format)
