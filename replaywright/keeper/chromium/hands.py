"""Lending of the browser to a person, and the record of what left it meanwhile."""

import asyncio
import logging
import time
from pathlib import Path

from replaywright.keeper import clock
from replaywright.keeper.chromium.lending import LentBrowser
from replaywright.keeper.chromium.multiplexer import Multiplexer
from replaywright.keeper.gate.black_box import BlackBox, UpstreamConnection
from replaywright.keeper.protocol import LENT_NAME, LendReport, TakeBackReport

CONNECTIONS_REPORTED = 200
"""Number of connections reported from the time when a person had the browser; the newest."""

_log = logging.getLogger(__name__)


class Hands:
    """Lends one browser to one person at a time."""

    def __init__(self, directory: Path, black_box: BlackBox, own_ports: set[int]) -> None:
        """`own_ports` are those that pages of the browser must not reach."""
        self._file = directory / LENT_NAME
        self._black_box = black_box
        self._own_ports = own_ports
        self._lent: LentBrowser | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._name = ""
        self._begun_s: float | None = None
        self.until_s = float("-inf")
        """Until when the browser is lent, on the lease clock."""

    async def lend(self, name: str, lasts_s: float, devtools: Multiplexer) -> LendReport:
        """Serve the browser's pages to a person for so long from now; where that is done already, go on with it."""
        if self._lent is None:
            lent = LentBrowser(devtools)
            await lent.start()
            self._lent = lent
            self._begun_s = time.monotonic()
            self._own_ports.add(lent.port)
            self._file.touch(mode=0o600)
            self._file.write_text(f"{lent.address}\n", "ascii")
        self._name = name
        if self._timer is not None:
            self._timer.cancel()
        self.until_s = clock.lease_now_s() + lasts_s
        self._timer = asyncio.get_running_loop().call_later(lasts_s, self.close)
        return LendReport(file=str(self._file), ends_in_s=lasts_s)

    def take_back(self, name: str) -> TakeBackReport:
        """Close the address, and return what left the browser since it was lent."""
        self.close()
        if self._begun_s is None or self._name != name:
            return TakeBackReport(lent=False)
        connections, is_complete = self._black_box.since(self._begun_s)
        newest = connections[-CONNECTIONS_REPORTED:]
        return TakeBackReport(
            lent=True,
            requests=tuple(text for connection in newest if (text := _described(connection))),
            is_complete=is_complete and len(newest) == len(connections),
        )

    def close(self) -> None:
        """Take the browser back: only the workers have it from now on."""
        if self._lent is None:
            return
        _log.info("browser taken back")
        self._lent.close()
        self._own_ports.discard(self._lent.port)
        self._file.unlink(missing_ok=True)
        self._lent, self.until_s = None, float("-inf")
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _described(one: UpstreamConnection) -> str:
    """Describe a request that may have changed something, or an encrypted connection; empty for others."""
    if not (one.gated and one.bytes_up):
        return f"refused: {one.method} {one.host}:{one.port}" if one.refused else ""
    if one.kind == "tunnel":
        return f"encrypted: {one.host}:{one.port}, {one.bytes_up} bytes up"
    return f"{one.method} http://{one.host}:{one.port}{one.path}" + (f" → {one.status}" if one.status else "")
