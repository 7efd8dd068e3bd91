"""The keeper's end of Chromium's debugging pipe, on a real pair of sockets."""

import asyncio
import os
import socket
from collections.abc import AsyncIterator
from dataclasses import dataclass, field

import pytest

from replaywright.keeper.chromium.pipe import READ_FD, WRITE_FD, DevToolsPipe, reserved_descriptors

LARGE = b"x" * 4_000_000


@dataclass
class Client:
    """A sender of commands."""

    is_cut: bool = False


@dataclass
class Ends:
    """Both ends of a pipe, and what came out of the keeper's."""

    theirs: socket.socket
    messages: list[bytes] = field(default_factory=list)
    lost: asyncio.Event = field(default_factory=asyncio.Event)
    pipe: DevToolsPipe = field(init=False)

    def __post_init__(self) -> None:
        self.pipe = DevToolsPipe(self.messages.append, self.lost.set)

    async def received(self, count: int) -> list[bytes]:
        """The next messages that Chromium gets."""
        loop, data = asyncio.get_running_loop(), bytearray()
        async with asyncio.timeout(10):
            while data.count(b"\0") < count:
                data += await loop.sock_recv(self.theirs, 1 << 20)
        return bytes(data).split(b"\0")[:-1]


@pytest.fixture
async def ends() -> AsyncIterator[Ends]:
    ours, theirs = socket.socketpair()
    theirs.setblocking(False)
    pair = Ends(theirs)
    await asyncio.get_running_loop().create_unix_connection(lambda: pair.pipe, sock=ours)
    yield pair
    pair.pipe.close()
    theirs.close()


async def test_messages_in_pieces_and_several_in_one_piece_are_told_whole(ends: Ends) -> None:
    loop = asyncio.get_running_loop()
    for piece in (b'{"a', b'":1}\0{"b":2}\0{"c"', b":3", b"}\0"):
        await loop.sock_sendall(ends.theirs, piece)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    ends.theirs.shutdown(socket.SHUT_WR)
    await ends.lost.wait()

    assert ends.messages == [b'{"a":1}', b'{"b":2}', b'{"c":3}']


async def test_commands_that_wait_are_dropped_when_their_sender_is_cut(ends: Ends) -> None:
    first, second = Client(), Client()
    ends.pipe.send(LARGE, first)  # more than the pipe takes while nobody reads
    ends.pipe.send(b"late", first)
    ends.pipe.send(b"other", second)
    ends.pipe.send(b"keeper's own")

    first.is_cut = True
    told = await ends.received(3)

    assert told == [LARGE, b"other", b"keeper's own"]


async def test_who_waits_for_the_pipe_goes_on_when_it_is_free_or_gone(ends: Ends) -> None:
    ends.pipe.send(LARGE)
    ends.pipe.send(b"next")
    waiting = asyncio.ensure_future(ends.pipe.drain())
    await asyncio.sleep(0)
    held = not waiting.done()
    await ends.received(2)
    await asyncio.wait_for(waiting, 10)

    ends.pipe.send(LARGE)
    ends.pipe.send(b"next")
    ends.pipe.close()
    await asyncio.wait_for(ends.pipe.drain(), 10)

    assert held
    assert ends.lost.is_set()


def test_descriptors_for_chromium_are_free_of_what_is_opened_meanwhile() -> None:
    with reserved_descriptors():
        opened = os.open(os.devnull, os.O_RDONLY)
        os.close(opened)

    assert opened > max(READ_FD, WRITE_FD)
