"""A worker whose browsers are played by a script: everything else, Redis and Temporal too, is the real one.

`python -m bench.scale.played` takes the arguments of `replaywright-worker`.
"""

from typing import Any
from unittest.mock import patch

import worker
from bench.scale.site import scripted
from replaywright.domain.sessions import SessionRef
from replaywright.keeper.identity import boot_id, host_name
from replaywright.testing import FakeBrowsers, FakeBrowserSession, FakeKeepers


class PlayedKeepers(FakeKeepers):
    """Keepers of this host that start nothing."""

    def __init__(self, *_given: object, **_options: object) -> None:
        super().__init__(host_name())

    async def launch(self, session_id: str, *given: Any, **more: Any) -> SessionRef:
        """A session of this boot."""
        session = await super().launch(session_id, *given, **more)
        return session.model_copy(update={"boot_id": boot_id()})


class PlayedBrowsers(FakeBrowsers):
    """Browsers that forget what they were asked: a fake that is used for hours must not grow."""

    def __init__(self, *_given: object, **_options: object) -> None:
        super().__init__(scripted())

    async def start(self) -> None:
        """There is no driver to start."""

    async def close(self) -> None:
        """There is none to end."""

    async def attach(self, endpoint: str, directory: str = "") -> FakeBrowserSession:
        """The session at `endpoint`."""
        session = await super().attach(endpoint, directory)
        session.works = _Nothing()
        session.site.dispatches = _Nothing()
        return session


class _Nothing(list[Any]):
    """A list that keeps nothing."""

    def append(self, _value: Any) -> None:
        """Drop it."""


def main() -> None:
    """Serve as `replaywright-worker` does."""
    with patch.object(worker, "LocalKeepers", PlayedKeepers), patch.object(worker, "ChromiumBrowsers", PlayedBrowsers):
        worker.main()


if __name__ == "__main__":
    main()
