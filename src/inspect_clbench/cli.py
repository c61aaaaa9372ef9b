"""The command `clbench`: arguments to one call, nothing else.

Whatever needs Inspect is imported within the commands, so that help, the version and
mistakes in the arguments are answered at once.
"""

import os
import shlex
import shutil
import sys
from functools import partial
from importlib.resources import files
from io import TextIOWrapper
from typing import TYPE_CHECKING, Annotated, Any

import typer

from inspect_clbench.choices import By, ErrorsBy, Format, LeftOut, Medium, PlotKind, RunConfig
from inspect_clbench.progress import told
from inspect_clbench.text import counted, printable, some

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from inspect_clbench.analysis import Log
    from inspect_clbench.analysis.frames import Result
    from inspect_clbench.exchange.checks import Sheet
    from inspect_clbench.exchange.people import Added
    from inspect_clbench.output.tables import Table

app = typer.Typer(
    name="clbench",
    help="Tables and more from Inspect logs of CL-bench.",
    epilog="Exit codes: 0 for success, 1 for a check that failed, 2 for input that must be mended.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)


def _argument(help: str, metavar: str) -> Any:
    return typer.Argument(help=help, metavar=metavar, show_default=False)


def _option(help: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help, show_default=False, **more)


Logs = Annotated[list[str], _argument("Log files, folders or URLs.", "LOG")]
MaybeLogs = Annotated[list[str] | None, _argument("Log files, folders or URLs.", "LOG")]
Models = Annotated[
    list[str] | None,
    _option("Only logs of this model: its name, or a part of it; repeatable.", "--model"),
]
_ONLY_DATASET = "Only logs of this dataset, as tables call it, or a part of its name."
OfDataset = Annotated[str | None, _option(_ONLY_DATASET, "--dataset")]
Labelled = Annotated[
    list[str] | None,
    _option(
        "What to call a model: NAME=LABEL, or a YAML or JSON file of them; repeatable.",
        "--label",
    ),
]
FormatOption = Annotated[Format | None, _option("Else as the output's ending says.")]
OutputOption = Annotated[
    str | None, _option("A file to write instead of the screen.", "--output", "-o")
]
PricesOption = Annotated[
    str | None,
    _option(
        "YAML or JSON with prices, as inspect eval --model-cost-config takes it.",
        "--model-cost-config",
        "--prices",
    ),
]
DrawnFor = Annotated[
    Medium, typer.Option("--for", help="A picture for a column, or two, of a paper; or dark.")
]
Published = Annotated[bool, _option("Add the rows of the benchmark's paper.", "--published")]
CharsPerToken = Annotated[float, typer.Option(help="How prompt tokens are estimated.")]
Dataset = Annotated[
    str | None, _option("The dataset to verify against; else the one that the rows come from.")
]
SheetOption = Annotated[
    tuple[int, str] | None,
    _option("Draw N into a CSV file for a person to check.", "--sheet", metavar="N FILE"),
]
Checked = Annotated[str | None, _option("Report on such a file, filled in.")]
Person = Annotated[
    str | None, _option("Add what --checked says to LOG, as the scores of this person.")
]
SheetSeed = Annotated[int, typer.Option(help="Which are drawn for --sheet.")]


def main() -> None:
    """Run the command; what a user can mend ends in one line and exit code 2."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # not every encoding has ± and all names
            stream.reconfigure(errors="replace")
    try:
        with told(partial(_say, err=True)):
            app()
    except Exception as ex:
        from inspect_clbench.errors import ClbenchError

        if not isinstance(ex, ClbenchError):
            raise
        _say(f"clbench: {ex}", err=True)
        raise SystemExit(2) from None


def _say(text: str, *, err: bool = False) -> None:
    """Print a message; names and paths in it may come from outside."""
    typer.echo(printable(text), err=err)


def _find(
    paths: "Sequence[str]",
    model: list[str] | None,
    dataset: str | None,
    label: list[str] | None = None,
    *,
    exams: bool = False,
) -> "list[Log]":
    """The logs that are meant, for every command that reads logs."""
    from inspect_clbench.analysis import find_logs

    return find_logs(paths, model=model or (), dataset=dataset, labels=label or (), exams=exams)


def _deliver(
    make: "Callable[[], Result | Sequence[Table]]",
    format: Format | None,
    output: str | None,
    **options: Any,
) -> None:
    """Print a result, or write it to a file; the file's name is looked at before it is made."""
    from inspect_clbench.output.formats import format_for
    from inspect_clbench.output.results import render, save

    chosen = format_for(output, format)
    if output is None:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        styled = width is not None and not os.environ.get("NO_COLOR")
        typer.echo(render(make(), chosen, width, styled=styled, **options), nl=False)
    else:
        save(make(), output, chosen, **options)


@app.command("plan")
def plan_command(
    model: Annotated[str, _option("The model under test.", "--model")],
    judge: Annotated[
        str | None, _option("The judge; the benchmark's own if not given.")
    ] = None,
    epochs: Annotated[int, typer.Option(help="How many runs.", min=1)] = 3,
    contexts: Annotated[int | None, _option("Draw so many contexts; all if not given.")] = None,
    category: Annotated[list[str] | None, _option("Only this category; repeatable.")] = None,
    dataset: Annotated[str | None, _option("The dataset, as the task takes it.")] = None,
    prices: PricesOption = None,
    pilot: Annotated[
        list[str] | None, _option("Logs of a small run: lengths and variances; repeatable.")
    ] = None,
    connections: Annotated[int, typer.Option(help="Requests at a time.", min=1)] = 20,
    latency: Annotated[float, typer.Option(help="Seconds for an answer, and a verdict.")] = 40,
    answer_tokens: Annotated[
        int | None, _option("Tokens of an answer, without its reasoning.")
    ] = None,
    reasoning_tokens: Annotated[int | None, _option("Tokens of its reasoning.")] = None,
    judge_tokens: Annotated[
        int | None, _option("Output tokens of a verdict, reasoning included.")
    ] = None,
    rate: Annotated[float, typer.Option(help="The expected solving rate in %.")] = 20,
    detect: Annotated[
        float | None, _option("Find the cheapest design for a difference of so many points.")
    ] = None,
    batch: Annotated[bool, _option("At batch prices, half of the usual.", "--batch")] = False,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """What a run will use, cost and be able to show, before anything is paid."""
    from inspect_clbench.analysis import plan
    from inspect_clbench.benchmarks import CLBENCH, DEFAULT_JUDGE

    make = partial(
        plan, model, epochs=epochs, contexts=contexts, prices=prices, connections=connections,
        latency=latency, answer_tokens=answer_tokens, reasoning_tokens=reasoning_tokens,
        judge_tokens=judge_tokens,
        rate=rate / 100, detect=None if detect is None else detect / 100, batch=batch,
        judge=judge or DEFAULT_JUDGE, dataset=dataset or CLBENCH.hub_id,
        category=category or None, pilot=pilot or None,
    )  # fmt: skip
    _deliver(make, format, output)


@app.command("report")
def report_command(
    logs: Logs,
    by: Annotated[
        list[By] | None, _option("Instead, a table by groups of tasks; repeatable.")
    ] = None,
    thresholds: Annotated[
        bool, _option("Pass rates at 60 to 100 % of the rubrics.", "--thresholds")
    ] = False,
    consistency: Annotated[
        bool, _option("Solved in at least one, in every one of k runs.", "--consistency")
    ] = False,
    noise: Annotated[
        bool, _option("Variance between contexts, tasks, runs and verdicts.", "--noise")
    ] = False,
    published: Published = False,
    leaderboard: Annotated[
        bool, _option("Add the rows of the leaderboard.", "--leaderboard")
    ] = False,
    ci: Annotated[bool, _option("Add 95 % intervals, clustered on contexts.", "--ci")] = False,
    checked: Annotated[
        list[str] | None,
        _option("Correct the rates by a sheet of check-judge, filled in; repeatable."),
    ] = None,
    chars_per_token: CharsPerToken = 4,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """The paper's table: solving rates in %, mean ± std over runs; of exams, their figures."""
    from inspect_clbench.analysis import correct, load_series, report
    from inspect_clbench.analysis.groups import TokenRule
    from inspect_clbench.exchange.checks import read_checks
    from inspect_clbench.files import write_text
    from inspect_clbench.output.formats import format_for
    from inspect_clbench.output.page import report_page
    from inspect_clbench.output.results import tables_of

    options: dict[str, Any] = {
        "by": by or (),
        "thresholds": thresholds,
        "consistency": consistency,
        "noise": noise,
        "published": published,
        "leaderboard": leaderboard,
        "ci": ci,
        "tokens": TokenRule.chars_per_token(chars_per_token),
    }
    checks = read_checks(*(checked or ()))
    chosen = format_for(output, format)
    found = _find(logs, model, dataset, label, exams=True)
    if chosen != "html":
        series = load_series(found)
        corrected = tables_of(correct(series, checks)) if checks else []
        tables = [*tables_of(report(series, **options)), *corrected]
        _deliver(lambda: tables, format, output)
        return
    page = report_page(found, **options, checked=checks, output=output)
    if output is None:
        typer.echo(page, nl=False)
    else:
        write_text(output, page)


@app.command("plot")
def plot_command(
    logs: Logs,
    output: Annotated[str, _option("The file: .png, .svg, .pdf or .html.", "--output", "-o")],
    kind: Annotated[PlotKind, typer.Option(help="Which picture.")] = "rates",
    medium: DrawnFor = "screen",
    against: Annotated[
        str | None, _option("Forest: differences from this model only; else all pairs.")
    ] = None,
    prices: PricesOption = None,
    published: Published = False,
    chars_per_token: CharsPerToken = 4,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
) -> None:
    """A picture: solving rates, differences between models, consistency, costs."""
    from inspect_clbench.analysis.groups import TokenRule
    from inspect_clbench.output.plots import plot

    tokens = TokenRule.chars_per_token(chars_per_token)
    found = _find(logs, model, dataset, label)
    options: dict[str, Any] = {"against": against, "prices": prices, "published": published}
    plot(found, output, kind=kind, medium=medium, tokens=tokens, **options)


@app.command("explore")
def explore_command(
    logs: Logs,
    output: Annotated[
        str, _option("The page to write: a name that ends in .html.", "--output", "-o")
    ],
    without: Annotated[
        list[LeftOut] | None, _option("Leave out answers, or the rubrics' texts; repeatable.")
    ] = None,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
) -> None:
    """A page to look at rubrics, models and runs side by side."""
    from inspect_clbench.output.explorer import explore

    explore(_find(logs, model, dataset, label), output, without=without or ())


@app.command("show")
def show_command(
    logs: Logs,
    task: Annotated[str | None, _option("Print this task's verdicts.")] = None,
    full: Annotated[bool, _option("Rationales and answers to their end.", "--full")] = False,
    rubrics: Annotated[
        bool,
        _option("List rubrics, hardest first, and those that tell models apart.", "--rubrics"),
    ] = False,
    near_misses: Annotated[
        bool, _option("List the tasks that failed by one rubric.", "--near-misses")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many to list; 0 for all.", min=0)] = 20,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """The tasks, hardest first; or rubrics, near misses, or one task's verdicts over the runs."""
    if (task is not None) + rubrics + near_misses > 1:
        raise typer.BadParameter("give one of --task ID, --rubrics and --near-misses.")
    if task is not None and (format or output):
        raise typer.BadParameter("--format and --output go with lists, not with --task.")
    from inspect_clbench import analysis
    from inspect_clbench.output.tasks import task_text

    find = partial(_find, logs, model, dataset, label)
    if task is not None:
        typer.echo(task_text(analysis.show_task(find(exams=True), task), full), nl=False)
    elif rubrics:
        _deliver(lambda: analysis.list_rubrics(find(), limit), format, output)
    elif near_misses:
        _deliver(lambda: analysis.near_misses(find(), limit), format, output)
    else:
        _deliver(lambda: analysis.list_tasks(find(exams=True), limit), format, output)


@app.command("costs")
def costs_command(
    logs: Logs,
    prices: PricesOption = None,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Tokens per role; with prices, money per run and per solved task."""
    from inspect_clbench.analysis import costs

    _deliver(lambda: costs(_find(logs, model, dataset, label), prices), format, output)


@app.command("compare")
def compare_command(
    logs: Logs,
    judge: Annotated[
        str | None, _option("Whose scores to take where there are several judges'.")
    ] = None,
    tasks: Annotated[
        bool, _option("List the tasks won and lost, of two models.", "--tasks")
    ] = False,
    seed: Annotated[int | None, _option("Seed of the bootstrap; fixed if not given.")] = None,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Which model is better: the differences over the same tasks, and how sure they are."""
    from inspect_clbench.analysis.compare import SEED, compare

    chosen = SEED if seed is None else seed
    options: dict[str, Any] = {"model": model or (), "dataset": dataset, "judge": judge}
    make = partial(compare, *logs, **options, seed=chosen, labels=label or ())
    _deliver(make, format, output, list_tasks=tasks)


@app.command("agreement")
def agreement_command(
    logs: Annotated[list[str], _argument("A log, or two of the same answers.", "LOG")],
    panel_as_one: Annotated[
        bool, _option("Take a panel's decision, not the votes of its judges.", "--panel-as-one")
    ] = False,
    tasks: Annotated[
        bool, _option("List the answers on which verdicts differ.", "--tasks")
    ] = False,
    model: Models = None,
    dataset: OfDataset = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """How far judges agree, and how steady one is that was asked again."""
    from inspect_clbench.analysis import agreement

    def make() -> "Result":
        sides = [_find([path], model, dataset) for path in logs]
        return agreement(sides, panel_as_one=panel_as_one)

    _deliver(make, format, output, list_tasks=tasks)


@app.command("errors")
def errors_command(
    logs: MaybeLogs = None,
    by: Annotated[
        list[ErrorsBy] | None, _option("Instead, types by groups of tasks; repeatable.")
    ] = None,
    published: Published = False,
    heatmap: Annotated[
        str | None,
        _option("Draw types by category, or as --by says, into a PNG, SVG, PDF or HTML file."),
    ] = None,
    medium: DrawnFor = "screen",
    sheet: SheetOption = None,
    checked: Checked = None,
    person: Person = None,
    seed: SheetSeed = 0,
    model: Models = None,
    dataset: OfDataset = None,
    label: Labelled = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Why answers failed: the paper's table of error types, and its check by hand."""
    from inspect_clbench.analysis import errors
    from inspect_clbench.exchange.checks import checked_errors, error_sheet
    from inspect_clbench.exchange.people import add_errors
    from inspect_clbench.output.plots import error_heatmap

    _check_person(logs, checked, person)
    if heatmap is None and medium != "screen":
        raise typer.BadParameter("--for goes with --heatmap.")
    if checked is not None:
        _deliver(partial(checked_errors, checked, person or "person"), format, output)
        _add_person(add_errors, logs, checked, person)
    elif sheet is not None:
        found = _find(logs or (), model, dataset, label)
        _tell_of_sheet(error_sheet(found, *sheet, seed=seed), "errors")
    elif heatmap is not None:
        if published:
            raise typer.BadParameter("nobody published error types by groups of tasks.")
        found = _find(logs or (), model, dataset, label)
        error_heatmap(found, heatmap, by=by[0] if by else "category", medium=medium)
    else:
        options: dict[str, Any] = {"by": by or (), "published": published}
        _deliver(
            lambda: errors(_find(logs or (), model, dataset, label), **options), format, output
        )


@app.command("check-judge")
def check_judge_command(
    logs: MaybeLogs = None,
    sheet: SheetOption = None,
    checked: Checked = None,
    person: Person = None,
    seed: SheetSeed = 0,
    model: Models = None,
    dataset: OfDataset = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Check the rubric judge by hand: draw verdicts into a sheet, then report on it."""
    if (sheet is None) == (checked is None):
        raise typer.BadParameter("give either LOG --sheet N FILE or --checked FILE.")
    _check_person(logs, checked, person)
    from inspect_clbench.exchange.checks import checked_verdicts, verdict_sheet
    from inspect_clbench.exchange.people import add_verdicts

    if sheet is not None:
        found = _find(logs or (), model, dataset)
        _tell_of_sheet(verdict_sheet(found, *sheet, seed=seed), "check-judge")
    elif checked is not None:
        _deliver(partial(checked_verdicts, checked, person or "person"), format, output)
        _add_person(add_verdicts, logs, checked, person)


def _check_person(
    logs: "Sequence[str] | None", checked: str | None, person: str | None
) -> None:
    if checked is not None and (person is None) == bool(logs):
        raise typer.BadParameter("--person NAME goes with LOG: the log to add the scores to.")
    if person is not None and checked is None:
        raise typer.BadParameter("--person goes with --checked FILE.")


def _add_person(
    add: "Callable[[str, str, str], Added]",
    logs: "Sequence[str] | None",
    checked: str,
    person: str | None,
) -> None:
    for log in logs if logs and person else ():
        done = add(log, checked, str(person))
        added = counted(done.added, "score")
        _say(f"{added} of {person} in it: clbench agreement {done.location}", err=True)
        if done.elsewhere:
            _say(f"clbench: {counted(done.elsewhere, 'checked row')} of other logs.", err=True)


def _tell_of_sheet(sheet: "Sheet", command: str) -> None:
    _say(
        f"{sheet.path}: {sheet.rows:,} of {sheet.of:,} drawn. Write yes under `confirm` where "
        "the judge is right, your own yes or no beside what is wrong; save as CSV, then: "
        f"clbench {command} --checked {sheet.path} (LOG --person NAME adds it to the log)"
        + (f", clbench report LOG --checked {sheet.path}" if command == "check-judge" else "")
    )


@app.command("regrade")
def regrade_command(
    log: Annotated[str, _argument("The log.", "LOG")],
    judge: Annotated[
        str | None, _option("The model to ask; the log's own judge by default.")
    ] = None,
    output: Annotated[
        str | None, _option("Write this new file instead of replacing the log.")
    ] = None,
    yes: Annotated[
        bool, _option("Send your key to an address that only the log names.", "--yes")
    ] = False,
) -> None:
    """Ask the judge again for the rows without a verdict; all others stay as they are."""
    from inspect_clbench.regrade import regrade

    done = regrade(log, judge=judge, output=output, trust_log=yes)
    of_them = (
        "all have one now"
        if not done.still_failed
        else f"{done.still_failed:,} still have none"
    )
    rows = f"{counted(done.asked, 'row')} without a verdict judged again, {of_them}"
    _say(f"{rows if done.asked else 'Every row has a verdict'}: {done.location}")
    if done.still_failed:
        _say(
            f"clbench: the judge failed again: {some(done.reasons)}. Another one may do better: "
            f"clbench regrade {shlex.quote(log)} --judge provider/model",
            err=True,
        )
    if done.labelled_before:
        _say(
            "clbench: the log's error types are from before: "
            f"{counted(done.labelled_before, 'row')} count there as without a verdict. Label it "
            f"again: inspect score {shlex.quote(done.location)} --scorer "
            "inspect_clbench/error_types --action append --overwrite",
            err=True,
        )


@app.command("audit")
def audit_command(
    log: Annotated[
        str, _argument("The log; or a copy that holds an audit, to read it.", "LOG")
    ],
    output: Annotated[
        str | None,
        _option(
            "A new .eval file, the copy of the log that gets the scores, else LOG-audited.eval; "
            "or, of a log that holds an audit, a file for its tables.",
            "--output",
            "-o",
        ),
    ] = None,
    samples: Annotated[
        int | None,
        _option("How many answers to ask about; 100 if only a copy is named.", min=2),
    ] = None,
    judge: Annotated[
        str | None, _option("Another judge to ask too, as provider/model.")
    ] = None,
    budget: Annotated[
        float | None, _option("US dollars that must not be gone beyond; needs prices.")
    ] = None,
    prices: PricesOption = None,
    yes: Annotated[
        bool, _option("Send your key to an address that only the log names.", "--yes")
    ] = False,
    format: FormatOption = None,
) -> None:
    """How steady a judge is: the same again, other order, single rubrics, the other prompt."""
    copy = output if output and output.endswith(".eval") else None
    if samples is not None and output is None:
        copy = f"{log.removesuffix('.eval').removesuffix('.json')}-audited.eval"
    if copy is None and (judge or budget is not None):
        raise typer.BadParameter("--judge and --budget go with --samples N or -o COPY.eval.")
    from inspect_clbench.audit import audit

    make = partial(
        audit, log, copy, samples=samples or 100, judge=judge, budget=budget, prices=prices,
        trust_log=yes,
    )  # fmt: skip
    _deliver(make, format, None if copy else output)


@app.command("import")
def import_command(
    graded: Annotated[list[str], _argument("Graded files, one per run.", "FILE")],
    model: Annotated[
        str | None, _option("The model's name; else from the files' names.")
    ] = None,
    judge: Annotated[str | None, _option("The judge's name, if known.")] = None,
    log_dir: Annotated[
        str, typer.Option(help="Where the log is written.", envvar="INSPECT_LOG_DIR")
    ] = "logs",
) -> None:
    """Turn graded files of the original scripts into a log, as they are."""
    from inspect_clbench.exchange.imports import import_graded

    imported = import_graded(graded, model=model, judge=judge, log_dir=log_dir)
    for note in imported.notes:
        _say(f"clbench: {note}", err=True)
    _say(imported.log)


@app.command("export")
def export_command(
    logs: Logs,
    to: Annotated[str, _option("The folder to write to.")],
    org: Annotated[str, _option("The organisation on the leaderboard.")] = "",
    verify: Annotated[
        bool, _option("Check the set as the maintainers would.", "--verify")
    ] = False,
    dataset: Dataset = None,
    model: Models = None,
    only_dataset: Annotated[str | None, _option(_ONLY_DATASET)] = None,
) -> None:
    """Write inference and graded files per run, and the leaderboard's object."""
    from inspect_clbench.exchange.export import export

    exported = export(_find(logs, model, only_dataset), to, org=org)
    for one in exported:
        for note in one.notes:
            _say(f"clbench: {one.series.model}: {note}.", err=True)
        _say(one.summary)
    if verify:
        _verify([str(one.folder) for one in exported], dataset, exported[0].dataset)


@app.command("verify")
def verify_command(
    paths: Annotated[list[str], _argument("Folders that export wrote, or files.", "PATH")],
    dataset: Dataset = None,
) -> None:
    """Check a set of files before it is handed in, as the maintainers would."""
    _verify(paths, dataset)


def _verify(paths: list[str], dataset: str | None, otherwise: str | None = None) -> None:
    from inspect_clbench.exchange.verify import verify

    found = verify(paths, dataset, otherwise=otherwise)
    for line in (*found.problems, found.summary):
        _say(line)
    if found.problems:
        raise typer.Exit(1)


@app.command("run-config")
def run_config_command(name: Annotated[RunConfig, _argument("Which one.", "NAME")]) -> None:
    """Print the path of a run config, for inspect eval --run-config.

    `paper` has the settings of the paper and, to save money, an order of tasks for prompt
    caches and 20 connections; `paper-life` those of the paper on CL-bench Life.
    """
    _say(str(files("inspect_clbench") / "run_configs" / f"{name}.yaml"))


def _print_version(wanted: bool) -> None:
    if wanted:
        from inspect_clbench import __version__

        _say(__version__)
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool,
        _option("Print the version.", "--version", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    pass
