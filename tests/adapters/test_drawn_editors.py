"""Editors that draw a text themselves and take it in a field that cannot be seen, against a real Chromium."""

import contextlib

import pytest

from replaywright.browser.reading import snapshots
from replaywright.browser.session import ChromiumSession
from replaywright.domain.page.snapshot_text import snapshot_text
from replaywright.errors import ActionFailed
from tests.adapters.browser_site import Site
from tests.adapters.steps import opened, work

PAGE = "forms_drawn.html"
CODE = 'def shout(words):\n    return (words + "!").upper()\n\nprint(shout("hello"))'
LONG = "\n".join(f"line {number}: {number * number}" for number in range(40))
TRAPS = ["Off the page", "In a sentence", "In a label", "Off with its box", "Deaf"]


def box(name: str) -> dict[str, str]:
    return {"role": "textbox", "name": name}


async def kept_by(session: ChromiumSession, name: str) -> str:
    kept: str = await session.tabs.current.page.evaluate(f"sheets[{name!r}].text")
    return kept


@pytest.mark.parametrize(
    "name",
    [
        "Clipped",
        pytest.param("Clear", marks=pytest.mark.long),
        pytest.param("Bare", marks=pytest.mark.long),
        "Pasteless",
    ],
)
async def test_fill_replaces_what_a_drawn_editor_holds(session: ChromiumSession, site: Site, name: str) -> None:
    await opened(session, site, PAGE)

    for text in ("one line", CODE, LONG, ""):
        report = await session.perform(work("fill", box(name), text=text))

        assert report.acted
        assert await kept_by(session, name) == text


@pytest.mark.parametrize("name", ["In a body without height", "Over a box without height"])
async def test_a_field_that_boxes_without_height_do_not_clip_is_a_plain_field(
    session: ChromiumSession, site: Site, name: str
) -> None:
    await opened(session, site, "forms_unclipped.html")

    report = await session.perform(work("fill", box(name), text="hello"))

    assert report.acted
    assert await session.tabs.current.page.get_by_label(name).input_value() == "hello"


async def test_keys_are_typed_into_a_drawn_editor_which_may_complete_them(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("type", box("Pasteless"), text="x(1)"))
    await session.perform(work("paste", box("Clear"), text="pasted\nlines"))

    assert await kept_by(session, "Pasteless") == "x(1)"
    assert await kept_by(session, "Clear") == "pasted\nlines"


async def test_keys_count_in_an_editor_that_only_adds_if_they_are_drawn_once_more(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("type", box("Log"), text="list"))
    with pytest.raises(ActionFailed) as refused:
        await session.perform(work("paste", box("Log"), text="list", timeout_ms=4000))

    assert refused.value.reason == "value_differs"
    assert await kept_by(session, "Log") == "> list"


async def test_a_key_is_pressed_in_a_drawn_editor(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("press", box("Clipped"), keys="Control+A", instruction="the editor"))
    await session.perform(work("press", box("Clipped"), keys="Delete", instruction="the editor"))

    assert await kept_by(session, "Clipped") == ""


async def test_a_drawn_editor_is_listed_with_the_text_that_it_draws(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)
    await session.perform(work("fill", box("Clipped"), text=CODE))

    page = snapshot_text(await snapshots.take(session.tabs.current))
    read = await session.perform(work("extract", box("Clipped"), fields={"it": {"take": "value"}}))

    assert 'textbox "Clipped" value="def shout(words): return (words + ' in page
    assert "upper" not in page.replace('textbox "Clipped" value=', "", 1).split("Clear")[1]
    # An empty line draws nothing.
    assert str(read.extracted["it"]).split("\n") == [line for line in CODE.split("\n") if line]


async def test_an_editor_that_does_not_take_the_text_is_no_success(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    with pytest.raises(ActionFailed) as refused:
        await session.perform(work("fill", box("Frozen"), text="other words", timeout_ms=8000))

    assert refused.value.reason == "value_differs"
    assert await kept_by(session, "Frozen") == "first words"


@pytest.mark.parametrize("name", [*TRAPS[:2], *(pytest.param(name, marks=pytest.mark.long) for name in TRAPS[2:])])
async def test_a_hidden_field_that_no_press_gives_the_focus_gets_nothing(
    session: ChromiumSession, site: Site, name: str
) -> None:
    await opened(session, site, PAGE)

    with contextlib.suppress(ActionFailed):
        assert not (await session.perform(work("fill", box(name), text="caught", timeout_ms=4000))).acted

    caught = await session.tabs.current.page.evaluate(
        "[...document.querySelectorAll('textarea')].map(one => one.value)"
    )
    assert not any(caught)


async def test_a_list_of_chips_is_no_drawn_editor_of_the_field_that_the_page_has_hidden(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)

    seen = {one.target.name for one in (await snapshots.take(session.tabs.current)).elements if one.actionable}
    assert {"Next copy", "Next label", "Clipped", "Clear", "Bare"} <= seen
    assert not {"Copies", "Labels"} & seen


async def test_neither_its_text_nor_the_title_of_its_tab_tells_which_editor_it_is(
    session: ChromiumSession, site: Site
) -> None:
    await opened(session, site, PAGE)
    page = session.tabs.current.page
    await page.evaluate(
        "for (const name of ['clipped', 'clear', 'bare']) {"
        "const card = Object.assign(document.createElement('div'), { className: 'card' });"
        "const tab = Object.assign(document.createElement('span'), { role: 'tab', textContent: name + '.txt' });"
        "const sheet = document.getElementById(name); sheet.replaceWith(card); card.append(tab, sheet) }"
        "document.querySelector('#clipped textarea').removeAttribute('aria-label')"
    )

    elements = (await snapshots.take(session.tabs.current)).elements
    target = next(one.target for one in elements if one.target.role == "textbox" and not one.target.name)

    assert target.label == ""
    assert not any("first words" in text for text in (*target.row, *target.neighbours))
