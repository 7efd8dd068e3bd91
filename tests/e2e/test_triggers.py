"""Runs started over plain HTTP and by signed webhooks, on the real stack: each request once, whoever repeats it."""

import asyncio
import json
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx
import jsonschema
import pytest
from standardwebhooks import Webhook
from starlette.applications import Starlette
from temporalio.client import SchedulePolicy, ScheduleState

from bench.wob.serving import serving
from replaywright.agents.listening import TokenGuard
from replaywright.agents.triggers import BODY_LIMIT, Triggers
from replaywright.cli.local.dashboard_acts import lasting_steps, schedule_changed, schedule_rows, started
from replaywright.cli.runs.follow import follow, handle_of
from replaywright.cli.runs.options import RunOptions
from replaywright.cli.runs.starting import Order
from replaywright.cli.schedule.schedule import TimeOptions, _prepared
from replaywright.cli.schedule.scheduled import create, schedule_of
from replaywright.cli.servers.store import open_store
from replaywright.dashboard.views import AskedRun
from replaywright.domain.skill.skills import Skill, SkillStatus
from replaywright.errors import InputInvalid
from tests.e2e.agent_clients import Placed
from tests.e2e.lab import Lab

pytestmark = pytest.mark.slow

TOKEN = "t" * 40
SIGNING = "whsec_" + "Q2FuYXJ5IHNpbmdzIGluIHRoZSBtaW5lLCBsb3VkbHku"
NAME = "mail-somebody"


@asynccontextmanager
async def clients(lab: Lab, *, hooks: bool = True) -> AsyncIterator[tuple[httpx.AsyncClient, httpx.AsyncClient]]:
    """A client with the token, and one without; the demo's task is a skill."""
    site = lab.stage.webmail
    skill = Skill(name=NAME, task=lab.task, site=site, status=SkillStatus.ACTIVE, label="Mail somebody")
    async with open_store(lab.place.settings) as store:
        if await store.knowledge.skills.get(store.tenant, NAME) is None:
            await store.knowledge.skills.save(store.tenant, skill, who="the test")
    triggers = Triggers(lab.place.settings, Placed(lab.place), (lambda: SIGNING) if hooks else None)
    async with (
        serving(TokenGuard(Starlette(routes=triggers.routes()), TOKEN)) as url,
        httpx.AsyncClient(base_url=url, headers={"Authorization": f"Bearer {TOKEN}"}, timeout=60) as known,
        httpx.AsyncClient(base_url=url, timeout=60) as stranger,
    ):
        yield known, stranger


def values(order: Order) -> dict[str, str]:
    return dict(order.values)


def signed(data: dict[str, Any], id_: str, *, at: datetime | None = None) -> tuple[bytes, dict[str, str]]:
    body, now = json.dumps(data).encode(), at or datetime.now(UTC)
    headers = {
        "Webhook-Id": id_,
        "Webhook-Timestamp": str(int(now.timestamp())),
        "Webhook-Signature": Webhook(SIGNING).sign(id_, now, body.decode()),
    }
    return body, headers


async def test_a_request_that_is_repeated_starts_one_run_and_another_needs_a_key_of_its_own(lab: Lab) -> None:
    order, key = lab.order(), {"Idempotency-Key": uuid.uuid4().hex}
    async with clients(lab) as (client, stranger):
        address, body = f"/run/{NAME}", {"values": values(order)}
        asked = await asyncio.gather(*(client.post(address, json=body, headers=key) for _ in range(5)))
        ended = await client.get(asked[0].headers["Location"] + "&wait_s=50")
        again = await client.post(address, json={**body, "wait_s": 5}, headers=key)
        other = await client.post(address, json={"values": values(lab.order())}, headers=key)
        bare = await client.post(address, json=body)
        unknown = await stranger.post(address, json=body, headers=key)

    assert {answer.json()["runId"] for answer in asked} == {ended.json().get("runId", ended.text)}
    assert [answer.status_code for answer in asked] == [202] * 5
    assert sum("Idempotency-Replayed" not in answer.headers for answer in asked) == 1
    assert (ended.status_code, ended.json()["status"]) == (200, "done")
    assert (again.status_code, again.json()["status"], again.headers["Idempotency-Replayed"]) == (200, "done", "true")
    assert [answer.status_code for answer in (other, bare, unknown)] == [400, 400, 401]
    assert "Idempotency-Key: missing" in bare.json()["detail"]
    lab.assert_one_right_mail(order)


async def test_a_wrong_request_says_what_is_wrong_and_starts_nothing(lab: Lab) -> None:
    async with clients(lab) as (client, _):
        key = {"Idempotency-Key": uuid.uuid4().hex}

        async def refused(name: str = NAME, **body: Any) -> tuple[int, str]:
            answer = await client.post(f"/run/{name}", headers=key, **body)
            assert answer.headers["Content-Type"] == "application/problem+json"
            return answer.status_code, answer.json()["detail"]

        found = [
            await refused("mail-nobody", json={}),
            await refused(json={"values": {"recipient": "x"}}),
            await refused(json={"wait": 5}),
            await refused(content=b"{"),
            await refused(content=b"[]"),
            await refused(content=b" " * (BODY_LIMIT + 1)),
        ]
        gone = await client.get("/run", params={"id": "agent/none"})

    assert [status for status, _ in found] == [404, 400, 400, 400, 400, 413]
    assert "values.recipient" in found[1][1]
    assert "wait" in found[2][1]
    assert gone.status_code == 404


async def test_the_description_has_each_skill_with_the_schema_of_its_values(lab: Lab) -> None:
    async with clients(lab) as (client, stranger):
        described = (await client.get("/openapi.json")).json()
        refused = await stranger.get("/openapi.json")

    post = described["paths"][f"/run/{NAME}"]["post"]
    schema = post["requestBody"]["content"]["application/json"]["schema"]
    check = jsonschema.Draft202012Validator(schema)
    assert post["parameters"][0]["name"] == "Idempotency-Key"
    assert check.is_valid({"values": values(lab.order())})
    assert not check.is_valid({"values": {}})
    assert described["paths"][f"/hook/{NAME}"]["post"]["security"] == []
    assert refused.status_code == 401


async def test_a_webhook_starts_a_run_once_and_only_with_its_signature(lab: Lab) -> None:
    order, id_ = lab.order(), f"msg_{uuid.uuid4().hex}"
    event = {"type": "order.paid", "data": {**values(order), "currency": "EUR"}}
    body, headers = signed(event, id_)
    async with clients(lab) as (client, stranger):
        address = f"/hook/{NAME}"
        forged = await stranger.post(address, content=body.replace(b"Body", b"Evil"), headers=headers)
        old, stale = signed(event, id_, at=datetime.now(UTC) - timedelta(hours=1))
        late = await stranger.post(address, content=old, headers=stale)
        bare = await stranger.post(address, content=body)
        first = await stranger.post(address, content=body, headers=headers)
        repeated = await stranger.post(address, content=body, headers=headers)
        ended = await client.get("/run", params={"id": first.json()["runId"], "wait_s": 50})
        nested, right = signed({"data": {"subject": {"a": 1}}}, "msg_2")
        wrong = await stranger.post(address, content=nested, headers=right)
    async with clients(lab, hooks=False) as (_, stranger):
        closed = await stranger.post(address, content=body, headers=headers)

    assert [answer.status_code for answer in (forged, late, bare)] == [401, 401, 401]
    assert (first.status_code, repeated.json()["runId"]) == (202, first.json()["runId"])
    assert ended.json()["status"] == "done"
    assert (wrong.status_code, closed.status_code) == (400, 404)
    assert "subject: expected a text" in wrong.json()["detail"]
    lab.assert_one_right_mail(order)


async def test_a_form_that_is_sent_twice_starts_one_run_and_a_wrong_one_none(lab: Lab) -> None:
    order, request = lab.order(), uuid.uuid4().hex
    async with clients(lab):
        asked = AskedRun(NAME, 0, request, {**values(order), "base_url": lab.stage.webmail})
        both = await asyncio.gather(started(lab.place, asked, "ada"), started(lab.place, asked, "ada"))
        ending = await follow(handle_of(lab.place.client, both[0]), show=lambda *_: None, until_waiting=True)
        given = values(lab.order())
        wrong = [{**given, "color": "red"}, {name: text for name, text in given.items() if name != "to"}]
        refused = []
        for change in wrong:
            with pytest.raises(InputInvalid) as failure:
                await started(lab.place, AskedRun(NAME, 0, uuid.uuid4().hex, change), "ada")
            refused.append(str(failure.value))
        with pytest.raises(InputInvalid, match="load the skill's page again"):
            await started(lab.place, AskedRun(NAME, 0, "", values(order)), "ada")
        async with open_store(lab.place.settings) as store:
            lasting = await lasting_steps(store, (await store.knowledge.shown(NAME, None)).skill)

    assert both[0] == both[1]
    assert ending.status == "done"
    assert "color: the skill has no such parameter" in refused[0]
    assert "to" in refused[1]
    assert ["send" in title.lower() for title in lasting] == [True], lasting
    lab.assert_one_right_mail(order)


async def scheduled(lab: Lab, name: str, given: dict[str, str]) -> None:
    told, _, _ = await _prepared(lab.place, name, f"skill:{NAME}", given, RunOptions())
    times, policy, state = TimeOptions(every="300d").as_timetable(), SchedulePolicy(), ScheduleState()
    await create(lab.place, name, schedule_of(lab.place, name, told, times, policy=policy, state=state), {})


async def test_a_schedule_is_paused_with_who_did_it_triggered_and_let_go_on(lab: Lab) -> None:
    name, values_ = f"s{uuid.uuid4().hex[:8]}", values(lab.order())
    async with clients(lab):
        await scheduled(lab, name, values_)
        await schedule_changed(lab.place, name, "pause", "", "ada")
        [paused] = [row for row in await schedule_rows(lab.place) if row.name == name]
        await schedule_changed(lab.place, name, "unpause", "moved", "ada")
        [going] = [row for row in await schedule_rows(lab.place) if row.name == name]
        with pytest.raises(InputInvalid, match="expected pause, unpause, trigger"):
            await schedule_changed(lab.place, name, "delete", "", "ada")

    assert (paused.is_paused, going.is_paused) == (True, False)
    assert paused.note == "pause by ada on the dashboard"
    assert going.note.startswith("moved by ada ")
    assert going.coming is not None
    assert going.starts == f"skill:{NAME}"
