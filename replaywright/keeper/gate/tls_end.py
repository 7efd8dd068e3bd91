"""One end of a tunnel whose TLS ends in the gate: `ssl` over bytes that the gate admits and counts."""

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from typing import Final, NamedTuple, TypeVar

from replaywright.keeper.gate.wire import BufferedConnection

_PIECE_BYTES: Final = 128 * 1024

ResultT = TypeVar("ResultT")


class TlsContexts(NamedTuple):
    """TLS of a tunnel's two ends."""

    towards_browser: ssl.SSLContext
    towards_site: ssl.SSLContext


class SiteTlsFailed(OSError):
    """TLS with the site failed. Before the handshake is over, nothing of a request was sent."""


class TlsEnd:
    """One end of a tunnel whose TLS ends here: clear bytes are read from it and written to it."""

    def __init__(
        self,
        wire: BufferedConnection,
        context: ssl.SSLContext,
        *,
        site: str = "",
        first: bytes = b"",
        admit: Callable[[int], Awaitable[None]] | None = None,
        take: Callable[[int], None] | None = None,
    ) -> None:
        """Make an end; shake hands before anything else.

        Args:
            wire: Connection to the peer.
            context: Certificate and trust of this end.
            site: Name that the peer's certificate must have; empty for the browser's end.
            first: Bytes of the peer that came already.
            admit: Awaited for so many bytes before they are sent.
            take: Told of so many bytes that came.
        """
        self._wire = wire
        self._site = site
        self._admit = admit
        self._take = take
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._incoming.write(first)
        name = site.strip("[]").rstrip(".") or None
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=not site, server_hostname=name)
        self._sending = asyncio.Lock()
        self._has_received = asyncio.Event()
        self._is_unanswered: bool | None = None
        """Something was sent to the peer, which has sent nothing since the handshake; None before."""

    @property
    def is_site(self) -> bool:
        """It is the end towards the site, and not the browser's."""
        return bool(self._site)

    async def shake_hands(self, patience_s: float | None = None) -> None:
        """Do the handshake, waiting so long for each answer.

        Raises:
            SiteTlsFailed: the site's certificate cannot be verified, or it refuses.
            ConnectionError: the browser refuses, or is gone.
            TimeoutError: no answer came.
        """
        try:
            await self._finished(self._tls.do_handshake, patience_s)
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError) as error:
            raise self._failure(error) from error

    async def read(self) -> bytes:
        """Return what has come, waiting for something; empty at the end. Failures are those of `shake_hands`."""
        try:
            data = await self._finished(lambda: self._tls.read(_PIECE_BYTES))
        except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
            if self.is_site and self._is_unanswered:
                raise SiteTlsFailed("it ended the connection when it had been shown the client certificate") from None
            return b""
        self._is_unanswered = False
        return data

    async def write(self, data: bytes) -> None:
        """Send bytes. Failures are those of `shake_hands`."""
        if self._is_unanswered is None:
            self._is_unanswered = True
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self._tls.write(rest) :]
            except ssl.SSLWantReadError:  # the site asks for another handshake, which is done where its bytes are read
                await self._has_received.wait()
            except ssl.SSLError as error:
                raise self._failure(error) from error
            await self._send()

    async def end(self) -> None:
        """Close this side. A site is told no more than by a browser: nothing."""
        if not self.is_site:
            with contextlib.suppress(ssl.SSLError):
                self._tls.unwrap()
            await self._send()
        self._wire.write_eof()

    async def _finished(self, call: Callable[[], ResultT], patience_s: float | None = None) -> ResultT:
        while True:
            try:
                result = call()
            except ssl.SSLWantReadError:
                await self._send()
                async with asyncio.timeout(patience_s):
                    await self._receive()
            except (ssl.SSLZeroReturnError, ssl.SSLEOFError):
                raise
            except ssl.SSLError as error:
                raise self._failure(error) from error
            else:
                await self._send()
                return result

    async def _receive(self) -> None:
        if data := await self._wire.read():
            self._incoming.write(data)
        else:
            self._incoming.write_eof()
        if self._take is not None:
            self._take(len(data))
        self._has_received.set()
        self._has_received.clear()

    async def _send(self) -> None:
        if not self._outgoing.pending:
            return
        async with self._sending:
            data = self._outgoing.read()
            if data and self._admit is not None:
                await self._admit(len(data))
            self._wire.write(data)
            await self._wire.drain()

    def _failure(self, error: ssl.SSLError) -> OSError:
        if not self.is_site:
            return ConnectionResetError("the browser ended TLS")
        if isinstance(error, ssl.SSLCertVerificationError):
            return SiteTlsFailed(f"its certificate cannot be verified ({error.verify_message}), so nothing was sent")
        if isinstance(error, ssl.SSLEOFError | ssl.SSLZeroReturnError):
            return SiteTlsFailed("it ended the connection while TLS with the client certificate was agreed on")
        reason = (error.reason or str(error)).lower().replace("_", " ")
        return SiteTlsFailed(f"TLS with the client certificate failed: {reason:.100}")
