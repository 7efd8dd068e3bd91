"""Elements whose presses a page's scripts hear: the page agent cannot see listeners, the browser can."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any, Final

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession
from replaywright.browser.devtools.channel import Frame, Tab, script_for

ELEMENTS_LIMIT: Final = 300
"""Elements of one document that are told; of more, the first ones."""
TIMEOUT_S: Final = 1.0
"""A document that has not answered by then goes without: roles, focus and cursor show most controls."""
_PRESSES: Final = frozenset({"click", "mousedown", "mouseup", "pointerdown", "pointerup", "touchstart"})
_GROUP: Final = "replaywright-listeners"
_TELL: Final = "function(...elements) { replaywright.hearsPresses(elements); }"


async def tell(tab: Tab, frame: Frame) -> None:
    """Tell the agent of a frame which elements have a listener of presses."""
    world = tab.world_number(frame.id, frame.cdp)
    if world is None:
        return
    try:
        async with asyncio.timeout(TIMEOUT_S):
            await _tell(frame, world, is_top=frame is tab.main)
    except (CdpFailed, TimeoutError, KeyError):  # the document went away, or is busy
        return
    finally:
        frame.cdp.notify("Runtime.releaseObjectGroup", {"objectGroup": _GROUP})


async def _tell(frame: Frame, world: int, *, is_top: bool) -> None:
    """Ask root by root: with `pierce`, elements of inner documents would get their wrappers from this one's world."""
    cdp = frame.cdp
    place = {"uniqueContextId": frame.context, "objectGroup": _GROUP}
    (roots, handles), of_top = await asyncio.gather(_roots(cdp, place), _listeners_of_top(cdp, is_top=is_top))
    answers = [of_top, *await asyncio.gather(*(_listeners(cdp, handle) for handle in handles[is_top:]))]
    heard = [one for answer in answers for one in answer if one["type"] in _PRESSES]
    nodes = list(dict.fromkeys(one["backendNodeId"] for one in heard if "backendNodeId" in one))[:ELEMENTS_LIMIT]
    resolved = {"executionContextId": world, "objectGroup": _GROUP}
    found = await asyncio.gather(*(cdp.send("DOM.resolveNode", {"backendNodeId": one, **resolved}) for one in nodes))
    call = {
        "objectId": roots,
        "functionDeclaration": _TELL,
        "arguments": [{"objectId": one["object"]["objectId"]} for one in found],
    }
    cdp.notify("Runtime.callFunctionOn", call)  # what is asked of the page next comes after it


async def _roots(cdp: CdpSession, place: Mapping[str, str]) -> tuple[str, Sequence[str]]:
    """Return the handles of the list of all roots, and of each."""
    roots = await cdp.send("Runtime.evaluate", {"expression": script_for("roots"), **place})
    handle: str = roots["result"]["objectId"]
    listed = await cdp.send("Runtime.getProperties", {"objectId": handle, "ownProperties": True})
    return handle, [one["value"]["objectId"] for one in listed["result"] if one["name"].isdecimal()]


async def _listeners_of_top(cdp: CdpSession, *, is_top: bool) -> Sequence[Mapping[str, Any]]:
    """Return the listeners in the tab's document: without a context, the browser asks the page's own world in it."""
    if not is_top:
        return ()
    top = await cdp.send("Runtime.evaluate", {"expression": "document", "objectGroup": _GROUP})
    return await _told(cdp, top["result"]["objectId"])


async def _listeners(cdp: CdpSession, handle: str) -> Sequence[Mapping[str, Any]]:
    """Return the listeners under a root.

    The browser tells those of the world of the object that it is asked by: that of the page.
    """
    node = (await cdp.send("DOM.describeNode", {"objectId": handle}))["node"]["backendNodeId"]
    own = (await cdp.send("DOM.resolveNode", {"backendNodeId": node, "objectGroup": _GROUP}))["object"]["objectId"]
    return await _told(cdp, own)


async def _told(cdp: CdpSession, own: str) -> Sequence[Mapping[str, Any]]:
    told = await cdp.send("DOMDebugger.getEventListeners", {"objectId": own, "depth": -1})
    listeners: Sequence[Mapping[str, Any]] = told["listeners"]
    return listeners
