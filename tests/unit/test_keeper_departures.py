"""The black box on disk: its limits, and what is done when it cannot be written."""

import asyncio
import os
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from replaywright.keeper.gate.black_box import BlackBox, UpstreamConnection
from replaywright.keeper.gate.dead_keepers import left_behind
from replaywright.keeper.gate.departures import BeginLine, DepartureLog, departures_path, read_lines
from replaywright.keeper.gate.gate import SENT_REMEMBERED, UNRECORDED, Gate
from replaywright.keeper.host.identity import ProcessIdentity, boot_id, host_name

GONE = BeginLine(session_id="s1", host=host_name(), boot_id=boot_id(), keeper=ProcessIdentity(pid=1, start_ticks=-1))
"""Header of a keeper of this host that runs no more."""


def begun(tmp_path: Path, *, limit_bytes: int = 1024 * 1024) -> tuple[Gate, BlackBox, Path]:
    path = departures_path(tmp_path / "sessions", "s1")
    log = DepartureLog(path, limit_bytes=limit_bytes)
    log.begin(GONE)
    black_box = BlackBox(departures=log)
    return Gate(black_box), black_box, path


def post(black_box: BlackBox, *, gated: bool = True) -> UpstreamConnection:
    return black_box.open("http", method="POST", host="site.example", port=80, path="/send", gated=gated)


async def test_the_line_of_a_connection_is_on_the_disk_before_its_bytes_are_let_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, black_box, path = begun(tmp_path)
    gate.arm("op", 1, 5000)
    gate.permit("op")
    connection = post(black_box)
    at_the_disk: list[tuple[bool, int]] = []
    synced = os.fsync

    def watched(fd: int) -> None:
        at_the_disk.append(("leaves" in path.read_text(), connection.bytes_up))
        synced(fd)

    monkeypatch.setattr(os, "fsync", watched)
    passes = [await gate.admit(connection, 10) for _ in range(2)]

    assert passes == [True, True]
    assert at_the_disk == [(True, 0)]
    assert (connection.bytes_up, gate.operations("op")[0].bytes_up) == (20, 20)


async def test_what_is_cut_while_its_line_is_written_does_not_leave(tmp_path: Path) -> None:
    gate, black_box, _ = begun(tmp_path)
    gate.arm("op", 1, 5000)
    gate.permit("op")
    connection = post(black_box)

    passing = asyncio.create_task(gate.admit(connection, 10))
    await asyncio.sleep(0)
    gate.cut("op")

    assert not await passing
    assert connection.bytes_up == 0


async def test_a_gate_that_is_opened_while_a_line_is_written_has_counted_the_bytes(tmp_path: Path) -> None:
    gate, black_box, _ = begun(tmp_path)
    gate.arm("op", 1, 5000)
    gate.permit("op")
    connection = post(black_box)

    passing = asyncio.create_task(gate.admit(connection, 10))
    await asyncio.sleep(0)
    told = gate.disarm("op")

    assert await passing
    assert (told.bytes_up, len(told.sent), connection.bytes_up) == (10, 1, 10)


async def test_a_full_file_says_so_and_what_it_does_not_hold_is_not_known(tmp_path: Path) -> None:
    gate, black_box, path = begun(tmp_path, limit_bytes=700)
    sessions = tmp_path / "sessions"
    for op_id in ("first", "second", "third"):
        gate.arm(op_id, 1, 5000)
        gate.permit(op_id)
        assert await gate.admit(post(black_box), 10)
        gate.disarm(op_id)
    black_box.departures.close(deletes=False)

    assert [line.what for line in read_lines(path)][-1] == "full"
    assert path.stat().st_size < 1000
    first, third, never = (left_behind(sessions, "s1", op_id, 1) for op_id in ("first", "third", "never"))
    assert first.seen is not None
    assert first.seen.in_flight
    assert (third.known, never.known) == (False, False)


async def test_a_file_that_cannot_be_written_is_deleted_and_the_bytes_leave(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, black_box, path = begun(tmp_path)
    gate.arm("op", 1, 5000)
    gate.permit("op")

    def full_disk(_fd: int, data: bytes) -> int:
        return len(data) // 2

    monkeypatch.setattr(os, "write", full_disk)

    assert await gate.admit(post(black_box), 10)
    assert not path.exists()
    assert not left_behind(tmp_path / "sessions", "s1", "op", 1).known


async def test_nothing_leaves_when_its_line_can_neither_be_written_nor_the_file_be_deleted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate, black_box, _ = begun(tmp_path)
    gate.arm("op", 1, 5000)
    gate.permit("op")
    connection = post(black_box)

    def read_only(*_given: object, **_more: object) -> int:
        raise OSError(30, "read-only file system")

    monkeypatch.setattr(os, "write", read_only)
    monkeypatch.setattr(Path, "unlink", read_only)

    assert not await gate.admit(connection, 10)
    assert (connection.bytes_up, gate.operations("op")[0].reason) == (0, UNRECORDED)


async def test_of_very_many_requests_those_without_an_answer_are_listed() -> None:
    black_box = BlackBox()
    gate = Gate(black_box)
    gate.arm("op", 1, 5000, hold_safe=True)
    gate.permit("op")
    safe, answered, mute = ([post(black_box, gated=gated) for _ in range(40)] for gated in (False, True, True))
    for connection in (*safe, *answered):
        assert await gate.admit(connection, 1)
        black_box.answer(connection, 200)
    for connection in mute:
        assert await gate.admit(connection, 1)
    told = gate.operations("op")[0]
    many = [post(black_box) for _ in range(30)]
    for connection in many:
        assert await gate.admit(connection, 1)
    more = gate.operations("op")[0]

    paths = [urlsplit(sent.url).path for sent in told.sent]
    assert len(paths) == SENT_REMEMBERED
    assert set(paths) == {connection.path for connection in (*answered[-24:], *mute)}
    assert told.unlisted == 0
    assert (len(more.sent), more.unlisted) == (SENT_REMEMBERED, len(mute) + len(many) - SENT_REMEMBERED)
