"""The own site, which serves the pages of all channels, and the forbidden one, which counts what reaches it."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from html import escape
from urllib.parse import parse_qs, unquote, urlsplit

from bench.leaks.channels import Channel

_TYPES = {"js": "text/javascript", "css": "text/css", "xsl": "text/xsl", "png": "image/png", "json": "application/json"}
_REASONS = {200: "OK", 301: "Moved", 302: "Found", 303: "See Other", 307: "Temporary", 308: "Permanent"}


@dataclass
class Forbidden:
    """Listens for TCP and UDP on a port for each channel, on every address of this machine."""

    ports: list[int]
    reached: Counter[int] = field(default_factory=Counter)
    """Connections and datagrams, by port."""

    def address(self, number: int) -> str:
        """Of the port of channel `number`, as pages name it."""
        return f"http://127.0.0.1:{self.ports[number]}"


class _Datagrams(asyncio.DatagramProtocol):
    def __init__(self, reached: Counter[int], port: int) -> None:
        self._reached = reached
        self._port = port

    def datagram_received(self, data: bytes, addr: object) -> None:
        del data, addr
        self._reached[self._port] += 1


@asynccontextmanager
async def forbidden(count: int) -> AsyncIterator[Forbidden]:
    """A forbidden site with `count` ports."""
    site = Forbidden([])
    servers: list[asyncio.Server] = []
    datagrams: list[asyncio.DatagramTransport] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        port = writer.get_extra_info("sockname")[1]
        site.reached[port] += 1
        try:
            async with asyncio.timeout(5):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            body = b"<title>Reached</title>"
            lines = [
                "HTTP/1.1 200 OK",
                f"Content-Type: {_type_of(head.split(' ')[1])}",
                f"Content-Length: {len(body)}",
                "Access-Control-Allow-Origin: *",
                "Access-Control-Allow-Headers: *",
                "Access-Control-Allow-Methods: *",
                "Connection: close",
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, IndexError):
            pass  # it is counted already
        finally:
            writer.close()

    loop = asyncio.get_running_loop()
    try:
        while len(site.ports) < count:
            server = await asyncio.start_server(answer, "127.0.0.1", 0)
            port = server.sockets[0].getsockname()[1]
            servers.append(server)
            try:
                transport, _ = await loop.create_datagram_endpoint(
                    lambda port=port: _Datagrams(site.reached, port),  # type: ignore[misc]  # bound here
                    ("127.0.0.1", port),
                )
            except OSError:  # somebody has the UDP port: another one
                continue
            datagrams.append(transport)
            site.ports.append(port)
        yield site
    finally:
        for transport in datagrams:
            transport.close()
        for server in servers:
            server.close()


def _type_of(target: str) -> str:
    return _TYPES.get(urlsplit(target).path.rpartition(".")[2], "text/html")


@dataclass
class OwnSite:
    """Serves `/c/NUMBER`, the page of a channel, and what these pages need of their own site."""

    channels: Sequence[Channel]
    forbidden: Sequence[str]
    """The address that the page of each channel is about."""
    port: int = 0

    def url(self, number: int) -> str:
        """What is opened for a channel."""
        path = self.channels[number].path
        return f"http://127.0.0.1:{self.port}" + (f"{path}?to={self.forbidden[number]}/" if path else f"/c/{number}")

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            status, kind, headers, body = self._answer(head.split(" ")[1])
            lines = [
                f"HTTP/1.1 {status} {_REASONS[status]}",
                f"Content-Type: {kind}",
                f"Content-Length: {len(body)}",
                "Supports-Loading-Mode: fenced-frame",
                "Connection: close",
                *headers,
            ]
            writer.write("\r\n".join([*lines, "", ""]).encode() + body)
            await writer.drain()
        except (OSError, asyncio.IncompleteReadError, IndexError):
            pass  # the browser thought better of it
        finally:
            writer.close()

    def _answer(self, target: str) -> tuple[int, str, list[str], bytes]:
        parts = urlsplit(target)
        asked = parse_qs(parts.query)
        # As written, so that hostile addresses get into the header as they are; a header has room for one line.
        to = unquote(target.partition("to=")[2]).replace("\r", "").replace("\n", "")
        match parts.path.split("/")[1:]:
            case ["redirect", code]:
                return int(code), "text/html", [f"Location: {to}"], b""
            case ["c", number]:
                return self._page(int(number))
            case ["worker.js"]:
                return 200, "text/javascript", [], asked.get("source", [""])[0].encode()
            case ["service.js"]:
                source = asked.get("source", [""])[0]
                return 200, "text/javascript", ["Service-Worker-Allowed: /"], f"skipWaiting(); {source}".encode()
            case ["frameset"]:
                return 200, "text/html", [], f'<frameset><frame src="{escape(to)}"></frameset>'.encode()
            case _:
                return 200, "text/html", [], b"<title>Own</title><link rel=icon href=data:,>"

    def _page(self, number: int) -> tuple[int, str, list[str], bytes]:
        channel, address = self.channels[number], self.forbidden[number]

        def filled(text: str) -> str:
            return (
                text.replace("@authority", address.partition("//")[2])
                .replace("@/", f"{address}/")
                .replace("stun:@", f"stun:{address}")
                .replace("turn:@", f"turn:{address}")
                .replace("'@'", f"'{address}'")
            )

        headers = [filled(each) for each in channel.headers]
        if channel.kind == "text/xml":
            return 200, channel.kind, headers, filled(channel.html).encode()
        icon = "" if "icon" in channel.html else "<link rel=icon href=data:,>"
        script = (
            f"<script>addEventListener('load', () => {{ {filled(channel.script)} }})</script>" if channel.script else ""
        )
        body = f"<!doctype html><title>Own</title>{icon}{filled(channel.html)}{script}"
        return 200, "text/html", headers, body.encode()


@asynccontextmanager
async def own(channels: Sequence[Channel], addresses: Sequence[str]) -> AsyncIterator[OwnSite]:
    """The own site of these channels."""
    site = OwnSite(channels, addresses)
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0)
    site.port = server.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        server.close()
