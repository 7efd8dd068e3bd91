"""Recent console messages and requests, for the record of a failed step."""

import time
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from replaywright.browser.devtools.evidence import without_query
from replaywright.domain.common.durations import iso_of

LINES_KEPT = 200
"""Limit of console messages, and of requests."""
TEXT_KEPT = 8_000
"""Characters of a console message that are remembered; far more than are shown, so that no secret is cut in two."""
TEXT_SHOWN = 1_000


@dataclass
class _Request:
    at: float
    method: str
    url: str
    kind: str
    status: int = 0
    ended: float = 0.0
    size: int = 0
    failed: str = ""

    def line(self) -> str:
        state = self.failed or (str(self.status) if self.status else "no answer")
        took = f"{(self.ended - self.at) * 1000:.0f} ms" if self.ended else "under way"
        size = f"{self.size} B" if self.size else ""
        return " ".join(part for part in (self.method, self.url, self.kind, state, size, took) if part)


@dataclass
class Journal:
    """The latest console messages and requests of all tabs, in the order in which they were heard."""

    console: deque[tuple[float, str, str]] = field(default_factory=lambda: deque(maxlen=LINES_KEPT))
    """Time (Unix seconds), level, text."""
    _requests: dict[str, _Request] = field(default_factory=dict)
    """By the protocol's number; the oldest first."""

    def on_event(self, method: str, params: Mapping[str, Any]) -> None:
        """Note console messages, exceptions and requests."""
        request = self._requests.get(params.get("requestId", ""))
        match method:
            case "Log.entryAdded":
                entry = params["entry"]
                where = f" ({without_query(entry['url'])})" if entry.get("url") else ""
                self._add_message(entry["level"], entry["text"] + where)
            case "Runtime.consoleAPICalled":
                self._add_message(params["type"], " ".join(_argument(argument) for argument in params["args"][:20]))
            case "Runtime.exceptionThrown":
                details = params["exceptionDetails"]
                exception = details.get("exception") or {}
                text = exception.get("description") or f"{details['text']} {_argument(exception)}"
                self._add_message("exception", text)
            case "Network.requestWillBeSent":
                self._sent(params)
            case "Network.responseReceived" if request:
                request.status = params["response"]["status"]
            case "Network.loadingFinished" if request:
                request.ended, request.size = time.time(), int(params.get("encodedDataLength", 0))
            case "Network.loadingFailed" if request:
                request.ended, request.failed = time.time(), f"failed: {params.get('errorText', '')}"
            case _:
                pass

    def console_lines(self, redact: Callable[[str], str]) -> tuple[str, ...]:
        """Return one line per message: time (ISO 8601, UTC), level, text without secrets and line breaks."""
        return tuple(f"{iso_of(at)} {level} {_shown(text, redact)}" for at, level, text in tuple(self.console))

    def network_lines(self, redact: Callable[[str], str]) -> tuple[str, ...]:
        """Return one line per request: time (ISO 8601), method, URL without query, kind, status, size, duration."""
        return tuple(
            f"{iso_of(request.at)} {_shown(request.line(), redact)}" for request in tuple(self._requests.values())
        )

    def _add_message(self, level: str, text: str) -> None:
        self.console.append((time.time(), level, text[:TEXT_KEPT]))

    def _sent(self, params: Mapping[str, Any]) -> None:
        number, now = params["requestId"], time.time()
        if redirected := params.get("redirectResponse"):
            earlier = self._requests.pop(number, None)
            if earlier is not None:
                earlier.status, earlier.ended = redirected["status"], now
                self._requests[f"{number} {now}"] = earlier
        request = params["request"]
        self._requests[number] = _Request(
            now, request["method"].upper(), without_query(request["url"]), params.get("type", "")
        )
        while len(self._requests) > LINES_KEPT:
            del self._requests[next(iter(self._requests))]


def _argument(value: Mapping[str, Any]) -> str:
    """Return a protocol `RemoteObject` as the console shows it."""
    if "value" in value:
        return str(value["value"])
    return str(value.get("description") or value.get("unserializableValue") or value.get("type", ""))


def _shown(text: str, redact: Callable[[str], str]) -> str:
    shown = " ".join(redact(text).split())
    return shown if len(shown) <= TEXT_SHOWN else f"{shown[:TEXT_SHOWN]}…"
