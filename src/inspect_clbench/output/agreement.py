"""Agreement of judges as tables, with notes on what was left out."""

from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.agreement import Agreement, Level
from inspect_clbench.analysis.verdicts import AnswerKey
from inspect_clbench.output.tables import Cell, Table, number, share, table
from inspect_clbench.text import counted, some

_NAMED = 5


def agreement_tables(agreement: Agreement, list_tasks: bool = False) -> list[Table]:
    """Both levels, each pair of judges, each judge, steadiness, and disputed answers."""
    tables = [
        _levels_table(agreement),
        _pairs_table("Verdicts", agreement.verdicts, ("Both solved", "Neither")),
        _pairs_table("Rubrics", agreement.rubrics, ("Both yes", "Both no")),
        _judges_table(agreement),
    ]
    if agreement.steadiness:
        tables.append(_steadiness_table(agreement))
    if list_tasks:
        tables.append(_disputed_table(agreement))
    return tables


def _levels_table(agreement: Agreement) -> Table:
    rows = []
    for name, level in (("Verdicts", agreement.verdicts), ("Rubrics", agreement.rubrics)):
        figures = {"Cohen's kappa": number(level.pairs[0].kappa)}
        if len(agreement.judges) > 2:
            figures = {
                "All agree %": share(level.unanimous),
                "Krippendorff's alpha": number(level.alpha),
            }
        rows.append(
            {
                "Level": name,
                "Compared": level.compared,
                "Agreement %": share(level.agreement),
                **figures,
            }
        )
    title = f"{agreement.dataset_name}: agreement of {len(agreement.judges)} judges"
    return table(title, rows, _notes(agreement))


def _pairs_table(name: str, level: Level, words: tuple[str, str]) -> Table:
    rows = (
        {
            "First judge": pair.first,
            "Second judge": pair.second,
            words[0]: pair.both,
            "Only first": pair.only_first,
            "Only second": pair.only_second,
            words[1]: pair.neither,
            "Compared": pair.compared,
            "Agreement %": share(pair.agreement),
            "Cohen's kappa": number(pair.kappa),
        }
        for pair in level.pairs
    )
    return table(f"{name} by pair of judges", rows, left=2)


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
    return table("Judges", rows)


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
    return table("The same judge asked again", rows, left=2)


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
    return table(title, rows, columns=columns, left=len(columns))


def _notes(agreement: Agreement) -> Iterator[str]:
    yield f"Judges: {', '.join(agreement.names)}."
    yield from agreement.left_out
    for one in agreement.steadiness:
        if one.share is not None:
            flips = f" (first: {_first(one.flipped)})" if one.flipped else ""
            yield (
                f"{one.judge}, asked {one.times} times, changed its verdict on "
                f"{len(one.flipped):,} of {counted(one.compared, 'answer')}, "
                f"{100 * one.share:.1f} %{flips}."
            )
    for name, level in (("verdict", agreement.verdicts), ("rubric", agreement.rubrics)):
        figures = [pair.kappa for pair in level.pairs if pair.compared]
        if len(agreement.judges) > 2 and level.compared:
            figures.append(level.alpha)
        if None in figures:
            yield (
                f"–: every {name} compared is the same word, which leaves no chance agreement "
                "to measure kappa or alpha against."
            )
        if not level.compared:
            yield f"No {name} was given by two judges."
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


def _first(keys: Sequence[AnswerKey]) -> str:
    return some([_name(key) for key in keys], _NAMED)


def _name(key: AnswerKey) -> str:
    return f"{key.task_id} run {key.epoch}"
