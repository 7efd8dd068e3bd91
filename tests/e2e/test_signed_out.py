"""A run that the site signed out says so, whatever the page to sign in on looks like; other failures are not."""

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from demo.stage import Stage
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.runs import Mode
from replaywright.domain.tasks import parse_task
from replaywright.settings import load_settings
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow

_FORM = "<form><label>User <input></label><label>Password <input type=password></label><button>Go on</button></form>"
_APP = """<title>App</title><h1>Orders</h1>
<button onclick="document.querySelector('p').textContent='Sent'">Send</button><p></p>"""
_OVERLAY = f"<dialog open style='position:fixed;inset:0;width:100%;height:100%'>{_FORM}</dialog>"
_SIGN_IN = f"<title>Welcome</title>{_FORM}"


@dataclass
class Shop:
    """The site while it is served."""

    url: str = ""
    how: str = ""
    """What has become of it: redirect, overlay, refused, gone; empty while all is as it was."""


@contextmanager
def served() -> Iterator[Shop]:
    """The site on a free port of this machine."""
    site = Shop()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            match site.how, self.path.partition("?")[0]:
                case "redirect", "/orders":
                    self.send_response(302)
                    self.send_header("location", "/login?next=/orders")
                    self.send_header("content-length", "0")
                    self.end_headers()
                case "refused", "/orders":
                    self.answer(_SIGN_IN, 401)
                case "overlay", "/orders":
                    self.answer(_APP + _OVERLAY)
                case "gone", "/orders":
                    self.answer("<title>App</title><h1>Orders</h1><p>Nothing to send</p>")
                case "gone", "/login":
                    self.answer(_SIGN_IN.replace("<button>Go on</button>", ""))
                case _, "/login":
                    self.answer(_SIGN_IN)
                case _:
                    self.answer(_APP)

        def answer(self, body: str, status: int = 200) -> None:
            content = f"<!doctype html>{body}".encode()
            self.send_response(status)
            self.send_header("content-type", "text/html; charset=utf-8")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    site.url = f"http://127.0.0.1:{server.server_address[1]}"
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield site
    finally:
        server.shutdown()
        server.server_close()


@pytest.fixture(scope="module")
async def lab() -> AsyncIterator[Lab]:
    """A stage without a model: the tasks declare their elements, and what these are is recorded."""
    with pytest.MonkeyPatch.context() as environment:
        environment.delenv("REPLAYWRIGHT_MODEL", raising=False)
        async with Stage(load_settings(), tell=lambda _text: None) as stage:
            yield Lab(stage)


SEND = {
    "action": "click",
    "instruction": "send",
    "target": {"role": "button", "name": "Send"},
    "effect": "idempotent",
    "expect": [{"text_contains": "Sent"}],
    "timeout_ms": 4000,
}
USER = {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "ada", "timeout_ms": 4000}
GO_ON = {"action": "click", "instruction": "go on", "target": {"role": "button", "name": "Go on"}, "timeout_ms": 4000}


async def after(lab: Lab, site: Shop, path: str, how: str, *steps: dict[str, Any]) -> Ending:
    """How a run ends that went well before this became of the site."""
    data = {"task": f"task-{how}-{path}", "url": f"{site.url}/{path}", "steps": list(steps)}
    task = parse_task({**data, "verify": [{"url_contains": site.url}]}, "test")
    site.how = ""
    before = await lab.run(Order(task, {}, new_run_id(task, {})))
    assert before.status == "done", before.result.model_dump_json(exclude_defaults=True)
    site.how = how
    return await lab.run(Order(task, {}, new_run_id(task, {}), mode=Mode.AUTO))


@pytest.mark.parametrize(
    ("how", "page", "step"), [("redirect", "login", 2), ("overlay", "orders", 2), ("refused", "orders", 1)]
)
async def test_a_run_that_meets_a_page_to_sign_in_on_says_that_it_was_signed_out(
    lab: Lab, how: str, page: str, step: int
) -> None:
    with served() as site:
        ending = await after(lab, site, "orders", how, SEND)

        assert (ending.status, ending.result.reason) == ("failed", "signed_out"), ending.result.message
        assert ending.result.failed_step == step - 1
        assert f"the site asks to sign in at {site.url}/{page}, " in ending.result.message


@pytest.mark.parametrize(("path", "steps"), [("orders", [SEND]), ("login", [USER, GO_ON])])
async def test_a_run_whose_element_is_gone_or_whose_own_page_asks_for_a_password_was_not_signed_out(
    lab: Lab, path: str, steps: list[dict[str, Any]]
) -> None:
    with served() as site:
        ending = await after(lab, site, path, "gone", *steps)

        assert ending.status == "failed"
        assert ending.result.reason != "signed_out"
