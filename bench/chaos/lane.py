"""A lane: servers and workers of its own, in which one run after the other is given a fault. Lanes go side by side."""

import asyncio
import contextlib
import os
import signal
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Self
from urllib.parse import urlsplit

import httpx
import psutil

from bench.chaos.relay import Relay
from bench.message_site.behaviours import Behaviour
from demo.stage import address_in
from replaywright.cli.servers.connect import Backend, connect
from replaywright.domain.secrets.signing import written_key
from replaywright.errors import StackFailed
from replaywright.keeper.host.client import list_live, reap
from replaywright.keeper.protocol import SessionRecord
from replaywright.settings import Settings
from replaywright.stack import Child, free_port, start_child, start_worker, stop_worker
from replaywright.stack.keyring import new_key
from replaywright.stack.redis import RedisServer, provide_redis, start_redis
from replaywright.stack.services import settings_environment
from replaywright.stack.temporal import DevServer, TemporalServer, provide_temporal
from replaywright.testing.grants import allow_loopback
from tests.raw_redis import ask_redis

FREEZE = "REPLAYWRIGHT_INTERNAL_FREEZE"
TOGETHER = ("all", "all")
"""Roles of the workers: one that meets the fault, and a free one after it."""
APART = ("workflow", "browser", "browser", "model", "model")
"""The same with a process for each role."""
_READY_S = 60
_WORKER_READY_S = 180
"""A machine that does other work as well may need so long to start several workers at once."""


@dataclass
class Served:
    """A worker, and its only ways to the servers."""

    child: Child
    role: str
    redis: Relay
    temporal: Relay
    exits: contextlib.AsyncExitStack

    @property
    def is_frozen(self) -> bool:
        """Whether it has stopped, or was stopped."""
        with contextlib.suppress(psutil.NoSuchProcess):
            return bool(psutil.Process(self.child.pid).status() == psutil.STATUS_STOPPED)
        return False

    def thaw(self) -> None:
        """Let it go on."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.child.pid, signal.SIGCONT)

    def kill(self, *, group: bool) -> None:
        """End it with SIGKILL, alone or with what it started."""
        if group:
            self.child.kill()
        else:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.child.pid, signal.SIGKILL)


async def serve(name: str, module: str, *arguments: str, log: Path) -> tuple[Child, str]:
    """Start a site or model as a process of its own; the process, and its address.

    Raises:
        StackFailed: it did not come up.
    """
    command = [sys.executable, "-P", "-m", module, "--port", "0", *arguments]
    root = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (root, os.environ.get("PYTHONPATH", ""))))
    child = start_child(name, command, log=log, environment={"PYTHONUNBUFFERED": "1", "PYTHONPATH": path})

    async def announced() -> bool:
        return address_in(log) != ""

    await child.wait_until(announced, _READY_S)
    return child, address_in(log)


class Lane:
    """Temporal with a file, Redis with an append-only file, a model, and workers that reach them through relays."""

    def __init__(self, number: int, home: Path, settings: Settings, roles: Sequence[str] = TOGETHER) -> None:
        self._roles = roles
        self.number = number
        self.home = home / f"lane-{number}"
        self._given = settings
        self._exits = contextlib.AsyncExitStack()
        self._started = 0
        self.workers: list[Served] = []
        """Those that live, the oldest first."""
        self.learned: set[Behaviour] = set()
        """Those of which a run has been recorded, and not been lost since."""

    async def __aenter__(self) -> Self:
        """Start all of it.

        Raises:
            StackFailed: a part did not come up; nothing is left behind.
        """
        try:
            await self._start()
        except BaseException:
            await self._end()
            raise
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End all of it, the workers first, then the browsers that they leave."""
        await self._end()

    async def _start(self) -> None:
        self.home.mkdir(parents=True)
        allow_loopback(self.home)
        self._temporal_binary = (await provide_temporal(self._given.home)).path
        await asyncio.gather(self.start_redis(), self.start_temporal(), self._start_model())
        self.settings = self._given.model_copy(
            update={
                "home": self.home,
                "artifacts_url": None,
                "tenant": "chaos",
                "task_queue": f"chaos-{self.number}",
                "temporal_address": self.temporal.address,
                "temporal_ui_url": None,
                "redis_url": self.redis.url,
                "signing_keys": written_key(new_key("chaos")),
                "model": "openai:stand-in",
                "model_base_url": f"{self.model}/v1",
                "planner_model": None,
            }
        )
        self.place = Backend(await connect(self.settings), self.settings, "started")
        await self.fill_up()

    async def _start_model(self) -> None:
        log = self.home / "log" / "model.log"
        child, self.model = await serve("model stand-in", "demo.standin", log=log)
        self._exits.push_async_callback(child.stop)

    async def _end(self) -> None:
        for worker in self.workers:
            worker.thaw()
        await asyncio.gather(*(self._ended(worker) for worker in self.workers))
        self.end_browsers()
        for server in (getattr(self, "redis", None), getattr(self, "temporal", None)):
            if server is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(server.child.pid, signal.SIGCONT)
                await server.child.stop()
        await self._exits.aclose()

    @staticmethod
    async def _ended(worker: Served) -> None:
        with contextlib.suppress(StackFailed):
            await stop_worker(worker.child)
        await worker.exits.aclose()

    # ---------------------------------------------------------------------------------------------- servers

    async def start_redis(self) -> None:
        """Start it, or start it again from its file, where it was."""
        earlier: RedisServer | None = getattr(self, "redis", None)
        port = free_port() if earlier is None else urlsplit(earlier.url).port
        log = self.home / "log" / "redis.log"
        self.redis = await start_redis(provide_redis().path, folder=self.redis_folder, log=log, port=port)
        await ask_redis(self.redis.url, ("CONFIG", "SET", "aof-timestamp-enabled", "yes"))

    @property
    def redis_folder(self) -> Path:
        """Where it has its append-only file, dated by the second."""
        return self.home / "redis"

    async def start_temporal(self) -> None:
        """Start it, or start it again from its file, where it was."""
        earlier: TemporalServer | None = getattr(self, "temporal", None)
        self.temporal = await DevServer(
            self._temporal_binary,
            log=self.home / "log" / "temporal.log",
            port=None if earlier is None else int(earlier.address.rpartition(":")[2]),
            database=self.home / "temporal.db",
        ).start()

    async def model_calls(self) -> int:
        """How often the model was asked so far, by its own count."""
        async with httpx.AsyncClient(trust_env=False) as client:
            answer = await client.get(f"{self.model}/__admin__/calls")
        return int(answer.json()["calls"])

    # ---------------------------------------------------------------------------------------------- workers

    @property
    def freeze_file(self) -> Path:
        """Where the workers look for what they are to freeze at."""
        return self.home / "freeze"

    async def start_worker(self, role: str) -> Served:
        """Start a worker behind relays of its own, and return when it polls."""
        self._started += 1
        number = self._started
        host, _, port = self.temporal.address.rpartition(":")
        exits = contextlib.AsyncExitStack()
        try:
            temporal = await exits.enter_async_context(Relay(host, int(port)))
            redis = await exits.enter_async_context(Relay("127.0.0.1", urlsplit(self.redis.url).port or 6379))
            update = {
                "temporal_address": f"127.0.0.1:{temporal.port}",
                "redis_url": f"redis://127.0.0.1:{redis.port}/0",
            }
            child = await start_worker(
                self._environment(self.settings.model_copy(update=update)),
                log=self.home / "log" / f"worker-{number}.log",
                role=role,
                ready_timeout_s=_WORKER_READY_S,
            )
        except BaseException:
            await exits.aclose()
            raise
        served = Served(child, role, redis, temporal, exits)
        self.workers.append(served)
        return served

    def _environment(self, settings: Settings) -> Mapping[str, str]:
        direct = ",".join(filter(None, (os.environ.get("NO_PROXY", ""), "127.0.0.1", "localhost")))
        keys = {"OPENAI_API_KEY": "stand-in", "NO_PROXY": direct, FREEZE: str(self.freeze_file)}
        return {**settings_environment(settings), **keys}

    async def fill_up(self, spare: int = 0) -> None:
        """See to it that all workers live, fresh ones in the place of those that were killed, and some to spare."""
        for worker in [one for one in self.workers if one.child.exit_status() is not None]:
            self.workers.remove(worker)
            await worker.exits.aclose()
        lacking = Counter(self._roles)
        lacking["all" if "all" in self._roles else "browser"] += spare
        lacking -= Counter(worker.role for worker in self.workers)
        await asyncio.gather(*(self.start_worker(role) for role in lacking.elements()))

    def frozen(self) -> Served | None:
        """The worker that has stopped itself."""
        return next((worker for worker in self.workers if worker.is_frozen), None)

    # --------------------------------------------------------------------------------------------- browsers

    def sessions(self) -> list[SessionRecord]:
        """The keepers that live."""
        return list_live(self.home / "sessions")

    def kill_browsers(self) -> None:
        """Kill every keeper of this lane and its browser."""
        for session in list_live(self.home / "sessions"):
            if session.chromium is not None:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(session.chromium.pid, signal.SIGKILL)
            with contextlib.suppress(ProcessLookupError):
                os.kill(session.keeper.pid, signal.SIGKILL)

    def end_browsers(self) -> None:
        """Kill them, and clean up after them."""
        self.kill_browsers()
        if (self.home / "sessions").exists():
            reap(self.home / "sessions")
