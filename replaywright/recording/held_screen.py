"""The page of a held run: the run's browser while it waits, and the last picture while it acts."""

import asyncio
from collections.abc import Sequence
from typing import Final, Literal, TypeAlias

from replaywright.errors import ActionFailed
from replaywright.ports.recording import Pointer, Screen, ShownPage, TakeTab, ViewInput

Takes: TypeAlias = Literal["looks", "points", "acts"]
"""Input that reaches the page: to look at it, to point at an element too, or all."""

_REMEDY: Final = "press “insert” to act in it, or “pick” to point at an element"


class HeldScreen:
    """Passes on what the editor allows; implements `Screen`."""

    def __init__(self) -> None:
        self.takes: Takes = "looks"
        self._screen: Screen | None = None
        self._shown = ShownPage()
        self._first = 0
        """Number that the pictures of the present screen are counted from."""
        self._picture = (0, b"")
        self._taken = asyncio.Event()

    def take(self, screen: Screen) -> None:
        """Show this browser from now on."""
        self._first, self._screen = self._picture[0], screen
        self._taken.set()

    def let_go(self) -> None:
        """Keep the last picture only."""
        self._picture, self._shown = self.picture, self.shown
        self._screen = None
        self._taken.clear()

    @property
    def shown(self) -> ShownPage:
        """See `Screen.shown`."""
        return self._shown if self._screen is None else self._screen.shown

    @property
    def picture(self) -> tuple[int, bytes]:
        """See `Screen.picture`."""
        if self._screen is not None and (now := self._screen.picture)[1]:
            self._picture = (self._first + now[0], now[1])
        return self._picture

    async def changed(self, picture: int, limit_s: float) -> None:
        """See `Screen.changed`."""
        if self._screen is not None:
            await self._screen.changed(picture - self._first, limit_s)
            return
        await asyncio.wait({waiting := asyncio.create_task(self._taken.wait())}, timeout=limit_s)
        waiting.cancel()

    async def give(self, entered: ViewInput) -> None:
        """See `Screen.give`."""
        moves = isinstance(entered, Pointer) and entered.kind in ("mouseMoved", "mouseWheel") and not entered.buttons
        looks = moves or (isinstance(entered, TakeTab) and not entered.close)
        points = isinstance(entered, Pointer) and self.takes == "points"
        if self._screen is not None and (looks or points or self.takes == "acts"):
            await self._screen.give(entered)
        elif not isinstance(entered, Pointer) or entered.kind == "mousePressed":
            raise _not_taken("the run has the browser" if self._screen is None else _REMEDY)

    async def give_files(self, paths: Sequence[str]) -> None:
        """See `Screen.give_files`."""
        if self._screen is None or self.takes != "acts":
            raise _not_taken(_REMEDY)
        await self._screen.give_files(paths)


def _not_taken(why: str) -> ActionFailed:
    return ActionFailed("not_taken", f"nothing was done in the page: {why}", dispatched=False)
