"""The live view of a recording or of a task that is edited, served on loopback while that lasts."""

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator

import uvicorn

from replaywright.cli.local.listening import HOST, listening
from replaywright.ports.recording import Screen
from replaywright.recording.live.app import LiveView, Panel
from replaywright.temporary import temporary_folder

_LEAVING_S = 2
"""Grace period for a response under way at the end."""


class _Server(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave Ctrl-C to the command, which it ends."""
        yield


@contextlib.asynccontextmanager
async def live_view(screen: Screen, panel: Panel, port: int = 0) -> AsyncIterator[str]:
    """Serve the view; yields its address, which has a token.

    Raises:
        InputInvalid: the port is taken.
    """
    with listening(port) as listener, temporary_folder("replaywright-record-") as folder:
        names = [f"{name}:{listener.getsockname()[1]}" for name in (HOST, "localhost")]
        view = LiveView(screen, panel, folder)
        guard = view.guarded(names)
        config = uvicorn.Config(
            guard, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=_LEAVING_S
        )
        server = _Server(config)
        serving = asyncio.create_task(server.serve([listener]))
        try:
            yield f"http://{names[0]}{guard.entrance}"
        finally:
            view.close()
            server.should_exit = True
            await serving
