"""A run that the site signed out says so, and goes on once it is signed in; other failures are not taken for that."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from cache.connection import open_redis
from cache.overrides import RedisOverrides
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.resume import Wish, planned
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.run.scope import Mode
from replaywright.domain.step.overrides import OverrideRule
from replaywright.domain.task.tasks import parse_task
from replaywright.stack.keyring import signer_of
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

_FIELDS = "<label>User <input name=user></label><label>Password <input name=password type=password></label>"
_FORM = f"<form method=post action=/login>{_FIELDS}<button>Go on</button></form>"
_APP = """<!doctype html><title>App</title><h1>Orders</h1>
<button onclick="document.querySelector('p').textContent='Sent'">Send</button><p></p>"""
_ORDERS = """<!doctype html><title>App</title><h1>Orders</h1>
<form method=post action=/send><button>Send</button></form>"""
_OVERLAY = f"<dialog open style='position:fixed;inset:0;width:100%;height:100%'>{_FORM}</dialog>"
_SIGN_IN = f"<!doctype html><title>Welcome</title>{_FORM}"


@dataclass
class Shop:
    """The site while it is served."""

    url: str = ""
    how: str = ""
    """What has become of it: redirect, overlay, refused, gone; empty while all is as it was."""

    def answer(self, asked: Asked) -> Answer:
        """Its pages, which nobody has to sign in for as long as all is as it was."""
        match self.how, asked.path:
            case "redirect", "/orders":
                return led_to("/login")
            case "refused", "/orders":
                return Answer(_SIGN_IN, 401)
            case "overlay", "/orders":
                return Answer(_APP + _OVERLAY)
            case "gone", "/orders":
                return Answer("<!doctype html><title>App</title><h1>Orders</h1><p>Nothing to send</p>")
            case "gone", "/login":
                return Answer(_SIGN_IN.replace("<button>Go on</button>", ""))
            case _, "/login":
                return Answer(_SIGN_IN)
            case _:
                return Answer(_APP)


@dataclass
class Members:
    """A site that takes orders of those who are signed in, and ends a session after so many looks at its orders."""

    url: str = ""
    looks: int = 99
    """How often the orders are shown until the session ends, once."""
    session: int = 0
    sent: list[str] = field(default_factory=list)
    """Who has ordered."""

    def answer(self, asked: Asked) -> Answer:
        """What a member sees, and the page to sign in on for anybody else."""
        if (asked.method == "POST" and asked.path == "/login") or asked.path == "/remembered":
            self.session += 1
            return led_to("/orders", **{"set-cookie": f"session={self.session}"})
        if asked.path == "/login":
            return Answer(f"{_SIGN_IN}<a href=/remembered>Go on as Ada</a>")
        if asked.path == "/orders":
            self.looks -= 1
            self.session += self.looks == -1
        if not self.session or asked.cookie != f"session={self.session}":
            return led_to("/login")
        if asked.method == "POST":
            self.sent.append(asked.cookie)
            return led_to("/sent")
        if asked.path == "/sent":
            return Answer("<!doctype html><title>App</title><p>Sent</p>")
        return Answer(_ORDERS)


@contextmanager
def served() -> Iterator[Shop]:
    """The site on a free port of this machine."""
    site = Shop()
    with serving(site.answer) as site.url:
        yield site


@contextmanager
def members() -> Iterator[Members]:
    """The same for members only."""
    site = Members()
    with serving(site.answer) as site.url:
        yield site


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements, and what these are is recorded."""
    return bare_lab


SEND = {
    "action": "click",
    "instruction": "send",
    "target": {"role": "button", "name": "Send"},
    "effect": "idempotent",
    "expect": [{"text_contains": "Sent"}],
    "timeout_ms": 2000,
}
COMMIT = {**SEND, "effect": "commit", "late_ms": 1000}
USER = {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "ada", "timeout_ms": 2000}
PASSWORD = {**USER, "instruction": "the password", "target": {"label": "Password"}, "value": "secret"}
GO_ON = {
    "action": "click",
    "instruction": "go on",
    "target": {"role": "button", "name": "Go on"},
    "effect": "idempotent",
    "timeout_ms": 2000,
}
"""Pressed again in a new browser, as it says that this does no harm."""
SIGN_IN = (USER, PASSWORD, GO_ON)
ASKED = {"exists": {"css": "input[type=password]"}}
WHERE_ASKED: tuple[dict[str, Any], ...] = tuple({**step, "when": [ASKED]} for step in SIGN_IN)
"""The same, for a page that may ask to sign in."""
ORDERS = {"action": "goto", "url": "{{base_url}}/orders"}


async def after(lab: Lab, site: Shop, path: str, how: str, *steps: dict[str, Any]) -> Ending:
    """How a run ends that went well before this became of the site."""
    data = {"task": f"task-{how}-{path}", "url": f"{site.url}/{path}", "steps": list(steps)}
    task = parse_task({**data, "verify": [{"url_contains": site.url}]}, "test")
    site.how = ""
    before = await lab.run(Order(task, {}, new_run_id(task, {})))
    assert before.status == "done", before.result.model_dump_json(exclude_defaults=True)
    site.how = how
    return await lab.run(Order(task, {}, new_run_id(task, {}), mode=Mode.AUTO))


async def after_one_that_went_well(lab: Lab, site: Members, name: str, *steps: dict[str, Any]) -> Order:
    """The order of a run whose session ends at its second look at the orders; one before it went well."""
    data = {"task": f"order-{name}", "parameters": {"base_url": {}}, "url": "{{base_url}}/login", "steps": list(steps)}
    task = parse_task({**data, "verify": [{"text_contains": "Sent"}]}, "test")
    values = {"base_url": site.url}
    before = await lab.run(Order(task, values, new_run_id(task, values)))
    assert before.status == "done", before.result.model_dump_json(exclude_defaults=True)
    site.sent.clear()
    site.looks = 1
    return Order(task, values, new_run_id(task, values), mode=Mode.AUTO)


@pytest.mark.long
@pytest.mark.parametrize(
    ("how", "page", "step"),
    [
        ("redirect", "login", 2),
        ("overlay", "orders", 2),
        ("refused", "orders", 1),
    ],
)
async def test_a_run_that_meets_a_page_to_sign_in_on_says_that_it_was_signed_out(
    lab: Lab, how: str, page: str, step: int
) -> None:
    with served() as site:
        ending = await after(lab, site, "orders", how, SEND)

        assert (ending.status, ending.result.reason) == ("failed", "signed_out"), ending.result.message
        assert ending.result.failed_step == step - 1
        assert f"the site asks to sign in at {site.url}/{page}, " in ending.result.message


@pytest.mark.long
@pytest.mark.parametrize(("path", "steps"), [("orders", [SEND]), ("login", [USER, GO_ON])])
async def test_a_run_whose_element_is_gone_or_whose_own_page_asks_for_a_password_was_not_signed_out(
    lab: Lab, path: str, steps: list[dict[str, Any]]
) -> None:
    with served() as site:
        ending = await after(lab, site, path, "gone", *steps)

        assert ending.status == "failed"
        assert ending.result.reason != "signed_out"


async def test_a_run_that_is_signed_out_before_its_commit_sends_nothing_and_when_resumed_signs_in_and_sends_once(
    lab: Lab,
) -> None:
    with members() as site:
        order = await after_one_that_went_well(lab, site, "resumed", *SIGN_IN, ORDERS, COMMIT)
        ending = await lab.run(order)
        sent_until_then = list(site.sent)
        found = await planned(lab.place, Wish(order.run_id))
        await start(lab.place, found.order)
        resumed = await lab.follow(found.order)

        assert (ending.status, ending.result.reason) == ("failed", "signed_out"), ending.result.message
        assert sent_until_then == []
        assert (ending.result.commits[-1].title, ending.result.commits[-1].state) == ("click send", "not_done")
        assert resumed.status == "done", resumed.result.model_dump_json(exclude_defaults=True)
        assert len(site.sent) == 1


@pytest.mark.long
async def test_a_run_that_is_signed_out_before_its_commit_signs_in_with_steps_for_that_and_sends_once(lab: Lab) -> None:
    with members() as site:
        steps = (*WHERE_ASKED, ORDERS, *WHERE_ASKED, COMMIT)
        ending = await lab.run(await after_one_that_went_well(lab, site, "steps", *steps))

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert len(site.sent) == 1


@pytest.mark.long
async def test_a_run_that_is_signed_out_before_its_commit_signs_in_by_a_rule_for_that_and_sends_once(lab: Lab) -> None:
    with members() as site:
        here = lab.apart()  # workers know of a rule within a minute, but of the first ones of a tenant at once
        await add_rule(
            here,
            {
                "name": "sign-in-again",
                "site": site.url.removeprefix("http://"),
                "tried": "when_stuck",
                "when": ASKED,
                "do": [
                    {
                        "action": "click",
                        "instruction": "go on as Ada",
                        "target": {"role": "link", "name": "Go on as Ada"},
                    }
                ],
            },
        )
        ending = await here.run(await after_one_that_went_well(here, site, "rule", *SIGN_IN, ORDERS, COMMIT))

        assert ending.status == "done", ending.result.model_dump_json(exclude_defaults=True)
        assert ending.result.totals.overrides == 1
        assert len(site.sent) == 1


async def add_rule(lab: Lab, rule: dict[str, Any]) -> None:
    """What `replaywright overrides add` does, for this tenant."""
    settings = lab.place.settings
    client = open_redis(settings.redis_url or "")
    try:
        store = RedisOverrides(client, signer=signer_of(settings))
        await store.put(settings.tenant, [OverrideRule.model_validate(rule)])
    finally:
        await client.aclose()
