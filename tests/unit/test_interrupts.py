"""What is watched is let go of by Ctrl-C, and goes on to its end without it."""

import asyncio
import os
import signal

import pytest

from replaywright.cli.interrupts import interrupts, unless_left


async def test_what_ends_before_anybody_leaves_gives_its_result() -> None:
    async def answer() -> str:
        return "done"

    assert await unless_left(answer(), asyncio.Event()) == "done"


async def test_an_error_of_what_is_waited_for_is_raised() -> None:
    async def answer() -> str:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await unless_left(answer(), asyncio.Event())


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
async def test_a_signal_lets_go_of_what_is_waited_for(number: signal.Signals) -> None:
    left, ended = asyncio.Event(), asyncio.Event()

    async def waiting() -> bool:
        try:
            os.kill(os.getpid(), number)
            return await asyncio.Event().wait()
        finally:
            ended.set()

    with interrupts(left.set, number):
        assert await unless_left(waiting(), left) is None

    assert ended.is_set()
    assert not asyncio.get_running_loop().remove_signal_handler(number)
