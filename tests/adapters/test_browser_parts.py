"""The pure parts of the browser adapter: keys, numbers, addresses, frames."""

import math
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from replaywright.browser.devtools.evidence import Recorder, TabTraffic, without_query
from replaywright.browser.devtools.waiting import Deadline
from replaywright.browser.input import keys
from replaywright.browser.input.scrolling import search
from replaywright.browser.reading import frames
from replaywright.browser.reading.extraction import typed
from replaywright.domain.page.targets import FrameStep
from replaywright.domain.task.actions import Cause
from replaywright.domain.task.converting import number_in
from replaywright.domain.task.steps import ExtractField
from replaywright.errors import ActionFailed


@pytest.mark.parametrize(
    ("combination", "expected"),
    [
        ("Enter", ((), "Enter")),
        ("Control+A", (("Control",), "A")),
        ("Ctrl+Shift+ArrowDown", (("Control", "Shift"), "ArrowDown")),
        ("+", ((), "+")),
        ("Control++", (("Control",), "+")),
        ("é", ((), "é")),
        ("Space", ((), " ")),
        ("F5", ((), "F5")),
    ],
)
def test_key_combinations_are_understood(combination: str, expected: tuple[tuple[str, ...], str]) -> None:
    assert keys.parse(combination) == expected


@pytest.mark.parametrize("combination", ["Entre", "Hyper+A", "Control+", "A+B", ""])
def test_unknown_keys_are_refused(combination: str) -> None:
    with pytest.raises(ActionFailed) as failed:
        keys.parse(combination)

    assert failed.value.reason == "unknown_key"
    assert not failed.value.dispatched


@given(st.characters(min_codepoint=32, max_codepoint=126))
def test_every_printable_ascii_character_has_a_key_that_types_it(character: str) -> None:
    down, up = keys.press(character)

    assert keys.can_type(character)
    assert (down["type"], up["type"]) == ("keyDown", "keyUp")
    assert down["text"] == character
    assert down["code"]


def test_a_shortcut_types_nothing() -> None:
    events = keys.press("A", ("Control",))

    assert [event["type"] for event in events] == ["rawKeyDown", "rawKeyDown", "keyUp", "keyUp"]
    assert events[1]["key"] == "a"
    assert events[1]["commands"] == ["selectAll"]
    assert not any("text" in event for event in events)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("1,234.50 €", 1234.5),
        ("1.234,50 €", 1234.5),
        ("1 234,5", 1234.5),
        ("1'234", 1234.0),
        ("1,234", 1234.0),
        ("0,125", 0.125),
        ("12,5 %", 12.5),
        ("-7", -7.0),
        ("−7", -7.0),
        ("1,234,567", 1234567.0),
        ("Total: 3 items.", 3.0),
        ("3 of 4", None),
        ("none", None),
        pytest.param("9" * 400, None, id="beyond all numbers"),
    ],
)
def test_numbers_are_read_as_people_write_them(text: str, number: float | None) -> None:
    assert number_in(text) == number


def test_an_integer_with_a_fraction_is_refused() -> None:
    with pytest.raises(ActionFailed, match=r"2\.5"):
        typed({"n": ExtractField(type="integer")}, {"n": "2.5"})


@pytest.mark.parametrize(
    ("url", "kept"),
    [
        ("https://user:pass@shop.example:8443/a/b?token=1#x", "https://shop.example:8443/a/b"),
        ("wss://x.example/s?k=1", "wss://x.example/s"),
        ("data:text/html,secret", "data:"),
        ("", ":"),
    ],
)
def test_addresses_are_kept_without_what_may_be_private(url: str, kept: str) -> None:
    assert without_query(url) == kept


def test_a_redirected_post_keeps_its_own_status() -> None:
    recorder, traffic = Recorder("f", "f"), TabTraffic()
    sent = {"requestId": "1", "type": "Document", "request": {"method": "POST", "url": "http://a/x?q"}}
    moved = {"requestId": "1", "type": "Document", "request": {"method": "GET", "url": "http://a/y"}}

    recorder.on_event(traffic, "Network.requestWillBeSent", sent)
    recorder.on_event(
        traffic, "Network.requestWillBeSent", {**moved, "redirectResponse": {"url": "http://a/x?q", "status": 303}}
    )
    recorder.on_event(
        traffic,
        "Network.responseReceived",
        {"requestId": "1", "type": "Document", "response": {"url": "http://a/y", "status": 200}},
    )

    assert [(one.method, one.url, one.status) for one in recorder.evidence().requests] == [("POST", "http://a/x", 303)]


@pytest.mark.parametrize(
    ("kind", "loader", "brought"),
    [("Document", "1", (-math.inf, -math.inf)), ("Fetch", "d", (1.0, 2.0)), ("Script", "d", (1.0, 2.0))],
)
def test_what_a_page_was_brought_is_no_document(kind: str, loader: str, brought: tuple[float, float]) -> None:
    traffic = TabTraffic()
    sent = {"requestId": "1", "loaderId": loader, "type": kind, "request": {"method": "GET", "url": "http://a/x"}}

    traffic.on_event("Network.requestWillBeSent", sent, 1.0)
    asked_at = traffic.brought_at
    traffic.on_event("Network.loadingFinished", {"requestId": "1"}, 2.0)

    assert (asked_at, traffic.brought_at) == brought


async def test_a_list_whose_rows_come_while_it_is_looked_at_is_looked_at_again() -> None:
    traffic, looks = TabTraffic(), iter([False, True])
    sent = {"requestId": "1", "type": "Fetch", "request": {"method": "GET", "url": "http://a/rows"}}

    async def call(*_: object, **__: object) -> dict[str, bool]:
        if not (found := next(looks)):  # the answer is there when the look is over, and was not when it was looked
            traffic.on_event("Network.requestWillBeSent", sent, 0.0)
            traffic.on_event("Network.loadingFinished", {"requestId": "1"}, 0.0)
        return {"found": found, "more": False}

    session: Any = None
    tab: Any = SimpleNamespace(traffic=traffic, call=call)
    frame: Any = SimpleNamespace(context=1)
    attempt: Any = SimpleNamespace(token="t")

    assert await search(session, tab, frame, attempt, is_enough=lambda: False, deadline=Deadline(60))


def test_frames_of_other_parts_of_the_page_are_no_cause() -> None:
    recorder = Recorder("top", "top")

    recorder.on_event(TabTraffic(), "Page.frameNavigated", {"frame": {"id": "advertisement"}})

    assert recorder.evidence().causes == (Cause.NOTHING,)


def test_a_frame_is_known_by_name_before_address_and_position() -> None:
    mail = FrameStep(name="mail", url="https://a/1", index=0)
    chat = FrameStep(name="chat", url="https://a/2", index=1)

    assert frames.choose(FrameStep(name="chat", url="https://a/1", index=0), [mail, chat]) == 1
    assert frames.choose(FrameStep(url="https://a/1", index=5), [mail, chat]) == 0
    assert frames.choose(FrameStep(name="gone", url="https://a/9", index=0), [mail, chat]) is None
    assert (
        frames.choose(FrameStep(name="twin", index=1), [FrameStep(name="twin"), FrameStep(name="twin", index=1)]) == 1
    )
