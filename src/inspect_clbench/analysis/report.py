"""Solving rates of series: the paper's main table, and the same by groups and thresholds.

The tables of the command line, the pictures and the page are all made from the numbers
that are computed here.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, cast

from inspect_clbench.analysis.exam import ExamResult, exam_result, exams_of, tokens_per_verdict
from inspect_clbench.analysis.frames import Result
from inspect_clbench.analysis.groups import TokenRule, divide, grouping
from inspect_clbench.analysis.noise import NoiseTable, noise_table
from inspect_clbench.analysis.published import (
    Block,
    Published,
    published_rate,
    published_tables,
)
from inspect_clbench.analysis.statistics import Rate, design_of, rate_of
from inspect_clbench.benchmarks import EXAM, OVERALL, Benchmark
from inspect_clbench.choices import By, ErrorsBy
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import Answer
from inspect_clbench.logs.files import Paths
from inspect_clbench.logs.series import (
    Series,
    as_series,
    by_dataset,
    differences,
    series_names,
    trials_of,
)
from inspect_clbench.metrics.solving import Trial, mean_rate, rubric_share, run_rates

Kind = By | Literal["main", "thresholds", "consistency", "solved_counts", "error_types", "exam"]

RUBRICS_MET = "Rubrics met"
THRESHOLDS = tuple(range(60, 101, 5))
"""Percent of a task's rubrics; at 100 the pass rate is the solving rate."""


@dataclass(frozen=True)
class RateRow:
    """The rates of one series, or of one model in a published table."""

    model: str
    name: str
    """No other series has it."""

    rates: Mapping[str, Rate | None]
    """By the name of their group."""

    solving_rate: float = math.nan
    """Over all tasks, whatever the groups are."""

    told: tuple[str, ...] = ()
    """What tells the row from others, in the order of the table's `told`."""

    counts: Mapping[str, Any] = field(default_factory=dict)
    """What else is counted: runs, rows, how many answers were judged."""

    incomplete: tuple[str, ...] = ()
    is_estimate: bool = False
    measure: str = ""
    """What is measured instead of the solving rate: `pass@2` and the like."""

    published: Published | None = None
    note: str = ""


@dataclass(frozen=True)
class RateTable(Result):
    """Rates of several series over the same groups of tasks."""

    kind: Kind
    series: tuple[Series, ...]
    told: tuple[str, ...]
    groups: tuple[str, ...]
    rows: tuple[RateRow, ...]
    published: tuple[Published, ...] = ()
    spans: tuple[tuple[str, int], ...] = ()
    """Names for so many of the groups each, where there are too many for one table."""

    divided_by: str = ""
    """What tasks are divided by, in words."""

    token_rule: str = ""
    """How prompt tokens were estimated, where tasks are divided by them."""

    tasks: Mapping[str, int] = field(default_factory=dict)
    """How many tasks each group has."""

    ci: bool = False
    exams: tuple[ExamResult, ...] = ()
    """Those of the judges who decided the rates."""

    def records(self) -> Iterator[dict[str, Any]]:
        for row in self.rows:
            for group, rate in row.rates.items():
                yield {
                    "table": str(self.kind),
                    "dataset": self.series[0].dataset_name,
                    "model": row.model,
                    "name": row.name,
                    "measure": row.measure,
                    "group": group,
                    **(rate or Rate(math.nan)).as_row(),
                    "published": row.published is not None,
                    "estimate": row.is_estimate,
                    "incomplete": "; ".join(row.incomplete),
                }


@dataclass(frozen=True)
class Report(Result):
    """The tables that were asked for."""

    tables: tuple[RateTable, ...]
    noise: tuple[NoiseTable, ...] = ()

    def records(self) -> Iterator[dict[str, Any]]:
        for table in self.tables:
            yield from table.records()
        for one in self.noise:
            yield from one.records()


def report(
    paths: Paths | Sequence[Series],
    *,
    by: str | Sequence[str] = (),
    thresholds: bool = False,
    consistency: bool = False,
    noise: bool = False,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    tokens: TokenRule | None = None,
) -> Report:
    """Mean ± std of the solving rate over the runs, a table per dataset, a row per model.

    Overall and per category, as in the paper, unless other tables are asked for. Logs of the
    judge exam have tables of their own: their figures, and the right verdicts by kind and by
    number of rubrics, with intervals.

    Args:
        paths: Log files, folders or URLs, or series that are read already.
        by: A table by `sub_category`, `length`, `turns` or `rubric_count`, or several.
        thresholds: A table of the pass rates at 60 to 100 % of the rubrics met.
        consistency: A table of the tasks solved in at least one, and in every one, of k runs
            (pass@k and pass^k), with intervals.
        noise: A table of the variance between contexts, tasks, runs and verdicts.
        published: Add the rows that the benchmark's authors published.
        leaderboard: Add the rows of the benchmark's leaderboard, to the main table.
        ci: Add 95 % intervals, clustered on contexts.
        tokens: How prompt tokens are estimated, for `length`; characters / 4 if not given.
    """
    chosen = known_groups(by)
    tables: list[RateTable] = []
    noises: list[NoiseTable] = []
    others = chosen or thresholds or consistency or noise
    found = as_series(paths)
    for series in by_dataset(found):
        is_exam = series[0].benchmark is EXAM
        if is_exam and not others:
            tables += exam_tables(series)
        elif not is_exam and (leaderboard or not others):
            wanted = {"published": published, "leaderboard": leaderboard, "ci": ci}
            tables.append(main_table(series, exams=found, **wanted))
        tables += [
            group_table(series, name, tokens=tokens, published=published, ci=ci)
            for name in chosen
        ]
        if thresholds and not is_exam:
            tables.append(threshold_table(series, published=published, ci=ci))
        if consistency:
            tables.append(consistency_table(series))
        if noise:
            noises.append(noise_table(series, series_names(series)))
    if not tables and not noises:
        raise ClbenchError("The judge exam has no pass rates at thresholds: leave that out.")
    return Report(tuple(tables), tuple(noises))


def known_groups(by: str | Sequence[str], known: type[By] | type[ErrorsBy] = By) -> list[By]:
    """What a user wants tasks divided by."""
    names = [by] if isinstance(by, str) else by
    for name in names:
        if name not in list(known):
            raise ClbenchError(f"by={name}: unknown. There are: {', '.join(known)}.")
    return [By(name) for name in names]


def main_table(
    series: Sequence[Series],
    *,
    published: bool = False,
    leaderboard: bool = False,
    ci: bool = False,
    exams: Sequence[Series] = (),
) -> RateTable:
    """The paper's Table 2; `exams` are series among which exams of the judges may be."""
    table = group_table(series, By.CATEGORY, ci=ci)
    sources = _wanted(series, main=published, leaderboard=leaderboard)
    rows = (*table.rows, *published_rows(sources, table.groups, series[0].benchmark))
    held = tuple(exams_of(series, exams))
    return replace(table, kind="main", rows=rows, published=tuple(sources), exams=held)


def exam_tables(series: Sequence[Series]) -> list[RateTable]:
    """The figures of the judge exam; the right verdicts by kind and by number of rubrics."""
    results = {id(one): exam_result(one, ci=True) for one in series}
    names = dict.fromkeys(name for found in results.values() for name in found.rates)
    figures = build_rate_table(
        "exam",
        series,
        tuple(names),
        lambda one, name: results[id(one)].rates.get(name),
        counts=lambda one: {**_counts(one), "tokens": tokens_per_verdict(one)},
        ci=True,
    )
    by = (By.SUB_CATEGORY, By.RUBRIC_COUNT)
    return [figures, *(group_table(series, one, ci=True) for one in by)]


def group_table(
    series: Sequence[Series],
    by: By,
    *,
    tokens: TokenRule | None = None,
    published: bool = False,
    ci: bool = False,
) -> RateTable:
    """Solving rates by groups of tasks."""
    groups = grouping(by, series[0].benchmark, tokens)
    divided = {id(one): divide(one.scored, groups.group_of) for one in series}
    designs = {id(one): design_of(one.scored, one.draw) for one in series}

    def rate(one: Series, group: str) -> Rate:
        whole = group == OVERALL
        answers = one.scored if whole else divided[id(one)][group]
        # Without its interval an estimate of the whole would look like a measurement.
        wanted = ci or (whole and one.draw is not None)
        return rate_of(trials_of(answers), wanted, designs[id(one)])

    of_task = {a.task_id: groups.group_of(a) for one in series for a in one.scored}
    members = list(of_task.values())
    tasks = {name: members.count(name) for name in groups.names}
    return build_rate_table(
        by,
        series,
        groups.names if groups.spans else (OVERALL, *groups.names),
        rate,
        sources=_wanted(series, **{by.value: published}),
        spans=groups.spans,
        divided_by=groups.title,
        token_rule=groups.token_rule,
        tasks=tasks,
        ci=ci,
    )


def threshold_table(
    series: Sequence[Series], *, published: bool = False, ci: bool = False
) -> RateTable:
    """Pass rates if part of the rubrics were enough, and the mean share of rubrics met."""
    by_title = {f"{threshold} %": threshold for threshold in THRESHOLDS}
    usable = {id(one): with_known_rubrics(one.scored) for one in series}
    designs = {id(one): design_of(usable[id(one)], one.draw) for one in series}

    def rate(one: Series, group: str) -> Rate:
        def value(answer: Answer) -> float:
            if group == RUBRICS_MET:
                return _share(answer) or 0.0
            return _passed(answer, by_title[group])

        return rate_of(trials_of(usable[id(one)], value), ci, designs[id(one)])

    return build_rate_table(
        "thresholds",
        series,
        (*by_title, RUBRICS_MET),
        rate,
        sources=_wanted(series, thresholds=published),
        ci=ci,
    )


def consistency_table(series: Sequence[Series]) -> RateTable:
    """pass@k and pass^k for each k up to the runs, overall and by category.

    Both are means over tasks of unbiased estimates from all runs of a task. A task with
    fewer than k scored answers is left out.
    """
    groups = (OVERALL, *grouping(By.CATEGORY, series[0].benchmark).names)
    table = build_rate_table("consistency", series, groups, lambda one, group: None, ci=True)
    pairs = zip(series, table.rows, strict=True)
    rows = [row for one, base in pairs for row in _consistency_rows(one, base)]
    return replace(table, rows=tuple(rows))


def _consistency_rows(series: Series, base: RateRow) -> Iterator[RateRow]:
    by_task = divide(series.scored, lambda answer: answer.task_id).values()
    for k in range(1, series.runs + 1):
        usable = [answers for answers in by_task if len(answers) >= k]
        design = design_of((answers[0] for answers in usable), series.draw)
        # For k = 1 both are the solving rate, where no answer is missing.
        for measure, chance in (("pass@", at_least_one), ("pass^", every_one))[:k]:
            trials: defaultdict[str, list[Trial]] = defaultdict(list)
            for answers in usable:
                first, solved = answers[0], sum(answer.solved for answer in answers)
                value = chance(len(answers), solved, k)
                for group in (OVERALL, first.category):
                    trials[group].append(Trial(1, first.context_id, value, first.weight))
            yield replace(
                base,
                measure=f"{measure}{k}",
                rates={group: rate_of(trials[group], True, design) for group in base.rates},
                counts={**base.counts, "k": k, "tasks": len(usable)},
            )


def solved_counts_table(series: Sequence[Series]) -> RateTable:
    """The share of tasks solved in 0, 1 and up to k of k runs.

    k is the smallest number of runs of a series. A task with more runs counts with the mean
    over all choices of k of them; one with fewer scored answers is left out.
    """
    k = min(one.runs for one in series)
    names = {f"{solved} of {k}": solved for solved in range(k + 1)}

    def rate(one: Series, group: str) -> Rate:
        by_task = divide(one.scored, lambda answer: answer.task_id).values()
        usable = [answers for answers in by_task if len(answers) >= k]
        trials = []
        for answers in usable:
            first, solved = answers[0], sum(answer.solved for answer in answers)
            value = exactly(len(answers), solved, k, names[group])
            trials.append(Trial(1, first.context_id, value, first.weight))
        design = design_of((answers[0] for answers in usable), one.draw)
        return replace(rate_of(trials, True, design), std=math.nan)

    return build_rate_table("solved_counts", series, tuple(names), rate, ci=True)


def exactly(runs: int, solved: int, k: int, number: int) -> float:
    """The chance that of k different runs of a task so many are solved."""
    return math.comb(solved, number) * math.comb(runs - solved, k - number) / math.comb(runs, k)


def at_least_one(runs: int, solved: int, k: int) -> float:
    """pass@k: the chance that k different runs of a task have a solved one among them."""
    return 1 - math.comb(runs - solved, k) / math.comb(runs, k)


def every_one(runs: int, solved: int, k: int) -> float:
    """pass^k: the chance that k different runs of a task are all solved."""
    return math.comb(solved, k) / math.comb(runs, k)


def build_rate_table(
    kind: Kind,
    series: Sequence[Series],
    groups: tuple[str, ...],
    rate: Callable[[Series, str], Rate | None],
    *,
    counts: Callable[[Series], Mapping[str, Any]] | None = None,
    sources: Sequence[Published] = (),
    **fields: Any,
) -> RateTable:
    """A table with a row per series and a row per model of published tables."""
    extra = differences(series)
    rows = [
        RateRow(
            model=one.model,
            name=name,
            rates={group: rate(one, group) for group in groups},
            solving_rate=mean_rate(run_rates(trials_of(one.scored))),
            told=tuple(values[index] for _, values in extra),
            counts=(counts or _counts)(one),
            incomplete=one.gaps,
            is_estimate=one.draw is not None,
        )
        for index, (one, name) in enumerate(zip(series, series_names(series), strict=True))
    ]
    return RateTable(
        kind=kind,
        series=tuple(series),
        told=tuple(title for title, _ in extra),
        groups=groups,
        rows=(*rows, *published_rows(sources, groups, series[0].benchmark)),
        published=tuple(sources),
        **fields,
    )


def _counts(series: Series) -> dict[str, Any]:
    return {
        "runs": series.runs,
        "scored": len(series.scored),
        "total": len(series.answers),
        "coverage": series.judge_coverage,
    }


def _wanted(series: Sequence[Series], **blocks: bool) -> list[Published]:
    names = [cast(Block, block) for block, want in blocks.items() if want]
    return published_tables(series[0].benchmark.title, names)


def published_rows(
    sources: Sequence[Published], groups: Sequence[str], benchmark: Benchmark
) -> list[RateRow]:
    return [
        RateRow(
            model=row.model,
            name=row.model,
            rates={group: row.rates.get(group) for group in groups},
            solving_rate=row.rates[OVERALL].mean
            if OVERALL in row.rates
            else published_rate(benchmark.title, row.model),
            counts={"runs": source.runs} if source.runs else {},
            published=source,
            note=row.note,
        )
        for source in sources
        for row in source.rows
    ]


def with_known_rubrics(answers: Sequence[Answer]) -> list[Answer]:
    """The answers of which it is known how many rubrics were met.

    A solved one counts as meeting all. One that failed without a usable status list
    may have met any number but all, and is left out.
    """
    return [a for a in answers if _share(a) is not None]


def _passed(answer: Answer, threshold: int) -> bool:
    """Whether an answer would do if so many percent of the rubrics were enough.

    The judge's overall score decides where it contradicts the judge's own list: what
    is solved passes everywhere, and only what is solved passes at 100.
    """
    if answer.solved or threshold >= 100:
        return answer.solved
    return 100 * (answer.rubrics_met or 0) >= threshold * answer.rubrics_total


def _share(answer: Answer) -> float | None:
    return rubric_share(answer.rubrics_met, answer.rubrics_total, answer.solved)
