"""A bank that asks for a password, then for a code, and then does what it is told: once for every request."""

import contextlib
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.cookies import SimpleCookie
from typing import Any
from urllib.parse import parse_qs

from replaywright.domain.task.tasks import Task, parse_task
from tests.e2e.plain_site import Answer, Asked, led_to, serving

_PAGE = "<title>Bank</title><h1>{title}</h1><form method=post action={action}>{fields}<button>{button}</button></form>"
_FIELD = "<label>{name} <input name={name} autocomplete=off></label>"
LOGIN = _PAGE.format(title="Sign in", action="/login", fields=_FIELD.format(name="User"), button="Sign in")
CODE = _PAGE.format(title="Your code", action="/code", fields=_FIELD.format(name="Code"), button="Check code")
ACCOUNT = _PAGE.format(title="Account", action="/pay", fields=_FIELD.format(name="Amount"), button="Pay now")


@dataclass
class Bank:
    """Keeps who is signed in by cookie, and every payment."""

    url: str = ""
    """Address, while it is served."""
    known: dict[str, str] = field(default_factory=dict)
    """By cookie: `password` or `code`, whichever was given last."""
    codes: list[str] = field(default_factory=list)
    """What was given as a code, right or wrong."""
    payments: list[str] = field(default_factory=list)
    right: Callable[[str], bool] = lambda code: code == "493027"

    @contextlib.contextmanager
    def served(self) -> Iterator[None]:
        """Answer until the block ends."""
        with serving(self._answer) as self.url:
            yield

    def _answer(self, asked: Asked) -> Answer:
        found = SimpleCookie(asked.cookie).get("session")
        cookie = "" if found is None else found.value
        return self._told(asked, cookie) if asked.method == "POST" else self._shown(asked.path, cookie)

    def _shown(self, path: str, cookie: str) -> Answer:
        stage = self.known.get(cookie, "")
        pages = {"/paid": f"<title>Bank</title><h1>Paid {', '.join(self.payments)}</h1>", "/code": CODE}
        return Answer(pages.get(path, ACCOUNT) if stage == "code" else CODE if stage == "password" else LOGIN)

    def _told(self, asked: Asked, cookie: str) -> Answer:
        given = parse_qs(asked.body)
        if asked.path == "/login":
            cookie = secrets.token_hex(8)
            self.known[cookie] = "password"
            return led_to("/code", **{"set-cookie": f"session={cookie}; Max-Age=3600; Path=/"})
        if asked.path == "/code" and self.known.get(cookie) == "password":
            code = given.get("Code", [""])[0]
            self.codes.append(code)
            if self.right(code):
                self.known[cookie] = "code"
            return led_to("/account" if self.right(code) else "/code")
        if asked.path == "/pay" and self.known.get(cookie) == "code":
            self.payments.append(given.get("Amount", [""])[0])
            return led_to("/paid")
        return Answer("<title>Bank</title><h1>No</h1>", 403)

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
