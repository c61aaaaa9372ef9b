"""Agreement where something is missing, too long or all the same."""

from collections.abc import Callable
from pathlib import Path

import pytest

from inspect_clbench.analysis.comparing.agreement import agreement
from inspect_clbench.analysis.comparing.agreement_tables import agreement_tables
from inspect_clbench.analysis.reading.records import find_logs, read_records
from inspect_clbench.analysis.reading.verdicts import read_judged
from inspect_clbench.analysis.tables import FORMATS, format_for, render
from inspect_clbench.errors import ClbenchError
from tests.support.judges import clbench, judged_eval, script
from tests.support.server import LoopbackServer, Script

Serve = Callable[[Script], LoopbackServer]

TASKS = [("t1", "c1", "Finance"), ("t2", "c2", "Finance")]


@pytest.mark.parametrize("judges", [["a", "b"], ["a", "b", "c"]])
def test_one_word_throughout_leaves_kappa_undefined(
    serve: Serve, tmp_path: Path, judges: list[str]
) -> None:
    serve(script(lambda *_: "yyy"))
    log = judged_eval(tmp_path, "student", judges, TASKS)
    tables = agreement_tables(agreement([log.location]), list_tasks=True)
    assert tables[0].rows[0][-1].text == "–"
    assert any(note.startswith("–: every verdict compared") for note in tables[0].notes)
    for format in FORMATS:
        assert "nan" not in render(tables, format_for(None, format)).lower()


def test_votes_too_long_for_the_summaries_are_read_from_the_samples(
    serve: Serve, tmp_path: Path
) -> None:
    long = {judge: "y" * (100 - i) + "n" * i for i, judge in enumerate("abcde")}
    serve(script(lambda judge, _, task, *__: long[judge] if task == "t1" else "y" * 100))
    log = judged_eval(tmp_path, "student", list(long), TASKS, rubrics=100)
    (found,) = find_logs([log.location])
    assert all(record.votes_cut and not record.votes for record in read_records(found))
    figures = agreement([log.location])
    assert figures.verdicts.compared == 2
    assert figures.rubrics.compared == 200
    assert [pair.differ for pair in figures.rubrics.pairs] == [1, 2, 3, 4, 1, 2, 3, 1, 2, 1]


def test_no_verdict_of_two_judges(serve: Serve, tmp_path: Path) -> None:
    serve(script(lambda judge, *_: "yyy" if judge == "a" else ""))
    log = judged_eval(tmp_path, "student", ["a", "b"], TASKS)
    tables = agreement_tables(agreement([log.location]))
    assert [cell.text for cell in tables[0].rows[0]] == ["Verdicts", "0", "–", "–"]
    assert "No verdict was given by two judges." in tables[0].notes


def test_rows_that_another_judge_stepped_in_for_are_left_out(
    serve: Serve,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = [*TASKS, ("t3", "c3", "Finance")]
    serve(script(lambda judge, _, task, *__: "" if (judge, task) == ("a", "t2") else "yyy"))
    log = judged_eval(tmp_path, "student", ["a"], tasks)
    clbench(capsys, monkeypatch, "regrade", log.location, "--judge", "openai-api/loop/b")
    (judge,) = read_judged(log.location).judges
    assert judge.identity.judge == "openai-api/loop/a"
    assert {answer.task_id for answer in judge.solved} == {"t1", "t3"}
    assert judge.others == 1


def test_the_demo_has_one_judge(demo_log: str) -> None:
    with pytest.raises(ClbenchError, match="judged by clbench_demo/judge only"):
        agreement([demo_log])


def test_a_folder_with_a_log_and_its_copy(demo_log: str, tmp_path: Path) -> None:
    for name in ("one.eval", "two.eval"):
        (tmp_path / name).write_bytes(Path(demo_log).read_bytes())
    with pytest.raises(ClbenchError, match="hold the same answers"):
        agreement([str(tmp_path)])
