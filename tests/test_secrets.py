"""Credentials that servers send back or URLs hold reach nothing that this package writes."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from inspect_ai.log import EvalLog

from inspect_clbench.errors import ClbenchError
from inspect_clbench.text import public_url, redacted
from tests.support.builders import row, run_eval, verdict, write_rows
from tests.support.command import clbench
from tests.support.files import FileServer, Response
from tests.support.server import Call, LoopbackServer, Reply, Script

Serve = Callable[[Script], LoopbackServer]
KEY = "sk-proj-Abc123def456GHI789jkl"
PLAIN_KEY = "correct horse battery"


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("https://ann:pass@host/rows.jsonl?token=abc#x", "https://host/rows.jsonl"),
        ("https://host/rows.jsonl", "https://host/rows.jsonl"),
        ("https://ann:p%40ss@host:8443/a/b.json", "https://host:8443/a/b.json"),
        ("https://token@host/b.json?a=b&c=d", "https://host/b.json"),
        ("s3://bucket/rows.jsonl?versionId=1", "s3://bucket/rows.jsonl"),
        ("https://host/?sig=a?b=c", "https://host/"),
        ("/home/ann@work/rows?.jsonl", "/home/ann@work/rows?.jsonl"),
        ("dataset=https://a:b@host/x.jsonl?t=1: no such file.", "dataset=https://host/x.jsonl: no such file."),
        ("(https://host/x?t=1) and 'http://u:p@h/y?z'", "(https://host/x) and 'http://h/y'"),
        ("tencent/CL-bench", "tencent/CL-bench"),
        ("demo", "demo"),
    ],
)  # fmt: skip
def test_urls_lose_names_passwords_and_queries(url: str, public: str) -> None:
    assert public_url(url) == public


@pytest.mark.parametrize(
    "message",
    [
        f"Incorrect API key provided: {KEY}. Find yours at https://host/keys.",
        f"Authorization: Bearer {KEY}",
        f'{{"authorization": "Bearer {KEY}", "x": 1}}',
        f"{{'Authorization': 'Basic {KEY}'}}",
        f"headers: [('authorization', 'Bearer {KEY}')]",
        f"AUTHORIZATION={KEY}",
        f"x-api-key: {KEY}",
        f"api-key={KEY}&x=1",
        f'"api_key": "{KEY}"',
        f"Ocp-Apim-Subscription-Key: {KEY}",
        f"bearer {KEY}",
        f"https://host/v1?key={KEY}",
        f"https://ann:{KEY}@host/v1",
        f"The token was <{PLAIN_KEY}>.",
        "Authorization: Bearer abcd.efgh/ijkl==",
        "x-goog-api-key: AIzaSyabcdefghijklmnop",
        "token hf_abcdefghijklmnopqrst is not valid",
    ],
)
def test_what_looks_like_a_key_is_hidden(message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTHER_API_KEY", PLAIN_KEY)
    shown = redacted(message)
    for part in (KEY, PLAIN_KEY, "abcd.efgh", "AIzaSy", "hf_abc"):
        assert part not in shown
    assert str(ClbenchError(message)) == shown


@pytest.mark.parametrize(
    "message",
    [
        *("Rate limit reached for gpt-5.1: 3 of 3 requests.", "model `sk` not found", ""),
        *(
            "Error 400: 'messages[0].role' must be one of system, user",
            "the API key is missing",
        ),
        *(
            "No basic access here",
            "task-1, risk-averse, desk-1234567890123",
            "a token of 5 words",
        ),
    ],
)
def test_other_words_stay(message: str) -> None:
    assert redacted(message) == message


def ours(log: EvalLog) -> str:
    """All that a log holds, but for what Inspect itself records of requests and arguments."""
    texts = []
    with zipfile.ZipFile(log.location) as file:
        for name in file.namelist():
            content = json.loads(file.read(name))
            texts.append(json.dumps(_without(content)))
    return "".join(texts)


def _without(value: Any) -> Any:
    inspects_own = {"events", "attachments", "task_args", "task_args_passed", "traceback", "traceback_ansi"}  # fmt: skip
    if isinstance(value, dict):
        return {k: _without(v) for k, v in value.items() if k not in inspects_own}
    return [_without(part) for part in value] if isinstance(value, list) else value


def written(log: EvalLog, folder: Path) -> str:
    """All that this package writes from a log: its scores, the page, the exported files."""
    folder.mkdir()
    page = folder / "page.html"
    shown = [
        clbench("report", log.location, "--output", str(page)),
        clbench("report", log.location),
        clbench("show", log.location, "--task", "x", "--full"),
        clbench("export", log.location, "--to", str(folder / "set")),
    ]
    assert [result.exit_code for result in shown] == [0] * 4, shown
    files = [page, *(path for path in (folder / "set").rglob("*") if path.is_file())]
    return ours(log) + str(shown) + "".join(path.read_text("utf-8") for path in files)


def test_a_judges_server_that_sends_the_key_back(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inspect_clbench.judge.asking.PAUSES", (0.0, 0.0))
    monkeypatch.setenv("OTHER_API_KEY", PLAIN_KEY)
    echo = f"bad request: {{'Authorization': 'Bearer {KEY}'}} and {PLAIN_KEY}"

    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply(f"An answer. STATUS={500 if 'TASK=y' in call.prompt else 400}")
        status = call.prompt.partition("STATUS=")[2][:3]
        return Reply(status=int(status), error=echo) if status else Reply("ready")

    serve(script)
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row("x"), row("y")]), tmp_path)
    assert len(log.samples or []) == 2
    for sample in log.samples or []:
        score = (sample.scores or {})["rubric_judge"]
        assert "[hidden]" in (score.metadata or {})["judge_error"]
    text = written(log, tmp_path / "out")
    assert KEY not in text
    assert PLAIN_KEY not in text


def test_a_key_that_is_refused_and_sent_back_ends_the_run_without_it(
    serve: Serve, tmp_path: Path
) -> None:
    def script(call: Call) -> Reply:
        if call.model == "student":
            return Reply("An answer.")
        return Reply(status=401, error=f"Incorrect API key provided: {KEY}.")

    serve(script)
    log = run_eval(write_rows(tmp_path / "rows.jsonl", [row("x")]), tmp_path)
    assert log.error is not None
    assert "The judge cannot work" in log.error.message
    assert KEY not in log.error.message + log.error.traceback


def test_a_datasets_url_keeps_its_secrets(serve: Serve, tmp_path: Path) -> None:
    serve(lambda call: Reply(verdict(1) if call.model == "judge" else "An answer."))
    body = Path(write_rows(tmp_path / "rows.jsonl", [row("x")])).read_bytes()
    there = {"/gone.jsonl": Response(status=403)}
    with FileServer(lambda path: there.get(path.split("?")[0], Response(body))) as server:
        url = server.url.replace("//", "//ann:hunter2@") + "/rows.jsonl?sig=s3cr3t"
        log = run_eval(url, tmp_path)
        assert log.eval.dataset.location == f"{server.url}/rows.jsonl"
        text = written(log, tmp_path / "out")
        with pytest.raises(ClbenchError) as error:
            run_eval(url.replace("rows", "gone"), tmp_path)
    for secret in ("hunter2", "s3cr3t"):
        assert secret not in text
        assert secret not in str(error.value)
    assert error.value.__suppress_context__
