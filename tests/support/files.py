"""A plain HTTP server on loopback."""

import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


@dataclass(frozen=True)
class Response:
    """What the server gives for a request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class _Handler(BaseHTTPRequestHandler):
    server: "FileServer"

    def do_GET(self) -> None:
        self.server.requests.append(f"{self.command} {self.path}")
        response = self.server.respond(self.path, self.rfile.read(int(self.headers["Content-Length"] or 0)))
        if response is None:  # which resets the connection
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            return
        self.send_response(response.status)
        for name, value in ({"Content-Length": str(len(response.body))} | response.headers).items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(response.body)

    do_HEAD = do_POST = do_GET  # noqa: N815  # the names that http.server looks for

    def log_message(self, format: str, *args: object) -> None:
        pass


class FileServer(ThreadingHTTPServer):
    """Answers requests on 127.0.0.1 from threads of its own; a connection has one request."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, respond: Callable[[str], Response], port: int = 0) -> None:
        """Have a server that gives what `respond` gives for a path."""
        super().__init__(("127.0.0.1", port), _Handler)
        self.requests: list[str] = []
        """Method and path of each request."""
        self._respond_to_path = respond

    def respond(self, path: str, body: bytes) -> Response | None:
        return self._respond_to_path(path)

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *exc: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: object, client_address: object) -> None:
        pass  # a client that hangs up early is none of the server's business

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"
