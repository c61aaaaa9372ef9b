"""Solving rates corrected by a person's check of the judge, with what to check next."""

from collections.abc import Iterator, Mapping

from inspect_clbench.analysis.correction import FEWEST, CorrectedSeries, Correction
from inspect_clbench.analysis.statistics import Figure
from inspect_clbench.output.tables import Cell, Note, Table, figure_share, table
from inspect_clbench.text import counted, some


def correction_tables(correction: Correction) -> list[Table]:
    """The rates as judged and corrected, and how far the judge is right."""
    several = len(correction.series) > 1
    rows = [
        {
            **({"Model": one.name} if several else {}),
            "Tasks": row.group,
            "Judge": figure_share(Figure(row.judged.mean, *(row.judged.interval or ()))),
            "Corrected": figure_share(row.rate),
            "Rogan–Gladen": figure_share(row.rogan_gladen),
            "Checked, solved": _of(row.labels, row.answers, True),
            "Checked, not solved": _of(row.labels, row.answers, False),
        }
        for one in correction.series
        for row in one.rates
    ]
    judges = [
        {
            "Model": one.name,
            "Sensitivity": figure_share(one.sensitivity),
            "Specificity": figure_share(one.specificity),
            "Checks, solved": None if one.more is None else one.more[True],
            "Checks, not solved": None if one.more is None else one.more[False],
        }
        for one in correction.series
    ]
    datasets = dict.fromkeys(one.dataset for one in correction.series)
    lead = f"{', '.join(datasets)}: solving rate"
    return [
        table(
            f"{lead} in %, corrected for the judge's errors",
            rows,
            _notes(correction),
            left=1 + several,
            data_title=f"{lead}, corrected for the judge's errors",
            name="corrected",
        ),
        table(
            "The judge's errors in %, and further checks that would halve the interval",
            judges,
            [
                "Sensitivity: of the answers that solve their task, the share that the judge "
                "passes. Specificity: of the others, the share that it fails.",
                *(note for one in correction.series for note in _advice(one)),
            ],
            data_title="The judge's errors, and further checks that would halve the interval",
            name="judge_errors",
        ),
    ]


def _of(labels: Mapping[bool, int], answers: Mapping[bool, int], solved: bool) -> Cell:
    part, whole = labels[solved], answers[solved]
    return Cell(f"{part:,} of {whole:,}", {"labels": part, "answers": whole})


def _notes(correction: Correction) -> Iterator[Note | str]:
    yield (
        "Corrected: prediction-powered, from the verdicts that a person checked in each group, "
        "weighted back to all answers. Rogan–Gladen: from the judge's errors in all groups "
        "together, which holds if it errs alike in all."
    )
    yield (
        "In brackets: 95 % intervals, clustered on contexts; those of corrected rates contain "
        "the uncertainty of the check by hand."
    )
    for one in correction.series:
        lead = f"{one.name}: " if len(correction.series) > 1 else ""
        refused = [row.group for row in one.rates if row.rate.value is None]
        if refused:
            yield Note(
                "warning",
                f"{lead}No corrected rate of {'; '.join(refused)}: of the answers that the judge "
                f"calls solved and of the others, {FEWEST} each must be checked, or all.",
            )
        if one.unchecked:
            rows = counted(one.unchecked, "row")
            yield f"{lead}{rows} of the sheet not checked yet; taken as left out by chance."
        if not one.weighted:
            yield f"{lead}The sheet does not say its weights; they are taken from the log."
        if one.failures:
            rows = counted(one.failures, "answer")
            yield f"{lead}{rows} without a verdict of the judge stay as they count."
    if correction.left_out:
        yield f"Without a checked row: {some(correction.left_out)}."
    if correction.elsewhere:
        rows = counted(correction.elsewhere, "row")
        yield f"{rows} of the sheet left out, of other logs or judges."


def _advice(one: CorrectedSeries) -> Iterator[str]:
    name = one.name
    if one.more is None and one.rates[0].rate.value is not None:
        yield (
            f"{name}: further checks alone cannot halve the interval, because much of it comes "
            "from the number of contexts."
        )
    if one.next:
        kind = "solved" if one.next[0].solved else "not solved"
        rows = some([f"{a.task_id} run {a.epoch}" for a in one.next], len(one.next))
        yield (
            f"{name}: look next at answers that the judge calls {kind}, which leave most of the "
            f"uncertainty and are not in the sheet: {rows}. A larger sheet of the same seed "
            "begins with the same rows; --checked can be given twice."
        )
