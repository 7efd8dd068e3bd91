"""Input that the page agent asks for on its way through a list that the page makes itself."""

from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from replaywright.browser.devtools.cdp import CdpSession
from replaywright.browser.devtools.channel import Frame
from replaywright.browser.input import trusted
from replaywright.domain.task.steps import SelectOption, Step

Placing = Callable[[Frame, tuple[float, float]], Awaitable[tuple[float, float]]]
"""Turns a point of a frame into one of the top document's viewport, where the pointer is."""


def spec_of(step: Step) -> dict[str, Any]:
    """Return the page agent's part of the specification: the options to choose."""
    return {"options": list(step.wanted)} if isinstance(step, SelectOption) else {}


async def give(cdp: CdpSession, frame: Frame, wish: Mapping[str, Any], placing: Placing) -> trusted.Posted:
    """Post the input of one `wants` message: a click, a key, or text typed key by key.

    Raises:
        ActionFailed: the frame is covered, or gone.
    """
    match wish["input"]:
        case "click":
            place = await placing(frame, (wish["point"]["x"], wish["point"]["y"]))
            modifiers = (wish["modifier"],) if wish.get("modifier") else ()
            return trusted.point(cdp, place, clicks=1, modifiers=modifiers)
        case "press":
            return trusted.press(cdp, wish["keys"])
        case "type":
            return trusted.enter(cdp, wish["text"], key_by_key=True)
        case unknown:
            raise AssertionError(f"no such input: {unknown}")
