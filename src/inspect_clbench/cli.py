"""The command `clbench`: arguments to one analysis call, nothing else."""

from importlib.resources import files
from typing import Annotated

import typer

from inspect_clbench.errors import ClbenchError

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


@app.command("report")
def report_command(logs: Logs) -> None:
    """The paper's table: solving rates in %, mean ± std over runs."""
    from inspect_clbench.analysis.report import report
    from inspect_clbench.analysis.tables import render

    typer.echo(render(report(logs), "terminal"))


@app.command("run-config")
def run_config_command(
    name: Annotated[str, typer.Argument(help="paper", show_default=False)],
) -> None:
    """Print the path of a run config, for inspect eval --run-config."""
    folder = files("inspect_clbench") / "run_configs"
    known = sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )
    if name not in known:
        raise ClbenchError(f"{name}: no such run config. There are: {', '.join(known)}.")
    typer.echo(str(folder / f"{name}.yaml"))


def main() -> None:
    """Run the command; what a user can mend ends in one line and exit code 2."""
    try:
        app()
    except ClbenchError as ex:
        typer.echo(f"clbench: {ex}", err=True)
        raise SystemExit(2) from None


if __name__ == "__main__":
    main()
