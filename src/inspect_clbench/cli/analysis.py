"""Tables and pictures of runs: report, plot, show, costs, compare."""

from typing import Annotated, Any

import typer

from inspect_clbench.cli.app import FormatOption, Logs, OutputOption, app, deliver
from inspect_clbench.errors import ClbenchError


@app.command("report")
def report_command(
    logs: Logs,
    by: Annotated[
        list[str] | None,
        typer.Option(
            help="Instead, a table by sub_category, length, turns or rubric_count; repeatable.",
            show_default=False,
        ),
    ] = None,
    thresholds: Annotated[
        bool, typer.Option("--thresholds", help="Pass rates at 60 to 100 % of the rubrics.")
    ] = False,
    published: Annotated[
        bool, typer.Option("--published", help="Add the rows of the benchmark's paper.")
    ] = False,
    leaderboard: Annotated[
        bool, typer.Option("--leaderboard", help="Add the rows of the leaderboard.")
    ] = False,
    ci: Annotated[
        bool, typer.Option("--ci", help="Add 95 % intervals, clustered on contexts.")
    ] = False,
    chars_per_token: Annotated[
        float, typer.Option(help="How tokens are estimated for --by length.")
    ] = 4,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """The paper's table: solving rates in %, mean ± std over runs."""
    from inspect_clbench.analysis.pages.page import report_page
    from inspect_clbench.analysis.reading.groups import TokenRule
    from inspect_clbench.analysis.reporting.report import report
    from inspect_clbench.analysis.tables import format_for
    from inspect_clbench.files import write_text

    options: dict[str, Any] = {
        "by": by or (),
        "thresholds": thresholds,
        "published": published,
        "leaderboard": leaderboard,
        "ci": ci,
        "tokens": TokenRule.chars_per_token(chars_per_token),
    }
    if format_for(output, format) != "html":
        deliver(report(logs, **options), format, output)
        return
    page = report_page(logs, **options, output=output)
    if output is None:
        typer.echo(page, nl=False)
    else:
        write_text(output, page)


@app.command("plot")
def plot_command(
    logs: Logs,
    output: Annotated[
        str,
        typer.Option(
            "--output", "-o", help="The file: .png, .svg, .pdf or .html.", show_default=False
        ),
    ],
    kind: Annotated[
        str, typer.Option(help="rates, sub_category, length or thresholds.")
    ] = "rates",
    published: Annotated[
        bool, typer.Option("--published", help="Add the rows of the benchmark's paper.")
    ] = False,
    chars_per_token: Annotated[
        float, typer.Option(help="How tokens are estimated for --kind length.")
    ] = 4,
) -> None:
    """A picture: solving rates, sub-categories, prompt lengths or thresholds."""
    from inspect_clbench.analysis.drawing.plots import plot
    from inspect_clbench.analysis.reading.groups import TokenRule

    tokens = TokenRule.chars_per_token(chars_per_token)
    plot(logs, output, kind=kind, published=published, tokens=tokens)


@app.command("show")
def show_command(
    logs: Logs,
    task: Annotated[
        str | None, typer.Option(help="Print this task's verdicts.", show_default=False)
    ] = None,
    full: Annotated[
        bool, typer.Option("--full", help="Rationales and answers to their end.")
    ] = False,
    near_misses: Annotated[
        bool, typer.Option("--near-misses", help="List the tasks that failed by one rubric.")
    ] = False,
    limit: Annotated[int, typer.Option(help="How many near misses; 0 for all.", min=0)] = 20,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """One task's verdicts over the runs, or the tasks that failed by one rubric."""
    from inspect_clbench.analysis.reporting.near_misses import near_misses as find_near_misses
    from inspect_clbench.analysis.reporting.show import show_task, task_text

    if near_misses == (task is not None):
        raise ClbenchError("show: give either --task ID or --near-misses.")
    if task is None:
        deliver(find_near_misses(logs, limit), format, output)
        return
    if format or output:
        raise ClbenchError("show: --format and --output go with --near-misses.")
    typer.echo(task_text(show_task(logs, task), full), nl=False)


@app.command("costs")
def costs_command(
    logs: Logs,
    prices: Annotated[
        str | None,
        typer.Option(
            help="YAML or JSON: model to input, cached_input, output in USD per million tokens.",
            show_default=False,
        ),
    ] = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Tokens per role; with prices, money per run and per solved task."""
    from inspect_clbench.analysis.reporting.costs import costs

    deliver(costs(logs, prices), format, output)


@app.command("compare")
def compare_command(
    a: Annotated[
        str, typer.Argument(help="Log, folder or URL of A.", metavar="A", show_default=False)
    ],
    b: Annotated[
        str, typer.Argument(help="Log, folder or URL of B.", metavar="B", show_default=False)
    ],
    judge: Annotated[
        str | None,
        typer.Option(help="Whose scores to take where there are several judges'."),
    ] = None,
    tasks: Annotated[
        bool, typer.Option("--tasks", help="List the tasks won and lost.")
    ] = False,
    seed: Annotated[
        int | None, typer.Option(help="Seed of the bootstrap; fixed if not given.")
    ] = None,
    format: FormatOption = None,
    output: OutputOption = None,
) -> None:
    """Whether A beats B: the difference over the same tasks, and how sure it is."""
    from inspect_clbench.analysis.comparing.compare import SEED, compare
    from inspect_clbench.analysis.comparing.comparison_tables import comparison_tables

    comparison = compare(a, b, seed=SEED if seed is None else seed, judge=judge)
    deliver(comparison_tables(comparison, list_tasks=tasks), format, output)
