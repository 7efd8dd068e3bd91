"""Commands to a Redis, and its replies as they come."""

from typing import Any, TypeAlias

from redis.asyncio import ConnectionPool

Reply: TypeAlias = "str | int | list[Reply] | None"


async def ask_redis(url: str, *commands: tuple[str, ...]) -> list[Any]:
    """Send commands over one new connection and return their replies; an error reply is raised."""
    pool = ConnectionPool.from_url(url, decode_responses=True, protocol=2, socket_timeout=3)
    connection = pool.make_connection()  # type: ignore[no-untyped-call]  # it has no types
    try:
        await connection.connect()
        await connection.send_packed_command(connection.pack_commands(commands))
        return [await connection.read_response() for _ in commands]
    finally:
        await connection.disconnect()
