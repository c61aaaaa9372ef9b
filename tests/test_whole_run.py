"""What a task does around its samples: nothing of it is left when the run is done."""

import gc
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.builders import row, run_eval, verdict, write_rows
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]


@pytest.fixture(autouse=True)
def as_python_starts() -> Iterator[None]:
    """A run of another test that was stopped may have left its settings behind."""
    gc.unfreeze()
    found = gc.get_threshold()
    gc.set_threshold(700, 10, 10)
    yield
    gc.set_threshold(*found)


def test_what_is_loaded_is_no_garbage_while_samples_run(serve: Serve, tmp_path: Path) -> None:
    before, usual = gc.get_freeze_count(), gc.get_threshold()
    frozen: dict[str, int] = {}
    thresholds = []

    def script(call: Call) -> Reply:
        frozen[call.model] = gc.get_freeze_count()
        thresholds.append(gc.get_threshold()[0])
        return Reply(verdict(1)) if call.model == "judge" else Reply("An answer.")

    serve(script)
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row("one"), row("two")]), tmp_path)
    assert log.status == "success"
    assert frozen["student"] > before + 10_000
    assert frozen["judge"] > before + 10_000
    assert thresholds[-1] > usual[0]
    assert gc.get_freeze_count() == before
    assert gc.get_threshold() == usual


def test_who_turned_garbage_collection_off_keeps_it_off(serve: Serve, tmp_path: Path) -> None:
    thresholds = []

    def script(call: Call) -> Reply:
        thresholds.append(gc.get_threshold()[0])
        return Reply(verdict(1)) if call.model == "judge" else Reply("An answer.")

    serve(script)
    usual = gc.get_threshold()
    gc.set_threshold(0)
    try:
        run_eval(write_rows(tmp_path / "rows.jsonl", [row("one")]), tmp_path)
        assert set(thresholds) == {0}
        assert gc.get_threshold()[0] == 0
    finally:
        gc.set_threshold(*usual)


@pytest.mark.parametrize("status", [401, 404])
def test_a_run_that_is_refused_leaves_no_trace(
    serve: Serve, tmp_path: Path, status: int
) -> None:
    before, usual = gc.get_freeze_count(), gc.get_threshold()
    serve(lambda call: Reply(status=status) if call.model == "judge" else Reply("An answer."))
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row("one")]), tmp_path)
    assert log.status == "error"
    assert log.error is not None
    assert "The judge cannot work" in log.error.message
    assert gc.get_freeze_count() == before
    assert gc.get_threshold() == usual
