"""A bank that asks for a password, then for a code, and then does what it is told: once for every request."""

import contextlib
import secrets
import threading
from collections.abc import Callable, Iterator
from http.cookies import SimpleCookie
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from replaywright.domain.task.tasks import Task, parse_task

_PAGE = "<title>Bank</title><h1>{title}</h1><form method=post action={action}>{fields}<button>{button}</button></form>"
_FIELD = "<label>{name} <input name={name} autocomplete=off></label>"
LOGIN = _PAGE.format(title="Sign in", action="/login", fields=_FIELD.format(name="User"), button="Sign in")
CODE = _PAGE.format(title="Your code", action="/code", fields=_FIELD.format(name="Code"), button="Check code")
ACCOUNT = _PAGE.format(title="Account", action="/pay", fields=_FIELD.format(name="Amount"), button="Pay now")


class Bank(ThreadingHTTPServer):
    """Keeps who is signed in by cookie, and every payment."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.known: dict[str, str] = {}
        """By cookie: `password` or `code`, whichever was given last."""
        self.codes: list[str] = []
        """What was given as a code, right or wrong."""
        self.payments: list[str] = []
        self.right: Callable[[str], bool] = lambda code: code == "493027"

    @property
    def url(self) -> str:
        """Where it is."""
        return f"http://127.0.0.1:{self.server_port}"

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Answer until the block ends."""
        with self:
            thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.05})
            thread.start()
            try:
                yield
            finally:
                self.shutdown()
                thread.join()

    def task(self, code: dict[str, Any]) -> Task:
        """Sign in, pay 12.50; `code` is the step that enters the code."""
        steps = [
            {"action": "goto", "url": f"{self.url}/"},
            {**_field("fill", "User"), "value": "ada"},
            {**_button("Sign in"), "effect": "idempotent", "expect": [{"text_contains": "Your code"}]},
            {**_field("fill", "Code"), **code},
            {**_button("Check code"), "effect": "idempotent", "expect": [{"text_contains": "Account"}]},
            {**_field("fill", "Amount"), "value": "12.50"},
            {"action": "approve", "instruction": "is the amount right?"},
            {**_button("Pay now"), "effect": "irreversible", "expect": [{"text_contains": "Paid 12.50"}]},
        ]
        data = {"task": "pay", "steps": steps, "secrets": ["LOGIN"], "verify": [{"text_contains": "Paid 12.50"}]}
        return parse_task(data, "test")


def _field(action: str, name: str) -> dict[str, Any]:
    return {"action": action, "instruction": f"the {name} field", "target": {"role": "textbox", "name": name}}


def _button(name: str) -> dict[str, Any]:
    target = {"role": "button", "name": name}
    return {"action": "click", "instruction": f"the {name} button", "target": target, "timeout_ms": 5000}


class _Handler(BaseHTTPRequestHandler):
    server: Bank

    def do_GET(self) -> None:
        stage = self.server.known.get(self._cookie(), "")
        pages = {"/paid": f"<title>Bank</title><h1>Paid {', '.join(self.server.payments)}</h1>", "/code": CODE}
        wanted = pages.get(self.path, ACCOUNT) if stage == "code" else CODE if stage == "password" else LOGIN
        self._answer(200, wanted)

    def do_POST(self) -> None:
        given = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
        cookie, bank = self._cookie(), self.server
        if self.path == "/login":
            cookie = secrets.token_hex(8)
            bank.known[cookie] = "password"
            self._answer(303, "", Location="/code", **{"Set-Cookie": f"session={cookie}; Max-Age=3600; Path=/"})
        elif self.path == "/code" and bank.known.get(cookie) == "password":
            code = given.get("Code", [""])[0]
            bank.codes.append(code)
            if bank.right(code):
                bank.known[cookie] = "code"
            self._answer(303, "", Location="/account" if bank.right(code) else "/code")
        elif self.path == "/pay" and bank.known.get(cookie) == "code":
            bank.payments.append(given.get("Amount", [""])[0])
            self._answer(303, "", Location="/paid")
        else:
            self._answer(403, "<title>Bank</title><h1>No</h1>")

    def _cookie(self) -> str:
        found = SimpleCookie(self.headers.get("Cookie", "")).get("session")
        return "" if found is None else found.value

    def _answer(self, status: int, body: str, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body.encode())))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *_: object) -> None:
        """Nothing is told."""
