"""Signed-in sessions on the real stack: one sign-in serves many runs, an expiry makes one more, nothing is lost."""

import asyncio
from collections.abc import Iterator

import pytest

from activities.run.site_sessions import begin_site_session
from bench.team.crm import Crm, crm_served
from bench.team.sessions import kept_in_clear, order, written
from replaywright.cli.runs.follow import Ending
from replaywright.cli.runs.starting import start
from replaywright.domain.site_session.commands import SIGN_IN_FAILED, SiteSessionState, workflow_id
from replaywright.domain.site_session.leases import Leases
from replaywright.settings import Settings, load_settings
from tests.e2e.lab import Lab, until

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def crm() -> Iterator[Crm]:
    with crm_served() as crm:
        yield crm


@pytest.fixture(scope="module")
def lab_settings(crm: Crm, tmp_path_factory: pytest.TempPathFactory) -> Settings:
    file = written(tmp_path_factory.mktemp("sessions"), crm)
    return load_settings().model_copy(update={"sessions": file})


@pytest.fixture(scope="module")
async def lab(own_bare_lab: Lab) -> Lab:
    return own_bare_lab


@pytest.fixture(autouse=True)
def afresh(crm: Crm) -> None:
    """Every test begins with a site that knows nobody."""
    crm.expire()
    crm.takes, crm.expires_at, crm.sign_ins = True, "", 0
    crm.notes.clear()


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


@pytest.mark.long
async def test_a_session_that_expired_is_signed_in_once_for_all_who_wait(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "before"))]) == ["done"]
    before = crm.sign_ins
    crm.expire()

    endings = await asyncio.gather(*(lab.run(order(crm, f"again {number}")) for number in range(3)))

    assert said(endings) == ["done"] * 3
    assert crm.sign_ins == before + 1
    assert sorted(crm.notes) == ["again 0", "again 1", "again 2", "before"]


@pytest.mark.long
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


async def test_a_press_that_meets_the_end_of_its_session_is_done_once_and_nobody_is_asked(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "learns"))]) == ["done"]
    before = crm.sign_ins
    crm.expires_at = "POST /orders"

    ending = await lab.run(order(crm, "posted"))

    assert said([ending]) == ["done"]
    assert crm.notes == ["learns", "posted"]
    assert crm.sign_ins == before + 1


@pytest.mark.long
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


@pytest.mark.long
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
    assert "declares no such session; it has: crm-ada, crm-alone, crm-few, crm-kept" in unknown.result.message
    assert forbidden.status == "blocked"
    assert "'leave-a-note' may not use the session 'crm-few'" in forbidden.result.message


async def test_no_cookie_of_a_session_is_in_anything_that_is_kept_or_told(lab: Lab, crm: Crm) -> None:
    asked = order(crm, "kept")
    assert said([await lab.run(asked)]) == ["done"]
    await free(lab, "crm-ada")
    assert crm.cookies

    history = await lab.handle(asked).fetch_history()
    text = history.to_json()

    assert kept_in_clear(lab.stage.home, crm.cookies) == []
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


@pytest.mark.long
async def test_a_session_that_nobody_uses_is_kept_alive_and_signed_in_anew_when_it_ends(lab: Lab, crm: Crm) -> None:
    assert said([await lab.run(order(crm, "one", "crm-kept"))]) == ["done"]
    crm.expire()

    await until("a run that keeps it alive has it signed in anew", lambda: crm.sign_ins == 2)

    kept = await free(lab, "crm-kept")
    await lab.stage.place.client.get_workflow_handle(workflow_id(lab.place.settings.tenant, "crm-kept")).terminate()
    assert (kept.sign_ins, kept.expiries) == (2, 1)
