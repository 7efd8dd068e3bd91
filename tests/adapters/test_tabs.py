"""Tabs that come late, close themselves, or come in numbers; frames that are turned, moved, nested and replaced."""

from collections.abc import Iterator

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.domain.task.actions import Cause
from replaywright.errors import ActionFailed
from tests.adapters.channel_site import ChannelSite, serving
from tests.adapters.steps import button, holds, link, says, work


@pytest.fixture(scope="module")
def site() -> Iterator[ChannelSite]:
    with serving() as served:
        yield served


async def opened(session: ChromiumSession, site: ChannelSite, page: str) -> None:
    await session.perform(work("goto", url=site.url(page)))


@pytest.mark.parametrize(
    ("target", "arrives"),
    [(button("Plain popup"), "?plain"), (link("Without opener"), "?blank"), (button("Late popup"), "?late")],
)
async def test_a_new_tab_is_awaited_recorded_and_left_for_its_opener(
    session: ChromiumSession, site: ChannelSite, target: dict[str, str], arrives: str
) -> None:
    await opened(session, site, "channel_tabs.html")

    there = await session.perform(work("click", target, causes=(Cause.POPUP,), expect=[{"url_contains": arrives}]))
    back = await session.perform(work("close_tab"))

    assert holds(there)
    assert there.evidence.tabs == (f"opened {site.url('channel_tabs.html')}",)
    assert back.url == site.url("channel_tabs.html")
    assert back.evidence.tabs == (f"closed {site.url('channel_tabs.html')}",)


async def test_a_tab_that_does_its_work_and_closes_leaves_the_opener_to_go_on(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site, "channel_tabs.html")

    report = await session.perform(work("click", button("Log in elsewhere"), expect=[says("said logged in")]))
    await session.tabs.until(lambda: len(session.tabs.open_tabs) == 1, 10)
    following = await session.perform(work("hover", button("Many")))

    assert holds(report)
    assert report.evidence.tabs[0].startswith("opened ")
    assert following.url == site.url("channel_tabs.html")


async def test_the_current_tab_may_close_itself_and_the_next_step_is_back_at_its_opener(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site, "channel_tabs.html")
    await session.perform(work("click", button("Plain popup"), expect=[{"url_contains": "?plain"}]))

    closed = await session.perform(work("click", button("Close me")))
    following = await session.perform(work("hover", button("Many")))

    assert closed.evidence.tabs == (f"closed {site.url('channel_tabs.html')}",)
    assert following.url == site.url("channel_tabs.html")


async def test_among_many_tabs_one_is_chosen_by_address_or_title_and_never_the_first_of_several(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(session, site, "channel_tabs.html")
    await session.perform(work("click", button("Many")))
    await session.tabs.until(
        lambda: len(session.tabs.attached) == 4 and all(tab.title for tab in session.tabs.attached), 20
    )

    second = await session.perform(work("switch_tab", title_contains="Tab many2"))
    third = await session.perform(work("switch_tab", url_contains="?many3"))
    with pytest.raises(ActionFailed) as ambiguous:
        await session.perform(work("switch_tab", url_contains="?many", timeout_ms=2_000))

    assert second.url.endswith("?many2")
    assert third.url.endswith("?many3")
    assert ambiguous.value.reason == "ambiguous_tab"


# ------------------------------------------------------------------------------------------------- frames


@pytest.mark.parametrize(
    "style",
    [
        "transform: rotate(30deg); margin: 200px",
        pytest.param("transform: scale(0.5); border: 20px solid", marks=pytest.mark.long),
        "transform: rotate(-90deg) scale(0.7, 1.4); margin: 150px; padding: 12px",
        pytest.param("transform: perspective(600px) rotateY(40deg); margin: 100px", marks=pytest.mark.long),
        "margin-top: 1800px; border: 7px dotted",
    ],
)
@pytest.mark.parametrize("host", [pytest.param("127.0.0.1", marks=pytest.mark.long), "other.localhost"])
async def test_a_click_meets_its_element_however_the_frame_is_drawn(
    session: ChromiumSession, site: ChannelSite, style: str, host: str
) -> None:
    await opened(session, site, f"channel_frames.html?host={host}&style={style}")
    await session.perform(work("wait_for", expect=[says("inner ready")], timeout_ms=20_000))

    for name in ("Top left", "Bottom right"):
        report = await session.perform(work("click", button(name), expect=[says(f"clicked {name}")]))

        assert holds(report)
        assert report.evidence.input_landed is True


@pytest.mark.parametrize(
    "kind",
    ["srcdoc", "written", pytest.param("sandboxed", marks=pytest.mark.long), "lazy", "nested", "moved", "replaced"],
)
async def test_elements_in_every_kind_of_frame_are_filled_and_clicked(
    session: ChromiumSession, site: ChannelSite, kind: str
) -> None:
    await opened(session, site, f"channel_frames.html?kind={kind}")

    filled = await session.perform(work("fill", {"label": "Word"}, text="hello", timeout_ms=20_000))
    clicked = await session.perform(work("click", button("Say it"), expect=[says("word hello")]))
    assert clicked.target is not None
    again = await session.perform(work("click", clicked.target, expect=[says("word hello")]))

    assert filled.acted
    assert holds(clicked)
    assert holds(again)


async def test_what_covers_a_turned_frame_is_found_before_the_click(
    session: ChromiumSession, site: ChannelSite
) -> None:
    await opened(
        session, site, "channel_frames.html?host=other.localhost&style=transform:rotate(30deg);margin:200px&cover=1"
    )
    await session.perform(work("wait_for", expect=[says("inner ready")], timeout_ms=20_000))

    with pytest.raises(ActionFailed) as covered:
        await session.perform(work("click", button("Top left"), timeout_ms=4_000))

    assert covered.value.reason == "covered"
    assert covered.value.dispatched is False
