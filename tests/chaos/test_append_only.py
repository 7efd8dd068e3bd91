"""An append-only file that lost its end: the server loads what was written before, and has forgotten the rest."""

import random
import time
from pathlib import Path

import pytest

from bench.chaos.append_only import commands_since, cut_last_second
from replaywright.stack.processes import free_port
from replaywright.stack.redis import RedisServer, provide_redis, start_redis
from tests.raw_redis import Reply, ask_redis

WRITTEN = b"#TS:100\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n#TS:101\r\n*1\r\n$4\r\nPING\r\n*1\r\n$6\r\nE\r\nXEC\r\n"


def test_the_commands_of_a_second_and_of_later_ones_are_found_by_their_marks() -> None:
    first, second, third = WRITTEN.index(b"*2"), WRITTEN.index(b"*1"), WRITTEN.rindex(b"*1")

    assert commands_since(WRITTEN, 100) == [first, second, third]
    assert commands_since(WRITTEN, 101) == [second, third]
    assert commands_since(WRITTEN, 102) == []


async def started(folder: Path, port: int) -> RedisServer:
    server = await start_redis(provide_redis().path, folder=folder, log=folder / "redis.log", port=port)
    await ask_redis(server.url, ("CONFIG", "SET", "aof-timestamp-enabled", "yes"))
    return server


async def found_after_a_cut(folder: Path, *, seconds_later: int, seed: int) -> tuple[list[Reply], int]:
    """A key, and two that were set in one transaction, after the server was killed; the bytes that were cut off."""
    port = free_port()
    server = await started(folder, port)
    await ask_redis(server.url, ("SET", "a", "1"), ("MULTI",), ("SET", "b", "1"), ("SET", "c", "1"), ("EXEC",))
    killed_at = int(time.time()) + seconds_later
    server.child.kill()
    await server.child.ended_within(10)

    lost = cut_last_second(folder, killed_at, random.Random(seed))
    server = await started(folder, port)
    found = await ask_redis(server.url, ("GET", "a"), ("GET", "b"), ("GET", "c"))
    await server.child.stop()
    return found, lost


@pytest.mark.parametrize("seed", range(4))
async def test_a_killed_server_comes_back_without_the_end_of_what_it_wrote_in_its_last_second(
    tmp_path: Path, seed: int
) -> None:
    found, lost = await found_after_a_cut(tmp_path, seconds_later=0, seed=seed)

    assert found in ([None, None, None], ["1", None, None])
    assert lost > 0


async def test_what_it_wrote_before_its_last_second_is_kept(tmp_path: Path) -> None:
    found, lost = await found_after_a_cut(tmp_path, seconds_later=60, seed=1)

    assert (found, lost) == (["1", "1", "1"], 0)
