"""Pictures around a step, in a real browser: what is on the screen without secrets, and where the element was."""

import asyncio

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.targets import Box
from replaywright.domain.secrets.redaction import Redactor
from replaywright.reports.figures import kind_and_size
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, opened, work
from tests.waiting import until

SECRET = "s3cret value/4711"
OTHER = "another+one/08 15"


def redactor(secret: str) -> Redactor:
    return Redactor([("TOKEN", secret)])


async def shown(session: ChromiumSession, site: Site, text: str) -> bytes:
    """The picture after `text`, which is a secret, was entered and echoed in many places."""
    await opened(session, site, "capture.html")
    await session.perform(work("fill", {"label": "Token"}, text=text, sensitive=True))
    picture = await session.picture(redactor(text).text)
    assert picture.data is not None, picture.missing
    return picture.data


async def test_a_picture_is_of_what_is_on_the_screen_and_shows_nothing_of_a_secret(
    session: ChromiumSession, site: Site
) -> None:
    first, second = await shown(session, site, SECRET), await shown(session, site, OTHER)

    assert first == second  # nothing in it depends on the secret
    size = await session.tabs.current.page.evaluate("[innerWidth, innerHeight]")
    assert kind_and_size(first) == ("image/jpeg", *size)


async def test_the_page_is_as_it_was_after_its_picture_was_taken(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "marks.html")
    page, state = session.tabs.current.page, "[document.documentElement.outerHTML, changes]"
    before = await page.evaluate(state)

    picture = await session.picture(redactor(SECRET).text)

    assert picture.view is not None
    await page.wait_for_function("document.getAnimations().length === 0")
    assert await page.evaluate(state) == before


TOUCHED = "[scrollY, document.activeElement.tagName]"


async def test_the_page_is_looked_at_and_not_touched_while_its_picture_is_taken(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "marks.html")
    page, picturing = session.tabs.current.page, asyncio.get_running_loop().create_future()
    session.environment.show()

    performing = asyncio.create_task(session.perform(work("hover", button("Below"), picturing=picturing)))
    await until(lambda: session.tabs.attempt is not None and session.tabs.attempt.asked)
    before = [await page.evaluate(TOUCHED) for _ in range(3)]
    picturing.set_result(None)
    report = await performing

    assert before == [[0, "BODY"]] * 3
    assert report.acted
    assert await page.evaluate("scrollY") > 0


async def test_the_page_is_not_even_looked_at_while_secrets_are_hidden_in_it(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "capture.html")
    await session.perform(work("fill", {"label": "Token"}, text=SECRET, sensitive=True))
    picturing = asyncio.create_task(session.picture(redactor(SECRET).text))

    report = await session.perform(work("fill", {"label": "Token"}, text=OTHER, sensitive=True, picturing=picturing))

    assert report.acted
    assert picturing.done()
    assert not session.environment.is_shown


async def test_a_secret_that_comes_while_the_page_is_looked_at_keeps_its_picture_from_being_kept(
    session: ChromiumSession, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await opened(session, site, "browser_two_editions.html")
    tab = session.tabs.current

    def comes() -> None:
        tab.notify(tab.main, f"document.body.prepend('{SECRET}')")

    monkeypatch.setattr(session.environment, "show", comes)
    picture = await session.picture(redactor(SECRET).text)

    assert picture.data is None
    assert "showed a secret" in picture.missing


@pytest.mark.long
async def test_the_part_of_the_page_that_is_shown_is_told_with_the_picture(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "marks.html")
    await session.tabs.current.page.evaluate("scrollTo(0, 1234)")

    picture = await session.picture(redactor(SECRET).text)

    assert picture.view is not None
    assert picture.view.y == 1234


async def test_where_the_element_was_is_told_in_frames_of_this_and_other_sites_too(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "marks.html")

    boxes = {}
    for name in ("Save", "Near", "Far"):
        boxes[name] = (await session.perform(work("click", button(name), is_pictured=True))).box
    unasked = await session.perform(work("click", button("Near")))

    assert boxes == {
        "Save": Box(x=60, y=60, width=120, height=40),
        "Near": Box(x=100, y=280, width=100, height=40),
        "Far": Box(x=440, y=280, width=100, height=40),
    }
    assert unasked.box is None  # a frame has to be asked for, which takes time


async def test_of_an_element_that_is_scrolled_into_view_there_is_no_place_in_the_picture_before(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, "marks.html")

    below = await session.perform(work("click", button("Below"), is_pictured=True))
    above = await session.perform(work("hover", button("Below"), is_pictured=True))

    assert below.box is None
    assert above.box == Box(x=60, y=4000, width=120, height=40)  # of the page, however far that is scrolled


@pytest.mark.long
async def test_a_page_that_hangs_has_no_picture_and_says_so(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "marks.html")
    await session.tabs.current.page.evaluate(
        "void setTimeout(() => { for (const end = Date.now() + 9000; Date.now() < end;); })"
    )

    picture = await session.picture(redactor(SECRET).text)

    assert picture.data is None
    assert "did not answer" in picture.missing
