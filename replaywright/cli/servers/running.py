"""Connection to the servers that run at the moment, for programs that outlive them."""

import asyncio
import contextlib

from replaywright.cli.servers.connect import Backend, backend_exists, open_backend
from replaywright.errors import StackFailed
from replaywright.settings import Settings
from replaywright.stack import read_running


class RunningBackend:
    """The configured servers, or the stack that runs on this machine.

    What is not there when it is asked for is looked for again the next time: its owner may be started before the stack,
    and outlives it.
    """

    def __init__(self, settings: Settings, *, owner: str) -> None:
        """Connect to nothing yet; `owner` names the program to start again after a change of the settings."""
        self._settings = settings
        self._owner = owner
        self._place: Backend | None = None
        self._of: str = ""
        """Address of the connected Temporal."""
        self._exits = contextlib.AsyncExitStack()
        self._connecting = asyncio.Lock()

    async def close(self) -> None:
        """Close the connections."""
        await self._exits.aclose()

    async def here(self) -> Backend:
        """Return the connection to the current servers.

        Raises:
            StackFailed: nowhere, or nobody answers there.
        """
        async with self._connecting:
            now = self._address()
            if self._place is None or now != self._of:
                await self._exits.aclose()
                self._place = None
                self._place = await self._exits.enter_async_context(
                    open_backend(self._settings, tell=lambda _text: None)
                )
                self._of = now
            return self._place

    def _address(self) -> str:
        """Return the address of the current Temporal."""
        if self._settings.temporal_address is not None:
            return self._settings.temporal_address
        running = read_running(self._settings.home)
        if running is None or not backend_exists(self._settings):
            raise StackFailed(
                "no Temporal is configured and no stack is running: start `replaywright up` in another terminal, or "
                f"set REPLAYWRIGHT_TEMPORAL_ADDRESS and start {self._owner} again"
            )
        return running.temporal_address
