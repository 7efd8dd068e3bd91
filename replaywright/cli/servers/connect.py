"""Connection to the servers of runs: a configured Temporal, a running stack, or a temporary stack of the command."""

import asyncio
import contextlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from temporalio.client import Client
from temporalio.service import RPCError, RPCStatusCode

from replaywright.errors import InputInvalid, StackFailed, StoreUnavailable
from replaywright.settings import Settings, load_settings
from replaywright.stack import Child, Stack, read_running, start_worker
from replaywright.stack.services import run_address
from replaywright.stack.starting import is_starting, wait_for_start
from replaywright.stack.telemetry import command_telemetry
from replaywright.stack.temporal_client import connect_client, quiet_runtime
from replaywright.stack.versions import served
from replaywright.stack.workers import WORKER_READY_S
from replaywright.temporary import temporary_folder

_LOOK_EVERY_S = 0.25
_SAY_EVERY_S = 10
_DRAIN_S = 5
"""Time that a step under way gets to finish when the command that owns the worker exits."""

How = Literal["configured", "joined", "started"]


@dataclass(frozen=True)
class Backend:
    """Connection to a Temporal server, with the settings that lead to it."""

    client: Client
    settings: Settings
    """Settings with all known addresses."""
    how: How
    served_by: str = ""
    """Task queue of new runs, if it is not the tenant's own."""

    @property
    def queue(self) -> str:
        """Task queue of new runs."""
        return self.served_by or self.settings.queue

    def run_url(self, run_id: str) -> str:
        """Return the address of the run in the Temporal UI; empty if the UI's address is unknown."""
        base = self.settings.temporal_ui_url
        if base is None:
            return ""
        return run_address(base, self.settings.temporal_namespace, run_id)


def backend_exists(settings: Settings) -> bool:
    """Tell whether a Temporal exists: a configured address, or a stack that runs or starts."""
    return (
        settings.temporal_address is not None or is_starting(settings.home) or read_running(settings.home) is not None
    )


def require_backend(settings: Settings) -> None:
    """Require existing servers; wait for those that are starting.

    Raises:
        InputInvalid: nothing is configured and nothing runs.
        StackFailed: another command has been starting them for too long.
    """
    if settings.temporal_address is None:
        wait_for_start(settings.home, _say)
    if not backend_exists(settings):
        raise InputInvalid(
            "no Temporal is configured and no stack is running: start `replaywright up` in another terminal, "
            "or set REPLAYWRIGHT_TEMPORAL_ADDRESS"
        )


def _say(text: str) -> None:
    from replaywright.cli import output  # noqa: PLC0415 - what draws is loaded where something is said

    output.print_progress(text)


async def connect(settings: Settings) -> Client:
    """Connect a client to the Temporal of the settings.

    Raises:
        StackFailed: it does not answer.
    """
    address = settings.temporal_address or ""
    try:
        return await connect_client(settings, telemetry=command_telemetry(settings), runtime=quiet_runtime())
    except (RuntimeError, ValueError) as exc:  # what the SDK raises when nobody answers, or for a wrong address
        raise StackFailed(
            f"Temporal at {address} does not answer: {exc}; start it, or check REPLAYWRIGHT_TEMPORAL_ADDRESS"
        ) from exc


@contextlib.asynccontextmanager
async def open_backend(
    settings: Settings | None = None, *, tell: Callable[[str], None] = _say
) -> AsyncIterator[Backend]:
    """Connect to Temporal; where there is none, start servers for the time of the block.

    Without `settings`, those of the environment count.

    Raises:
        StackFailed: Temporal does not answer, or a part did not start.
    """
    settings = settings or load_settings()
    if settings.temporal_address is not None:
        running = read_running(settings.home) if settings.redis_url is None else None
        known = settings if running is None else settings.model_copy(update={"redis_url": running.redis_url})
        yield Backend(await connect(settings), known, "configured")
        return
    if not backend_exists(settings):
        tell("no stack is running: starting Temporal and Redis for this command")
    async with Stack(settings, tell=tell) as stack:
        how: How = "joined" if stack.joined else "started"
        yield Backend(await connect(stack.settings), stack.settings, how)


@contextlib.asynccontextmanager
async def open_existing_backend() -> AsyncIterator[Backend]:
    """Connect to the servers that exist; start none, as new ones would know no run.

    Raises:
        InputInvalid: nothing is configured and nothing runs.
        StackFailed: Temporal does not answer.
    """
    settings = load_settings()
    require_backend(settings)
    async with open_backend(settings) as here:
        yield here


@contextlib.asynccontextmanager
async def open_working_backend(settings: Settings, *, tell: Callable[[str], None]) -> AsyncIterator[Backend]:
    """Connect as `open_backend` does, with a worker: if none polls and the servers are local, start one.

    Raises:
        StackFailed: it does not answer, or a part did not come up.
    """
    if settings.temporal_address is not None:
        async with open_backend(settings, tell=tell) as configured:
            if why := await why_unserved(configured):
                tell(why)
            yield configured
        return
    if not backend_exists(settings):
        tell("no stack is running: starting Temporal, Redis and a worker for the time of this run")
    async with Stack(settings, tell=tell) as stack:
        here = Backend(await connect(stack.settings), stack.settings, "joined" if stack.joined else "started")
        if stack.joined and stack.brings_workers:
            await _wait_for_worker(here, tell)
            yield here
            return
        if not await why_unserved(here):
            yield here
            return
        worker = await start_worker(stack.environment(), log=settings.home / "log" / "worker.log")
        async with _stopped(worker):
            yield here


@contextlib.asynccontextmanager
async def open_scratch_backend(settings: Settings, *, tell: Callable[[str], None]) -> AsyncIterator[Backend]:
    """Start empty servers and a worker for the time of the block.

    A server that is configured is used as it is, and where that is Temporal, its workers are.

    Raises:
        StackFailed: a part did not come up.
    """
    if settings.temporal_address is not None:
        async with open_working_backend(settings, tell=tell) as configured:
            yield configured
        return
    tell("starting Temporal, Redis and a worker that know nothing, for the time of this command")
    async with Stack(settings, persistent=False, tell=tell) as stack:
        here = Backend(await connect(stack.settings), stack.settings, "started")
        with temporary_folder("replaywright-") as folder:
            worker = await start_worker(stack.environment(), log=folder / "worker.log")
            async with _stopped(worker):
                yield here


async def _wait_for_worker(here: Backend, tell: Callable[[str], None]) -> None:
    """Return when a worker of the stack takes runs, or will not for so long that the run may as well wait in Temporal.

    Raises:
        StackFailed: the stack has ended meanwhile.
    """
    home, limit_s, begun = here.settings.home, WORKER_READY_S, time.monotonic()
    reports = 0
    while await why_unserved(here):
        if read_running(home) is None:
            raise StackFailed("the stack has ended: start `replaywright up` in another terminal, and repeat this")
        waited_s = time.monotonic() - begun
        if waited_s > limit_s:
            tell(f"no worker is ready after {limit_s:g} s; the run waits until one is")
            return
        if waited_s >= reports * _SAY_EVERY_S:
            reports += 1
            so_far = f" ({waited_s:.0f} s; its log is in {home / 'log'})" if reports > 1 else ""
            tell(f"waiting for the worker of `replaywright up`{so_far}")
        await asyncio.sleep(_LOOK_EVERY_S)


@contextlib.asynccontextmanager
async def _stopped(worker: Child) -> AsyncIterator[None]:
    try:
        yield
    finally:
        await worker.stop(_DRAIN_S)


async def why_unserved(here: Backend) -> str:
    """Return the reason why no worker would take a new run, with a remedy; empty if one would.

    Raises:
        StackFailed: the server refuses the question.
    """
    with temporal_errors(here.settings):
        return (await served(here.client, here.queue, is_own=here.how != "configured")).why_not


@contextlib.contextmanager
def temporal_errors(settings: Settings, run_id: str = "") -> Iterator[None]:
    """Convert the errors of Temporal's client to ours.

    Raises:
        InputInvalid: there is no such run, or the server takes the request for wrong.
        StackFailed: the server cannot be reached or refuses.
    """
    try:
        yield
    except RPCError as exc:
        if exc.status is RPCStatusCode.NOT_FOUND and run_id and "amespace" not in exc.message:
            raise InputInvalid(f"there is no run {run_id!r}; `replaywright runs` lists them") from exc
        if exc.status is RPCStatusCode.INVALID_ARGUMENT:
            raise InputInvalid(f"Temporal refuses the request: {exc.message}") from exc
        raise StackFailed(f"Temporal at {settings.temporal_address} says: {exc.message or exc.status.name}") from exc


def redis_url_of(here: Settings) -> str:
    """Return the address of the Redis of ledger, cache and trace.

    Raises:
        StoreUnavailable: nobody said where, and no stack runs here.
    """
    running = read_running(here.home)
    url = here.redis_url or (running.redis_url if running is not None else None)
    if url is None:
        raise StoreUnavailable(
            "no Redis is configured and no stack is running: set REPLAYWRIGHT_REDIS_URL to that of the workers"
        )
    return url
