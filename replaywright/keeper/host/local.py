"""The keepers of this host, as the worker's activities see them: the port `Keepers`."""

import asyncio
import time
from pathlib import Path

from replaywright.domain.run.steering import HandedBack, LentBrowser
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.network_policy import NetworkPolicy, NetworkSeen
from replaywright.domain.session.sessions import SessionRef, Wear
from replaywright.errors import Fenced, KeeperRefused, KeeperUnavailable, NoPlace, StackFailed
from replaywright.keeper.gate.commit_gate import LocalCommitGate
from replaywright.keeper.gate.dead_keepers import left_behind
from replaywright.keeper.host.client import KeeperClient, KeeperHandle, start_keeper
from replaywright.keeper.host.identity import boot_id, host_name
from replaywright.keeper.host.memory import resident
from replaywright.keeper.host.owner import end_session
from replaywright.keeper.host.places import Places
from replaywright.keeper.host.spares import Spares
from replaywright.keeper.protocol import SOCKET_NAME, KeeperOptions
from replaywright.ports.keepers import LeftBehind


class LocalKeepers:
    """Starts keepers in `sessions_dir` and speaks to them over their sockets."""

    def __init__(
        self, sessions_dir: Path, options: KeeperOptions, *, limit: int | None = None, spares: int = 0
    ) -> None:
        """Prepare to start keepers.

        Args:
            sessions_dir: Holds a directory for each session.
            options: Options of every keeper; `network` names only the services and networks of our own.
            limit: Number of places for browsers on this host. None: what the free memory has room for.
            spares: Number of browsers that are kept ready; none are where `options.remote` is used.
        """
        self._sessions_dir = sessions_dir
        self._places = Places(sessions_dir, limit)
        self._template = options
        self.spares = Spares(sessions_dir, self._places, self._options, 0 if options.remote is not None else spares)

    async def launch(self, session_id: str, network: NetworkPolicy, instead_of: str = "") -> SessionRef:
        """Start a keeper with its Chromium, or take a spare one, which keeps the id that it has.

        Raises:
            NoPlace: there is no place for it on this host at the moment, or others are being started.
            StackFailed: it did not come up.
        """
        handle = await self.spares.take(network)
        if handle is None:
            async with self._places.turn():
                handle = await self._started(session_id, network, instead_of)
        return SessionRef(
            session_id=handle.record.session_id,
            queue="",
            host=handle.record.host,
            boot_id=handle.record.boot_id,
            directory=str(handle.directory),
        )

    async def _started(self, session_id: str, network: NetworkPolicy, instead_of: str) -> KeeperHandle:
        try:
            directory = await self._places.take(session_id, instead_of)
        except NoPlace:
            if not await self.spares.make_room():
                raise
            directory = await self._places.take(session_id, instead_of)
        try:
            return await start_keeper(directory, self._options(session_id, network))
        except KeeperUnavailable as exc:
            raise StackFailed(str(exc)) from exc

    def _options(self, session_id: str, network: NetworkPolicy) -> KeeperOptions:
        own = self._template.network
        policy = network.model_copy(update={"own": own.own, "own_networks": own.own_networks})
        return self._template.model_copy(update={"session_id": session_id, "network": policy})

    async def attach(self, session: SessionRef, epoch: int) -> str:
        """Return the DevTools endpoint for the holder of `epoch`; every older holder is cut off."""
        async with await self._client(session) as client:
            if not (await client.status()).chromium_alive:
                raise KeeperUnavailable(f"the browser of session {session.session_id} is gone")
            return (await client.attach(epoch, lease_s=self._template.lease_s)).endpoint_url

    async def set_up(self, session: SessionRef, setup: BrowserSetup) -> None:
        """Set the session's browser up; see the port."""
        async with await self._client(session) as client:
            await client.set_up(session.epoch, setup)

    async def gate(self, session: SessionRef, epoch: int) -> LocalCommitGate:
        """Return the session's commit gate, on a connection of its own."""
        return LocalCommitGate(await self._client(session), epoch)

    async def network(self, session: SessionRef, since_monotonic_s: float | None = None) -> NetworkSeen:
        """Return the policy in force and its refusals."""
        async with await self._client(session) as client:
            return await client.network(since_monotonic_s=since_monotonic_s)

    async def renew(self, session: SessionRef, epoch: int) -> None:
        """Prolong the lease."""
        async with await self._client(session) as client:
            await client.renew(epoch, self._template.lease_s)

    async def wear(self, session: SessionRef) -> Wear:
        """Return the age of its browser, by the monotonic clock, and the memory of its process group."""
        async with await self._client(session) as client:
            status = await client.status()
        if status.chromium is None:
            return Wear(session_id=session.session_id, age_s=status.uptime_s)
        group = status.chromium.pid
        has = (await asyncio.to_thread(resident, [group]))[group]
        memory_mb = has.total // (1024 * 1024)
        return Wear(session_id=session.session_id, age_s=status.uptime_s, memory_mb=memory_mb)

    async def lend(self, session: SessionRef, epoch: int, lending: str, lasts_s: float) -> LentBrowser:
        """Let a person drive the browser; see the port."""
        async with await self._client(session) as client:
            lent = await client.lend(epoch, lending, lasts_s)
        return LentBrowser(
            host=session.host, boot_id=session.boot_id, file=lent.file, until=time.time() + lent.ends_in_s
        )

    async def take_back(self, session: SessionRef, epoch: int, lending: str) -> HandedBack:
        """Take the browser back from a person, and return what left it meanwhile; see the port."""
        async with await self._client(session) as client:
            taken = await client.take_back(epoch, lending)
        return HandedBack(known=taken.lent, requests=taken.requests, is_complete=taken.is_complete)

    async def left_behind(self, session_id: str, op_id: str, epoch: int) -> LeftBehind:
        """Return the record that a dead keeper left of an operation; see the port."""
        return await asyncio.to_thread(left_behind, self._sessions_dir, session_id, op_id, epoch)

    async def close(self, session: SessionRef, *, is_over: bool = False) -> None:
        """End browser and keeper, unless they are gone or a newer epoch owns them.

        A keeper of another version is ended all the same: what it may still let go would go unseen.
        """
        try:
            async with await self._client(session) as client:
                await client.close(session.epoch, is_over=is_over)
        except (KeeperUnavailable, Fenced):
            return
        except KeeperRefused:
            await asyncio.to_thread(end_session, Path(session.directory))

    def is_local(self, session: SessionRef) -> bool:
        """Return whether the session lives on this host, in this boot."""
        return session.host == host_name() and session.boot_id == boot_id()

    async def _client(self, session: SessionRef) -> KeeperClient:
        return await KeeperClient.connect(Path(session.directory) / SOCKET_NAME)
