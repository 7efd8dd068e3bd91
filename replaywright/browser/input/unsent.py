"""What was entered in the present document, and that no request has carried yet."""

import asyncio
from collections.abc import Mapping
from typing import Any

from replaywright.browser.devtools.channel import Tab
from replaywright.browser.devtools.handover import Handover
from replaywright.domain.proof.carrying import NOTHING, Sought

_PARTS = frozenset({"Image", "Stylesheet", "Script", "Font", "Media"})
"""Requests for parts of a page."""


class UnsentEntries:
    """Texts that the run has entered and that its page has yet to send; none of them is a secret."""

    def __init__(self, directory: str) -> None:
        """Keep them in the session's directory; without one, nobody attaches later."""
        self._handover = Handover(directory, "unsent.json")
        self._document = ""
        self._sought = NOTHING
        self._writing: asyncio.Task[None] | None = None

    def read(self) -> None:
        """Read what an earlier attachment has written."""
        told = self._handover.read()
        self._document = str(told.get("document", ""))
        self._sought = Sought(tuple(tuple(map(str, text)) for text in told.get("texts", ())))

    def note(self, document: str, text: str) -> None:
        """Note a text that is about to be entered; those of other documents are forgotten."""
        self._keep(document, self.of(document).and_also(text))

    def of(self, document: str) -> Sought:
        """Return what was entered in a document and not sent since."""
        return self._sought if document == self._document else NOTHING

    def on_event(self, tab: Tab | None, method: str, params: Mapping[str, Any]) -> None:
        """Take out what its own tab sends: in another one the run asks the site for what it has entered here."""
        if not self._sought or tab is None or not self._document.startswith(f"{tab.main.id}/"):
            return
        match method:
            case "Network.requestWillBeSent" if params.get("type") not in _PARTS:
                sent = params["request"]
                self._keep(self._document, self._sought.without(f"{sent['url']} {sent.get('postData', '')}"))
            case "Network.webSocketFrameSent":
                self._keep(self._document, self._sought.without(params["response"]["payloadData"]))
            case _:
                pass

    async def written(self) -> None:
        """Wait until the session's directory has it."""
        if self._writing is not None:
            await self._writing

    def _keep(self, document: str, sought: Sought) -> None:
        if (document, sought) != (self._document, self._sought):
            self._document, self._sought = document, sought
            if self._writing is None or self._writing.done():
                self._writing = asyncio.create_task(self._write())

    async def _write(self) -> None:
        """Write it, and again what it has become meanwhile; no step waits for that."""
        written: tuple[str, Sought] | None = None
        while (now := (self._document, self._sought)) != written:
            await asyncio.to_thread(self._handover.write, {"document": now[0], "texts": now[1].texts})
            written = now
