"""A Redis Cluster of three nodes on this machine, each with a third of the slots."""

import tempfile
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from redis.exceptions import RedisError

from replaywright.stack.processes import Child, free_port, start_child
from replaywright.stack.redis import DURABILITY, provide_redis
from tests.raw_redis import ask_redis

SLOTS = 16_384
NODES = 3


@asynccontextmanager
async def cluster_of_three() -> AsyncIterator[tuple[int, ...]]:
    """The nodes' ports, once every node knows where all slots are."""
    async with AsyncExitStack() as exits:
        folder = Path(exits.enter_context(tempfile.TemporaryDirectory(prefix="rw-cluster-")))
        ports = tuple(free_port() for _ in range(NODES))
        buses = tuple(free_port() for _ in range(NODES))
        children = []
        for port, bus in zip(ports, buses, strict=True):
            children.append(_node(folder / str(port), port, bus))
            exits.push_async_callback(children[-1].stop)
        for number, (child, port) in enumerate(zip(children, ports, strict=True)):
            first, after = SLOTS * number // NODES, SLOTS * (number + 1) // NODES
            await child.wait_until(_Takes(port, ("CLUSTER", "ADDSLOTSRANGE", str(first), str(after - 1))), 30)
        for port in ports[1:]:
            await ask_redis(_url(port), ("CLUSTER", "MEET", "127.0.0.1", str(ports[0]), str(buses[0])))
        for child, port in zip(children, ports, strict=True):
            await child.wait_until(_Covers(port), 30)
        yield ports


def _url(port: int) -> str:
    return f"redis://127.0.0.1:{port}/0"


def _node(folder: Path, port: int, bus: int) -> Child:
    folder.mkdir()
    listens = ["--bind", "127.0.0.1", "--port", str(port), "--cluster-port", str(bus), "--dir", str(folder)]
    command = [str(provide_redis().path), *listens, "--cluster-enabled", "yes", *DURABILITY]
    return start_child(f"Redis node {port}", command, log=folder / "redis.log")


class _Takes:
    """Whether a node has taken a command."""

    def __init__(self, port: int, command: tuple[str, ...]) -> None:
        self._port, self._command = port, command

    async def __call__(self) -> bool:
        try:
            return await ask_redis(_url(self._port), self._command) == ["OK"]
        except RedisError:
            return False


class _Covers:
    """Whether a node knows where every slot is, and all other nodes."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def __call__(self) -> bool:
        [told] = await ask_redis(_url(self._port), ("CLUSTER", "INFO"))
        lines = str(told).split()
        return "cluster_state:ok" in lines and f"cluster_size:{NODES}" in lines
