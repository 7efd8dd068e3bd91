"""A small site of a test's own: what it answers is a function of what it is asked."""

import contextlib
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path


@dataclass(frozen=True)
class Asked:
    """One request."""

    method: str
    path: str
    """Without the query."""
    body: str
    cookie: str


@dataclass(frozen=True)
class Answer:
    """The page that it is answered with."""

    body: str | bytes = ""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    """With names in lower case; HTML unless there is a `content-type`."""


def led_to(path: str, **headers: str) -> Answer:
    """An answer that leads to another page of the site."""
    return Answer(status=303, headers={"location": path, **headers})


@contextmanager
def serving(answer: Callable[[Asked], Answer], certificate: Path | None = None) -> Iterator[str]:
    """Serve on a free port of this machine, each request on a thread of its own; yields the site's address.

    With a `certificate`, a file that has its key, too, under TLS. If `answer` raises `ConnectionAbortedError`, the
    connection ends.
    """

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("content-length", 0))).decode(errors="replace")
            path, cookie = self.path.partition("?")[0], self.headers.get("cookie", "")
            try:
                told = answer(Asked(self.command, path, body, cookie))
            except ConnectionAbortedError:
                self.close_connection = True
                return
            content = told.body.encode() if isinstance(told.body, str) else told.body
            self.send_response(told.status)
            for name, value in {"content-type": "text/html; charset=utf-8", **told.headers}.items():
                self.send_header(name, value)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # a browser that was closed meanwhile
                self.wfile.write(content)

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http{'s' if certificate else ''}://127.0.0.1:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()
