"""Requests inside TLS, as Chromium tells of them: the gate itself sees only the bytes of a tunnel.

While an operation is current, Chromium pauses every request to an https address before it sends it and once it has its
answer, of pages, frames, workers and service workers, and of pages that are being left. Each is noted and goes on at
once. So the gate knows of a request before the first of its bytes. Messages of WebSockets are not told of, nor what a
page sends while it is being closed.
"""

import logging
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import urlsplit

from replaywright.domain.observed import SAFE_METHODS
from replaywright.keeper.black_box import BlackBox, Connection
from replaywright.keeper.gate import Gate
from replaywright.keeper.multiplexer import Multiplexer

UNDER_WAY_KEPT: Final = 512
"""Requests without an answer that are remembered; one that the page gives up never gets any."""
_PORT: Final = 443
_EVERY_REQUEST: Final = {
    "patterns": [{"urlPattern": "https://*"}, {"urlPattern": "https://*", "requestStage": "Response"}]
}
_NO_REQUEST: Final = {"patterns": [{"urlPattern": "https://nothing.invalid/"}]}
"""Not disabled, as Chromium would have to tell every renderer and worker to enable it again."""
_TARGETS: Final = ("page", "service_worker", "shared_worker")
_FRAMES: Final = ("iframe",)

_log = logging.getLogger(__name__)


class TlsRequests:
    """Tells the gate of the requests of one browser."""

    def __init__(self, devtools: Multiplexer, gate: Gate, black_box: BlackBox) -> None:
        self._devtools = devtools
        self._gate = gate
        self._black_box = black_box
        self._sessions: dict[str, str] = {}
        """The kind of target that each session is with."""
        self._under_way: dict[str, Connection] = {}
        self._is_watching = False

    async def start(self) -> None:
        """Attach to all targets that there are and will be.

        Raises:
            StackFailed: Chromium does not answer.
        """
        root = str((await self._devtools.call("Target.attachToBrowserTarget"))["sessionId"])
        self._devtools.hear(root, self._hear)
        await self._devtools.call("Target.setAutoAttach", _auto_attach(_TARGETS), root)
        self._gate.read_tls(self._watch)

    def _watch(self, is_watching: bool) -> None:
        """Have every request paused, or none."""
        self._is_watching = is_watching
        for session in self._sessions:
            self._tell_pattern(session)

    def _tell_pattern(self, session: str) -> None:
        self._devtools.tell("Fetch.enable", _EVERY_REQUEST if self._is_watching else _NO_REQUEST, session)

    def _hear(self, session: str, event: Mapping[str, Any]) -> None:
        params = event["params"]
        match event["method"]:
            case "Target.attachedToTarget":
                self._attached(params["sessionId"], params["targetInfo"]["type"])
            case "Target.detachedFromTarget":
                self._detached(params["sessionId"])
            case "Fetch.requestPaused":
                self._paused(params)
                self._devtools.tell("Fetch.continueRequest", {"requestId": params["requestId"]}, session)

    def _attached(self, session: str, kind: str) -> None:
        self._sessions[session] = kind
        self._devtools.hear(session, self._hear)
        self._tell_pattern(session)
        self._devtools.tell("Target.setAutoAttach", _auto_attach(_FRAMES), session)
        self._devtools.tell("Runtime.runIfWaitingForDebugger", {}, session)

    def _detached(self, session: str) -> None:
        self._devtools.unhear(session)
        if self._sessions.pop(session, "") == "page":
            self._gate.lose_sight()

    def _paused(self, params: Mapping[str, Any]) -> None:
        """Note a request that is about to be sent, its answer, or its end without one."""
        number = params["requestId"]
        if "responseErrorReason" in params or "responseStatusCode" in params:
            connection = self._under_way.pop(number, None)
            if connection is None:
                return
            if "responseStatusCode" in params:
                self._black_box.answer(connection, params["responseStatusCode"])
            self._black_box.close(connection)
            return
        address = urlsplit(params["request"]["url"])
        method = str(params["request"]["method"]).upper()
        connection = self._black_box.open(
            "inside",
            method=method,
            host=address.hostname or "",
            port=address.port or _PORT,
            path=address.path,
            gated=method not in SAFE_METHODS,
        )
        self._under_way[number] = connection
        if len(self._under_way) > UNDER_WAY_KEPT:
            self._black_box.close(self._under_way.pop(next(iter(self._under_way))))
        self._gate.expect(connection)


def _auto_attach(kinds: tuple[str, ...]) -> Mapping[str, Any]:
    """Attach to targets of these kinds before they send anything."""
    kinds_wanted = [{"type": kind} for kind in kinds]
    return {"autoAttach": True, "waitForDebuggerOnStart": True, "flatten": True, "filter": kinds_wanted}
