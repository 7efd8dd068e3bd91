"""The worker's side: start a keeper, speak to it, clean up after dead ones."""

import asyncio
import contextlib
import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from pydantic import ValidationError

import replaywright
from replaywright.children import for_browser
from replaywright.domain.page.targets import Box
from replaywright.domain.proof.carrying import NOTHING, Sought
from replaywright.domain.session.browser_setup import BrowserSetup
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.domain.session.network_policy import NetworkPolicy, NetworkSeen
from replaywright.errors import Fenced, KeeperRefused, KeeperUnavailable
from replaywright.keeper.chromium.profile import delete_profile
from replaywright.keeper.gate.departures import sweep_departures
from replaywright.keeper.host.identity import ProcessIdentity, boot_id, host_name, is_alive
from replaywright.keeper.protocol import (
    LOG_NAME,
    MAX_LINE_BYTES,
    OPTIONS_NAME,
    PROFILE_NAME,
    PROTOCOL_VERSION,
    RECORD_NAME,
    SECRET_OPTIONS,
    SOCKET_NAME,
    ArmRequest,
    AttachReport,
    AttachRequest,
    BlackBoxReport,
    BlackBoxRequest,
    CloseRequest,
    Done,
    ErrorCode,
    FenceRequest,
    GateRequest,
    KeeperOptions,
    LeaseReport,
    LendReport,
    LendRequest,
    Message,
    NetworkReport,
    NetworkRequest,
    PointRequest,
    RenewRequest,
    Reply,
    ReplyHead,
    Request,
    SessionRecord,
    Settlement,
    SetUpRequest,
    StatusReport,
    StatusRequest,
    TakeBackReport,
    TakeBackRequest,
    TakeRequest,
    ViewReport,
    ViewRequest,
    WaitHeldRequest,
)

TIMEOUT_S = 5.0
"""A keeper answers within milliseconds; only a machine out of breath needs longer."""
MAX_SOCKET_PATH_BYTES = 100
MAX_TEMP_BYTES = MAX_SOCKET_PATH_BYTES - len("/org.chromium.Chromium.XXXXXX/SingletonSocket")
"""Chromium puts a socket into the folder for temporary files, and ends at once where its path is too long for one."""
UNRECORDED_TTL_S = 120.0
"""A session directory without a record is somebody's start in progress for so long."""

ResultT = TypeVar("ResultT", bound=Message | GateSeen)


class KeeperClient:
    """One connection to a keeper's control socket. Requests may overlap.

    Every method raises `KeeperUnavailable` when no answer comes, and `Fenced` or `KeeperRefused` when the answer is no.
    After a `KeeperUnavailable` it is not known whether the request was carried out; all of them may be repeated.
    """

    def __init__(self, socket_path: Path, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._socket_path = socket_path
        self._writer = writer
        self._numbers = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[bytes]] = {}
        self._reading = asyncio.create_task(self._read(reader))

    @classmethod
    async def connect(cls, socket_path: Path | str, *, timeout_s: float = TIMEOUT_S) -> "KeeperClient":
        """Connect to a keeper.

        Raises:
            KeeperUnavailable: nothing answers there.
        """
        path = Path(socket_path)
        try:
            async with asyncio.timeout(timeout_s):
                reader, writer = await _open(path)
        except (OSError, TimeoutError) as error:
            raise KeeperUnavailable(f"no keeper answers at {str(path)!r}: {error!r}") from error
        return cls(path, reader, writer)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.disconnect()

    async def disconnect(self) -> None:
        """Leave the keeper to itself: what is armed stays armed, what is attached stays attached."""
        self._writer.close()
        with contextlib.suppress(OSError):  # it was gone already
            await self._writer.wait_closed()
        self._reading.cancel()
        await asyncio.gather(self._reading, return_exceptions=True)

    async def status(self) -> StatusReport:
        """Return how keeper, browser, lease and gate are."""
        return await self._ask(StatusRequest(), StatusReport)

    async def attach(self, epoch: int, worker: str = "", *, lease_s: float | None = None) -> AttachReport:
        """Return where this epoch may speak CDP, and renew the lease; lower epochs lose their connections."""
        return await self._ask(AttachRequest(epoch=epoch, worker=worker, lease_s=lease_s), AttachReport)

    async def take(self, epoch: int, network: NetworkPolicy, lease_s: float) -> None:
        """Make a session of this spare browser. `KeeperRefused` when somebody else has, or it is none."""
        await self._ask(TakeRequest(epoch=epoch, network=network, lease_s=lease_s), LeaseReport)

    async def set_up(self, epoch: int, setup: BrowserSetup) -> None:
        """Set the browser up, in all its tabs. `KeeperRefused` where the browser is remote."""
        await self._ask(SetUpRequest(epoch=epoch, setup=setup), Done)

    async def renew(self, epoch: int, lease_s: float) -> LeaseReport:
        """Renew the lease. `Fenced` when it has lapsed: the session is to be adopted with a greater epoch."""
        return await self._ask(RenewRequest(epoch=epoch, lease_s=lease_s), LeaseReport)

    async def fence(self, epoch: int) -> LeaseReport:
        """Cut off whoever has a lower epoch."""
        return await self._ask(FenceRequest(epoch=epoch), LeaseReport)

    async def arm(
        self,
        op_id: str,
        epoch: int,
        dispatch_by_ms: int,
        *,
        hold_safe: bool = False,
        note: str = "",
        once: bool = False,
        unsent: Sought = NOTHING,
    ) -> GateSeen:
        """Hold gated bytes from now on; after `dispatch_by_ms` milliseconds without a permit they are cut."""
        request = ArmRequest(
            op_id=op_id,
            epoch=epoch,
            dispatch_by_ms=dispatch_by_ms,
            hold_safe=hold_safe,
            note=note,
            once=once,
            unsent=unsent.texts,
        )
        return await self._ask(request, GateSeen)

    async def wait_held(self, op_id: str, timeout_ms: int) -> GateSeen:
        """Return when something is held, when the operation is no longer armed, or after `timeout_ms`."""
        request = WaitHeldRequest(op_id=op_id, timeout_ms=timeout_ms)
        return await self._ask(request, GateSeen, timeout_ms / 1000 + TIMEOUT_S)

    async def settle(self, op: Settlement, op_id: str, epoch: int) -> GateSeen:
        """Decide about what is held for the current operation, or end the operation; see `GateRequest`."""
        return await self._ask(GateRequest(op=op, op_id=op_id, epoch=epoch), GateSeen)

    async def black_box(self, op_id: str | None = None) -> BlackBoxReport:
        """Return what left for an operation, in all epochs in which it was armed, or for all operations."""
        return await self._ask(BlackBoxRequest(op_id=op_id), BlackBoxReport)

    async def network(self, *, since_monotonic_s: float | None = None) -> NetworkSeen:
        """Return the policy in force, and what it has refused, since an instant or ever."""
        return (await self._ask(NetworkRequest(since_monotonic_s=since_monotonic_s), NetworkReport)).seen

    async def view(self, seen: int, timeout_ms: int) -> ViewReport:
        """Return the first picture of the page after number `seen`; none if there is none in time."""
        request = ViewRequest(seen=seen, timeout_ms=timeout_ms)
        return await self._ask(request, ViewReport, TIMEOUT_S + timeout_ms / 1000)

    def point(self, epoch: int, document: str, box: Box) -> None:
        """Say where the element of the step under way is; nobody waits for the answer."""
        if not self._reading.done():
            self._write(PointRequest(epoch=epoch, document=document, box=box))

    async def lend(self, epoch: int, lending: str, lasts_s: float) -> LendReport:
        """Let a person drive the browser for so many seconds; the lease lasts as long."""
        return await self._ask(LendRequest(epoch=epoch, lending=lending, lasts_s=lasts_s), LendReport)

    async def take_back(self, epoch: int, lending: str) -> TakeBackReport:
        """Take the browser back from the person; return what left it meanwhile."""
        return await self._ask(TakeBackRequest(epoch=epoch, lending=lending), TakeBackReport)

    async def close(self, epoch: int, *, only_spare: bool = False, is_over: bool = False) -> None:
        """End the session. The answer comes before the end; `wait_until_gone` waits for it.

        With `only_spare`, `KeeperRefused` when it is no spare any more. With `is_over`, as its run has ended, what left
        for its operations is forgotten, too.
        """
        await self._ask(CloseRequest(epoch=epoch, only_spare=only_spare, is_over=is_over), Done)

    async def wait_until_gone(self, *, timeout_s: float = 15.0) -> None:
        """Return when the keeper has closed this connection: it does so after the browser's last process is gone.

        Raises:
            KeeperUnavailable: it is still there.
        """
        done, _ = await asyncio.wait({self._reading}, timeout=timeout_s)
        if not done:
            raise KeeperUnavailable(f"the keeper at {str(self._socket_path)!r} has not ended within {timeout_s:g} s")

    async def _ask(self, request: Request, result: type[ResultT], timeout_s: float = TIMEOUT_S) -> ResultT:
        number = next(self._numbers)
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self._reading.done():
            raise KeeperUnavailable(f"the connection to the keeper at {str(self._socket_path)!r} is closed")
        self._waiting[number] = answer
        try:
            async with asyncio.timeout(timeout_s):
                self._write(request.model_copy(update={"id": number}))
                await self._writer.drain()
                line = await answer
        except (OSError, TimeoutError) as error:
            raise KeeperUnavailable(f"the keeper at {str(self._socket_path)!r} does not answer: {error!r}") from error
        finally:
            self._waiting.pop(number, None)
        try:
            kind = _reply_type(result)  # type: ignore[arg-type]  # mypy takes a class of a union for unhashable
            reply: Reply[ResultT] = kind.model_validate_json(line)
        except ValidationError as error:
            raise KeeperUnavailable(f"the keeper's answer cannot be read: {error}") from error
        return _result_of(reply)

    def _write(self, request: Request) -> None:
        self._writer.write(request.model_dump_json().encode() + b"\n")

    async def _read(self, reader: asyncio.StreamReader) -> None:
        try:
            while line := await reader.readline():
                waiting = self._waiting.get(ReplyHead.model_validate_json(line).id)
                if waiting is not None and not waiting.done():
                    waiting.set_result(line)
        except (OSError, ValueError):
            pass  # told to whoever waits, below
        finally:
            self._writer.close()
            for waiting in self._waiting.values():
                if not waiting.done():
                    waiting.set_exception(ConnectionResetError("the keeper closed the connection"))


@cache
def _reply_type(result: type[ResultT]) -> type[Reply[ResultT]]:
    """Return the reply with this result; pydantic forgets such a class, and would build it for every answer."""
    return Reply[result]  # type: ignore[valid-type]  # the type is a value here


def _result_of(reply: Reply[ResultT]) -> ResultT:
    if reply.error is not None:
        kind = Fenced if reply.error.code is ErrorCode.FENCED else KeeperRefused
        raise kind(f"{reply.error.message} ({reply.error.code})")
    if reply.result is None:
        raise KeeperUnavailable("the keeper's answer is empty")
    return reply.result


async def _open(path: Path) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """Connect, also where the path is longer than a unix socket's address may be."""
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH_BYTES:
        return await asyncio.open_unix_connection(str(path), limit=MAX_LINE_BYTES)
    directory = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
    try:
        return await asyncio.open_unix_connection(f"/proc/self/fd/{directory}/{path.name}", limit=MAX_LINE_BYTES)
    finally:
        os.close(directory)


# ---- starting -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class KeeperHandle:
    """A keeper that has just started."""

    directory: Path
    record: SessionRecord

    @property
    def socket_path(self) -> Path:
        """Control socket of the keeper."""
        return self.directory / SOCKET_NAME

    async def connect(self) -> KeeperClient:
        """Connect to it."""
        return await KeeperClient.connect(self.socket_path)


async def launch_keeper(
    sessions_dir: Path, options: KeeperOptions, *, environment: Mapping[str, str] = os.environ, timeout_s: float = 40.0
) -> KeeperHandle:
    """Start a keeper and return it once workers can attach.

    It is nobody's child and in a session of its own: the death of this process, or of its terminal, does not touch it.
    Its directory is `sessions_dir / options.session_id`, which must not exist.

    Raises:
        KeeperUnavailable: it did not come up; the message has the end of its log. Nothing of it is left running.
        KeeperRefused: there is a session of this id.
    """
    directory = make_directory(sessions_dir, options.session_id)
    return await start_keeper(directory, options, environment=environment, timeout_s=timeout_s)


def make_directory(sessions_dir: Path, session_id: str) -> Path:
    """Make the directory of a session that is to be started, and return it.

    Raises:
        KeeperRefused: there is a session of this id.
    """
    directory = sessions_dir.absolute() / session_id
    sessions_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        directory.mkdir(mode=0o700)
    except FileExistsError as error:
        raise KeeperRefused(f"there is a session {session_id!r} in {str(sessions_dir)!r}") from error
    return directory


async def start_keeper(
    directory: Path, options: KeeperOptions, *, environment: Mapping[str, str] = os.environ, timeout_s: float = 40.0
) -> KeeperHandle:
    """Like `launch_keeper`, in a directory that `make_directory` has made."""
    ready_read, ready_write = os.pipe()
    try:
        # In a thread: on a disk that is busy, making a file takes seconds, in which this process could not say that it
        # lives, and would lose every browser that it has.
        process = await asyncio.to_thread(_spawn, directory, options, environment, ready_write)
    except BaseException:
        os.close(ready_read)
        raise
    try:
        is_ready = await _wait_ready(ready_read, timeout_s)
    finally:
        await asyncio.to_thread(process.wait)  # not the keeper: the process that forked it and went
    record = await asyncio.to_thread(read_record, directory)
    if is_ready and record is not None:
        return KeeperHandle(directory, record)
    tail = await asyncio.to_thread(log_tail, directory)
    await asyncio.to_thread(end_failed_start, directory)
    raise KeeperUnavailable(f"the keeper of session {options.session_id!r} did not start:\n{tail}")


def _written(directory: Path, options: KeeperOptions) -> Path:
    """Write all options but the secret ones to a file: a policy may be longer than an argument of a process can be."""
    path = directory / OPTIONS_NAME
    path.touch(mode=0o600)
    path.write_text(options.model_dump_json(exclude=SECRET_OPTIONS), "utf-8")
    return path


def _spawn(
    directory: Path, options: KeeperOptions, environment: Mapping[str, str], ready_fd: int
) -> subprocess.Popen[bytes]:
    """Start the process that starts the keeper; close `ready_fd`."""
    kept = for_browser(environment)
    if len(os.fsencode(kept.get("TMPDIR", ""))) > MAX_TEMP_BYTES:
        del kept["TMPDIR"]
    kept["CHROME_CONFIG_HOME"] = str(directory / PROFILE_NAME)  # else crash handlers make folders in the user's own
    package_root = str(Path(replaywright.__file__).parent.parent)
    kept["PYTHONPATH"] = os.pathsep.join(filter(None, [package_root, environment.get("PYTHONPATH", "")]))
    command = [sys.executable, "-m", "replaywright.keeper", "--detach", "--dir", str(directory)]
    try:
        command += ["--options", f"@{_written(directory, options)}", "--secret-options", "--ready-fd", str(ready_fd)]
        with (directory / LOG_NAME).open("ab") as log:
            process = subprocess.Popen(
                command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env=kept,
                cwd="/",
                pass_fds=(ready_fd,),
                start_new_session=True,
            )
    finally:
        os.close(ready_fd)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError), process.stdin as given:  # its log says why it does not read
        given.write(options.model_dump_json(include=SECRET_OPTIONS).encode())
    return process


async def _wait_ready(fd: int, timeout_s: float) -> bool:
    """Wait for the line that says ready; the end of the pipe without one means never. Closes the descriptor."""
    reader = asyncio.StreamReader()
    transport, _ = await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(fd, "rb")
    )
    try:
        async with asyncio.timeout(timeout_s):
            return bool(await reader.readline())
    except TimeoutError:
        return False
    finally:
        transport.close()


def end_failed_start(directory: Path) -> None:
    """Kill what was started for this session, which never came up, and delete its directory."""
    _kill_naming(f"--dir {directory}")
    _kill_naming(f"--user-data-dir={directory / PROFILE_NAME}")
    _remove(directory)


def log_tail(directory: Path, lines: int = 20) -> str:
    """Return the last lines of a keeper's log."""
    try:
        return "\n".join((directory / LOG_NAME).read_text("utf-8", "replace").splitlines()[-lines:])
    except OSError as error:
        return f"(no log: {error})"


# ---- finding and cleaning up ----------------------------------------------------------------------------------------


def read_record(directory: Path) -> SessionRecord | None:
    """Return what a session's directory says of its keeper, or None when it says nothing readable."""
    try:
        return SessionRecord.model_validate_json((directory / RECORD_NAME).read_bytes())
    except (OSError, ValidationError):
        return None


def is_live(record: SessionRecord) -> bool:
    """Return whether this keeper runs on this host, in this boot."""
    return _is_here(record) and record.boot_id == boot_id() and is_alive(record.keeper)


def _is_here(record: SessionRecord) -> bool:
    return record.host == host_name()


def list_live(sessions_dir: Path) -> list[SessionRecord]:
    """Return the sessions of this host whose keeper lives, those that are starting included."""
    records = (read_record(directory) for directory in session_directories(sessions_dir))
    return [record for record in records if record is not None and is_live(record)]


def count_starting(sessions_dir: Path) -> int:
    """Return how many sessions are about to start: their directory is there, and their keeper has said nothing yet."""
    return sum(
        read_record(directory) is None and not _is_left_over(directory)
        for directory in session_directories(sessions_dir)
    )


def _is_left_over(directory: Path) -> bool:
    """Return whether a start in this directory, which has no record, was given up.

    A record that a worker of another version wrote, and that cannot be read here, is none of ours to clean up.
    """
    try:
        with contextlib.suppress(FileNotFoundError, ValueError, KeyError, TypeError):
            if json.loads((directory / RECORD_NAME).read_bytes())["version"] != PROTOCOL_VERSION:
                return False
        return time.time() - directory.stat().st_mtime > UNRECORDED_TTL_S
    except FileNotFoundError:
        return True


def reap(sessions_dir: Path) -> list[str]:
    """Clean up after dead keepers of this host and return their session ids; call it when a worker starts.

    What is left of a dead keeper's Chromium is killed, its profile and directory are deleted. A process is only
    killed when pid, start time and boot id are those recorded, or when it uses this very profile. Living keepers
    are left to their own deadline, other hosts' sessions to those hosts. What left for their operations can be asked
    for another day.
    """
    reaped = []
    for directory in session_directories(sessions_dir):
        record = read_record(directory)
        if record is None:
            if _is_left_over(directory):
                _remove(directory)
                reaped.append(directory.name)
            continue
        if not _is_here(record) or is_live(record):
            continue
        if record.boot_id == boot_id():
            _kill_leftovers(record.chromium, record.profile)
        _remove(directory)
        reaped.append(record.session_id)
    sweep_departures(sessions_dir)
    return reaped


def session_directories(sessions_dir: Path) -> list[Path]:
    """Return the directories of all sessions, in the order of their names."""
    try:
        return sorted(path for path in sessions_dir.iterdir() if path.is_dir() and not path.is_symlink())
    except FileNotFoundError:
        return []


def _kill_leftovers(chromium: ProcessIdentity | None, profile: str) -> None:
    if chromium is not None and is_alive(chromium):
        with contextlib.suppress(ProcessLookupError):  # it ended just now
            os.killpg(chromium.pid, signal.SIGKILL)
    _kill_naming(f"--user-data-dir={profile}")


def _kill_naming(arguments: str) -> None:
    """End every process with these arguments, a path of one session among them, and wait until it is gone."""
    import psutil  # noqa: PLC0415 - commands import this module, and only what cleans up needs psutil

    killed = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            # Chromium's children write their arguments as one string.
            if f" {arguments} " in f" {' '.join(process.cmdline())} ":
                process.kill()
                killed.append(process)
    psutil.wait_procs(killed, timeout=5)


def _remove(directory: Path) -> None:
    delete_profile(directory / PROFILE_NAME)
    shutil.rmtree(directory, ignore_errors=True)
