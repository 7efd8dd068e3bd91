"""The browser's only way out: a forward proxy on loopback for plain HTTP and CONNECT.

A name is resolved once and the connection goes to that very address, so that a name server cannot answer one thing
to the policy and another to the connection. Plain HTTP gets one upstream connection per request: with keep-alive a
second request would hide behind the first. Every byte towards a site is admitted by the gate first.
"""

import asyncio
import contextlib
import ipaddress
import logging
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from typing import Literal

from replaywright.keeper.gate.black_box import SWITCHED, BlackBox, UpstreamConnection
from replaywright.keeper.gate.gate import Gate
from replaywright.keeper.gate.guard import NetworkGuard, Verdict
from replaywright.keeper.gate.http1 import (
    NO_CONTENT,
    Body,
    BodyEnd,
    ForwardedRequest,
    HttpError,
    ProxyTarget,
    RequestHead,
    RequestParser,
    ResponseHead,
    error_page,
    parse_authority,
    parse_target,
)
from replaywright.keeper.gate.tls_end import SiteTlsFailed, TlsContexts, TlsEnd
from replaywright.keeper.gate.upstream import UpstreamFailed, first_that_answers, route_of
from replaywright.keeper.gate.wire import BufferedConnection
from replaywright.keeper.host.tcp_users import own_user, user_at
from replaywright.keeper.protocol import SiteCertificate, UpstreamRoute
from replaywright.reaching import CONNECT_TIMEOUT_S, Resolver, resolve

HALF_CLOSED_TIMEOUT_S = 30.0
"""Limit of a tunnel without traffic after one side has closed."""
REFUSED_BODY_BYTES = 1024 * 1024
"""Bytes of a refused request that are read before the answer, so that the answer is seen."""
REFUSED_BODY_TIMEOUT_S = 2.0
COMPARED_BODY_BYTES = 1024 * 1024
"""Bytes of a body that are read before its request is sent, where equal requests are refused."""
_HANDSHAKE, _SWITCHES = b"GET ", b"HTTP/1.1 101"
"""First bytes of both sides of a tunnel for WebSocket messages without TLS."""

_log = logging.getLogger(__name__)


class _RefusedError(Exception):
    """The policy or the gate says no."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


class _ClosedError(_RefusedError):
    """The commit gate is closed."""

    def __init__(self) -> None:
        super().__init__(503, "the commit gate is closed: this request was not sent")


_OWN_PORT = Verdict(False, "it belongs to the session keeper", "own-service")


def _status_of(error: Exception) -> int:
    match error:
        case _RefusedError():
            return error.status
        case TimeoutError():
            return 504
        case _:
            return 502


@dataclass(frozen=True, slots=True)
class _Client:
    """Origin of a connection."""

    address: str
    user: int | None
    """Process of this host that holds it; None on another host."""

    @classmethod
    def of(cls, client: BufferedConnection) -> "_Client":
        return cls(client.peer_address[0], user_at(client.peer_address, client.own_address))

    def __str__(self) -> str:
        return f"user {self.user} at {self.address}"


@dataclass(slots=True, eq=False)
class _Exchange:
    """One plain HTTP request on its way."""

    client: BufferedConnection
    parser: RequestParser
    head: RequestHead
    target: ProxyTarget
    connection: UpstreamConnection
    upstream: BufferedConnection | None = None
    has_answer: bool = False
    """The head of the final response was written to the browser."""
    is_sent: bool = False
    failure: "_RefusedError | HttpError | None" = None
    """Reason why the rest of the request was not sent."""

    def give_up_by(self, gate: Gate) -> Callable[[], None]:
        """Return what to do when the browser closes its connection: send nothing more, and tell the site."""

        def give_up() -> None:
            gate.forget(self.connection)
            if self.upstream is not None:
                self.upstream.abort()

        return give_up

    def answer(self, status: int, error: Exception) -> None:
        """Answer in place of the site.

        A navigation that the commit gate did not let go leads nowhere, so that the page stays that was left: what it
        came to is decided elsewhere, and the step may be done on it once more.
        """
        if isinstance(error, _ClosedError) and self.head.is_navigation:
            self.client.write(NO_CONTENT)
            return
        message = str(error)
        self.client.write(error_page(status, message, with_body=self.head.method != "HEAD"))

    async def read_more(self) -> None:
        """Feed the parser with what the browser sends next."""
        self.parser.receive(await self.client.read())

    async def read_ahead(self) -> deque[Body | BodyEnd]:
        """Read the body, or as much of it as is compared; the pieces in their order."""
        pieces: deque[Body | BodyEnd] = deque()
        data = bytearray()
        while len(data) < COMPARED_BODY_BYTES and not (pieces and isinstance(pieces[-1], BodyEnd)):
            match self.parser.next_event():
                case Body() as body:
                    pieces.append(body)
                    data += body.data
                case BodyEnd() as end:
                    pieces.append(end)
                case _:
                    await self.read_more()
        self.connection.digest = self.head.digest(bytes(data[:COMPARED_BODY_BYTES]))
        return pieces

    async def discard_request(self) -> None:
        """Read the rest of a request that goes nowhere: else a reset could overtake the answer."""
        size = 0
        try:
            async with asyncio.timeout(REFUSED_BODY_TIMEOUT_S):
                while size < REFUSED_BODY_BYTES:
                    match self.parser.next_event():
                        case Body(data):
                            size += len(data)
                        case BodyEnd():
                            return
                        case _:
                            await self.read_more()
        except (TimeoutError, HttpError):
            pass  # then without


class ForwardProxy:
    """Accepts the browser's connections and connects them, if policy and gate agree."""

    def __init__(
        self,
        gate: Gate,
        black_box: BlackBox,
        *,
        guard: NetworkGuard,
        routes: Sequence[UpstreamRoute] = (),
        resolver: Resolver = resolve,
        connect_timeout_s: float = CONNECT_TIMEOUT_S,
    ) -> None:
        self._gate = gate
        self._black_box = black_box
        self._guard = guard
        self._routes = routes
        self._resolver = resolver
        self._connect_timeout_s = connect_timeout_s
        self._server: asyncio.Server | None = None
        self._serving: set[asyncio.Task[None]] = set()
        self._wires: set[BufferedConnection] = set()
        self.own_ports: set[int] = set()
        """Ports of the keeper and its Chromium on loopback: no page may reach them, whatever the policy."""
        self._port = 0
        self._knocking: tuple[str, asyncio.Future[str]] | None = None
        self._only: _Client | None = None
        """The only client that is served; None until a browser of another host has come."""
        self._is_for_another_host = False
        self._has_warned = False
        self._tls_for: Callable[[str, int], TlsContexts | None] = lambda _host, _port: None
        """Returns the TLS of a tunnel that ends here; None for those that the browser encrypts itself."""

    async def start(self) -> int:
        """Listen on a free loopback port for processes of this user, and return the port."""
        self._only = _Client("127.0.0.1", own_user())
        return await self._listen("127.0.0.1")

    async def start_for(self, address: str, name: str) -> tuple[int, asyncio.Future[str]]:
        """Listen for a browser of another host at an address of this one, and return the port.

        Until a client asks for a page of the host `name`, which is a secret, nobody is served; from then on only that
        client's address is, and where that is of this host only its user. The address is what the future gets.
        """
        knocked: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._knocking = (name, knocked)
        self._is_for_another_host = True
        return await self._listen(address), knocked

    def show(self, certificates: Sequence[SiteCertificate]) -> str:
        """Show client certificates to their hosts; return the fingerprint of the key that the browser is to trust.

        Raises:
            StackFailed: one of them is of no use.
        """
        from replaywright.keeper.gate.client_certificates import ClientCertificates  # noqa: PLC0415  30 ms to load

        shown = ClientCertificates(certificates)
        self._tls_for = shown.tls_for
        return shown.fingerprint

    async def _listen(self, address: str) -> int:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(lambda: BufferedConnection(self._accept), address, 0, backlog=256)
        self._port = self._server.sockets[0].getsockname()[1]
        self.own_ports.add(self._port)
        return self._port

    async def close(self) -> None:
        """Stop listening and cut every connection, both ways."""
        if self._server is not None:
            self._server.close()
        for task in self._serving:
            task.cancel()
        for wire in self._wires:
            wire.abort()
        await asyncio.gather(*self._serving, return_exceptions=True)

    def _accept(self, client: BufferedConnection) -> None:
        if self._only is not None and (came := _Client.of(client)) != self._only:
            client.abort()
            if not self._has_warned:
                self._has_warned = True
                _log.warning("refused %s, which is not the browser (%s): logged once", came, self._only)
            return
        task = asyncio.create_task(self._serve(client))
        self._serving.add(task)
        task.add_done_callback(self._serving.discard)

    async def _serve(self, client: BufferedConnection) -> None:
        self._wires.add(client)
        parser = RequestParser()
        try:
            while (head := await self._next_head(client, parser)) is not None:
                if head.method == "CONNECT":
                    await self._tunnel(client, parser, head)
                    return
                if not await self._exchange(client, parser, head):
                    return
        except HttpError as error:
            client.write(error_page(error.status, str(error)))
        except ConnectionError:
            pass  # the browser went away; the black box has what there is to know
        finally:
            self._wires.discard(client)
            client.close()

    async def _next_head(self, client: BufferedConnection, parser: RequestParser) -> RequestHead | None:
        while (event := parser.next_event()) is None:
            data = await client.read()
            if not data:
                return None
            parser.receive(data)
        assert isinstance(event, RequestHead)
        return event

    # ---- plain HTTP ---------------------------------------------------------------------------------------------

    async def _exchange(self, client: BufferedConnection, parser: RequestParser, head: RequestHead) -> bool:
        """Pass one request on and its response back; return whether the client may send another."""
        target = parse_target(head.target)
        if self._knocking is not None:
            return self._answer_knock(client, target)
        connection = self._black_box.open(
            "http",
            method=head.method,
            host=target.host,
            port=target.port,
            path=target.path_without_query,
            gated=not head.is_safe,
        )
        exchange = _Exchange(client, parser, head, target, connection)
        client.on_gone = exchange.give_up_by(self._gate)
        try:
            upstream = await self._connect_exchange(exchange)
            if upstream is None:
                return False
            exchange.upstream = upstream
            self._wires.add(upstream)
            try:
                return not client.is_gone and await self._converse(exchange, upstream)
            finally:
                upstream.abort()
                self._wires.discard(upstream)
        finally:
            client.on_gone = None
            self._black_box.close(connection)

    def _answer_knock(self, client: BufferedConnection, target: ProxyTarget) -> bool:
        """Admit the browser that is waited for; nobody else is answered."""
        assert self._knocking is not None
        name, knocked = self._knocking
        if target.host == name and not knocked.done():
            self._only = _Client.of(client)
            self._knocking = None
            knocked.set_result(self._only.address)
            client.write(NO_CONTENT)
        return False

    async def _connect_exchange(self, exchange: "_Exchange") -> BufferedConnection | None:
        """Return a connection to the site, or None when the client was told why there is none."""
        connection, target = exchange.connection, exchange.target
        try:
            self._check_policy(connection, None)
            await self._admit(connection, 0, exchange.client)
            return await self._connect(connection, target.host, target.port)
        except (_RefusedError, OSError) as error:
            connection.refused = connection.refused or f"{error!s:.200}"
            status = self._note_end(connection, error)
            await exchange.discard_request()
            exchange.answer(status, error)
            return None

    def _note_end(self, connection: UpstreamConnection, error: Exception) -> int:
        """Note why the browser is given an answer of the keeper's own, and return its status."""
        connection.status = status = _status_of(error)
        if not isinstance(error, _RefusedError):
            self._guard.note_unreached(connection.host, connection.port, error)
        return status

    async def _converse(self, exchange: "_Exchange", upstream: BufferedConnection) -> bool:
        client, connection = exchange.client, exchange.connection
        request = ForwardedRequest(exchange.head, exchange.target)
        sending = asyncio.create_task(self._send_request(exchange, request, upstream))
        sending.add_done_callback(lambda task: None if task.cancelled() or not task.exception() else upstream.abort())
        try:
            return await self._pass_response(exchange, request, upstream)
        except (_RefusedError, HttpError, ConnectionError) as error:
            if client.is_gone or (exchange.has_answer and not isinstance(error, HttpError)):
                client.abort()
            elif not exchange.has_answer:  # else what came is shown, and its end is missing, as it is without a proxy
                exchange.answer(self._note_end(connection, error), error)
            return False
        finally:
            sending.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sending

    async def _send_request(
        self, exchange: "_Exchange", request: ForwardedRequest, upstream: BufferedConnection
    ) -> None:
        """Send head and body; a refusal in between ends the connection to the site and is told to the reply."""
        client, parser, connection = exchange.client, exchange.parser, exchange.connection
        try:
            await self._admit(connection, 0, client)
            ahead = await exchange.read_ahead() if self._gate.compares(connection) else deque()
            await self._admit(connection, len(request.head), client)
            upstream.write(request.head)
            while not exchange.is_sent:
                match ahead.popleft() if ahead else parser.next_event():
                    case (Body() | BodyEnd()) as piece:
                        if data := request.piece(piece):
                            await self._admit(connection, len(data), client)
                            upstream.write(data)
                            await upstream.drain()
                        exchange.is_sent = isinstance(piece, BodyEnd)
                    case _:
                        await exchange.read_more()
        except (_RefusedError, HttpError) as error:
            exchange.failure = error
            upstream.abort()
        except ConnectionError:
            pass  # the site has closed: its answer, if any, is still to be read

    async def _pass_response(
        self, exchange: "_Exchange", request: ForwardedRequest, upstream: BufferedConnection
    ) -> bool:
        client, browser, connection, response = exchange.client, exchange.parser, exchange.connection, request.response
        while True:
            match response.next_event():
                case ResponseHead() as head:
                    client.write(browser.answer(head))
                    if head.status >= 200:
                        self._black_box.answer(connection, head.status)
                        exchange.has_answer = True
                case Body() as body:
                    client.write(browser.answer(body))
                    await client.drain()
                case BodyEnd() as end:
                    client.write(browser.answer(end))
                    return exchange.is_sent and browser.begin_next()
                case _:
                    data = await upstream.read()
                    if exchange.failure is not None:
                        raise exchange.failure
                    self._take(connection, len(data))
                    if not data and not exchange.has_answer and not response.has_begun:
                        raise HttpError(502, "the server closed the connection without an answer")
                    response.receive(data)

    # ---- tunnels ------------------------------------------------------------------------------------------------

    async def _tunnel(self, client: BufferedConnection, parser: RequestParser, head: RequestHead) -> None:
        if self._knocking is not None:
            return
        host, port = parse_authority(head.target)
        connection = self._black_box.open("tunnel", method="CONNECT", host=host, port=port, path="", gated=True)
        upstream: BufferedConnection | None = None
        client.on_gone = lambda: self._gate.forget(connection)
        try:
            self._check_policy(connection, None)
            self._check_tunnels(connection)
            upstream = await self._connect(connection, host, port)
            self._wires.add(upstream)
            self._check_tunnels(connection)
            ends = await self._tls_ends(client, upstream, connection, parser)
        except (_RefusedError, OSError) as error:
            connection.refused = connection.refused or f"{error!s:.200}"
            client.write(error_page(self._note_end(connection, error), str(error)))
        else:
            client.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            if ends is None:
                up = self._pump("up", client, upstream, connection, parser.take_rest())
                down = self._pump("down", upstream, client, connection, b"")
            else:
                browser, site = ends
                await browser.shake_hands()
                up, down = self._carry(browser, site, connection), self._carry(site, browser, connection)
            await self._relay(client, connection, up, down)
        finally:
            client.on_gone = None
            if upstream is not None:
                upstream.abort()
                self._wires.discard(upstream)
            self._black_box.close(connection)

    async def _tls_ends(
        self,
        client: BufferedConnection,
        upstream: BufferedConnection,
        connection: UpstreamConnection,
        parser: RequestParser,
    ) -> tuple[TlsEnd, TlsEnd] | None:
        """Return the ends of a tunnel that shows a client certificate, having agreed with the site; None for others.

        What is sent to the site for that is admitted like everything else that a tunnel carries.

        Raises:
            SiteTlsFailed: there is no agreement; TimeoutError if no answer came.
            _RefusedError: the gate or a limit does not let it go.
        """
        tls = self._tls_for(connection.host, connection.port)
        if tls is None:
            return None
        site = TlsEnd(
            upstream,
            tls.towards_site,
            site=connection.host,
            admit=lambda size: self._admit(connection, size, client),
            take=lambda size: self._take(connection, size),
        )
        await site.shake_hands(self._connect_timeout_s)
        return TlsEnd(client, tls.towards_browser, first=parser.take_rest()), site

    def _check_tunnels(self, connection: UpstreamConnection) -> None:
        if self._gate.refuses_tunnels():
            self._gate.refuse(connection)
            raise _RefusedError(503, "the commit gate is closed")

    async def _relay(
        self,
        client: BufferedConnection,
        connection: UpstreamConnection,
        *directions: Coroutine[None, None, bool],
    ) -> None:
        """Carry bytes both ways until both sides are done, or the gate refuses."""
        tasks = {asyncio.create_task(each) for each in directions}
        try:
            done, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if pending and all(task.result() for task in done):
                await self._wait_while_busy(connection, pending)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            client.abort() if connection.refused is not None else client.close()

    async def _wait_while_busy(self, connection: UpstreamConnection, pending: set[asyncio.Task[bool]]) -> None:
        while pending:
            before = connection.bytes_up + connection.bytes_down
            _, pending = await asyncio.wait(pending, timeout=HALF_CLOSED_TIMEOUT_S)
            if connection.bytes_up + connection.bytes_down == before:
                return

    async def _pump(
        self,
        direction: Literal["up", "down"],
        source: BufferedConnection,
        sink: BufferedConnection,
        connection: UpstreamConnection,
        first: bytes,
    ) -> bool:
        """Carry one direction; return whether it ended in peace."""
        data = first
        try:
            while True:
                if data and direction == "up":
                    connection.is_handshake |= not connection.bytes_up and data.startswith(_HANDSHAKE)
                    await self._admit(connection, len(data), source)
                elif data:
                    if connection.is_handshake and not connection.bytes_down and data.startswith(_SWITCHES):
                        self._black_box.answer(connection, SWITCHED)
                    self._take(connection, len(data))
                if data:
                    sink.write(data)
                    await sink.drain()
                data = await source.read()
                if not data:
                    sink.write_eof()
                    return True
        except (_RefusedError, ConnectionError):
            return False

    async def _carry(self, source: TlsEnd, sink: TlsEnd, connection: UpstreamConnection) -> bool:
        """Carry what is clear between two ends of TLS; return whether it ended in peace."""
        try:
            while data := await source.read():
                await sink.write(data)
            await sink.end()
            return True
        except SiteTlsFailed as error:
            connection.refused = f"{error!s:.200}"
            self._guard.note_unreached(connection.host, connection.port, error)
        except _RefusedError:
            pass
        except ConnectionError:
            return sink.is_site  # which may have said why before it closed
        return False

    # ---- both ---------------------------------------------------------------------------------------------------

    async def _admit(self, connection: UpstreamConnection, size: int, client: BufferedConnection) -> None:
        if size and (spent := self._guard.spent_up(size)) is not None:
            raise self._refused(connection, spent)
        if not await self._gate.admit(connection, size, is_gone=client.is_gone):
            raise _ClosedError

    def _take(self, connection: UpstreamConnection, size: int) -> None:
        """Count what came from the site.

        Raises:
            _RefusedError: it is more than the session may receive.
        """
        self._black_box.count_down(connection, size)
        if (spent := self._guard.spent_down()) is not None:
            raise self._refused(connection, spent)

    def _refused(self, connection: UpstreamConnection, verdict: Verdict) -> _RefusedError:
        """Remember that the policy refuses a connection, and say so."""
        self._guard.note(connection.host, connection.port, verdict)
        message = f"{connection.host}:{connection.port} is blocked by the rule {verdict.rule}: {verdict.reason}"
        connection.refused = f"{message:.200}"
        return _RefusedError(403, message)

    def _check_policy(self, connection: UpstreamConnection, address: str | None) -> None:
        host, port = connection.host, connection.port
        verdict = self._guard.decide(host, port, address)
        if verdict.is_allowed and address is not None and port in self.own_ports:
            parsed = ipaddress.ip_address(address.partition("%")[0])
            mapped = parsed.ipv4_mapped if isinstance(parsed, ipaddress.IPv6Address) else None
            is_here = (mapped or parsed).is_loopback or (mapped or parsed).is_unspecified
            if is_here or (self._is_for_another_host and port == self._port):
                verdict = _OWN_PORT
        if not verdict.is_allowed:
            raise self._refused(connection, verdict)

    async def _connect(self, connection: UpstreamConnection, host: str, port: int) -> BufferedConnection:
        """Resolve once, and connect to the first of these addresses that answers, by the host's upstream proxy if any.

        Raises:
            OSError: none answers, or the name has no address; TimeoutError when time ran out; UpstreamFailed if the
                upstream proxy is why.
            _RefusedError: the policy denies an address.
        """
        route = route_of(self._routes, host, port)
        addresses: list[str] = []
        try:
            async with asyncio.timeout(self._connect_timeout_s):
                addresses = await self._resolver(host, port)
                await self._guard.learn_own(port, self._resolver)
                for address in addresses:
                    self._check_policy(connection, address)
                return await first_that_answers(addresses, port, route)
        except TimeoutError:
            if route is None or not addresses:
                raise
            raise UpstreamFailed(route, "gave no connection in time") from None
