"""Addresses of open WebSockets, for whoever attaches later: Chromium tells them once, when a socket is opened."""

from collections.abc import Mapping
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.evidence import without_query
from replaywright.browser.devtools.handover import Handover


class OpenSockets:
    """The open WebSockets of one browser, by the number of their request."""

    def __init__(self, directory: str) -> None:
        """Keep them in the session's directory; without one, nobody attaches later."""
        self._handover = Handover(directory, "sockets.json")
        self._seen: dict[str, str] = {}
        self.earlier: dict[str, str] = {}
        """Those that were opened before this attachment, and were not closed since."""

    def read(self) -> None:
        """Read what an earlier attachment has written."""
        self.earlier |= {str(number): str(url) for number, url in self._handover.read().items()}

    def on_event(self, _tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        """Note a socket that was opened or closed."""
        match method:
            case "Network.webSocketCreated":
                self._seen[params["requestId"]] = without_query(params["url"])
            case "Network.webSocketClosed":
                self._seen.pop(params["requestId"], None)
                self.earlier.pop(params["requestId"], None)
            case _:
                return
        self._handover.write(self.earlier | self._seen)
