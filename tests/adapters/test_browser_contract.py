"""What a browser session promises, for the scripted one of `testing` and for a real one on the same two pages."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from replaywright.browser.devtools.attach import ChromiumBrowsers
from replaywright.domain.page.observed import PredicateResult
from replaywright.domain.page.targets import Target
from replaywright.domain.task.actions import Cause
from replaywright.errors import PolicyBlocked
from replaywright.ports.browser import BrowserSession, Report
from replaywright.testing.browser import FakeBrowserSession, FakeElement, FakePage, FakeSite
from tests.adapters.steps import PREDICATE, button, holds, link, says, work
from tests.e2e.plain_site import Answer, Asked, serving

_MAIL = """<!doctype html><title>Mail</title><label>Subject <input id=subject></label>
<button onclick="said.textContent = 'Stored ' + subject.value">Store</button>
<button>Edit</button><button>Edit</button><a href="/inbox">Inbox</a><p id=said></p>"""
_INBOX = "<!doctype html><title>Inbox</title><h1>No messages</h1>"

SUBJECT = {"label": "Subject"}


@dataclass
class Place:
    """A session, and the address of the page with the form."""

    session: BrowserSession
    url: str

    async def do(self, action: str, target: dict[str, str] | None = None, **more: Any) -> Report:
        return await self.session.perform(work(action, target, **more))

    async def hold(self, **predicate: Any) -> list[bool]:
        """Whether the predicate holds now."""
        return [verdict.passed for verdict in await self.session.check([PREDICATE.validate_python(predicate)], 500)]


def scripted(base: str) -> FakeSite:
    """The two pages once more."""

    def element(role: str, name: str, **more: Any) -> FakeElement:
        label = name if role == "textbox" else ""
        return FakeElement(Target(tag="x", role=role, name=name, label=label), **more)

    mail = {
        "subject": element("textbox", "Subject"),
        "store": element("button", "Store", shows="Stored {{subject}}"),
        "edit": element("button", "Edit"),
        "edit2": element("button", "Edit"),
        "inbox": element("link", "Inbox", goes_to=f"{base}/inbox"),
    }
    pages = {f"{base}/": FakePage(mail, "Mail"), f"{base}/inbox": FakePage({}, "Inbox", ("No messages",))}
    return FakeSite(pages)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    def answer(asked: Asked) -> Answer:
        return Answer(_INBOX if asked.path == "/inbox" else _MAIL)

    with serving(answer) as url:
        yield url


@pytest.fixture(params=["fake", "real"])
async def place(
    request: pytest.FixtureRequest, address: str, browsers: ChromiumBrowsers, endpoint: str
) -> AsyncIterator[Place]:
    is_fake = request.param == "fake"
    session: BrowserSession
    session = FakeBrowserSession(scripted(address)) if is_fake else await browsers.attach(endpoint)
    await session.perform(work("goto", url=f"{address}/"))
    yield Place(session, f"{address}/")
    await session.detach()


async def test_a_value_is_entered_and_its_expectation_told_before_and_after(place: Place) -> None:
    report = await place.do("fill", SUBJECT, text="a1", expect=[{"value_equals": "a1", "of": SUBJECT}])

    assert holds(report)
    assert report.acted
    assert report.target is not None
    assert (report.target.role, report.target.name) == ("textbox", "Subject")
    assert report.evidence.input_landed is True
    assert report.snapshot is None


async def test_what_is_there_already_is_not_entered_again(place: Place) -> None:
    await place.do("fill", SUBJECT, text="a1")

    report = await place.do("fill", SUBJECT, text="a1")

    assert holds(report)
    assert not report.acted


async def test_a_press_shows_what_it_did(place: Place) -> None:
    await place.do("fill", SUBJECT, text="a1")

    report = await place.do("click", button("Store"), expect=[says("Stored a1")])

    assert holds(report)
    assert report.acted
    assert [verdict.passed for verdict in report.before] == [False]
    assert report.proof is not None
    assert Cause.NEW_DOCUMENT not in report.evidence.causes


async def test_an_unmet_expectation_is_a_report_with_the_page(place: Place) -> None:
    report = await place.do("click", button("Store"), expect=[says("Stored a1")], timeout_ms=1500)

    assert report.acted
    assert [verdict.passed for verdict in report.after] == [False]
    assert report.snapshot is not None
    assert "Edit" in {element.target.name for element in report.snapshot.elements}


@pytest.mark.parametrize(("name", "reason", "count"), [("Edit", "ambiguous", 2), ("Delete", "not_found", 0)])
async def test_a_miss_is_a_report_and_nothing_is_done(place: Place, name: str, reason: str, count: int) -> None:
    report = await place.do("click", button(name), timeout_ms=1500)

    assert (report.lookup.hit, report.lookup.reason, report.lookup.candidates) == (False, reason, count)
    assert not report.acted
    assert report.target is None
    assert report.snapshot is not None


async def test_an_expectation_that_holds_already_spares_the_press(place: Place) -> None:
    await place.do("click", button("Store"), expect=[says("Stored")])

    report = await place.do("click", button("Store"), expect=[says("Stored")], skip_if_holds=True)

    assert holds(report)
    assert not report.acted


async def test_a_link_opens_another_document_and_going_back_the_first(place: Place) -> None:
    document = place.session.document

    report = await place.do("click", link("Inbox"), expect=[says("No messages")])
    opened = (place.session.url, report.url, report.title, place.session.document != document)
    await place.do("go_back")

    assert holds(report)
    assert Cause.NEW_DOCUMENT in report.evidence.causes
    assert opened == (f"{place.url}inbox", f"{place.url}inbox", "Inbox", True)
    assert place.session.url == place.url


async def test_what_raises_before_the_input_leaves_the_page_as_it_is(place: Place) -> None:
    seen: list[tuple[str, list[bool]]] = []

    async def refuse(target: Target | None, before: tuple[PredicateResult, ...]) -> None:
        assert target is not None
        seen.append((target.name, [verdict.passed for verdict in before]))
        raise PolicyBlocked("no", rule="test", dispatched=False)

    with pytest.raises(PolicyBlocked):
        await place.session.perform(work("click", button("Store"), expect=[says("Stored")]), refuse)

    assert seen == [("Store", [False])]
    assert await place.hold(text_contains="Stored") == [False]


async def test_a_check_tells_what_holds_and_touches_nothing(place: Place) -> None:
    assert await place.hold(text_contains="Edit") == [True]
    assert await place.hold(text_contains="Dit") == [True]
    assert await place.hold(text_contains="Stored") == [False]
    assert await place.hold(url_contains="/inbox") == [False]
    assert await place.hold(title_contains="Mail") == [True]


async def test_a_page_is_restored_at_its_address(place: Place) -> None:
    await place.do("click", link("Inbox"))
    state, outline = await place.session.state()
    await place.do("go_back")

    await place.session.restore(state)

    assert place.session.url == f"{place.url}inbox"
    assert await place.session.outline() == outline


async def test_an_element_that_is_only_looked_for_is_given_nothing(place: Place) -> None:
    await place.do("fill", SUBJECT, text="kept")

    reports = [
        await place.do("click", button("Store"), looks=True),
        await place.do("click", link("Inbox"), looks=True),
        await place.do("fill", SUBJECT, text="other", looks=True),
        await place.do("click", button("Send"), looks=True, timeout_ms=500),
    ]

    assert [(report.lookup.hit, report.acted) for report in reports] == [(True, False)] * 3 + [(False, False)]
    assert place.session.url == place.url
    await place.do("click", button("Store"))
    assert await place.hold(text_contains="Stored kept") == [True]
