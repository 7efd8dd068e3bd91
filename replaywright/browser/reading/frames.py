"""Frames: finding the live frame of a recorded path, describing a frame, and mapping its coordinates."""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from replaywright.browser.devtools.cdp import COMMAND_TIMEOUT_S, CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab
from replaywright.browser.devtools.evidence import without_query
from replaywright.domain.page.targets import Box, FrameStep

DRAWN_S = 1.0
"""Wait for a document to be drawn after it was scrolled."""
_DRAWN = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done())))"
TILTED_PX = 0.01
"""Corners that are further than this from a parallelogram belong to a box that is seen in perspective."""


async def describe(tab: Tab, frame: Frame) -> FrameStep:
    """Return the hop from its parent into `frame`.

    Raises:
        CdpFailed: the frame is gone.
    """
    parent = tab.frames[frame.parent or ""]
    owner = await parent.cdp.send("DOM.getFrameOwner", {"frameId": frame.id})
    node = await parent.cdp.send("DOM.describeNode", {"backendNodeId": owner["backendNodeId"]})
    flat = node["node"].get("attributes", ())
    attributes = dict(zip(flat[::2], flat[1::2], strict=True))
    return FrameStep(
        name=attributes.get("name") or attributes.get("id", ""),
        title=attributes.get("title", ""),
        url=without_query(frame.url),
        index=tab.children(parent).index(frame),
    )


async def path_of(tab: Tab, frame: Frame) -> tuple[FrameStep, ...]:
    """Return the hops from the top document to `frame`; empty for the top document."""
    return tuple([await describe(tab, hop) for hop in tab.ancestors(frame)[1:]])


async def find(tab: Tab, path: Sequence[FrameStep]) -> Frame | None:
    """Return the live frame at `path`, if exactly one matches."""
    frame = tab.main
    for step in path:
        children = tab.children(frame)
        try:
            described = await asyncio.gather(*(describe(tab, child) for child in children))
        except (CdpFailed, KeyError, ValueError):  # a frame went away meanwhile
            return None
        chosen = choose(step, described)
        if chosen is None:
            return None
        frame = children[chosen]
    return frame


def choose(step: FrameStep, siblings: Sequence[FrameStep]) -> int | None:
    """Return the index of the sibling at `step`: by name, else title and address, position as a tie-break."""
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
    # No stable property matches. A lone frame is taken: its elements are still compared.
    return 0 if len(siblings) == 1 else None


@dataclass(frozen=True)
class Quad:
    """A frame's viewport as it is drawn in another one: four corners, clockwise from its top left."""

    corners: tuple[tuple[float, float], ...]
    width: float
    height: float
    """Size of the frame's viewport in its own CSS pixels."""

    def place(self, x: float, y: float) -> tuple[float, float]:
        """Return where a point of the frame is drawn, however the frame is turned, scaled or tilted.

        The projective mapping of a rectangle to a quadrilateral (Heckbert, Fundamentals of Texture Mapping, 1989,
        section 2.2.3); for parallelograms it is affine.
        """
        (x0, y0), (x1, y1), (x2, y2), (x3, y3) = self.corners
        u, v = x / (self.width or 1.0), y / (self.height or 1.0)
        sum_x, sum_y = x0 - x1 + x2 - x3, y0 - y1 + y2 - y3
        determinant = (x1 - x2) * (y3 - y2) - (x3 - x2) * (y1 - y2)
        g = h = 0.0
        if determinant and max(abs(sum_x), abs(sum_y)) > TILTED_PX:
            g = (sum_x * (y3 - y2) - (x3 - x2) * sum_y) / determinant
            h = ((x1 - x2) * sum_y - sum_x * (y1 - y2)) / determinant
        depth = g * u + h * v + 1
        across = (x1 - x0 + g * x1) * u + (x3 - x0 + h * x3) * v + x0
        down = (y1 - y0 + g * y1) * u + (y3 - y0 + h * y3) * v + y0
        return across / depth, down / depth


async def drawn_at(tab: Tab, frame: Frame, x: float, y: float) -> tuple[float, float]:
    """Convert a point in the viewport of `frame` to the top document's viewport, in CSS pixels.

    Raises:
        CdpFailed: the frame is gone or not displayed.
    """
    return mapped(await quads(tab, frame), x, y)


def mapped(through: Sequence[Quad], x: float, y: float) -> tuple[float, float]:
    """Convert a point by one mapping after the other."""
    for quad in through:
        x, y = quad.place(x, y)
    return x, y


async def box_in_page(tab: Tab, frame: Frame, box: Box) -> Box | None:
    """Return the upright box in the top document around a box of a frame's viewport; None if unknown."""
    try:
        through = await quads(tab, frame)
        scroll_x, scroll_y = await tab.call(tab.main, "[scrollX, scrollY]", timeout_s=DRAWN_S)
    except CdpFailed:
        return None
    right, bottom = box.x + box.width, box.y + box.height
    corners = [mapped(through, x, y) for x in (box.x, right) for y in (box.y, bottom)]
    left, top = (min(corner[axis] for corner in corners) for axis in (0, 1))
    width, height = (max(corner[axis] for corner in corners) - low for axis, low in ((0, left), (1, top)))
    return Box(x=left + scroll_x, y=top + scroll_y, width=width, height=height)


async def quads(tab: Tab, frame: Frame) -> tuple[Quad, ...]:
    """Return the mappings that take a point of `frame` to the top document, in order.

    Raises:
        CdpFailed: the frame is gone or not displayed.
    """
    return tuple([await _quad(tab, hop) for hop in reversed(_roots(tab, frame))])


async def bring_into_view(tab: Tab, frame: Frame, x: float, y: float) -> None:
    """Scroll the documents around `frame` until a point of its viewport is visible.

    The agent in a frame scrolls only the documents of its own process.

    Raises:
        CdpFailed: the frame is gone or not displayed.
    """
    for hop in reversed(_roots(tab, frame)):
        parent = tab.frames[hop.parent or ""]
        quad = await _quad(tab, hop)
        if hop.cdp is not parent.cdp:
            owner = await parent.cdp.send("DOM.getFrameOwner", {"frameId": hop.id})
            point = {"x": x, "y": y, "width": 1, "height": 1}
            await parent.cdp.send(
                "DOM.scrollIntoViewIfNeeded", {"backendNodeId": owner["backendNodeId"], "rect": point}
            )
            scrolled = await _quad(tab, hop)
            if scrolled != quad:
                await _drawn(tab, parent)
            quad = scrolled
        x, y = quad.place(x, y)


async def _drawn(tab: Tab, frame: Frame) -> None:
    """Wait until `frame` is drawn: Chromium sends input to the process whose frame was last drawn at the point.

    A hidden page is not drawn.
    """
    with contextlib.suppress(CdpFailed):
        await tab.call(frame, _DRAWN, timeout_s=DRAWN_S)


async def is_uncovered(tab: Tab, frame: Frame, x: float, y: float) -> bool:
    """Return whether the pointer would hit `frame` at this point of its viewport.

    The agent in the frame sees covers inside the frame; covers in the documents around it are checked here.

    Raises:
        CdpFailed: the frame is gone or not displayed.
    """
    for hop in reversed(_roots(tab, frame)):
        parent = tab.frames[hop.parent or ""]
        x, y = (await _quad(tab, hop)).place(x, y)
        hit = await _hit(parent, x, y)
        if hop.cdp is parent.cdp:
            inside = [known.id for known in tab.frames.values() if hop in tab.ancestors(known)]
            if hit.get("frameId") not in inside:
                return False
        else:
            owner = await parent.cdp.send("DOM.getFrameOwner", {"frameId": hop.id})
            if hit.get("backendNodeId") != owner["backendNodeId"]:
                return False
    return True


async def _hit(frame: Frame, x: float, y: float) -> Mapping[str, Any]:
    metrics = await frame.cdp.send("Page.getLayoutMetrics")  # the command takes document coordinates
    viewport = metrics["cssVisualViewport"]
    place = {"x": round(x + viewport["pageX"]), "y": round(y + viewport["pageY"])}
    try:
        return await frame.cdp.send("DOM.getNodeForLocation", place)
    except CdpFailed as exc:
        if exc.closed or exc.timed_out:
            raise
        return {}  # nothing is there: the point is outside of the window


def _roots(tab: Tab, frame: Frame) -> list[Frame]:
    """Return the hops whose offsets add up: boxes are relative to the topmost frame of their process."""
    hops = tab.ancestors(frame)[1:]
    return [hop for hop in hops if hop is frame or hop.cdp is not tab.frames[hop.parent or ""].cdp]


async def _quad(tab: Tab, frame: Frame) -> Quad:
    parent = tab.frames[frame.parent or ""]
    owner = await parent.cdp.send("DOM.getFrameOwner", {"frameId": frame.id})
    model = (await parent.cdp.send("DOM.getBoxModel", {"backendNodeId": owner["backendNodeId"]}))["model"]
    content, border = _corners(model["content"]), _corners(model["border"])
    if _is_upright(border, model["width"], model["height"]):
        (left, top), (right, bottom) = content[0], content[2]
        return Quad(content, right - left, bottom - top)
    width, height = await tab.call(frame, "[innerWidth, innerHeight]", timeout_s=COMMAND_TIMEOUT_S)
    return Quad(content, width, height)


def _corners(flat: Sequence[float]) -> tuple[tuple[float, float], ...]:
    return tuple(zip(flat[::2], flat[1::2], strict=True))


def _is_upright(border: tuple[tuple[float, float], ...], width: float, height: float) -> bool:
    """Return whether a box is drawn as laid out: then its pixels are those of its parent."""
    (x0, y0), (x1, y1), (x2, y2), (x3, y3) = border
    straight = abs(y0 - y1) < 1 and abs(x1 - x2) < 1 and abs(y2 - y3) < 1 and abs(x3 - x0) < 1
    return straight and abs(x1 - x0 - width) < 1 and abs(y3 - y0 - height) < 1
