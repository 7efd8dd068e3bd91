"""Which runs the truth programme makes, what it makes of them, and what its site writes down and answers."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from bench.chaos.lane import serve
from bench.chaos.log import Log
from bench.truth.behaviours import ALL, GATE
from bench.truth.cells import CHOICES, NONE, Cell, short, whole
from bench.truth.report import figures
from bench.truth.tasks import REAL, SHORT, task_of
from bench.truth.trials import Site, Status, Told


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
async def site(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Site]:
    folder: Path = tmp_path_factory.mktemp("truth")
    log = Log(folder / "truth.jsonl")
    child, url = await serve("site", "bench.truth.site", "--log", str(log.path), log=folder / "site.log")
    yield Site(url, log)
    await child.stop()


async def submitted(site: Site, behaviour: str, subject: str) -> httpx.Response:
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
    ],
)
def test_what_breaks_the_promise_is_told_by_its_name(one: Told, faults: tuple[str, ...]) -> None:
    assert one.faults == faults


def test_the_whole_programme_has_every_behaviour_under_every_fault_at_every_point_that_it_comes_to() -> None:
    cells = [cell for behaviour in whole(7, tuple(ALL), CHOICES, GATE) for cell in behaviour]

    struck = {(cell.behaviour.name, cell.fault, cell.point) for cell in cells if cell.point}
    plain = [cell for cell in cells if not cell.point]
    wanted = {(one.name, fault, point) for one in ALL.values() for fault in CHOICES[1:] for point in one.points}
    assert struck == wanted
    assert len(plain) == 2 * len(ALL)
    assert len(cells) == len(struck) + len(plain)


def test_the_short_form_has_every_behaviour_that_is_not_long_every_fault_and_every_point() -> None:
    cells = [cell for behaviour in short(3) for cell in behaviour]

    assert {cell.behaviour for cell in cells} == {one for one in ALL.values() if not one.is_long}
    assert {cell.fault for cell in cells} == set(CHOICES)
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
async def test_the_site_has_stored_it_whatever_it_answers(site: Site, name: str, status: int) -> None:
    answer = await submitted(site, name, f"n-{name}")

    assert answer.status_code == status
    assert site.presses(f"n-{name}") == ("p",)


async def test_the_site_has_stored_it_when_it_cuts_the_connection(site: Site) -> None:
    with pytest.raises(httpx.RemoteProtocolError):
        await submitted(site, "cut", "n-cut")

    assert site.presses("n-cut") == ("p",)


async def test_the_site_leads_in_circles_when_it_has_stored_it(site: Site) -> None:
    with pytest.raises(httpx.TooManyRedirects):
        await submitted(site, "loop", "n-loop")

    assert site.presses("n-loop") == ("p",)


async def test_the_site_has_nothing_of_what_it_rejects(site: Site) -> None:
    await submitted(site, "rejected", "n-rejected")

    assert site.presses("n-rejected") == ()
    assert await site.came("n-rejected") == 1


async def test_the_judge_waits_for_a_submission_that_is_still_worked_at(site: Site) -> None:
    sending = asyncio.create_task(submitted(site, "accepts-after-4", "n-late"))
    async with asyncio.timeout(30):
        while not await site.came("n-late"):  # noqa: ASYNC110 - it is another process that has it
            await asyncio.sleep(0)

    assert site.presses("n-late") == ("p",)
    assert (await sending).status_code == 200


async def test_a_search_shows_what_contains_the_subject(site: Site) -> None:
    await submitted(site, "fetch", "n-123")
    async with httpx.AsyncClient(trust_env=False, base_url=site.url) as client:
        found = (await client.get("/list", params={"subject": "n-12"})).text

    assert "Received n-123" in found
