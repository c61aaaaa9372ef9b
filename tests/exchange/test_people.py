"""A person's sheet as scores in the log: read as those of another judge, and by nothing else."""

import shutil
from pathlib import Path

import pytest
from inspect_ai.log import read_eval_log

from inspect_clbench import ClbenchError
from inspect_clbench.analysis import agreement, errors, report
from inspect_clbench.exchange.checks import error_sheet, verdict_sheet
from inspect_clbench.exchange.people import add_errors, add_verdicts
from inspect_clbench.output import render
from tests.exchange.test_checks import PLAN, ROWS, agreed, fill, labelled
from tests.support.command import clbench
from tests.support.logs import make_log


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> str:
    """Two epochs of t1 to t5 with error types."""
    folder = tmp_path_factory.mktemp("people")
    plan = {task: said * 2 for task, said in PLAN.items()}
    return labelled(make_log(folder, ROWS, plan), folder / "log.eval")


@pytest.fixture
def log(made: str, tmp_path: Path) -> str:
    return shutil.copy(made, str(tmp_path / "log.eval"))


def test_a_person_is_another_judge_of_some_answers(log: str, tmp_path: Path) -> None:
    before = render(report(log), "json")
    verdict_sheet(log, 6, str(tmp_path / "v.csv"))
    # Of both answers to each task: t1 confirmed, t2 turned into solved, t3 left open.
    entries = {
        "t1": {"confirm": "yes"},
        "t2": {"solved yours": "yes", "wrong rubrics": "1"},
    }
    sheet = fill(tmp_path / "v.csv", entries)
    done = add_verdicts(log, sheet, "Jane Doe")
    assert (done.added, done.elsewhere) == (4, 0)
    found = agreement(log)
    assert found.names == ("mockllm/judge", "Jane Doe")
    assert agreed(found, "verdicts") == (2, 4)
    assert agreed(found, "rubrics") == (2 * 2 + 2 * 2, 10)
    assert [(key.task_id, key.epoch) for key in found.disputed] == [("t2", 1), ("t2", 2)]
    judge, person = found.judges
    assert (len(judge.votes), len(person.votes), person.failed) == (8, 4, 0)
    assert render(report(log), "json") == before, "no rate is made of a person's scores"
    written = read_eval_log(log)
    assert written.results is not None
    assert [score.name for score in written.results.scores] == ["rubric_judge", "error_types"]
    (solved, _) = (s for s in written.samples or [] if s.id == "t2")
    score = (solved.scores or {})["verdict_by_Jane Doe"]
    assert (score.value, score.answer) == ("C", "1.00, 3/3 met, solved")
    assert score.history[0].provenance is not None
    assert score.history[0].provenance.author == "Jane Doe"


def test_a_second_sheet_changes_and_a_second_person_adds(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 6, str(tmp_path / "v.csv"))
    first = fill(tmp_path / "v.csv", {"t1": {"confirm": "yes"}})
    add_verdicts(log, first, "Jane")
    modified = Path(log).stat().st_mtime_ns
    add_verdicts(log, first, "Jane")
    assert Path(log).stat().st_mtime_ns == modified, "nothing new, nothing written"
    second = fill(tmp_path / "v.csv", {"t1": {"solved yours": "yes", "wrong rubrics": "1"}})
    add_verdicts(log, second, "Jane")
    add_verdicts(log, fill(tmp_path / "v.csv", {"t1": {"confirm": "yes"}}), "Kim")
    found = agreement(log)
    assert found.names == ("mockllm/judge", "Jane", "Kim")
    assert [pair.agreement.value for pair in found["verdicts"].pairs] == [0.0, 1.0, 0.0]
    sample = next(s for s in read_eval_log(log).samples or [] if s.id == "t1")
    assert [edit.value for edit in (sample.scores or {})["verdict_by_Jane"].history] == [
        "I",
        "C",
    ]


def test_error_types_of_a_person_stand_beside_those_of_the_judge(
    log: str, tmp_path: Path
) -> None:
    before = render(errors(log), "json")
    error_sheet(log, 4, str(tmp_path / "s.csv"))
    entries = {"t1": {"confirm": "yes"}, "t2": {"format_error yours": "yes"}}
    done = add_errors(log, fill(tmp_path / "s.csv", entries), "Jane")
    assert done.added == 4
    found = agreement(log)
    assert found.names == ("mockllm/judge",), "nobody else gave verdicts"
    assert agreed(found, "Format Error") == (2, 4)
    assert agreed(found, "Context Ignored") == (4, 4)
    assert agreed(found, "all types") == (2, 4)
    assert render(errors(log), "json") == before


def test_the_commands_add_to_the_log(log: str, tmp_path: Path) -> None:
    verdict_sheet(log, 6, str(tmp_path / "v.csv"))
    sheet = fill(tmp_path / "v.csv", {"t1": {"confirm": "yes"}})
    done = clbench("check-judge", log, "--checked", sheet, "--person", "Jane")
    assert done.exit_code == 0, done.stderr
    assert f"2 scores of Jane in it: clbench agreement {log}" in done.stderr
    assert "Jane" in clbench("show", log, "--task", "t1").stdout
    for words in (("check-judge", log, "--checked", sheet), ("errors", log, "--person", "J")):
        assert clbench(*words).exit_code == 2


def test_what_does_not_belong_to_the_log(log: str, tmp_path: Path) -> None:
    other = make_log(tmp_path / "other", ROWS, PLAN).location
    verdict_sheet(other, 3, str(tmp_path / "v.csv"))
    sheet = fill(tmp_path / "v.csv", {"t1": {"confirm": "yes"}})
    content = Path(log).read_bytes()
    with pytest.raises(ClbenchError, match="none of the sheet's answers is in this log"):
        add_verdicts(log, sheet, "Jane")
    for name in ("", "\x1b[2J", "=x", "a/b"):
        with pytest.raises(ClbenchError, match="name a person"):
            add_verdicts(other, sheet, name)
    text = Path(sheet).read_text(encoding="utf-8").replace("1n 3y", "1n 3y 4y")
    Path(sheet).write_text(text, encoding="utf-8")
    with pytest.raises(ClbenchError, match="3 rubrics under `status`, but 2 in the log"):
        add_verdicts(other, sheet, "Jane")
    assert Path(log).read_bytes() == content
