"""The hand checks' second half: how often a person agrees with what the judge said."""

import re
from collections import Counter
from collections.abc import Sequence

from inspect_clbench.analysis.checking.check_sheets import SOLVED, STATUS, WRONG_RUBRICS
from inspect_clbench.analysis.checking.sheets import Checked, CheckedRow, read_sheet, wilson
from inspect_clbench.analysis.tables import Cell, Table, percent
from inspect_clbench.analysis.text import counted
from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge.error_types import ERROR_TYPES
from inspect_clbench.panel_metrics import kappa

_LETTER = re.compile(r"(\d+)([yn])")  # as the sheet writes a status: 1y 2n 3?
_INTERVAL = "In brackets: 95 % interval after Wilson, as if the rows were independent."


def checked_errors(path: str) -> list[Table]:
    """How far a person agrees with the judge about each error type.

    Args:
        path: A sheet of `error_sheet`, filled in.
    """
    rows = read_sheet(path, list(ERROR_TYPES))
    by_type = {key: [r.answers[key] for r in rows if key in r.answers] for key in ERROR_TYPES}
    lines = [_agreement_line(title, by_type[key]) for key, title in ERROR_TYPES.items()]
    whole = [
        Checked(judge=True, person=all(one.judge == one.person for one in r.answers.values()))
        for r in rows
        if len(r.answers) == len(ERROR_TYPES)
    ]
    right = sum(one.person for one in whole)
    lines.append(
        (Cell("All four"), *_share(right, len(whole)), *(Cell("–", None) for _ in range(3)))
    )
    return [
        Table(
            title="Error types: agreement of a person with the judge",
            columns=(
                "Error type", "Checked", "Agreed", "Agreement in %", "Judge says yes",
                "Person says yes", "Cohen's kappa",
            ),
            rows=tuple(lines),
            notes=(*_about(path, rows), _INTERVAL),
        )
    ]  # fmt: skip


def checked_verdicts(path: str) -> list[Table]:
    """How often the rubric judge's verdicts are right, as a person sees it.

    Args:
        path: A sheet of `verdict_sheet`, filled in.
    """
    rows = read_sheet(path, [SOLVED])
    verdicts = [row.answers[SOLVED] for row in rows if SOLVED in row.answers]
    lines = [
        _accuracy_line("All verdicts", verdicts),
        _accuracy_line("Judge says solved", [v for v in verdicts if v.judge]),
        _accuracy_line("Judge says not solved", [v for v in verdicts if not v.judge]),
    ]
    rubrics = [pair for row in rows for pair in _rubrics(row, path)]
    notes = [*_about(path, rows), f"Cohen's kappa of the verdicts: {_kappa(verdicts).text}."]
    if rubrics:
        lines.append(_accuracy_line("Single rubrics", rubrics))
        looked = sum(bool(row.cells.get(WRONG_RUBRICS, "").strip()) for row in rows)
        notes.append(
            f"Single rubrics: of the {counted(looked, 'row')} that say which are wrong."
        )
    return [
        Table(
            title="Rubric judge: accuracy of its verdicts, as a person sees it",
            columns=("Verdicts", "Checked", "Right", "Accuracy in %"),
            rows=tuple(lines),
            notes=(*notes, _INTERVAL),
        )
    ]


def _agreement_line(title: str, checked: Sequence[Checked]) -> tuple[Cell, ...]:
    agreed = sum(one.judge == one.person for one in checked)
    judge, person = sum(one.judge for one in checked), sum(one.person for one in checked)
    return (
        Cell(title),
        *_share(agreed, len(checked)),
        Cell(str(judge), judge),
        Cell(str(person), person),
        _kappa(checked),
    )


def _accuracy_line(title: str, checked: Sequence[Checked]) -> tuple[Cell, ...]:
    right = sum(one.judge == one.person for one in checked)
    return (Cell(title), *_share(right, len(checked)))


def _share(count: int, total: int) -> tuple[Cell, Cell, Cell]:
    rate = percent(count / total, None, wilson(count, total)) if total else Cell("–", None)
    return Cell(str(total), total), Cell(str(count), count), rate


def _kappa(checked: Sequence[Checked]) -> Cell:
    found = kappa(Counter((one.judge, one.person) for one in checked)) if checked else None
    if found is None or found != found:  # one of the two always says the same word
        return Cell("–", None)
    return Cell(f"{found:.2f}", found)


def _rubrics(row: CheckedRow, path: str) -> list[Checked]:
    """The judge's and the person's word on each rubric of a row that was looked into."""
    wrong = row.cells.get(WRONG_RUBRICS, "").strip()
    if not wrong:
        return []
    where = f"{path}, row {row.number}"
    if not re.fullmatch(r"none|\d+([\s,;]+\d+)*", wrong, re.IGNORECASE):
        raise ClbenchError(
            f"{where}: `{wrong}` under `{WRONG_RUBRICS}`. Write the numbers of the rubrics on "
            "which the judge is wrong, such as 2, 5; or none."
        )
    numbers = {int(number) for number in re.findall(r"\d+", wrong)}
    said = {int(n): letter == "y" for n, letter in _LETTER.findall(row.cells.get(STATUS, ""))}
    if unknown := sorted(numbers - said.keys()):
        raise ClbenchError(
            f"{where}: `{wrong}` under `{WRONG_RUBRICS}`, but the judge said neither yes nor no "
            f"to rubric {unknown[0]}."
        )
    return [Checked(yes, yes != (number in numbers)) for number, yes in said.items()]


def _about(path: str, rows: Sequence[CheckedRow]) -> list[str]:
    done = sum(bool(row.answers) for row in rows)
    judges = sorted({judge for row in rows if (judge := row.cells.get("judge", ""))})
    lines = [f"{path}: {done:,} of {counted(len(rows), 'row')} checked."]
    return [*lines, *([f"Judge: {', '.join(judges)}."] if judges else [])]
