"""Agreement of judges as tables, with notes on what was left out."""

from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.agreement import ALL_TYPES, Agreement, Level
from inspect_clbench.analysis.statistics import FEW_CONTEXTS
from inspect_clbench.analysis.verdicts import AnswerKey
from inspect_clbench.output.tables import (
    Cell,
    Note,
    Table,
    figure_number,
    figure_share,
    share,
    table,
)
from inspect_clbench.text import counted, some

_NAMED = 5


def agreement_tables(agreement: Agreement, list_tasks: bool = False) -> list[Table]:
    """The levels, each pair of judges, each judge, steadiness, and disputed answers."""
    tables = [_levels_table(agreement), _pairs_table(agreement)]
    if agreement.judges:
        tables.append(_judges_table(agreement))
    if agreement.steadiness:
        tables.append(_steadiness_table(agreement))
    if list_tasks:
        tables.append(_disputed_table(agreement))
    return tables


def _levels_table(agreement: Agreement) -> Table:
    most = max(len(level.pairs) for level in agreement.levels)
    rows = []
    for level in agreement.levels:
        row = {
            "Level": _title(level),
            "Compared": level.compared,
            "Agreement %": figure_share(level.agreement),
        }
        if most > 1:
            row["All agree %"] = figure_share(level.unanimous)
            row["Krippendorff's alpha"] = figure_number(level.alpha)
        else:
            row["Cohen's kappa"] = figure_number(level.pairs[0].kappa)
        rows.append(row)
    names = dict.fromkeys(n for p in agreement.levels[-1].pairs for n in (p.first, p.second))
    judges = len(agreement.names) or len(names)
    title = f"{agreement.source}: agreement of {judges} judges"
    return table(title, rows, _notes(agreement), name="agreement")


def _pairs_table(agreement: Agreement) -> Table:
    rows = []
    for level in agreement.levels:
        for pair in level.pairs:
            yes_or_no = level.name != ALL_TYPES
            rows.append(
                {
                    "Level": _title(level),
                    "First judge": pair.first,
                    "Second judge": pair.second,
                    "Both yes": pair.both if yes_or_no else None,
                    "Only first": pair.only_first if yes_or_no else None,
                    "Only second": pair.only_second if yes_or_no else None,
                    "Both no": pair.neither if yes_or_no else None,
                    "Compared": pair.compared,
                    "Agreement %": figure_share(pair.agreement),
                    "Cohen's kappa": figure_number(pair.kappa),
                }
            )
    return table("Pairs of judges", rows, left=3, name="pairs")


def _title(level: Level) -> str:
    return level.name[:1].upper() + level.name[1:]


def _judges_table(agreement: Agreement) -> Table:
    rows = (
        {
            "Judge": name,
            "Verdicts": len(judge.solved),
            "Solved %": share(
                sum(judge.solved.values()) / len(judge.solved) if judge.solved else None
            ),
            "No verdict": judge.failed,
            "Status lists left out": len(judge.solved) - len(judge.statuses),
        }
        for name, judge in zip(agreement.names, agreement.judges, strict=True)
    )
    return table("Judges", rows, name="judges")


def _steadiness_table(agreement: Agreement) -> Table:
    rows = (
        {
            "Judge": one.judge,
            "Flipped on": Cell(_first(one.flipped), [_name(key) for key in one.flipped]),
            "Asked": one.times,
            "Compared": one.compared,
            "Flipped": len(one.flipped),
            "Flipped %": share(one.share),
        }
        for one in agreement.steadiness
    )
    return table("The same judge asked again", rows, left=2, name="again")


def _disputed_table(agreement: Agreement) -> Table:
    words = {True: Cell("solved", True), False: Cell("not solved", False), None: None}
    judges = list(zip(agreement.names, agreement.judges, strict=True))
    rows = [
        {
            "Task": key.task_id,
            "Run": key.epoch,
            **{name: words[judge.solved.get(key)] for name, judge in judges},
        }
        for key in agreement.disputed
    ]
    columns = ("Task", "Run", *agreement.names)
    title = "Answers on which verdicts differ"
    return table(title, rows, columns=columns, left=len(columns), name="answers")


def _notes(agreement: Agreement) -> Iterator[Note | str]:
    if agreement.names:
        yield f"Judges: {', '.join(agreement.names)}."
    if filled := agreement.filled:
        rows = counted(filled.rows, "row")
        yield f"{filled.checked:,} of {rows} checked. In a checked row, blanks agree with the judge."
        if filled.contrary:
            yield Note(
                "warning",
                f"In {counted(filled.contrary, 'row')} the person's verdict does not follow from "
                "the rubrics: under `wrong rubrics` not all are named.",
            )
    yield from _interval_notes(agreement)
    left = agreement.left
    for name, number in (("first", left.first), ("second", left.second)):
        if number:
            yield f"Left out: answers that only the {name} log has ({number:,})."
    if left.copied:
        once = "; it is taken once" if left.taken_once else ""
        yield (
            f"{', '.join(left.copied)}: the same in both logs to the last rubric, so probably "
            f"one score that was copied along{once}."
        )
    for one in agreement.steadiness:
        if one.share is not None:
            flips = f" (first: {_first(one.flipped)})" if one.flipped else ""
            yield (
                f"{one.judge}, asked {one.times} times, changed its verdict on "
                f"{len(one.flipped):,} of {counted(one.compared, 'answer')}, "
                f"{100 * one.share:.1f} %{flips}."
            )
    for level in agreement.levels:
        figures = [pair.kappa for pair in level.pairs if pair.compared]
        if len(level.pairs) > 1 and level.compared:
            figures.append(level.alpha)
        if any(figure.value is None for figure in figures):
            yield (
                f"–: {level.name}, where compared, are all the same word, which leaves no chance "
                "agreement to measure kappa or alpha against."
            )
        if not level.compared:
            yield f"–: no {level.name} by two judges."
    judges = agreement.judges
    failed = sum(judge.failed for judge in judges)
    others = sum(judge.others for judge in judges)
    unfitting = sum(len(judge.solved) - len(judge.statuses) for judge in judges)
    reasons = (
        (agreement.empty, "answers without text, which went to no judge"),
        (failed, "verdicts that a judge was asked for and failed to give"),
        (others, "scores of another judge than the rest under their name"),
        (unfitting, "status lists that do not fit the rubrics"),
        (agreement.unclear, "statuses that are neither yes nor no"),
        (agreement.unlike, "answers with other rubrics in the other log"),
    )
    yield from (f"Left out: {what} ({found:,})." for found, what in reasons if found)


def _interval_notes(agreement: Agreement) -> Iterator[Note | str]:
    yield (
        "In brackets: 95 % interval from drawing whole contexts anew; a kappa or alpha of "
        "exactly 1 has none."
    )
    contexts = {level.contexts for level in agreement.levels if level.compared}
    if contexts and min(contexts) < FEW_CONTEXTS:
        few = counted(min(contexts), "context")
        yield Note(
            "warning", f"With {few} the intervals are rough, and with one there is none."
        )


def _first(keys: Sequence[AnswerKey]) -> str:
    return some([_name(key) for key in keys], _NAMED)


def _name(key: AnswerKey) -> str:
    return f"{key.task_id} run {key.epoch}"
