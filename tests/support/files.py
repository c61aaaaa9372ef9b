"""A plain HTTP server on loopback for downloads."""

import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Response:
    """What the server gives for a request."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class FileServer:
    """Answers requests by their path on 127.0.0.1 from a thread of its own."""

    def __init__(self, respond: Callable[[str], Response]) -> None:
        """Start serving what `respond` gives for a path."""
        self.requests: list[str] = []
        """Method and path of each request."""

        requests = self.requests

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                requests.append(f"{self.command} {self.path}")
                response = respond(self.path)
                self.send_response(response.status)
                headers = {"Content-Length": str(len(response.body))} | response.headers
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(response.body)

            do_HEAD = do_GET  # noqa: N815  # the name that http.server looks for

            def log_message(self, format: str, *args: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, request: object, client_address: object) -> None:
                pass  # a client that hangs up early is none of the server's business

        self._server = Server(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)

    def __enter__(self) -> "FileServer":
        self._thread.start()
        return self

    def __exit__(self, *exc: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}"
