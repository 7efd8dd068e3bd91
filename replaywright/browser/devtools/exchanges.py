"""Requests of all tabs and their responses with bodies, for recipes; nothing is kept until a step asks for it."""

import asyncio
import base64
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import urldefrag

from replaywright.browser.devtools.cdp import COMMAND_TIMEOUT_S, CdpSession
from replaywright.browser.devtools.evidence import TabTraffic
from replaywright.browser.devtools.waiting import Pulse
from replaywright.domain.requests.exchanges import BODY_LIMIT, Exchange, Request, SiteResponse

WITH_BODIES = frozenset({"document", "xhr", "fetch"})
"""Kinds of requests whose responses are read."""
KINDS = WITH_BODIES | {"ping"}
"""Kinds that are kept, beside WebSockets."""
EXCHANGES_KEPT = 1000
BUFFERED = 16 * BODY_LIMIT
"""Bytes that the browser keeps for each session until they are read, and that are kept here of all bodies together."""
SENDS_FILE = "it sends a file"
UNREADABLE = "its body could not be read"
TOO_LONG = "it is over 2 MiB"
BY_WORKER = "a service worker answered it"
BROKEN = "its connection broke: "
_EMPTY = frozenset({204, 205, 304})
"""Statuses of responses without a body, for which a page is not left."""
_OF_CONNECTION = frozenset({"cookie", "host", "content-length"})
_EARLY_KEPT = 200
"""Headers of requests that are not known yet; most are of kinds that are not kept."""
Asked: TypeAlias = "asyncio.Future[Mapping[str, Any]]"
_CHARSET = re.compile(r"charset=[\"']?([\w-]+)", re.IGNORECASE)
_FILE = re.compile(r'^content-disposition: form-data;.* filename="[^"]', re.IGNORECASE | re.MULTILINE)
"""A part of a form with a file in it; where none was chosen, its name is empty."""
_TEXTS = re.compile(r"text/.*|application/(.*\+)?(json|xml)|application/(javascript|x-ndjson|x-www-form-urlencoded)|")


@dataclass(eq=False)
class Heard:
    """One request as far as it is known."""

    step: int
    kind: str
    method: str
    url: str
    sent_at: float
    """In Unix seconds, by the browser's clock."""
    is_main: bool = False
    is_opening: bool = False
    """It was heard while its tab was being attached."""
    is_first: bool = False
    """It was told by Playwright's driver, as no session hears it."""
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    cookies: dict[str, str] = field(default_factory=dict, repr=False)
    is_told: bool = False
    """Its headers are complete: those that are told later belong to hops that follow."""
    length: str = ""
    """Length of the body that it sends, as its headers say."""
    is_untold: bool = False
    """The browser does not tell the body that it sends."""
    body: str = field(default="", repr=False)
    response: SiteResponse | None = field(default=None, repr=False)
    fault: str = ""
    is_read: bool = False
    """The response is complete."""
    is_over: bool = False
    """No more of it comes."""
    reading: int = 0
    """Bodies that the browser was asked for."""
    received: int = 0
    """Bytes of the response's body that have come."""

    @property
    def awaits(self) -> bool:
        """Return whether more is to come soon."""
        return bool(self.reading) or (self.response is not None and not self.is_over)

    def add_headers(self, headers: Mapping[str, str]) -> None:
        """Add headers of the request."""
        lower = {name.lower(): value for name, value in headers.items() if not name.startswith(":")}
        self.length = lower.get("content-length", self.length)
        pairs = (pair.strip().partition("=") for pair in lower.get("cookie", "").split(";"))
        self.cookies |= {name: value for name, _, value in pairs if name}
        self.headers |= {name: value for name, value in lower.items() if name not in _OF_CONNECTION}

    def fail(self, fault: str) -> None:
        """Note why it cannot be replayed; the first reason stays."""
        self.fault = self.fault or fault

    def give_body(self, body: bytes | None) -> None:
        """Take the body that it sends; None if the browser does not tell it."""
        try:
            text = (body or b"").decode("utf-8")
        except UnicodeDecodeError:
            body, text = None, ""
        self.is_untold = body is None
        if text.startswith("--") and _FILE.search(text):
            self.fail(SENDS_FILE)
        elif len(text) > BODY_LIMIT:
            self.fail(TOO_LONG)
        else:
            self.body = text

    def answer(self, status: int, url: str, headers: Mapping[str, str]) -> None:
        """Take the head of the response."""
        lower = {name.lower(): value for name, value in headers.items() if not name.startswith(":")}
        lower.pop("set-cookie", None)
        self.response = SiteResponse(status, urldefrag(url).url, lower)
        if self.kind == "document" and lower.get("content-disposition", "").lower().startswith("attachment"):
            self.fail("it is a download")

    def give_text(self, body: bytes | None) -> None:
        """Take the body of the response; None if the browser does not tell it."""
        self.is_over = True
        if body is None and self.received:
            self.fail(UNREADABLE)
        elif self.response is not None:
            self.is_read = True
            is_text = _TEXTS.fullmatch(self.response.media_type)
            text = decoded(body, self.response.headers) if body and is_text and len(body) <= BODY_LIMIT else ""
            self.response = replace(self.response, body=text)
            if body and len(body) > BODY_LIMIT:
                self.fail(TOO_LONG)

    def give_up(self, error: str, *, is_canceled: bool) -> None:
        """Note that no more of the response comes."""
        self.is_over = True
        if self.response is not None and self.response.status in _EMPTY:
            self.is_read = True
        elif not self.is_read:
            self.fail(UNREADABLE if is_canceled and self.response is not None else BROKEN + error)

    def exchange(self) -> Exchange:
        """Return what is known."""
        request = Request(self.method, self.url, self.headers, self.body)
        response = self.response if self.is_read else None
        sends_file = self.is_untold and self.length != "0"  # an empty body is not told, either
        fault = SENDS_FILE if sends_file else self.fault
        return Exchange(self.step, self.kind, request, response, self.is_main, fault, self.cookies)


def decoded(body: bytes, headers: Mapping[str, str]) -> str:
    """Return text that is in UTF-8, else in the character set that it names."""
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        named = _CHARSET.search(headers.get("content-type", "")) or _CHARSET.search(body[:1024].decode("latin-1"))
    try:
        return body.decode(named[1] if named else "utf-8", "replace")
    except LookupError:
        return body.decode("utf-8", "replace")


class Exchanges:
    """The exchanges of one attachment, by the protocol's numbers of the requests."""

    def __init__(self, pulse: Pulse) -> None:
        self.is_on = False
        """True from the first step on whose requests are kept."""
        self.step: int | None = None
        """Step that requests belong to from now on; None: they are not kept."""
        self.pulse = pulse
        self._heard: dict[str, Heard] = {}
        self._early: dict[str, Mapping[str, str]] = {}
        """Headers that were told before their request."""
        self._unfinished: dict[str, tuple[CdpSession, Heard]] = {}
        """Requests whose response has begun, with the session that said so."""
        self._bytes = 0
        """Length of all bodies together."""

    async def enable(self, cdp: CdpSession, *, timeout_s: float = COMMAND_TIMEOUT_S) -> None:
        """Have a session tell of its requests, and keep bodies where they are wanted.

        Raises:
            CdpFailed: the page does not answer.
        """
        if not self.is_on:
            await cdp.send("Network.enable", {"maxTotalBufferSize": 0, "maxResourceBufferSize": 0})
            return
        limits = {"maxTotalBufferSize": BUFFERED, "maxResourceBufferSize": BODY_LIMIT + 1}
        enabled = cdp.send("Network.enable", {**limits, "maxPostDataSize": BODY_LIMIT}, timeout_s=timeout_s)
        # Outside of the renderer a body outlives its document. Without it, as in older browsers, most are read in time.
        cdp.notify("Network.configureDurableMessages", limits)
        await enabled

    def add(self, number: str, heard: Heard) -> None:
        """Keep a request."""
        if len(self._heard) < EXCHANGES_KEPT:
            self._heard[number] = heard
        else:
            self._heard[next(reversed(self._heard))].fail("more requests followed than are kept")

    def count(self, method: str, url: str) -> int:
        """Count the requests that sessions have told of."""
        return sum((one.method, one.url) == (method, url) and not one.is_first for one in self._heard.values())

    async def all(self, timeout_s: float) -> tuple[Exchange, ...]:
        """Return all in the order of sending; wait for bodies that are being read."""
        await self._until_read(timeout_s / 2)
        for number, (cdp, heard) in tuple(self._unfinished.items()):
            if heard.kind == "document" and not heard.is_over:  # its page led on, and nobody says that it is complete
                self._read(cdp, heard, number)
        await self._until_read(timeout_s / 2)
        twice = {(heard.method, heard.url) for heard in self._heard.values() if heard.is_opening}
        kept = (one for one in self._heard.values() if not (one.is_first and (one.method, one.url) in twice))
        return tuple(heard.exchange() for heard in sorted(kept, key=lambda heard: heard.sent_at))

    async def _until_read(self, timeout_s: float) -> None:
        await self.pulse.until(lambda: not any(heard.awaits for heard in self._heard.values()), timeout_s)

    # ------------------------------------------------------------------------------------------------ events

    def on_event(
        self, cdp: CdpSession, method: str, params: Mapping[str, Any], *, top: str, traffic: TabTraffic, opening: bool
    ) -> None:
        """Receive an event of a tab, whose top frame is `top`; `opening` while the tab is being attached."""
        if not self.is_on:
            return
        number = params.get("requestId", "")
        heard = self._heard.get(number)
        match method:
            case "Network.requestWillBeSent" if heard is None:
                self._sent(cdp, params, top=top, opening=opening)
            case "Network.requestWillBeSent" if heard is not None and not params.get("redirectHasExtraInfo"):
                heard.is_told = True
            case "Network.requestWillBeSentExtraInfo":
                self._more_headers(number, params["headers"])
            case "Network.webSocketCreated":
                self._add_socket(number, "GET", params["url"])
            case "Network.webSocketWillSendHandshakeRequest" if heard is not None:
                heard.sent_at = params["wallTime"]
                heard.add_headers(params["request"]["headers"])
            case "Network.webSocketFrameSent" if f"{number} {self.step}" not in self._heard:
                url = traffic.sockets.get(number) or traffic.earlier_sockets.get(number, "")
                self._add_socket(f"{number} {self.step}", "SEND", url, "it is sent over a WebSocket")
            case _ if heard is not None:
                self._answered(cdp, heard, method, params)
            case _:
                pass

    def _sent(self, cdp: CdpSession, params: Mapping[str, Any], *, top: str, opening: bool) -> None:
        number, request, kind = params["requestId"], params["request"], params.get("type", "").lower()
        early = self._early.pop(number, {})
        is_wanted = self.step is not None and kind in KINDS and "redirectResponse" not in params
        if self.step is None or not is_wanted or not request["url"].startswith("http"):
            return
        is_main = kind == "document" and params.get("frameId") == top
        method, url = request["method"].upper(), urldefrag(request["url"]).url
        heard = Heard(self.step, kind, method, url, params["wallTime"], is_main, opening)
        heard.add_headers(request["headers"])
        heard.add_headers(early)
        heard.is_told = bool(early)
        self.add(number, heard)
        if parts := request.get("postDataEntries"):
            is_whole = all("bytes" in part for part in parts)
            heard.give_body(b"".join(base64.b64decode(part["bytes"]) for part in parts) if is_whole else None)
        elif request.get("hasPostData"):  # files, and what is too long or lies outside of the page's memory
            asked = cdp.post("Network.getRequestPostData", {"requestId": number})
            self._await(heard, asked, "postData", heard.give_body)

    def _more_headers(self, number: str, headers: Mapping[str, str]) -> None:
        heard = self._heard.get(number)
        if heard is None:
            self._early[number] = headers
            while len(self._early) > _EARLY_KEPT:
                del self._early[next(iter(self._early))]
        elif not heard.is_told:
            heard.is_told = True
            heard.add_headers(headers)

    def _add_socket(self, number: str, method: str, url: str, fault: str = "") -> None:
        if self.step is not None:
            at = max((heard.sent_at for heard in self._heard.values()), default=time.time())
            self.add(number, Heard(self.step, "websocket", method, url, at, fault=fault))

    def _answered(self, cdp: CdpSession, heard: Heard, method: str, params: Mapping[str, Any]) -> None:
        match method:
            case "Network.responseReceived" if heard.kind in WITH_BODIES:
                response = params["response"]
                heard.answer(response["status"], response["url"], response["headers"])
                self._unfinished[params["requestId"]] = (cdp, heard)
                if response.get("fromServiceWorker"):
                    heard.fail(BY_WORKER)
                if response["mimeType"] == "text/event-stream":
                    heard.fail("it is a stream")
                    heard.give_text(b"")
            case "Network.dataReceived":
                heard.received += params["dataLength"]
            case "Network.loadingFinished" if heard.response is not None and not heard.is_over:
                self._read(cdp, heard, params["requestId"])
            case "Network.loadingFailed":
                self._unfinished.pop(params["requestId"], None)
                heard.give_up(params.get("errorText", ""), is_canceled=params.get("canceled", False))
            case _:
                pass

    def _read(self, cdp: CdpSession, heard: Heard, number: str) -> None:
        self._unfinished.pop(number, None)
        self._bytes += min(heard.received, BODY_LIMIT)
        if heard.received > BODY_LIMIT:
            heard.fail(TOO_LONG)
            heard.give_text(b"")
        elif self._bytes > BUFFERED:
            heard.give_text(None)
        else:
            asked = cdp.post("Network.getResponseBody", {"requestId": number})
            self._await(heard, asked, "body", heard.give_text)

    def _await(self, heard: Heard, asked: Asked, name: str, take: Callable[[bytes | None], None]) -> None:
        """Give a body to `take` as soon as the browser tells it; None if it does not."""

        def told(answer: Asked) -> None:
            heard.reading -= 1
            is_told = not answer.cancelled() and answer.exception() is None
            take(_bytes_of(answer.result(), name) if is_told else None)
            self.pulse.beat()

        heard.reading += 1
        asked.add_done_callback(told)


def _bytes_of(told: Mapping[str, Any], name: str) -> bytes:
    text: str = told[name]
    return base64.b64decode(text) if told.get("base64Encoded") else text.encode("utf-8", "surrogatepass")
