"""Tasks that sign in on the same page, in the same words, as other users: none inherits where another one arrived."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qs

import pytest

from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import bind_parameters, parse_task
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

_LOGIN = """<!doctype html><title>Sign in</title><form method=post action=/login>
<label>User <input name=user></label><label>One-time code <input name=code></label><button>Go on</button></form>"""
_PAGES = {
    "/desk": "<!doctype html><title>Desk</title><h1>Claims desk</h1><a href=/claims>Claims</a>",
    "/claims": "<!doctype html><title>Claims</title><h1>Claims desk</h1><p>3 open claims</p>",
    "/shop": """<!doctype html><title>Shop</title><h1>Basket</h1><p id=said></p>
        <button onclick="said.textContent = 'Discount applied'">Apply discount</button>""",
}
_STARTS = {"ada": "/desk", "bob": "/shop", "cleo": "/desk"}


@contextmanager
def served() -> Iterator[str]:
    """The site: who signs in with a code that was not used yet arrives where they work."""
    used: set[str] = set()

    def answer(asked: Asked) -> Answer:
        if asked.method != "POST":
            return Answer(_PAGES.get(asked.path, _LOGIN))
        given = {name: values[0] for name, values in parse_qs(asked.body).items()}
        is_right = given["user"] in _STARTS and given["code"] not in used
        used.add(given["code"])
        return led_to(_STARTS[given["user"]] if is_right else "/login")

    with serving(answer) as url:
        yield url


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements, and what these are and lead to is recorded."""
    return bare_lab


@dataclass(frozen=True)
class Work:
    """What somebody does once they are signed in."""

    name: str
    last: dict[str, Any]
    verify: str

    def order(self, site: str, user: str, code: str) -> Order:
        """A run of this task as this user."""
        steps = [
            {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "{{user}}"},
            {"action": "fill", "instruction": "the code", "target": {"label": "One-time code"}, "value": "{{code}}"},
            {"action": "click", "instruction": "sign in", "target": {"role": "button", "name": "Go on"}},
            {"action": "click", **self.last},
        ]
        data = {"task": self.name, "url": f"{site}/login", "parameters": {"user": {}, "code": {}}, "steps": steps}
        task = parse_task({**data, "verify": [{"text_contains": self.verify}]}, "test")
        values = bind_parameters(task, {"user": user, "code": code})
        return Order(task, values, new_run_id(task, values))


@pytest.mark.long
async def test_three_users_of_two_tasks_sign_in_on_one_page_and_disturb_each_other_in_nothing(lab: Lab) -> None:
    claims = Work("claims", {"instruction": "claims", "target": {"role": "link", "name": "Claims"}}, "3 open claims")
    button = {"role": "button", "name": "Apply discount"}
    discount = Work("discount", {"instruction": "the discount", "target": button}, "Discount applied")
    runs = [(claims, "ada"), (discount, "bob"), (claims, "cleo"), (discount, "bob"), (claims, "ada")]
    endings: list[Ending] = []

    with served() as site:
        for number, (done, user) in enumerate(runs):
            endings.append(await lab.run(done.order(site, user, f"code-{number}")))

    assert [ending.status for ending in endings] == ["done"] * len(runs), [ending.result.message for ending in endings]
    assert [ending.result.warnings for ending in endings] == [()] * len(runs)
    assert [ending.result.totals.usage.calls for ending in endings] == [0] * len(runs)
