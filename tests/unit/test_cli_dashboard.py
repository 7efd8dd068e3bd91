"""What `replaywright dashboard` does around its pages: where it listens, and how the address gets to the browser."""

import socket
import stat
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
import typer

from replaywright.cli.local import dashboard
from replaywright.cli.local.listening import listening
from replaywright.domain.skill.cache_statistics import cache_statistics
from replaywright.domain.skill.entries import EntryStatus
from replaywright.errors import InputInvalid
from tests.unit.dashboard import entry


def test_it_listens_on_loopback_only_and_from_the_beginning() -> None:
    with listening(0) as listener:
        address, port = listener.getsockname()
        socket.create_connection((address, port)).close()

    assert address == "127.0.0.1"
    assert port > 0


def test_a_port_that_is_taken_is_named_with_what_helps() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        with (
            pytest.raises(InputInvalid, match=rf"--port {port}: .*; without --port a free one is taken"),
            listening(port),
        ):
            pass


def test_the_browser_is_given_the_address_in_a_file_of_its_owner(monkeypatch: pytest.MonkeyPatch) -> None:
    launched: list[str] = []
    monkeypatch.setattr(typer, "launch", launched.append)

    with dashboard._opened('http://127.0.0.1:1/x/?token=abc&"'):
        file = Path(unquote(urlsplit(launched[0]).path))
        text, mode = file.read_text(), stat.S_IMODE(file.stat().st_mode)

    assert "token" not in launched[0]
    assert 'content="0;url=http://127.0.0.1:1/x/?token=abc&amp;&quot;"' in text
    assert mode == 0o600
    assert not file.exists()


def test_the_cache_is_counted_by_origin_and_in_all() -> None:
    entries = [
        entry("a", "https://shop.example/", hits=6, heals=1, misses=3),
        entry("b", "https://shop.example:443/orders/:id", hits=0, heals=0, misses=0, status=EntryStatus.SUSPECT),
        entry("c", "", hits=1, heals=0, misses=0),
    ]
    held = [entry("a", "https://shop.example/", status=EntryStatus.CANDIDATE, hold=True, hits=999)]

    found = cache_statistics(entries, held)

    assert [one.site for one in found.sites] == ["", "https://shop.example"]
    assert (found.total.entries, found.total.versions, found.total.hits) == (3, 6, 7)
    assert found.total.hit_rate == pytest.approx(8 / 11)
    shop = found.sites[1].counts
    assert (shop.entries, shop.hits, shop.suspects, shop.held, shop.hit_rate) == (2, 6, 1, 1, 0.7)
    assert {one.content_key[0] for one in found.attention} == {"a", "b"}


def test_a_cache_that_was_never_asked_has_no_rate() -> None:
    assert cache_statistics([], []).total.hit_rate is None
