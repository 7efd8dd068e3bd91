"""Override rules: the tenant's own in Redis, and the merged rules of a worker in memory."""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from pydantic import ValidationError

from cache.connection import translated
from cache.keys import overrides_key
from cache.replies import SignedRecords
from replaywright.domain.secrets.signing import Signed, text_digest
from replaywright.domain.step.overrides import OverrideRule, merged, rules_for
from replaywright.errors import InputInvalid, StoreUnavailable

_log = logging.getLogger("replaywright.overrides")

LIFETIME_S = 30.0
"""Age after which rules are read again, while the old ones still answer."""
RULE_SCHEMA = 1
RULES_LIMIT = 500
"""Maximum rules of a tenant, and maximum hosts with remembered rules."""


class RedisOverrides(SignedRecords):
    """A tenant's rules in one hash by name; a line feed separates each rule from its signature."""

    async def rules(self, tenant: str) -> tuple[OverrideRule, ...]:
        """Return the rules by name; unreadable ones and those with a wrong signature are logged and left out.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        with translated(self._client, "read"):
            stored: dict[bytes, bytes] = await self._client.execute_command("HGETALL", overrides_key(tenant))
        rules = []
        for name, value in sorted(stored.items()):
            text, _, signature = value.partition(b"\n")
            rule = name.decode("utf-8", "replace")
            fault = self._signer.fault(signed_rule(tenant, rule, text), signature.decode("utf-8", "replace"))
            if fault is not None:
                self._alerts.report(tenant, "override", f"{overrides_key(tenant)} {rule}", fault)
                continue
            try:
                rules.append(OverrideRule.model_validate_json(text))
            except ValidationError as exc:
                _log.warning("override rule %r of tenant %r cannot be read: %s", rule, tenant, exc)
        await self._alerts.flush()
        return tuple(rules)

    async def put(self, tenant: str, rules: Sequence[OverrideRule]) -> None:
        """Add rules, replacing those of the same names.

        Raises:
            InputInvalid: the tenant would have too many.
            StoreUnavailable: Redis does not answer.
        """
        known = {rule.name for rule in await self.rules(tenant)} | {rule.name for rule in rules}
        if len(known) > RULES_LIMIT:
            raise InputInvalid(f"tenant {tenant!r} would have {len(known)} rules: at most {RULES_LIMIT} are kept")
        pairs = [part for rule in rules for part in (rule.name, self._signed(tenant, rule.name, _as_json(rule)))]
        with translated(self._client, "write"):
            await self._client.execute_command("HSET", overrides_key(tenant), *pairs)

    def _signed(self, tenant: str, name: str, text: str) -> str:
        signature = self._signer.sign(signed_rule(tenant, name, text))
        return f"{text}\n{signature}" if signature else text

    async def remove(self, tenant: str, name: str) -> bool:
        """Remove the rule; return True if there was one.

        Raises:
            StoreUnavailable: Redis does not answer.
        """
        with translated(self._client, "write"):
            return bool(await self._client.execute_command("HDEL", overrides_key(tenant), name))


@dataclass
class _Kept:
    """Cached rules of a tenant."""

    rules: tuple[OverrideRule, ...] = ()
    own: tuple[OverrideRule, ...] = ()
    """Rules from Redis at its last answer."""
    read_at: float = 0.0
    """0 before the first reading."""
    reading: asyncio.Task[None] | None = None
    by_host: dict[str, tuple[OverrideRule, ...]] = field(default_factory=dict)


class CachedOverrides:
    """A worker's `Overrides`; only the first question about a tenant waits for Redis and the disk.

    Of two rules with one name, the tenant's wins over the folder's, and that over a shipped one.
    """

    def __init__(
        self,
        store: RedisOverrides,
        files: Callable[[], tuple[OverrideRule, ...]],
        shipped: Sequence[OverrideRule] = (),
        *,
        lifetime_s: float = LIFETIME_S,
    ) -> None:
        """Read the folder by `files`; its later errors are logged, and the rules stay.

        Raises:
            InputInvalid: a file of the folder is wrong.
        """
        self._store = store
        self._files = files
        self._shipped = tuple(shipped)
        self._lifetime_s = lifetime_s
        self._from_files = files()
        self._kept: dict[str, _Kept] = {}

    async def rules(self, tenant: str, host: str) -> tuple[OverrideRule, ...]:
        """See `Overrides.rules`."""
        kept = self._kept.setdefault(tenant, _Kept())
        if not kept.read_at or time.monotonic() - kept.read_at > self._lifetime_s:
            if kept.reading is None:
                kept.reading = asyncio.create_task(self._read(tenant, kept))
            if not kept.read_at:
                await asyncio.shield(kept.reading)
        if host not in kept.by_host:
            if len(kept.by_host) >= RULES_LIMIT:  # hosts come from pages, so their number is bounded
                kept.by_host.clear()
            kept.by_host[host] = rules_for(kept.rules, host)
        return kept.by_host[host]

    async def close(self) -> None:
        """Stop reading."""
        reading = [kept.reading for kept in self._kept.values() if kept.reading is not None]
        for task in reading:
            task.cancel()
        await asyncio.gather(*reading, return_exceptions=True)

    async def _read(self, tenant: str, kept: _Kept) -> None:
        try:
            self._from_files = await asyncio.to_thread(self._files)
        except InputInvalid as exc:
            _log.warning("override rules of files stay as they were: %s", exc)
        try:
            kept.own = await self._store.rules(tenant)
        except StoreUnavailable as exc:
            _log.warning("override rules of tenant %r stay as they were: %s", tenant, exc)
        kept.rules, kept.read_at = merged(self._shipped, self._from_files, kept.own), time.monotonic()
        kept.by_host.clear()
        kept.reading = None


def signed_rule(tenant: str, name: str, text: str | bytes) -> Signed:
    """Return the signed content of a rule."""
    return Signed(tenant, "override", f"{overrides_key(tenant)} {name}", RULE_SCHEMA, {"json": text_digest(text)})


def _as_json(rule: OverrideRule) -> str:
    return rule.model_dump_json(exclude_none=True, exclude_defaults=True)
