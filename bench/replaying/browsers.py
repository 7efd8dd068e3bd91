"""A fresh Chromium for each run: the binary and the flags of Replaywright's own, without its proxy."""

import contextlib
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

from replaywright.keeper.chromium.chromium import DISABLED_FEATURES, QUIET, STEADY
from replaywright.settings import Settings
from replaywright.stack import find_chromium, start_child

_READY_S = 30


def flags(settings: Settings) -> list[str]:
    """The flags of `replaywright.keeper.chromium.chromium.command_line`, without the proxy's."""
    arguments = [*QUIET, *STEADY, f"--disable-features={','.join(DISABLED_FEATURES)}", "--lang=en-US"]
    arguments += ["--accept-lang=en-US", "--window-size=1280,900"]
    if settings.headless:
        arguments += ["--headless=new", "--hide-scrollbars"]
    if not settings.chromium_sandbox:
        arguments.append("--no-sandbox")
    return arguments


@contextlib.asynccontextmanager
async def fresh_chromium(settings: Settings) -> AsyncIterator[str]:
    """Start one with an empty profile and yield its address; it ends with this process, whatever ends that.

    Raises:
        StackFailed: it does not start.
    """
    with tempfile.TemporaryDirectory(prefix="replaywright-bench-", ignore_cleanup_errors=True) as home:
        profile = Path(home) / "profile"
        port = profile / "DevToolsActivePort"
        executable = settings.chromium or find_chromium().path
        opening = ["--remote-debugging-port=0", f"--user-data-dir={profile}", *flags(settings), "about:blank"]
        child = start_child("Chromium", [executable, *opening], log=Path(home) / "chromium.log")

        async def listens() -> bool:
            return port.exists() and "\n" in port.read_text(encoding="ascii")

        try:
            await child.wait_until(listens, _READY_S)
            yield f"http://127.0.0.1:{port.read_text(encoding='ascii').splitlines()[0]}"
        finally:
            child.kill()
            await child.ended_within(_READY_S)
