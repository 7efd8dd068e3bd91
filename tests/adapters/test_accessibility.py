"""Roles and accessible names are those of Chromium's own accessibility tree, but for known differences."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bench.environments import miniwob_pages, serve_folder
from tests.pages.accessibility import KNOWN, Agreement, compare
from tests.pages.harness import PAGES, AgentPage
from tests.webmail import webmail

ROOT = Path(__file__).parents[2]
PASSWORD = "correct horse battery staple"
SKINS = ("classic", "modern", "modern-icon", "shadow")
VIEWS = ("/inbox", "/compose", "/message/1", "/settings")
TASKS = (
    "book-flight", "choose-date", "choose-list", "click-checkboxes-large", "click-collapsible-2", "click-menu",
    "click-tab-2-hard", "click-widget", "copy-paste-2", "email-inbox", "enter-time", "form-sequence-3",
    "grid-coordinate", "login-user-popup", "navigate-tree", "order-food", "phone-book", "search-engine",
    "social-media-all", "use-autocomplete", "use-slider-2", "use-spinner",
)  # fmt: skip
"""Of MiniWoB++: one of each kind of widget."""
NEVER_LOADS = {"browser_hung.html"}


@pytest.fixture(scope="module")
def mails(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with webmail(tmp_path_factory.mktemp("mail"), PASSWORD) as address:
        yield address


@pytest.fixture(scope="module")
def miniwob() -> Iterator[str]:
    with serve_folder(miniwob_pages()) as address:
        yield f"{address}/miniwob"


@pytest.fixture(scope="module")
def pages() -> Iterator[str]:
    with serve_folder(PAGES) as address:
        yield address


async def test_at_least_98_of_100_agree_on_all_pages_and_every_difference_is_known(
    agent: AgentPage, pages: str, mails: str, miniwob: str
) -> None:
    found = Agreement()
    for file in sorted(PAGES.glob("*.html")):
        if file.name not in NEVER_LOADS:
            await agent.page.goto(f"{pages}/{file.name}")
            await compare(agent, file.name, found)
    for skin in SKINS:
        await agent.page.request.post(f"{mails}/__admin__/skin", data={"skin": skin}, fail_on_status_code=True)
        await agent.page.goto(f"{mails}/login")
        await agent.page.request.post(f"{mails}/login", form={"user": "demo", "password": PASSWORD})
        for view in VIEWS:
            await agent.page.goto(mails + view)
            await compare(agent, f"{skin}{view}", found)
    for task in TASKS:
        await agent.page.goto(f"{miniwob}/{task}.html")
        await agent.value("(() => { Math.seedrandom('1'); core.EPISODE_MAX_TIME = -1; core.startEpisodeReal() })()")
        await compare(agent, task, found)

    print(found.report())
    assert found.compared > 1500
    assert found.share >= 0.98, found.report()
    assert not found.unknown, found.report()


async def test_a_known_difference_is_counted_and_kept_apart_from_new_ones(agent: AgentPage) -> None:
    await agent.show("<button>Send</button><div role=option>Alone</div>")
    found = Agreement()

    await compare(agent, "shown", found)

    assert (found.compared, found.share, found.unknown, len(found.known)) == (2, 0.5, [], 1)
    assert any("outside of any listbox" in reason for reason in KNOWN.values())
