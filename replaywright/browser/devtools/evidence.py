"""Evidence of a step: pending requests of a tab, and all relevant events since the input."""

import hashlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from replaywright.domain.common.files import safe_name
from replaywright.domain.common.text import shorten
from replaywright.domain.page.observed import SAFE_METHODS, Response
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.proof.proof import is_same_site
from replaywright.domain.step.outcomes import NO_CONTENT, Evidence, UnsafeRequest
from replaywright.domain.step.press_grants import field_names
from replaywright.domain.task.actions import Cause

AWAITED_TYPES = frozenset({"Document", "XHR", "Fetch"})
"""Requests whose answers may change the page; pictures, fonts and event streams may take as long as they like."""
TEXT_LIMIT = 200
LIST_LIMIT = 6
LINE_LIMIT = 120
"""Limits of other lists in the evidence and of their texts: an outcome has a few kilobytes for all."""
REFUSALS = ("Blocked opening", "Ignored call to", "Download is disallowed", "Not allowed to navigate")
"""Beginnings of Chromium's log lines about a blocked popup, dialog, download or navigation."""
RESPONSES_KEPT = 200
FAILURES_KEPT = 1000
_NO_ANSWER = frozenset({401, 403, 407, 408, 425, 429})
"""Statuses, with all from 500 on, that say nothing about what was asked for; 404 says that there is none."""
DIALOG_LIMIT = 12
"""A page that opens one after the other fills no report."""


def is_empty(response: Mapping[str, Any]) -> bool:
    """Return whether an answer is said to have no content."""
    length = next(
        (value for name, value in response.get("headers", {}).items() if name.lower() == "content-length"), ""
    )
    return response["status"] in NO_CONTENT or length == "0"


def without_query(url: str) -> str:
    """Return origin and path of `url`: queries and fragments carry tokens and personal data."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https", "ws", "wss"):
        return shorten(f"{parts.scheme}:", TEXT_LIMIT)
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}{parts.path}"


@dataclass
class TabTraffic:
    """The requests of one tab that are under way."""

    pending: dict[str, float] = field(default_factory=dict)
    """Start of each awaited request, by its id; monotonic seconds."""
    scripts: set[str] = field(default_factory=set)
    """Ids of requests for scripts, as of parts of the page that are loaded when they are needed."""
    loaders: dict[str, str] = field(default_factory=dict)
    """Ids of the loaders of the documents that made these requests."""
    left: set[str] = field(default_factory=set)
    """Ids of pending requests whose documents are gone: the browser tells nothing of them any more."""
    addresses: dict[str, str] = field(default_factory=dict)
    """Addresses of awaited requests and event streams that have not ended."""
    failures: list[tuple[str, str]] = field(default_factory=list)
    """Address and reason of awaited requests without a usable answer; the first ones."""
    streams: dict[str, float] = field(default_factory=dict)
    """Start of each event stream that has not ended, by its request's id."""
    given: tuple[str, float] = ("", 0.0)
    """The document that the latest input was given to, by its loader's id, and when."""
    sockets: dict[str, str] = field(default_factory=dict)
    """Addresses of WebSocket connections."""
    earlier_sockets: Mapping[str, str] = field(default_factory=dict)
    """The same, of those that were opened before this attachment, in whatever tab."""
    statuses: dict[str, int] = field(default_factory=dict)
    """HTTP status of the latest documents, by their loader's id."""
    ended: int = 0
    """Number of awaited requests that were answered or failed."""
    brought_at: float = float("-inf")
    """When the page last asked for a script or for data, or got it; monotonic seconds. Documents are neither."""

    def on_event(self, method: str, params: Mapping[str, Any], now: float) -> None:
        """Keep count."""
        match method:
            case "Network.requestWillBeSent":
                self._begun(params, now)
            case "Network.responseReceived":
                if params["type"] == "Document":
                    self._remember(params["requestId"], params["response"]["status"])
                status = params["response"]["status"]
                if params["requestId"] in self.addresses and (status in _NO_ANSWER or status >= 500):
                    self._failed(params["response"]["url"], f"http_{status}")
                if params["response"]["mimeType"] == "text/event-stream" and params["requestId"] in self.pending:
                    self.streams[params["requestId"]] = self.pending.pop(params["requestId"])
            case "Network.loadingFinished" | "Network.loadingFailed":
                if params["requestId"] in self.scripts or self._is_of_data(params["requestId"]):
                    self.brought_at = now
                self.ended += self.pending.pop(params["requestId"], None) is not None
                self.scripts.discard(params["requestId"])
                self.streams.pop(params["requestId"], None)
                self.loaders.pop(params["requestId"], None)
                self.left.discard(params["requestId"])
                url = self.addresses.pop(params["requestId"], None)
                if url is not None and method == "Network.loadingFailed" and not params.get("canceled"):
                    self._failed(url, "request_failed")
            case "Network.webSocketCreated":
                self.sockets[params["requestId"]] = params["url"]
            case "Network.webSocketClosed":
                self.sockets.pop(params["requestId"], None)
            case _:
                pass

    def _begun(self, params: Mapping[str, Any], now: float) -> None:
        request_id = params["requestId"]
        self.loaders[request_id] = params.get("loaderId", "")
        match params.get("type"):
            case "EventSource":
                self.streams[request_id] = now
            case "Script":
                self.scripts.add(request_id)
                self.brought_at = now
            case type_ if type_ in AWAITED_TYPES:
                self.pending[request_id] = now
                if type_ != "Document":
                    self.brought_at = now
                self.addresses[request_id] = params["request"]["url"]
            case _:
                pass

    def _is_of_data(self, request_id: str) -> bool:
        """Return whether an awaited request is pending that is no document's: such a one has its loader's name."""
        return request_id in self.pending and self.loaders.get(request_id) != request_id

    def _remember(self, request_id: str, status: int) -> None:
        self.statuses[request_id] = status
        if len(self.statuses) > 50:
            del self.statuses[next(iter(self.statuses))]

    def _failed(self, url: str, why: str) -> None:
        if len(self.failures) < FAILURES_KEPT:
            self.failures.append((url, why))

    def failure(self, url: str) -> str:
        """Return why content of the site of `url` may be missing: its first failure; "" without one."""
        return next((why for failed, why in self.failures if is_same_site(failed, url)), "")

    def leave(self, loader: str) -> None:
        """Note that a document is gone, with all that it waited for."""
        gone = {number for number, of in self.loaders.items() if loader and of == loader}
        for number in gone:
            del self.loaders[number]
            self.streams.pop(number, None)
        self.scripts -= gone
        self.left |= gone & self.pending.keys()

    def busy(self, since: float = 0.0) -> bool:
        """Return whether an awaited request that began at `since` or later is pending."""
        return any(began >= since and number not in self.left for number, began in self.pending.items())

    def tells(self, since: float) -> bool:
        """Return whether an event stream is open that the latest input made its page begin, at `since` or later.

        What a page opens when it is loaded may stay open for good; what it opens for an input has the answer.
        """
        loader, given_at = self.given
        begun = (number for number, began in self.streams.items() if began >= max(since, given_at))
        return any(self.loaders.get(number) == loader for number in begun)

    @property
    def is_growing(self) -> bool:
        """Return whether a request is pending that may bring more of the page, scripts included."""
        return bool(self.scripts) or self.busy()


@dataclass
class Recorder:
    """Collects the evidence of one step, from its input on."""

    frame_id: str
    """The frame that the step acts in; a new document in it, or in the top frame, is the step's doing."""
    top_id: str
    unsent: Sought = NOTHING
    """What was entered in the step's document and not sent before."""
    usual: frozenset[str] = frozenset()
    """Method and address of requests that pages had sent before."""
    causes: dict[Cause, None] = field(default_factory=dict)
    dialogs: list[str] = field(default_factory=list)
    stayed: bool = False
    """True when the page asked before it was left, and stayed."""
    asked: int = 0
    """Number of dialogs that the step caused."""
    blocked: list[str] = field(default_factory=list)
    downloads: dict[str, str] = field(default_factory=dict)
    """Names by number."""
    popups: list[str] = field(default_factory=list)
    """Top frames of the tabs that the step opened; empty for one that was gone again before it could be spoken to."""
    covers_popups: bool = False
    """True when it receives requests of new tabs from before they are attached."""
    windows: int = 0
    """Number of windows that the page requested; each becomes a tab a moment later."""
    landed: bool | None = None
    navigating: str = ""
    """Address of a requested navigation that has not started."""
    responses: list[Response] = field(default_factory=list)
    """Answers to documents' and scripts' requests, and to whatever else may change something; the latest ones."""
    answered_at: float = 0.0
    """Time at which the latest answer to an unsafe request was complete; monotonic seconds."""
    _asked: dict[str, str] = field(default_factory=dict)
    """The method of each request that began since the input, by its id."""
    _requests: dict[str, UnsafeRequest] = field(default_factory=dict)
    _sent: dict[str, float] = field(default_factory=dict)
    """Time of the first sending of each unsafe request, by the digest of its method, address and body."""

    @property
    def tab_ids(self) -> tuple[str, ...]:
        """Return the top frames of the step's tab and of those that it opened."""
        return (self.top_id, *self.popups)

    def saw(self, cause: Cause) -> None:
        """Note what the step set off."""
        self.causes.setdefault(cause)

    def popup(self, frame_id: str) -> None:
        """Note a new tab; its requests are evidence of the step, too."""
        self.saw(Cause.POPUP)
        self.popups.append(frame_id)

    def dialog(self, kind: str, text: str, *, accepted: bool) -> None:
        """Note a dialog; a page that asks before it is left may not ask the next time."""
        self.asked += 1
        if kind == "beforeunload":
            self.stayed = self.stayed or not accepted
        else:
            self.saw(Cause.DIALOG)
        if len(self.dialogs) < DIALOG_LIMIT:
            self.dialogs.append(text)

    def download(self, number: str, suggested: str) -> None:
        """Note a download, reported by the page or by the browser."""
        self.navigating = ""
        self.saw(Cause.DOWNLOAD)
        if len(self.downloads) < LIST_LIMIT:
            self.downloads.setdefault(number, safe_name(suggested))

    def awaits_answer(self, traffic: TabTraffic, url: str) -> bool:
        """Return whether an unsafe request to the site of `url` is still unanswered.

        Of an answer whose page has led on to the next at once, the browser never tells that it is complete.
        """
        sent = (number for number, request in self._requests.items() if is_same_site(request.url, url))
        return any(
            number in traffic.pending and not (number in traffic.left and self._requests[number].status)
            for number in sent
        )

    def sent_elsewhere(self, method: str, url: str, *, by_worker: bool) -> None:
        """Note what a new tab sent before it could be spoken to, or what a service worker sent."""
        number = f"elsewhere {len(self._requests)}"
        kind = "worker" if by_worker else "request"
        self._requests[number] = UnsafeRequest(method=method, url=without_query(url), kind=kind)

    def on_event(self, traffic: TabTraffic, method: str, params: Mapping[str, Any]) -> None:
        """Take what matters out of the protocol's events."""
        match method:
            case "Page.frameRequestedNavigation":
                self._requested(params)
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
                self.download(params["guid"], params["suggestedFilename"])
            case "Log.entryAdded":
                self._log_entry(params["entry"]["text"])
            case _:
                self._network(traffic, method, params)

    def _log_entry(self, text: str) -> None:
        if text.startswith(REFUSALS) and len(self.blocked) < LIST_LIMIT:
            self.blocked.append(shorten(text, LINE_LIMIT))

    def _requested(self, params: Mapping[str, Any]) -> None:
        if not self._ours(params["frameId"]):
            return
        if params["disposition"] == "currentTab":
            self.navigating = params["url"]
        elif params["disposition"] in ("newTab", "newWindow"):
            self.windows += 1  # a link clicked with a key or the middle button; all others say `windowOpen`
            self.saw(Cause.POPUP)

    def _network(self, traffic: TabTraffic, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "Network.requestWillBeSent":
                self._request(params)
            case "Network.responseReceived":
                self._responded(params["requestId"], params["response"], document=params["type"] == "Document")
            case "Network.loadingFinished" if params["requestId"] in self._requests:
                self.answered_at = time.monotonic()
            case "Network.loadingFailed":
                self._broke(params)
            case "Network.webSocketFrameSent":
                socket = params["requestId"]
                address = traffic.sockets.get(socket) or traffic.earlier_sockets.get(socket, "")
                url = without_query(address) if address else ""  # nobody was attached when it was opened
                known = self._requests.get(number := f"socket {socket}")
                at = round(time.time(), 3) if known is None else known.sent_at
                self._requests[number] = UnsafeRequest(method="SEND", url=url, kind="websocket", sent_at=at)
            case _:
                pass

    def _ours(self, frame_id: str) -> bool:
        return frame_id in (self.frame_id, self.top_id)

    def _request(self, params: Mapping[str, Any]) -> None:
        request_id = params["requestId"]
        if redirected := params.get("redirectResponse"):
            self._status(request_id, redirected["status"])
            self._answered(request_id, redirected, document=params.get("type") == "Document")
            # A redirect keeps the id: the earlier request keeps its entry, the next hop gets a new one.
            if request_id in self._requests:
                self._requests[f"{request_id} {len(self._requests)}"] = self._requests.pop(request_id)
        method = params["request"]["method"].upper()
        if method not in SAFE_METHODS or params.get("type") in AWAITED_TYPES:
            self._asked[request_id] = method
        if method not in SAFE_METHODS:
            kind = self._kind_of(params.get("type", ""))
            url = without_query(params["request"]["url"])
            sent = params["request"]
            fields = field_names(sent.get("postData", ""), sent.get("headers", {}))
            at = round(float(params.get("wallTime", 0.0)), 3)
            self._requests[request_id] = UnsafeRequest(
                method=method,
                url=url,
                kind=kind,
                fields=fields,
                sent_at=at,
                equal_sent_at=self._equal_sent_at(sent, at),
                aside=params.get("type") != "Document" and self.unsent.lacks(sent),
                unsure=params.get("type") != "Document" and not self.unsent and f"{method} {url}" in self.usual,
            )

    def _equal_sent_at(self, sent: Mapping[str, Any], at: float) -> float:
        """Return when an equal request was sent before; 0 for never, or if its body is unknown."""
        body = sent.get("postData")
        if body is None and sent.get("hasPostData"):
            return 0.0
        content = "\0".join((sent["method"].upper(), sent["url"], body or ""))
        digest = hashlib.sha256(content.encode("utf-8", "replace")).hexdigest()
        earlier = self._sent.get(digest, 0.0)
        self._sent.setdefault(digest, at)
        return earlier

    def _kind_of(self, type_: str) -> str:
        if type_ in ("Ping", "CSPViolationReport"):
            return "beacon"
        # Requests of a new document's scripts are caused by that document.
        return "following" if Cause.NEW_DOCUMENT in self.causes and type_ != "Document" else "request"

    def _responded(self, request_id: str, response: Mapping[str, Any], *, document: bool) -> None:
        """Note an answer, and who gave it: what a service worker of the page answers need never have left."""
        self._status(request_id, response["status"])
        request = self._requests.get(request_id)
        if request is not None and is_empty(response):
            # A form that is answered with nothing keeps its page; other methods than POST say what they do.
            is_vague = not (self.unsent or document) and request.method == "POST"
            more = {"empty": request.aside, "unsure": request.unsure or is_vague}
            request = self._requests[request_id] = request.model_copy(update=more)
        if request is not None and response.get("fromServiceWorker"):
            self._requests[request_id] = request.model_copy(update={"kind": "served"})
        else:
            self._answered(request_id, response, document=document)

    def _answered(self, request_id: str, response: Mapping[str, Any], *, document: bool) -> None:
        method = self._asked.get(request_id)
        if method is None:
            return
        url = without_query(response["url"])
        self.responses.append(Response(method=method, url=url, status=response["status"], document=document))
        del self.responses[:-RESPONSES_KEPT]

    def _status(self, request_id: str, status: int) -> None:
        request = self._requests.get(request_id)
        if request is not None and not request.status:
            self._requests[request_id] = request.model_copy(update={"status": status})

    def _broke(self, params: Mapping[str, Any]) -> None:
        """Mark a request as broken, unless page or browser cancelled it or only its answer is unreadable."""
        request = self._requests.get(params["requestId"])
        given_up = params.get("canceled") or params.get("blockedReason") or params.get("corsErrorStatus")
        self.answered_at = time.monotonic() if request is not None else self.answered_at
        if request is not None and not (request.status or given_up):
            self._requests[params["requestId"]] = request.model_copy(update={"broken": True})

    @property
    def unanswered(self) -> tuple[UnsafeRequest, ...]:
        """Return unsafe requests without an answer; the gate may hold some of them."""
        return tuple(request for request in self._requests.values() if not (request.status or request.broken))

    def evidence(self) -> Evidence:
        """Return the evidence so far."""
        requests = list(self._requests.values())
        if self.windows and not self.covers_popups:  # requests of the new tab are unknown
            requests.append(UnsafeRequest(method="UNKNOWN", url=""))
        return Evidence(
            causes=tuple(self.causes) or (Cause.NOTHING,),
            requests=tuple(requests),
            dialogs=tuple(self.dialogs),
            downloads=tuple(self.downloads.values()),
            blocked=tuple(self.blocked),
            input_landed=self.landed,
        )
