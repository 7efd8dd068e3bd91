"""Browsers that are started before a run asks for one: a run that finds one begins most of a second sooner.

A spare is a keeper with its Chromium and an empty profile, which no page was ever loaded in and which reaches nothing.
Taking it makes it the run's session; it is never a spare again. It takes a place like any other browser, and makes room
for a session that finds none. Its lease is renewed by the worker that has started it: it ends with that worker, and no
later than a lease after one that was killed.
"""

import asyncio
import contextlib
import logging
import time
import uuid
from collections.abc import Callable
from pathlib import Path

from replaywright.domain.session.network_policy import NetworkPolicy
from replaywright.errors import Fenced, KeeperRefused, KeeperUnavailable, NoPlace
from replaywright.keeper.host.client import KeeperClient, KeeperHandle, list_live, start_keeper
from replaywright.keeper.host.places import Places
from replaywright.keeper.protocol import KeeperOptions

_log = logging.getLogger(__name__)

QUIET_S = 2.0
"""None is started before so long after the last browser was asked for: the run that has it needs the processor."""
AGE_S = 1800.0
"""One that is older is replaced, so that a run does not begin with a browser that is soon to be recycled."""
RENEWALS = 4
"""Number of renewals in the time of a lease."""
_EPOCH = 0
"""A spare is of no run yet."""


class Spares:
    """The spare browsers of one worker."""

    def __init__(
        self, sessions_dir: Path, places: Places, options: Callable[[str, NetworkPolicy], KeeperOptions], wanted: int
    ) -> None:
        """`options` are those of a session with this id and policy; `wanted` is how many spares there are to be."""
        self._sessions_dir = sessions_dir
        self._places = places
        self._options = options
        self._wanted = wanted
        self._ready: dict[KeeperHandle, float] = {}
        """Spare browsers with their start times."""
        self._starting: asyncio.Task[None] | None = None
        self._asked_at = time.monotonic()

    @property
    def ready(self) -> tuple[str, ...]:
        """Ids of the spares that may be taken."""
        return tuple(handle.record.session_id for handle in self._ready)

    async def take(self, network: NetworkPolicy) -> KeeperHandle | None:
        """Take a ready browser of this worker for a session with this policy; None when there is none."""
        self._asked_at = time.monotonic()
        while self._ready:
            handle, _ = self._ready.popitem()
            options = self._options(handle.record.session_id, network)
            try:
                async with await handle.connect() as keeper:
                    await keeper.take(_EPOCH, options.network, options.lease_s)
            except (KeeperUnavailable, KeeperRefused, Fenced) as exc:  # it has ended, or made room for another
                _log.info("spare browser %s cannot be taken: %s", handle.record.session_id, exc)
            else:
                return handle
        return None

    async def make_room(self) -> bool:
        """End one spare of this host, of whichever worker; return whether there was one."""
        for record in await asyncio.to_thread(list_live, self._sessions_dir):
            if record.is_spare and await _ended(Path(record.socket_path)):
                return True
        return False

    async def keep(self) -> None:
        """Keep as many as are wanted, for ever: renew their leases, replace those that are old or dead."""
        while self._wanted:
            for handle, started_at in [*self._ready.items()]:
                await self._look_after(handle, started_at)
            if len(self._ready) < self._wanted and time.monotonic() - self._asked_at >= QUIET_S:
                self._starting = asyncio.create_task(self._start())
                await asyncio.shield(self._starting)
            lease_s = self._options("", NetworkPolicy()).lease_s
            await asyncio.sleep(min(QUIET_S / 2, lease_s / RENEWALS))

    async def close(self) -> None:
        """End all of them, when `keep` was cancelled."""
        if self._starting is not None:
            await asyncio.wait({self._starting})
        handles = [*self._ready]
        self._ready.clear()
        await asyncio.gather(*(_ended(handle.socket_path) for handle in handles))

    async def _start(self) -> None:
        options = self._options(uuid.uuid4().hex[:12], NetworkPolicy()).model_copy(update={"is_spare": True})
        try:
            async with self._places.turn():
                directory = await self._places.take(options.session_id)
                handle = await start_keeper(directory, options)
        except NoPlace:
            self._asked_at = time.monotonic()  # not at every look
        except KeeperUnavailable as exc:
            self._asked_at = time.monotonic()
            _log.warning("cannot start a spare browser: %s", exc)
        else:
            self._ready[handle] = time.monotonic()

    async def _look_after(self, handle: KeeperHandle, started_at: float) -> None:
        if time.monotonic() - started_at > AGE_S:
            self._ready.pop(handle, None)
            await _ended(handle.socket_path)
            return
        try:
            async with await handle.connect() as keeper:
                await keeper.renew(_EPOCH, self._options("", NetworkPolicy()).lease_s)
        except (KeeperUnavailable, KeeperRefused, Fenced) as exc:
            if self._ready.pop(handle, None) is not None:  # it was not taken meanwhile
                _log.info("spare browser %s has ended: %s", handle.record.session_id, exc)


async def _ended(socket_path: Path) -> bool:
    """End a browser if it is a spare still, and wait until it is gone."""
    with contextlib.suppress(KeeperUnavailable, KeeperRefused, Fenced):
        async with await KeeperClient.connect(socket_path) as keeper:
            await keeper.close(_EPOCH, only_spare=True)
            await keeper.wait_until_gone()
            return True
    return False
