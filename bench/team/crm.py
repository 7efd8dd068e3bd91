"""A site of the measurements: people sign in with a password, leave notes, and are forgotten when it is told to."""

import random
import re
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs

from tests.e2e.plain_site import Answer, Asked, led_to, serving

_LOGIN = """<!doctype html><title>Sign in</title><form method=post action=/login>
<label>User <input name=user></label><label>Password <input name=word type=password></label><button>Sign in</button>
</form>"""
_CODE = """<!doctype html><title>Code</title><form method=post action=/code>
<label>Code <input name=code></label><button>Go on</button></form>"""
_ACCOUNT = "<!doctype html><title>Account</title><h1>Signed in as {user}</h1><a href=/orders>Orders</a>"
_ORDERS = """<!doctype html><title>Orders</title><h1>Orders of {user}</h1><form method=post action=/orders>
<label>Note <input name=note></label><button>Save note</button></form><ul>{notes}</ul>"""
SIGN_IN: dict[str, Any] = {
    "task": "crm-sign-in",
    "parameters": {"site": {}, "user": {}},
    "url": "{{site}}/login",
    "steps": [
        {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "{{user}}"},
        {"action": "fill", "instruction": "the password", "target": {"label": "Password"}, "value": "open sesame"},
        {
            "action": "click",
            "instruction": "sign in",
            "target": {"role": "button", "name": "Sign in"},
            "effect": "idempotent",
        },
    ],
    "verify": [{"text_contains": "Signed in as {{user}}"}],
}


@dataclass
class Crm:
    """A site that keeps who is signed in, and forgets it when it is told to."""

    url: str = ""
    live: dict[str, str] = field(default_factory=dict)
    """Users by cookie."""
    cookies: list[str] = field(default_factory=list)
    """All that were ever given."""
    notes: list[str] = field(default_factory=list)
    sign_ins: int = 0
    takes: bool = True
    expires_at: str = ""
    """Path, or method and path, before which the session is forgotten, once."""
    expires_often: float = 0.0
    """Share of the requests of people who are signed in before which they are forgotten."""
    user: str = ""
    """Who signs in with a second factor."""
    tells_code: Callable[[str], None] | None = None
    """Sends a second factor to the user; None: a password is enough."""
    code: str = ""
    """The second factor that was sent last."""
    expiries: int = 0
    """Times that somebody who was signed in was forgotten."""
    chance: random.Random = field(default_factory=lambda: random.Random(1))

    def expire(self) -> None:
        """Forget everybody."""
        self.expiries += bool(self.live)
        self.live.clear()

    def answer(self, asked: Asked) -> Answer:
        """What it answers."""
        if self.expires_at in (asked.path, f"{asked.method} {asked.path}"):
            self.expires_at = ""
            self.expire()
        given = {name: values[0] for name, values in parse_qs(asked.body).items()}
        if asked.method == "POST" and asked.path in ("/login", "/code"):
            return self._entered(asked.path, given)
        if asked.path == "/code":
            return Answer(_CODE)
        if self.live and self.chance.random() < self.expires_often:
            self.expire()
        sent = re.search(r"sid=(\w+)", asked.cookie)
        user = self.live.get(sent[1]) if sent else None
        if user is None:
            return Answer(_LOGIN) if asked.path == "/login" else led_to("/login")
        if asked.method == "POST":
            self.notes.append(given["note"])
            return led_to("/orders")
        if asked.path == "/orders":
            shown = "".join(f"<li>{note}</li>" for note in self.notes)
            return Answer(_ORDERS.format(user=user, notes=shown))
        return Answer(_ACCOUNT.format(user=user))

    def _entered(self, path: str, given: dict[str, str]) -> Answer:
        """Answer a password, or a second factor."""
        if path == "/code":
            if not self.code or given.get("code") != self.code:
                return Answer(_CODE)
            self.code = ""
            return self._signed_in(self.user)
        if not self.takes or given.get("word") != "open sesame":
            return Answer(_LOGIN)
        if self.tells_code is None:
            return self._signed_in(given["user"])
        self.user, self.code = given["user"], f"{secrets.randbelow(900_000) + 100_000}"
        self.tells_code(self.code)
        return Answer(_CODE)

    def _signed_in(self, user: str) -> Answer:
        self.sign_ins += 1
        cookie = secrets.token_hex(12)
        self.cookies.append(cookie)
        self.live[cookie] = user
        return led_to("/account", **{"set-cookie": f"sid={cookie}; Path=/; HttpOnly; Max-Age=86400"})


@contextmanager
def crm_served() -> Iterator[Crm]:
    """Serve a site of its own."""
    crm = Crm()
    with serving(crm.answer) as crm.url:
        yield crm
