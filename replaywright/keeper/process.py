"""The keeper's process: proxy, gate, Chromium, lease and control socket, put together."""

import asyncio
import logging
import os
import secrets
import shutil
import signal
import time
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from replaywright.domain.proof.carrying import Sought
from replaywright.domain.session.commit_gate import GateSeen
from replaywright.errors import StackFailed
from replaywright.keeper import clock
from replaywright.keeper.chromium.chromium import command_line
from replaywright.keeper.chromium.chromium_process import ChromiumProcess, become_subreaper
from replaywright.keeper.chromium.crash_handlers import end_crash_handlers
from replaywright.keeper.chromium.hands import Hands
from replaywright.keeper.chromium.profile import DOWNLOADS_NAME, UPLOADS_NAME, delete_profile, prepare_profile
from replaywright.keeper.chromium.relay import MAX_RELAYS, RelaySocket
from replaywright.keeper.chromium.remote import RemoteChromium
from replaywright.keeper.chromium.view import View
from replaywright.keeper.gate.black_box import BlackBox
from replaywright.keeper.gate.departures import BeginLine, DepartureLog, departures_path
from replaywright.keeper.gate.gate import Gate, RequestRefused
from replaywright.keeper.gate.guard import NetworkGuard
from replaywright.keeper.gate.proxy import ForwardProxy
from replaywright.keeper.gate.request_watcher import RequestWatcher
from replaywright.keeper.host.identity import ProcessIdentity, boot_id, host_name, identify, is_alive
from replaywright.keeper.host.own_processes import OwnPorts, enter_process
from replaywright.keeper.host.peers import is_own
from replaywright.keeper.protocol import (
    DEVTOOLS_NAME,
    MAX_LINE_BYTES,
    PROFILE_NAME,
    PROTOCOL_VERSION,
    RECORD_NAME,
    REQUESTS,
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
    KeeperError,
    KeeperOptions,
    LeaseReport,
    LendRequest,
    Message,
    NetworkReport,
    NetworkRequest,
    PointRequest,
    RemoteBrowser,
    RenewRequest,
    Reply,
    ReplyHead,
    Request,
    SessionRecord,
    SessionState,
    SetUpRequest,
    StatusReport,
    StatusRequest,
    TakeBackRequest,
    TakeRequest,
    ViewReport,
    ViewRequest,
    WaitHeldRequest,
)

KNOCK_S = 10.0
"""Limit for a remote browser to reach the proxy."""
EVERYWHERE = "0.0.0.0"  # noqa: S104 - where a remote browser comes from by way of others; only it is served
OWNER_LOOK_S = 1.0
"""Interval of the checks that the owner of the stack still lives."""
LONGEST_NAP_S = 5.0
"""Deadlines are looked at at least so often: a suspended machine does not advance the timers of the event loop."""

_log = logging.getLogger(__name__)

_AnyReply = Reply[Any]  # kept: pydantic would build the class again for every answer


def write_record(directory: Path, record: SessionRecord) -> None:
    """Replace `session.json`; a reader sees the old one or the new one, never a part."""
    path = directory / RECORD_NAME
    draft = path.with_suffix(".draft")
    draft.write_text(record.model_dump_json(), "utf-8")
    draft.replace(path)


class Keeper:
    """One session: its browser, its network, and its epoch and lease."""

    def __init__(self, directory: Path, options: KeeperOptions) -> None:
        self._directory = directory.absolute()
        self._options = options
        self._profile = self._directory / PROFILE_NAME
        self._state, self._started_s = SessionState.STARTING, time.monotonic()
        self._keeper = _identity_of_this_process()
        self._host, self._boot_id = host_name(), boot_id()

        self._epoch = self._holder_epoch = options.epoch
        self._renewed_s = clock.lease_now_s()
        self._lease_until_s = float("inf")
        self._browser_died_s: float | None = None

        self._departures = DepartureLog(departures_path(self._directory.parent, options.session_id))
        self._black_box = BlackBox(departures=self._departures)
        self._gate = Gate(self._black_box, lease_lapsed=self._lease_lapsed)
        self._guard = NetworkGuard(options.network, self._black_box, OwnPorts(self._directory.parent.parent))
        self._entry: Path | None = None
        self._proxy = ForwardProxy(self._gate, self._black_box, guard=self._guard, routes=options.routes)
        self._chromium: ChromiumProcess | RemoteChromium | None = None
        self._watcher: RequestWatcher | None = None
        self._relays = RelaySocket(self._directory / DEVTOOLS_NAME)
        self._hands = Hands(self._directory, self._black_box, self._proxy.own_ports)
        self._view: View | None = None
        self._control: asyncio.Server | None = None
        self._clients: set[asyncio.Task[None]] = set()
        self._end = asyncio.Event()
        self._deadlines_changed = asyncio.Event()
        self._removes_directory = False
        self._is_over = False
        """Its run has ended."""
        self._is_spare = options.is_spare

    # ---- life ---------------------------------------------------------------------------------------------------

    async def run(self, ready_fd: int | None = None) -> int:
        """Keep the session until it is closed or nobody wants it any more; return the exit code.

        Args:
            ready_fd: gets one line when workers can attach; it is closed without one when they never will.
        """
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._end.set)
        loop.add_signal_handler(signal.SIGCHLD, self._child_ended)
        become_subreaper()
        watching = asyncio.create_task(self._watch_owner())
        try:
            if not await self._started():
                return 1
            if ready_fd is not None:
                os.write(ready_fd, b"ready\n")
                os.close(ready_fd)
            _log.info("ready after %.0f ms", (time.monotonic() - self._started_s) * 1000)
            await self._watch_deadlines()
            return 0
        except (StackFailed, OSError) as error:
            _log.error("%s", error)
            return 1
        finally:
            watching.cancel()
            await self._stop()

    async def _started(self) -> bool:
        """Start all parts; return False when the keeper is told to end before that is done."""
        starting, ending = asyncio.create_task(self._start()), asyncio.create_task(self._end.wait())
        await asyncio.wait({starting, ending}, return_when=asyncio.FIRST_COMPLETED)
        ending.cancel()
        if starting.done():
            await starting
            return True
        starting.cancel()
        await asyncio.gather(starting, return_exceptions=True)
        return False

    async def _watch_owner(self) -> None:
        """End the session when the owner of its stack has ended: no server knows of the run any more."""
        owner = self._options.owner
        while owner is not None:
            if not is_alive(owner):
                _log.info("owner of the stack has ended: ending the session")
                self._removes_directory = True
                self._end.set()
                return
            await asyncio.sleep(OWNER_LOOK_S)

    async def _start(self) -> None:
        self._entry = enter_process(self._directory.parent.parent, self._keeper)
        self._write_record()
        session = self._options.session_id
        self._departures.begin(
            BeginLine(session_id=session, host=self._host, boot_id=self._boot_id, keeper=self._keeper)
        )
        remote = self._options.remote
        self._chromium = await (self._own_chromium() if remote is None else self._context_of(remote))
        self._write_record()
        os.chdir(self._directory)  # the address of a unix socket has room for 107 bytes: a relative one always fits
        self._control = await asyncio.start_unix_server(self._serve_client, SOCKET_NAME, limit=MAX_LINE_BYTES)
        Path(SOCKET_NAME).chmod(0o600)
        if isinstance(self._chromium, ChromiumProcess):
            await self._chromium.wait_until_debuggable(self._options.browser_timeout_s)
        self._watcher = RequestWatcher(self._chromium.devtools, self._gate, self._black_box)
        await self._watcher.start()
        await self._relays.start(self._chromium.devtools)
        self._view = View(self._chromium.devtools, self._watcher.pages)
        self._state = SessionState.READY
        self._removes_directory |= self._is_spare  # nobody wants to know anything of one that ends unused
        self._renew(self._epoch, self._options.lease_s)
        end_crash_handlers()
        self._write_record()

    async def _own_chromium(self) -> ChromiumProcess:
        """Start a browser of this session's own."""
        proxy_port = await self._proxy.start()
        _log.info("proxy listens after %.0f ms", (time.monotonic() - self._started_s) * 1000)
        shown = self._options.certificates
        trusted = self._proxy.show(shown) if shown else ""
        arguments = command_line(self._options, profile=self._profile, proxy_port=proxy_port, trusted=trusted)
        self._profile.mkdir(mode=0o700, exist_ok=True)
        prepare_profile(self._profile, self._directory / DOWNLOADS_NAME)
        return await ChromiumProcess.start(arguments, environment=os.environ)

    async def _context_of(self, remote: RemoteBrowser) -> RemoteChromium:
        """Make a context of this session's own in a browser that runs already, and check that it uses the proxy.

        Raises:
            StackFailed: the browser cannot be had, or does not come to the proxy: then there would be no gate.
        """
        name = f"{secrets.token_hex(16)}.invalid"
        chromium = RemoteChromium(remote.endpoint, self._child_ended, self._directory)
        try:
            address = await chromium.connect()
            port, knocked = await self._proxy.start_for(EVERYWHERE if remote.proxy_host else address, name)
            host = remote.proxy_host or address
            host = f"[{host}]" if ":" in host else host
            size = {"width": self._options.window_width, "height": self._options.window_height}
            await chromium.open(f"http://{host}:{port}", **size)
            await chromium.knock(f"http://{name}/")
            try:
                _log.info("browser connected from %s", await asyncio.wait_for(knocked, KNOCK_S))
            except TimeoutError:
                raise StackFailed(
                    f"the browser at {chromium.shown} does not reach this host's proxy at {host}:{port}, and without "
                    "it there is no commit gate and no network policy: let its host connect to this one, and set "
                    "REPLAYWRIGHT_BROWSER_PROXY_HOST to what this host is called there"
                ) from None
            await chromium.quiet()
            await chromium.refuse_datagrams(EVERYWHERE if remote.proxy_host else address, host)
        except BaseException:
            await chromium.kill()
            raise
        return chromium

    async def _watch_deadlines(self) -> None:
        while not self._end.is_set():
            now_s = clock.lease_now_s()
            if now_s >= self._ends_at_s:
                _log.info("lease expired without renewal: ending the session")
                return
            self._gate.check_deadlines()
            deadlines = [self._ends_at_s, self._lease_until_s, self._gate.next_deadline_s or self._ends_at_s]
            nap_s = min([LONGEST_NAP_S, *(deadline_s - now_s for deadline_s in deadlines if deadline_s > now_s)])
            self._deadlines_changed.clear()
            waits = [asyncio.create_task(event.wait()) for event in (self._end, self._deadlines_changed)]
            await asyncio.wait(waits, timeout=nap_s, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()

    @property
    def _ends_at_s(self) -> float:
        """End of the session unless the lease is renewed, on the lease clock."""
        if self._is_spare:
            return self._lease_until_s if self._browser_died_s is None else self._browser_died_s
        if self._browser_died_s is not None:
            return self._browser_died_s + self._options.orphan_ttl_s
        return max(self._renewed_s + self._options.orphan_ttl_s, self._lease_until_s)

    async def _stop(self) -> None:
        """Stop all parts, the network first, so that nothing leaves while the browser dies."""
        _log.info("ending")
        self._gate.close()
        await self._proxy.close()
        self._relays.close()
        self._hands.close()
        if self._view is not None:
            self._view.close()
        if self._control is not None:
            self._control.close()
        if self._chromium is not None:
            await self._chromium.kill()
        self._departures.close(deletes=self._is_over or self._is_spare or self._state is SessionState.STARTING)
        self._state = SessionState.ENDED
        delete_profile(self._profile)
        shutil.rmtree(self._directory / UPLOADS_NAME, ignore_errors=True)
        if self._removes_directory:
            shutil.rmtree(self._directory, ignore_errors=True)
        else:
            for name in (SOCKET_NAME, DEVTOOLS_NAME):
                (self._directory / name).unlink(missing_ok=True)
            self._write_record()
        if self._entry is not None:
            self._entry.unlink(missing_ok=True)
        # Last, because clients take the end of their connection for the end of the session.
        for client in self._clients:
            client.cancel()
        await asyncio.gather(*self._clients, return_exceptions=True)

    def _child_ended(self) -> None:
        if self._chromium is None or not self._chromium.reap() or self._browser_died_s is not None:
            return
        self._browser_died_s = clock.lease_now_s()
        self._relays.close()  # Playwright waits for its whole limit on a connection that is accepted and then cut
        self._deadlines_changed.set()
        if self._state is SessionState.READY:
            _log.error("Chromium is gone, exit code %s", self._chromium.exit_code)
            self._state = SessionState.BROWSER_DEAD
            self._write_record()

    def _write_record(self) -> None:
        record = SessionRecord(
            session_id=self._options.session_id,
            state=self._state,
            host=self._host,
            boot_id=self._boot_id,
            keeper=self._keeper,
            chromium=self._chromium.identity if self._chromium is not None else None,
            socket_path=str(self._directory / SOCKET_NAME),
            profile=str(self._profile),
            epoch=self._epoch,
            is_spare=self._is_spare,
            owner=self._options.owner,
        )
        write_record(self._directory, record)

    # ---- epoch and lease ----------------------------------------------------------------------------------------

    def _lease_lapsed(self) -> bool:
        return clock.lease_now_s() >= self._lease_until_s

    def _renew(self, epoch: int, lease_s: float) -> None:
        self._holder_epoch = epoch
        self._renewed_s = clock.lease_now_s()
        self._lease_until_s = max(self._renewed_s + lease_s, self._hands.until_s)  # of a person, who renews nothing
        self._deadlines_changed.set()

    def _admit_epoch(self, epoch: int) -> None:
        """Refuse a lower epoch; take over a greater one, and with it everything away from those before.

        Raises:
            RequestRefused: fenced.
        """
        if epoch < self._epoch:
            raise RequestRefused(ErrorCode.FENCED, f"epoch {epoch} is over, this session is in epoch {self._epoch}")
        if epoch == self._epoch:
            return
        _log.info("epoch %d follows %d", epoch, self._epoch)
        self._epoch = epoch
        self._relays.cut_before(epoch)
        self._hands.close()
        self._write_record()

    def _admit_holder(self, epoch: int) -> None:
        if self._lease_lapsed() and epoch <= self._holder_epoch:
            raise RequestRefused(
                ErrorCode.FENCED, f"the lease of epoch {self._holder_epoch} has lapsed: adopt with a greater epoch"
            )
        self._admit_epoch(epoch)

    # ---- control socket -----------------------------------------------------------------------------------------

    async def _serve_client(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._clients.add(task)
        polls: set[asyncio.Task[None]] = set()
        try:
            if not is_own(writer):
                _log.warning("refused a control client of another user")
                return
            while line := await reader.readline():
                request = await self._read_request(line, writer)
                match request:
                    case None:
                        continue
                    case WaitHeldRequest() | ViewRequest():
                        poll = asyncio.create_task(self._answer(request, writer))
                        polls.add(poll)
                        poll.add_done_callback(polls.discard)
                    case _:
                        await self._answer(request, writer)
        except (ConnectionError, ValueError):
            pass  # the client is gone, or sent a line without end; what it armed stays armed
        except asyncio.CancelledError:
            pass  # the keeper ends; the stream's own callback would report a cancelled handler as an error
        finally:
            for poll in polls:
                poll.cancel()
            self._clients.discard(task)
            writer.close()

    async def _read_request(self, line: bytes, writer: asyncio.StreamWriter) -> Request | None:
        number = 0
        try:
            number = ReplyHead.model_validate_json(line).id
            request = REQUESTS.validate_json(line)
            if request.version == PROTOCOL_VERSION:
                return request
            problem = f"this keeper speaks version {PROTOCOL_VERSION}, not {request.version}"
        except ValidationError as error:
            problem = str(error)
        refusal = KeeperError(code=ErrorCode.INVALID, message=problem, epoch=self._epoch)
        await self._write(writer, _AnyReply(id=number, error=refusal))
        return None

    async def _answer(self, request: Request, writer: asyncio.StreamWriter) -> None:
        result: object = None
        error: KeeperError | None = None
        try:
            result = await self._handle(request)
        except RequestRefused as refused:
            error = KeeperError(code=refused.code, message=str(refused), epoch=self._epoch)
        await self._write(writer, _AnyReply(id=request.id, result=result, error=error))
        if isinstance(request, CloseRequest) and error is None:
            self._end.set()

    async def _write(self, writer: asyncio.StreamWriter, reply: Message) -> None:
        try:
            writer.write(reply.model_dump_json().encode() + b"\n")
            await writer.drain()
        except ConnectionError:
            pass  # nobody waits for the answer any more

    async def _handle(self, request: Request) -> object:  # noqa: PLR0911 - one for each kind of request
        match request:
            case StatusRequest():
                return self._status()
            case BlackBoxRequest():
                self._gate.check_deadlines()
                return BlackBoxReport(operations=tuple(self._gate.operations(request.op_id)))
            case NetworkRequest():
                since_s = request.since_monotonic_s
                seen = self._guard.seen(float("-inf") if since_s is None else since_s)
                withheld = () if self._watcher is None else self._watcher.withheld
                return NetworkReport(seen=seen.model_copy(update={"withheld": withheld}))
            case WaitHeldRequest() | ViewRequest():
                return await self._awaited(request)
            case AttachRequest() | LendRequest() | TakeBackRequest():
                return await self._hand_over(request)
            case TakeRequest() | SetUpRequest():
                return self._take(request) if isinstance(request, TakeRequest) else await self._set_up(request)
            case RenewRequest():
                self._admit_holder(request.epoch)
                self._renew(request.epoch, request.lease_s)
                return self._lease()
            case FenceRequest():
                self._admit_epoch(request.epoch)
                return self._lease()
            case ArmRequest() | GateRequest() | PointRequest():
                self._admit_epoch(request.epoch)
                return self._admitted(request)
            case CloseRequest():
                if request.only_spare and not self._is_spare:
                    raise RequestRefused(ErrorCode.REFUSED, "this browser is a session's: it is no spare any more")
                self._admit_epoch(request.epoch)
                self._removes_directory = True
                self._is_over |= request.is_over
                return Done()

    def _admitted(self, request: ArmRequest | GateRequest | PointRequest) -> Message | GateSeen:
        match request:
            case ArmRequest():
                return self._arm(request)
            case GateRequest():
                return self._settle(request)
            case PointRequest():
                if self._view is not None:
                    self._view.point(request.document, request.box)
                return Done()

    def _arm(self, request: ArmRequest) -> GateSeen:
        if self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, "Chromium is gone: there is nothing to hold")
        self._deadlines_changed.set()
        return self._gate.arm(
            request.op_id,
            request.epoch,
            request.dispatch_by_ms,
            hold_safe=request.hold_safe,
            note=request.note,
            once=request.once,
            unsent=Sought(request.unsent),
        )

    def _settle(self, request: GateRequest) -> GateSeen:
        gate = self._gate
        decide = {"permit": gate.permit, "let_pass": gate.let_pass, "cut": gate.cut, "disarm": gate.disarm}
        return decide[request.op](request.op_id)

    def _take(self, request: TakeRequest) -> LeaseReport:
        if not self._is_spare:
            raise RequestRefused(ErrorCode.REFUSED, "this browser is a session's: it is no spare any more")
        if self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, f"there is no browser to take: {self._state}")
        self._admit_holder(request.epoch)
        self._guard.begin(request.network)
        self._is_spare = self._removes_directory = False
        self._renew(request.epoch, request.lease_s)
        self._write_record()
        _log.info("spare browser taken for a session")
        return self._lease()

    async def _set_up(self, request: SetUpRequest) -> Done:
        self._admit_epoch(request.epoch)
        if self._watcher is None or self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.REFUSED, "only a browser that is ready can be set up")
        try:
            await self._watcher.set_up(request.setup)
        except StackFailed as failed:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, str(failed)) from failed
        return Done()

    async def _hand_over(self, request: AttachRequest | LendRequest | TakeBackRequest) -> Message:
        match request:
            case AttachRequest() | LendRequest() if self._is_spare:
                raise RequestRefused(ErrorCode.REFUSED, "this browser is a spare: take it first")
            case AttachRequest():
                return self._attach(request)
            case LendRequest():
                return await self._lend(request)
            case TakeBackRequest():
                self._admit_epoch(request.epoch)
                taken = self._hands.take_back(request.lending)
                if not self._lease_lapsed():
                    self._renew(request.epoch, self._options.lease_s)
                return taken

    def _attach(self, request: AttachRequest) -> AttachReport:
        self._admit_holder(request.epoch)
        if self._chromium is None or self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, f"there is no browser to attach to: {self._state}")
        self._renew(request.epoch, request.lease_s or self._options.lease_s)
        endpoint_url = self._relays.attach(request.epoch)
        if endpoint_url is None:
            raise RequestRefused(ErrorCode.REFUSED, f"{MAX_RELAYS} attachments of epoch {request.epoch} are in use")
        _log.info("epoch %d attached: %s", request.epoch, request.worker)
        return AttachReport(epoch=request.epoch, endpoint_url=endpoint_url)

    async def _lend(self, request: LendRequest) -> Message:
        self._admit_holder(request.epoch)
        if self._chromium is None or self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, f"there is no browser to lend: {self._state}")
        lent = await self._hands.lend(request.lending, request.lasts_s, self._chromium.devtools)
        if request.epoch < self._epoch:  # a greater epoch came while the port was opened
            self._hands.close()
            raise RequestRefused(ErrorCode.FENCED, f"epoch {request.epoch} is over")
        self._renew(request.epoch, request.lasts_s + self._options.lease_s)
        _log.info("epoch %d lends the browser to a person for %.0f s", request.epoch, request.lasts_s)
        return lent

    async def _awaited(self, request: WaitHeldRequest | ViewRequest) -> GateSeen | ViewReport:
        limit_s = request.timeout_ms / 1000
        if isinstance(request, WaitHeldRequest):
            return await self._gate.wait_held(request.op_id, limit_s)
        if self._view is None or self._state is not SessionState.READY:
            raise RequestRefused(ErrorCode.REFUSED, "only a live browser can be watched")
        try:
            return await self._view.after(request.seen, limit_s)
        except StackFailed as failed:
            raise RequestRefused(ErrorCode.BROWSER_DEAD, str(failed)) from failed

    def _lease(self) -> LeaseReport:
        now_s = clock.lease_now_s()
        return LeaseReport(
            epoch=self._epoch,
            holder_epoch=self._holder_epoch,
            lapsed=self._lease_lapsed(),
            left_s=max(0.0, min(self._lease_until_s, 1e9) - now_s),
            ends_in_s=max(0.0, min(self._ends_at_s, 1e9) - now_s),
        )

    def _status(self) -> StatusReport:
        chromium = self._chromium
        return StatusReport(
            state=self._state,
            epoch=self._epoch,
            keeper=self._keeper,
            chromium=chromium.identity if chromium is not None else None,
            chromium_alive=chromium is not None and chromium.exit_code is None,
            uptime_s=time.monotonic() - self._started_s,
            lease=self._lease(),
            gate=self._gate.current,
            open_relays=self._relays.connections,
        )


def _identity_of_this_process() -> ProcessIdentity:
    identity = identify(os.getpid())
    assert identity is not None
    return identity
