"""Agreement where something is missing, too long or all the same."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from inspect_clbench.analysis import agreement
from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs.answers import read_answers
from inspect_clbench.logs.files import find_logs
from inspect_clbench.output import render, tables_of
from inspect_clbench.output.formats import FORMATS
from tests.support.builders import row, verdict
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.scripted import GARBLED, Says
from tests.support.server import LoopbackServer, Reply, Script

ROWS = [row("t1"), row("t2")]


def judged(folder: Path, says: Says, rows: Sequence[dict[str, Any]] = ROWS) -> str:
    """A log whose judges say this of the answers."""
    plan = next(iter(says.values()))
    return make_log(folder, rows, plan, judge=list(says), says=says).location


@pytest.mark.parametrize("judges", [["a", "b"], ["a", "b", "c"]])
def test_one_word_throughout_leaves_kappa_undefined(tmp_path: Path, judges: list[str]) -> None:
    log = judged(tmp_path, {judge: {"t1": ["yyy"], "t2": ["yyy"]} for judge in judges})
    tables = tables_of(agreement([log]), list_tasks=True)
    assert tables[0].rows[0][-1].text == "–"
    assert any(
        note.text.startswith("–: verdicts, where compared, are all") for note in tables[0].notes
    )
    for format in {*FORMATS} - {"csv"}:  # which holds one table
        assert "nan" not in render(tables, format).lower()


def test_votes_too_long_for_the_summaries_are_read_from_the_samples(
    tmp_path: Path,
) -> None:
    rows = [row(id, rubrics=[f"Rubric {i}." for i in range(100)]) for id in ("t1", "t2")]
    says = {
        judge: {"t1": ["y" * (100 - i) + "n" * i], "t2": ["y" * 100]}
        for i, judge in enumerate("abcde")
    }
    log = judged(tmp_path, says, rows)
    (found,) = find_logs([log])
    assert all(answer.votes_cut and not answer.votes for answer in read_answers(found))
    figures = agreement([log])
    assert figures["verdicts"].compared == 2
    assert figures["rubrics"].compared == 200
    differ = [pair.only_first + pair.only_second for pair in figures["rubrics"].pairs]
    assert differ == [1, 2, 3, 4, 1, 2, 3, 1, 2, 1]


def test_no_verdict_of_two_judges(tmp_path: Path) -> None:
    said = {"a": "yyy", "b": GARBLED}
    log = judged(tmp_path, {j: {"t1": [word], "t2": [word]} for j, word in said.items()})
    tables = tables_of(agreement([log]))
    assert [cell.text for cell in tables[0].rows[0]] == ["Verdicts", "0", "–", "–"]
    assert "–: no verdicts by two judges." in map(str, tables[0].notes)


def test_rows_that_another_judge_stepped_in_for_are_left_out(
    serve: Callable[[Script], LoopbackServer], tmp_path: Path
) -> None:
    plan = {"t1": ["yyy"], "t2": [GARBLED], "t3": ["yyy"]}
    rows = [*ROWS, row("t3")]
    log = make_log(tmp_path, rows, plan, provider="openai-api/loop", judge="a").location
    serve(lambda _: Reply(verdict(1, ["yes"] * 3)))
    assert clbench("regrade", log, "--judge", "openai-api/loop/b").exit_code == 0
    found = agreement([log, log])
    assert found.names == ("openai-api/loop/a", "openai-api/loop/a (again 1)")
    judge = found.judges[0]
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
