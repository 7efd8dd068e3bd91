"""The applications as processes of their own, each in its framework's environment."""

import asyncio
import contextlib
import json
import tempfile
from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

import httpx

from bench.environments import environment
from bench.widgets.apps.heard import FILE_VARIABLE, PORT_VARIABLE
from replaywright.stack import free_port, start_child

Framework = Literal["nicegui", "streamlit", "dash"]
FRAMEWORKS: tuple[Framework, ...] = get_args(Framework)

_ROOT = Path(__file__).parents[2]
_READY_TIMEOUT_S = 90
_STREAMLIT = ("--server.address=127.0.0.1", "--server.headless=true", "--browser.gatherUsageStats=false")
_STREAMLIT_WATCH = "--server.fileWatcherType=none"


class App:
    """One application that answers, and what its server has received."""

    def __init__(self, framework: Framework, url: str, file: Path) -> None:
        self.framework = framework
        self.url = url
        """Without a slash at its end."""
        self._file = file

    def mark(self) -> int:
        """Where the file ends now: what comes later was received later."""
        return self._file.stat().st_size

    def values(self, since: int = 0) -> Mapping[str, Any] | None:
        """The server's values as it last told them after `since`; None if it has not."""
        lines = self._file.read_bytes()[since:].splitlines()
        return json.loads(lines[-1]) if lines else None

    async def value_is(self, name: str, wanted: Any, since: int, timeout_s: float) -> bool:
        """Whether the server receives this value in time."""
        deadline = asyncio.get_running_loop().time() + timeout_s
        while (now := self.values(since)) is None or now.get(name) != wanted:
            if asyncio.get_running_loop().time() > deadline:
                return False
            await asyncio.sleep(0.05)
        return True


def _command(framework: Framework, python: Path, port: int) -> list[str | Path]:
    if framework == "streamlit":
        script = _ROOT / "bench" / "widgets" / "apps" / "streamlit_app.py"
        return [python, "-m", "streamlit", "run", script, f"--server.port={port}", *_STREAMLIT, _STREAMLIT_WATCH]
    return [python, "-m", f"bench.widgets.apps.{framework}_app"]


@contextlib.asynccontextmanager
async def served(framework: Framework) -> AsyncIterator[App]:
    """The framework's application on a free port of loopback.

    Raises:
        EnvironmentFailed: the framework cannot be installed.
        StackFailed: the application did not come up.
    """
    made = await asyncio.to_thread(environment, framework)
    with tempfile.TemporaryDirectory(prefix="replaywright-widgets-", ignore_cleanup_errors=True) as folder:
        file, port = Path(folder) / "heard", free_port()
        file.touch()
        child = start_child(
            f"the application of {framework}",
            _command(framework, made / "bin" / "python", port),
            log=Path(folder) / "log",
            environment={
                FILE_VARIABLE: str(file),
                PORT_VARIABLE: str(port),
                "PYTHONPATH": str(_ROOT),
                "MPLCONFIGDIR": folder,
                "NICEGUI_STORAGE_PATH": folder,
            },
        )
        url = f"http://127.0.0.1:{port}"
        async with httpx.AsyncClient(timeout=2) as http:

            async def answers() -> bool:
                with contextlib.suppress(httpx.HTTPError):
                    return (await http.get(url)).status_code < 500
                return False

            try:
                await child.wait_until(answers, _READY_TIMEOUT_S)
                yield App(framework, url, file)
            finally:
                await child.stop()
