"""Stack of one machine: servers without a configured address are started, and stopped again."""

import asyncio
import os
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import quote, urlsplit, urlunsplit

from replaywright.domain.secrets.starts import UnsignedStarts
from replaywright.errors import StackFailed
from replaywright.keeper.host.identity import ProcessIdentity, identify
from replaywright.keeper.host.own_processes import enter_process
from replaywright.settings import KEYS, OWNER_VARIABLE, PREFIX, Settings
from replaywright.stack.chromium import find_chromium
from replaywright.stack.keyring import own_keys_file, signer_of, ui_key_of
from replaywright.stack.processes import Child
from replaywright.stack.redis import forget_socket, provide_redis, start_redis
from replaywright.stack.starting import only_one_starts, only_servers
from replaywright.stack.state import (
    RunningService,
    RunningStack,
    forget_running,
    prepare_home,
    read_running,
    write_running,
)
from replaywright.stack.temporal import DevServer, provide_temporal, why_not_apart
from replaywright.stack.workers import as_variable
from replaywright.temporary import temporary_folder
from replaywright.value_files import SUFFIX


class Stack:
    """Temporal, Redis and a Chromium, as an asynchronous context manager.

        async with Stack(load_settings()) as stack:
            print(stack.running.temporal_address, stack.running.redis_url)

    A configured address is used as it is. For the rest, the stack that another command runs for the same home folder
    is joined, and only when there is none are servers started. What was started ends with the block, and with this
    process whatever ends that; what was joined is left alone.

    Args:
        settings: Of this process.
        persistent: Runs and ledger outlive the stack, in the home folder. False: they do not, and the stack is neither
            announced to other commands nor joined by them; for demonstrations, tests and measurements.
        brings_workers: Whoever joins it for the same queue waits for its workers and starts none.
        tell: Is told, in a sentence, what takes long.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        persistent: bool = True,
        brings_workers: bool = False,
        codec_endpoint: str | None = None,
        tell: Callable[[str], None] | None = None,
    ) -> None:
        self._given = settings
        self._persistent = persistent
        self._brings_workers = brings_workers
        self._codec_endpoint = codec_endpoint
        self._tell = tell
        self._exits = AsyncExitStack()
        self._children: list[Child] = []
        self._holds: tuple[int, ...] = ()
        """Locks that tell other commands that servers run on the files in this home."""
        self._running: RunningStack | None = None
        self.joined = False
        """Another command's stack is used."""

    @property
    def settings(self) -> Settings:
        """The given settings with every address filled in."""
        running, given = self.running, self._given
        own_keys: dict[str, object] = {}
        if given.redis_url is None and not (given.unsigned or given.signing_keys):
            own_keys["signing_keys"] = own_keys_file(given.home, "signing")
        if given.temporal_address is None:
            own_keys["temporal_tls"] = False
            own_keys["unsigned_starts"] = given.unsigned_starts or (
                UnsignedStarts.TRUST if given.unsigned else UnsignedStarts.REFUSE
            )
        return given.model_copy(
            update={
                **own_keys,
                "temporal_address": running.temporal_address,
                "temporal_ui_url": running.temporal_ui_url,
                "redis_url": running.redis_url,
                "chromium": running.chromium,
            }
        )

    @property
    def running(self) -> RunningStack:
        """Addresses of all parts.

        Raises:
            StackFailed: the stack has not been entered.
        """
        if self._running is None:
            raise StackFailed("the stack has not been entered: use `async with Stack(...)`")
        return self._running

    @property
    def brings_workers(self) -> bool:
        """The owner keeps workers for the queue of these settings running."""
        return self.running.served_queue == self._given.queue

    def ended_server(self) -> Child | None:
        """Return a server of our own that has ended; None while all of them run."""
        return next((child for child in self._children if child.exit_status() is not None), None)

    def run_url(self, workflow_id: str) -> str | None:
        """Return the address of a run in the Temporal UI; None when the UI is unknown."""
        if (ui_url := self.running.temporal_ui_url) is None:
            return None
        return run_address(ui_url, self._given.temporal_namespace, workflow_id)

    def environment(self) -> dict[str, str]:
        """Return variables that give a child process these settings; a worker of our own Temporal has no version."""
        own = {PREFIX + "BUILD_ID": ""} if self._given.temporal_address is None else {}
        return settings_environment(self.settings) | own | {OWNER_VARIABLE: as_variable(self.running.owner)}

    def describe(self) -> tuple[tuple[str, str], ...]:
        """Return name and address of each part, to be shown."""
        running = self.running
        return (
            ("Temporal", running.temporal_address),
            ("Temporal UI", running.temporal_ui_url or self._why_no_ui()),
            ("Redis", without_password(running.redis_url)),
            ("Chromium", f"{running.chromium} ({running.chromium_version})"),
            ("Home", str(self._given.home)),
        )

    def _why_no_ui(self) -> str:
        return "unknown" if self._given.temporal_address is not None else why_not_apart() or "unknown"

    async def __aenter__(self) -> Self:
        """Join or start what is needed.

        Raises:
            StackFailed: a part did not come up; nothing that was started is left behind.
        """
        home = self._given.home
        prepare_home(home)
        signer_of(self._given)  # makes the home's own keys
        try:
            async with only_one_starts(home, self._tell):
                await self._join_or_start(home)
        except BaseException:
            await self._exits.aclose()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the sessions of its workers, then stop what was started, the last first."""
        await self._exits.aclose()

    async def _join_or_start(self, home: Path) -> None:
        running = read_running(home) if self._persistent else None
        if running is not None:
            self.joined = True
            self._running = self._with_configured(running)
            return
        folder = home if self._persistent else self._temporary_folder()
        if self._persistent and (self._given.temporal_address is None or self._given.redis_url is None):
            self._holds = (await self._exits.enter_async_context(only_servers(home, self._tell)),)
        # The browser may have to be installed; the servers start meanwhile.
        try:
            async with asyncio.TaskGroup() as parts:
                chromium = parts.create_task(asyncio.to_thread(find_chromium, self._given.chromium, tell=self._tell))
                temporal = parts.create_task(self._temporal(folder))
                redis = parts.create_task(self._redis(folder))
        except BaseExceptionGroup as group:
            # The first failure cancelled the other starts; it is the one to tell.
            raise group.exceptions[0] from None
        address, ui_url = temporal.result()
        self._running = RunningStack(
            temporal_address=address,
            temporal_ui_url=ui_url,
            redis_url=redis.result(),
            chromium=chromium.result().path,
            chromium_version=chromium.result().version,
            owner=self._owner(),
            served_queue=self._given.queue if self._brings_workers else "",
            services=tuple(RunningService(name=child.name, identity=child.identity) for child in self._children),
        )
        if self._running.owner is not None:
            self._exits.push_async_callback(self._end_sessions, self._running.owner)
        if self._persistent and self._children:
            write_running(home, self._running)
            self._exits.callback(forget_running, home, self._running)

    def _with_configured(self, running: RunningStack) -> RunningStack:
        given = self._given
        changes: dict[str, object] = {}
        if given.temporal_address is not None:
            changes |= {"temporal_address": given.temporal_address, "temporal_ui_url": given.temporal_ui_url}
        if given.redis_url is not None:
            changes["redis_url"] = given.redis_url
        if given.chromium is not None:
            chromium = find_chromium(given.chromium, install=False)
            changes |= {"chromium": chromium.path, "chromium_version": chromium.version}
        return running.model_copy(update=changes)

    async def _temporal(self, folder: Path) -> tuple[str, str | None]:
        given = self._given
        if given.temporal_address is not None:
            return given.temporal_address, given.temporal_ui_url
        binary = await provide_temporal(given.home)
        server = await DevServer(
            binary.path,
            log=folder / "log" / "temporal.log",
            namespace=given.temporal_namespace,
            database=folder / "temporal.db" if self._persistent else None,
            codec_endpoint=self._codec_endpoint,
            ui_key=ui_key_of(given.home) if self._persistent else None,
            holds=self._holds,
        ).start()
        self._owns(server.child)
        return server.address, given.temporal_ui_url or server.ui_url

    async def _redis(self, folder: Path) -> str:
        if self._given.redis_url is not None:
            return self._given.redis_url
        binary = await asyncio.to_thread(provide_redis)
        self._exits.callback(forget_socket, folder / "redis")
        log = folder / "log" / "redis.log"
        server = await start_redis(binary.path, folder=folder / "redis", log=log, holds=self._holds)
        self._owns(server.child)
        return server.url

    async def _end_sessions(self, owner: ProcessIdentity) -> None:
        # Here and not above: what it needs takes time to load, and many commands only join a stack.
        from replaywright.keeper.host.owner import end_sessions  # noqa: PLC0415

        await asyncio.to_thread(end_sessions, self._given.home / "sessions", owner)

    def _owns(self, child: Child) -> None:
        self._children.append(child)
        entry = enter_process(self._given.home, child.identity)
        self._exits.callback(entry.unlink, missing_ok=True)
        self._exits.push_async_callback(child.stop)

    def _owner(self) -> ProcessIdentity | None:
        """Return this process, where it owns the servers that know of the runs."""
        owns = bool(self._children) or not self._persistent
        return identify(os.getpid()) if owns else None

    def _temporary_folder(self) -> Path:
        return self._exits.enter_context(temporary_folder("replaywright-"))


def settings_environment(settings: Settings) -> dict[str, str]:
    """Return the variables from which `load_settings` reads exactly these settings."""
    values = settings.model_dump(mode="json", exclude_none=True)
    in_files = {name for name in KEYS if isinstance(getattr(settings, name), Path)}
    return {f"{PREFIX}{name.upper()}{SUFFIX if name in in_files else ''}": str(value) for name, value in values.items()}


def run_address(ui: str, namespace: str, workflow_id: str) -> str:
    """Return the address of a run in this Temporal UI, with the token that the UI's own address holds."""
    parts = urlsplit(ui)
    path = f"{parts.path.rstrip('/')}/namespaces/{namespace}/workflows/{quote(workflow_id, safe='')}"
    return urlunsplit(parts._replace(path=path))


def without_password(url: str) -> str:
    """Return this address as it may be shown."""
    parts = urlsplit(url)
    if parts.password is None:
        return url
    return urlunsplit(parts._replace(netloc=parts.netloc.replace(f":{parts.password}@", ":***@", 1)))
