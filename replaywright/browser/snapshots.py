"""Reading a whole tab: one evaluation per frame, put together in document order."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser import frames
from replaywright.browser.channel import Frame, Tab, script_for
from replaywright.browser.wire import WireFailed
from replaywright.domain.snapshots import Element, Snapshot
from replaywright.domain.targets import FrameStep

FRAME_TIMEOUT_S = 4.0
"""A frame that has not answered by then is left out, with a note."""


@dataclass
class _Reading:
    elements: list[Element] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    node_count: int = 0


async def take(tab: Tab, secrets: Sequence[str] = ()) -> Snapshot:
    """The snapshot of `tab`, its frames in place. Values that contain one of `secrets` are left out.

    Raises:
        WireFailed: the top document does not answer.
    """
    worlds = tab.worlds()
    if tab.main not in worlds:
        raise WireFailed("Runtime.evaluate", "the page has no document")
    script = script_for("snapshot", {})
    told = await asyncio.gather(
        *(tab.call(frame, script, timeout_s=FRAME_TIMEOUT_S) for frame in worlds), return_exceptions=True
    )
    answers: dict[str, Mapping[str, Any] | str] = {}
    for frame, answer in zip(worlds, told, strict=True):
        if isinstance(answer, WireFailed):
            if frame is tab.main:
                raise answer
            answers[frame.id] = answer.message
        elif isinstance(answer, BaseException):
            raise answer
        else:
            answers[frame.id] = answer
    reading = _Reading()
    await _read(tab, tab.main, (), answers, reading)
    top = answers[tab.main.id]
    assert isinstance(top, Mapping)
    return Snapshot(
        url=top["url"],
        title=top.get("title", ""),
        elements=tuple(
            _without(secrets, element).model_copy(update={"id": f"e{number}"})
            for number, element in enumerate(reading.elements, start=1)
        ),
        notes=tuple(reading.notes),
        node_count=reading.node_count,
    )


async def _read(
    tab: Tab,
    frame: Frame,
    path: tuple[FrameStep, ...],
    answers: Mapping[str, Mapping[str, Any] | str],
    reading: _Reading,
) -> None:
    told = answers.get(frame.id)
    if told is None or isinstance(told, str):
        shown = path[-1].name or path[-1].title or path[-1].url if path else "the page"
        reading.notes.append(f"frame {shown!r} did not answer")
        return
    reading.notes += told.get("notes", ())
    reading.node_count += told.get("nodeCount", 0)
    inside: dict[str, list[tuple[Frame, FrameStep]]] = {}
    for child, step, element_id in await _placed(tab, frame, told.get("frames", ())):
        inside.setdefault(element_id, []).append((child, step))
    for one in told["elements"]:
        element = Element.model_validate(one)
        if path:
            element = element.model_copy(update={"target": element.target.model_copy(update={"frame": path})})
        reading.elements.append(element)
        for child, step in inside.pop(element.id, ()):
            await _read(tab, child, (*path, step), answers, reading)
    for left in inside.values():
        for child, step in left:
            await _read(tab, child, (*path, step), answers, reading)


async def _placed(tab: Tab, frame: Frame, told: Sequence[Mapping[str, Any]]) -> list[tuple[Frame, FrameStep, str]]:
    """The child frames that are shown, in document order, with the id of the element each one stands in."""
    children = [child for child in tab.children(frame) if child.context]
    if not children or not told:
        return []
    try:
        described = await asyncio.gather(*(frames.describe(tab, child) for child in children))
    except (WireFailed, KeyError, ValueError):  # a frame went away while it was read
        return []
    placed: list[tuple[Frame, FrameStep, str]] = []
    free = list(range(len(children)))
    for seen in told:
        step = FrameStep.model_validate({key: seen.get(key) or "" for key in ("name", "title", "url")})
        step = step.model_copy(update={"index": seen.get("index", 0)})
        position = frames.choose(step, [described[index] for index in free])
        if position is not None:
            index = free.pop(position)
            placed.append((children[index], described[index], seen.get("elementId") or ""))
    return placed


def _without(secrets: Sequence[str], element: Element) -> Element:
    if any(secret in element.value for secret in secrets):
        return element.model_copy(update={"value": ""})
    return element
