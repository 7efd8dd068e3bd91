"""Passkeys in a real Chromium, checked by a real relying party: registered in one browser, used in others."""

from pathlib import Path

import pytest
from playwright.async_api import expect

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.session import ChromiumSession
from replaywright.domain.site_session.passkeys import Passkeys
from tests.adapters.chromium import Chromium
from tests.adapters.steps import button, work
from tests.e2e.passkey_site import passkeys_served
from tests.waiting import PATIENT_MS

pytestmark = pytest.mark.slow


async def pressed(session: ChromiumSession, at: str, name: str, says: str) -> None:
    """Press a button of a page, which says this then."""
    await session.perform(work("goto", url=at))
    await session.perform(work("click", button(name)))
    said = session.tabs.current.page.locator("output, h1")
    await expect(said.filter(has_text=says).first).to_be_visible(timeout=PATIENT_MS)


async def test_a_passkey_signs_in_from_other_browsers_with_a_counter_that_grows_and_to_no_other_site(
    session: ChromiumSession, browsers: ChromiumBrowsers, chromium_path: Path, tmp_path: Path
) -> None:
    with passkeys_served() as site, passkeys_served() as other:
        site.live.add("known")
        await session.put_passkeys(())
        await pressed(session, f"{site.url}/login", "Use a passkey", "NotAllowedError")
        await session.tabs.current.page.context.add_cookies([{"name": "sid", "value": "known", "url": site.url}])
        await pressed(session, f"{site.url}/account", "Add a passkey", "registered")
        kept = Passkeys(passkeys=session.passkeys or ())

        counters = []
        for number in range(2):  # the second one knows nothing of the first one's use
            site.live.clear()
            async with Chromium(chromium_path, tmp_path / str(number)) as endpoint:
                elsewhere = await browsers.attach(endpoint)
                await elsewhere.put_passkeys(Passkeys.model_validate_json(kept.model_dump_json()).passkeys)
                await pressed(elsewhere, f"{site.url}/login", "Use a passkey", "Signed in as ada")
                evil = other.url.replace("localhost", "evil.localhost")
                await pressed(elsewhere, f"{evil}/login", "Use a passkey", "SecurityError")
                [used] = elsewhere.passkeys or ()
                counters.append(used.sign_count)
                await elsewhere.detach()

    [made] = kept.passkeys
    assert (made.rp_id, made.user_name) == ("localhost", "ada")
    assert site.counters[1:] == counters
    assert made.sign_count < counters[0] < counters[1]
