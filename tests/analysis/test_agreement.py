"""Agreement between judges, from logs."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import read_eval_log, write_eval_log

from inspect_clbench.analysis import Agreement, agreement
from inspect_clbench.errors import ClbenchError
from inspect_clbench.output import tables_of
from inspect_clbench.output.formats import FORMATS
from tests.support.builders import row
from tests.support.command import clbench
from tests.support.golden import check_golden
from tests.support.logs import make_log
from tests.support.scripted import EMPTY, GARBLED

GOLDEN = Path(__file__).parent / "golden"

ROWS = [row(id, context=f"c-{id}") for id in ("t1", "t2", "t3", "t4", "t5", "t6", "mute")]

# Three rubrics a task. Four letters are a status list that does not fit.
SAYS = {
    "strict": {"t1": "yyy", "t2": "yyy", "t3": "ynn", "t4": "nnn", "t5": GARBLED, "t6": "yy?!"},
    "mild": {"t1": "yyy", "t2": "yny", "t3": "yyy", "t4": "nny", "t5": "yyy", "t6": "yyyy"},
    "third": {"t1": "yyy", "t2": "yyy", "t3": "nnn", "t4": "nnn", "t5": "yyy", "t6": "yyy"},
}


def plan(judge: str, **changed: str) -> dict[str, list[str]]:
    """What a judge says of the one answer to each task."""
    said = SAYS[judge] | {"mute": EMPTY} | changed
    return {task: [outcome] for task, outcome in said.items()}


@dataclass(frozen=True)
class Logs:
    duo: str
    """A panel of strict and mild."""

    trio: str
    """The same answers before strict, mild and third."""

    other: str
    """Another student's answers before strict and mild."""

    alone: str
    """The same answers before strict."""

    appended: str
    """Strict, then mild and strict again by `inspect score`."""


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Logs:
    folder = tmp_path_factory.mktemp("agreement")
    says = {judge: plan(judge) for judge in SAYS}

    def run(name: str, judges: list[str], student: str = "student", **options: Any) -> str:
        answers = {task["metadata"]["task_id"]: [student] for task in ROWS[:-1]}
        return make_log(
            folder / name, ROWS, plan("strict"), provider="openai-api/loop", model=student,
            judge=judges, says=says, answers=answers, **options,
        ).location  # fmt: skip

    # Another time, another verdict.
    again = [("mild", plan("mild")), ("strict", plan("strict", t2="yyn"))]
    return Logs(
        duo=run("duo", ["strict", "mild"]),
        trio=run("trio", ["strict", "mild", "third"]),
        other=run("other", ["strict", "mild"], student="another"),
        alone=run("alone", ["strict"]),
        appended=run("appended", ["strict"], again=again),
    )


def names(found: Agreement) -> list[str]:
    return [name.removeprefix("openai-api/loop/") for name in found.names]


def notes(found: Agreement) -> str:
    return "\n".join(map(str, tables_of(found)[0].notes))


def test_a_panel_of_two_by_hand(logs: Logs) -> None:
    found = agreement([logs.duo])
    assert names(found) == ["strict", "mild"]
    # t1 and t6 solved for both, t2 for strict only, t3 for mild only, t4 for neither
    (pair,) = found["verdicts"].pairs
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (2, 1, 1, 1)
    assert found["verdicts"].agreement.value == pytest.approx(3 / 5)
    # chance 3/5 · 3/5 + 2/5 · 2/5 = 13/25; (15 - 13) / (25 - 13)
    assert pair.kappa.value == pytest.approx(1 / 6)
    # rubrics of t1 to t4: 3, 2, 1 and 2 of three alike
    (pair,) = found["rubrics"].pairs
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (6, 1, 3, 2)
    # chance 7 · 9 + 5 · 3 = 78 of 144; (96 - 78) / (144 - 78)
    assert pair.kappa.value == pytest.approx(3 / 11)
    assert [answer.task_id for answer in found.disputed] == ["t2", "t3"]


def test_a_frame_has_a_row_per_level_and_pair(logs: Logs) -> None:
    frame = agreement([logs.trio]).to_pandas()
    names = ("strict", "mild"), ("strict", "third"), ("mild", "third")
    pairs = [(f"openai-api/loop/{a}", f"openai-api/loop/{b}") for a, b in names]
    assert list(frame["level"]) == ["verdicts"] * 4 + ["rubrics"] * 4
    both = frame.dropna(subset="first")
    assert list(zip(both["first"], both["second"], strict=True)) == pairs * 2
    counts = ["both", "only_first", "only_second", "neither", "compared"]
    assert frame.loc[0, counts].tolist() == [2, 1, 1, 1, 5]
    assert frame.loc[0, ["agreement", "kappa"]].tolist() == pytest.approx([3 / 5, 1 / 6])
    assert frame.loc[3, ["agreement", "unanimous"]].tolist() == pytest.approx([34 / 45, 2 / 3])
    ends = ["agreement_low", "agreement_high", "kappa_low", "kappa_high"]
    low, high, kappa_low, kappa_high = frame.loc[0, ends]
    assert 0 < low < 3 / 5 < high < 1
    assert -1 < kappa_low < 1 / 6 < kappa_high < 1


def test_what_is_left_out_is_counted(logs: Logs) -> None:
    text = notes(agreement([logs.duo]))
    assert "answers without text, which went to no judge (1)" in text
    assert "verdicts that a judge was asked for and failed to give (1)" in text
    assert "status lists that do not fit the rubrics (1)" in text
    assert "statuses that are neither yes nor no (1)" in text


def test_a_panel_of_three_by_hand(logs: Logs) -> None:
    found = agreement([logs.trio])
    # strict, mild, third: TTT, TFT, FTF, FFF, -TT, TTT. Pairs 3/5, 5/5, 4/6.
    assert found["verdicts"].agreement.value == pytest.approx((3 / 5 + 5 / 5 + 4 / 6) / 3)
    assert found["verdicts"].unanimous.value == pytest.approx(4 / 6)
    # alpha: two answers of 2 · 1 / (3 - 1) each; 17 verdicts, 11 of them yes
    assert found["verdicts"].alpha.value == pytest.approx(1 - 2 * 16 / (11 * 6))
    assert len(found["verdicts"].pairs) == 3


def test_appended_scores_and_a_judge_asked_again(logs: Logs) -> None:
    scores = read_eval_log(logs.appended, header_only=True).results
    assert scores is not None
    assert [s.name for s in scores.scores] == ["rubric_judge", "rubric_judge1", "rubric_judge2"]
    found = agreement([logs.appended])
    assert names(found) == ["strict", "mild", "strict (again 1)"]
    assert found["verdicts"].pairs[0] == agreement([logs.duo])["verdicts"].pairs[0]
    (steady,) = found.steadiness
    assert (steady.times, steady.compared) == (2, 5)
    assert steady.share == pytest.approx(0.2)
    assert [(a.task_id, a.epoch) for a in steady.flipped] == [("t2", 1)]
    assert "asked 2 times, changed its verdict on 1 of 5 answers, 20.0 %" in notes(found)


def test_two_logs_of_the_same_text(logs: Logs) -> None:
    found = agreement([logs.duo, logs.trio])
    assert names(found) == ["strict", "mild", "strict (again 1)", "mild (again 1)", "third"]
    assert [one.share for one in found.steadiness] == [0, 0]


def test_a_judge_that_failed_in_a_log_of_its_own_is_counted(logs: Logs) -> None:
    found = agreement([logs.alone, logs.appended])
    assert names(found) == ["strict", "strict (again 1)", "mild", "strict (again 2)"]
    (judges,) = (table for table in tables_of(found) if table.title == "Judges")
    column = judges.columns.index("No verdict")
    assert [row[column].value for row in judges.rows] == [1, 1, 0, 1]
    assert "verdicts that a judge was asked for and failed to give (3)" in notes(found)
    assert "log has" not in notes(found)


def test_a_log_and_its_copy_with_one_more_score(logs: Logs, tmp_path: Path) -> None:
    log = read_eval_log(logs.appended)
    for sample in log.samples or []:
        sample.scores = {"rubric_judge": (sample.scores or {})["rubric_judge"]}
    assert log.results is not None
    log.results.scores = log.results.scores[:1]
    before = str(tmp_path / "before.eval")
    write_eval_log(log, before)
    found = agreement([before, logs.appended])
    assert names(found) == ["strict", "mild", "strict (again 1)"]
    assert "it is taken once" in notes(found)
    with pytest.raises(ClbenchError, match=r"judged by openai-api/loop/strict only"):
        agreement([before])


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (
            ["duo", "other"],
            "do not hold the same answers: 6 of 6 differ (for instance task t1, run 1)",
        ),
        (["duo"] * 3, "3 logs given"),
    ],
)
def test_what_cannot_be_compared(logs: Logs, given: list[str], words: str) -> None:
    code, out, err = clbench("agreement", *(getattr(logs, name) for name in given))
    assert (code, out) == (2, "")
    assert words in err


def test_a_panel_as_one_judge(logs: Logs) -> None:
    with pytest.raises(ClbenchError, match="agreement takes two"):
        agreement([logs.trio], panel_as_one=True)
    found = agreement([logs.duo, logs.trio], panel_as_one=True)
    # duo needs both: t1 and t6 are solved, t5 hangs on the judge that failed;
    # trio needs two of three: t1, t2, t5 and t6
    assert found["verdicts"].agreement.value == pytest.approx(4 / 5)


@pytest.mark.parametrize("format", FORMATS)
def test_every_format(logs: Logs, format: str, tmp_path: Path) -> None:
    arguments = ["agreement", logs.appended, "--tasks", "--format", format]
    if format == "csv":  # which holds one table
        arguments += ["-o", str(tmp_path / "out.csv")]
    code, out, _ = clbench(*arguments)
    assert code == 0
    if format == "csv":
        names = {path.name for path in tmp_path.iterdir()}
        assert {"out-agreement.csv", "out-pairs.csv", "out-answers.csv"} <= names
        out = (tmp_path / "out-agreement.csv").read_text("utf-8")
    assert "rubric" in out.lower()
    if format == "json":
        levels, *_, steadiness, _ = json.loads(out)
        assert levels["rows"][0]["Compared"] == 5
        assert steadiness["rows"][0]["Flipped on"] == ["t2 run 1"]


@pytest.mark.parametrize(("format", "ending"), [("terminal", "txt"), ("markdown", "md")])
def test_what_people_read(
    logs: Logs, format: str, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "130")
    arguments = ("agreement", logs.appended, "--tasks", "--format", format)
    check_golden(GOLDEN / f"agreement.{ending}", clbench(*arguments)[1])
