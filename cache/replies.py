"""Pipelines of commands and their replies, and the common part of the stores that send them."""

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import unquote

from redis.exceptions import NoScriptError, ResponseError

from cache.alerts import Alerts
from cache.connection import Client, address_of, translated, unavailable
from cache.scripts import Argument, RedisCommand, operation_of
from replaywright.domain.secrets.signing import UNSIGNED, Signer

_log = logging.getLogger("replaywright.cache")

SCANNED_AT_ONCE = 1_000
REMEMBERED = 10_000
"""Reported keys that are remembered."""


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


async def send(client: Client, commands: Sequence[RedisCommand]) -> list[Any]:
    """Return the replies of one round trip, in order; one more round trip if the server has lost the scripts.

    Raises:
        StoreUnavailable: the server cannot be reached, or refuses a command for another reason than its key's type.
    """
    replies = await pipelined(client, [command.short for command in commands])
    unknown = [at for at, reply in enumerate(replies) if isinstance(reply, NoScriptError)]
    for at, reply in zip(unknown, await pipelined(client, [commands[at].full for at in unknown]), strict=True):
        replies[at] = reply
    for at, reply in enumerate(replies):
        if isinstance(reply, ResponseError) and str(reply).startswith("WRONGTYPE"):
            replies[at] = WrongType()
        elif isinstance(reply, Exception):
            raise unavailable(address_of(client), reply) from reply
    return replies


class SignedRecords:
    """Records in the server of one client, which may be shared."""

    def __init__(self, client: Client, *, signer: Signer = UNSIGNED) -> None:
        """`signer` signs what is written, and decides what is used of what is read."""
        self._client = client
        self._signer = signer
        self._alerts = Alerts(client)
        self._reports = DamageReports()

    def _is_damaged(self, key: str, reply: object) -> bool:
        """Return True for a key of another type, which is reported."""
        if isinstance(reply, WrongType):
            self._reports.report(key, "of another type")
        return isinstance(reply, WrongType)

    async def _send(self, *commands: RedisCommand) -> list[Any]:
        """Return the replies of one round trip, in order; one more if the server has lost the scripts."""
        return await send(self._client, commands)


async def names_in(client: Client, pattern: str) -> list[str]:
    """Return the names at the star in the keys that match, sorted; keys of other kinds are left out.

    Raises:
        StoreUnavailable: the server cannot be reached.
    """
    before, after = pattern.split("%2A")
    names = set()
    with translated(client):
        async for key in client.scan_iter(match=f"{_literal(before)}*{_literal(after)}", count=SCANNED_AT_ONCE):
            name = text_of(key).removeprefix(before).removesuffix(after)
            if not set("/:}") & set(name):
                names.add(unquote(name))
    return sorted(names)


def _literal(text: str) -> str:
    return "".join(f"\\{letter}" if letter in "*?[]\\" else letter for letter in text)


def text_of(value: bytes) -> str:
    """Decode UTF-8, replacing invalid bytes."""
    return value.decode("utf-8", "replace")
