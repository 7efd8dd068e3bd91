"""A step that fails repeats what the page says about it, and names dialogs; what is missing is told before all else."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.task.tasks import parse_task
from replaywright.grants import change_grants
from replaywright.vault.sources import keep_secret
from tests.e2e.lab import Lab
from tests.e2e.plain_site import Answer, Asked, serving

pytestmark = pytest.mark.slow

_FORM = """<!doctype html><title>Shop</title><form method=post action=/{name}><label>User <input name=user></label>
<button>Log in</button></form>"""
_PROFILE = """<!doctype html><title>Shop</title><h1>Profile</h1><label>Password <input type=password></label>
<label>Picture <input type=file></label>"""
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
    if name == "profile":
        return Answer(_PROFILE)
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
        pytest.param("heading", "Epic sadface: this user has been locked out", marks=pytest.mark.long),
    ],
)
async def test_an_expectation_that_fails_repeats_the_page_s_own_words(lab: Lab, name: str, said: str) -> None:
    with serving(answer) as site:
        right = await ended(lab, f"{site}/{name}", LOG_IN, user="ada")
        wrong = await ended(lab, f"{site}/{name}", LOG_IN, user="bob")

    assert right.status == "done", right.result.message
    assert (wrong.status, wrong.result.failed_step) == ("failed", 2)
    assert f'; the page says "{said}"' in wrong.result.message
    assert wrong.result.of_values == (name == "alert")


async def test_a_dialog_that_was_dismissed_is_named_with_the_remedy_which_works(lab: Lab) -> None:
    with serving(answer) as site:
        dismissed = await ended(lab, f"{site}/row", [DELETE])
        accepted = await ended(lab, f"{site}/row", [{**DELETE, "dialog": "accept"}])

    assert (dismissed.status, accepted.status) == ("failed", "done"), accepted.result.message
    assert "a dialog came: confirm: Delete row 7? (dismissed): give the step dialog: accept" in dismissed.result.message


@pytest.fixture
def asked() -> list[str]:
    """Paths that the site was asked for."""
    return []


@pytest.fixture
def site(asked: list[str]) -> Iterator[str]:
    """Address of the site."""

    def noted(request: Asked) -> Answer:
        asked.append(request.path)
        return answer(request)

    with serving(noted) as address:
        yield address


PASSWORD = {**LOG_IN[0], "target": {"label": "Password"}, "value": "{{secret:NOWHERE}}"}
UPLOAD = {"action": "upload", "instruction": "the picture", "target": {"label": "Picture"}, "files": ["ada.txt"]}


async def test_a_secret_that_is_missing_is_told_before_anything_is_opened(
    lab: Lab, site: str, asked: list[str]
) -> None:
    host = site.removeprefix("http://")
    change_grants(lab.stage.home, lambda grants: grants.bound("NOWHERE", (f"http://{host}",)))
    ending = await ended(lab, f"{site}/alert", [*LOG_IN, PASSWORD], secrets=("NOWHERE",), user="ada")

    assert (ending.status, ending.result.failed_step, asked) == ("failed", None, []), ending.result.message
    for said in ("before anything was done", "'NOWHERE' has no value here", "replaywright admin secrets set NOWHERE"):
        assert said in ending.result.message, ending.result.message


async def test_a_secret_that_is_set_meanwhile_counts_without_a_restart(lab: Lab, site: str) -> None:
    home, host = lab.stage.home, site.removeprefix("http://")
    change_grants(home, lambda grants: grants.bound("LATER", (f"http://{host}",)))
    steps = [{**PASSWORD, "value": "{{secret:LATER}}"}]
    before = await ended(lab, f"{site}/profile", steps, secrets=("LATER",))

    keep_secret("LATER", "correct horse", home)
    after = await ended(lab, f"{site}/profile", steps, secrets=("LATER",))

    assert (before.status, after.status) == ("failed", "done"), after.result.message


async def test_a_folder_or_file_that_is_missing_is_told_before_anything_is_opened_and_counts_when_it_comes(
    lab: Lab, site: str, asked: list[str], tmp_path: Path
) -> None:
    no_folder = await ended(lab, f"{site}/profile", [UPLOAD])
    change_grants(lab.stage.home, lambda grants: grants.uploading((str(tmp_path),)))
    no_file = await ended(lab, f"{site}/profile", [UPLOAD])
    asked_in_vain = list(asked)
    (tmp_path / "ada.txt").write_text("Ada")
    done = await ended(lab, f"{site}/profile", [UPLOAD])

    assert asked_in_vain == []
    assert (no_folder.result.failed_step, no_folder.result.reason) == (None, "upload_refused")
    assert "before anything was opened: 'ada.txt' may not be uploaded" in no_folder.result.message
    assert "replaywright admin uploads allow FOLDER" in no_folder.result.message
    assert "before anything was opened: 'ada.txt' cannot be uploaded: no such file" in no_file.result.message
    assert done.status == "done", done.result.message
