"""The hand at mouse and keyboard: trusted input, posted in order without waiting between its events."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from replaywright.browser import keys
from replaywright.browser.wire import Wire

Posted: TypeAlias = "list[asyncio.Task[Mapping[str, Any]]]"
"""Each ends when the browser has delivered its event."""


def point(wire: Wire, place: tuple[float, float], clicks: int) -> Posted:
    """Move the pointer there and click so many times with the left button."""
    x, y = place
    events: list[dict[str, Any]] = [{"type": "mouseMoved", "button": "none"}]
    for count in range(1, clicks + 1):
        events.append({"type": "mousePressed", "button": "left", "buttons": 1, "clickCount": count})
        events.append({"type": "mouseReleased", "button": "left", "buttons": 0, "clickCount": count})
    return [wire.post("Input.dispatchMouseEvent", {"x": x, "y": y, **event}) for event in events]


def press(wire: Wire, combination: str) -> Posted:
    """Press and release a key with its modifiers.

    Raises:
        ActionFailed: `unknown_key`.
    """
    modifiers, key = keys.parse(combination)
    return _strokes(wire, keys.press(key, modifiers))


def enter(wire: Wire, text: str, *, key_by_key: bool) -> Posted:
    """Replace the selected content of the field that has the focus."""
    if not text:
        return _strokes(wire, keys.press("Delete"))
    if not key_by_key:
        return [wire.post("Input.insertText", {"text": text}, secret=True)]
    posted: Posted = []
    for character in text:
        if keys.can_type(character):
            posted += _strokes(wire, keys.press(character))
        else:
            posted.append(wire.post("Input.insertText", {"text": character}, secret=True))
    return posted


def _strokes(wire: Wire, events: Sequence[Mapping[str, Any]]) -> Posted:
    return [wire.post("Input.dispatchKeyEvent", event, secret=True) for event in events]
