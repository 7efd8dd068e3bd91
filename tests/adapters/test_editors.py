"""Editable content and rich-text editors, which draw what is written themselves, against a real Chromium."""

from typing import Any

import pytest

from replaywright.browser.session import ChromiumSession
from replaywright.errors import ActionFailed
from tests.adapters.browser_site import Site
from tests.adapters.steps import holds, opened, says, work

PAGE = "forms_editors.html"
LETTER = "Dear Zoë,\n\nthe 你好 order 👍\nis on its way."


def editor(name: str) -> dict[str, str]:
    return {"role": "textbox", "name": name}


async def lines_of(session: ChromiumSession, name: str) -> list[str]:
    report = await session.perform(work("extract", editor(name), fields={"it": {"take": "value"}}))
    return [line for line in str(report.extracted["it"]).replace("\u200b", "").split("\n") if line]


EDITORS = ["Plain", "Bare", "Model", "Pastes", "Pasteless", "Chat", "Late", "Inside", "Note body"]


@pytest.mark.parametrize("name", [*EDITORS[:5], *(pytest.param(name, marks=pytest.mark.long) for name in EDITORS[5:])])
async def test_fill_replaces_what_an_editor_holds_line_feeds_beginning_paragraphs(
    session: ChromiumSession, site: Site, name: str
) -> None:
    await opened(session, site, PAGE)

    # One of them takes nothing but what is pasted: a line alone is not filled that way.
    for text in (LETTER,) if name == "Pastes" else (LETTER, "one line"):
        report = await session.perform(work("fill", editor(name), text=text))
        again = await session.perform(work("fill", editor(name), text=text))

        assert holds(report)
        assert report.acted
        assert not again.acted
        assert await lines_of(session, name) == [line for line in text.split("\n") if line]


async def test_filling_several_lines_into_a_chat_sends_none_of_them(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    await session.perform(work("fill", editor("Chat"), text="one\ntwo"))
    unsent = await session.perform(work("extract", fields={"it": {"find": {"css": "#log"}}}))
    sent = await session.perform(
        work("press", editor("Chat"), keys="Enter", instruction="the chat", expect=[says("sent one|two")])
    )

    assert "sent" not in unsent.extracted["it"]
    assert holds(sent)


@pytest.mark.parametrize(("name", "keys"), [("Plain", "a b\nc"), ("Model", "a b\nc"), ("Inside", "abc")])
async def test_typing_gives_an_editor_keys(session: ChromiumSession, site: Site, name: str, keys: str) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("type", editor(name), text=keys))

    assert report.acted
    assert await lines_of(session, name) == keys.split("\n")


async def test_what_an_editor_makes_of_the_text_is_accepted(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("type", editor("Mentions"), text="hello @ann and all", expect=[says("@Ann")]))

    assert holds(report)


async def test_an_editor_is_emptied(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    plain = await session.perform(work("fill", editor("Plain"), text=""))
    model = await session.perform(work("fill", editor("Model"), text=""))

    assert plain.acted
    assert model.acted
    assert await lines_of(session, "Model") == []


async def test_an_editor_is_filled_through_the_box_around_it(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    report = await session.perform(work("fill", {"css": "#model-box"}, text="inside\nthe box"))

    assert report.acted
    assert await lines_of(session, "Model") == ["inside", "the box"]


async def test_a_document_that_is_edited_as_a_whole_is_a_text_box(session: ChromiumSession, site: Site) -> None:
    await opened(session, site, PAGE)

    letter = {"role": "textbox", "text": "Dear all"}

    report = await session.perform(work("fill", letter, text=LETTER, expect=[says("is on its way")]))

    assert report.acted
    assert holds(report)


@pytest.mark.parametrize(("name", "reason"), [("Stubborn", "value_differs"), ("Frozen", "readonly")])
async def test_an_editor_that_does_not_take_the_text_is_no_success(
    session: ChromiumSession, site: Site, name: str, reason: str
) -> None:
    await opened(session, site, PAGE)
    given: dict[str, Any] = {"text": "some\nother words", "timeout_ms": 6000, "sensitive": True}

    with pytest.raises(ActionFailed) as refused:
        await session.perform(work("fill", editor(name), **given))

    assert refused.value.reason == reason
    assert "other words" not in str(refused.value)
