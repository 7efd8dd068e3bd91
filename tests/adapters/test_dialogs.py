"""Dialogs: each is answered as its step declares, otherwise with no, and none goes unrecorded."""

import asyncio
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed
from tests.adapters.channel_site import ChannelSite, serving
from tests.adapters.chromium import Chromium
from tests.adapters.steps import button, holds, link, says, work


@pytest.fixture(scope="module")
def site() -> Iterator[ChannelSite]:
    with serving() as served:
        yield served


async def opened(session: ChromiumSession, site: ChannelSite, query: str = "") -> None:
    await session.perform(work("goto", url=site.url(f"channel_dialogs.html{query}"), dialog="accept"))


@pytest.mark.parametrize(
    ("declared", "said", "recorded"),
    [
        ({}, "said false", "confirm: Delete it? (dismissed)"),
        ({"dialog": "dismiss"}, "said false", "confirm: Delete it? (dismissed)"),
        ({"dialog": "accept"}, "said true", "confirm: Delete it? (accepted)"),
    ],
)
async def test_a_dialog_gets_the_answer_that_its_step_declares(
    session: ChromiumSession, site: ChannelSite, declared: dict[str, str], said: str, recorded: str
) -> None:
    await opened(session, site)

    report = await session.perform(work("click", button("Delete"), expect=[says(said)], **declared))

    assert holds(report)
    assert report.evidence.dialogs == (recorded,)
    assert report.evidence.causes == (Cause.DIALOG,)


async def test_several_dialogs_get_their_answers_in_order_and_no_text_of_ours_is_recorded(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site)

    listed = await session.perform(
        work(
            "click",
            button("Several"),
            dialog=["dismiss", "accept"],
            dialog_text="Zoë",
            expect=[says("said false,Zoë")],
        )
    )
    everyone = await session.perform(
        work("click", button("Several"), dialog="accept", expect=[says("said true,nobody")])
    )

    assert holds(listed)
    assert listed.evidence.dialogs == (
        "confirm: Sure? (dismissed)",
        "prompt: Your name (accepted with a text)",
        "alert: Done (dismissed)",
    )
    assert holds(everyone)
    assert everyone.evidence.dialogs[1] == "prompt: Your name (accepted)"


async def test_a_dialog_that_comes_after_a_request_still_belongs_to_the_step(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site)

    report = await session.perform(
        work("click", button("Fetch first"), dialog="accept", causes=(Cause.DIALOG,), expect=[says("said true")])
    )

    assert holds(report)
    assert report.evidence.dialogs == ("confirm: Fetched, go on? (accepted)",)


async def test_dialogs_while_an_element_is_looked_for_get_no_and_do_not_stop_the_step(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site)
    await session.perform(work("click", button("Bring late")))
    await session.perform(work("click", button("Nag")))

    report = await session.perform(
        work("click", button("Late"), dialog="accept", expect=[says("late clicked")], timeout_ms=20_000)
    )

    assert holds(report)
    assert "confirm: Still there? (dismissed) before the step acted" in report.evidence.dialogs


async def test_a_dialog_on_load_and_one_in_a_new_tab_are_answered(session: ChromiumSession, site: ChannelSite) -> None:
    loaded = await session.perform(
        work("goto", url=site.url("channel_dialogs.html?loud"), dialog="accept", expect=[says("said loaded true")])
    )
    popup = await session.perform(work("click", button("Loud tab"), dialog="accept", expect=[says("said loaded true")]))

    assert holds(loaded)
    assert loaded.evidence.dialogs == ("confirm: Welcome? (accepted)",)
    assert holds(popup)
    assert popup.evidence.dialogs == ("confirm: Welcome? (accepted)",)
    assert popup.evidence.tabs == (f"opened {site.url('channel_dialogs.html')}",)


async def test_a_dialog_of_a_frame_in_another_process_is_answered(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site, "?frame")
    await session.perform(work("wait_for", expect=[says("inner ready")]))

    snapshot = await session.snapshot()
    inner = next(
        element.target for element in snapshot.elements if element.target.frame and element.target.name == "Delete"
    )
    report = await session.perform(work("click", inner, dialog="accept", expect=[says("said true")]))

    assert holds(report)
    assert report.evidence.dialogs[0].startswith("confirm: Delete it?")


async def test_a_sandboxed_frame_is_refused_its_dialog_and_its_popup_and_that_is_told(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site, "?boxed")

    report = await session.perform(work("click", button("Boxed"), expect=[says("asked false null")]))

    assert holds(report)
    assert not report.evidence.dialogs
    assert [text.split(" ")[0] for text in report.evidence.blocked] == ["Ignored", "Blocked"]


async def test_waiting_may_declare_the_answer_to_what_it_waits_for(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site)
    await session.perform(work("click", button("Ask soon"), causes=()))

    report = await session.perform(work("wait_for", dialog="accept", expect=[says("waited for: true")]))

    assert holds(report)
    assert report.evidence.dialogs == ("confirm: Soon? (accepted)",)


async def test_a_page_that_asks_before_it_is_left_stays_unless_told_otherwise(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site)
    await session.perform(work("click", button("Guard")))

    with pytest.raises(ActionFailed) as held:
        await session.perform(work("goto", url=site.url("channel_tabs.html")))
    stayed = await session.perform(work("click", link("Leave")))
    await session.perform(work("click", button("Delete")))
    left = await session.perform(work("goto", url=site.url("channel_tabs.html"), dialog="accept"))

    assert held.value.reason == "held_by_dialog"
    assert "dialog: accept" in str(held.value)
    assert stayed.url == site.url("channel_dialogs.html")
    assert stayed.evidence.dialogs[-1].startswith("beforeunload:")
    assert stayed.evidence.dialogs[-1].endswith("(dismissed)")
    assert left.url == site.url("channel_tabs.html")
    assert left.evidence.causes == (Cause.NEW_DOCUMENT,)


async def test_what_was_asked_of_a_step_that_failed_is_known_too(session: ChromiumSession, site: ChannelSite) -> None:
    await opened(session, site)
    await session.perform(work("click", button("Guard")))
    with pytest.raises(ActionFailed):
        await session.perform(work("goto", url=site.url("channel_tabs.html")))

    evidence = session.last_evidence
    await session.perform(work("goto", url=site.url("channel_tabs.html"), dialog="accept"))

    assert len(evidence.dialogs) == 1
    assert evidence.dialogs[0].startswith("beforeunload")


LOST_WORKER = """
import asyncio, sys
from playwright.async_api import async_playwright
async def main():
    async with async_playwright() as driver:
        browser = await driver.chromium.connect_over_cdp(sys.argv[1])
        page = browser.contexts[0].pages[0]
        page.on("dialog", lambda dialog: print("open", flush=True))
        await page.goto(sys.argv[2])
        if len(sys.argv) > 3:
            await page.get_by_role("button", name=sys.argv[3]).click(no_wait_after=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("query", "pressed"), [("", "Delete"), pytest.param("", "Several", marks=pytest.mark.long), ("?loud", "")]
)
async def test_a_dialog_that_a_lost_worker_left_open_is_dismissed_by_the_next(  # noqa: PLR0917 - fixtures and cases
    browsers: ChromiumBrowsers, site: ChannelSite, chromium_path: Path, tmp_path: Path, query: str, pressed: str
) -> None:
    async with Chromium(chromium_path, tmp_path) as address:
        arguments = [address, site.url(f"channel_dialogs.html{query}"), *([pressed] if pressed else [])]
        worker = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LOST_WORKER, *arguments, stdout=asyncio.subprocess.PIPE, start_new_session=True
        )
        assert worker.stdout is not None
        async with asyncio.timeout(30):
            assert await worker.stdout.readline() == b"open\n"
        os.killpg(worker.pid, signal.SIGKILL)
        await worker.wait()
        await worker.stdout.read()

        adopted = await browsers.attach(address)
        report = await adopted.perform(work("wait_for", expect=[says("said")]))
        await adopted.detach()

    assert holds(report)
    assert "true" not in report.title
    assert any("taken over" in line for line in report.evidence.dialogs)
