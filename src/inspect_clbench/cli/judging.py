"""About judges: agreement, error types, sheets for a person, asking again."""

from typing import TYPE_CHECKING, Annotated

import typer

from inspect_clbench.cli.app import FormatOption, OutputOption, app, deliver
from inspect_clbench.errors import ClbenchError

if TYPE_CHECKING:
    from inspect_clbench.analysis.checking.check_sheets import Sheet


@app.command("agreement")
def agreement_command(
    logs: Annotated[
        list[str],
        typer.Argument(
            help="A log, or two of the same answers.", metavar="LOG [LOG]", show_default=False
        ),
    ],
    panel_as_one: Annotated[
        bool,
        typer.Option(
            "--panel-as-one", help="Take a panel's decision, not the votes of its judges."
        ),
    ] = False,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="List the answers on which verdicts differ.")
    ] = False,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """How far judges agree, and how steady one is that was asked again."""
    from inspect_clbench.analysis.comparing.agreement import agreement
    from inspect_clbench.analysis.comparing.agreement_tables import agreement_tables

    found = agreement(logs, panel_as_one=panel_as_one)
    deliver(agreement_tables(found, list_tasks=tasks), format, output)


SheetOption = Annotated[
    tuple[int, str] | None,
    typer.Option(
        "--sheet",
        metavar="N FILE",
        help="Draw N into a CSV file for a person to check.",
        show_default=False,
    ),
]
CheckedOption = Annotated[
    str | None,
    typer.Option("--checked", help="Report on such a file, filled in.", show_default=False),
]
SheetSeed = Annotated[int, typer.Option(help="Which are drawn for --sheet.")]
MaybeLogs = Annotated[
    list[str] | None,
    typer.Argument(help="Log files, folders or URLs.", metavar="[LOG...]", show_default=False),
]


@app.command("errors")
def errors_command(
    logs: MaybeLogs = None,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead, types by category or sub_category; repeatable.", show_default=False
        ),
    ] = None,
    published: Annotated[
        bool, typer.Option("--published", help="Add the rows of the benchmark's paper.")
    ] = False,
    heatmap: Annotated[
        str | None,
        typer.Option(
            help="Draw types by category, or as --by says, into a PNG, SVG, PDF or HTML file.",
            show_default=False,
        ),
    ] = None,
    sheet: SheetOption = None,
    checked: CheckedOption = None,
    seed: SheetSeed = 0,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Why answers failed: the paper's table of error types, and its check by hand."""
    from inspect_clbench.analysis.checking.check_sheets import error_sheet
    from inspect_clbench.analysis.checking.checked import checked_errors
    from inspect_clbench.analysis.error_types.errors import errors

    if checked is not None:
        deliver(checked_errors(checked), format, output)
    elif sheet is not None:
        _tell_of_sheet(error_sheet(logs or (), *sheet, seed=seed), "errors")
    elif heatmap is not None:
        from inspect_clbench.analysis.error_types.error_plot import error_heatmap

        error_heatmap(logs or (), heatmap, by=(by or ["category"])[0])
    else:
        deliver(errors(logs or (), by=by or (), published=published), format, output)


@app.command("check-judge")
def check_judge_command(
    logs: MaybeLogs = None,
    sheet: SheetOption = None,
    checked: CheckedOption = None,
    seed: SheetSeed = 0,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Check the rubric judge by hand: draw verdicts into a sheet, then report on it."""
    from inspect_clbench.analysis.checking.check_sheets import verdict_sheet
    from inspect_clbench.analysis.checking.checked import checked_verdicts

    if (sheet is None) == (checked is None):
        raise ClbenchError("check-judge: give either LOG --sheet N FILE or --checked FILE.")
    if sheet is not None:
        _tell_of_sheet(verdict_sheet(logs or (), *sheet, seed=seed), "check-judge")
    elif checked is not None:
        deliver(checked_verdicts(checked), format, output)


def _tell_of_sheet(sheet: "Sheet", command: str) -> None:
    typer.echo(
        f"{sheet.path}: {sheet.rows:,} of {sheet.of:,} drawn. Write yes under `confirm` where "
        "the judge is right, your own yes or no beside what is wrong; save as CSV, then: "
        f"clbench {command} --checked {sheet.path}"
    )


@app.command("regrade")
def regrade_command(
    log: Annotated[str, typer.Argument(help="The log.", metavar="LOG", show_default=False)],
    judge: Annotated[
        str | None, typer.Option(help="The model to ask; the log's own judge by default.")
    ] = None,
    output: Annotated[
        str | None, typer.Option(help="Write this file instead of replacing the log.")
    ] = None,
) -> None:
    """Ask the judge again for the rows without a verdict; all others stay as they are."""
    from inspect_clbench.regrade import regrade

    done = regrade(log, judge=judge, output=output)
    typer.echo(
        f"{done.asked} rows without a verdict were judged again, {done.still_failed} of them "
        f"still have none: {done.location}"
    )
    if done.labelled_before:
        typer.echo(
            f"clbench: the log's error types are from before: {done.labelled_before} rows count "
            "there as without a verdict. Label it again: inspect score LOG --scorer "
            "inspect_clbench/error_types --action append --overwrite",
            err=True,
        )
