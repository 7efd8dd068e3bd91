"""A site for what happens around a page: files to download, uploads that it counts, hosts that are other sites."""

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGES = Path(__file__).parent.parent / "pages"
PIECE = b"0123456789abcdef" * 4096
"""64 KiB."""


@dataclass
class ChannelSite:
    """Serves tests/pages and makes files; any host name that ends in `localhost` is another site of it."""

    port: int = 0
    posts: list[str] = field(default_factory=list)
    """Paths of the POST requests that came."""
    bodies: list[bytes] = field(default_factory=list)
    release: threading.Event = field(default_factory=threading.Event)
    """Files asked for with `hold` end when this is set."""

    def url(self, page: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}/{page}"


def _handler(site: ChannelSite) -> type[BaseHTTPRequestHandler]:  # noqa: C901 - one handler, several answers
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
            name = parts.path.strip("/")
            if name == "file":
                self.file(asked)
            elif (PAGES / name).is_file():
                text = (PAGES / name).read_text("utf-8").replace("PORT", str(site.port))
                self.answer(200, text.encode())
            else:
                self.answer(404, b"<title>None</title><h1>Not found</h1>")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site.posts.append(self.path)
            site.bodies.append(body)
            if self.path.startswith("/file"):
                self.do_GET()
            else:
                self.answer(200, b"<title>Sent</title><h1>Sent</h1>")

        def file(self, asked: Mapping[str, str]) -> None:
            """`name` as it stands in the header, `size` in bytes or `pieces`, `hold`, `break`."""
            body = asked.get("text", "a,b").encode()
            size = len(PIECE) * int(asked["pieces"]) if "pieces" in asked else len(body)
            self.send_response(200)
            self.send_header("Content-Type", "application/octet-stream")
            self.send_header("Content-Disposition", asked.get("header") or f'attachment; filename="{asked["name"]}"')
            if "unknown" in asked:
                self.send_header("Connection", "close")
                self.close_connection = True
            else:
                self.send_header("Content-Length", str(size))
            self.end_headers()
            try:
                self.pieces(asked, body)
            except OSError:  # broken off by the browser
                self.close_connection = True

        def pieces(self, asked: Mapping[str, str], body: bytes) -> None:
            if "pieces" not in asked:
                self.wfile.write(body)
            for number in range(int(asked.get("pieces", 0))):
                if "hold" in asked and number == 1:
                    site.release.wait(30)
                if "break" in asked and number == 1:
                    self.wfile.flush()
                    self.close_connection = True
                    return
                self.wfile.write(PIECE)

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler


@contextmanager
def serving() -> Iterator[ChannelSite]:
    site = ChannelSite()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(site))
    server.daemon_threads = True
    site.port = server.server_port
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        site.release.set()
        server.shutdown()
        server.server_close()


def posted_files(body: bytes) -> list[tuple[str, bytes]]:
    """Names and contents of the files in a multipart body."""
    boundary = body.partition(b"\r\n")[0]
    found = []
    for part in body.split(boundary)[1:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        if b'filename="' in head:
            found.append((head.partition(b'filename="')[2].partition(b'"')[0].decode(), content.removesuffix(b"\r\n")))
    return found
