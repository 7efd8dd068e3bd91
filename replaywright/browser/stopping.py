"""Stopping what pages load, without attaching to them: nobody can attach while a navigation waits for its answer.

A page that is stopped before its request has left stays as it is, with all that was entered into it. Playwright wants
more of a page than such a page can give, so this speaks the protocol over a connection of its own.
"""

import asyncio
import base64
import json
import logging
import secrets
from urllib.parse import urlsplit

import httpx

_log = logging.getLogger("replaywright.browser")

TIMEOUT_S = 2.0
"""For one tab; Chromium itself answers, not the page."""
_TEXT = 0x81
_MASKED = 0x80


async def stop_loading(endpoint: str) -> bool:
    """Stop what all tabs at this DevTools endpoint are loading; whether every tab has confirmed it."""
    async with httpx.AsyncClient(base_url=endpoint, timeout=TIMEOUT_S, trust_env=False) as http:
        try:
            tabs = [tab["id"] for tab in (await http.get("/json/list")).json() if tab["type"] == "page"]
        except (httpx.HTTPError, ValueError, KeyError) as exc:
            _log.warning("the tabs that load something cannot be listed: %s", exc)
            return False
    return all(await asyncio.gather(*(_stop(endpoint, tab) for tab in tabs)))


async def _stop(endpoint: str, tab: str) -> bool:
    """Stop one tab."""
    address = urlsplit(endpoint)
    writer: asyncio.StreamWriter | None = None
    try:
        async with asyncio.timeout(TIMEOUT_S):
            reader, writer = await asyncio.open_connection(address.hostname, address.port)
            key = base64.b64encode(secrets.token_bytes(16)).decode()
            writer.write(
                f"GET /devtools/page/{tab} HTTP/1.1\r\nHost: {address.netloc}\r\nUpgrade: websocket\r\n"
                f"Connection: Upgrade\r\nSec-WebSocket-Key: {key}\r\nSec-WebSocket-Version: 13\r\n\r\n".encode()
            )
            if b" 101 " not in (await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0]:
                return False
            writer.write(_frame(json.dumps({"id": 1, "method": "Page.stopLoading"}).encode()))
            while json.loads(await _message(reader)).get("id") != 1:
                pass
            return True
    except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError) as exc:
        _log.warning("tab %s could not be stopped: %r", tab, exc)
        return False
    finally:
        if writer is not None:
            writer.close()


def _frame(payload: bytes) -> bytes:
    """One text of less than 126 bytes, masked as a client has to (RFC 6455, section 5.2)."""
    mask = secrets.token_bytes(4)
    return bytes([_TEXT, _MASKED | len(payload)]) + mask + bytes(b ^ mask[i % 4] for i, b in enumerate(payload))


async def _message(reader: asyncio.StreamReader) -> bytes:
    """The payload of the next frame."""
    _, size = await reader.readexactly(2)
    if size == 126:
        size = int.from_bytes(await reader.readexactly(2))
    elif size == 127:
        size = int.from_bytes(await reader.readexactly(8))
    return await reader.readexactly(size)
