"""What is kept of a page when a step has failed: complete as far as it can be had, and without secrets."""

import struct
import time

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.browser.reading import capture
from replaywright.browser.session import ChromiumSession
from replaywright.domain.secrets.redaction import Redactor
from replaywright.observing import observed_by
from replaywright.ports.browser import Capture
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work
from tests.telemetry.told import Remembering

SECRET = "s3cret value/4711"
OTHER = "another+one/08 15"


def redactor(secret: str) -> Redactor:
    return Redactor([("TOKEN", secret)])


def size_of(png: bytes | None) -> tuple[int, int]:
    assert png is not None
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


async def entered(session: ChromiumSession, site: Site, text: str, *, known: bool = True) -> Capture:
    """The page after `text` was entered into a plain field and echoed in many places."""
    await opened(session, site, "capture.html")
    await session.perform(work("fill", {"label": "Token"}, text=text, sensitive=known))
    return await session.capture(redactor(text if known else "not on the page").text)


async def test_a_picture_shows_nothing_of_a_secret_wherever_the_page_echoes_it(
    session: ChromiumSession, site: Site
) -> None:
    masked = [(await entered(session, site, text)).screenshot for text in (SECRET, OTHER)]
    open_ones = [(await entered(session, site, text, known=False)).screenshot for text in ("plain text", "other text")]

    # Two secrets make the same picture: nothing in it depends on them. Texts that are no secrets are to be seen.
    assert masked[0] == masked[1]
    assert open_ones[0] != open_ones[1]
    assert masked[0] not in open_ones


async def test_a_session_that_did_not_type_the_secret_hides_it_as_well(
    session: ChromiumSession, site: Site, browsers: ChromiumBrowsers, endpoint: str
) -> None:
    pictures = []
    for text in (SECRET, OTHER):
        await entered(session, site, text)
        adopted = await browsers.attach(endpoint)
        pictures.append((await adopted.capture(redactor(text).text)).screenshot)
        await adopted.detach()

    assert pictures[0] == pictures[1]


async def test_the_page_is_as_it_was_and_was_told_of_nothing(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "capture.html")
    await session.perform(work("fill", {"label": "Note"}, text=SECRET, sensitive=True))
    before, page = await session.snapshot(), session.tabs.current.page
    changes = await page.evaluate("changes")

    seen = await session.capture(redactor(SECRET).text)

    assert seen.screenshot is not None
    assert await page.evaluate("changes") == changes
    assert await page.evaluate("document.getAnimations().length") == 0
    assert (await session.snapshot()).elements == before.elements
    assert await page.evaluate("getComputedStyle(document.getElementById('note')).opacity") == "1"


async def test_even_a_page_that_insists_on_showing_a_field_is_put_back(session: ChromiumSession, site: Site) -> None:
    await entered(session, site, SECRET)

    page = session.tabs.current.page
    style = "[document.getElementById('token').getAttribute('style'), getComputedStyle(token).opacity]"
    assert await page.evaluate(style) == [None, "1"]


async def test_documents_console_and_requests_are_written_without_secrets(session: ChromiumSession, site: Site) -> None:
    seen = await entered(session, site, SECRET)

    assert seen.dom is not None
    everything = "\n".join((seen.dom, *seen.console, *seen.network))
    assert redactor(SECRET).text(everything) == everything
    assert "hidden-field-value" not in everything
    assert '<p id="bottom">{{secret' in seen.dom
    assert '<template shadowrootmode="open"><p>{{secret' in seen.dom
    assert '<p id="inside">{{secret' in seen.dom
    assert any("log entered {{secret" in line for line in seen.console)
    assert any("exception" in line and "thrown later" in line for line in seen.console)
    assert any(f"GET {site.url('echo')} Fetch" in line for line in seen.network)
    assert not any("?" in line for line in seen.network)


async def test_the_value_of_a_password_field_is_written_nowhere_even_if_nobody_knows_it(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "capture.html")
    await session.perform(work("fill", {"label": "Password"}, text="typed by a person"))

    seen = await session.capture(lambda text: text)

    assert seen.dom is not None
    assert "typed by a person" not in seen.dom
    assert "[17 characters left out]" in seen.dom


async def test_a_page_that_hangs_gives_what_can_be_had_in_time(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_hung.html")
    page = session.tabs.current.page
    await page.evaluate("setTimeout(() => { const end = Date.now() + 6000; while (Date.now() < end); }, 0) && 0")
    begun = time.monotonic()

    seen = await session.capture(redactor(SECRET).text)

    assert time.monotonic() - begun < capture.LIMIT_S + 2
    assert seen.screenshot is None
    assert seen.dom is None
    assert set(seen.missing) == {"screenshot", "dom"}
    assert "did not answer" in seen.missing["screenshot"]
    assert any("browser_hung.html Document 200" in line for line in seen.network)


async def test_a_document_over_the_limit_is_cut_between_elements(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "capture.html")
    page = session.tabs.current.page
    await page.evaluate(
        "for (let n = 0; n < 12000; n++) document.body.append(Object.assign("
        "document.createElement('p'), { textContent: `line ${n} of a very long document` }))"
    )

    seen = await session.capture(redactor(SECRET).text)

    assert seen.dom is not None
    assert len(seen.dom) < capture.DOM_CHARACTERS * 1.2
    assert "<!-- cut here" in seen.dom
    assert size_of(seen.screenshot) == tuple(await page.evaluate("[innerWidth, innerHeight]"))


async def test_a_picture_that_cannot_be_masked_is_thrown_away_and_counted(session: ChromiumSession, site: Site) -> None:
    remembering = Remembering()
    await entered(session, site, SECRET)
    anew = """secret => setInterval(() => {
        const shown = document.documentElement.appendChild(document.createElement("p"));
        shown.style.cssText = "position: fixed; top: 0; left: 0";
        shown.textContent = secret;
    }, 1)"""
    await session.tabs.current.page.evaluate(anew, SECRET)

    with observed_by(remembering.metrics):
        seen = await session.capture(redactor(SECRET).text)

    assert seen.screenshot is None
    assert "anew" in seen.missing["screenshot"]
    assert remembering.value("replaywright.secrets.mask_failures", what="picture") == 1
