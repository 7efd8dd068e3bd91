"""A small real site: tests/pages on two ports, and a few answers that no file gives."""

import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

PAGES = Path(__file__).parent.parent / "pages"


@dataclass
class Site:
    """Serves tests/pages on two ports, so that there are two origins and, by host name, two sites."""

    port: int = 0
    other_port: int = 0
    posts: list[str] = field(default_factory=list)

    def url(self, page: str) -> str:
        return f"http://127.0.0.1:{self.port}/{page}"


NONE: Mapping[str, str] = {}
ANSWERS: dict[str, tuple[int, bytes, Mapping[str, str]]] = {
    "slow": (200, b"<title>Slow</title><h1>Slow page</h1>", NONE),
    "download": (200, b"a,b", {"Content-Disposition": 'attachment; filename="report.csv"'}),
    "loop": (302, b"", {"Location": "/loop"}),
    "echo": (200, b"ok", NONE),
    "sent": (200, b"<title>Sent</title><h1>Sent</h1><ul><li>Minutes of Monday</ul>", NONE),
    "sent-late": (
        200,
        (
            b"<h1>Sent</h1><ul></ul><script>setTimeout(() => document.querySelector('ul').innerHTML ="
            b"'<li>Minutes of Monday', 700)</script>"
        ),
        NONE,
    ),
    "sent-by-script": (
        200,
        (
            b"<h1>Sent</h1><p>Loading</p><script>fetch(location.search.slice(1)).then(answer => answer.text()).then("
            b"() => document.querySelector('p').innerHTML = 'No messages', () => 0)</script>"
        ),
        NONE,
    ),
    "sign-in": (200, b"<h1>Sign in</h1><form><input name=user><input type=password></form>", NONE),
    "members-only": (403, b"<h1>Members</h1><form><label>Password <input type=password></label></form>", NONE),
    "asks-first": (401, b"<h1>Members</h1><form><label>Password <input type=password></label></form>", NONE),
    "broken-form": (500, b"<h1>Members</h1><form><label>Password <input type=password></label></form>", NONE),
    "signed-out": (302, b"", {"Location": "/sign-in"}),
    "elsewhere": (302, b"", {"Location": "/sent"}),
    "signed-out-by-script": (200, b"<h1>Sent</h1><script>location.replace('/sign-in')</script>", NONE),
    "asks-again": (200, b"<h1>Sent</h1><dialog open>Confirm <input type=password></dialog>", NONE),
    "counting": (
        200,
        b"<h1>Sent</h1><a href=/sent onclick=\"fetch('/post',{method:'POST',keepalive:true})\">All messages</a>",
        NONE,
    ),
    "popping": (200, b"<h1>Sent</h1><a href=/sent target=_blank>All messages</a>", NONE),
}


def _handler(site: Site) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def answer(self, status: int, body: bytes, headers: Mapping[str, str] = NONE) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            for name, value in headers.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            name = parts.path.strip("/")
            if name == "slow":
                self.close_connection = True
            time.sleep(int(parse_qs(parts.query).get("ms", ["0"])[0]) / 1000)
            if name.startswith("status-"):
                self.answer(int(name.removeprefix("status-")), b"<h1>Failed</h1>")
            elif name in ANSWERS:
                self.answer(*ANSWERS[name])
            elif (PAGES / name).is_file():
                self.answer(200, (PAGES / name).read_bytes())
            else:
                self.answer(404, b"<h1>Not found</h1>")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            site.posts.append(self.path)
            if self.path.startswith("/submit"):
                self.answer(303, b"", {"Location": "/browser_second.html"})
            else:
                self.answer(201, b"")

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
            pass

    return Handler


@contextmanager
def serving() -> Iterator[Site]:
    site = Site()
    servers = [ThreadingHTTPServer(("127.0.0.1", 0), _handler(site)) for _ in range(2)]
    site.port, site.other_port = (server.server_port for server in servers)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
