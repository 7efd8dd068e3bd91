"""A page that a server has rendered is given input once it hears it; a real Chromium."""

import json
from dataclasses import replace

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.ports.browser import Work
from tests.adapters.browser_site import Site
from tests.adapters.steps import button, opened, work

PAGE = "hydrated.html"
STEPS = (
    work("fill", {"label": "Name"}, text="Ada"),
    work("select_option", {"label": "Colour"}, value="Blue"),
    work("check", {"label": "Agree"}),
    work("click", button("Order")),
)
ORDERED = {"name": "Ada", "colour": "Blue", "agree": True}


async def ordered(session: ChromiumSession) -> object:
    said = await session.tabs.current.page.locator("#saved").inner_text()
    return json.loads(said) if said else None


async def recorded(session: ChromiumSession) -> list[Work]:
    reports = [await session.perform(replace(step, learning=True)) for step in STEPS]
    return [
        replace(step, query=None, target=report.target, causes=report.evidence.causes)
        for step, report in zip(STEPS, reports, strict=True)
    ]


@pytest.mark.parametrize("kind", ["root", "element"])
async def test_scripts_that_are_under_way_run_before_the_first_input(
    session: ChromiumSession, site: Site, kind: str
) -> None:
    await opened(session, site, f"{PAGE}?kind={kind}&ms=600")

    for step in STEPS:
        await session.perform(step)

    assert await ordered(session) == ORDERED


@pytest.mark.parametrize("kind", ["root", "element", "island"])
async def test_a_replay_waits_until_the_page_hears_what_it_heard_when_it_was_recorded(
    session: ChromiumSession, site: Site, kind: str
) -> None:
    await opened(session, site, f"{PAGE}?kind={kind}")
    await session.idle(1.0)
    replay = await recorded(session)
    await opened(session, site, f"{PAGE}?kind={kind}&ms=300")

    for step in replay:
        await session.perform(step)

    assert await ordered(session) == ORDERED
    assert [step.target is not None and bool(step.target.heard) for step in replay] == [True] * len(STEPS)


async def test_a_page_that_hears_nothing_any_more_is_given_its_input_all_the_same(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, f"{PAGE}?kind=element")
    replay = await recorded(session)
    await opened(session, site, PAGE)

    reports = [await session.perform(step) for step in replay]

    assert [report.acted for report in reports] == [True] * len(STEPS)
    assert await session.tabs.current.page.locator("#name").input_value() == "Ada"


async def test_a_host_that_is_pressed_itself_and_a_button_in_its_shadow_root_are_heard(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    await session.tabs.current.page.evaluate(
        """() => {
          const host = document.createElement("div"), inner = document.createElement("button");
          host.attachShadow({ mode: "open" }).append(inner);
          Object.assign(host, { role: "button", ariaLabel: "Around", onclick: () => 0 });
          host.style.padding = "100px";
          inner.textContent = "Inside";
          inner.addEventListener("click", () => 0);
          document.body.append(host);
        }"""
    )

    around = await session.perform(replace(work("click", button("Around"), position={"x": 5, "y": 5}), learning=True))
    inside = await session.perform(replace(work("click", button("Inside")), learning=True))

    assert around.target is not None
    assert inside.target is not None
    assert (around.target.heard, inside.target.heard) == ({"click": 1}, {"click": 2})
