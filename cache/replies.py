"""Pipelines of commands and their replies; damaged keys are reported once."""

import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeAlias

from redis.exceptions import NoScriptError, ResponseError

from cache.connection import Client, address_of, translated, unavailable
from cache.scripts import Argument, RedisCommand, operation_of

_log = logging.getLogger("replaywright.cache")

REMEMBERED = 10_000
"""Reported keys that are remembered."""

RoundTrip: TypeAlias = Callable[[Sequence[tuple[Argument, ...]]], Awaitable[list[Any]]]
"""Sends raw commands and returns their replies, including errors."""


class WrongType:
    """Reply of a command whose key has another type."""


class DamageReports:
    """Warns of each damaged key once."""

    def __init__(self) -> None:
        self._reported: set[str] = set()

    def report(self, key: str, why: str) -> None:
        """Log that the content of `key` is ignored."""
        if key in self._reported:
            return
        if len(self._reported) >= REMEMBERED:
            self._reported.clear()
        self._reported.add(key)
        _log.warning("damaged data in Redis is left out: key %r: %s", key, why)


async def pipelined(client: Client, commands: Sequence[tuple[Argument, ...]]) -> list[Any]:
    """Return the replies, including errors, of one pipeline without a transaction.

    Raises:
        StoreUnavailable: the server cannot be reached.
    """
    if not commands:
        return []
    with translated(client, operation_of(commands)):
        pipe = client.pipeline(transaction=False)
        for command in commands:
            pipe.execute_command(*command)
        return list(await pipe.execute(raise_on_error=False))


async def send(client: Client, commands: Sequence[RedisCommand], round_trip: RoundTrip) -> list[Any]:
    """Return the replies of one round trip, in order; one more round trip if the server has lost the scripts.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses a command for another reason than its key's type.
    """
    replies = await round_trip([command.short for command in commands])
    unknown = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
    for at, reply in zip(unknown, await round_trip([commands[at].full for at in unknown]), strict=True):
        replies[at] = reply
    for at, reply in enumerate(replies):
        if isinstance(reply, ResponseError) and str(reply).startswith("WRONGTYPE"):
            replies[at] = WrongType()
        elif isinstance(reply, Exception):
            raise unavailable(address_of(client), reply) from reply
    return replies


def text_of(value: bytes) -> str:
    """Decode UTF-8, replacing invalid bytes."""
    return value.decode("utf-8", "replace")
