"""Which runs the truth programme makes, what it makes of them, and what its site writes down and answers."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import httpx
import pytest

from bench.chaos.faults import FAULTS
from bench.chaos.lane import serve
from bench.message_site.behaviours import ALL, GATE
from bench.message_site.judge import Judge
from bench.message_site.log import Log
from bench.truth.cells import (
    CHOICES,
    NONE,
    TIER_CHOICES,
    TIER_POINTS,
    Cell,
    by_requests,
    part_of,
    short,
    whole,
)
from bench.truth.report import figures
from bench.truth.tasks import REAL, SHORT, task_of
from bench.truth.trials import Status, Told


def told(
    status: Status,
    *presses: str,
    behaviour: str = "fetch",
    fault: str = NONE,
    warnings: tuple[str, ...] = (),
    needless: tuple[str, ...] = (),
) -> Told:
    cell = Cell(ALL[behaviour], fault, "" if fault == NONE else "held", False, 1)
    one = Told(cell, "n-1", fired=True, status=status, presses=presses, warnings=warnings)
    one.needless.extend(needless)
    return one


@pytest.fixture(scope="module")
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Judge]:
    folder: Path = tmp_path_factory.mktemp("truth")
    log = Log(folder / "truth.jsonl")
    child, url = await serve("site", "bench.message_site.site", "--log", str(log.path), log=folder / "site.log")
    yield Judge(url, log)
    await child.stop()


async def submitted(site: Judge, behaviour: str, subject: str) -> httpx.Response:
    async with httpx.AsyncClient(trust_env=False, base_url=site.url, follow_redirects=True) as client:
        return await client.post(f"/submit/{behaviour}", data={"subject": subject, "press": "p"})


@pytest.mark.parametrize(
    ("one", "faults"),
    [
        (told("done", "a"), ()),
        (told("done"), ("FALSE DONE",)),
        (told("done", "a", "b"), ("DUPLICATE",)),
        (told("done", "a", "a"), ("DUPLICATE",)),
        (told("failed"), ("LOST",)),
        (told("failed", "a"), ("MISREPORTED",)),
        (told("stuck", "a"), ("STUCK",)),
        (told("done", "a", needless=("the site shows it",)), ("ASKED NEEDLESSLY",)),
        (told("failed", behaviour="nothing"), ()),
        (told("failed", behaviour="rejected"), ()),
        (told("done", behaviour="nothing"), ("FALSE DONE",)),
        (told("done", "a", "a", behaviour="twice", warnings=("sent_twice: …",)), ()),
        (told("done", "a", "a", behaviour="twice"), ("NOT TOLD",)),
        (told("done", "a", "a", behaviour="twice", fault="worker"), ("NOT TOLD",)),
        (told("done", "a", "a", behaviour="twice", fault="browser"), ()),
        (told("done", "a", "b", behaviour="twice", warnings=("sent_twice: …",)), ("DUPLICATE",)),
        (told("done", "a", "a", behaviour="outbox-local"), ("DUPLICATE",)),
        (told("done", "a", "a", behaviour="outbox-local", fault="browser"), ("DUPLICATE",)),
        (told("done", "a", "a", behaviour="outbox-local", warnings=("sent_twice: POST",)), ()),
        (told("done", "a", "b", behaviour="outbox-local", warnings=("sent_twice: POST",)), ("DUPLICATE",)),
        (told("done", "a", "a", warnings=("sent_twice: POST",)), ("DUPLICATE",)),
    ],
)
def test_what_breaks_the_promise_is_told_by_its_name(one: Told, faults: tuple[str, ...]) -> None:
    assert one.faults == faults


def cells_of(groups: Sequence[Sequence[Cell]]) -> list[Cell]:
    return [cell for group in groups for cell in group]


def test_the_whole_programme_has_every_behaviour_under_every_fault_and_every_fault_at_every_point() -> None:
    struck = [cell for cell in cells_of(whole(7, tuple(ALL), CHOICES, GATE)) if cell.point]

    at_worker = {(cell.behaviour, cell.point) for cell in struck if cell.fault == "worker"}
    assert at_worker == {(one, point) for one in ALL.values() for point in one.points}
    assert {(one.behaviour, one.fault) for one in struck} == {
        (one, fault) for one in ALL.values() for fault in CHOICES[1:]
    }
    assert {(one.fault, one.point) for one in struck} == {(fault, point) for fault in CHOICES[1:] for point in GATE}
    assert len(struck) == len({(one.behaviour, one.fault, one.point) for one in struck})


def test_a_browser_is_killed_at_every_point_but_one_of_two_before_the_intent_and_everything_when_bytes_are_out() -> (
    None
):
    struck = [cell for cell in cells_of(whole(8, tuple(ALL), CHOICES, GATE)) if cell.point]

    for one in ALL.values():
        met = [cell.point for cell in struck if (cell.behaviour, cell.fault) == (one, "browser")]
        assert [point for point in one.points if point not in met] in ([], ["located"], ["armed"])
        is_out = ("everything", "permitted") in {(cell.fault, cell.point) for cell in struck if cell.behaviour == one}
        assert is_out == ("permitted" in one.points)


def test_every_group_begins_with_a_first_run_without_a_fault_and_every_behaviour_is_replayed_without_one() -> None:
    groups = whole(7, tuple(ALL), CHOICES, GATE)

    assert all((group[0].is_first, group[0].point) == (True, "") for group in groups)
    assert all(cell.behaviour == group[0].behaviour for group in groups for cell in group)
    assert {cell.behaviour for cell in cells_of(groups) if not (cell.point or cell.is_first)} == set(ALL.values())


def test_the_parts_of_a_programme_are_the_whole_and_about_equal() -> None:
    parts = [part_of(whole(7, tuple(ALL), CHOICES, GATE), part, 4) for part in (1, 2, 3, 4)]

    together = sorted(cell.name for part in parts for cell in cells_of(part))
    sizes = [len(cells_of(part)) for part in parts]
    assert together == sorted(cell.name for cell in cells_of(whole(7, tuple(ALL), CHOICES, GATE)))
    assert max(sizes) < 1.1 * min(sizes)


@pytest.mark.parametrize("seed", range(3))
def test_a_run_that_is_played_again_alone_is_in_the_programme_that_is_asked_for(seed: int) -> None:
    wanted = [cell for cell in cells_of(whole(seed, tuple(ALL), CHOICES, GATE)) if cell.point]

    for cell in wanted[:: len(wanted) // 20]:
        assert cell in cells_of(whole(seed, [cell.behaviour.name], [NONE, cell.fault], [cell.point]))


@pytest.mark.parametrize("seed", range(3))
def test_without_a_page_each_fault_strikes_once_in_a_behaviour_and_at_every_point_by_turns(seed: int) -> None:
    cells = [cell for cell in cells_of(by_requests(seed, tuple(ALL), TIER_CHOICES, TIER_POINTS)) if cell.point]
    again = [by_requests(seed, [cell.behaviour.name], [NONE, cell.fault], [cell.point]) for cell in cells[::20]]

    assert {cell.fault for cell in cells} == set(FAULTS)
    assert {(cell.fault, cell.point) for cell in cells} == set(itertools.product(FAULTS, TIER_POINTS))
    assert len(cells) == len({(cell.behaviour.name, cell.fault) for cell in cells})
    assert all(cell in cells_of(found) for cell, found in zip(cells[::20], again, strict=True))


def test_the_short_form_has_every_page_and_ending_that_is_not_long_every_fault_and_every_point() -> None:
    cells = [cell for behaviour in short(3) for cell in behaviour]
    quick = [one for one in ALL.values() if not one.is_long]

    assert {cell.behaviour.page for cell in cells} == {one.page for one in quick}
    assert {(cell.behaviour.site.stores, cell.behaviour.site.ends, cell.behaviour.action) for cell in cells} == {
        (one.site.stores, one.site.ends, one.action) for one in quick
    }
    assert {cell.fault for cell in cells if not cell.by_requests} == set(CHOICES)
    assert {cell.fault for cell in cells if cell.by_requests} == {NONE, "worker", "keeper"}
    assert {cell.point for cell in cells} == {"", *GATE}
    assert all(cell.point in cell.behaviour.points for cell in cells if cell.point)


@pytest.mark.parametrize("name", ALL)
def test_a_task_is_as_patient_as_it_is_said(name: str) -> None:
    patient, impatient = (task_of(ALL[name], pace) for pace in (REAL, SHORT))

    assert patient.task == impatient.task == f"truth-{name}"
    assert (patient.steps[-1].reconcile is not None) == ALL[name].probe


def test_the_last_line_counts_what_was_planned_and_what_broke_the_promise() -> None:
    line = figures(4, [told("done", "a"), told("done"), told("done", "a", "b")], 12.0)

    assert (line["planned"], line["runs"], line["fired"]) == (4, 3, 3)
    assert (line["false_done"], line["duplicates"], line["lost"], line["stuck"]) == (1, 1, 0, 0)


@pytest.mark.parametrize(("name", "status"), [("fetch", 200), ("error-502", 502), ("error-page", 200)])
async def test_the_site_has_stored_it_whatever_it_answers(site: Judge, name: str, status: int) -> None:
    answer = await submitted(site, name, f"n-{name}")

    assert answer.status_code == status
    assert site.presses(f"n-{name}") == ("p",)


async def test_the_site_has_stored_it_when_it_cuts_the_connection(site: Judge) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await submitted(site, "cut", "n-cut")

    assert site.presses("n-cut") == ("p",)


async def test_the_site_leads_in_circles_when_it_has_stored_it(site: Judge) -> None:
    with pytest.raises(httpx.TooManyRedirects):
        await submitted(site, "loop", "n-loop")

    assert site.presses("n-loop") == ("p",)


async def test_the_site_has_nothing_of_what_it_rejects(site: Judge) -> None:
    await submitted(site, "rejected", "n-rejected")

    assert site.presses("n-rejected") == ()
    assert await site.came("n-rejected") == 1


async def test_the_judge_waits_for_a_submission_that_is_still_worked_at(site: Judge) -> None:
    sending = asyncio.create_task(submitted(site, "accepts-after-4", "n-late"))
    async with asyncio.timeout(30):
        while not await site.came("n-late"):  # noqa: ASYNC110 - it is another process that has it
            await asyncio.sleep(0)

    assert site.presses("n-late") == ("p",)
    assert (await sending).status_code == 200


async def test_a_search_shows_what_contains_the_subject(site: Judge) -> None:
    await submitted(site, "fetch", "n-123")
    async with httpx.AsyncClient(trust_env=False, base_url=site.url) as client:
        found = (await client.get("/list", params={"subject": "n-12"})).text

    assert "Received n-123" in found


async def test_a_site_with_a_seed_shows_a_message_later_than_it_has_it(tmp_path: Path) -> None:
    log = Log(tmp_path / "slow.jsonl")
    arguments = ("--log", str(log.path), "--seed", "1")
    child, url = await serve("site", "bench.message_site.site", *arguments, log=tmp_path / "slow.log")
    async with httpx.AsyncClient(trust_env=False, base_url=url) as client:

        async def is_visible() -> bool:
            return bool((await client.get("/outbox.json", params={"subject": "late"})).json())

        await client.post("/submit/fetch", data={"subject": "late", "press": "p"})
        at_once = await is_visible()
        async with asyncio.timeout(30):
            while not await is_visible():  # noqa: ASYNC110 - it is another process's clock
                await asyncio.sleep(0.02)
    await child.stop()

    assert not at_once
    assert [one.press for one in log.sent("late")] == ["p"]
