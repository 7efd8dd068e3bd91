"""The site of the measurements: one page with three fields and a button, as a server and as a script."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from replaywright.domain.page.targets import Target
from replaywright.domain.task.steps import BODY_LIMIT, ITEMS_LIMIT
from replaywright.domain.task.tasks import Task, parse_task
from replaywright.testing.browser import FakeElement, FakePage, FakeSite

SCRIPTED_URL = "http://127.0.0.1/form"
FIELDS = ("Name", "City", "Note")
_PAGE = (
    "<!doctype html><title>Form</title><h1>Form</h1>"
    + "".join(f"<p><label>{name} <input name={name.lower()}></label>" for name in FIELDS)
    + "<p><button type=button onclick=\"this.nextElementSibling.textContent = 'Kept ' + Date.now()\">Keep</button>"
    "<output></output>"
).encode()


class _Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(_PAGE)))
        self.end_headers()
        self.wfile.write(_PAGE)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Say nothing."""


@contextmanager
def served() -> Iterator[str]:
    """The page on a free port; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/form"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def scripted() -> FakeSite:
    """The same page for browsers that are played."""
    fields = {
        name: FakeElement(Target(role="textbox", name=name, xpath=f"/form/{name}", tag="input")) for name in FIELDS
    }
    return FakeSite(pages={SCRIPTED_URL: FakePage(elements=fields, title="Form")})


def form_task(url: str, steps: int) -> Task:
    """A task of so many steps: open the page, then fill its fields again and again, every value checked."""
    fills = [_fill(at, f"value {at}") for at in range(steps - 1)]
    return _task(f"form-{steps}", url, fills)


def list_task(url: str, steps: int) -> Task:
    """The same as a list: a task too long to be written out, whose items have as many steps as one may have."""
    fills = [_fill(at, f"{{{{line}}}} {at}") for at in range(BODY_LIMIT)]
    values = [f"line {at}" for at in range(steps // BODY_LIMIT)]
    lines = {"action": "for_each", "item": "line", "values": values, "limit": ITEMS_LIMIT, "steps": fills}
    return _task(f"list-{steps}", url, [lines])


def _fill(at: int, value: str) -> dict[str, Any]:
    name = FIELDS[at % len(FIELDS)]
    of = {"role": "textbox", "name": name}
    expect = [{"value_equals": value, "of": of}]
    return {"action": "fill", "instruction": f"the {name} field", "target": of, "value": value, "expect": expect}


def _task(name: str, url: str, steps: list[dict[str, Any]]) -> Task:
    goto = {"action": "goto", "url": url, "expect": [{"url_contains": "/form"}]}
    return parse_task({"task": name, "steps": [goto, *steps], "verify": [{"url_contains": "/form"}]}, "bench")
