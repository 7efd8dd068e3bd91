"""A second factor of a session's sign-in: from a real mailbox, and by a signed webhook, with nobody asked."""

import asyncio
import copy
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import httpx
import pytest
import yaml
from starlette.applications import Starlette

from bench.team.crm import SIGN_IN, Crm, crm_served
from bench.team.sessions import order
from bench.wob.serving import serving
from replaywright.agents.listening import TokenGuard
from replaywright.agents.triggers import Triggers
from replaywright.settings import Settings, load_settings
from tests.adapters.test_mailbox import Mailbox, imap_served
from tests.e2e.agent_clients import Placed
from tests.e2e.lab import Lab, until
from tests.e2e.test_triggers import SIGNING, TOKEN, signed

pytestmark = pytest.mark.slow


def signing_in(source: str) -> dict[str, Any]:
    """The task that signs in, with a code."""
    task = copy.deepcopy(SIGN_IN)
    task["task"] = f"sign-in-{source}"
    field = {"instruction": "the code", "target": {"label": "Code"}}
    task["steps"] += [
        {"action": "verification_code", "source": source, **field},
        {
            "action": "click",
            "instruction": "go on",
            "target": {"role": "button", "name": "Go on"},
            "effect": "idempotent",
        },
    ]
    return task


@contextmanager
def secret(name: str, value: str) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv(f"REPLAYWRIGHT_SECRET_{name}", value)
        yield


@pytest.fixture(scope="module")
def mailbox() -> Iterator[Mailbox]:
    with imap_served() as mailbox, secret("MAIL", mailbox.password):
        yield mailbox


@pytest.fixture(scope="module")
def crm() -> Iterator[Crm]:
    with crm_served() as crm:
        yield crm


@pytest.fixture(scope="module")
def lab_settings(crm: Crm, mailbox: Mailbox, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    folder = tmp_path_factory.mktemp("sessions")
    told = {"url": f"{crm.url}/account", "expect": [{"text_contains": "Signed in as ada"}]}
    given = {"values": {"site": crm.url, "user": "ada"}, "signed_in": told}
    sessions = {}
    for source in ("mail", "phone"):
        (folder / f"{source}.yaml").write_text(yaml.safe_dump(signing_in(source)), encoding="utf-8")
        sessions[f"crm-{source}"] = {**given, "sign_in": f"{source}.yaml"}
    address = f"imap://{mailbox.user}@127.0.0.1:{mailbox.port}"
    codes = {
        "mail": {"imap": address, "password": "MAIL", "sender": "*@crm.example.com"},
        "phone": {"webhook": True, "pattern": r"C-(\d{6})"},
    }
    file = folder / "sessions.yaml"
    file.write_text(yaml.safe_dump({"sessions": sessions, "codes": codes}), encoding="utf-8")
    return load_settings().model_copy(update={"sessions": file})


@pytest.fixture(scope="module")
async def lab(own_lab: Lab) -> Lab:
    await own_lab.served()
    return own_lab


@pytest.fixture(autouse=True)
def afresh(crm: Crm) -> None:
    crm.expire()
    crm.sign_ins = 0
    crm.notes.clear()


@pytest.mark.long
async def test_a_code_that_comes_by_mail_is_entered_with_nobody_asked(lab: Lab, crm: Crm, mailbox: Mailbox) -> None:
    crm.tells_code = lambda code: mailbox.receives(f"Your code is {code}.")
    asked = order(crm, "by mail", "crm-mail")

    ending = await lab.run(asked)

    assert (ending.status, ending.result.message) == ("done", "")
    assert (crm.notes, crm.sign_ins) == (["by mail"], 1)


@pytest.mark.long
async def test_a_code_that_a_signed_webhook_brings_is_entered_and_a_forged_one_is_not(lab: Lab, crm: Crm) -> None:
    sent: list[str] = []
    crm.tells_code = sent.append
    asked = order(crm, "by phone", "crm-phone")
    triggers = Triggers(lab.place.settings, Placed(lab.place), lambda: SIGNING)
    app = TokenGuard(Starlette(routes=triggers.routes()), TOKEN)
    async with serving(app) as url, httpx.AsyncClient(base_url=url, timeout=60) as gateway:
        running = asyncio.create_task(lab.run(asked))
        await until("the site sends a code", lambda: bool(sent))
        body, headers = signed({"data": {"text": f"Your code: C-{sent[0]}"}}, "m1")
        forged = await gateway.post("/code/phone", content=body, headers={**headers, "Webhook-Id": "m2"})
        empty, own = signed({"data": {"text": "hello"}}, "m3")
        nothing = await gateway.post("/code/phone", content=empty, headers=own)
        mail = await gateway.post("/code/mail", content=body, headers=headers)
        taken = await gateway.post("/code/phone", content=body, headers=headers)
        ending = await running

    assert [answer.status_code for answer in (forged, nothing, mail, taken)] == [401, 400, 400, 200]
    assert taken.json()["runId"].startswith("sign-in/crm-phone/")
    assert (ending.status, ending.result.message) == ("done", "")
    assert (crm.notes, crm.sign_ins) == (["by phone"], 1)
