"""Handling of the signals that end a command: Ctrl-C, SIGTERM and a closed terminal."""

import asyncio
import contextlib
import signal
from collections.abc import Callable, Coroutine, Iterator
from types import FrameType
from typing import Any, TypeVar

ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_Result = TypeVar("_Result")


@contextlib.contextmanager
def interrupts(pressed: Callable[[], object], *signals: signal.Signals) -> Iterator[None]:
    """Call `pressed` at each of these signals during the block; Ctrl-C is one (SIGINT).

    A closed terminal (SIGHUP) is ignored where `nohup` says so.
    """
    loop = asyncio.get_running_loop()
    heard = [one for one in signals if not _is_ignored_hangup(one)]
    before = {number: signal.getsignal(number) for number in heard}
    for number in heard:
        loop.add_signal_handler(number, pressed)
    try:
        yield
    finally:
        for number in heard:
            loop.remove_signal_handler(number)
            signal.signal(number, before[number])


class ShutdownRequest:
    """Request to stop a command: the first signal asks, the second demands it at once."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.at_once = asyncio.Event()

    @contextlib.contextmanager
    def heard(self) -> Iterator[None]:
        """Handle every signal that ends a command during the block; none interrupts it."""
        with interrupts(self._pressed, *ENDING):
            yield

    def _pressed(self) -> None:
        (self.at_once if self.asked.is_set() else self.asked).set()


def end_like_ctrl_c() -> None:
    """Treat SIGTERM and a closed terminal as Ctrl-C, so that started processes are stopped."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        if not _is_ignored_hangup(number):
            signal.signal(number, _as_ctrl_c)


def _as_ctrl_c(_number: int, _frame: FrameType | None) -> None:
    if callable(signal.getsignal(signal.SIGINT)):
        signal.raise_signal(signal.SIGINT)
    else:  # a shell lets what it runs in the background ignore Ctrl-C
        raise KeyboardInterrupt


def _is_ignored_hangup(number: signal.Signals) -> bool:
    return number is signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN


async def unless_left(waiting: Coroutine[Any, Any, _Result], left: asyncio.Event) -> _Result | None:
    """Return the result of `waiting`; None where `left` is set before, which cancels it."""
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
