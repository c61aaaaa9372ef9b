"""Files of the original scripts and run configs: import, export, verify, run-config."""

from importlib.resources import files
from typing import Annotated

import typer

from inspect_clbench.cli.app import Logs, app
from inspect_clbench.errors import ClbenchError


@app.command("import")
def import_command(
    graded: Annotated[
        list[str],
        typer.Argument(
            help="Graded files, one per run.", metavar="FILE...", show_default=False
        ),
    ],
    model: Annotated[
        str | None,
        typer.Option(help="The model's name; else from the files' names.", show_default=False),
    ] = None,
    judge: Annotated[
        str | None, typer.Option(help="The judge's name, if known.", show_default=False)
    ] = None,
    log_dir: Annotated[
        str, typer.Option(help="Where the log is written.", envvar="INSPECT_LOG_DIR")
    ] = "logs",
) -> None:
    """Turn graded files of the original scripts into a log, as they are."""
    from inspect_clbench.analysis.originals.graded import import_graded

    imported = import_graded(graded, model=model, judge=judge, log_dir=log_dir)
    for note in imported.notes:
        typer.echo(f"clbench: {note}", err=True)
    typer.echo(imported.log)


DatasetOption = Annotated[
    str | None,
    typer.Option(
        help="The dataset to verify against; else the one that the rows come from.",
        show_default=False,
    ),
]


@app.command("export")
def export_command(
    logs: Logs,
    to: Annotated[str, typer.Option(help="The folder to write to.", show_default=False)],
    org: Annotated[
        str, typer.Option(help="The organisation on the leaderboard.", show_default=False)
    ] = "",
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the set as the maintainers would.")
    ] = False,
    dataset: DatasetOption = None,
) -> None:
    """Write inference and graded files per run, and the leaderboard's object."""
    from inspect_clbench.analysis.originals.export import export

    exported = export(logs, to, org=org)
    for one in exported:
        for note in one.notes:
            typer.echo(f"clbench: {one.series.model}: {note}.", err=True)
        for path in one.files:
            typer.echo(str(path))
    if verify:
        _verify([str(one.folder) for one in exported], dataset or exported[0].dataset)


@app.command("verify")
def verify_command(
    paths: Annotated[
        list[str],
        typer.Argument(
            help="Folders that export wrote, or files.", metavar="PATH...", show_default=False
        ),
    ],
    dataset: DatasetOption = None,
) -> None:
    """Check a set of files before it is handed in, as the maintainers would."""
    _verify(paths, dataset)


def _verify(paths: list[str], dataset: str | None) -> None:
    from inspect_clbench.analysis.originals.verify import verify

    problems = verify(paths, dataset)
    for problem in problems:
        typer.echo(problem)
    if problems:
        raise typer.Exit(1)
    typer.echo("Nothing is off.")


@app.command("run-config")
def run_config_command(
    name: Annotated[str, typer.Argument(help="paper or paper-life", show_default=False)],
) -> None:
    """Print the path of a run config, for inspect eval --run-config."""
    folder = files("inspect_clbench") / "run_configs"
    known = sorted(
        f.name.removesuffix(".yaml") for f in folder.iterdir() if f.name.endswith(".yaml")
    )
    if name not in known:
        raise ClbenchError(f"{name}: no such run config. There are: {', '.join(known)}.")
    typer.echo(str(folder / f"{name}.yaml"))
