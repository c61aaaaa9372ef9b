"""Rates corrected by a person's check: worked out by hand, refused, and with odd sheets."""

import csv
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from inspect_clbench import ClbenchError
from inspect_clbench.analysis import correct, load_series
from inspect_clbench.analysis.correction import FEWEST, Correction, rate_figure, rogan_gladen
from inspect_clbench.analysis.sampled import Item, sampled
from inspect_clbench.exchange.checks import read_checks, verdict_sheet
from inspect_clbench.metrics.solving import Trial
from inspect_clbench.output import tables_of
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED

FIRST, SECOND = "Domain Knowledge Reasoning", "Rule System Application"
SOLVED, FAILED = 30, 60
Change = Callable[[int, dict[str, str]], None]


def answers(solved: int = SOLVED, failed: int = FAILED) -> list[str]:
    return ["yyy"] * solved + ["nyy"] * failed


def a_log(folder: Path, outcomes: list[str], rare: int = 4) -> str:
    """A log with a context per two tasks, the last of them of another category."""
    rows = [
        row(
            f"t{n}",
            context=f"c{n // 2}",
            sub_category="Finance" if n < len(outcomes) - rare else "Game Mechanics",
        )
        for n in range(len(outcomes))
    ]
    return make_log(folder, rows, {f"t{n}": [one] for n, one in enumerate(outcomes)}).location


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    return a_log(tmp_path_factory.mktemp("correction"), answers())


def sheet(log: str, folder: Path, count: int, change: Change, name: str = "s.csv") -> str:
    """Draw a sheet and fill it in; `change` gets the number within the judge's yes or no."""
    verdict_sheet(log, count, str(folder / name))
    with (folder / name).open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    seen: Counter[str] = Counter()
    for line in rows:
        change(seen[line["solved"]], line)
        seen[line["solved"]] += 1
    done = folder / f"done-{name}"
    with done.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, rows[0])
        writer.writeheader()
        writer.writerows(rows)
    return str(done)


def wrong(of_solved: int = 0, of_failed: int = 0) -> Change:
    """A person who overturns so many of the judge's yes and of its no."""

    def change(number: int, line: dict[str, str]) -> None:
        yes = line["solved"] == "yes"
        line["confirm"] = "yes"
        if number < (of_solved if yes else of_failed):
            line["confirm"], line["solved yours"] = "", "no" if yes else "yes"

    return change


def corrected(log: str, *sheets: str) -> Correction:
    return correct(log, read_checks(*sheets))


def notes(found: Correction) -> str:
    return "\n".join(str(note) for table in tables_of(found) for note in table.notes)


def test_a_sheet_is_drawn_evenly_and_says_its_weights(log: str, tmp_path: Path) -> None:
    lines: list[dict[str, str]] = []
    sheet(log, tmp_path, 41, lambda _, line: lines.append(line))
    kinds = Counter((r["solved"], r["answers like it"], r["drawn of them"]) for r in lines)
    assert kinds == {("yes", "30", "21"): 21, ("no", "60", "20"): 20}
    lines.clear()
    sheet(log, tmp_path, 80, lambda _, line: lines.append(line), "large.csv")
    kinds = Counter((r["solved"], r["answers like it"], r["drawn of them"]) for r in lines)
    assert kinds == {("yes", "30", "30"): 30, ("no", "60", "50"): 50}, "all of the smaller one"


def test_the_rate_is_what_the_check_says_of_each_stratum(log: str, tmp_path: Path) -> None:
    found = corrected(log, sheet(log, tmp_path, 40, wrong(5, 2)))
    (one,) = found.series
    overall = one.rates[0]
    # 5 of 20 of the third that the judge passed are wrong, 2 of 20 of the others.
    rate = 1 / 3 * 15 / 20 + 2 / 3 * 2 / 20
    assert overall.judged.mean == pytest.approx(1 / 3)
    assert overall.rate.value == pytest.approx(rate)
    assert overall.rogan_gladen == pytest.approx(overall.rate), "over all tasks it is the same"
    assert one.sensitivity.value == pytest.approx(1 / 3 * 15 / 20 / rate)
    assert one.specificity.value == pytest.approx(2 / 3 * 18 / 20 / (1 - rate))
    low, high = overall.judged.interval or (0.0, 0.0)
    assert overall.rate.low is not None
    assert overall.rate.high is not None
    assert overall.rate.high - overall.rate.low > high - low, "it contains that of the check"
    (record, *_) = found.to_pandas().to_dict("records")
    assert (record["labels_solved"], record["answers_not_solved"]) == (20, 60)


def test_groups_with_too_few_labels_are_refused_by_name(log: str, tmp_path: Path) -> None:
    found = corrected(log, sheet(log, tmp_path, 40, wrong(5, 2)))
    rates = {row.group: row for row in found.series[0].rates}
    assert rates[FIRST].rate.value is not None
    assert rates[SECOND].labels[False] < FEWEST
    assert rates[SECOND].rate.value is None
    assert rates[SECOND].rogan_gladen.value is None
    assert f"No corrected rate of {SECOND}:" in notes(found)
    few = corrected(log, sheet(log, tmp_path, 12, wrong(), "few.csv"))
    assert {row.rate.value for row in few.series[0].rates} == {None}
    assert few.series[0].next, "it still says what to look at"


def test_rogan_and_gladen_take_the_errors_of_all_groups() -> None:
    def items(solved: int, failed: int, lead: str, labels: bool = True) -> list[Item]:
        first = [True] * solved + [False] * failed
        return [
            Item(Trial(1, f"{lead}{n}", yes), True, (n % 10 != 0) == yes if labels else None)
            for n, yes in enumerate(first)
        ]

    easy, hard = items(60, 20, "easy"), items(20, 60, "hard")
    whole = sampled([*easy, *hard])
    # Of 80 yes and of 80 no a tenth is wrong, so both error rates over all are 0.1.
    for some, judged in ((easy, 0.75), (hard, 0.25)):
        found = rate_figure(sampled(some)).value
        assert found == pytest.approx(0.9 * judged + 0.1 * (1 - judged))
        assert rogan_gladen(sampled(some), whole).value == pytest.approx((judged - 0.1) / 0.8)
    unchecked = sampled(items(60, 20, "easy", labels=False))
    assert rogan_gladen(unchecked, whole).value == pytest.approx((0.75 - 0.1) / 0.8)


def test_what_to_check_next_is_not_in_the_sheet(log: str, tmp_path: Path) -> None:
    def half(number: int, line: dict[str, str]) -> None:
        if number < 15:
            wrong(0, 3)(number, line)

    path = sheet(log, tmp_path, 40, half)
    (one,) = corrected(log, path).series
    assert one.unchecked == 10
    drawn = {check.key for check in read_checks(path)}
    assert one.next
    assert not {(answer.uuid,) for answer in one.next} & drawn
    assert not any(answer.solved for answer in one.next), "two thirds of all, and errors found"


def test_labels_to_halve_the_interval_about_halve_it(tmp_path: Path) -> None:
    log = a_log(tmp_path, answers(1_000, 1_000))
    (one,) = corrected(log, sheet(log, tmp_path, 60, wrong(10, 3))).series
    assert one.more is not None
    assert one.more[True] > one.more[False]
    count = 60 + sum(one.more.values())
    share = count / 60
    more = sheet(log, tmp_path, count, wrong(round(10 * share), round(3 * share)), "more.csv")
    (other,) = corrected(log, more).series
    widths = [(r.high or 0) - (r.low or 0) for r in (one.rates[0].rate, other.rates[0].rate)]
    assert widths[1] / widths[0] == pytest.approx(0.5, abs=0.06)


def test_a_further_sheet_adds_to_the_first(log: str, tmp_path: Path) -> None:
    first = sheet(log, tmp_path, 40, wrong(5, 2))

    def rest(number: int, line: dict[str, str]) -> None:
        if number >= 20:
            line["confirm"] = "yes"

    both = corrected(log, first, sheet(log, tmp_path, 60, rest, "second.csv")).series[0]
    assert both.rates[0].labels == {True: 30, False: 30}
    assert both.rates[0].rate.value == pytest.approx(1 / 3 * 25 / 30 + 2 / 3 * 2 / 30)
    other = sheet(log, tmp_path, 60, wrong(), "other.csv")
    with pytest.raises(ClbenchError, match=r"done-other.csv, row 2: says another thing than"):
        corrected(log, first, other)


@pytest.mark.parametrize(("overturned", "rate"), [((0, 20), 1.0), ((20, 0), 0.0)])
def test_a_person_who_says_the_same_of_all(
    log: str, tmp_path: Path, overturned: tuple[int, int], rate: float
) -> None:
    (one,) = corrected(log, sheet(log, tmp_path, 40, wrong(*overturned))).series
    found = one.rates[0].rate
    assert found.value == pytest.approx(rate)
    assert found.low is not None
    assert found.high is not None
    assert 0.05 < found.high - found.low < 0.4
    assert one.rates[0].rogan_gladen.value is None, "no error rate of a kind that is not there"


def test_a_judge_that_says_the_same_of_all(tmp_path: Path) -> None:
    log = a_log(tmp_path, answers(0, 60))
    (one,) = corrected(log, sheet(log, tmp_path, 20, wrong(0, 4))).series
    assert one.rates[0].rate.value == pytest.approx(0.2)
    assert one.rates[0].rogan_gladen.value is None


def test_answers_without_a_verdict_stay_as_they_count(tmp_path: Path) -> None:
    log = a_log(tmp_path, [*answers(40, 40), *[EMPTY] * 10, *[GARBLED] * 10])
    found = corrected(log, sheet(log, tmp_path, 40, wrong(4, 0)))
    overall = found.series[0].rates[0]
    assert overall.rate.value == pytest.approx(0.4 * 16 / 20)
    assert overall.rogan_gladen.value == pytest.approx(0.4 * 16 / 20)
    assert "10 answers without a verdict of the judge" in notes(found)


def test_an_old_sheet_has_its_weights_from_the_log(log: str, tmp_path: Path) -> None:
    def old(number: int, line: dict[str, str]) -> None:
        wrong(5, 2)(number, line)
        for column in ("score", "answers like it", "drawn of them"):
            del line[column]

    found = corrected(log, sheet(log, tmp_path, 40, old))
    assert found.series[0].rates[0].rate.value == pytest.approx(
        1 / 3 * 15 / 20 + 2 / 3 * 2 / 20
    )
    assert "does not say its weights" in notes(found)


def set_cell(column: str, value: str) -> Change:
    def change(number: int, line: dict[str, str]) -> None:
        line["confirm"] = "yes"
        if number == 0 and line["solved"] == "yes":
            line[column] = value

    return change


@pytest.mark.parametrize(
    ("column", "value", "message"),
    [
        ("solved", "no", r"row 2: by the sheet the judge said not solved, by the log"),
        ("solved", "", r"row 2: the judge's word under `solved` is gone"),
        ("confirm", "perhaps", r"row 2: `perhaps` under `confirm`"),
        ("answers like it", "many", r"row 2: `many` under `answers like it`"),
        ("answers like it", "7", r"row 2: drawn from 7 answers .* but the logs have 30"),
        ("answers like it", "", r"row 2: `` under `answers like it`"),
        ("status", "so so", r"row 2: `so so` under `status`"),
    ],
)
def test_an_edited_sheet_is_refused_by_its_row(
    log: str, tmp_path: Path, column: str, value: str, message: str
) -> None:
    path = sheet(log, tmp_path, 40, set_cell(column, value))
    with pytest.raises(ClbenchError, match=message):
        corrected(log, path)


def test_rows_of_other_logs_are_left_out(log: str, tmp_path: Path) -> None:
    other = a_log(tmp_path / "other", answers())
    path, more = (
        sheet(log, tmp_path, 40, wrong(5, 2)),
        sheet(other, tmp_path, 8, wrong(), "o.csv"),
    )
    found = corrected(log, path, more)
    assert found.elsewhere == 8
    assert found.series[0].rates[0].labels == {True: 20, False: 20}
    with pytest.raises(ClbenchError, match=r"done-o.csv: none of its checked rows is of"):
        corrected(log, more)


def test_each_model_has_strata_of_its_own(tmp_path: Path) -> None:
    plans = {"a": answers(30, 10), "b": answers(10, 30)}
    for model, outcomes in plans.items():
        rows = [row(f"t{n}") for n in range(40)]
        plan = {f"t{n}": [one] for n, one in enumerate(outcomes)}
        make_log(tmp_path / "logs", rows, plan, model=model)
    found = corrected(
        str(tmp_path / "logs"), sheet(str(tmp_path / "logs"), tmp_path, 40, wrong())
    )
    rates = {one.name: one.rates[0] for one in found.series}
    assert [rate.labels for rate in rates.values()] == [{True: 10, False: 10}] * 2
    assert rates["mockllm/a"].rate.value == pytest.approx(0.75)
    assert rates["mockllm/b"].rate.value == pytest.approx(0.25)


def test_only_datasets_with_checked_rows_are_named(tmp_path: Path) -> None:
    life = make_log(tmp_path / "life", "demo", task="clbench_life").location
    log = a_log(tmp_path / "logs", answers())
    found = correct([life, log], read_checks(sheet(log, tmp_path, 40, wrong(5, 2))))
    (name,) = {one.dataset_name for one in load_series(log)}
    assert set(found.to_pandas()["dataset"]) == {name}
    assert tables_of(found)[0].title.startswith(f"{name}: solving rate")


def test_the_command_prints_both_rates(log: str, tmp_path: Path) -> None:
    path = sheet(log, tmp_path, 40, wrong(5, 2))
    done = clbench("report", log, "--checked", path).stdout
    assert "corrected for the judge's errors" in done
    assert "look next at answers" in done
    page = tmp_path / "page.html"
    clbench("report", log, "--checked", path, "-o", str(page))
    assert "Checked by hand" in page.read_text("utf-8")
