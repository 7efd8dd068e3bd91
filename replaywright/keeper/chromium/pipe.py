"""Chromium's debugging pipe: JSON messages in both directions, each ended by a NUL byte."""

import asyncio
import contextlib
import os
from collections import deque
from collections.abc import Callable, Iterator
from typing import Protocol

READ_FD, WRITE_FD = 3, 4
"""Chromium's side of the pipe: it reads commands from the one and writes to the other."""


class Sender(Protocol):
    """The origin of a command."""

    @property
    def is_cut(self) -> bool:
        """Its commands that still wait are dropped."""


class DevToolsPipe(asyncio.Protocol):
    """The keeper's end. A command that Chromium has not been given yet is dropped when its sender is cut."""

    def __init__(self, on_message: Callable[[bytes], None], on_lost: Callable[[], None]) -> None:
        self._on_message = on_message
        self._on_lost = on_lost
        self._transport: asyncio.WriteTransport | None = None
        self._parts: list[bytes] = []
        self._waiting: deque[tuple[Sender | None, bytes]] = deque()
        self._is_full = False
        self._free = asyncio.Event()
        self._free.set()

    def send(self, message: bytes, sender: Sender | None = None) -> None:
        """Send a message; a pipe that is closed swallows it."""
        if self._transport is None:
            return
        if self._is_full or self._waiting:
            self._waiting.append((sender, message))
            self._free.clear()
        else:
            self._transport.write(message + b"\0")

    async def drain(self) -> None:
        """Wait until Chromium has taken all messages."""
        await self._free.wait()

    def close(self) -> None:
        """Close the pipe, which ends Chromium."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Have at most the rest of one message wait in the transport."""
        assert isinstance(transport, asyncio.WriteTransport)
        transport.set_write_buffer_limits(high=0)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Pass on the messages that are complete."""
        *ends, rest = data.split(b"\0")
        for end in ends:
            self._on_message(b"".join((*self._parts, end)))
            self._parts.clear()
        if rest:
            self._parts.append(rest)

    def pause_writing(self) -> None:
        """Queue messages until Chromium takes more."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Send the queued messages."""
        self._is_full = False
        while self._waiting and not self._is_full and self._transport is not None:
            sender, message = self._waiting.popleft()
            if sender is None or not sender.is_cut:
                self._transport.write(message + b"\0")
        if not self._waiting:
            self._free.set()

    def connection_lost(self, _exc: Exception | None) -> None:
        """Drop the queued messages: Chromium is gone."""
        self._transport = None
        self._waiting.clear()
        self._free.set()
        self._on_lost()


@contextlib.contextmanager
def reserved_descriptors() -> Iterator[None]:
    """Have every descriptor that is opened meanwhile stand above those of Chromium's end, which is moved there."""
    held = []
    try:
        while (descriptor := os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)) <= WRITE_FD:
            held.append(descriptor)
        held.append(descriptor)
        yield
    finally:
        for descriptor in held:
            os.close(descriptor)
