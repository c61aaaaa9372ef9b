"""A log is changed without losing what others write to it, and without losing the change."""

import json
import os
import stat
import threading
import zipfile
from pathlib import Path

import pytest
from inspect_ai.log import EvalLog, read_eval_log, write_eval_log

from inspect_clbench.errors import ClbenchError
from inspect_clbench.logs import rewriting
from inspect_clbench.logs.rewriting import rewrite_log
from tests.support.logs import make_log
from tests.support.s3 import s3_client
from tests.support.scripted import tasks


@pytest.fixture(params=[".eval", ".json"])
def log(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    made = make_log(tmp_path / "rows", tasks("a"))
    path = tmp_path / f"log{request.param}"
    write_eval_log(made, str(path))
    return path


def tag(log: EvalLog, name: str = "changed") -> bool:
    log.eval.tags = [*(log.eval.tags or []), name]
    return True


def tags(path: Path | str) -> list[str]:
    return read_eval_log(str(path)).eval.tags or []


def test_a_log_keeps_its_format_and_mode(log: Path) -> None:
    log.chmod(0o640)
    assert rewrite_log(str(log), tag) == str(log)
    assert tags(log) == ["changed"]
    assert zipfile.is_zipfile(log) is (log.suffix == ".eval")
    assert stat.S_IMODE(log.stat().st_mode) == 0o640
    assert [p.name for p in log.parent.iterdir() if p.is_file()] == [log.name]


@pytest.mark.parametrize("name", ["new.eval", "new.json"])
def test_another_file_has_the_format_that_its_name_says(log: Path, name: str) -> None:
    before = log.read_bytes()
    output = log.with_name(name)
    assert rewrite_log(str(log), tag, output=str(output)) == str(output)
    assert (tags(output), tags(log)) == (["changed"], [])
    assert zipfile.is_zipfile(output) is (output.suffix == ".eval")
    assert log.read_bytes() == before


def test_a_link_to_a_log_stays_a_link(log: Path) -> None:
    link = log.with_name(f"link{log.suffix}")
    link.symlink_to(log.name)
    rewrite_log(str(link), tag)
    assert link.is_symlink()
    assert tags(log) == ["changed"]


def test_nothing_is_written_where_nothing_changed(log: Path) -> None:
    before = log.stat()
    rewrite_log(str(log), lambda _: False)
    assert log.stat() == before


def kept_file(message: str) -> Path:
    return Path(message.rsplit("The result: ", 1)[1])


def test_a_log_that_others_wrote_to_is_left_alone(log: Path) -> None:
    def change(ours: EvalLog) -> bool:
        theirs = read_eval_log(str(log))
        tag(theirs, "theirs")
        write_eval_log(theirs, str(log))
        return tag(ours, "ours")

    with pytest.raises(ClbenchError, match="written by somebody else meanwhile") as caught:
        rewrite_log(str(log), change)
    kept = kept_file(str(caught.value))
    assert (tags(log), tags(kept)) == (["theirs"], ["ours"])
    assert (kept.parent, kept.suffix) == (log.parent, log.suffix)


def test_a_result_that_cannot_be_written_goes_elsewhere(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = log.read_bytes()

    def full(*_: object) -> Path:
        raise OSError(28, "No space left on device")

    def change(ours: EvalLog) -> bool:
        monkeypatch.setattr(rewriting, "new_file", full)
        return tag(ours)

    with pytest.raises(ClbenchError, match="No space left on device") as caught:
        rewrite_log(str(log), change)
    kept = kept_file(str(caught.value))
    assert (log.read_bytes(), tags(kept)) == (before, ["changed"])
    kept.unlink()


def test_a_result_goes_to_the_temporary_folder_where_the_logs_is_gone(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spare").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "spare"))
    folder = tmp_path / "mounted"
    folder.mkdir()
    moved = log.rename(folder / log.name)

    def change(ours: EvalLog) -> bool:
        moved.unlink()
        folder.rmdir()
        return tag(ours)

    with pytest.raises(ClbenchError, match="could not be written") as caught:
        rewrite_log(str(moved), change)
    kept = kept_file(str(caught.value))
    assert (kept.parent, tags(kept)) == (tmp_path / "spare", ["changed"])


def test_two_who_change_a_log_at_once_do_not_collide(log: Path) -> None:
    inside, done = threading.Event(), threading.Event()

    def slow(ours: EvalLog) -> bool:
        inside.set()
        assert done.wait(20)
        return tag(ours, "first")

    first = threading.Thread(target=rewrite_log, args=(str(log), slow))
    first.start()
    assert inside.wait(20)
    with pytest.raises(ClbenchError, match="another process is changing it"):
        rewrite_log(str(log), tag)
    copy = log.with_name(f"copy{log.suffix}")
    rewrite_log(str(log), tag, output=str(copy))
    done.set()
    first.join(20)
    assert (tags(log), tags(copy)) == (["first"], ["changed"])
    rewrite_log(str(log), tag)
    assert tags(log) == ["first", "changed"]


def test_an_output_that_appears_meanwhile_is_left_alone(log: Path) -> None:
    output = log.with_name(f"out{log.suffix}")

    def change(ours: EvalLog) -> bool:
        output.write_text("theirs")
        return tag(ours)

    with pytest.raises(ClbenchError, match="written by somebody else meanwhile") as caught:
        rewrite_log(str(log), change, output=str(output))
    assert output.read_text() == "theirs"
    assert tags(kept_file(str(caught.value))) == ["changed"]


@pytest.mark.parametrize(
    ("name", "output", "message"),
    [
        ("", None, "a folder. Name one log file in it."),
        ("nothing.eval", None, "nothing.eval: no such file."),
        ("broken.eval", None, "broken.eval: not a readable log"),
        ("broken.json", None, "broken.json: not a readable log"),
        ("log.eval", "broken.eval", "broken.eval: exists already."),
        ("log.eval", "log.eval", "log.eval: exists already."),
        ("log.eval", "new.csv", "new.csv: a log's name ends in .eval or .json."),
        ("log.eval", "typo/new.eval", "typo/new.eval: there is no folder"),
        ("running.eval", None, "running.eval: its run has not ended."),
    ],
)
def test_what_cannot_end_well_is_refused_before_it_begins(
    name: str, output: str | None, message: str, tmp_path: Path
) -> None:
    made = make_log(tmp_path / "rows", tasks("a"))
    write_eval_log(made, str(tmp_path / "log.eval"))
    made.status = "started"
    write_eval_log(made, str(tmp_path / "running.eval"))
    for broken in ("broken.eval", "broken.json"):
        (tmp_path / broken).write_text(json.dumps("no"))
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()}

    def change(_: EvalLog) -> bool:
        raise AssertionError("nothing is done before")

    with pytest.raises(ClbenchError) as caught:
        rewrite_log(str(tmp_path / name), change, output=output and str(tmp_path / output))
    assert message in str(caught.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir() if p.is_file()} == before


def test_a_log_on_s3_that_others_wrote_to_is_left_alone(
    bucket: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    made = make_log(tmp_path, tasks("a"))
    s3_client().upload_file(made.location, bucket, "x.eval")
    place = f"s3://{bucket}/x.eval"
    rewrite_log(place, lambda log: tag(log, "first"))

    def change(ours: EvalLog) -> bool:
        rewrite_log(place, lambda log: tag(log, "theirs"))
        return tag(ours, "ours")

    with pytest.raises(ClbenchError, match="written by somebody else meanwhile") as caught:
        rewrite_log(place, change)
    assert tags(place) == ["first", "theirs"]
    assert tags(kept_file(str(caught.value))) == ["first", "ours"]


def test_a_file_system_without_locks_will_do(
    log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(os.strerror(95))

    monkeypatch.setattr("fcntl.flock", no_locks)
    rewrite_log(str(log), tag)
    assert tags(log) == ["changed"]
