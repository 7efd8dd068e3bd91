"""A worker whose browsers are played by a script: everything else, Redis and Temporal too, is the real one.

`python -m bench.scale.played` takes the arguments of `replaywright-worker`.
"""

from typing import Any
from unittest.mock import patch

import worker
from bench.scale.site import scripted
from replaywright.domain.session.sessions import SessionRef
from replaywright.keeper.host.identity import boot_id, host_name
from replaywright.ports.browser import OnFound
from replaywright.testing.browser import FakeBrowsers, FakeBrowserSession
from replaywright.testing.keepers import FakeKeepers

KEPT = 1_000
"""Sessions that are known at most: more than any measurement has at a time."""


class PlayedKeepers(FakeKeepers):
    """Keepers of this host that start nothing and forget what has ended."""

    def __init__(self, *_given: object, **_options: object) -> None:
        super().__init__(host_name())
        self.spares = _NoSpares()
        self.renewals, self.attached, self.launched = _Nothing(), _Nothing(), _Nothing()

    async def launch(self, session_id: str, *given: Any, **more: Any) -> SessionRef:
        """A session of this boot."""
        session = await super().launch(session_id, *given, **more)
        return session.model_copy(update={"boot_id": boot_id()})

    async def close(self, session: SessionRef, *, is_over: bool = False) -> None:
        """Forget it, unless a newer epoch owns it: one that is not known is not there."""
        del is_over
        if session.epoch >= self.epochs.get(session.session_id, 0):
            for known in (self.epochs, self.policies, self.gates):
                known.pop(session.session_id, None)


class PlayedBrowsers(FakeBrowsers):
    """Browsers that forget what they were asked: a fake that is used for hours must not grow."""

    def __init__(self, *_given: object, **_options: object) -> None:
        super().__init__(scripted())

    async def start(self) -> None:
        """There is no driver to start."""

    async def close(self) -> None:
        """There is none to end."""

    async def attach(self, endpoint: str, directory: str = "", on_found: OnFound | None = None) -> FakeBrowserSession:
        """The session at `endpoint`."""
        session = await super().attach(endpoint, directory, on_found)
        if len(self.sessions) > KEPT:
            del self.sessions[next(iter(self.sessions))]
        session.works = _Nothing()
        session.site.dispatches = _Nothing()
        return session


class _NoSpares:
    """No browser is kept ready: one that is played is there at once."""

    async def keep(self) -> None:
        """There is nothing to keep."""

    async def close(self) -> None:
        """There is nothing to end."""


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
