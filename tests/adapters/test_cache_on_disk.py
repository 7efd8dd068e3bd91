"""The search for secrets reads what a real Chromium keeps in its cache, however the site packed it."""

import asyncio
import gzip
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import brotli  # type: ignore[import-untyped]  # it has no types
import pytest
from playwright.async_api import async_playwright

from tests.adapters.chromium import Chromium
from tests.e2e.plain_site import Answer, Asked, serving
from tests.leaks import Leak, files, leaks

VALUE = "Zq7pw-Cached-41-value"
PAGE = f"<!doctype html><title>A page</title><p>{VALUE}".encode()
PACKED = {"gzip": gzip.compress(PAGE), "br": brotli.compress(PAGE)}
LIMIT_S = 60.0


@contextmanager
def served() -> Iterator[str]:
    """A site with one page, packed as its path says."""

    def answer(asked: Asked) -> Answer:
        encoding = asked.path.strip("/")
        if encoding not in PACKED:
            return Answer(status=404)
        return Answer(PACKED[encoding], headers={"cache-control": "max-age=3600", "content-encoding": encoding})

    with serving(answer) as url:
        yield url


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
