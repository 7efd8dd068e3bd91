"""The eleven faults. Each meets a worker that has just stopped itself at a kill point, and ends what it began."""

import asyncio
import contextlib
import os
import random
import signal
import time
from collections.abc import Callable, Coroutine
from typing import Any

from bench.chaos.append_only import cut_last_second
from bench.chaos.lane import Lane, Served
from tests.raw_redis import ask_redis

ZOMBIE_S = 20.0
PARTITION_S = 12.0
"""Longer than a heartbeat and a take-over; shorter than a lease, so that the other worker finds a browser to adopt."""
AWAY_S = (1.0, 4.0)
"""How long a killed server stays away, at least and at most."""
HUNG_S = (4.0, 8.0)
_ENDED_S = 10

Strike = Callable[[Lane, Served, random.Random], Coroutine[Any, Any, None]]
"""Do it, let the worker go on if that belongs to it, and return when all is there again as it was."""


async def _worker(_lane: Lane, worker: Served, _drawn: random.Random) -> None:
    worker.kill(group=False)


async def _worker_group(_lane: Lane, worker: Served, _drawn: random.Random) -> None:
    worker.kill(group=True)


async def _keeper(lane: Lane, worker: Served, _drawn: random.Random) -> None:
    lane.kill_browsers()
    worker.thaw()


async def _redis_flushed(lane: Lane, worker: Served, _drawn: random.Random) -> None:
    await ask_redis(lane.redis.url, ("FLUSHALL",), ("SCRIPT", "FLUSH"))
    worker.thaw()


async def _redis_killed(lane: Lane, worker: Served, drawn: random.Random) -> None:
    lane.redis.child.kill()
    await lane.redis.child.ended_within(_ENDED_S)
    worker.thaw()
    await asyncio.sleep(drawn.uniform(*AWAY_S))
    await lane.start_redis()


async def _redis_hung(lane: Lane, worker: Served, drawn: random.Random) -> None:
    os.killpg(lane.redis.child.pid, signal.SIGSTOP)
    worker.thaw()
    await asyncio.sleep(drawn.uniform(*HUNG_S))
    os.killpg(lane.redis.child.pid, signal.SIGCONT)


async def _zombie(_lane: Lane, worker: Served, _drawn: random.Random) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(worker.child.pid, signal.SIGSTOP)  # what it started, too
    await asyncio.sleep(ZOMBIE_S)
    worker.thaw()


async def _temporal_killed(lane: Lane, worker: Served, drawn: random.Random) -> None:
    lane.temporal.child.kill()
    await lane.temporal.child.ended_within(_ENDED_S)
    worker.thaw()
    await asyncio.sleep(drawn.uniform(*AWAY_S))
    await lane.start_temporal()


async def _partition(_lane: Lane, worker: Served, _drawn: random.Random) -> None:
    worker.redis.cut()
    worker.temporal.cut()
    worker.thaw()
    await asyncio.sleep(PARTITION_S)
    worker.redis.mend()
    worker.temporal.mend()


async def _everything(lane: Lane, _worker: Served, drawn: random.Random) -> None:
    await _kill_everything(lane)
    await _start_everything(lane, drawn)


async def _everything_everysec(lane: Lane, _worker: Served, drawn: random.Random) -> None:
    killed_at = int(time.time())
    await _kill_everything(lane)
    cut_last_second(lane.redis_folder, killed_at, drawn)
    await _start_everything(lane, drawn)


async def _kill_everything(lane: Lane) -> None:
    """Kill all that the lane has on this host at once; who could still act on the loss of a server, first."""
    children = [*(worker.child for worker in lane.workers), lane.redis.child, lane.temporal.child]
    for child in children:
        child.kill()
    lane.kill_browsers()
    await asyncio.gather(*(child.ended_within(_ENDED_S) for child in children))


async def _start_everything(lane: Lane, drawn: random.Random) -> None:
    await asyncio.sleep(drawn.uniform(*AWAY_S))
    await asyncio.gather(lane.start_redis(), lane.start_temporal())
    await lane.fill_up()


FAULTS: dict[str, Strike] = {
    "worker": _worker,
    "worker_group": _worker_group,
    "keeper": _keeper,
    "redis_flushed": _redis_flushed,
    "redis_killed": _redis_killed,
    "redis_hung": _redis_hung,
    "zombie": _zombie,
    "temporal_killed": _temporal_killed,
    "partition": _partition,
    "everything": _everything,
    "everything_everysec": _everything_everysec,
}
