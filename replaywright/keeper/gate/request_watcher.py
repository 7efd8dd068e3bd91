"""Requests as Chromium tells of them: inside TLS the gate itself sees only the bytes of a tunnel.

While an operation is current, Chromium pauses every request before it sends it and once it has its answer: of pages,
frames, workers and service workers, and of pages that are being left. Each is noted and goes on at once. So the gate
knows of a request inside TLS before the first of its bytes. Messages of WebSockets are not told of, nor what a page
sends while it is being closed.

The same sessions set the browser up (`replaywright.keeper.chromium.emulation`), before a target runs its first script.
"""

from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from replaywright.domain.page.observed import SAFE_METHODS
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.network_policy import RefusedHost
from replaywright.keeper.chromium.emulation import Emulation
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.gate.black_box import BlackBox, UpstreamConnection
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.gate.withholding import Withholding

UNDER_WAY_KEPT: Final = 512
"""Requests without an answer that are remembered; one that the page gives up never gets any."""
_PORT: Final = 443
_EVERY_REQUEST: Final = {"patterns": [{"requestStage": stage} for stage in ("Request", "Response")]}
_UNANSWERED: Final = {"patterns": [{"requestStage": "Request"}]}
_NO_REQUEST: Final = {"patterns": [{"urlPattern": "https://nothing.invalid/"}]}
"""Not disabled, as Chromium would have to tell every renderer and worker to enable it again."""
_TARGETS: Final = ("page", "service_worker", "shared_worker")
_FRAMES: Final = ("iframe",)
_WORKERS: Final = ("worker",)
"""Their requests are told of by the page; they are attached to only where they have to be set up."""


class RequestWatcher:
    """Tells the gate of the requests of one browser."""

    def __init__(self, devtools: Multiplexer, gate: Gate, black_box: BlackBox) -> None:
        self._devtools = devtools
        self._emulation = Emulation()
        self._gate = gate
        self._black_box = black_box
        self._sessions: dict[str, str] = {}
        """The kind of target that each session is with."""
        self.pages: dict[str, str] = {}
        """The target of each session with a page, the oldest first."""
        self._under_way: dict[str, UpstreamConnection] = {}
        """Those inside TLS, by number."""
        self._awaited: set[str] = set()
        self._is_watching = False
        self._withholding = Withholding()
        devtools.on_input = self._withholding.note_input

    async def start(self) -> None:
        """Attach to all targets that there are and will be, and tell the gate from now on.

        Raises:
            StackFailed: Chromium does not answer.
        """
        root = str((await self._devtools.call("Target.attachToBrowserTarget"))["sessionId"])
        self._devtools.subscribe(root, self._on_event)
        await self._devtools.call("Target.setAutoAttach", _auto_attach(_TARGETS), root)
        self._gate.listen(self)

    async def set_up(self, setup: BrowserSetup) -> None:
        """Set up all targets that there are and will be; return when those that there are have it.

        Raises:
            StackFailed: Chromium does not answer.
        """
        self._emulation.set_up(setup)
        self._withholding.begin(setup.sends, holds_back=setup.holds_back)
        for method, params in self._emulation.of_media():  # which Playwright sets for every page, too
            self._devtools.fix(method, params)
        for session, kind in self._sessions.items():
            self._set_pattern(session)
            self._emulate(session, kind)
            self._attach_inner(session)
        for session in [session for session, kind in self._sessions.items() if kind == "page"]:
            await self._devtools.call("Target.getTargetInfo", session=session)  # commands of a session keep their order

    def _attach_inner(self, session: str) -> None:
        """Attach to what runs inside a target in a process or thread of its own."""
        kinds = (*_FRAMES, *_WORKERS) if self._emulation.is_of_workers else _FRAMES
        self._devtools.send("Target.setAutoAttach", _auto_attach(kinds), session)

    def _emulate(self, session: str, kind: str) -> None:
        for method, params in self._emulation.commands(kind):
            self._devtools.send(method, params, session)

    @property
    def withheld(self) -> tuple[RefusedHost, ...]:
        """Requests that were withheld; see `Withholding`."""
        return self._withholding.withheld

    @property
    def awaited(self) -> int:
        """See `Teller.awaited`."""
        return len(self._awaited)

    def watch(self, *, is_armed: bool) -> None:
        """Have every request paused, or none."""
        self._is_watching = is_armed
        self._awaited.clear()
        for session in self._sessions:
            self._set_pattern(session)

    def _set_pattern(self, session: str) -> None:
        if self._sessions[session] in _WORKERS:
            return
        own = self._emulation.pauses
        own_or_none = _UNANSWERED if self._withholding.is_on else own or _NO_REQUEST
        wanted = _EVERY_REQUEST if self._is_watching else own_or_none
        auth = {} if own is None else {"handleAuthRequests": own["handleAuthRequests"]}
        self._devtools.send("Fetch.enable", {**wanted, **auth}, session)

    def _on_event(self, session: str, event: Mapping[str, Any]) -> None:
        params = event["params"]
        match event["method"]:
            case "Target.attachedToTarget":
                self._attached(params["sessionId"], params["targetInfo"])
            case "Target.detachedFromTarget":
                self._detached(params["sessionId"])
            case "Fetch.requestPaused":
                going_on: Mapping[str, Any] = {"requestId": params["requestId"]}
                if "responseErrorReason" in params or "responseStatusCode" in params:
                    self._response_paused(params["requestId"], params.get("responseStatusCode"))
                elif not self._withholding.permits(params, is_top=params.get("frameId") == self.pages.get(session)):
                    # Of a document that was given up, the tab keeps the one that it has.
                    reason = "Aborted" if params.get("resourceType") == "Document" else "BlockedByClient"
                    refused = {"requestId": params["requestId"], "errorReason": reason}
                    self._devtools.send("Fetch.failRequest", refused, session)
                    return
                else:
                    if self._is_watching or not (self._withholding.is_on or self._emulation.pauses):
                        self._request_paused(params["requestId"], params["request"])
                    going_on = self._emulation.continued(params)
                self._devtools.send("Fetch.continueRequest", going_on, session)
            case "Fetch.authRequired":
                self._devtools.send("Fetch.continueWithAuth", self._emulation.answer(params), session)

    def _attached(self, session: str, target: Mapping[str, Any]) -> None:
        kind = str(target["type"])
        self._sessions[session] = kind
        if kind == "page":
            self.pages[session] = str(target["targetId"])
        self._devtools.subscribe(session, self._on_event)
        self._set_pattern(session)
        self._emulate(session, kind)
        self._attach_inner(session)
        self._devtools.send("Runtime.runIfWaitingForDebugger", {}, session)

    def _detached(self, session: str) -> None:
        self._devtools.unsubscribe(session)
        self.pages.pop(session, None)
        if self._sessions.pop(session, "") == "page":
            self._gate.note_page_closed()
        for other in self._sessions:  # those of its process that came later have lost the language and the time zone
            for method, params in self._emulation.of_process():
                self._devtools.send(method, params, other)

    def _request_paused(self, number: str, request: Mapping[str, Any]) -> None:
        """Note a request that is about to be sent."""
        address, method = urlsplit(request["url"]), request["method"].upper()
        is_unsafe = method not in SAFE_METHODS
        if is_unsafe:
            self._awaited.add(number)
            self._gate.weigh(request, request["url"].partition("?")[0].partition("#")[0])
        if address.scheme != "https":
            return
        self._under_way[number] = connection = self._black_box.open(
            "inside",
            method=method,
            host=address.hostname or "",
            port=address.port or _PORT,
            path=address.path,
            gated=is_unsafe,
        )
        if len(self._under_way) > UNDER_WAY_KEPT:
            self._black_box.close(self._under_way.pop(next(iter(self._under_way))))
        self._gate.expect(connection)

    def _response_paused(self, number: str, status: int | None) -> None:
        """Note the status of an answer, or that there will be none."""
        self._awaited.discard(number)
        connection = self._under_way.pop(number, None)
        if connection is None:
            return
        if status is not None:
            self._black_box.answer(connection, status)
        self._black_box.close(connection)


def _auto_attach(kinds: tuple[str, ...]) -> Mapping[str, Any]:
    """Attach to targets of these kinds before they send anything."""
    wanted = [{"type": kind} for kind in kinds]
    return {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": wanted}
