"""An OpenAI-compatible server on loopback whose replies and faults are scripted."""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from tenacity import wait_fixed

from tests.support.files import FileServer, Response


@dataclass(frozen=True)
class Call:
    """A request as the script sees it."""

    path: str
    body: dict[str, Any]
    messages: tuple[dict[str, Any], ...]
    attempt: int
    """How often the same model was asked the same, this time included."""

    @property
    def model(self) -> str:
        return str(self.body["model"])

    @property
    def prompt(self) -> str:
        return str(self.messages[-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What the server does with a request."""

    text: str | None = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    status: int = 200
    error: str = "scripted fault"
    code: str | None = None
    headers: dict[str, str] = field(default_factory=dict)
    delay: float = 0.0
    reset: bool = False
    cached_tokens: int = 0
    changes: dict[str, Any] = field(default_factory=dict)
    """Fields of the answer's body in place of the usual ones, such as no choices at all."""
    message: dict[str, Any] = field(default_factory=dict)
    """The same for the message in a chat completion."""


Script = Callable[[Call], Reply]


Serve = Callable[[Script], "LoopbackServer"]
"""The fixture of that name."""


def hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between their retries of a request OpenAI's client, Inspect and this package hardly wait."""
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.02)
    monkeypatch.setattr("openai._base_client.MAX_RETRY_DELAY", 0.02)
    monkeypatch.setattr("inspect_ai.model._retry.wait_exponential_jitter", lambda **_: wait_fixed(0.02))
    monkeypatch.setattr("inspect_clbench.judge.asking.PAUSES", (0.01, 0.01))


class LoopbackServer(FileServer):
    """Serves chat completions and Responses.

    Servers of one process take the same port one after the other: Inspect keeps a
    model's client, and with it the address, for the life of the process.
    """

    _process_port = 0

    def __init__(self, script: Script) -> None:
        super().__init__(lambda path: Response(), LoopbackServer._process_port)
        LoopbackServer._process_port = self.server_port
        self.script = script
        self.calls: list[Call] = []
        self._seen: Counter[str] = Counter()
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"{super().url}/v1"

    def calls_of(self, model: str) -> list[Call]:
        return [call for call in self.calls if call.model == model]

    def respond(self, path: str, body: bytes) -> Response | None:
        request = json.loads(body or b"{}")
        if isinstance(request.get("input"), str):  # whether an account has reasoning summaries
            return Response(b'{"error": {"message": "not verified"}}', 400)
        if path.endswith("/responses"):
            messages = tuple(_from_responses(item) for item in request["input"])
        else:
            messages = tuple(request.get("messages", ()))
        with self._lock:
            key = json.dumps([request["model"], messages])
            self._seen[key] += 1
            call = Call(path, request, messages, self._seen[key])
            self.calls.append(call)
            reply = self.script(call)
        time.sleep(reply.delay)
        payload = json.dumps(_payload(call, reply) | reply.changes).encode()
        headers = {"Content-Type": "application/json"} | reply.headers
        return None if reply.reset else Response(payload, reply.status, headers)


def _from_responses(item: dict[str, Any]) -> dict[str, Any]:
    content = item["content"]
    if isinstance(content, list):
        content = "".join(part["text"] for part in content)
    return {"role": item["role"], "content": content}


def _payload(call: Call, reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": reply.error, "type": "scripted", "code": reply.code}}
    tokens = sum(len(str(message["content"])) for message in call.messages) // 4
    written = len(reply.text or "") // 4
    if call.path.endswith("/responses"):
        return _responses_payload(call, reply, tokens, written)
    message = {"role": "assistant", "content": reply.text, "refusal": reply.refusal} | reply.message
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1,
        "model": call.model,
        "choices": [{"index": 0, "finish_reason": reply.finish_reason, "message": message}],
        "usage": {
            "prompt_tokens": tokens,
            "completion_tokens": written,
            "total_tokens": tokens + written,
            "prompt_tokens_details": {"cached_tokens": reply.cached_tokens},
        },
    }


def _responses_payload(call: Call, reply: Reply, tokens: int, written: int) -> dict[str, Any]:
    if reply.refusal is not None:
        part: dict[str, Any] = {"type": "refusal", "refusal": reply.refusal}
    else:
        part = {"type": "output_text", "text": reply.text or "", "annotations": []}
    incomplete = {"length": "max_output_tokens", "content_filter": "content_filter"}.get(reply.finish_reason)
    return {
        "id": "resp_1",
        "object": "response",
        "created_at": 1,
        "model": call.model,
        "status": "incomplete" if incomplete else "completed",
        "incomplete_details": {"reason": incomplete} if incomplete else None,
        "tools": [],
        "output": [
            {"type": "message", "id": "msg_1", "role": "assistant", "status": "completed", "content": [part]}
        ],
        "usage": {
            "input_tokens": tokens,
            "input_tokens_details": {"cached_tokens": reply.cached_tokens},
            "output_tokens": written,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": tokens + written,
        },
    }
