"""A page that loads late is shown to a model when it is complete, or once more when it has changed; a real Chromium."""

import time

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.snapshots import Snapshot
from replaywright.ports.browser import Report
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

PAGE = "browser_grows.html"


async def looked(session: ChromiumSession, shown: Snapshot | None = None, patience_ms: int = 0) -> Report:
    """A step of which nothing is recorded: its page is read for a model."""
    return await session.perform(work("fill", text="Dear Ann", shown=shown, patience_ms=patience_ms))


def fields(report: Report) -> list[str]:
    assert report.snapshot is not None
    return [one.target.name for one in report.snapshot.elements if one.target.role == "textbox"]


async def test_a_part_that_the_page_loads_when_it_needs_it_is_waited_for(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"{PAGE}?part=700")

    assert fields(await looked(session)) == ["Text"]


@pytest.mark.parametrize("page", [PAGE, f"{PAGE}?clock"])
async def test_a_page_that_rests_is_not_waited_for(session: ChromiumSession, site: Site, page: str) -> None:
    await opened(session, site, page)
    await looked(session)

    begun = time.monotonic()
    report = await looked(session)

    assert fields(report) == []
    assert time.monotonic() - begun < 0.5


async def test_a_page_that_was_shown_in_vain_is_waited_for_to_become_another(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, f"{PAGE}?timer=900")
    first = await looked(session)

    second = await looked(session, first.snapshot, 5000)

    assert fields(first) == []
    assert fields(second) == ["Text"]


async def test_requests_under_way_prolong_the_wait_for_another_page(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    first = await looked(session)
    later = "fetch('/slow?ms=900').then(() => document.body.insertAdjacentHTML('beforeend', '<input aria-label=Name>'))"
    await session.tabs.current.page.evaluate(f"void {later}")

    second = await looked(session, first.snapshot, 1)

    assert fields(second) == ["Name"]


async def test_texts_that_change_make_no_other_page(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, f"{PAGE}?clock")
    first = await looked(session)

    begun = time.monotonic()
    second = await looked(session, first.snapshot, 600)

    assert first.snapshot is not None
    assert second.snapshot is not None
    assert second.snapshot.controls == first.snapshot.controls
    assert time.monotonic() - begun >= 0.6


async def test_a_page_that_has_become_another_is_waited_for_while_it_asks_for_more(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    first = await looked(session)
    later = """(async () => {
      const add = (html) => document.body.insertAdjacentHTML('beforeend', html);
      add('<a href="#back">Back</a>');
      await fetch('/slow?ms=700');
      await new Promise((resolve) => setTimeout(resolve, 100));
      await fetch('/slow?ms=500');
      add('<input aria-label=Name>');
    })()"""
    await session.tabs.current.page.evaluate(f"void {later}")

    second = await looked(session, first.snapshot, 1)

    assert fields(second) == ["Name"]
