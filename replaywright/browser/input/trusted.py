"""Trusted mouse and keyboard input, posted in order without waiting between events."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from replaywright.browser.devtools.cdp import CdpSession
from replaywright.browser.input import keys

Posted: TypeAlias = "list[asyncio.Future[Mapping[str, Any]]]"
"""Each ends when the browser has delivered its event."""


_BUTTONS = {"left": 1, "right": 2, "middle": 4}
"""The bits of the buttons that are held down."""


def point(
    cdp: CdpSession,
    place: tuple[float, float],
    clicks: int,
    *,
    button: str = "left",
    modifiers: Sequence[str] = (),
) -> Posted:
    """Move the pointer to `place` and click `clicks` times, with the modifier keys held down.

    The pointer jumps: on its way it would open and close elements that react to it, such as submenus.
    """
    held = keys.mask(modifiers)
    posted = [] if not clicks else _strokes(cdp, keys.hold(modifiers))
    posted.append(move(cdp, place, modifiers=held))
    for count in range(1, clicks + 1):
        posted.append(down(cdp, place, button=button, count=count, modifiers=held))
        posted.append(up(cdp, place, button=button, count=count, modifiers=held))
    return posted if not clicks else posted + _strokes(cdp, keys.let_go(modifiers))


Sent: TypeAlias = "asyncio.Future[Mapping[str, Any]]"


def move(cdp: CdpSession, place: tuple[float, float], *, pressed: str = "", modifiers: int = 0) -> Sent:
    """Move the pointer, with this button held down if one is named."""
    held = {"button": pressed or "none", "buttons": _BUTTONS.get(pressed, 0)}
    return _mouse(cdp, "mouseMoved", place, {**held, "modifiers": modifiers})


def down(
    cdp: CdpSession, place: tuple[float, float], *, button: str = "left", count: int = 1, modifiers: int = 0
) -> Sent:
    """Press a button of the mouse; `count` is 2 for the second press of a double click."""
    more = {"button": button, "buttons": _BUTTONS[button], "clickCount": count, "modifiers": modifiers}
    return _mouse(cdp, "mousePressed", place, more)


def up(
    cdp: CdpSession, place: tuple[float, float], *, button: str = "left", count: int = 1, modifiers: int = 0
) -> Sent:
    """Release a button of the mouse."""
    more = {"button": button, "buttons": 0, "clickCount": count, "modifiers": modifiers}
    return _mouse(cdp, "mouseReleased", place, more)


def _mouse(cdp: CdpSession, kind: str, place: tuple[float, float], more: Mapping[str, Any]) -> Sent:
    return cdp.post("Input.dispatchMouseEvent", {"type": kind, "x": place[0], "y": place[1], **more})


def press(cdp: CdpSession, combination: str) -> Posted:
    """Press and release a key with its modifiers.

    Raises:
        ActionFailed: `unknown_key`.
    """
    modifiers, key = keys.parse(combination)
    return _strokes(cdp, keys.press(key, modifiers))


def enter(cdp: CdpSession, text: str, *, key_by_key: bool) -> Posted:
    """Replace the selected content of the field that has the focus."""
    if not text:
        return _strokes(cdp, keys.press("Delete"))
    if not key_by_key:
        return _inserted(cdp, text)
    posted: Posted = []
    for character in text:
        if keys.can_type(character):
            posted += _strokes(cdp, keys.press(character))
        else:
            posted += _inserted(cdp, character)
    return posted


def enter_lines(cdp: CdpSession, text: str) -> Posted:
    """Replace the selected content of the editor that has the focus, line after line.

    An editing command begins each paragraph: the Enter key sends in some pages.
    """
    posted: Posted = []
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n")):
        if number:
            posted += _strokes(cdp, [{"type": "rawKeyDown", "commands": ["insertNewline"]}, {"type": "keyUp"}])
        if line:
            posted += _inserted(cdp, line)
    return posted


def _inserted(cdp: CdpSession, text: str) -> Posted:
    """Insert a text, after which an unidentified key goes up: some pages look at a field only then."""
    return [cdp.post("Input.insertText", {"text": text}, secret=True), *_strokes(cdp, [{"type": "keyUp"}])]


def _strokes(cdp: CdpSession, events: Sequence[Mapping[str, Any]]) -> Posted:
    return [cdp.post("Input.dispatchKeyEvent", event, secret=True) for event in events]


def drop_files(cdp: CdpSession, place: tuple[float, float], paths: Sequence[str]) -> Posted:
    """Drag files in from outside and drop them there."""
    x, y = place
    data = {"items": [], "files": list(paths), "dragOperationsMask": 1}
    kinds = ("dragEnter", "dragOver", "dragOver", "drop")
    return [cdp.post("Input.dispatchDragEvent", {"type": kind, "x": x, "y": y, "data": data}) for kind in kinds]
