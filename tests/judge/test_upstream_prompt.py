import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from inspect_clbench.errors import ClbenchError
from inspect_clbench.judge import prompt
from inspect_clbench.judge.prompt import load_judge_prompt, upstream_template
from tests.support.files import FileServer, Response

# A file of our own in the shape of the original: only the shape matters.
LITERALS = """(
        "You grade homework.\\n"
        f"Rubrics:\\n{rubrics_text}\\n"
        "Literal {braces} and {{more}} stay.\\n"
        f"Answer in {{braces}}:\\n{model_output}\\n"
        'Reply with JSON: {"Overall Score": 0}'
    )"""
TEMPLATE = (
    "You grade homework.\nRubrics:\n{rubrics_text}\nLiteral {braces} and {{more}} stay.\n"
    'Answer in {braces}:\n{model_output}\nReply with JSON: {"Overall Score": 0}'
)
SOURCE = f'''"""Grades."""
import json

grading_prompt = "not this one"

def call_judge_api(client, rubrics_text, model_output):
    """Ask."""
    other = f"{{client}}"
    grading_prompt = {LITERALS}
    return client.ask(grading_prompt)
'''


@pytest.mark.parametrize("source", [SOURCE, SOURCE.replace("\n", "\r\n")])
def test_the_prompt_is_taken_out_of_the_source(source: str) -> None:
    assert upstream_template(source.encode()) == TEMPLATE


Pin = Callable[[str], bytes]


@pytest.fixture
def pin(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Pin:
    """Take a source for the original file; the user's cache folder is the test's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def pinned(source: str) -> bytes:
        content = source.encode()
        monkeypatch.setattr(prompt, "UPSTREAM_SHA256", hashlib.sha256(content).hexdigest())
        return content

    return pinned


@pytest.fixture
def responses() -> list[Response]:
    """What the server gives before it gives the original file."""
    return []


@pytest.fixture
def download(
    pin: Pin, responses: list[Response], monkeypatch: pytest.MonkeyPatch
) -> Iterator[FileServer]:
    """A server that has the original file."""
    content = pin(SOURCE)
    with FileServer(lambda path: responses.pop() if responses else Response(content)) as server:
        monkeypatch.setattr(prompt, "UPSTREAM_URL", f"{server.url}/eval.py")
        yield server


@pytest.mark.parametrize("name", ["eval.py", "copy-of-eval.txt"])
def test_a_copy_of_the_file_whatever_its_name(name: str, pin: Pin, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(pin(SOURCE))
    assert load_judge_prompt(str(tmp_path / name)) == prompt.JudgePrompt("upstream", TEMPLATE)


def test_a_copy_that_was_altered(pin: Pin, tmp_path: Path) -> None:
    content = pin(SOURCE)
    path = tmp_path / "eval.py"
    path.write_bytes(content.replace(b"homework", b"gently"))
    with pytest.raises(ClbenchError) as error:
        load_judge_prompt(str(path))
    for part in (
        f"{path}: this is not CL-bench's eval.py",
        "sha256",
        "Take the file from https",
    ):
        assert part in str(error.value)


def test_the_source_is_never_executed(pin: Pin, tmp_path: Path) -> None:
    trace = tmp_path / "executed"
    source = f"open({str(trace)!r}, 'w')\nraise SystemExit(3)\n{SOURCE}"
    (tmp_path / "eval.py").write_bytes(pin(source))
    assert load_judge_prompt(str(tmp_path / "eval.py")).template == TEMPLATE
    assert not trace.exists()


def test_downloaded_once_and_kept(download: FileServer, tmp_path: Path) -> None:
    for _ in range(2):
        assert load_judge_prompt("upstream") == prompt.JudgePrompt("upstream", TEMPLATE)
    assert download.requests == ["GET /eval.py"]
    (kept,) = (tmp_path / "cache").rglob("*.py")
    assert kept == prompt.upstream_cache_file()
    assert kept.read_bytes() == SOURCE.encode()


def test_a_damaged_copy_in_the_cache_is_fetched_again(download: FileServer) -> None:
    load_judge_prompt("upstream")
    kept = prompt.upstream_cache_file()
    kept.write_bytes(kept.read_bytes()[:100])
    assert load_judge_prompt("upstream").template == TEMPLATE
    assert kept.read_bytes() == SOURCE.encode()
    assert len(download.requests) == 2


def test_a_cache_folder_that_is_of_no_use(download: FileServer, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file where a folder should be")
    assert load_judge_prompt("upstream").template == TEMPLATE


def test_a_redirect_is_followed(download: FileServer, responses: list[Response]) -> None:
    responses.append(Response(status=302, headers={"Location": "/moved/eval.py"}))
    assert load_judge_prompt("upstream").template == TEMPLATE
    assert download.requests == ["GET /eval.py", "GET /moved/eval.py"]


@pytest.mark.parametrize(
    ("response", "complaint"),
    [
        (Response(b"<html>Log in, please</html>"), "gave something else"),
        (Response(SOURCE.encode() + b"#" * 1_500_000), "gave something else"),
        (Response(SOURCE.encode()[:-1]), "gave something else"),
        (Response(b"no", status=404), "404"),
        (Response(b"no", status=500), "500"),
        (Response(b"no", status=302, headers={"Location": "nowhere://else/"}), "nowhere"),
        (Response(SOURCE.encode(), headers={"Content-Length": "99999", "Connection": "close"}), "RemoteProtocolError"),
    ],
)  # fmt: skip
def test_a_download_that_goes_wrong(
    response: Response, complaint: str, download: FileServer, responses: list[Response]
) -> None:
    responses.append(response)
    with pytest.raises(ClbenchError) as error:
        load_judge_prompt("upstream")
    for part in (complaint, prompt.UPSTREAM_URL, "-T judge_prompt=path/to/eval.py"):
        assert part in str(error.value)
    assert not prompt.upstream_cache_file().exists()


def test_a_host_that_cannot_be_reached(pin: Pin, monkeypatch: pytest.MonkeyPatch) -> None:
    with FileServer(lambda path: Response()) as server:
        closed = server.url
    monkeypatch.setattr(prompt, "UPSTREAM_URL", f"{closed}/eval.py")
    with pytest.raises(ClbenchError, match=r"could not be fetched from .* give its path"):
        load_judge_prompt("upstream")


def test_a_proxy_setting_that_is_nonsense(
    download: FileServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "gopher://127.0.0.1:1")
    with pytest.raises(ClbenchError, match="could not be fetched"):
        load_judge_prompt("upstream")


def test_the_pins_are_those_of_the_benchmark() -> None:
    assert prompt.UPSTREAM_URL == (
        "https://raw.githubusercontent.com/Tencent-Hunyuan/CL-bench/"
        "f34052c893e932c90c5caa417990c756d069e26b/eval.py"
    )
    assert prompt.UPSTREAM_SHA256.startswith("f840935f89b7193c")
