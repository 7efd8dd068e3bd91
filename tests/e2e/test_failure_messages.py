"""A step that fails repeats what the page says about it, and names dialogs; what is missing is told before all else."""

from typing import Any

import pytest

from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import parse_task
from replaywright.grants import change_grants
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

_FORM = """<!doctype html><title>Shop</title><form method=post action=/{name}><label>User <input name=user></label>
<button>Log in</button></form>"""
_SAID = {
    "alert": "<p role=alert>Sorry, this user has been locked out.</p>",
    "heading": "<div class=error><h3>Epic sadface: this user has been locked out</h3></div>",
}
_DELETE = """<!doctype html><title>Shop</title><h1>Row 7</h1><button onclick="
  if (confirm('Delete row 7?')) document.querySelector('h1').textContent = 'Gone'">Delete</button>"""

LOG_IN: list[dict[str, Any]] = [
    {"action": "fill", "instruction": "the user", "target": {"label": "User"}, "value": "{{user}}"},
    {
        "action": "click",
        "instruction": "log in",
        "target": {"role": "button", "name": "Log in"},
        "effect": "idempotent",
        "expect": [{"text_contains": "Products"}],
        "timeout_ms": 2000,
    },
]
DELETE = {
    **LOG_IN[1],
    "instruction": "delete",
    "target": {"role": "button", "name": "Delete"},
    "expect": [{"text_contains": "Gone"}],
}


def answer(asked: Asked) -> Answer:
    """Its pages: one user may log in, and the next is refused on the same form."""
    name = asked.path.strip("/")
    if name == "row":
        return Answer(_DELETE)
    if asked.method == "GET":
        return Answer(_FORM.format(name=name))
    if "ada" in asked.body:
        return Answer("<!doctype html><title>Shop</title><h1>Products</h1>")
    return Answer(_FORM.format(name=name) + _SAID[name])


@pytest.fixture(scope="module")
async def lab(bare_lab: Lab) -> Lab:
    """Nothing is learned: the tasks declare their elements, and what these are is recorded."""
    return bare_lab


async def ended(
    lab: Lab, url: str, steps: list[dict[str, Any]], secrets: tuple[str, ...] = (), **values: str
) -> Ending:
    """How a run of these steps at this address ends."""
    data = {"task": url.rpartition("/")[2], "url": url, "parameters": {name: {} for name in values}, "steps": steps}
    data["secrets"] = list(secrets)
    task = parse_task({**data, "verify": [{"url_contains": "127.0.0.1"}]}, "test")
    return await lab.run(Order(task, values, new_run_id(task, values)))


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("alert", "Sorry, this user has been locked out."),
        ("heading", "Epic sadface: this user has been locked out"),
    ],
)
async def test_an_expectation_that_fails_repeats_the_page_s_own_words(lab: Lab, name: str, said: str) -> None:
    with serving(answer) as site:
        right = await ended(lab, f"{site}/{name}", LOG_IN, user="ada")
        wrong = await ended(lab, f"{site}/{name}", LOG_IN, user="bob")

    assert right.status == "done", right.result.message
    assert (wrong.status, wrong.result.failed_step) == ("failed", 2)
    assert f'; the page says "{said}"' in wrong.result.message


async def test_a_dialog_that_was_dismissed_is_named_with_the_remedy_which_works(lab: Lab) -> None:
    with serving(answer) as site:
        dismissed = await ended(lab, f"{site}/row", [DELETE])
        accepted = await ended(lab, f"{site}/row", [{**DELETE, "dialog": "accept"}])

    assert (dismissed.status, accepted.status) == ("failed", "done"), accepted.result.message
    assert "a dialog came: confirm: Delete row 7? (dismissed): give the step dialog: accept" in dismissed.result.message


async def test_a_secret_that_is_missing_is_told_before_anything_is_opened(lab: Lab) -> None:
    asked: list[str] = []

    def noted(request: Asked) -> Answer:
        asked.append(request.path)
        return answer(request)

    password = {**LOG_IN[0], "target": {"label": "Password"}, "value": "{{secret:NOWHERE}}"}
    with serving(noted) as site:
        host = site.removeprefix("http://")
        change_grants(lab.stage.home, lambda grants: grants.bound("NOWHERE", (f"http://{host}",)))
        ending = await ended(lab, f"{site}/alert", [*LOG_IN, password], secrets=("NOWHERE",), user="ada")

    assert (ending.status, ending.result.failed_step, asked) == ("failed", None, []), ending.result.message
    for said in ("before anything was done", "'NOWHERE' has no value here", "set REPLAYWRIGHT_SECRET_NOWHERE"):
        assert said in ending.result.message, ending.result.message
