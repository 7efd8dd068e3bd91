"""Workers of one host: whoever lives tells Temporal at once of the activities that a dead one had under way.

Each worker notes its activities in a folder of its own. The kernel tells the others of its end, and they fail what is
noted there as lost. A heartbeat that is missing tells the same two seconds later: where nobody else runs on the host,
or the kernel does not tell (macOS), that is what a run waits for.
"""

import asyncio
import contextlib
import hashlib
import logging
import os
import shutil
import uuid
from pathlib import Path
from typing import Any, Final

from temporalio import activity
from temporalio.client import Client
from temporalio.exceptions import ApplicationError
from temporalio.service import RPCError, RPCStatusCode
from temporalio.worker import ActivityInboundInterceptor, ExecuteActivityInput, Interceptor

from replaywright.keeper.host.identity import ProcessIdentity, boot_id, host_name, identify, is_alive

_log = logging.getLogger("replaywright.neighbours")

WORKER_LOST: Final = "WorkerLost"
"""Type of the failure; `workflows.policies` takes it for a loss."""
_LOOK_EVERY_S: Final = 1.0
"""Interval at which new neighbours are looked for."""
_OVER: Final = (RPCStatusCode.NOT_FOUND, RPCStatusCode.INVALID_ARGUMENT)
"""Another neighbour was faster, or the activity was over by then; or the note was not written to its end."""


class Neighbours:
    """This process among the workers of its host that serve the same namespace."""

    def __init__(self, home: Path, client: Client) -> None:
        """Make the folder for what this process has under way."""
        served = (client.service_client.config.target_host, client.namespace)
        group = hashlib.sha256("\n".join((host_name(), boot_id(), _pid_namespace(), *served)).encode()).hexdigest()[:12]
        self._folder, self._group, self._client = home / "workers", group, client
        self._own = self._folder / self._name_of(identify(os.getpid()))
        self._own.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._watched: dict[str, asyncio.Task[None]] = {}

    @property
    def interceptor(self) -> Interceptor:
        """Notes the activities of this process while they are under way."""
        return _Noting(self._own)

    async def watch(self) -> None:
        """Tell of neighbours that die, until cancelled."""
        if not hasattr(os, "pidfd_open"):
            return
        try:
            while True:
                for folder in self._folder.glob(f"{self._group}-*"):
                    if folder != self._own and folder.name not in self._watched:
                        self._watched[folder.name] = asyncio.create_task(self._outlive(folder))
                await asyncio.sleep(_LOOK_EVERY_S)
        finally:
            for task in self._watched.values():
                task.cancel()

    def leave(self) -> None:
        """Take the folder away: nothing is under way any more."""
        shutil.rmtree(self._own, ignore_errors=True)

    async def _outlive(self, folder: Path) -> None:
        """Wait for the end of the process that the folder belongs to, and tell of what it had under way."""
        pid, ticks = (int(part) for part in folder.name.split("-")[1:])
        try:
            await _end_of(ProcessIdentity(pid=pid, start_ticks=ticks))
        except OSError as exc:  # such as in a container that forbids to ask
            _log.info("of the end of worker %d heartbeats tell: %s", pid, exc)
            return
        for note in folder.glob("*"):
            with contextlib.suppress(FileNotFoundError):  # another neighbour was faster
                await self._tell(note.read_bytes(), pid)
        shutil.rmtree(folder, ignore_errors=True)
        del self._watched[folder.name]

    async def _tell(self, token: bytes, pid: int) -> None:
        lost = ApplicationError(f"the worker with pid {pid} has ended; a neighbour told", type=WORKER_LOST)
        try:
            await self._client.get_async_activity_handle(task_token=token).fail(lost)
        except RPCError as exc:
            if exc.status not in _OVER:
                _log.warning("what worker %d had under way is left to its heartbeats: %s", pid, exc.message)

    def _name_of(self, process: ProcessIdentity | None) -> str:
        assert process is not None, "this process lives"
        return f"{self._group}-{process.pid}-{process.start_ticks}"


class _Noting(Interceptor):
    """Writes the task token of each activity to a file while it runs."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def intercept_activity(self, next: ActivityInboundInterceptor) -> ActivityInboundInterceptor:  # noqa: A002 - Temporal's name
        return _Noted(next, self._folder)


class _Noted(ActivityInboundInterceptor):
    def __init__(self, next: ActivityInboundInterceptor, folder: Path) -> None:  # noqa: A002 - Temporal's name
        super().__init__(next)
        self._folder = folder

    async def execute_activity(self, input: ExecuteActivityInput) -> Any:  # noqa: A002 - Temporal's name
        note = self._folder / uuid.uuid4().hex
        with contextlib.suppress(OSError):  # without a note, its heartbeats tell
            note.touch(mode=0o600)
            note.write_bytes(activity.info().task_token)
        try:
            return await super().execute_activity(input)
        finally:
            with contextlib.suppress(OSError):
                note.unlink(missing_ok=True)


async def _end_of(process: ProcessIdentity) -> None:
    """Return when the process has ended."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except ProcessLookupError:
        return
    try:
        if not is_alive(process):  # the pid is another's by now
            return
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        loop.add_reader(descriptor, ended.set)
        try:
            await ended.wait()
        finally:
            loop.remove_reader(descriptor)
    finally:
        os.close(descriptor)


def _pid_namespace() -> str:
    """Return the id of the space that this process's pid counts in: containers may share a home, and no pids."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""
