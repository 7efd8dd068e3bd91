"""Redis clients, the translation of their errors, and the check that a server can keep a ledger."""

import asyncio
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias
from urllib.parse import parse_qsl, urlsplit
from uuid import uuid4

from pydantic import BaseModel, ConfigDict
from redis.asyncio import BlockingConnectionPool, Redis, RedisCluster, UnixDomainSocketConnection
from redis.asyncio.retry import Retry
from redis.backoff import ExponentialBackoff
from redis.exceptions import (
    AskError,
    AuthenticationError,
    AuthorizationError,
    BusyLoadingError,
    ClusterDownError,
    MasterDownError,
    NoPermissionError,
    OutOfMemoryError,
    ReadOnlyError,
    RedisClusterException,
    RedisError,
)
from redis.exceptions import ConnectionError as NoConnection
from redis.exceptions import TimeoutError as NoAnswer

from cache.keys import check_key
from replaywright.errors import SettingsInvalid, StoreUnavailable
from replaywright.observing import observer

Client: TypeAlias = Redis | RedisCluster

SCHEMES = ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster")
_UNCHECKED = {("ssl_cert_reqs", "none"), ("ssl_cert_reqs", "optional"), ("ssl_check_hostname", "false")}
"""Options that allow a man in the middle."""
RETRIES = 3
"""Retries after a broken connection, about 0.1 s in all with the back-off below. A time-out is not retried."""
CONNECTIONS = 64
"""Connections of one client to a single server. Beyond them callers wait; the library's own pool would fail."""
CONNECT_S = 1.0
WAIT_S = 5.0
"""Longest wait for a free connection."""
CONNECTIONS_OF_NODE = 1_000
"""Connections of one client to a node of a cluster, where callers do not wait."""
OLDEST = (6, 2)
"""Oldest supported Redis; every Valkey is newer."""


class _UnixConnection(UnixDomainSocketConnection):
    """A connection that greets the server once, and tells a late or refusing server from a broken connection."""

    async def _connect(self) -> None:
        async with asyncio.timeout(self.socket_connect_timeout):
            self._reader, self._writer = await asyncio.open_unix_connection(self.path)


def open_redis(url: str, *, client_name: str = "replaywright", read_timeout_s: float = 1.0) -> Client:
    """Open a client for `redis://`, `rediss://`, `unix://`, `redis+cluster://` or `rediss+cluster://`.

    It connects when it is first used. Over TLS it checks the server's certificate and name;
    `?ssl_ca_certs=…&ssl_certfile=…&ssl_keyfile=…` name files. Any node of a cluster will do: it knows the others.

    After a broken connection the commands are sent again: send only commands that may be repeated.

    Raises:
        SettingsInvalid: `url` is not one of these.
    """
    scheme, separator, rest = url.partition("://")
    if scheme not in SCHEMES or not separator:
        raise SettingsInvalid(f"the address of Redis begins with {scheme!r}: expected one of {', '.join(SCHEMES)}, ://")
    refused = sorted(_UNCHECKED & set(parse_qsl(urlsplit(url).query.lower())))
    if refused:
        option = "=".join(refused[0])
        raise SettingsInvalid(
            f"the address of Redis has {option}: the server would not be checked; name its CA instead"
        )
    scheme, _, cluster = scheme.partition("+")
    options: dict[str, Any] = {
        "client_name": client_name,
        "health_check_interval": 30,
        "protocol": 2,
        "retry": Retry(ExponentialBackoff(cap=0.1, base=0.01), RETRIES, supported_errors=(NoConnection,)),
        "socket_connect_timeout": CONNECT_S,
        "socket_keepalive": True,
        "socket_timeout": read_timeout_s,
    }
    if scheme == "unix":
        del options["socket_keepalive"]
    try:
        if cluster:
            return RedisCluster.from_url(f"{scheme}://{rest}", max_connections=CONNECTIONS_OF_NODE, **options)
        pool = BlockingConnectionPool.from_url(
            f"{scheme}://{rest}", max_connections=CONNECTIONS, timeout=WAIT_S, **options
        )
    except RedisClusterException:
        raise SettingsInvalid("the address of Redis names a database, and a cluster has none: leave it out") from None
    except (ValueError, TypeError):
        # The library's message may quote the password.
        raise SettingsInvalid(
            f"the address of Redis cannot be read: expected {scheme}://user:password@host:port/0, with /, @, : and # "
            "in user and password percent-encoded"
        ) from None
    if scheme == "unix":
        pool.connection_class = _UnixConnection
    client: Redis = Redis.from_pool(pool)
    return client


def address_of(client: Client) -> str:
    """Return the address that `client` connects to, without credentials."""
    if isinstance(client, RedisCluster):
        return "cluster " + ", ".join(sorted(str(node.name) for node in client.nodes_manager.startup_nodes.values()))
    options = client.connection_pool.connection_kwargs
    if "path" in options:
        return f"unix://{options['path']}"
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}/{options.get('db', 0)}"


def nodes_of(client: Client) -> list[tuple[str, int]]:
    """List host and port of the cluster nodes that `client` knows; empty for a single server."""
    if not isinstance(client, RedisCluster):
        return []
    return sorted((str(node.host), int(node.port)) for node in client.get_nodes())


_NOT_A_CLUSTER = "Cluster mode is not enabled"
_OF_CLUSTER = "begin its address with redis+cluster:// (over TLS rediss+cluster://)"


def _remedy(error: Exception) -> str:  # noqa: PLR0911 - one for each kind
    match error:
        case AskError():
            return f"it is a node of a cluster: {_OF_CLUSTER}"
        case RedisClusterException() if _NOT_A_CLUSTER in str(error):
            return "it is no cluster: begin its address with redis:// (over TLS rediss://)"
        case AuthenticationError() | AuthorizationError() | NoPermissionError():
            return "check user, password and access rules"
        case OutOfMemoryError():
            return "its memory is full: raise `maxmemory` or delete what is not needed"
        case ReadOnlyError():
            return "it is a replica: give the address of the primary"
        case BusyLoadingError():
            return "it is loading its data: this passes by itself"
        case MasterDownError() | ClusterDownError():
            return "its primary is down: wait for the fail-over, or start it"
        case NoAnswer():
            return "it does not answer in time: see whether it is overloaded, stopped, or behind a firewall"
        case NoConnection() | OSError() | RedisClusterException():
            return "see whether it runs and the address is right"
        case _:
            return "see its log"


def unavailable(address: str, error: Exception) -> StoreUnavailable:
    """Return our error for `error`, an exception of the Redis library."""
    first_line = _message(error)
    return StoreUnavailable(f"Redis at {address}: {first_line[:200]}; {_remedy(error)}")


def _message(error: Exception) -> str:
    """Return the first line of the error, with the word MOVED, which the library leaves out."""
    first_line = next(iter(str(error).splitlines()), "") or type(error).__name__
    return f"MOVED {first_line}" if isinstance(error, AskError) else first_line


@contextmanager
def translated(client: Client, operation: str = "") -> Iterator[None]:
    """Raise the Redis library's errors as `StoreUnavailable`, and measure the round trip of an `operation`."""
    begun, ok = time.perf_counter(), False
    try:
        yield
        ok = True
    except (RedisError, RedisClusterException, OSError) as exc:
        raise unavailable(address_of(client), exc) from exc
    finally:
        if operation:
            observer().redis_asked(operation, time.perf_counter() - begun, ok=ok)


async def ping(client: Client) -> None:
    """Make one round trip; raises `StoreUnavailable` when it does not come back."""
    with translated(client, "ping"):
        await client.ping()


# ------------------------------------------------------------------------------------------ start check


class StoreFinding(BaseModel):
    """A problem found by `check_store`."""

    model_config = ConfigDict(frozen=True)

    code: str
    """unreachable, write_failed, cluster_node, too_old, evicts, evicts_finished, unknown_policy, not_persistent,
    lazy_persistence."""
    level: Literal["error", "warning"]
    forbids_commits: bool = False
    """True if this store forbids steps with consequences."""
    message: str
    remedy: str


class StoreReport(BaseModel):
    """Result of `check_store`."""

    model_config = ConfigDict(frozen=True)

    address: str
    version: str = ""
    """Empty when it cannot be reached."""
    findings: tuple[StoreFinding, ...] = ()


async def check_store(client: Client) -> StoreReport:
    """Write, read and delete a key, and check how the server treats memory and disk. Raises nothing."""
    address = address_of(client)
    try:
        with translated(client):
            written = await _write_read_delete(client)
            servers = await _servers(client)
    except StoreUnavailable as exc:
        finding = StoreFinding(
            code="unreachable",
            level="error",
            message=str(exc),
            remedy=_remedy(exc.__cause__) if isinstance(exc.__cause__, Exception) else "see its log",
        )
        return StoreReport(address=address, findings=(finding,))
    # A cluster node that is addressed as a single server accepts only some keys.
    findings = [_CLUSTER_NODE] if _is_cluster_node(servers[0], client) else [*written]
    for server in servers:
        findings += [finding for finding in _judge(server) if finding not in findings]
    return StoreReport(address=address, version=_version(servers[0]), findings=tuple(findings))


async def _write_read_delete(client: Client) -> list[StoreFinding]:
    nonce = uuid4().hex
    pipe = client.pipeline(transaction=False)
    pipe.execute_command("SET", check_key(nonce), nonce, "EX", 60)
    pipe.execute_command("GET", check_key(nonce))
    pipe.execute_command("DEL", check_key(nonce))
    replies = await pipe.execute(raise_on_error=False)
    for reply in replies:
        if isinstance(reply, NoConnection | NoAnswer):
            raise reply
    failed = next((reply for reply in replies if isinstance(reply, Exception)), None)
    if failed is None and replies[1] == nonce.encode():
        return []
    return [
        StoreFinding(
            code="write_failed",
            level="error",
            message=_message(failed) if failed else "what was written was not read back",
            remedy=_remedy(failed) if failed else "give the address of the primary, not of a proxy or replica",
        )
    ]


def _is_cluster_node(server: Mapping[str, Any], client: Client) -> bool:
    return not isinstance(client, RedisCluster) and str(server.get("cluster_enabled", "0")) == "1"


_CLUSTER_NODE = StoreFinding(
    code="cluster_node",
    level="error",
    message="it is a node of a cluster, and keeps only a part of the keys",
    remedy=_OF_CLUSTER,
)


async def _servers(client: Client) -> list[Mapping[str, Any]]:
    """Read INFO of each primary, and the settings that INFO leaves out."""
    nodes = client.get_primaries() if isinstance(client, RedisCluster) else []
    every: list[dict[str, Any]] = [{"target_nodes": node} for node in nodes] or [{}]
    return [{**await client.execute_command("INFO", **one), **await _config(client, **one)} for one in every]


async def _config(client: Client, **options: Any) -> Mapping[str, Any]:
    try:
        config: Mapping[str, Any] = await client.execute_command("CONFIG GET", "appendfsync", **options)
    except (NoConnection, NoAnswer):
        raise
    except RedisError:  # hosted servers hide CONFIG
        return {}
    return {_text(name): _text(value) for name, value in config.items()}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _version(server: Mapping[str, Any]) -> str:
    name = server.get("server_name", "redis")
    return str(server.get(f"{name}_version") or server.get("redis_version", ""))


_NOEVICTION = "set `maxmemory-policy noeviction` and keep other applications' caches elsewhere"


def _judge(server: Mapping[str, Any]) -> list[StoreFinding]:
    found = (_age(server), _eviction(str(server.get("maxmemory_policy", ""))), _persistence(server))
    return [finding for finding in found if finding is not None]


def _age(server: Mapping[str, Any]) -> StoreFinding | None:
    parts = [int(part) for part in str(server.get("redis_version", "")).split(".")[:2] if part.isdigit()]
    if not parts or tuple(parts) >= OLDEST:
        return None
    return StoreFinding(
        code="too_old",
        level="error",
        message=f"version {_version(server)} is older than {'.'.join(map(str, OLDEST))}",
        remedy="use a newer Redis, or Valkey",
    )


def _eviction(policy: str) -> StoreFinding | None:
    if policy == "noeviction":
        return None
    if policy.startswith("volatile"):
        return StoreFinding(
            code="evicts_finished",
            level="warning",
            message=f"`maxmemory-policy {policy}` may drop records of finished steps before their 90 days",
            remedy=_NOEVICTION,
        )
    if policy.startswith("allkeys"):
        code = "evicts"
        message = f"`maxmemory-policy {policy}` drops ledger records and skills: steps with consequences are refused"
    else:
        code = "unknown_policy"
        message = f"the server does not say whether it drops keys when its memory is full: {policy!r}"
    return StoreFinding(code=code, level="error", forbids_commits=True, message=message, remedy=_NOEVICTION)


def _persistence(server: Mapping[str, Any]) -> StoreFinding | None:
    if not int(server.get("aof_enabled", 1)):
        return StoreFinding(
            code="not_persistent",
            level="warning",
            message="nothing is written to disk at once (`appendonly no`): a restart may forget the ledger",
            remedy="set `appendonly yes` and `appendfsync always`",
        )
    if server.get("appendfsync", "always") != "always":
        return StoreFinding(
            code="lazy_persistence",
            level="warning",
            message=f"`appendfsync {server['appendfsync']}`: a power loss forgets what was just acknowledged",
            remedy="set `appendfsync always` (about 0.3 ms a write)",
        )
    return None
