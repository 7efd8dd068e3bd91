"""A site that judges what has left a browser: plain, over TLS with HTTP/1.1, and over TLS with HTTP/2."""

import asyncio
import base64
import hashlib
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

PAGE = b"""<!doctype html><title>Ready</title><link rel=icon href=data:,>
<form id=form method=post action=/form><input name=who value=Ada></form>
<form id=moved method=post action=/moved><input name=who value=Ada></form>
<form id=download method=post action=/download><input name=who value=Ada></form>
<form id=popup method=post action=/popup target=_blank><input name=who value=Ada></form>
<form id=framed method=post action=/framed target=frame><input name=who value=Ada></form>
<iframe name=frame></iframe>"""
WORKER = b"""onmessage = e => fetch(e.data, {method: 'POST', body: 'x'});"""
SHARED = b"""onconnect = e => { e.ports[0].onmessage = m => fetch(m.data, {method: 'POST', body: 'x'}); };"""
SERVICE = b"""oninstall = () => skipWaiting(); onactivate = e => e.waitUntil(clients.claim());
onmessage = e => e.waitUntil(fetch(e.data, {method: 'POST', body: 'x'}));"""
FILES = {
    "/": (b"text/html", PAGE),
    "/worker.js": (b"text/javascript", WORKER),
    "/shared.js": (b"text/javascript", SHARED),
    "/service.js": (b"text/javascript", SERVICE),
}
_GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


@dataclass
class GateSite:
    """Serves on one port; notes every request that may change something, and every message of a WebSocket."""

    scheme: str
    arrived: list[str] = field(default_factory=list)
    """Paths of POST requests, `GET /buy`, `ws <text>` for messages; over HTTP/2 only `h2`."""
    port: int = 0

    @property
    def url(self) -> str:
        return f"{self.scheme.removesuffix('-h2')}://127.0.0.1:{self.port}/"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if self.scheme.endswith("-h2"):
                await self._serve_http2(reader, writer)
            else:
                while await self._serve_http1(reader, writer):
                    pass
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _serve_http1(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = await reader.readuntil(b"\r\n\r\n")
        method, target, _ = head.decode("latin-1").split(" ", 2)
        headers = {
            name.strip().lower(): value.strip()
            for name, _, value in (line.partition(b":") for line in head.split(b"\r\n")[1:])
        }
        await reader.readexactly(int(headers.get(b"content-length", b"0")))
        if headers.get(b"upgrade") == b"websocket":
            accept = base64.b64encode(hashlib.sha1(headers[b"sec-websocket-key"] + _GUID).digest())
            writer.write(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n")
            writer.write(b"Sec-WebSocket-Accept: " + accept + b"\r\n\r\n")
            while True:
                await self._hear_message(reader)
        if method == "POST":
            self.arrived.append(target)
        elif target == "/buy":
            self.arrived.append("GET /buy")
        kind, body = FILES.get(target, (b"text/html", b"<title>Sent</title>"))
        extra = {
            "/moved": b"Location: /moved-here\r\n",
            "/download": b"Content-Disposition: attachment; filename=a.txt\r\n",
        }.get(target, b"")
        status = b"307 Moved" if target == "/moved" else b"200 OK"
        writer.write(
            b"HTTP/1.1 %s\r\n%sContent-Type: %s\r\nContent-Length: %d\r\n\r\n" % (status, extra, kind, len(body)) + body
        )
        await writer.drain()
        return True

    async def _hear_message(self, reader: asyncio.StreamReader) -> None:
        kind, size = await reader.readexactly(2)
        mask, payload = await reader.readexactly(4), await reader.readexactly(size & 0x7F)
        if kind & 0x0F == 1:
            self.arrived.append("ws " + bytes(b ^ mask[i % 4] for i, b in enumerate(payload)).decode())

    async def _serve_http2(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """As much of RFC 9113 as a browser wants; the method is the first field of a request, in one byte."""
        await reader.readexactly(24)
        writer.write(_frame(4, 0, 0, b""))
        while True:
            head = await reader.readexactly(9)
            size, kind, flags, stream = int.from_bytes(head[:3]), head[3], head[4], int.from_bytes(head[5:])
            payload = await reader.readexactly(size)
            if kind == 4 and not flags & 1:
                writer.write(_frame(4, 1, 0, b""))
            elif kind == 6 and not flags & 1:
                writer.write(_frame(6, 1, 0, payload))
            elif kind == 1:
                block = payload[5:] if flags & 0x20 else payload
                if block[0] == 0x83:
                    self.arrived.append("h2")
                body = b"<title>Sent</title>" if block[0] == 0x83 else PAGE
                fields = b"\x88\x0f\x10\x09text/html"  # :status 200, content-type
                writer.write(_frame(1, 4, stream, fields) + _frame(0, 1, stream, body))
            await writer.drain()


def _frame(kind: int, flags: int, stream: int, payload: bytes) -> bytes:
    return len(payload).to_bytes(3) + bytes([kind, flags]) + stream.to_bytes(4) + payload


@dataclass(frozen=True)
class Authority:
    """A certificate for 127.0.0.1, signed by an authority of the test's own."""

    chain: Path
    key: Path
    fingerprint: str
    """Of the leaf's public key, as `--ignore-certificate-errors-spki-list` wants it."""

    def context(self, *protocols: str) -> ssl.SSLContext:
        """For a server that speaks these protocols (ALPN)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(self.chain, self.key)
        context.set_alpn_protocols(list(protocols))
        return context


def authority(folder: Path) -> Authority:
    """Make the authority and the certificate."""
    root_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    root_name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Test authority")])
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = datetime.now(UTC)

    def signed(
        subject: x509.Name, public: ec.EllipticCurvePublicKey, extension: x509.ExtensionType
    ) -> x509.Certificate:
        builder = x509.CertificateBuilder().subject_name(subject).issuer_name(root_name).public_key(public)
        builder = builder.serial_number(x509.random_serial_number()).add_extension(extension, critical=False)
        builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=7))
        return builder.sign(root_key, hashes.SHA256())

    root = signed(root_name, root_key.public_key(), x509.BasicConstraints(ca=True, path_length=0))
    leaf = signed(name, key.public_key(), x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]))
    pem = serialization.Encoding.PEM
    chain, key_file = folder / "chain.pem", folder / "key.pem"
    chain.write_bytes(leaf.public_bytes(pem) + root.public_bytes(pem))
    plain = serialization.NoEncryption()
    key_file.write_bytes(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, plain))
    info = key.public_key().public_bytes(serialization.Encoding.DER, serialization.PublicFormat.SubjectPublicKeyInfo)
    return Authority(chain, key_file, base64.b64encode(hashlib.sha256(info).digest()).decode())


@asynccontextmanager
async def serving(scheme: str, certificates: Authority) -> AsyncIterator[GateSite]:
    """A site with `http`, `https` (HTTP/1.1) or `https-h2`."""
    site = GateSite(scheme)
    context = {
        "http": None,
        "https": certificates.context("http/1.1"),
        "https-h2": certificates.context("h2"),
    }[scheme]
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
