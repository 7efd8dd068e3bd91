"""What a step, and a page, get to see of a place that the policy forbids: a real Chromium behind a real keeper."""

import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from activities.session.network import Network
from bench.leaks.matrix import Rig, keeper, only
from bench.leaks.sites import Forbidden, OwnSite, forbidden, own
from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.session.network_policy import NetworkSeen
from replaywright.domain.task.steps import Goto
from replaywright.errors import ActionFailed
from replaywright.ports.browser import Work


@dataclass
class Place:
    rig: Rig
    site: OwnSite
    elsewhere: Forbidden
    session: ChromiumSession
    network: Network

    @property
    def home(self) -> str:
        return f"http://127.0.0.1:{self.site.port}/"

    @property
    def away(self) -> str:
        return f"127.0.0.1:{self.elsewhere.ports[0]}"


@pytest.fixture(scope="module")
async def place(chromium_path: Path, browsers: ChromiumBrowsers) -> AsyncIterator[Place]:
    async with AsyncExitStack() as exits:
        elsewhere = await exits.enter_async_context(forbidden(1))
        site = await exits.enter_async_context(own((), ()))
        policy = only(f"127.0.0.1:{site.port}")
        rig = await exits.enter_async_context(keeper(chromium_path, policy))
        session = await browsers.attach(rig.endpoint)
        exits.push_async_callback(session.detach)

        async def seen(since_s: float | None) -> NetworkSeen:
            return await rig.keeper.network(since_monotonic_s=since_s)

        yield Place(rig, site, elsewhere, session, Network(policy, seen))


async def led(place: Place, url: str) -> ActionFailed:
    with pytest.raises(ActionFailed) as failed:
        await place.session.perform(Work(step=Goto(action="goto", url=url), timeout_ms=15_000))
    return failed.value


@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_a_step_that_is_redirected_to_a_forbidden_page_learns_the_rule_from_the_keeper(
    place: Place, scheme: str
) -> None:
    begun_s = time.monotonic()

    failed = await led(place, f"{place.home}redirect/302?to={scheme}://{place.away}/secret?token=1")
    blocked = await place.network.refusal_of(place.session.wanted_url, begun_s, dispatched=failed.dispatched)
    later = await place.network.refusal_of(place.session.wanted_url, time.monotonic(), dispatched=True)

    assert failed.reason in ("http_403", "navigation_failed")
    assert blocked is not None
    assert blocked.rule == "leaks: hosts.allow"
    assert place.away in str(blocked)
    assert later is None
    assert not place.elsewhere.reached


@pytest.mark.parametrize(
    "url",
    [
        "file:///etc/passwd",
        "data:text/html,<title>Inside</title>",
        "view-source:file:///etc/passwd",
        "chrome://version",
        "devtools://devtools/bundled/inspector.html",
    ],
)
async def test_a_page_does_not_get_to_a_scheme_that_is_no_web_page(place: Place, url: str) -> None:
    page = await place.rig.context.new_page()
    await page.goto(place.home)

    await page.evaluate("url => { location.href = url }", url)
    await page.evaluate(
        "url => { document.body.append(Object.assign(document.createElement('a'),"
        " {href: url, id: 'go'})); document.getElementById('go').click() }",
        url,
    )
    shown = await page.evaluate("new Promise(over => setTimeout(() => over(location.href), 200))")
    await page.close()

    assert shown == place.home
