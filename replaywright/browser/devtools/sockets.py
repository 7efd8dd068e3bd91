"""Addresses of open WebSockets, for whoever attaches later: Chromium tells them once, when a socket is opened."""

import json
import logging
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.evidence import without_query

_log = logging.getLogger("replaywright.sockets")

NAME = "sockets.json"
"""File in the session's directory."""


class OpenSockets:
    """The open WebSockets of one browser, by the number of their request."""

    def __init__(self, directory: str) -> None:
        """Keep them in the session's directory; without one, nobody attaches later."""
        self._file = Path(directory) / NAME if directory else None
        self._seen: dict[str, str] = {}
        self.earlier: dict[str, str] = {}
        """Those that were opened before this attachment, and were not closed since."""

    def read(self) -> None:
        """Read what an earlier attachment has written."""
        if self._file is None:
            return
        try:
            earlier = json.loads(self._file.read_text("utf-8"))
        except FileNotFoundError:
            return
        except (OSError, ValueError) as exc:
            _log.warning("the addresses of open WebSockets are not known: %s", exc)
            return
        self.earlier |= {str(number): str(url) for number, url in earlier.items()}

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
        self._write()

    def _write(self) -> None:
        if self._file is None:
            return
        try:
            self._file.touch(mode=0o600)
            self._file.write_text(json.dumps(self.earlier | self._seen), "utf-8")
        except OSError as exc:
            _log.warning("open WebSockets lose their addresses with this worker: %s", exc)
