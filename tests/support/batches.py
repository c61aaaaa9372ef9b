"""OpenAI's batch API on loopback, over the same scripts as the plain server."""

import json
import re
import threading
import time
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = Callable[[str, str], str]
"""A model's name and the last message, to its reply."""


class BatchServer:
    """Takes files of requests, and answers each a while after it came in."""

    def __init__(self, answer: Answer, seconds: float) -> None:
        self.answer = answer
        self.seconds = seconds
        self.batches: list[list[dict[str, Any]]] = []
        """The requests of each batch."""

        self.direct: list[dict[str, Any]] = []
        """Requests that came outside of batches."""

        self._ready: dict[str, float] = {}
        self._files: dict[str, bytes] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                self._reply(outer._post(self.path, body))

            def do_GET(self) -> None:
                self._reply(outer._get(self.path))

            def _reply(self, content: bytes) -> None:
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True

    def __enter__(self) -> "BatchServer":
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def _post(self, path: str, body: bytes) -> bytes:
        if path.endswith("/files"):
            name = f"file-{len(self._files)}"
            self._files[name] = body
            return _json(id=name, object="file", bytes=0, created_at=1, filename="f",
                         purpose="batch", status="processed")  # fmt: skip
        if path.endswith("/batches"):
            return self._begin(json.loads(body)["input_file_id"])
        request = json.loads(body)
        self.direct.append(request)
        return json.dumps(self._completion(request)).encode()

    def _begin(self, file: str) -> bytes:
        lines = re.findall(rb'^\{"custom_id".*$', self._files[file], re.MULTILINE)
        requests = [json.loads(line) for line in lines]
        self.batches.append([request["body"] for request in requests])
        name = f"batch-{len(self.batches)}"
        results = [
            {
                "custom_id": request["custom_id"],
                "response": {"status_code": 200, "body": self._completion(request["body"])},
                "error": None,
            }
            for request in requests
        ]
        self._files[f"out-{name}"] = "\n".join(map(json.dumps, results)).encode()
        self._ready[name] = time.monotonic() + self.seconds
        return self._state(name)

    def _get(self, path: str) -> bytes:
        if "/files/" in path:
            return self._files[path.split("/")[-2]]
        return self._state(path.split("/")[-1])

    def _state(self, name: str) -> bytes:
        done = time.monotonic() >= self._ready[name]
        count = len(self.batches[int(name.split("-")[1]) - 1])
        return _json(
            id=name, object="batch", endpoint="/v1/chat/completions", input_file_id="file",
            completion_window="24h", created_at=1,
            status="completed" if done else "in_progress",
            output_file_id=f"out-{name}" if done else None,
            request_counts={"total": count, "completed": count if done else 0, "failed": 0},
        )  # fmt: skip

    def _completion(self, request: dict[str, Any]) -> dict[str, Any]:
        text = self.answer(request["model"], str(request["messages"][-1]["content"]))
        message = {"role": "assistant", "content": text}
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 1,
            "model": request["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": message}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18},
        }


def _json(**fields: Any) -> bytes:
    return json.dumps(fields).encode()
