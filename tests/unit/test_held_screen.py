"""The page of a held run takes what the editor allows, and no more."""

import asyncio
from collections.abc import Sequence

import pytest

from replaywright.errors import ActionFailed
from replaywright.ports.recording import Keys, OpenTab, Pointer, ShownPage, TakeTab, ViewInput
from replaywright.recording.held_screen import HeldScreen, Takes

MOVED = Pointer(do="pointer", kind="mouseMoved", x=1, y=1)
PRESSED = Pointer(do="pointer", kind="mousePressed", x=1, y=1, button="left", buttons=1, clicks=1)
RELEASED = Pointer(do="pointer", kind="mouseReleased", x=1, y=1, button="left", clicks=1)
KEY = Keys(do="keys", keys="Enter")
TAB, CLOSED = TakeTab(do="tab", id="1"), TakeTab(do="tab", id="1", close=True)


class Inner:
    """A screen that notes what it is given."""

    def __init__(self) -> None:
        self.given: list[ViewInput] = []
        self.shown = ShownPage(url="http://a.test/", tabs=(OpenTab(id="1", title="A", is_current=True),))
        self.picture = (0, b"")

    async def changed(self, picture: int, limit_s: float) -> None:
        """Return at once."""

    async def give(self, entered: ViewInput) -> None:
        self.given.append(entered)

    async def give_files(self, paths: Sequence[str]) -> None:
        raise AssertionError(paths)


@pytest.mark.parametrize(
    ("takes", "passed"),
    [
        ("looks", [MOVED, TAB]),
        ("points", [MOVED, PRESSED, RELEASED, TAB]),
        ("acts", [MOVED, PRESSED, RELEASED, KEY, TAB, CLOSED]),
    ],
)
async def test_what_is_not_allowed_does_not_reach_the_page(takes: Takes, passed: list[ViewInput]) -> None:
    screen, inner = HeldScreen(), Inner()
    screen.take(inner)
    screen.takes = takes
    refused = 0
    for entered in (MOVED, PRESSED, RELEASED, KEY, TAB, CLOSED):
        try:
            await screen.give(entered)
        except ActionFailed:
            refused += 1

    assert inner.given == passed
    assert refused == {"looks": 3, "points": 2, "acts": 0}[takes]


async def test_the_last_picture_stays_while_the_run_has_the_browser_and_numbers_go_on() -> None:
    screen, first, second = HeldScreen(), Inner(), Inner()
    screen.take(first)
    first.picture = (3, b"a")
    seen = screen.picture
    screen.let_go()
    kept, shown = screen.picture, screen.shown.url
    with pytest.raises(ActionFailed, match="the run has the browser"):
        await screen.give(KEY)
    waiting = asyncio.create_task(screen.changed(3, 60))
    await asyncio.sleep(0)
    screen.take(second)
    await waiting
    second.picture = (1, b"b")

    assert (seen, kept, shown) == ((3, b"a"), (3, b"a"), "http://a.test/")
    assert screen.picture == (4, b"b")
