"""What a page can reach that it must not: `make leaks` as tests, with a real Chromium behind a real keeper."""

from pathlib import Path

import pytest

from bench.leaks.channels import CHANNELS
from bench.leaks.confused import measure_hostile
from bench.leaks.matrix import measure
from bench.leaks.urls import hostile

SHORT = (
    "navigation redirected 302",
    "fetch POST redirected 307",
    "form POST",
    "iframe",
    "img",
    "style @import",
    "script",
    "fetch",
    "sendBeacon",
    "WebSocket",
    "worker's fetch",
    "shared worker's fetch",
    "service worker's fetch",
    "prefetch",
    "speculation rules: prefetch",
    "WebRTC over STUN",
)
"""Of each kind, those that other ways of refusing them are known to miss."""


async def test_the_short_matrix_asks_for_the_forbidden_site_and_never_gets_there(chromium_path: Path) -> None:
    short = [channel for channel in CHANNELS if channel.name in SHORT]

    denied = await measure(chromium_path, short, patience_s=2)

    assert len(short) == len(SHORT)
    assert [name for name, seen in denied.items() if seen.reached] == []
    assert sum(bool(seen.asked) for seen in denied.values()) >= 10


@pytest.mark.long
@pytest.mark.parametrize("host", ["127.0.0.1", "forbidden.localhost"])
async def test_no_channel_reaches_the_forbidden_site(chromium_path: Path, host: str) -> None:
    denied = await measure(chromium_path, CHANNELS, host=host, patience_s=3)

    assert [name for name, seen in denied.items() if seen.reached] == []
    assert sum(bool(seen.asked) for seen in denied.values()) >= 80


@pytest.mark.long
async def test_without_a_policy_most_channels_reach_it(chromium_path: Path) -> None:
    control = await measure(chromium_path, CHANNELS, allow_all=True, patience_s=3)

    assert sum(bool(seen.reached) for seen in control.values()) >= 80


@pytest.mark.long
async def test_no_hostile_address_leads_inside(chromium_path: Path) -> None:
    seen = await measure_hostile(chromium_path)

    assert seen.urls >= 200
    assert (seen.reached_by_tool, seen.reached_by_page) == (0, 0)
    assert seen.refused >= 60
    assert seen.asked >= 100


@pytest.mark.long
async def test_without_a_policy_hostile_addresses_lead_inside(chromium_path: Path) -> None:
    seen = await measure_hostile(chromium_path, allow_all=True, every=3)

    assert seen.reached_by_page >= 20


def test_there_are_as_many_as_are_promised() -> None:
    assert len({channel.name for channel in CHANNELS}) == len(CHANNELS) >= 41
    assert len(set(hostile(1000, 2000))) >= 200
