"""One tab: its frames, their isolated worlds, and the messages of the page agent."""

import asyncio
import contextlib
import json
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Page

from replaywright.browser.devtools.cdp import CdpFailed, CdpSession, EvaluationCounter
from replaywright.browser.devtools.evidence import TabTraffic
from replaywright.browser.devtools.exchanges import Exchanges
from replaywright.browser.devtools.waiting import Pulse
from replaywright.browser.page import page_agent_source

_FRAMES_OF_THEIR_OWN = {
    "autoAttach": True,
    "waitForDebuggerOnStart": False,
    "flatten": True,
    "filter": [{"type": "iframe"}],
}
"""Asks for a session to every frame, directly inside the session's own, that has a process of its own."""
WORLD = "replaywright"
BINDING = "__replaywright"
FRAMES_ADOPTED_S = 3.0
"""Wait for frames in other processes when their tab is attached."""
BODIES_S = 2.0
"""Wait for a page that hangs to keep the bodies of its responses."""
_WATCH_MS = 2**31 - 1
"""The longest time that Playwright's driver can be asked to wait."""


@dataclass(eq=False)
class Frame:
    """One frame as it is now. It stays the same object when its document changes or moves to another process."""

    id: str
    parent: str | None
    cdp: CdpSession
    url: str = ""
    title: str = ""
    name: str = ""
    loader: str = ""
    """Id of its document's loader; it changes with every new document."""
    context: str = ""
    """Unique id of the agent's world in the present document; empty while there is none."""
    loaded: bool = False
    """True after DOMContentLoaded."""
    restored: bool = False
    """True when the document came from the back/forward cache: no script is injected again."""
    loading: str = ""
    """The document that is on its way; empty when none is."""
    busy: bool = False
    """True while its document, or one inside it, loads."""
    busy_since: float = 0.0
    """When that began, in monotonic seconds."""
    stopped_at: float = field(default_factory=time.monotonic)
    """When it ended, or the frame came to be known."""
    unreachable: str = ""
    """The address that could not be opened, when the document is Chromium's own error page."""


class Listener(Protocol):
    """Receiver of a tab's messages and events."""

    def on_message(self, frame: Frame, message: Mapping[str, Any]) -> None:
        """Receive a message of the page agent about an attempt."""

    def on_event(self, tab: "Tab", method: str, params: Mapping[str, Any]) -> None:
        """Receive an event of the protocol."""


@dataclass(eq=False)
class Tab:
    """One page of the browser with all its frames."""

    page: Page
    browser: CdpSession
    pulse: Pulse
    listener: Listener
    counts: EvaluationCounter
    exchanges: Exchanges
    scripts: tuple[str, ...] = ()
    """Files of `replaywright/browser` that run in the agent's scope, too."""
    cdp: CdpSession = field(init=False)
    main: Frame = field(init=False)
    frames: dict[str, Frame] = field(default_factory=dict)
    traffic: TabTraffic = field(default_factory=TabTraffic)
    is_attached: bool = False
    """True when it can be spoken to."""
    closed: bool = False
    crashed: bool = False
    unattended: bool = False
    """True when Playwright's driver is gone: dialogs would stay open, and new tabs unnoticed."""
    dragged: Mapping[str, Any] | None = None
    """Data of the browser's native drag and drop, once an intercepted drag has begun."""
    chooser: tuple[CdpSession, Mapping[str, Any]] | None = None
    """File chooser that was opened while choosers were intercepted: its session and the event."""
    _worlds: dict[tuple[CdpSession, int], str] = field(default_factory=dict)
    """Frame ids by session and context number."""
    _remote: dict[str, CdpSession] = field(default_factory=dict)
    """The sessions of frames that have a process of their own, by frame."""
    _tasks: set[asyncio.Task[None]] = field(default_factory=set)
    _handlers: Mapping[str, Callable[[CdpSession, Mapping[str, Any]], None]] = field(init=False)

    def __post_init__(self) -> None:
        self._handlers = {
            "Runtime.executionContextCreated": self._context_created,
            "Runtime.executionContextDestroyed": self._context_destroyed,
            "Runtime.executionContextsCleared": self._contexts_cleared,
            "Runtime.bindingCalled": self._binding_called,
            "Page.frameAttached": self._attached,
            "Page.frameDetached": self._detached,
            "Page.frameNavigated": self._navigated,
            "Inspector.targetCrashed": self._crashed,
            "Target.attachedToTarget": self._frame_moved_out,
            "closed": self._on_session_closed,
        }

    @property
    def _world(self) -> str:
        """Name of the agent's world: with scripts one of its own, as a worker's may be in the page already."""
        return f"{WORLD} with {', '.join(self.scripts)}" if self.scripts else WORLD

    @property
    def url(self) -> str:
        """Return the top document's address."""
        return self.main.url

    @property
    def title(self) -> str:
        """Return the top document's title, as last reported."""
        return self.main.title

    # ------------------------------------------------------------------------------------------ attaching

    async def open(self) -> None:
        """Attach to the page and to every frame that runs in a process of its own.

        Raises:
            CdpFailed: the page does not answer.
        """
        target = await _target_of(self.page)
        self.cdp = await self.browser.attached(target, self._on_event, self.counts)
        self.main = Frame(target, None, self.cdp)  # a page and its top frame have one id
        try:
            self.main = await self._install(self.cdp)
            if self._tasks:
                await asyncio.wait(self._tasks, timeout=FRAMES_ADOPTED_S)
        except BaseException:
            self.detach()
            raise
        self._begin(self._watch_driver())

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _watch_driver(self) -> None:
        """Note when Playwright's driver ends: only its pending calls fail then."""
        try:
            await self.page.wait_for_timeout(_WATCH_MS)
        except PlaywrightError:  # or the page was closed, or crashed, or the browser is gone
            try:
                await self.page.context.cookies([])
            except PlaywrightError:
                self.unattended = True
                self.pulse.beat()

    async def _install(self, cdp: CdpSession) -> Frame:
        """Put the agent into all documents of this session, present and future; returns its topmost frame."""
        enabled = cdp.post("Page.enable")
        asked = cdp.post("Page.getFrameTree")
        await asyncio.gather(
            enabled,
            self.exchanges.enable(cdp),
            cdp.send("Runtime.enable"),
            cdp.send("Log.enable"),
            cdp.send("Runtime.addBinding", {"name": BINDING, "executionContextName": self._world}),
            cdp.send(
                "Page.addScriptToEvaluateOnNewDocument",
                {"source": page_agent_source(*self.scripts), "worldName": self._world, "runImmediately": True},
            ),
            cdp.send("Target.setAutoAttach", _FRAMES_OF_THEIR_OWN),
        )
        return self._grow(cdp, (await asked)["frameTree"])

    def _grow(self, cdp: CdpSession, tree: Mapping[str, Any]) -> Frame:
        payload = tree["frame"]
        frame = self._frame(payload["id"], cdp)
        frame.parent = payload.get("parentId")
        frame.cdp = cdp
        frame.url = payload["url"] + payload.get("urlFragment", "")
        frame.name = payload.get("name", "")
        frame.loader = payload["loaderId"]
        frame.unreachable = payload.get("unreachableUrl", "")
        for child in tree.get("childFrames", ()):
            self._grow(cdp, child)
        return frame

    def _frame(self, frame_id: str, cdp: CdpSession) -> Frame:
        if frame_id not in self.frames:
            self.frames[frame_id] = Frame(frame_id, None, cdp)
        return self.frames[frame_id]

    def _frame_moved_out(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        """Follow a frame that has moved to another process."""
        target = params["targetInfo"]
        if target["type"] == "iframe":
            adopted = CdpSession(cdp.connection, params["sessionId"], self._on_event, self.counts)
            self._remote[target["targetId"]] = adopted
            self._begin(self._adopt(adopted))

    async def _adopt(self, cdp: CdpSession) -> None:
        with contextlib.suppress(CdpFailed):  # it is gone, or hangs
            await self._install(cdp)
        self.pulse.beat()

    def _frame_moved_in(self, cdp: CdpSession) -> None:
        """Handle the end of a frame's session: it runs in its parent's process again, or is gone."""
        for number in [number for number, known in self._remote.items() if known is cdp]:
            del self._remote[number]
        self._contexts_cleared(cdp, {})
        roots = [frame for frame in self.frames.values() if frame.cdp is cdp and not self._is_inside(frame, cdp)]
        for frame in roots:
            # The parent's process announces a returning frame before it answers this, if at all.
            parent = self.frames.get(frame.parent or "", self.main)
            parent.cdp.post("Page.getFrameTree").add_done_callback(partial(self._lose, frame, cdp))

    def _is_inside(self, frame: Frame, cdp: CdpSession) -> bool:
        parent = self.frames.get(frame.parent or "")
        return parent is not None and parent.cdp is cdp

    def _lose(self, frame: Frame, cdp: CdpSession, _answer: object) -> None:
        if frame.cdp is cdp:
            self._forget(frame.id)
            self.pulse.beat()

    async def keep_bodies(self) -> None:
        """Have the sessions that are there keep the bodies of responses; one that hangs is left as it is."""
        sessions = (self.cdp, *self._remote.values())
        await asyncio.gather(*(self._keep_bodies(cdp) for cdp in sessions))

    async def _keep_bodies(self, cdp: CdpSession) -> None:
        with contextlib.suppress(CdpFailed):
            await self.exchanges.enable(cdp, timeout_s=BODIES_S)

    def detach(self) -> None:
        """Let go of the page; it stays as it is. Its sessions end with the connection."""
        for task in self._tasks:
            task.cancel()
        for cdp in (self.cdp, *self._remote.values()):
            cdp.close()

    # -------------------------------------------------------------------------------------------- events

    def _on_event(self, cdp: CdpSession, method: str, params: Mapping[str, Any]) -> None:
        handler = self._handlers.get(method)
        if handler is not None:
            handler(cdp, params)
        elif method.startswith("Network."):
            self.traffic.on_event(method, params, time.monotonic())
            self.exchanges.on_event(
                cdp, method, params, top=self.main.id, traffic=self.traffic, opening=not self.is_attached
            )
        else:
            self._on_progress(cdp, method, params)
        self.listener.on_event(self, method, params)
        self.pulse.beat()

    def _context_created(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        context = params["context"]
        if context["name"] != self._world:
            return
        frame = self._frame(context["auxData"]["frameId"], cdp)
        if frame.cdp is not cdp:  # it has moved to this process; late events of the old one may follow
            frame.cdp = cdp
        frame.context = context["uniqueId"]
        self._worlds[cdp, context["id"]] = frame.id

    def _context_destroyed(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        frame = self.frames.get(self._worlds.pop((cdp, params["executionContextId"]), ""))
        if frame is not None and frame.context == params.get("executionContextUniqueId"):
            frame.context = ""

    def _contexts_cleared(self, cdp: CdpSession, _params: Mapping[str, Any]) -> None:
        for key in [key for key in self._worlds if key[0] is cdp]:
            frame = self.frames.get(self._worlds.pop(key))
            if frame is not None and frame.cdp is cdp and frame.context:
                frame.context = ""

    def _binding_called(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        frame = self.frames.get(self._worlds.get((cdp, params["executionContextId"]), ""))
        if params["name"] != BINDING or frame is None:
            return
        message: Mapping[str, Any] = json.loads(params["payload"])
        frame.url = message["url"]
        frame.title = message["title"]
        if message["type"] in ("loaded", "candidates", "settled", "ready"):
            frame.loaded = True
        if message["attempt"]:
            self.listener.on_message(frame, message)

    def _attached(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        frame = self._frame(params["frameId"], cdp)
        frame.parent = params["parentFrameId"]
        frame.cdp, frame.busy = cdp, False

    def _detached(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        frame = self.frames.get(params["frameId"])
        if frame is None or frame.cdp is not cdp:
            return
        if params.get("reason") == "swap":  # it goes on in another process, which reports whether it loads
            frame.context, frame.busy = "", False
        else:
            self._forget(frame.id)

    def _forget(self, frame_id: str) -> None:
        for child in [child.id for child in self.frames.values() if child.parent == frame_id]:
            self._forget(child)
        frame = self.frames.pop(frame_id, None)
        if frame is not None:
            frame.context = ""
            self.traffic.leave(frame.loader)

    def _navigated(self, cdp: CdpSession, params: Mapping[str, Any]) -> None:
        payload = params["frame"]
        frame = self._frame(payload["id"], cdp)
        frame.cdp = cdp
        frame.parent = payload.get("parentId")
        frame.url = payload["url"] + payload.get("urlFragment", "")
        frame.name = payload.get("name", "")
        frame.unreachable = payload.get("unreachableUrl", "")
        if frame.loader != payload["loaderId"]:
            for child in self.children(frame):  # they belonged to the document before
                self._forget(child.id)
            self.traffic.leave(frame.loader)
            frame.loader = payload["loaderId"]
            # A page from the back/forward cache is complete, and its worlds were announced already.
            frame.restored = frame.loaded = params.get("type") == "BackForwardCacheRestore"
            frame.title = ""
            if frame.loaded:
                cdp.post("Page.getFrameTree").add_done_callback(lambda payload: self._regrow(cdp, payload))
        frame.loading = ""

    def _regrow(self, cdp: CdpSession, payload: "asyncio.Future[Mapping[str, Any]]") -> None:
        if not payload.cancelled() and payload.exception() is None:
            self._grow(cdp, payload.result()["frameTree"])
            self.pulse.beat()

    def _on_progress(self, cdp: CdpSession, method: str, params: Mapping[str, Any]) -> None:
        """Note how far a known frame is, and what the browser has intercepted."""
        frame = self.frames.get(params.get("frameId", ""))
        match method:
            case "Page.navigatedWithinDocument" if frame is not None:
                frame.url = params["url"]
            case "Page.frameStartedNavigating" if frame is not None:
                if params["navigationType"] not in ("sameDocument", "historySameDocument"):
                    frame.loading = params["loaderId"]
            case "Page.frameStartedLoading" if frame is not None:
                frame.busy, frame.busy_since = True, time.monotonic()
            case "Page.frameStoppedLoading" if frame is not None:
                frame.loading, frame.busy, frame.stopped_at = "", False, time.monotonic()
            case "Page.domContentEventFired" if cdp is self.cdp:
                self.main.loaded = True
            case "Input.dragIntercepted":
                self.dragged = params["data"]
            case "Page.fileChooserOpened":
                self.chooser = (cdp, params)
            case _:
                pass

    def world_number(self, frame_id: str, cdp: CdpSession) -> int | None:
        """Return the number of the agent's world in that frame; each session has its own numbers."""
        worlds = [number for (known, number), frame in self._worlds.items() if known is cdp and frame == frame_id]
        return worlds[-1] if worlds else None

    def _crashed(self, cdp: CdpSession, _params: Mapping[str, Any]) -> None:
        if cdp is self.cdp:
            self.crashed = True
        else:
            self._contexts_cleared(cdp, {})

    def _on_session_closed(self, cdp: CdpSession, _params: Mapping[str, Any]) -> None:
        if cdp is not self.cdp:
            self._frame_moved_in(cdp)
        elif cdp.connection.is_open:  # else the browser is gone, and with it all its tabs
            self.closed = True

    # ------------------------------------------------------------------------------------------- speaking

    @property
    def frames_load(self) -> bool:
        """Return whether a frame in the page is loading."""
        return any(frame.busy for frame in self.frames.values() if frame is not self.main)

    @property
    def is_loading(self) -> bool:
        """Return whether the document, or a script, is being loaded."""
        return self.main.busy or bool(self.traffic.scripts)

    @property
    def loaded_at(self) -> float:
        """Return when the document had been loaded, and the last of its scripts and data so far; monotonic seconds."""
        return max(self.main.stopped_at, self.traffic.brought_at)

    def awaits(self, since: float) -> bool:
        """Return whether an answer, or a frame, that the page asked for at `since` or later has not come."""
        inner = (frame for frame in self.frames.values() if frame is not self.main)
        return self.traffic.busy(since) or any(frame.busy and frame.busy_since >= since for frame in inner)

    def worlds(self) -> list[Frame]:
        """Return the frames with a live page agent, the top one first, parents before children."""
        ordered: list[Frame] = []

        def visit(frame: Frame) -> None:
            if frame.context:
                ordered.append(frame)
            for child in self.children(frame):
                visit(child)

        visit(self.main)
        return ordered

    def children(self, frame: Frame) -> list[Frame]:
        """Return the frames directly inside `frame`, in the order in which they were attached."""
        return [child for child in self.frames.values() if child.parent == frame.id]

    def ancestors(self, frame: Frame) -> list[Frame]:
        """Return the path of frames from the top one down to `frame` itself."""
        path = [frame]
        while path[0].parent is not None and path[0].parent in self.frames:
            path.insert(0, self.frames[path[0].parent])
        return path

    def notify(self, frame: Frame, script: str, *, secret: bool = False) -> None:
        """Evaluate in the agent's world of `frame`; what it has to say comes as messages."""
        frame.cdp.notify("Runtime.evaluate", _evaluation(frame, script), secret=secret)

    async def call(self, frame: Frame, script: str, *, timeout_s: float) -> Any:
        """Evaluate in the agent's world of `frame`; returns the value.

        Raises:
            CdpFailed: the frame or its document is gone, the script failed, or the page hangs.
        """
        answer = await frame.cdp.send("Runtime.evaluate", _evaluation(frame, script), timeout_s=timeout_s)
        if payload := answer.get("exceptionDetails"):
            raise CdpFailed("Runtime.evaluate", payload.get("exception", {}).get("description") or payload["text"])
        return answer["result"].get("value")

    async def call_all(self, frames: Sequence[Frame], script: str, *, timeout_s: float) -> list[Any]:
        """Evaluate in several frames at once; the error `CdpFailed` is the value of a frame that does not answer."""

        async def call(frame: Frame) -> Any:
            try:
                return await self.call(frame, script, timeout_s=timeout_s)
            except CdpFailed as exc:
                return exc

        return await asyncio.gather(*(call(frame) for frame in frames))


async def _target_of(page: Page) -> str:
    """Return the browser's target id of a Playwright page."""
    session = await page.context.new_cdp_session(page)
    payload = await session.send("Target.getTargetInfo")
    await session.detach()
    number: str = payload["targetInfo"]["targetId"]
    return number


def _evaluation(frame: Frame, script: str) -> Mapping[str, Any]:
    return {"expression": script, "uniqueContextId": frame.context, "returnByValue": True, "awaitPromise": True}


def script_for(call: str, *arguments: Any) -> str:
    """Return a call of the agent with its arguments as literals: ASCII JSON is valid JavaScript everywhere."""
    return f"replaywright.{call}({', '.join(json.dumps(argument) for argument in arguments)})"
