"""An OpenAI-compatible server on loopback whose replies and faults are scripted."""

import asyncio
import json
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Call:
    """A request as the script sees it."""

    path: str
    model: str
    messages: tuple[dict[str, Any], ...]
    attempt: int
    """How often the same model was asked the same, this time included."""

    body: dict[str, Any]
    headers: dict[str, str] = field(default_factory=dict)
    """By their names in lower case."""

    @property
    def prompt(self) -> str:
        return str(self.messages[-1]["content"])


@dataclass(frozen=True)
class Reply:
    """What the server does with a request."""

    text: str | None = ""
    finish_reason: str = "stop"
    refusal: str | None = None
    reasoning: str | None = None
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


class LoopbackServer:
    """Serves chat completions and Responses on 127.0.0.1 from a thread of its own.

    Servers of one process take the same port one after the other: Inspect keeps a
    model's client, and with it the address, for the life of the process.
    """

    _process_port = 0

    def __init__(self, script: Script) -> None:
        self.script = script
        self.calls: list[Call] = []
        self.times: list[float] = []
        self._seen: Counter[tuple[str, str]] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self.port = 0

    def __enter__(self) -> "LoopbackServer":
        self._thread.start()
        if not self._ready.wait(10):
            raise RuntimeError("The server did not start; is another one open in this process?")
        return self

    def __exit__(self, *exc: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def calls_of(self, model: str) -> list[Call]:
        return [call for call in self.calls if call.model == model]

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", type(self)._process_port, limit=1 << 26)
        )
        self.port = type(self)._process_port = server.sockets[0].getsockname()[1]
        self._ready.set()
        self._loop.run_forever()
        server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.05))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._request(reader, writer):
                pass
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        path = head.split(" ", 2)[1]
        length = next(
            (int(line.split(":")[1]) for line in head.split("\r\n") if line.lower().startswith("content-length:")),
            0,
        )  # fmt: skip
        body = json.loads(await reader.readexactly(length) or b"{}")
        if isinstance(body.get("input"), str):  # whether an account has reasoning summaries
            await self._send(writer, 400, {}, {"error": {"message": "not verified"}})
            return True
        lines = (line.partition(":") for line in head.split("\r\n")[1:])
        headers = {name.lower(): value.strip() for name, _, value in lines}
        call = replace(self._call(path, body), headers=headers)
        self.calls.append(call)
        reply = self.script(call)
        if reply.delay:
            await asyncio.sleep(reply.delay)
        if reply.reset:
            writer.transport.abort()
            return False
        payload = _payload(call, reply) | reply.changes
        await self._send(writer, reply.status, reply.headers, payload)
        return True

    @staticmethod
    async def _send(writer: asyncio.StreamWriter, status: int, fields: dict[str, str], content: Any) -> None:
        payload = json.dumps(content).encode()
        headers = "".join(f"{k}: {v}\r\n" for k, v in fields.items())
        writer.write(
            f"HTTP/1.1 {status} Scripted\r\nContent-Type: application/json\r\n"
            f"{headers}Content-Length: {len(payload)}\r\n\r\n".encode()
            + payload
        )
        await writer.drain()

    def _call(self, path: str, body: dict[str, Any]) -> Call:
        if path.endswith("/responses"):
            messages = tuple(_from_responses(item) for item in body["input"])
        else:
            messages = tuple(body.get("messages", ()))
        key = (str(body.get("model")), json.dumps(messages))
        self._seen[key] += 1
        self.times.append(time.monotonic())
        return Call(path, key[0], messages, self._seen[key], body)


def _from_responses(item: dict[str, Any]) -> dict[str, Any]:
    content = item["content"]
    if isinstance(content, list):
        content = "".join(part["text"] for part in content)
    return {"role": item["role"], "content": content}


def _payload(call: Call, reply: Reply) -> dict[str, Any]:
    if reply.status != 200:
        return {"error": {"message": reply.error, "type": "scripted", "code": reply.code}}
    tokens = sum(len(str(m["content"])) for m in call.messages) // 4
    written = len(reply.text or "") // 4
    if call.path.endswith("/responses"):
        return _responses_payload(call, reply, tokens, written)
    message: dict[str, Any] = {
        "role": "assistant",
        "content": reply.text,
        "refusal": reply.refusal,
    }
    if reply.reasoning:
        message["reasoning_content"] = reply.reasoning
    message |= reply.message
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
        "error": None,
        "instructions": None,
        "metadata": {},
        "parallel_tool_calls": True,
        "temperature": 1.0,
        "tool_choice": "auto",
        "tools": [],
        "top_p": 1.0,
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
    }  # fmt: skip
