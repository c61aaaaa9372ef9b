"""The command `clbench`: arguments to one call, nothing else.

Whatever needs Inspect or pandas is imported within the commands, so that help, the version and
mistakes in the arguments are answered at once.
"""

import logging
import os
import signal
import sys
from types import FrameType
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from inspect_clbench.text import redacted, visible

if TYPE_CHECKING:
    import pandas as pd

    from inspect_clbench.results.table import Table

app = typer.Typer(
    name="clbench",
    help="Tables, pictures and files made of Inspect logs of CL-bench.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


Format = Literal["table", "markdown", "csv", "json", "latex"]
By = Literal["sub_category", "length", "threshold", "runs"]
Kind = Literal["rates", "forest", "heatmap", "length", "cost"]


def _option(help: str, *names: str, **settings: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **settings)


# Arguments and options that commands share.
Logs = Annotated[list[str], typer.Argument(help="Log files, folders or URLs.", metavar="LOG")]
Models = Annotated[
    list[str] | None, _option("Only this model: its name or a part of it; repeatable.", "--model")
]
Judges = Annotated[
    list[str] | None, _option("Only this judge: its name or a part of it; repeatable.", "--judge")
]
Dataset = Annotated[str | None, _option("Only this dataset, where logs of several are named.", "--dataset")]
Labels = Annotated[
    list[str] | None, _option("What to call a model; repeatable.", "--label", metavar="NAME=LABEL")
]
FormatName = Annotated[Format | None, _option("Else as the ending of --output says, or a table.", "--format")]
Output = Annotated[str | None, _option("A file to write instead of the screen.", "--output", "-o")]
Prices = Annotated[
    str | None,
    _option("Prices, in the file that inspect eval takes.", "--model-cost-config", metavar="FILE"),
]
Published = Annotated[bool, _option("Add the rows of the benchmark's paper.", "--published")]
RowsFile = Annotated[str | None, _option("The dataset, as the task takes it.", "--dataset")]


def main() -> None:
    """Run the command; what a user can mend ends in one message and exit code 1."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]  # not every encoding has ±
    handler = _Messages()
    logger = logging.getLogger("inspect_clbench")
    logger.addHandler(handler)
    # A batch system's stop is like Ctrl-C: verdicts that were paid for are written, unfinished files removed.
    stop = signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except Exception as ex:
        from inspect_clbench.errors import ClbenchError

        if not isinstance(ex, ClbenchError):
            raise
        _say(f"clbench: {ex}")
        raise SystemExit(1) from None
    finally:
        signal.signal(signal.SIGTERM, stop)
        logger.removeHandler(handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C would do now; a job in a shell's background may be set to ignore that."""
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


class _Messages(logging.Handler):
    """Prints the package's warnings on stderr."""

    def emit(self, record: logging.LogRecord) -> None:
        _say(record.getMessage())


def _say(message: str) -> None:
    """Print a message on stderr; names, paths and a provider's words in it come from outside."""
    from rich.console import Console
    from rich.text import Text

    Console(stderr=True, highlight=False, soft_wrap=not sys.stderr.isatty()).print(
        Text(visible(redacted(message)))
    )


def _answers(
    logs: list[str],
    model: list[str] | None,
    judge: list[str] | None,
    dataset: str | None,
    label: list[str] | None = None,
) -> "pd.DataFrame":
    """The frame of the logs that are meant, for every command that reads logs."""
    from inspect_clbench.results import answers_df

    pairs = [text.partition("=") for text in label or ()]
    if unclear := [name for name, sign, text in pairs if not (name and sign and text)]:
        raise typer.BadParameter(f"{unclear[0]}: write NAME=LABEL.", param_hint="--label")
    labels = {name: text for name, _, text in pairs}
    return answers_df(logs, model=model, judge=judge, dataset=dataset, labels=labels)


def _deliver(table: "Table", format: Format | None, output: str | None) -> None:
    """Print a table, or write it to a file."""
    if output is not None:
        table.save(output, format)
    else:
        styled = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
        typer.echo(table.to(format or "table", styled=styled), nl=False)


@app.command("plan")
def plan_command(
    model: Annotated[str, _option("The model under test.", "--model")],
    judge: Annotated[str | None, _option("The judge, if not the default one.", "--judge")] = None,
    dataset: RowsFile = None,
    contexts: Annotated[int | None, _option("Draw so many contexts; all if not given.", min=1)] = None,
    epochs: Annotated[int, typer.Option(help="How many runs.", min=1)] = 3,
    prices: Prices = None,
    pilot: Annotated[
        str | None, _option("A log of a small run, for what answers take.", metavar="LOG")
    ] = None,
    detect: Annotated[
        float | None,
        _option("Find the cheapest design that shows so large a difference.", metavar="POINTS", min=0.1),
    ] = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """What a run will use, cost and be able to show, before anything is paid."""
    from inspect_clbench.results import answers_df, plan

    answers = answers_df(pilot) if pilot else None
    table = plan(model, judge, dataset, contexts, epochs, prices, answers, detect)
    _deliver(table, format, output)


@app.command("report")
def report_command(
    logs: Logs,
    by: Annotated[By | None, _option("Rates of groups of tasks, or by another measure.")] = None,
    ci: Annotated[bool, _option("Show 95 % intervals, clustered on contexts.", "--ci")] = False,
    published: Published = False,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """Solving rates in %: of each model overall and by category, as in the paper's table."""
    from inspect_clbench.results import report

    answers = _answers(logs, model, judge, dataset, label)
    _deliver(report(answers, by, ci, published), format, output)


@app.command("compare")
def compare_command(
    logs: Logs,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """Which model is better: differences over the tasks that they have in common."""
    from inspect_clbench.results import compare

    _deliver(compare(_answers(logs, model, judge, dataset, label)), format, output)


@app.command("agreement")
def agreement_command(
    logs: Logs,
    draw_sheet: Annotated[
        tuple[int, str] | None,
        _option("Draw N verdicts into a CSV file for a person to check.", "--draw", metavar="N FILE"),
    ] = None,
    seed: Annotated[int, typer.Option(help="Which verdicts --draw takes.")] = 0,
    checked_sheet: Annotated[
        str | None,
        _option("Such a file, filled in: how far the judge is right.", "--checked", metavar="FILE"),
    ] = None,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """How far judges agree with each other, or with a person."""
    from inspect_clbench.results import agreement, checked, draw

    answers = _answers(logs, model, judge, dataset, label)
    if draw_sheet:
        number, path = draw_sheet
        drawn = draw(answers, number, path, seed)
        _say(f"Drew {drawn} verdicts. Write yes or no under `person`, then: agreement LOG --checked {path}")
    else:
        _deliver(checked(checked_sheet, answers) if checked_sheet else agreement(answers), format, output)


@app.command("errors")
def errors_command(
    logs: Logs,
    published: Published = False,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """Why answers failed: the paper's table of error types."""
    from inspect_clbench.results import errors

    _deliver(errors(_answers(logs, model, judge, dataset, label), published), format, output)


@app.command("costs")
def costs_command(
    logs: Logs,
    prices: Prices = None,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
    format: FormatName = None,
    output: Output = None,
) -> None:
    """Tokens and money by model and role."""
    from inspect_clbench.results import costs

    _deliver(costs(_answers(logs, model, judge, dataset, label), prices), format, output)


@app.command("plot")
def plot_command(
    logs: Logs,
    output: Annotated[str, _option("The file: .svg, .pdf or .png.", "--output", "-o")],
    kind: Annotated[Kind, typer.Option(help="Which picture.")] = "rates",
    width: Annotated[float, typer.Option(help="Inches; 3.3 for a column of a paper.", min=3, max=20)] = 6.5,
    prices: Prices = None,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
) -> None:
    """A picture: rates, differences, sub-categories, prompt lengths or costs."""
    from inspect_clbench.results import plot

    plot(_answers(logs, model, judge, dataset, label), kind, output, width, prices)


@app.command("explore")
def explore_command(
    logs: Logs,
    output: Annotated[str, _option("The page: .html.", "--output", "-o")],
    without: Annotated[
        list[str] | None, _option("Leave these texts out; repeatable.", metavar="answers|rubrics")
    ] = None,
    published: Published = False,
    prices: Prices = None,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
) -> None:
    """One page that opens from disk: tables, pictures, and every task, rubric and answer."""
    from inspect_clbench.results import explore

    explore(_answers(logs, model, judge, dataset, label), output, without or (), published, prices)


@app.command("regrade")
def regrade_command(
    logs: Logs,
    judge: Annotated[str | None, _option("Another judge than the log's own.", "--judge")] = None,
) -> None:
    """Ask the judge again for the rows without a verdict; all others stay as they are."""
    from inspect_clbench.regrade import regrade

    for result in regrade(logs, judge):
        typer.echo(visible(result))


@app.command("import")
def import_command(
    files: Annotated[list[str], typer.Argument(help="Graded files, one per run.", metavar="FILE")],
    model: Annotated[str, _option("The model that gave the answers.", "--model")],
    judge: Annotated[str | None, _option("The judge's name, if it is known.", "--judge")] = None,
    dataset: RowsFile = None,
    log_dir: Annotated[
        str, typer.Option(help="Where the log is written.", envvar="INSPECT_LOG_DIR")
    ] = "./logs",
) -> None:
    """Turn graded files of the original scripts into a log, as they stand."""
    from inspect_clbench.results import import_files

    typer.echo(visible(import_files(files, model, log_dir, judge=judge, dataset=dataset)))


@app.command("export")
def export_command(
    logs: Logs,
    output: Annotated[str, _option("The folder to write to.", "--output", "-o")],
    org: Annotated[str | None, _option("The organisation on the leaderboard.")] = None,
    model: Models = None,
    judge: Judges = None,
    dataset: Dataset = None,
    label: Labels = None,
) -> None:
    """Write the files of the original scripts, and the row for the leaderboard."""
    from inspect_clbench.results import export_files

    for path in export_files(_answers(logs, model, judge, dataset, label), output, org=org):
        typer.echo(visible(str(path)))


def _print_version(is_asked_for: bool) -> None:
    if is_asked_for:
        from importlib.metadata import version

        typer.echo(f"clbench {version('inspect-clbench')}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, _option("Print the version.", "--version", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Tables, pictures and files made of Inspect logs of CL-bench."""
