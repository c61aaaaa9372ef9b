"""Agreement as tables, with notes on what was left out."""

from collections.abc import Iterator, Sequence

from inspect_clbench.analysis.comparing.agreement import Agreement
from inspect_clbench.analysis.reading.verdicts import Answer
from inspect_clbench.analysis.statistics.rating import Level
from inspect_clbench.analysis.tables import Cell, Table
from inspect_clbench.analysis.text import counted

_NAMED = 5


def agreement_tables(agreement: Agreement, list_tasks: bool = False) -> list[Table]:
    """Agreement as tables: both levels, each pair of judges, each judge, steadiness.

    Args:
        agreement: What `agreement` returned.
        list_tasks: Whether to list the answers on which verdicts differ.
    """
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
    many = len(agreement.judges) > 2
    extra = ("All agree %", "Krippendorff's alpha") if many else ("Cohen's kappa",)
    rows = []
    for name, level in (("Verdicts", agreement.verdicts), ("Rubrics", agreement.rubrics)):
        figures = (
            (_percent(level.unanimous), _coefficient(level.alpha))
            if many
            else (_coefficient(level.pairs[0].kappa),)
        )
        rows.append(
            (Cell.of(name), _count(level.compared), _percent(level.agreement), *figures)
        )
    title = f"{agreement.benchmark}: agreement of {len(agreement.judges)} judges"
    columns = ("Level", "Compared", "Agreement %", *extra)
    return Table(title, columns, tuple(rows), tuple(_notes(agreement)))


def _pairs_table(name: str, level: Level, words: tuple[str, str]) -> Table:
    both, neither = words
    columns = (
        "First judge", "Second judge", both, "Only first", "Only second", neither,
        "Compared", "Agreement %", "Cohen's kappa",
    )  # fmt: skip
    rows = [
        (
            Cell.of(pair.first),
            Cell.of(pair.second),
            *map(_count, (pair.both, pair.only_first, pair.only_second, pair.neither)),
            _count(pair.compared),
            _percent(pair.agreement),
            _coefficient(pair.kappa),
        )
        for pair in level.pairs
    ]
    return Table(f"{name} by pair of judges", columns, tuple(rows), left=2)


def _judges_table(agreement: Agreement) -> Table:
    rows = []
    for label, judge in zip(agreement.labels, agreement.judges, strict=True):
        verdicts = list(judge.solved.values())
        rows.append(
            (
                Cell.of(label),
                _count(len(verdicts)),
                _percent(sum(verdicts) / len(verdicts) if verdicts else None),
                _count(len(judge.failed)),
                _count(len(judge.solved) - len(judge.statuses)),
            )
        )
    columns = ("Judge", "Verdicts", "Solved %", "No verdict", "Status lists left out")
    return Table("Judges", columns, tuple(rows))


def _steadiness_table(agreement: Agreement) -> Table:
    rows = [
        (
            Cell.of(one.judge),
            Cell(_first(one.flipped), [_name(answer) for answer in one.flipped]),
            _count(one.times),
            _count(one.compared),
            _count(len(one.flipped)),
            _percent(one.share),
        )
        for one in agreement.steadiness
    ]
    columns = ("Judge", "Flipped on", "Asked", "Compared", "Flipped", "Flipped %")
    return Table("The same judge asked again", columns, tuple(rows), left=2)


def _disputed_table(agreement: Agreement) -> Table:
    rows = [
        (
            Cell.of(answer.task_id),
            Cell.of(answer.run),
            *(_verdict(judge.solved.get(answer)) for judge in agreement.judges),
        )
        for answer in agreement.disputed
    ]
    columns = ("Task", "Run", *agreement.labels)
    return Table("Answers on which verdicts differ", columns, tuple(rows), left=len(columns))


def _notes(agreement: Agreement) -> Iterator[str]:
    yield f"Judges: {', '.join(agreement.labels)}."
    yield from agreement.notes
    for one in agreement.steadiness:
        if one.share is not None:
            flips = f" (first: {_first(one.flipped)})" if one.flipped else ""
            yield (
                f"{one.judge}, asked {one.times} times, changed its verdict on "
                f"{len(one.flipped):,} of {counted(one.compared, 'answer')}, "
                f"{100 * one.share:.1f} %{flips}."
            )
    yield from _undefined(agreement)
    yield from _left_out(agreement)


def _undefined(agreement: Agreement) -> Iterator[str]:
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


def _left_out(agreement: Agreement) -> Iterator[str]:
    failed = sum(len(judge.failed) for judge in agreement.judges)
    unfitting = sum(len(j.solved) - len(j.statuses) for j in agreement.judges)
    others = sum(judge.others for judge in agreement.judges)
    reasons = (
        (agreement.empty, "answers without text, which went to no judge"),
        (failed, "verdicts that a judge was asked for and failed to give"),
        (others, "scores of another judge than the rest under their name"),
        (unfitting, "status lists that do not fit the rubrics"),
        (agreement.unclear, "statuses that are neither yes nor no"),
        (agreement.unlike, "answers with other rubrics in the other log"),
    )
    yield from (f"Left out: {what} ({count:,})." for count, what in reasons if count)


def _first(answers: Sequence[Answer]) -> str:
    named = [_name(answer) for answer in answers[:_NAMED]]
    more = [f"{len(answers) - _NAMED:,} more"] if len(answers) > _NAMED else []
    return ", ".join(named + more)


def _name(answer: Answer) -> str:
    return f"{answer.task_id} run {answer.run}"


def _count(number: int) -> Cell:
    return Cell(f"{number:,}", number)


def _percent(share: float | None) -> Cell:
    return Cell("–", None) if share is None else Cell(f"{100 * share:.1f}", share)


def _coefficient(value: float | None) -> Cell:
    return Cell("–", None) if value is None else Cell(f"{value:.3f}", value)


def _verdict(solved: bool | None) -> Cell:
    return Cell("–" if solved is None else "solved" if solved else "not solved", solved)
