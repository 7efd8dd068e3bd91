"""Reading a whole tab: one evaluation per frame, level by level, joined in document order."""

import asyncio
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser.devtools.cdp import CdpFailed
from replaywright.browser.devtools.channel import Frame, Tab, script_for
from replaywright.browser.reading import frames, listeners
from replaywright.domain.page.snapshot_text import LINE_LIMIT
from replaywright.domain.page.snapshots import Element, Snapshot
from replaywright.domain.page.targets import FrameStep

FRAME_TIMEOUT_S = 4.0
"""A frame that has not answered by then is left out, with a note."""
TAB_TIMEOUT_S = 10.0
"""Time limit of all frames together; frames that were not asked by then are left out, with a note."""
FRAMES_LIMIT = 150
"""Limit of frames that are read, outer ones first."""
SIBLINGS_LIMIT = 300
"""Limit of frames of one document that are told apart."""
_SUSPECTS = "replaywright-suspects"


@dataclass
class _Part:
    """One document's answer, and those of its frames, each with the element that it stands in."""

    frame: Frame
    reply: Mapping[str, Any]
    inside: list[tuple["_Part | None", FrameStep, str]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class _Reading:
    elements: list[Element] = field(default_factory=list)
    origins: list[tuple[Frame, str]] = field(default_factory=list)
    """Frame of each element, and the element's id there."""
    notes: list[str] = field(default_factory=list)
    node_count: int = 0
    repeated: dict[str, int] = field(default_factory=dict)
    groups: int = 0
    """Number of repetitions so far: their ids are made distinct across documents."""


async def take(
    tab: Tab,
    secrets: Sequence[str] = (),
    *,
    about: str | None = None,
    notes: bool = True,
    patience_s: float = FRAME_TIMEOUT_S,
) -> Snapshot:
    """Return the snapshot of `tab`, its frames in place, without values that contain one of `secrets`.

    With `about` (an instruction with its values) the snapshot is for a reader of that instruction: in long repetitions,
    items off the screen which it does not name are only counted, and elements beyond the text form's lines are left out
    with a note. Without it, the snapshot is complete. Only with `notes` the browser is asked for closed shadow roots.
    A top document that is busy is waited for, up to `patience_s`.

    Raises:
        CdpFailed: the top document does not answer.
    """
    script = script_for("snapshot", {}) if about is None else script_for("snapshot", {"maxLines": LINE_LIMIT}, about)
    snapshot, _ = await _taken(tab, secrets, script, notes=notes, patience_s=patience_s)
    return snapshot


async def take_pictured(tab: Tab, secrets: Sequence[str] = ()) -> tuple[Snapshot, dict[str, tuple[Frame, str]]]:
    """Return the whole snapshot, and by element id the frame and the id that its agent knows.

    Raises:
        CdpFailed: the top document does not answer.
    """
    snapshot, origins = await _taken(tab, secrets, script_for("snapshot", {"pictured": True}))
    ids = (element.id for element in snapshot.elements)
    return snapshot, dict(zip(ids, origins, strict=True))


async def _taken(
    tab: Tab, secrets: Sequence[str], script: str, *, notes: bool = True, patience_s: float = FRAME_TIMEOUT_S
) -> tuple[Snapshot, list[tuple[Frame, str]]]:
    if tab.main not in tab.worlds():
        raise CdpFailed("Runtime.evaluate", "the page has no document")
    await listeners.tell(tab, tab.main)
    top = _Part(tab.main, await tab.call(tab.main, script, timeout_s=patience_s))
    await _descend(tab, top, script, time.monotonic() + TAB_TIMEOUT_S, notes=notes)
    reading = _Reading()
    _put_together(top, (), reading)
    snapshot = Snapshot(
        url=top.reply["url"],
        title=top.reply.get("title", ""),
        elements=tuple(
            _without(secrets, element).model_copy(update={"id": f"e{number}"})
            for number, element in enumerate(reading.elements, start=1)
        ),
        notes=tuple(reading.notes),
        node_count=reading.node_count,
        repeated=reading.repeated,
    )
    return snapshot, reading.origins


async def _descend(tab: Tab, top: _Part, script: str, deadline: float, *, notes: bool) -> None:
    """Read the frames level by level: only a document knows which of its frames are visible."""
    level = [(tab.main, top)]
    left = FRAMES_LIMIT
    while level:
        if notes:
            await asyncio.gather(*(_note_closed_roots(frame, part) for frame, part in level))
        placed = await asyncio.gather(*(_placed(tab, frame, part) for frame, part in level))
        found = [(part, one) for (_, part), ones in zip(level, placed, strict=True) for one in ones]
        timeout_s = min(FRAME_TIMEOUT_S, deadline - time.monotonic())
        read = found[:left] if timeout_s > 0 else []
        left -= len(read)
        await asyncio.gather(*(listeners.tell(tab, child) for _, (child, _, _) in read))
        answers = await tab.call_all([child for _, (child, _, _) in read], script, timeout_s=timeout_s)
        for parent, _ in found[len(read) :]:
            parent.notes.append("a frame was left out: too many frames, or the page took too long to read")
        level = []
        for (parent, (child, step, element_id)), answer in zip(read, answers, strict=True):
            part = None if isinstance(answer, CdpFailed) else _Part(child, answer)
            parent.inside.append((part, step, element_id))
            if part is not None:
                level.append((child, part))


def _put_together(part: _Part, path: tuple[FrameStep, ...], reading: _Reading) -> None:
    reply = part.reply
    reading.notes += [*reply.get("notes", ()), *_counted(part.notes)]
    reading.node_count += reply.get("nodeCount", 0)
    before = reading.groups
    inside: dict[str, list[tuple[_Part | None, FrameStep]]] = {}
    for child, step, element_id in part.inside:
        inside.setdefault(element_id, []).append((child, step))

    def enter(child: _Part | None, step: FrameStep) -> None:
        if child is None:
            reading.notes.append(f"frame {step.name or step.title or step.url!r} did not answer")
        else:
            _put_together(child, (*path, step), reading)

    elements = [Element.model_validate(one) for one in reply["elements"]]
    groups = {element.group for element in elements if element.group} | reply.get("repeated", {}).keys()
    reading.repeated |= {_renumbered(group, before): count for group, count in reply.get("repeated", {}).items()}
    reading.groups += max((int(group[1:]) for group in groups), default=0)
    for element in elements:
        update: dict[str, object] = {}
        if path:
            update["target"] = element.target.model_copy(update={"frame": path})
        if element.group and before:
            update["group"] = _renumbered(element.group, before)
        reading.elements.append(element.model_copy(update=update) if update else element)
        reading.origins.append((part.frame, element.id))
        for child, step in inside.pop(element.id, ()):
            enter(child, step)
    for left in inside.values():
        for child, step in left:
            enter(child, step)


def _renumbered(group: str, before: int) -> str:
    return f"g{before + int(group[1:])}"


def _counted(notes: Sequence[str]) -> list[str]:
    return [note if times == 1 else f"{note} ({times} times)" for note, times in Counter(notes).items()]


async def _placed(tab: Tab, frame: Frame, part: _Part) -> list[tuple[Frame, FrameStep, str]]:
    """Return the visible child frames in document order, each with the id of its element."""
    reply = part.reply.get("frames", ())
    children = [child for child in tab.children(frame) if child.context]
    if not children or not reply:
        return []
    if len(children) > SIBLINGS_LIMIT:
        part.notes.append(f"{len(children) - SIBLINGS_LIMIT} of {len(children)} frames were not looked at: too many")
        children = children[:SIBLINGS_LIMIT]
    try:
        described = await asyncio.gather(*(frames.describe(tab, child) for child in children))
    except (CdpFailed, KeyError, ValueError):  # a frame went away while it was read
        return []
    placed: list[tuple[Frame, FrameStep, str]] = []
    free = list(range(len(children)))
    for seen in reply:
        step = FrameStep.model_validate({key: seen.get(key) or "" for key in ("name", "title", "url")})
        step = step.model_copy(update={"index": seen.get("index", 0)})
        position = frames.choose(step, [described[index] for index in free])
        if position is not None:
            index = free.pop(position)
            placed.append((children[index], described[index], seen.get("elementId") or ""))
    return placed


async def _note_closed_roots(frame: Frame, part: _Part) -> None:
    """Note closed shadow roots: the page can only suspect them; the browser knows."""
    suspects = part.reply.get("suspects", 0)
    if not suspects:
        return
    try:
        nodes = await _described_suspects(frame)
    except (CdpFailed, KeyError):  # the document went away meanwhile, and its elements with it
        part.notes.append(f"{suspects} elements could not be asked for closed shadow roots")
        return
    for node in nodes:
        if any(root.get("shadowRootType") == "closed" for root in node.get("shadowRoots", ())):
            part.notes.append(f"closed shadow root in <{node['localName']}>: cannot be read")


async def _described_suspects(frame: Frame) -> list[Mapping[str, Any]]:
    cdp = frame.cdp
    held = await cdp.send(
        "Runtime.evaluate",
        {"expression": script_for("suspects"), "uniqueContextId": frame.context, "objectGroup": _SUSPECTS},
        timeout_s=FRAME_TIMEOUT_S,
    )
    try:
        listed = await cdp.send(
            "Runtime.getProperties", {"objectId": held["result"]["objectId"], "ownProperties": True}
        )
        ids = [one["value"]["objectId"] for one in listed["result"] if one["name"].isdecimal()]
        answers = await asyncio.gather(*(cdp.send("DOM.describeNode", {"objectId": one}) for one in ids))
    finally:
        cdp.notify("Runtime.releaseObjectGroup", {"objectGroup": _SUSPECTS})
    return [answer["node"] for answer in answers]


def _without(secrets: Sequence[str], element: Element) -> Element:
    if any(secret in element.value for secret in secrets):
        return element.model_copy(update={"value": ""})
    return element
