"""Ctrl-C, and what ends a job, while a command waits: the command decides what it means."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from typing import Any, TypeVar

ENDING = (signal.SIGINT, signal.SIGTERM)

_Result = TypeVar("_Result")


@contextlib.contextmanager
def interrupts(pressed: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """`pressed` is called at each of these signals, of which Ctrl-C is one (SIGINT)."""
    loop = asyncio.get_running_loop()
    for number in signals:
        loop.add_signal_handler(number, pressed)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


async def unless_left(waiting: Coroutine[Any, Any, _Result], left: asyncio.Event) -> _Result | None:
    """What comes of `waiting`; None where `left` is set before, which cancels it."""
    following = asyncio.create_task(waiting)
    leaving = asyncio.create_task(left.wait())
    await asyncio.wait({following, leaving}, return_when=asyncio.FIRST_COMPLETED)
    leaving.cancel()
    if following.done():
        return await following
    following.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await following
    return None
