"""What a page sends because of an input when its step is over is told with the input; a real Chromium."""

from collections.abc import Mapping

from replaywright.browser.session import ChromiumSession
from replaywright.ports.browser import Pressed
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, opened, work

_SAVES_A_DRAFT = """
let timer;
document.body.innerHTML = '<label>Draft <input id=draft></label><button>Save</button>';
draft.oninput = () => { clearTimeout(timer); timer = setTimeout(() => fetch('/draft', {method: 'POST'}), 400); };
document.querySelector('button').onclick = () => void setTimeout(() => fetch('/save', {method: 'POST'}), 400);
void 0;
"""
DRAFT = {"label": "Draft"}


def sent(told: Mapping[str, Pressed]) -> dict[str, list[str]]:
    """Which addresses each input is told to have sent to."""
    return {name: [one.url.rpartition("/")[2] for one in each.evidence.requests] for name, each in told.items()}


async def shown(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, "browser_second.html")
    await session.tabs.current.page.evaluate(_SAVES_A_DRAFT)


async def test_what_a_field_sends_after_a_pause_is_of_the_field(session: ChromiumSession, site: Site) -> None:
    await shown(session, site)

    await session.perform(work("fill", DRAFT, text="Dear Ann", fingerprint="field"))
    await session.perform(work("wait_for", expect=[{"exists": DRAFT}]))
    await session.idle(1.0)

    assert sent(session.pressed()) == {"field": ["draft"]}


async def test_what_may_be_of_a_press_or_of_the_field_after_it_is_told_with_both(
    session: ChromiumSession, site: Site
) -> None:
    await shown(session, site)

    await session.perform(work("click", button("Save"), fingerprint="press", causes=()))
    await session.perform(work("fill", DRAFT, text="Dear Ann", fingerprint="field"))
    await session.idle(1.0)

    told = sent(session.pressed())
    assert sorted(told["press"]) == ["draft", "save"]
    assert "draft" in told["field"]


async def test_a_field_that_another_one_follows_is_told_nothing_more(session: ChromiumSession, site: Site) -> None:
    await shown(session, site)
    await session.tabs.current.page.evaluate(
        "document.body.append(Object.assign(document.createElement('input'), {ariaLabel: 'Other'}))"
    )

    await session.perform(work("fill", DRAFT, text="Dear Ann", fingerprint="field"))
    await session.perform(work("fill", {"label": "Other"}, text="x", fingerprint="other"))
    await session.idle(1.0)

    assert sent(session.pressed()) == {"field": [], "other": ["draft"]}
