"""Lanes side by side: started in a folder of their own, given work one after the other, ended in order."""

import asyncio
import contextlib
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, TypeVar

from bench.chaos.lane import Lane
from bench.chaos.runs import ChaosFailed
from replaywright.errors import ReplaywrightError
from replaywright.settings import Settings

Tell = Callable[[str], None]

_Item = TypeVar("_Item")


@contextlib.contextmanager
def home_of(name: str, keep: Path | None) -> Iterator[Path]:
    """Yield the folder that a programme leaves its files in; without `keep` it is deleted afterwards."""
    home = keep or Path(tempfile.mkdtemp(prefix=f"replaywright-{name}-"))
    home.mkdir(parents=True, exist_ok=True)
    try:
        yield home
    finally:
        if keep is None:
            shutil.rmtree(home, ignore_errors=True)


@contextlib.asynccontextmanager
async def lanes_in(home: Path, settings: Settings, count: int, roles: Sequence[str]) -> AsyncIterator[list[Lane]]:
    """Start so many lanes, and end them all.

    Raises:
        StackFailed: a server or a worker did not come up.
    """
    given = settings.model_copy(update={"temporal_address": None, "redis_url": None})
    lanes = [Lane(number, home, given, roles) for number in range(1, count + 1)]
    async with contextlib.AsyncExitStack() as exits:
        await asyncio.gather(*(exits.enter_async_context(lane) for lane in lanes))
        yield lanes


async def shared_out(
    lanes: Sequence[Lane], items: Iterable[_Item], do: Callable[[Lane, _Item], Awaitable[None]]
) -> None:
    """Do all items: each lane takes the next one as soon as it is free."""
    queue = iter(items)

    async def served(lane: Lane) -> None:
        for item in queue:
            await do(lane, item)

    try:
        async with asyncio.TaskGroup() as group:
            for lane in lanes:
                group.create_task(served(lane))
    except BaseExceptionGroup as several:
        raise several.exceptions[0] from several


async def finished(programme: Coroutine[Any, Any, object], tell: Tell) -> bool:
    """Run a programme and say whether it came to its end; Ctrl-C ends it in order, with what was found so far."""
    running = asyncio.create_task(programme)
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, running.cancel)
    try:
        await running
    except asyncio.CancelledError:
        tell("interrupted: what was found so far")
        return False
    except (ChaosFailed, ReplaywrightError) as exc:
        tell(f"the programme cannot go on: {exc}")
        return False
    return True
