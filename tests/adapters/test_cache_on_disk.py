"""The search for secrets reads what a real Chromium keeps in its cache, however the site packed it."""

import asyncio
import gzip
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from playwright.async_api import async_playwright

from tests.adapters.chromium import Chromium
from tests.leaks import Leak, files, leaks

VALUE = "Zq7pw-Cached-41-value"
PAGE = f"<!doctype html><title>A page</title><p>{VALUE}".encode()
PACKED = {"gzip": gzip.compress(PAGE), "br": brotli.compress(PAGE)}
LIMIT_S = 60.0


@contextmanager
def served() -> Iterator[str]:
    """A site with one page, packed as its path says."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            encoding = self.path.strip("/")
            body = PACKED.get(encoding, b"")
            self.send_response(200 if body else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Cache-Control", "max-age=3600")
            if body:
                self.send_header("Content-Encoding", encoding)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Nothing is told."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.mark.parametrize(("encoding", "form"), [("gzip", "gzip"), ("br", "brotli")])
async def test_a_page_in_chromiums_cache_is_searched(
    chromium_path: Path, tmp_path: Path, encoding: str, form: str
) -> None:
    def found() -> list[Leak]:
        cached = (path for path in tmp_path.rglob("Cache_Data"))
        return [leak for folder in cached for leak in leaks(files(folder), {"PAGE": VALUE})]

    with served() as site:
        async with async_playwright() as playwright, Chromium(chromium_path, tmp_path / "of") as endpoint:
            browser = await playwright.chromium.connect_over_cdp(endpoint)
            page = browser.contexts[0].pages[0]
            await page.goto(f"{site}/{encoding}")
            assert VALUE in await page.inner_text("p")
            deadline = time.monotonic() + LIMIT_S
            while not (there := found()):
                assert time.monotonic() < deadline, "the page does not come into the cache"
                await asyncio.sleep(0.1)

    assert {leak.form for leak in there} == {f"clear, in {form}"}
