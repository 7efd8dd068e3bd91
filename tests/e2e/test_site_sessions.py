"""Signed-in sessions on the real stack: one sign-in serves many runs, an expiry makes one more, nothing is lost."""

import asyncio
import contextlib
import os
import re
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs

import pytest
import yaml

from activities.run.site_sessions import begin_site_session
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import Order, start
from replaywright.cli.tasks.taskfile import new_run_id
from replaywright.domain.site_session.commands import SIGN_IN_FAILED, SiteSessionState, workflow_id
from replaywright.domain.site_session.leases import Leases
from replaywright.domain.task.tasks import bind_parameters, parse_task
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import Lab, until
from tests.e2e.plain_site import Answer, Asked, led_to, serving

pytestmark = pytest.mark.slow

_LOGIN = """<!doctype html><title>Sign in</title><form method=post action=/login>
<label>User <input name=user></label><label>Password <input name=word type=password></label><button>Sign in</button>
</form>"""
_ACCOUNT = "<!doctype html><title>Account</title><h1>Signed in as {user}</h1><a href=/orders>Orders</a>"
_ORDERS = """<!doctype html><title>Orders</title><h1>Orders of {user}</h1><form method=post action=/orders>
<label>Note <input name=note></label><button>Save note</button></form><ul>{notes}</ul>"""
SIGN_IN = {
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
    """Path before which the session is forgotten, once."""

    def expire(self) -> None:
        """Forget everybody."""
        self.live.clear()

    def answer(self, asked: Asked) -> Answer:
        """What it answers."""
        if self.expires_at and asked.path == self.expires_at:
            self.expires_at = ""
            self.expire()
        given = {name: values[0] for name, values in parse_qs(asked.body).items()}
        if asked.method == "POST" and asked.path == "/login":
            if not self.takes or given.get("word") != "open sesame":
                return Answer(_LOGIN)
            self.sign_ins += 1
            cookie = secrets.token_hex(12)
            self.cookies.append(cookie)
            self.live[cookie] = given["user"]
            return led_to("/account", **{"set-cookie": f"sid={cookie}; Path=/; HttpOnly; Max-Age=86400"})
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


@contextmanager
def crm_served() -> Iterator[Crm]:
    crm = Crm()
    with serving(crm.answer) as crm.url:
        yield crm


@pytest.fixture(scope="module")
def crm() -> Iterator[Crm]:
    with crm_served() as crm:
        yield crm


@pytest.fixture(scope="module")
def lab_settings(crm: Crm, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("sessions")
    (folder / "sign-in.yaml").write_text(yaml.safe_dump(SIGN_IN), encoding="utf-8")
    told = {"url": f"{crm.url}/account", "expect": [{"text_contains": "Signed in as ada"}]}
    each = {"sign_in": "sign-in.yaml", "values": {"site": crm.url, "user": "ada"}, "signed_in": told}
    sessions = {"crm-ada": {**each, "shared": 2}, "crm-alone": each, "crm-few": {**each, "tasks": ["other-*"]}}
    file = folder / "sessions.yaml"
    file.write_text(yaml.safe_dump({"sessions": sessions}), encoding="utf-8")
    return load_settings().model_copy(update={"sessions": file})


@pytest.fixture(scope="module")
async def lab(own_lab: Lab) -> Lab:
    await own_lab.served()
    return own_lab


@pytest.fixture(autouse=True)
def afresh(crm: Crm) -> None:
    """Every test begins with a site that knows nobody."""
    crm.expire()
    crm.takes, crm.expires_at, crm.sign_ins = True, "", 0
    crm.notes.clear()


def order(crm: Crm, note: str, session: str = "crm-ada") -> Order:
    """A run that leaves a note."""
    data: dict[str, Any] = {
        "task": "leave-a-note",
        "session": session,
        "url": "{{site}}/account",
        "parameters": {"site": {}, "note": {}},
        "steps": [
            {"action": "click", "instruction": "the orders", "target": {"role": "link", "name": "Orders"}},
            {"action": "fill", "instruction": "the note", "target": {"label": "Note"}, "value": "{{note}}"},
            {
                "action": "click",
                "instruction": "save the note",
                "target": {"role": "button", "name": "Save note"},
                "effect": "commit",
                "expect": [{"text_contains": "{{note}}"}],
            },
        ],
        "verify": [{"text_contains": "{{note}}"}],
    }
    task = parse_task(data, "test")
    values = bind_parameters(task, {"site": crm.url, "note": note})
    return Order(task, values, new_run_id(task, values))


async def standing(lab: Lab, name: str) -> Leases:
    settings = lab.place.settings
    handle = lab.stage.place.client.get_workflow_handle(workflow_id(settings.tenant, name))
    found: Leases = await handle.query("standing", result_type=Leases)
    return found


async def free(lab: Lab, name: str) -> Leases:
    """The session once nobody has it."""
    seen: list[Leases] = []

    async def is_free() -> bool:
        seen.append(await standing(lab, name))
        return not (seen[-1].holders or seen[-1].waiting)

    await until(f"nobody has the session {name}", is_free)
    return seen[-1]


def said(endings: list[Ending]) -> list[str]:
    return [f"{ending.status} {ending.result.message}".strip() for ending in endings]


async def test_runs_share_one_sign_in_and_each_leaves_its_note_once(lab: Lab, crm: Crm) -> None:
    orders = [order(crm, f"note {number}") for number in range(4)]

    endings = await asyncio.gather(*(lab.run(each) for each in orders))

    assert said(endings) == ["done"] * 4
    assert sorted(crm.notes) == [f"note {number}" for number in range(4)]
    assert crm.sign_ins == 1
    after = await free(lab, "crm-ada")
    assert (after.sign_ins, after.expiries, after.failures) == (1, 0, 0)


async def test_a_session_that_expired_is_signed_in_once_for_all_who_wait(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "before"))]) == ["done"]
    before = crm.sign_ins
    crm.expire()

    endings = await asyncio.gather(*(lab.run(order(crm, f"again {number}")) for number in range(3)))

    assert said(endings) == ["done"] * 3
    assert crm.sign_ins == before + 1
    assert sorted(crm.notes) == ["again 0", "again 1", "again 2", "before"]


async def test_a_run_whose_session_ends_on_the_way_signs_in_again_and_goes_on(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "learns"))]) == ["done"]
    before = crm.sign_ins
    crm.expires_at = "/orders"
    asked = order(crm, "on the way")

    ending = await lab.run(asked)

    assert said([ending]) == ["done"]
    assert crm.notes == ["learns", "on the way"]
    assert crm.sign_ins == before + 1
    lines = await lab.trace(asked)
    assert [line["sequence"] for line in lines if line["kind"] == "step" and line["status"] == "done"] == [0, 1, 2, 3]


async def test_a_run_that_ends_unheard_gives_its_lease_back(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "first", "crm-alone"))]) == ["done"]
    await free(lab, "crm-alone")
    waits = order(crm, "second", "crm-alone")
    client = lab.stage.place.client
    holder = order(crm, "holds", "crm-alone")
    async with lab.freezing(lab.stage.worker, "opening"):
        await start(lab.place, holder)
    await client.get_workflow_handle(holder.run_id).terminate("the test")
    lab.thaw(lab.stage.worker)

    ending = await lab.run(waits)

    assert said([ending]) == ["done"]
    assert crm.notes == ["first", "second"]


async def test_a_sign_in_that_fails_is_told_to_who_waits_and_not_tried_at_once_again(lab: Lab, crm: Crm) -> None:
    crm.takes = False
    name = "crm-alone"
    first, second = await asyncio.gather(*(lab.run(order(crm, f"never {number}", name)) for number in range(2)))

    assert {first.status, second.status} == {"failed"}
    assert {first.result.reason, second.result.reason} == {SIGN_IN_FAILED}
    assert "which was to sign in, has failed" in first.result.message
    third = await lab.run(order(crm, "never 3", name))
    assert "nobody signs in before" in third.result.message
    assert crm.notes == []


async def test_a_session_that_is_not_there_or_not_for_this_task_ends_the_run_before_it_begins(
    lab: Lab, crm: Crm
) -> None:
    unknown, forbidden = await asyncio.gather(lab.run(order(crm, "x", "crm-bob")), lab.run(order(crm, "x", "crm-few")))

    assert (unknown.status, unknown.result.reason) == ("failed", "InputInvalid")
    assert "declares no such session; it has: crm-ada, crm-alone, crm-few" in unknown.result.message
    assert forbidden.status == "blocked"
    assert "'leave-a-note' may not use the session 'crm-few'" in forbidden.result.message


async def test_no_cookie_of_a_session_is_in_anything_that_is_kept_or_told(lab: Lab, crm: Crm) -> None:
    asked = order(crm, "kept")
    assert said([await lab.run(asked)]) == ["done"]
    await free(lab, "crm-ada")
    assert crm.cookies

    found: list[str] = []
    for folder, folders, files in os.walk(lab.stage.home):
        if Path(folder) == lab.stage.home and "sessions" in folders:
            folders.remove("sessions")  # profiles of live browsers, which only their owner reads
        for file in files:
            with contextlib.suppress(FileNotFoundError):
                data = (Path(folder) / file).read_bytes()
                found += [f"{file}: {cookie}" for cookie in crm.cookies if cookie.encode() in data]
    history = await lab.handle(asked).fetch_history()
    text = history.to_json()

    assert found == []
    assert [cookie for cookie in crm.cookies if cookie in text] == []


async def test_a_state_that_was_kept_for_another_session_is_not_taken(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "own"))]) == ["done"]
    kept = (await free(lab, "crm-ada")).kept
    assert kept is not None
    client, tenant = lab.stage.place.client, lab.place.settings.tenant
    alone = SiteSessionState(tenant=tenant, name="crm-alone")
    bring = {"start_signal": "bring", "start_signal_args": [kept]}
    await begin_site_session(client, alone, queue=lab.place.queue, override=None, **bring)
    ending = await lab.run(order(crm, "stolen", "crm-alone"))
    await client.get_workflow_handle(workflow_id(tenant, "crm-alone")).signal("forget")

    assert (ending.status, ending.result.reason) == ("failed", SIGN_IN_FAILED)
    assert "its signature is not of this" in ending.result.message
    assert crm.notes == ["own"]
