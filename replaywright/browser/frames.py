"""Frames by description: which live frame a recorded path means, how to describe one, and where it lies."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from replaywright.browser.channel import Frame, Tab
from replaywright.browser.evidence import without_query
from replaywright.browser.wire import WireFailed
from replaywright.domain.targets import FrameStep


async def describe(tab: Tab, frame: Frame) -> FrameStep:
    """The hop from its parent into `frame`.

    Raises:
        WireFailed: the frame is gone.
    """
    parent = tab.frames[frame.parent or ""]
    owner = await parent.wire.send("DOM.getFrameOwner", {"frameId": frame.id})
    node = await parent.wire.send("DOM.describeNode", {"backendNodeId": owner["backendNodeId"]})
    flat = node["node"].get("attributes", ())
    attributes = dict(zip(flat[::2], flat[1::2], strict=True))
    return FrameStep(
        name=attributes.get("name") or attributes.get("id", ""),
        title=attributes.get("title", ""),
        url=without_query(frame.url),
        index=tab.children(parent).index(frame),
    )


async def path_of(tab: Tab, frame: Frame) -> tuple[FrameStep, ...]:
    """The hops from the top document to `frame`; empty for the top document."""
    return tuple([await describe(tab, hop) for hop in tab.ancestors(frame)[1:]])


async def find(tab: Tab, path: Sequence[FrameStep]) -> Frame | None:
    """The live frame that `path` means, if exactly one answers to it."""
    frame = tab.main
    for step in path:
        children = tab.children(frame)
        try:
            described = await asyncio.gather(*(describe(tab, child) for child in children))
        except (WireFailed, KeyError, ValueError):  # a frame went away meanwhile
            return None
        chosen = choose(step, described)
        if chosen is None:
            return None
        frame = children[chosen]
    return frame


def choose(step: FrameStep, siblings: Sequence[FrameStep]) -> int | None:
    """Position of the sibling that `step` describes: by name, else by title and address, position as a tie-break."""
    for same in (
        lambda seen: bool(step.name) and seen.name == step.name,
        lambda seen: bool(step.title) and (seen.title, seen.url) == (step.title, step.url),
        lambda seen: bool(step.title) and seen.title == step.title,
        lambda seen: bool(step.url) and seen.url == step.url,
    ):
        alike = [index for index, seen in enumerate(siblings) if same(seen)]
        if len(alike) == 1:
            return alike[0]
        if alike:
            return next((index for index in alike if siblings[index].index == step.index), None)
    # Nothing stable is left. A lone frame can only be the one that was meant; its elements are still compared.
    return 0 if len(siblings) == 1 else None


async def offset(tab: Tab, frame: Frame) -> tuple[float, float]:
    """Where the viewport of `frame` begins in the viewport of the top document, in CSS pixels.

    Raises:
        WireFailed: the frame is gone or not displayed.
    """
    x = y = 0.0
    for hop in _roots(tab, frame):
        left, top = await _corner(tab, hop)
        x, y = x + left, y + top
    return x, y


async def is_uncovered(tab: Tab, frame: Frame, x: float, y: float) -> bool:
    """Whether a point inside `frame`, in its own viewport, is really what the pointer would meet there.

    The agent in the frame sees what covers an element inside the frame; what the documents around it draw over
    the frame, only they can tell.

    Raises:
        WireFailed: the frame is gone or not displayed.
    """
    for hop in reversed(_roots(tab, frame)):
        parent = tab.frames[hop.parent or ""]
        left, top = await _corner(tab, hop)
        x, y = x + left, y + top
        hit = await _hit(parent, x, y)
        if hop.wire is parent.wire:
            inside = [known.id for known in tab.frames.values() if hop in tab.ancestors(known)]
            if hit.get("frameId") not in inside:
                return False
        else:
            owner = await parent.wire.send("DOM.getFrameOwner", {"frameId": hop.id})
            if hit.get("backendNodeId") != owner["backendNodeId"]:
                return False
    return True


async def _hit(frame: Frame, x: float, y: float) -> Mapping[str, Any]:
    metrics = await frame.wire.send("Page.getLayoutMetrics")  # the command takes document coordinates
    viewport = metrics["cssVisualViewport"]
    place = {"x": round(x + viewport["pageX"]), "y": round(y + viewport["pageY"])}
    return await frame.wire.send("DOM.getNodeForLocation", place)


def _roots(tab: Tab, frame: Frame) -> list[Frame]:
    """The hops whose offsets add up: within one process, boxes are given in the process's own topmost frame."""
    hops = tab.ancestors(frame)[1:]
    return [hop for hop in hops if hop is frame or hop.wire is not tab.frames[hop.parent or ""].wire]


async def _corner(tab: Tab, frame: Frame) -> tuple[float, float]:
    parent = tab.frames[frame.parent or ""]
    owner = await parent.wire.send("DOM.getFrameOwner", {"frameId": frame.id})
    box = await parent.wire.send("DOM.getBoxModel", {"backendNodeId": owner["backendNodeId"]})
    x, y = box["model"]["content"][:2]
    return x, y
