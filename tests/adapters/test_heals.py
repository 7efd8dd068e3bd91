"""A changed element is taken as soon as the page rests; what was recorded goes first until something is entered.

A real Chromium.
"""

from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, holds, opened, says, work

PAGE = "browser_two_editions.html"
FIELD = {"role": "textbox", "name": "User name"}


async def recorded(session: ChromiumSession, site: Site, query: dict[str, str]) -> Target:
    await opened(session, site, f"{PAGE}?old")
    report = await session.perform(work("hover", query))
    assert report.target is not None
    return report.target


async def permitted(_target: Target | None, _before: tuple[PredicateResult, ...]) -> None:
    """Let a step go that must not be repeated."""


async def entered(session: ChromiumSession) -> dict[str, str]:
    values: dict[str, str] = await session.tabs.current.page.evaluate(
        "Object.fromEntries(Array.from(document.querySelectorAll('input'), (field) => [field.id, field.value]))"
    )
    return values


async def test_a_changed_field_is_found_by_likeness(session: ChromiumSession, site: Site) -> None:
    target = await recorded(session, site, FIELD)
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", target, text="ann"))

    assert (report.lookup.hit, report.lookup.healed) == (True, True)
    assert await entered(session) == {"u9": "ann"}


async def test_a_changed_field_is_found_by_likeness_as_soon_as_its_document_has_loaded_though_the_page_never_rests(
    session: ChromiumSession, site: Site
) -> None:
    target = await recorded(session, site, FIELD)
    await opened(session, site, f"{PAGE}?picture&comes=2500")

    report = await session.perform(work("fill", target, text="ann"))

    assert (report.lookup.hit, report.lookup.healed) == (True, True)
    assert await entered(session) == {"u9": "ann"}


async def test_what_was_recorded_goes_first_although_it_came_after_another_was_chosen(
    session: ChromiumSession, site: Site
) -> None:
    target = await recorded(session, site, button("Send mail"))
    await opened(session, site, f"{PAGE}?covered")
    await session.perform(work("fill", {"role": "textbox", "name": "Username"}, text="ann"))
    await session.tabs.current.page.evaluate("comes()")

    report = await session.perform(work("click", target, expect=[says("as recorded")]))

    assert holds(report)
    assert not report.lookup.healed


async def test_a_press_that_must_not_be_repeated_waits_for_what_may_be_late(
    session: ChromiumSession, site: Site
) -> None:
    target = await recorded(session, site, button("Send mail"))
    await opened(session, site, PAGE)
    await session.tabs.current.page.evaluate("comes()")

    report = await session.perform(work("click", target, expect=[says("as recorded")]), permitted)

    assert holds(report)
    assert not report.lookup.healed


async def test_what_looks_alike_is_looked_for_anew_where_something_has_come_since(
    session: ChromiumSession, site: Site
) -> None:
    target = await recorded(session, site, button("Send mail"))
    await opened(session, site, PAGE)
    await session.tabs.current.page.evaluate("comes(100, `<button class=x8 name=go>Send a mail</button>`)")

    report = await session.perform(work("click", target, expect=[says("changed")]), permitted)

    assert not report.lookup.hit
    assert await session.tabs.current.page.locator("#out").inner_text() == "untouched"


async def test_a_press_is_healed_on_a_page_that_has_rested_since_before_its_step(
    session: ChromiumSession, site: Site
) -> None:
    target = await recorded(session, site, button("Send mail"))
    await opened(session, site, PAGE)
    await session.perform(work("wait_for", expect=[says("untouched")]))

    report = await session.perform(work("click", target, expect=[says("changed")]), permitted)

    assert holds(report)
    assert report.lookup.healed


async def test_a_list_without_a_name_that_stands_among_other_texts_is_compared_before_it_is_given_anything(
    session: ChromiumSession, site: Site
) -> None:
    page, choice = "browser_list_moved.html", {"value": "calendar"}
    await opened(session, site, f"{page}?old")
    recorded = await session.perform(work("select_option", {"css": "select"}, **choice))
    assert recorded.target is not None
    await opened(session, site, page)

    report = await session.perform(work("select_option", recorded.target, **choice))

    assert (report.lookup.hit, report.lookup.healed, report.acted) == (True, True, True)
