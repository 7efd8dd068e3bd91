"""The page of a watched browser as pictures, and input to it from elsewhere; implements the port `Screen`."""

import base64
import contextlib
from collections.abc import Mapping, Sequence
from typing import Any, Final

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.input import keys
from replaywright.browser.recording.watching import WatchedBrowser
from replaywright.errors import ActionFailed, SessionLost
from replaywright.ports.recording import (
    AnswerDialog,
    Choose,
    GoBackOnce,
    GoTo,
    Insert,
    Keys,
    OpenDialog,
    OpenTab,
    Pointer,
    ShownPage,
    TakeTab,
    ViewInput,
)

_CAST: Final = {"format": "jpeg", "quality": 75, "maxWidth": 1600, "maxHeight": 1200}


class ChromiumScreen:
    """The current tab of a watched browser."""

    def __init__(self, watched: WatchedBrowser) -> None:
        self._watched, self._tabs = watched, watched.tabs
        self._tab: Tab | None = None
        self._number, self._picture = 0, b""
        self._size = (0, 0)
        self._choices: tuple[str, ...] = ()
        self._tabs.listeners.append(self._on_event)
        watched.on_list = self._on_list
        watched.hide_lists()

    @property
    def shown(self) -> ShownPage:
        """See `Screen.shown`."""
        try:
            current = self._tabs.current
        except SessionLost:
            return ShownPage()
        dialog = self._watched.dialogs.get(current)
        return ShownPage(
            url=current.url,
            width=self._size[0],
            height=self._size[1],
            tabs=tuple(
                OpenTab(id=tab.main.id, title=tab.title or tab.url, is_current=tab is current)
                for tab in self._tabs.open_tabs
            ),
            dialog=None
            if dialog is None
            else OpenDialog(
                kind=dialog["type"], message=dialog["message"], suggested=dialog.get("defaultPrompt") or ""
            ),
            choices=self._choices,
            wants_file=current.chooser is not None,
        )

    @property
    def picture(self) -> tuple[int, bytes]:
        """See `Screen.picture`."""
        return self._number, self._picture

    async def changed(self, picture: int, limit_s: float) -> None:
        """See `Screen.changed`."""
        with contextlib.suppress(SessionLost, CdpFailed):
            await self._follow()
        await self._tabs.pulse.until(lambda: self._number != picture, limit_s)

    async def _follow(self) -> None:
        """Have the current tab send its pictures, and no other."""
        current = self._tabs.current
        if current is self._tab:
            return
        before, self._tab = self._tab, current
        if before is not None and not before.closed:
            before.cdp.notify("Page.stopScreencast")
        await current.cdp.send("Page.bringToFront")
        await current.cdp.send("Page.setInterceptFileChooserDialog", {"enabled": True})
        await current.cdp.send("Page.startScreencast", _CAST)

    def _on_event(self, tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        if tab is None or tab is not self._tab or method != "Page.screencastFrame":
            return
        tab.cdp.notify("Page.screencastFrameAck", {"sessionId": params["sessionId"]})
        seen = params["metadata"]
        self._size = round(seen["deviceWidth"]), round(seen["deviceHeight"])
        self._number, self._picture = self._number + 1, base64.b64decode(params["data"])
        self._tabs.pulse.beat()

    def _on_list(self, _frame: Frame, labels: Sequence[str]) -> None:
        self._choices = tuple(labels)
        self._number += 1  # so that whoever waits looks again
        self._tabs.pulse.beat()

    async def give(self, entered: ViewInput) -> None:
        """See `Screen.give`."""
        try:
            await self._give(entered, self._tabs.current)
        except CdpFailed as exc:
            raise ActionFailed("not_done", exc.message, dispatched=False) from None

    async def _give(self, entered: ViewInput, tab: Tab) -> None:
        match entered:
            case Pointer():
                if entered.kind == "mousePressed":
                    self._choices = ()
                tab.cdp.notify("Input.dispatchMouseEvent", _mouse(entered))  # a dialog would hold up the answer
            case Keys(keys=pressed):
                held, key = keys.parse(pressed)
                _press(tab, keys.press(key, held))
            case Insert(text=text):
                await tab.cdp.send("Input.insertText", {"text": text}, secret=True)
            case GoTo(url=url):
                await tab.cdp.send("Page.navigate", {"url": url})
            case GoBackOnce():
                seen = await tab.cdp.send("Page.getNavigationHistory")
                if (index := seen["currentIndex"]) > 0:
                    entry = seen["entries"][index - 1]["id"]
                    await tab.cdp.send("Page.navigateToHistoryEntry", {"entryId": entry})
            case TakeTab(id=number, close=close):
                await self._take_tab(number, close=close)
            case AnswerDialog(accept=accept, text=text):
                answer = {"accept": accept, "promptText": text}
                await tab.cdp.send("Page.handleJavaScriptDialog", answer, secret=True)
            case Choose(index=index):
                self._choices = ()
                steps = [] if index is None else ["Home", *["ArrowDown"] * index]
                for key in steps:
                    _press(tab, keys.press(key))

    async def _take_tab(self, number: str, *, close: bool) -> None:
        found = next((tab for tab in self._tabs.open_tabs if tab.main.id == number), None)
        if found is None:
            raise ActionFailed("no_tab", "that tab is closed", dispatched=False)
        if close:
            await found.cdp.send("Page.close")
        else:
            self._tabs.make_current(found)
            await self._follow()

    async def give_files(self, paths: Sequence[str]) -> None:
        """See `Screen.give_files`."""
        tab = self._tabs.current
        chooser, tab.chooser = tab.chooser, None
        if chooser is None or "backendNodeId" not in chooser[1]:
            raise ActionFailed("no_file_chooser", "the page asks for no file", dispatched=False)
        cdp, asked = chooser
        if paths:
            await cdp.send("DOM.setFileInputFiles", {"files": list(paths), "backendNodeId": asked["backendNodeId"]})


def _press(tab: Tab, events: Sequence[Mapping[str, Any]]) -> None:
    """Press keys; a dialog that one of them opens holds up the answer, so that none is waited for."""
    for event in events:
        tab.cdp.notify("Input.dispatchKeyEvent", event, secret=True)


def _mouse(pointer: Pointer) -> Mapping[str, Any]:
    return {
        "type": pointer.kind,
        "x": pointer.x,
        "y": pointer.y,
        "button": pointer.button,
        "buttons": pointer.buttons,
        "clickCount": pointer.clicks,
        "modifiers": pointer.modifiers,
        "deltaX": pointer.dx,
        "deltaY": pointer.dy,
    }
