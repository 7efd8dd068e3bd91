"""What the browser did: requests under way, and from the moment of an input on, everything that counts as evidence."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from replaywright.domain.actions import Cause
from replaywright.domain.outcomes import Evidence, UnsafeRequest
from replaywright.domain.text import shorten

SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "TRACE"})
"""RFC 9110, section 9.2.1."""
AWAITED_TYPES = frozenset({"Document", "XHR", "Fetch"})
"""Requests whose answers may change the page; pictures, fonts and event streams may take as long as they like."""
TEXT_LIMIT = 200
DIALOG_LIMIT = 20
"""A page that opens one after the other fills no report."""


def without_query(url: str) -> str:
    """Origin and path of `url`: queries and fragments carry tokens and personal data."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ws", "wss"):
        return shorten(f"{parts.scheme}:", TEXT_LIMIT)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


@dataclass
class Traffic:
    """The requests of one tab that are under way."""

    pending: dict[str, float] = field(default_factory=dict)
    """When each awaited request began, by its id; monotonic seconds."""
    sockets: dict[str, str] = field(default_factory=dict)
    """Addresses of WebSocket connections."""
    statuses: dict[str, int] = field(default_factory=dict)
    """HTTP status of the latest documents, by their loader's id."""

    def hear(self, method: str, params: Mapping[str, Any], now: float) -> None:
        """Keep count."""
        match method:
            case "Network.requestWillBeSent":
                if params.get("type") in AWAITED_TYPES:
                    self.pending[params["requestId"]] = now
            case "Network.responseReceived":
                if params["type"] == "Document":
                    self._remember(params["requestId"], params["response"]["status"])
                if params["type"] == "EventSource" or params["response"]["mimeType"] == "text/event-stream":
                    self.pending.pop(params["requestId"], None)
            case "Network.loadingFinished" | "Network.loadingFailed":
                self.pending.pop(params["requestId"], None)
            case "Network.webSocketCreated":
                self.sockets[params["requestId"]] = params["url"]
            case "Network.webSocketClosed":
                self.sockets.pop(params["requestId"], None)
            case _:
                pass

    def _remember(self, request_id: str, status: int) -> None:
        self.statuses[request_id] = status
        if len(self.statuses) > 50:
            del self.statuses[next(iter(self.statuses))]

    def busy(self, since: float = 0.0) -> bool:
        """Whether an awaited request that began at `since` or later has no answer yet."""
        return any(began >= since for began in self.pending.values())


@dataclass
class Recorder:
    """Collects the evidence of one step, from its input on."""

    frame_id: str
    """The frame that the step acts in; a new document in it, or in the top frame, is the step's doing."""
    top_id: str
    causes: dict[Cause, None] = field(default_factory=dict)
    dialogs: list[str] = field(default_factory=list)
    downloads: list[str] = field(default_factory=list)
    popups: list[str] = field(default_factory=list)
    """Top frames of the tabs that the step opened."""
    windows: int = 0
    """How many windows the page asked for; each becomes a tab a moment later."""
    landed: bool | None = None
    navigating: str = ""
    """What was asked to be loaded and has not begun to: an announced navigation."""
    _requests: dict[str, UnsafeRequest] = field(default_factory=dict)

    def saw(self, cause: Cause) -> None:
        """Note what the step set off."""
        self.causes.setdefault(cause)

    def popup(self, frame_id: str) -> None:
        """Note a new tab; what it sends is the step's doing, too."""
        self.saw(Cause.POPUP)
        self.popups.append(frame_id)

    def dialog(self, kind: str, text: str) -> None:
        """Note a dialog; leaving a page that wants to be asked first is no dialog of the step."""
        if kind != "beforeunload":
            self.saw(Cause.DIALOG)
        if len(self.dialogs) < DIALOG_LIMIT:
            self.dialogs.append(shorten(f"{kind}: {text}", TEXT_LIMIT))

    def hear(self, traffic: Traffic, method: str, params: Mapping[str, Any]) -> None:
        """Take what matters out of the protocol's events."""
        match method:
            case "Page.frameRequestedNavigation":
                if params["disposition"] == "currentTab" and self._ours(params["frameId"]):
                    self.navigating = params["url"]
            case "Page.frameStartedNavigating" | "Page.frameStoppedLoading":
                self.navigating = ""
            case "Page.frameNavigated":
                if self._ours(params["frame"]["id"]):
                    self.navigating = ""
                    self.saw(Cause.NEW_DOCUMENT)
            case "Page.navigatedWithinDocument":
                if self._ours(params["frameId"]):
                    self.navigating = ""
                    self.saw(Cause.SAME_DOCUMENT)
            case "Page.windowOpen":
                self.windows += 1
                self.saw(Cause.POPUP)
            case "Page.downloadWillBegin":
                self.navigating = ""
                self.saw(Cause.DOWNLOAD)
                self.downloads.append(shorten(params["suggestedFilename"], TEXT_LIMIT))
            case _ if method.startswith("Network."):
                self._network(traffic, method, params)
            case _:
                pass

    def _network(self, traffic: Traffic, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self._request(params)
            case "Network.responseReceived":
                self._status(params["requestId"], params["response"]["status"])
            case "Network.webSocketFrameSent":
                url = without_query(traffic.sockets.get(params["requestId"], ""))
                self._requests[f"socket {params['requestId']}"] = UnsafeRequest(
                    method="SEND", url=url, kind="websocket"
                )
            case _:
                pass

    def _ours(self, frame_id: str) -> bool:
        return frame_id in (self.frame_id, self.top_id)

    def _request(self, params: Mapping[str, Any]) -> None:
        request_id = params["requestId"]
        if redirected := params.get("redirectResponse"):
            self._status(request_id, redirected["status"])
            # A redirect keeps the id: what was sent before stays as it is, the next hop gets an entry of its own.
            if request_id in self._requests:
                self._requests[f"{request_id} {len(self._requests)}"] = self._requests.pop(request_id)
        method = params["request"]["method"].upper()
        if method not in SAFE_METHODS:
            kind = "beacon" if params.get("type") == "Ping" else "request"
            url = without_query(params["request"]["url"])
            self._requests[request_id] = UnsafeRequest(method=method, url=url, kind=kind)

    def _status(self, request_id: str, status: int) -> None:
        request = self._requests.get(request_id)
        if request is not None and not request.status:
            self._requests[request_id] = request.model_copy(update={"status": status})

    def evidence(self) -> Evidence:
        """What was seen so far."""
        return Evidence(
            causes=tuple(self.causes) or (Cause.NOTHING,),
            requests=tuple(self._requests.values()),
            dialogs=tuple(self.dialogs),
            downloads=tuple(self.downloads),
            input_landed=self.landed,
        )
