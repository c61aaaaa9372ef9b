"""Files are written whole or not at all, where and with the mode that the user meant."""

import os
import stat
import threading
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.files import check_target, make_folder, replacing, write_text
from tests.support.answers import graded as graded_row
from tests.support.answers import inference_rows, write_lines
from tests.support.command import clbench
from tests.support.logs import make_log
from tests.support.programs import python
from tests.support.scripted import tasks


@pytest.fixture
def narrow_umask() -> Iterator[None]:
    before = os.umask(0o077)
    yield
    os.umask(before)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_a_file_that_is_not_finished_replaces_nothing(tmp_path: Path) -> None:
    path = tmp_path / "x.txt"
    path.write_text("good")
    with suppress(RuntimeError), replacing(path) as file:
        file.write(b"half")
        raise RuntimeError
    assert {p.name: p.read_text() for p in tmp_path.iterdir()} == {"x.txt": "good"}


def test_new_files_have_the_mode_that_the_umask_says(
    tmp_path: Path, narrow_umask: None
) -> None:
    write_text(tmp_path / "new.txt", "x")
    assert mode(tmp_path / "new.txt") == 0o600
    os.umask(0o027)
    write_text(tmp_path / "shared.txt", "x")
    assert mode(tmp_path / "shared.txt") == 0o640


def test_a_file_that_is_there_keeps_its_mode(tmp_path: Path, narrow_umask: None) -> None:
    path = tmp_path / "x.txt"
    path.touch()
    path.chmod(0o664)
    write_text(path, "x")
    assert (mode(path), path.read_text()) == (0o664, "x")


@pytest.mark.parametrize("there", [True, False])
def test_symbolic_links_are_followed(there: bool, tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    real, link = tmp_path / "real" / "x.txt", tmp_path / "link.txt"
    if there:
        real.write_text("old")
    link.symlink_to(Path("real") / "x.txt")
    write_text(link, "new")
    assert link.is_symlink()
    assert real.read_text() == "new"


def test_a_pipe_is_written_to(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_text()))
    reader.start()
    write_text(pipe, "a,b")
    reader.join(10)
    assert read == ["a,b"]
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_standard_output_is_written_to_even_where_it_is_a_file() -> None:
    code = (
        "from inspect_clbench.files import write_text\n"
        "print('first', flush=True)\n"
        "write_text('/dev/stdout', 'second\\n')\n"
        "write_text('/dev/fd/2', 'aside\\n')\n"
        "print('third')\n"
    )
    assert python(code) == (0, "first\nsecond\nthird\n", "aside\n")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("folder", "folder: a folder. Name a file in it."),
        ("typo/x.csv", "typo/x.csv: there is no folder typo. Make it first."),
        ("file/x.csv", "file/x.csv: there is no folder file. Make it first."),
        ("n" * 300 + ".csv", "cannot be written (File name too long)."),
    ],
)
def test_a_target_that_cannot_be_written_is_refused_early_and_late(
    path: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("file").touch()
    with pytest.raises(ClbenchError) as early:
        check_target(path)
    with pytest.raises(ClbenchError) as late:
        write_text(path, "x")
    assert str(early.value).endswith(message)
    assert str(late.value).endswith(message)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["file", "folder"]


def test_folders_that_nobody_may_write_to_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not with chmod: the tests may run as root, who may write to any."""

    def refused(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("inspect_clbench.files.os.open", refused)
    with pytest.raises(ClbenchError, match=r"x\.csv: cannot be written \(Permission denied\)"):
        check_target(tmp_path / "x.csv")


def test_a_file_that_is_write_protected_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "x.csv"
    path.write_text("good")
    monkeypatch.setattr("inspect_clbench.files.os.access", lambda *_: False)
    with pytest.raises(ClbenchError, match=r"x\.csv: cannot be written, it is write-protected"):
        write_text(path, "x")
    assert path.read_text() == "good"


def test_a_new_file_must_be_new(tmp_path: Path) -> None:
    path = tmp_path / "x.eval"
    check_target(path, new=True)
    path.touch()
    check_target(path)
    with pytest.raises(ClbenchError, match=r"x\.eval: exists already"):
        check_target(path, new=True)


def test_one_folder_is_made_and_not_those_above_it(tmp_path: Path) -> None:
    make_folder(tmp_path / "new")
    make_folder(tmp_path / "new")
    (tmp_path / "file").touch()
    for path, message in (("typo/new", "there is no folder"), ("file", "a file, not a folder")):
        with pytest.raises(ClbenchError, match=message):
            make_folder(tmp_path / path)


@pytest.fixture
def log(tmp_path: Path) -> str:
    return make_log(tmp_path / "logs", tasks("a", "b")).location


def test_commands_name_the_file_they_wrote(log: str, tmp_path: Path) -> None:
    for name in ("x.csv", "x.html"):
        path = tmp_path / name
        assert clbench("report", log, "-o", str(path)) == (0, "", f"Wrote {path}\n")
    plotted = clbench("plot", log, "-o", f"{tmp_path}/x.svg").stderr.splitlines()
    assert plotted[0] == f"Wrote {tmp_path}/x.svg"
    assert all(warning.startswith(("* ", "! ")) for warning in plotted[1:])
    sheet = clbench("check-judge", log, "--sheet", "1", f"{tmp_path}/s.csv")
    assert sheet.stderr == f"Wrote {tmp_path}/s.csv\n"


@pytest.mark.parametrize(
    "argv",
    [
        ("report", "{log}", "-o", "{to}.csv"),
        ("report", "{log}", "-o", "{to}.html"),
        ("plot", "{log}", "-o", "{to}.svg"),
        ("errors", "{log}", "--heatmap", "{to}.svg"),
        ("check-judge", "{log}", "--sheet", "1", "{to}.csv"),
        ("export", "{log}", "--to", "{to}/out"),
        ("regrade", "{log}", "--output", "{to}.eval"),
        ("import", "{graded}", "--log-dir", "{to}/out"),
    ],
)
def test_commands_do_not_make_folders_from_a_typing_mistake(
    argv: tuple[str, ...], log: str, tmp_path: Path
) -> None:
    to = str(tmp_path / "typo" / "x")
    graded = write_lines(tmp_path / "m.jsonl", [graded_row(inference_rows()[0], 1)])
    words = [word.format(log=log, graded=graded, to=to) for word in argv]
    code, out, err = clbench(*words)
    assert (code, out) == (2, "")
    assert f"there is no folder {Path(to).parent}" in err
    assert len(err.splitlines()) == 1
    assert not (tmp_path / "typo").exists()
